//! A file of keys: a header, then one frame for each batch that was dealt with.
//!
//! ```text
//! header  "SPWYKEYS"  version u32  0 u32  seed 16 bytes  CRC-32 of all before, u32
//! frame   count u32   CRC-32 of count and records, u32   records
//! record  hash 16 bytes   time i64, milliseconds since 1970
//! ```
//!
//! Numbers are little-endian. A frame counts as a whole or not at all, so a batch that a kill cut off was never
//! written. docs/formats/dedupe.md tells users the same.

use std::io::{self, Read};

use super::table::Hash;

const MAGIC: &[u8; 8] = b"SPWYKEYS";
const VERSION: u32 = 1;
/// Bytes before the first frame.
pub const HEADER: usize = 36;
/// Bytes before the records of a frame.
const FRAME: usize = 8;
/// Bytes of a record.
const RECORD: usize = 24;
/// Most records in a frame; what claims more is damage.
pub const MOST_RECORDS: usize = 1 << 16;

/// What the keys of a store are hashed with.
pub type Seed = [u8; 16];
/// A hash and when its key was seen.
pub type Record = (Hash, i64);

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A later version wrote it.
    #[error("it was written by a newer version of this program (format {0}, known is {VERSION})")]
    Newer(u32),
    /// It is something else.
    #[error("it is no file of keys")]
    Foreign,
}

/// The header of a file.
pub fn header(seed: &Seed) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(seed);
    out.extend_from_slice(&crc32fast::hash(&out).to_le_bytes());
    out
}

/// Appends a frame with at most [`MOST_RECORDS`] records.
pub fn write_frame(records: &[Record], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&(records.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    for (hash, time) in records {
        out.extend_from_slice(&hash.to_le_bytes());
        out.extend_from_slice(&time.to_le_bytes());
    }
    if let Some((head, records)) = out.get_mut(start..).and_then(|frame| frame.split_at_mut_checked(FRAME))
        && let Some((count, crc)) = head.split_at_mut_checked(4)
    {
        crc.copy_from_slice(&checksum(count, records).to_le_bytes());
    }
}

fn checksum(count: &[u8], records: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(count);
    hasher.update(records);
    hasher.finalize()
}

/// Reads a file of keys.
pub struct SegmentReader<R> {
    source: R,
    seed: Seed,
    end: u64,
    buffer: Vec<u8>,
}

impl<R: Read> SegmentReader<R> {
    /// Reads the header. `None` when a kill cut it off.
    pub fn new(mut source: R) -> Result<Option<Self>, SegmentError> {
        let mut head = [0; HEADER];
        if fill(&mut source, &mut head)? < HEADER {
            return Ok(None);
        }
        let (content, crc) = head.split_at(HEADER - 4);
        if content.get(..8) != Some(MAGIC.as_slice()) {
            // A file whose length reached the disk before its content.
            return if head.iter().all(|byte| *byte == 0) { Ok(None) } else { Err(SegmentError::Foreign) };
        }
        let number =
            |at: usize| content.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        match number(8) {
            Some(version) if version > VERSION => return Err(SegmentError::Newer(version)),
            Some(VERSION) => {}
            _ => return Err(SegmentError::Foreign),
        }
        if crc32fast::hash(content).to_le_bytes() != crc {
            return Ok(None);
        }
        let seed = content.get(16..32).and_then(|seed| seed.try_into().ok()).unwrap_or_default();
        Ok(Some(Self { source, seed, end: HEADER as u64, buffer: Vec::new() }))
    }

    /// What the keys are hashed with.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Where the last whole frame ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Gives the records of the next whole frame to `each`. `false` at the end, or where a kill or damage cut the file
    /// off.
    pub fn next_frame(&mut self, mut each: impl FnMut(Record)) -> Result<bool, SegmentError> {
        let mut head = [0; FRAME];
        if fill(&mut self.source, &mut head)? < FRAME {
            return Ok(false);
        }
        let [a, b, c, d, crc @ ..] = head;
        let count = [a, b, c, d];
        let records = u32::from_le_bytes(count) as usize;
        if records == 0 || records > MOST_RECORDS {
            return Ok(false);
        }
        self.buffer.resize(records * RECORD, 0);
        let length = fill(&mut self.source, &mut self.buffer)?;
        if length < self.buffer.len() || checksum(&count, &self.buffer).to_le_bytes() != crc {
            return Ok(false);
        }
        for record in self.buffer.chunks_exact(RECORD) {
            let (hash, time) = record.split_at(16);
            let hash = hash.try_into().map(Hash::from_le_bytes).unwrap_or_default();
            each((hash, time.try_into().map(i64::from_le_bytes).unwrap_or_default()));
        }
        self.end += (FRAME + self.buffer.len()) as u64;
        Ok(true)
    }
}

/// Reads until the buffer is full or the source ends.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match source.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<(Vec<Record>, u64)> {
        let mut reader = SegmentReader::new(bytes).unwrap()?;
        let mut records = Vec::new();
        while reader.next_frame(|record| records.push(record)).unwrap() {}
        Some((records, reader.end()))
    }

    fn sample() -> (Vec<u8>, Vec<Record>) {
        let frames = [vec![(1, -1), (Hash::MAX, i64::MAX)], vec![(7, 1_784_696_400_123)]];
        let mut bytes = header(&[9; 16]);
        frames.iter().for_each(|frame| write_frame(frame, &mut bytes));
        (bytes, frames.concat())
    }

    #[test]
    fn what_was_written_is_read() {
        let (bytes, records) = sample();
        assert_eq!(read(&bytes), Some((records, bytes.len() as u64)));
        assert_eq!(SegmentReader::new(bytes.as_slice()).unwrap().unwrap().seed(), [9; 16]);
    }

    #[test]
    fn a_file_that_was_cut_anywhere_has_its_whole_frames() {
        let (bytes, records) = sample();
        for length in 0..=bytes.len() {
            let expected = match length {
                0..36 => None,
                36..92 => Some((vec![], 36)),
                92..124 => Some((records[..2].to_vec(), 92)),
                _ => Some((records.clone(), 124)),
            };
            assert_eq!(read(&bytes[..length]), expected, "{length}");
        }
    }

    #[test]
    fn a_flipped_bit_ends_the_file_before_it() {
        let (bytes, records) = sample();
        for at in HEADER..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            let (read, _) = read(&damaged).unwrap();
            assert_eq!(read, if at < 92 { &[][..] } else { &records[..2] }, "{at}");
        }
    }

    #[test]
    fn other_files_are_refused() {
        let (mut bytes, _) = sample();
        bytes[8] = 2;
        assert!(matches!(SegmentReader::new(bytes.as_slice()), Err(SegmentError::Newer(2))));
        assert!(matches!(SegmentReader::new([b'x'; 40].as_slice()), Err(SegmentError::Foreign)));
        assert!(SegmentReader::new([0; 40].as_slice()).unwrap().is_none());
    }
}
