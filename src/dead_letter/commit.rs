//! Keeping a reader's position, and deleting what it has read.
//!
//! Only what was acknowledged downstream moves the position, and only what lies before a saved position is deleted,
//! except for segments that could not be read.
//! The order is: position, segments, note to the writer; a kill in between repeats entries at worst.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::directory::{self, ChangeWatch, DELETED_NOTE, Listing};
use super::kill_point;
use super::position::{Position, Resumed};
use super::summary;
use super::unread::{Unread, is_shortage};
use crate::storage::{Lock, LockError};

/// Longest time that a position that moved stays unsaved.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);

/// What to keep, where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitOptions {
    /// The queue's directory.
    pub directory: PathBuf,
    /// The position file.
    pub sincedb: PathBuf,
    /// Whether the position file is written.
    pub commit_offsets: bool,
    /// Whether segments are deleted when all their entries are acknowledged.
    pub clean_consumed: bool,
}

/// Segments and entries that were deleted after reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Number of segments.
    pub segments: u64,
    /// Number of entries in them.
    pub events: u64,
}

/// Positions that cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Another reader deletes segments of this queue.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The position file cannot be read.
    #[error("cannot read the position in the dead letter queue from {}: {source}", path.display())]
    Sincedb {
        /// The position file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// The position of one reader.
#[derive(Debug)]
pub struct Committer {
    options: CommitOptions,
    lock: Option<Lock>,
    saved: Option<Position>,
    acknowledged: Option<Position>,
    unread: Unread,
    last_save: Instant,
    watch: ChangeWatch,
    cleaned: Cleaned,
}

impl Committer {
    /// Reads the position file and, for a reader that deletes, takes its lock if the queue's directory exists already
    /// (else at the first deletion).
    pub fn open(options: CommitOptions) -> Result<Self, CommitError> {
        let unreadable = |source| CommitError::Sincedb { path: options.sincedb.clone(), source };
        let saved = Position::load(&options.sincedb).map_err(unreadable)?;
        let unread = Unread::load(&options.sincedb, &options.directory).map_err(unreadable)?;
        let mut committer = Self {
            options,
            lock: None,
            saved,
            acknowledged: None,
            unread,
            last_save: Instant::now(),
            watch: ChangeWatch::default(),
            cleaned: Cleaned::default(),
        };
        if committer.options.clean_consumed && committer.options.directory.is_dir() {
            committer.take_lock()?;
        }
        Ok(committer)
    }

    fn take_lock(&mut self) -> Result<(), LockError> {
        if self.lock.is_none() {
            self.lock = Some(Lock::take(&self.options.directory, "dlq_reader.lock", false)?);
        }
        Ok(())
    }

    /// The position of the earlier run.
    pub fn position(&self) -> Option<Position> {
        self.saved
    }

    /// What was deleted since this was opened.
    pub fn cleaned(&self) -> Cleaned {
        self.cleaned
    }

    /// Deletes what an earlier run had read, if segments are to be deleted. Not for a reader that ignores the saved
    /// position.
    pub fn clean_before_start(&mut self) -> io::Result<()> {
        let Some(position) = self.saved.filter(|_| self.options.clean_consumed) else { return Ok(()) };
        let Ok(listing) = Listing::read(&self.options.directory) else { return Ok(()) };
        match Resumed::find(position, &self.options.directory, &listing) {
            Some(Resumed::Here(at)) => self.delete_before(at.segment, &listing),
            Some(Resumed::Next(segment)) => self.delete_before(segment, &listing),
            // Another queue than the one that was read.
            Some(Resumed::Anew(_)) | None => Ok(()),
        }
    }

    /// The reader could not read these segments, see [`Reader::take_passed_over`](super::Reader::take_passed_over):
    /// they are not deleted. To be called before the position moves past them.
    pub fn keep(&mut self, passed_over: impl IntoIterator<Item = u32>) {
        passed_over.into_iter().for_each(|segment| self.unread.add(segment));
    }

    /// Everything up to `position` is acknowledged. Saves when a segment's end was passed.
    pub fn advance(&mut self, position: Position) -> io::Result<()> {
        let before = self.acknowledged.replace(position);
        if before.is_some_and(|before| before.segment != position.segment) { self.commit() } else { Ok(()) }
    }

    /// To be called at least every second: saves when it is time, and deletes a segment that is done with.
    pub fn tick(&mut self) -> io::Result<()> {
        let due = self.acknowledged != self.saved && self.last_save.elapsed() >= SAVE_INTERVAL;
        if due || self.is_segment_done()? { self.commit() } else { Ok(()) }
    }

    /// Saves the position if it moved, and deletes the segments before it if they are to be deleted.
    pub fn commit(&mut self) -> io::Result<()> {
        let Some(acknowledged) = self.acknowledged else { return Ok(()) };
        if !self.options.commit_offsets {
            return Ok(());
        }
        if !self.options.clean_consumed {
            return self.save(acknowledged);
        }
        let listing = match Listing::read(&self.options.directory) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.save(acknowledged),
            Err(error) => return Err(error),
        };
        let position = self.past_the_end(acknowledged, &listing).unwrap_or(acknowledged);
        self.save(position)?;
        kill_point::reach("after-commit");
        self.delete_before(position.segment, &listing)
    }

    /// Saves and cleans for the last time.
    pub fn close(mut self) -> io::Result<()> {
        self.commit()
    }

    fn save(&mut self, position: Position) -> io::Result<()> {
        if self.saved != Some(position) {
            self.unread.save()?;
            position.save(&self.options.sincedb, &self.options.directory)?;
            self.saved = Some(position);
            self.last_save = Instant::now();
        }
        self.acknowledged = Some(position);
        Ok(())
    }

    /// The start of the next segment, if `position` is at the end of one that is not the highest.
    fn past_the_end(&self, position: Position, listing: &Listing) -> Option<Position> {
        let next = listing.sealed.range(position.segment + 1..).next()?;
        self.is_at_end(position).then(|| Position::start_of(*next))
    }

    fn is_at_end(&self, position: Position) -> bool {
        match fs::metadata(directory::sealed(&self.options.directory, position.segment)) {
            Ok(metadata) => position.offset >= metadata.len(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    fn is_segment_done(&mut self) -> io::Result<bool> {
        let Some(position) = self.acknowledged.filter(|_| self.options.clean_consumed) else { return Ok(false) };
        if self.acknowledged == self.saved && !self.watch.changed(&self.options.directory).unwrap_or(false) {
            return Ok(false);
        }
        if !self.is_at_end(position) {
            return Ok(false);
        }
        let listing = Listing::read(&self.options.directory)?;
        Ok(self.past_the_end(position, &listing).is_some())
    }

    /// Deletes all segments with a lower number that can be read, then tells the writer.
    fn delete_before(&mut self, segment: u32, listing: &Listing) -> io::Result<()> {
        let mut last_deleted = None;
        let done = listing.sealed.range(..segment).filter(|number| !self.unread.contains(**number));
        for number in done.copied().collect::<Vec<_>>() {
            self.take_lock().map_err(io::Error::other)?;
            let path = directory::sealed(&self.options.directory, number);
            let entries = match summary::count_entries(&path) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound || is_shortage(&error) => continue,
                Err(error) => {
                    tracing::warn!(file = %path.display(), "this dead letter queue segment cannot be read, it is not deleted: {error}");
                    self.unread.add(number);
                    continue;
                }
            };
            match fs::remove_file(&path) {
                Ok(()) => {
                    self.cleaned.segments += 1;
                    self.cleaned.events += entries;
                    last_deleted = Some(path);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.unread.save()?;
        kill_point::reach("before-note");
        match last_deleted {
            Some(path) => self.leave_note(&path),
            None => Ok(()),
        }
    }

    fn leave_note(&self, deleted: &std::path::Path) -> io::Result<()> {
        let note = self.options.directory.join(DELETED_NOTE);
        let line = [std::path::absolute(deleted)?.as_os_str().as_encoded_bytes(), b"\n"].concat();
        if let Ok(mut file) = OpenOptions::new().append(true).open(&note) {
            return file.write_all(&line);
        }
        let temporary = self.options.directory.join(".deleted_segment.tmp");
        fs::write(&temporary, line)?;
        fs::rename(&temporary, &note)
    }
}
