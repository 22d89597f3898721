//! Keys on disk: a folder of segments, one for each sixteenth of the TTL. A segment is deleted once its newest key has
//! expired, so space is given back without writing anything anew.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::segment::{self, MOST_RECORDS, Record, Seed, SegmentError, SegmentReader};
use crate::dead_letter::kill_point;

/// Segments that the TTL is divided into.
const BUCKETS: i64 = 16;
/// End of the name of a segment.
const SUFFIX: &str = "keys";

/// A folder of keys that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Another one uses it.
    #[error("{} is in use by another filter or program: a folder of keys belongs to one", .0.display())]
    InUse(PathBuf),
    /// A file in it cannot be used.
    #[error("{}: {error}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why not.
        error: SegmentError,
    },
    /// Its files belong to different stores.
    #[error("{} has keys of another store than the files beside it", .0.display())]
    OtherSeed(PathBuf),
}

impl LogError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { path, error: error.into() }
    }
}

/// The folder, open for one writer.
pub struct Log {
    folder: PathBuf,
    ttl: i64,
    seed: Seed,
    sealed: Vec<Segment>,
    open: Option<(Segment, File)>,
    /// Number of the next segment.
    next: u64,
    /// Whether something was written that is not synced.
    dirty: bool,
    /// Held while this lives.
    _lock: File,
}

struct Segment {
    path: PathBuf,
    bytes: u64,
    /// When its newest key was seen.
    newest: i64,
    /// When it was begun.
    begun: i64,
}

impl Log {
    /// Opens a folder, which is made when it is missing, and gives every key in it to `each`. `ttl` is in milliseconds.
    /// What a kill left unfinished is cut off.
    pub fn open(folder: &Path, ttl: i64, mut each: impl FnMut(Record)) -> Result<Self, LogError> {
        let failed = || LogError::io(folder);
        fs::create_dir_all(folder).map_err(failed())?;
        let lock_path = folder.join(".lock");
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(&lock_path);
        let lock = lock.map_err(LogError::io(&lock_path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| LogError::InUse(folder.to_owned()))?;
        let numbers = numbers(folder).map_err(failed())?;
        let mut log = Self {
            folder: folder.to_owned(),
            ttl,
            seed: [0; 16],
            sealed: Vec::new(),
            open: None,
            next: numbers.last().map_or(0, |last| last + 1),
            dirty: false,
            _lock: lock,
        };
        let mut seed = None;
        for number in numbers {
            log.load(number, &mut seed, &mut each)?;
        }
        log.seed = seed.unwrap_or_else(|| *uuid::Uuid::new_v4().as_bytes());
        Ok(log)
    }

    fn load(&mut self, number: u64, seed: &mut Option<Seed>, each: &mut impl FnMut(Record)) -> Result<(), LogError> {
        let path = self.path(number);
        let unusable = |error| LogError::File { path: path.clone(), error };
        let file = File::open(&path).map_err(LogError::io(&path))?;
        let length = file.metadata().map_err(LogError::io(&path))?.len();
        let Some(mut reader) = SegmentReader::new(BufReader::with_capacity(1 << 20, file)).map_err(unusable)? else {
            // Nothing was acknowledged that would be in it.
            return fs::remove_file(&path).map_err(LogError::io(&path));
        };
        if *seed.get_or_insert(reader.seed()) != reader.seed() {
            return Err(LogError::OtherSeed(path));
        }
        let mut newest = i64::MIN;
        while reader
            .next_frame(|record| {
                newest = newest.max(record.1);
                each(record);
            })
            .map_err(unusable)?
        {}
        let end = reader.end();
        if end < length {
            tracing::warn!(target: "spillway.filters.dedupe", bytes = length - end,
                "{}: the end was not written completely and is cut off", path.display());
            let cut = OpenOptions::new().write(true).open(&path).and_then(|file| {
                file.set_len(end)?;
                file.sync_all()
            });
            cut.map_err(LogError::io(&path))?;
        }
        self.sealed.push(Segment { path, bytes: end, newest, begun: newest });
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:020}.{SUFFIX}"))
    }

    /// What the keys are hashed with.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Takes the seed of other keys, while there are none here. Whether they can live together.
    pub fn adopt(&mut self, seed: Seed) -> bool {
        if self.sealed.is_empty() && self.open.is_none() {
            self.seed = seed;
        }
        self.seed == seed
    }

    /// Bytes of all segments.
    pub fn bytes(&self) -> u64 {
        self.sealed.iter().chain(self.open.iter().map(|(segment, _)| segment)).map(|segment| segment.bytes).sum()
    }

    /// Number of segments.
    pub fn segments(&self) -> usize {
        self.sealed.len() + usize::from(self.open.is_some())
    }

    /// Appends keys. After an error nothing of them is there.
    pub fn append(&mut self, records: &[Record], now: i64) -> io::Result<()> {
        let Some(newest) = records.iter().map(|(_, time)| *time).max() else { return Ok(()) };
        let mut frames = Vec::with_capacity(records.len() * 24 + 8);
        records.chunks(MOST_RECORDS).for_each(|records| segment::write_frame(records, &mut frames));
        let bucket = (self.ttl / BUCKETS).max(1);
        if self.open.as_ref().is_some_and(|(segment, _)| now.saturating_sub(segment.begun) >= bucket) {
            self.seal()?;
        }
        if self.open.is_none() {
            self.open = Some(self.begin(now)?);
        }
        let Some((segment, file)) = &mut self.open else { return Ok(()) };
        kill_point::reach("keys-before-frame");
        #[cfg(test)]
        if let Some(half) = kill_point::half("keys-mid-frame", &frames) {
            file.write_all(half)?;
            kill_point::die();
        }
        if let Err(error) = file.write_all(&frames) {
            // The next frame must not stand behind half of this one. If even that fails, no more is written here.
            if file.set_len(segment.bytes).is_err() {
                self.sealed.extend(self.open.take().map(|(segment, _)| segment));
            }
            return Err(error);
        }
        kill_point::reach("keys-after-frame");
        segment.bytes += frames.len() as u64;
        segment.newest = segment.newest.max(newest);
        self.dirty = true;
        Ok(())
    }

    fn begin(&mut self, now: i64) -> io::Result<(Segment, File)> {
        let path = self.path(self.next);
        let mut file = OpenOptions::new().append(true).create_new(true).open(&path)?;
        kill_point::reach("keys-new-segment");
        self.next += 1;
        let header = segment::header(&self.seed);
        if let Err(error) = file.write_all(&header).and_then(|()| sync_folder(&self.folder)) {
            let _stays_empty = fs::remove_file(&path);
            return Err(error);
        }
        Ok((Segment { path, bytes: header.len() as u64, newest: i64::MIN, begun: now }, file))
    }

    fn seal(&mut self) -> io::Result<()> {
        self.sync()?;
        self.sealed.extend(self.open.take().map(|(segment, _)| segment));
        Ok(())
    }

    /// Makes everything that was appended survive a loss of power.
    pub fn sync(&mut self) -> io::Result<()> {
        if let Some((_, file)) = self.open.as_ref().filter(|_| self.dirty) {
            file.sync_data()?;
            kill_point::reach("keys-after-sync");
            self.dirty = false;
        }
        Ok(())
    }

    /// Deletes the segments whose keys have all expired.
    pub fn purge(&mut self, now: i64) -> io::Result<()> {
        let ttl = self.ttl;
        let is_over = |segment: &Segment| now.saturating_sub(segment.newest) >= ttl;
        if self.open.as_ref().is_some_and(|(segment, _)| segment.newest > i64::MIN && is_over(segment)) {
            self.seal()?;
        }
        let mut outcome = Ok(());
        self.sealed.retain(|segment| {
            if !is_over(segment) || outcome.is_err() {
                return true;
            }
            outcome = fs::remove_file(&segment.path);
            kill_point::reach("keys-segment-deleted");
            outcome.is_err()
        });
        outcome
    }
}

/// The numbers of all segments, in order.
fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|suffix| suffix == SUFFIX) {
            numbers.extend(path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<u64>().ok()));
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// A file that was made is only there after a loss of power when its folder was synced.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
