//! One queue directory that is being written: start, roll, seal, size and age policies, close.
//!
//! All calls come from [`super::writer`], one at a time. The size is always that of all sealed segments and the head
//! together; files that somebody else deletes are noticed by the directory's modification time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::clock::{self, Clock};
use super::directory::{self, ChangeWatch, DELETED_NOTE, Listing};
use super::head::Head;
use super::record::{self, FIRST_RECORD, LARGEST_ENTRY};
use super::recovery;
use super::settings::{Settings, StoragePolicy};
use super::stats::Counters;
use super::summary;
use crate::event::Timestamp;
use crate::storage::{Lock, LockError};

/// A queue that cannot be opened for writing.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its directory cannot be made or read, or the first segment cannot be written.
    #[error("cannot open the dead letter queue {}: {source}", directory.display())]
    Directory {
        /// The queue's directory.
        directory: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Somebody else writes to it.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// An entry that could not be written. It left no trace, and can be written again when the cause is gone.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to the dead letter queue {}: {source}", directory.display())]
pub struct WriteError {
    /// The queue's directory.
    pub directory: PathBuf,
    /// Why not.
    pub source: io::Error,
}

/// Where an entry went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Appended {
    Stored,
    /// It is counted and logged.
    Refused,
    /// Nowhere, and nothing was counted: the caller waits for room.
    Full,
}

/// What to do with an entry for which there is no room and can be made none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhenFull {
    /// It is dropped.
    Refuse,
    /// The caller tries again.
    Wait,
}

/// What is known about a sealed segment without reading it.
#[derive(Clone, Copy, Debug)]
struct Sealed {
    len: u64,
    last_write: Option<Timestamp>,
    entries: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Queue {
    settings: Settings,
    clock: Clock,
    counters: Arc<Counters>,
    lock: Option<Lock>,
    sealed: BTreeMap<u32, Sealed>,
    sealed_bytes: u64,
    /// None when it could not be made; every write and tick tries again.
    head: Option<Head>,
    next_number: u32,
    watch: ChangeWatch,
    /// Sealed files whose data is not on the disk yet, each followed by the directory.
    unsynced: Vec<File>,
}

impl Queue {
    pub fn open(settings: Settings, clock: Clock, counters: Arc<Counters>) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Directory { directory: settings.directory.clone(), source };
        fs::create_dir_all(&settings.directory).map_err(failed)?;
        let lock = Lock::take(&settings.directory, ".lock", true)?;
        let mut listing = Listing::read(&settings.directory).map_err(failed)?;
        if !listing.foreign.is_empty() {
            tracing::warn!(
                directory = %settings.directory.display(),
                "not a dead letter queue segment, ignored: {}", listing.foreign.join(", ")
            );
        }
        if !listing.heads.is_empty() {
            recovery::recover_heads(&settings.directory, &mut listing);
            listing = Listing::read(&settings.directory).map_err(failed)?;
        }
        let next_number = listing.free_number().ok_or_else(|| failed(numbers_used_up()))?;
        let mut queue = Self {
            settings,
            clock,
            counters,
            lock: Some(lock),
            sealed: BTreeMap::new(),
            sealed_bytes: 0,
            head: None,
            next_number,
            watch: ChangeWatch::default(),
            unsynced: Vec::new(),
        };
        queue.recount(&listing);
        let directory = queue.settings.directory.clone();
        queue.open_head().map_err(|source| OpenError::Directory { directory, source })?;
        queue.expire();
        Ok(queue)
    }

    fn head_len(&self) -> u64 {
        self.head.as_ref().map_or(0, Head::len)
    }

    fn size(&self) -> u64 {
        self.sealed_bytes + self.head_len()
    }

    fn publish_size(&self) {
        self.counters.size.store(self.size(), Relaxed);
    }

    fn write_error(&self, source: io::Error) -> WriteError {
        let error = WriteError { directory: self.settings.directory.clone(), source };
        self.counters.set_last_error(&error.to_string());
        error
    }

    /// Appends an encoded entry, which the kernel has after the next [`Queue::flush`]. An error means that this one is not
    /// stored; others may still be pending.
    pub fn append(&mut self, entry: &[u8], entry_time: Timestamp, when_full: WhenFull) -> Result<Appended, WriteError> {
        let done = self.try_append(entry, entry_time, when_full);
        self.publish_size();
        done.map_err(|source| self.write_error(source))
    }

    /// Hands all entries that are pending to the kernel. An error means that none of them is
    /// stored and all are still pending.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        let done = self.head.as_mut().map_or(Ok(()), Head::flush);
        self.publish_size();
        done.map_err(|source| self.write_error(source))
    }

    /// Forgets the entries that are pending; returns how many that were.
    pub fn drop_pending(&mut self) -> u64 {
        let dropped = self.head.as_mut().map_or(0, Head::drop_pending);
        self.publish_size();
        dropped
    }

    fn try_append(&mut self, entry: &[u8], entry_time: Timestamp, when_full: WhenFull) -> io::Result<Appended> {
        self.expire();
        let alone = FIRST_RECORD + record::framed_len(entry.len(), FIRST_RECORD);
        if entry.len() > LARGEST_ENTRY || alone > self.settings.max_bytes {
            self.refuse(&format!("the entry of {} bytes is larger than the queue may be", entry.len()));
            return Ok(Appended::Refused);
        }
        if self.head.is_none() {
            self.open_head()?;
        }
        let roll = loop {
            let roll = self.must_roll(entry.len());
            let growth = if roll { alone } else { record::framed_len(entry.len(), self.head_len()) };
            if self.size() + growth <= self.settings.max_bytes {
                break roll;
            }
            if !self.make_room()? {
                if when_full == WhenFull::Wait {
                    return Ok(Appended::Full);
                }
                self.refuse(&format!("reached maxQueueSize of {}", self.settings.max_bytes));
                return Ok(Appended::Refused);
            }
        };
        if roll {
            self.seal_head()?;
            self.open_head()?;
        }
        let now = self.clock.elapsed();
        let Some(head) = &mut self.head else { return Err(io::ErrorKind::NotFound.into()) };
        head.append(entry, entry_time, now)?;
        Ok(Appended::Stored)
    }

    fn must_roll(&self, entry_len: usize) -> bool {
        self.head.as_ref().is_some_and(|head| {
            head.entries > 0 && head.len() + (record::HEADER + entry_len) as u64 > self.settings.segment_limit()
        })
    }

    fn refuse(&self, why: &str) {
        let text = format!("Cannot write event to DLQ(path: {}): {why}", self.settings.directory.display());
        tracing::error!("{text}");
        self.counters.set_last_error(&text);
        self.counters.dropped.fetch_add(1, Relaxed);
    }

    /// Gives space free, or finds that somebody else did. False when there is nothing to give.
    fn make_room(&mut self) -> io::Result<bool> {
        let before = self.size();
        self.look_for_changes();
        if self.size() < before {
            return Ok(true);
        }
        if self.settings.storage_policy == StoragePolicy::DropNewer {
            return Ok(false);
        }
        if let Some((&oldest, _)) = self.sealed.first_key_value() {
            self.delete(oldest)?;
            return Ok(true);
        }
        if self.head.as_ref().is_some_and(|head| head.entries > 0) {
            self.seal_head()?;
            if let Some((&oldest, _)) = self.sealed.first_key_value() {
                self.delete(oldest)?;
            }
            self.open_head()?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Deletes a sealed segment; says whether it was there.
    fn delete(&mut self, number: u32) -> io::Result<bool> {
        let there = match fs::remove_file(directory::sealed(&self.settings.directory, number)) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if let Some(gone) = self.sealed.remove(&number) {
            self.sealed_bytes -= gone.len;
        }
        Ok(there)
    }

    fn open_head(&mut self) -> io::Result<()> {
        let number = self.next_number;
        if number > directory::HIGHEST_NUMBER {
            return Err(numbers_used_up());
        }
        if !self.settings.directory.is_dir() {
            self.restore_directory()?;
        }
        self.head = Some(Head::create(&self.settings.directory, number)?);
        self.next_number = number + 1;
        self.publish_size();
        Ok(())
    }

    /// Somebody removed the whole directory while it was in use.
    fn restore_directory(&mut self) -> io::Result<()> {
        tracing::warn!(directory = %self.settings.directory.display(), "the dead letter queue was removed, it is made anew");
        fs::create_dir_all(&self.settings.directory)?;
        self.lock = None;
        self.lock = Some(Lock::take(&self.settings.directory, ".lock", true).map_err(io::Error::other)?);
        self.sealed.clear();
        self.sealed_bytes = 0;
        Ok(())
    }

    /// Makes the head readable if it has entries; then there is no head.
    fn seal_head(&mut self) -> io::Result<()> {
        if let Some(head) = &mut self.head {
            head.flush()?;
        }
        let Some(mut head) = self.head.take_if(|head| head.entries > 0) else { return Ok(()) };
        if !head.is_in_place() {
            self.lost_head(&head);
            return Ok(());
        }
        let mut number = head.number;
        if directory::sealed(&self.settings.directory, number).exists() {
            // Somebody put a file there; it is not ours to overwrite.
            let listing = Listing::read(&self.settings.directory)?;
            number = listing.free_number().unwrap_or(number).max(number + 1);
            self.next_number = self.next_number.max(number + 1);
        }
        if let Err(error) = head.seal(&self.settings.directory, number) {
            self.head = Some(head);
            return Err(error);
        }
        self.sealed_bytes += head.len();
        self.sealed
            .insert(number, Sealed { len: head.len(), last_write: head.last_entry, entries: Some(head.entries) });
        self.unsynced.push(head.into_file());
        // Behind the data: the rename must not outlive it.
        self.unsynced.push(File::open(&self.settings.directory)?);
        self.expire();
        Ok(())
    }

    fn lost_head(&self, head: &Head) {
        tracing::warn!(
            file = %directory::head(&self.settings.directory, head.number).display(),
            "somebody removed the dead letter queue segment that was being written, {} entries are gone; a new one is opened",
            head.entries
        );
    }

    /// Deletes the segments that are older than they may be.
    fn expire(&mut self) {
        let Some(cutoff) = self.settings.retain_age.and_then(|age| clock::before(self.clock.now(), age)) else {
            return;
        };
        while let Some((&oldest, &known)) = self.sealed.first_key_value() {
            let path = directory::sealed(&self.settings.directory, oldest);
            let last_write = match known.last_write {
                Some(time) => Some(time),
                None => summary::last_write(&path).unwrap_or(None),
            };
            if let Some(segment) = self.sealed.get_mut(&oldest) {
                segment.last_write = last_write;
            }
            let gone = last_write.is_none() && !path.exists();
            if !gone && last_write.is_none_or(|time| time >= cutoff) {
                break;
            }
            let entries = known.entries.or_else(|| summary::count_entries(&path).ok()).unwrap_or(0);
            match self.delete(oldest) {
                Ok(true) => {
                    self.counters.expired.fetch_add(entries, Relaxed);
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(file = %path.display(), "cannot delete a dead letter queue segment that is too old: {error}");
                    break;
                }
            }
        }
        self.publish_size();
    }

    /// What has to happen from time to time: sealing an idle head, ages, deletions by others.
    pub fn tick(&mut self) {
        self.look_for_changes();
        if self.head.is_none() {
            self.report("open a segment", Self::open_head);
        }
        if self.is_head_due() {
            self.report("seal a segment", Self::seal_head);
            if self.head.is_none() {
                self.report("open a segment", Self::open_head);
            }
        }
        self.expire();
        self.publish_size();
    }

    fn report(&mut self, what: &str, step: impl FnOnce(&mut Self) -> io::Result<()>) {
        if let Err(error) = step(self) {
            tracing::warn!(directory = %self.settings.directory.display(), "cannot {what} of the dead letter queue: {error}");
            self.write_error(error);
        }
    }

    /// Whether nothing was written for the flush interval; a slow steady stream is sealed after twelve of them.
    fn is_head_due(&self) -> bool {
        let (now, interval) = (self.clock.elapsed(), self.settings.flush_interval);
        self.head.as_ref().is_some_and(|head| {
            head.entries > 0
                && (now.saturating_sub(head.last_write) > interval
                    || now.saturating_sub(head.first_write) > interval * 12)
        })
    }

    /// Counts again if names came or went in the directory.
    fn look_for_changes(&mut self) {
        match self.watch.changed(&self.settings.directory) {
            Ok(false) => {}
            Ok(true) => {
                if let Ok(listing) = Listing::read(&self.settings.directory) {
                    self.recount(&listing);
                }
            }
            Err(_) => {
                // The whole directory is gone; opening a head makes it again.
                self.sealed.clear();
                self.sealed_bytes = 0;
            }
        }
        if let Some(head) = self.head.take_if(|head| !head.is_in_place()) {
            self.lost_head(&head);
        }
    }

    fn recount(&mut self, listing: &Listing) {
        if listing.has_deleted_note {
            let _ = fs::remove_file(self.settings.directory.join(DELETED_NOTE));
        }
        self.sealed.retain(|number, _| listing.sealed.contains(number));
        for number in &listing.sealed {
            if !self.sealed.contains_key(number)
                && let Ok(metadata) = fs::metadata(directory::sealed(&self.settings.directory, *number))
            {
                self.sealed.insert(*number, Sealed { len: metadata.len(), last_write: None, entries: None });
            }
        }
        self.sealed_bytes = self.sealed.values().map(|segment| segment.len).sum();
        self.next_number = self.next_number.max(listing.free_number().unwrap_or(self.next_number));
        self.publish_size();
    }

    pub fn has_unsynced(&self) -> bool {
        !self.unsynced.is_empty()
    }

    /// Sealed files, and their directory, that the caller has to sync.
    pub fn take_unsynced(&mut self) -> Vec<File> {
        std::mem::take(&mut self.unsynced)
    }

    /// Makes everything written so far survive a power loss.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        let done = self.try_sync();
        done.map_err(|source| self.write_error(source))
    }

    fn try_sync(&mut self) -> io::Result<()> {
        directory::sync_all(&self.take_unsynced())?;
        if let Some(head) = &self.head {
            head.sync()?;
        }
        directory::sync_all(&[File::open(&self.settings.directory)?])
    }

    /// Seals the head if it has entries, syncs, and gives the lock up.
    pub fn close(mut self) -> Result<(), WriteError> {
        self.expire();
        let sealed = self.seal_head();
        let synced = self.try_sync();
        self.publish_size();
        self.lock = None;
        sealed.and(synced).map_err(|source| self.write_error(source))
    }
}

fn numbers_used_up() -> io::Error {
    io::Error::other("segment numbers are used up; move the directory away to start again")
}
