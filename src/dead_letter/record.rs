//! The layout of a segment file: entries cut into checksummed records that never cross a block of 32 KiB.
//!
//! [`frame`] turns one entry into the bytes that go to the end of a segment, [`SegmentReader`] finds the entries
//! again, also behind damage. This file knows nothing of what an entry holds. All integers are big-endian:
//!
//! ```text
//! file    version byte '1', then blocks of 32768 bytes
//! record  type 'c' complete | 's' start | 'm' middle | 'e' end     1 byte
//!         size of the data in this record                         i32
//!         's': size of the whole entry, others: -1                i32
//!         CRC-32 of the data                                      u32
//!         data
//! ```

use std::io::{self, Read, Seek, SeekFrom};

/// First byte of every segment.
pub const VERSION: u8 = b'1';
/// Bytes in a block.
pub const BLOCK: usize = 32768;
/// Bytes in front of the data of a record.
pub const HEADER: usize = 13;
/// Offset of the first record of a segment.
pub const FIRST_RECORD: u64 = 1;
/// Largest entry that is written, and the most that damaged sizes can make a reader allocate.
pub const LARGEST_ENTRY: usize = 256 * 1024 * 1024;

/// Bytes that are read from a file at once: whole blocks.
const CHUNK: usize = 8 * BLOCK;
/// A record holds at least one byte of data; with less room than this the next record starts in the next block.
const SMALLEST_RECORD: usize = HEADER + 1;
/// What a stretch is called that a power loss, or a program that reserves space ahead, left behind.
pub const ONLY_ZEROS: &str = "only zeros where an entry should be";

const COMPLETE: u8 = b'c';
const START: u8 = b's';
const MIDDLE: u8 = b'm';
const END: u8 = b'e';

/// Position inside its block of a file offset.
fn in_block(offset: u64) -> usize {
    (offset.saturating_sub(FIRST_RECORD) % BLOCK as u64) as usize
}

/// First offset of the block behind the one that holds `offset`.
pub fn next_block(offset: u64) -> u64 {
    offset + (BLOCK - in_block(offset)) as u64
}

/// First offset of the block that holds `offset`.
pub fn block_start(offset: u64) -> u64 {
    offset - in_block(offset) as u64
}

/// Where the next record begins when the previous one ended at `offset`.
fn record_start(offset: u64) -> u64 {
    if in_block(offset) + SMALLEST_RECORD > BLOCK { next_block(offset) } else { offset }
}

/// Appends to `out` what an entry adds to a segment that is `end` bytes long: padding up to the next block where
/// needed, then its records. An empty entry adds nothing.
pub fn frame(entry: &[u8], end: u64, out: &mut Vec<u8>) {
    let total = entry.len();
    let mut rest = entry;
    let mut at = end;
    while !rest.is_empty() {
        let start = record_start(at);
        out.resize(out.len() + (start - at) as usize, 0);
        let room = BLOCK - in_block(start) - HEADER;
        // Strictly less: an entry that fills its block to the last byte is a lone start record.
        let fits = rest.len() < room;
        let first = rest.len() == total;
        let kind = match (first, fits) {
            (true, true) => COMPLETE,
            (true, false) => START,
            (false, true) => END,
            (false, false) => MIDDLE,
        };
        let (data, behind) = rest.split_at(rest.len().min(room));
        out.push(kind);
        out.extend_from_slice(&(data.len() as i32).to_be_bytes());
        out.extend_from_slice(&if kind == START { total as i32 } else { -1 }.to_be_bytes());
        out.extend_from_slice(&crc32fast::hash(data).to_be_bytes());
        out.extend_from_slice(data);
        at = start + (HEADER + data.len()) as u64;
        rest = behind;
    }
}

/// Number of bytes that [`frame`] appends.
pub fn framed_len(entry_len: usize, end: u64) -> u64 {
    let mut rest = entry_len;
    let mut at = end;
    while rest > 0 {
        at = record_start(at);
        let data = rest.min(BLOCK - in_block(at) - HEADER);
        at += (HEADER + data) as u64;
        rest -= data;
    }
    at - end
}

/// What [`SegmentReader::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A whole entry.
    Entry(&'a [u8]),
    /// Bytes that are no entry; reading goes on behind them.
    Damage(Damage),
    /// The file ends in the middle of an entry that starts at this offset. Reading again gives the same, until the
    /// file has grown.
    Torn(u64),
    /// Nothing behind the last entry.
    End,
}

/// What is wrong with a stretch of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// File offset of the record where the damaged entry starts.
    pub offset: u64,
    /// In a user's words.
    pub what: &'static str,
}

/// A record whose header makes sense at its place.
struct Record {
    kind: u8,
    size: usize,
    total: i32,
    sound: bool,
}

enum Parsed {
    Record(Record),
    /// The header makes no sense: nothing in the rest of the block can be trusted.
    Bad(&'static str),
    /// The file ends inside the record.
    CutOff,
}

/// Reads the entries of one segment in order, a few blocks in memory at a time.
///
/// After damage it goes on with the next record when only the data was hurt, else with the next block. Every call
/// moves forward, and nothing is allocated for a size that the file does not really hold.
pub struct SegmentReader<S> {
    source: S,
    len: u64,
    at: u64,
    /// Where the entry that was returned last starts.
    entry_start: u64,
    /// Blocks of the file, the last one perhaps not whole.
    chunk: Vec<u8>,
    /// Offset of the first byte in `chunk`.
    chunk_start: u64,
    entry: Vec<u8>,
    /// False where middle and end records are what is left of an entry that was not read from its start.
    in_step: bool,
}

impl<S> std::fmt::Debug for SegmentReader<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentReader").field("at", &self.at).field("len", &self.len).finish_non_exhaustive()
    }
}

impl<S: Read + Seek> SegmentReader<S> {
    /// Reads `source` from `offset`, which is a record start or a block start (see [`block_start`]).
    pub fn new(mut source: S, offset: u64) -> io::Result<Self> {
        let len = source.seek(SeekFrom::End(0))?;
        let at = offset.max(FIRST_RECORD);
        Ok(Self {
            source,
            len,
            at,
            entry_start: at,
            chunk: Vec::new(),
            chunk_start: 0,
            entry: Vec::new(),
            in_step: at == FIRST_RECORD,
        })
    }

    /// The first byte, which names the version of the layout; `None` in an empty file.
    pub fn version(&mut self) -> io::Result<Option<u8>> {
        self.source.seek(SeekFrom::Start(0))?;
        let mut byte = [0];
        Ok((self.source.read(&mut byte)? == 1).then_some(byte[0]))
    }

    /// Length of the file when it was last looked at.
    pub fn file_len(&self) -> u64 {
        self.len
    }

    /// Looks at the length of the file again.
    pub fn refresh(&mut self) -> io::Result<()> {
        self.len = self.source.seek(SeekFrom::End(0))?;
        self.chunk.clear();
        Ok(())
    }

    /// The file itself.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Offset of the next record; the end of the file when that ends in front of it.
    pub fn position(&self) -> u64 {
        record_start(self.at).min(self.len.max(self.at))
    }

    /// Where the last record that was read ends.
    pub fn end(&self) -> u64 {
        self.at
    }

    /// Where the entry that was returned last starts.
    pub fn entry_start(&self) -> u64 {
        self.entry_start
    }

    /// Whether a whole entry's first record, with the right checksum, is at the place reached, or the file ends there.
    pub fn at_entry_start(&mut self) -> io::Result<bool> {
        if self.at > self.len {
            return Ok(false);
        }
        let at = record_start(self.at);
        if at >= self.len {
            return Ok(true);
        }
        self.load(at)?;
        Ok(match self.parse(at) {
            Parsed::Record(record) => record.sound && matches!(record.kind, COMPLETE | START),
            _ => false,
        })
    }

    /// Whether the block that holds the place reached has the start of an entry in it. Looks at headers only.
    pub fn block_has_start(&mut self) -> io::Result<bool> {
        let mut at = self.at;
        let end = next_block(at).min(self.len);
        self.load(at)?;
        while record_start(at) < end {
            let Parsed::Record(record) = self.parse(at) else { break };
            if matches!(record.kind, COMPLETE | START) {
                return Ok(true);
            }
            at += (HEADER + record.size) as u64;
        }
        Ok(false)
    }

    /// The next entry, or what stands in its place.
    #[expect(clippy::should_implement_trait, reason = "lends its buffer, which an iterator cannot")]
    pub fn next(&mut self) -> io::Result<Found<'_>> {
        loop {
            let at = record_start(self.at);
            if at >= self.len {
                return Ok(Found::End);
            }
            self.load(at)?;
            let record = match self.parse(at) {
                Parsed::Record(record) => record,
                Parsed::CutOff => return Ok(Found::Torn(at)),
                Parsed::Bad(what) => return Ok(self.skip_block(at, what)),
            };
            if !record.sound {
                let announced = !self.in_step && matches!(record.kind, MIDDLE | END);
                let damage = self.skip_record(at, &record, "checksum mismatch");
                if announced {
                    continue;
                }
                return Ok(damage);
            }
            match record.kind {
                COMPLETE => {
                    self.entry_start = at;
                    self.at = at + (HEADER + record.size) as u64;
                    self.in_step = true;
                    return Ok(Found::Entry(self.data(at, record.size)));
                }
                START => return self.assemble(at, &record),
                _ => {
                    self.at = at + (HEADER + record.size) as u64;
                    if std::mem::replace(&mut self.in_step, false) {
                        return Ok(Found::Damage(Damage { offset: at, what: "a continuation without its start" }));
                    }
                }
            }
        }
    }

    /// Collects an entry of several records, the first of which is at `start`.
    fn assemble(&mut self, start: u64, first: &Record) -> io::Result<Found<'_>> {
        let total = usize::try_from(first.total).unwrap_or(0);
        self.entry.clear();
        // A huge entry's memory goes back as soon as a small one follows.
        if self.entry.capacity() > 64 * BLOCK && total < BLOCK {
            self.entry = Vec::new();
        }
        let mut at = start;
        let mut size = first.size;
        loop {
            let mut entry = std::mem::take(&mut self.entry);
            entry.extend_from_slice(self.data(at, size));
            self.entry = entry;
            at += (HEADER + size) as u64;
            if self.entry.len() >= total {
                break;
            }
            if at >= self.len {
                return Ok(Found::Torn(start));
            }
            self.load(at)?;
            match self.parse(at) {
                Parsed::Record(record) if !matches!(record.kind, MIDDLE | END) => {
                    self.at = at;
                    self.in_step = true;
                    return Ok(Found::Damage(Damage { offset: start, what: "the end of the entry is missing" }));
                }
                Parsed::Record(record) if !record.sound => {
                    self.skip_record(at, &record, "");
                    return Ok(Found::Damage(Damage { offset: start, what: "checksum mismatch" }));
                }
                Parsed::Record(record) => size = record.size,
                Parsed::CutOff => return Ok(Found::Torn(start)),
                Parsed::Bad(what) => {
                    self.skip_block(at, what);
                    return Ok(Found::Damage(Damage { offset: start, what }));
                }
            }
        }
        self.at = at;
        self.entry_start = start;
        self.in_step = self.entry.len() == total;
        if self.in_step {
            Ok(Found::Entry(&self.entry))
        } else {
            Ok(Found::Damage(Damage { offset: start, what: "more data than the entry's size says" }))
        }
    }

    /// Goes on behind a record whose data is damaged: right behind it if a record (or the end) is there, else its
    /// size cannot be trusted either and reading goes on in the next block.
    fn skip_record(&mut self, at: u64, record: &Record, what: &'static str) -> Found<'static> {
        let behind = at + (HEADER + record.size) as u64;
        let start = record_start(behind);
        let trusted = behind == self.len
            || start >= next_block(at)
            || matches!(self.parse(start), Parsed::Record(Record { sound: true, .. }));
        if !trusted {
            return self.skip_block(at, what);
        }
        self.at = behind;
        self.in_step = false;
        Found::Damage(Damage { offset: at, what })
    }

    fn skip_block(&mut self, at: u64, what: &'static str) -> Found<'static> {
        self.at = next_block(at);
        self.in_step = false;
        Found::Damage(Damage { offset: at, what })
    }

    /// Brings the block that holds `offset` into memory.
    fn load(&mut self, offset: u64) -> io::Result<()> {
        let start = block_start(offset);
        let want = self.len.saturating_sub(start);
        let loaded = start.checked_sub(self.chunk_start).and_then(|skip| self.chunk.get(usize::try_from(skip).ok()?..));
        if loaded.is_some_and(|loaded| loaded.len() as u64 >= want.min(BLOCK as u64)) {
            return Ok(());
        }
        let want = want.min(CHUNK as u64);
        self.chunk.clear();
        self.chunk.reserve_exact(want as usize);
        self.chunk_start = start;
        self.source.seek(SeekFrom::Start(start))?;
        (&mut self.source).take(want).read_to_end(&mut self.chunk)?;
        Ok(())
    }

    /// What is loaded of the block that holds `at`, from there on.
    fn rest_of_block(&self, at: u64) -> &[u8] {
        let skip = at.checked_sub(self.chunk_start).and_then(|skip| usize::try_from(skip).ok());
        let rest = skip.and_then(|skip| self.chunk.get(skip..)).unwrap_or_default();
        rest.get(..BLOCK - in_block(at)).unwrap_or(rest)
    }

    /// The data of the record at `at` in a loaded block.
    fn data(&self, at: u64, size: usize) -> &[u8] {
        self.rest_of_block(at).get(HEADER..HEADER + size).unwrap_or_default()
    }

    /// Checks the record at `at` in a loaded block.
    fn parse(&self, at: u64) -> Parsed {
        let pos = in_block(at);
        let rest = self.rest_of_block(at);
        if rest.iter().all(|b| *b == 0) {
            return if rest.is_empty() { Parsed::CutOff } else { Parsed::Bad(ONLY_ZEROS) };
        }
        let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else { return Parsed::CutOff };
        let [kind, s0, s1, s2, s3, t0, t1, t2, t3, c0, c1, c2, c3] = *header;
        let size = i32::from_be_bytes([s0, s1, s2, s3]);
        let total = i32::from_be_bytes([t0, t1, t2, t3]);
        let room = BLOCK - pos - HEADER;
        let Some(size) = usize::try_from(size).ok().filter(|size| (1..=room).contains(size)) else {
            return Parsed::Bad("record size out of range");
        };
        match kind {
            START if size != room => return Parsed::Bad("a start record that does not fill its block"),
            START if usize::try_from(total).map_or(true, |t| t < size || t > LARGEST_ENTRY) => {
                return Parsed::Bad("entry size out of range");
            }
            MIDDLE if size != room => return Parsed::Bad("a middle record that does not fill its block"),
            COMPLETE | MIDDLE | END if total != -1 => return Parsed::Bad("entry size in a record that has none"),
            COMPLETE | START | MIDDLE | END => {}
            _ => return Parsed::Bad("unknown record type"),
        }
        let Some(data) = rest.get(..size) else { return Parsed::CutOff };
        let sound = crc32fast::hash(data) == u32::from_be_bytes([c0, c1, c2, c3]);
        Parsed::Record(Record { kind, size, total, sound })
    }
}
