//! The segment that is being written: appending to it, and sealing it for the readers.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{directory, kill_point, record};
use crate::event::Timestamp;

/// Pending bytes at which they are written even if more are to come.
const MOST_PENDING: usize = 256 * 1024;

/// An open `N.log.tmp`.
#[derive(Debug)]
pub(super) struct Head {
    pub number: u32,
    path: PathBuf,
    file: File,
    /// Up to the end of the last entry that was written to the file.
    written: u64,
    /// Bytes of entries that could not be written may stand behind `written`.
    dirty: bool,
    /// Entries that are not written yet, framed.
    pending: Vec<u8>,
    pending_entries: u64,
    /// With what is pending.
    pub entries: u64,
    /// When the first and the last entry were written, by the clock for intervals.
    pub first_write: Duration,
    pub last_write: Duration,
    /// The last entry's time.
    pub last_entry: Option<Timestamp>,
}

impl Head {
    /// Makes an empty one.
    pub fn create(directory: &Path, number: u32) -> io::Result<Self> {
        let path = directory::head(directory, number);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        if let Err(error) = file.write_all_at(&[record::VERSION], 0) {
            // The next try starts afresh; an empty file left behind would do no harm either.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        Ok(Self {
            number,
            path,
            file,
            written: record::FIRST_RECORD,
            dirty: false,
            pending: Vec::new(),
            pending_entries: 0,
            entries: 0,
            first_write: Duration::ZERO,
            last_write: Duration::ZERO,
            last_entry: None,
        })
    }

    /// Length of the file once all that is pending is written.
    pub fn len(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    /// Frames an entry. It reaches the file with the next [`Head::flush`]; an error is about those before it.
    pub fn append(&mut self, entry: &[u8], entry_time: Timestamp, now: Duration) -> io::Result<()> {
        if self.pending.len() >= MOST_PENDING {
            self.flush()?;
        }
        let end = self.len();
        record::frame(entry, end, &mut self.pending);
        self.pending_entries += 1;
        if self.entries == 0 {
            self.first_write = now;
        }
        self.entries += 1;
        self.last_write = now;
        self.last_entry = Some(entry_time);
        Ok(())
    }

    /// Hands all that is pending to the kernel. On an error nothing of it stays in the file, but all of it is still
    /// pending.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return self.cut_back();
        }
        let pending = std::mem::take(&mut self.pending);
        let done = self.write(&pending);
        self.pending = pending;
        done?;
        self.written += self.pending.len() as u64;
        self.pending_entries = 0;
        self.drop_pending();
        Ok(())
    }

    /// Forgets what is pending; returns how many entries that were.
    pub fn drop_pending(&mut self) -> u64 {
        let dropped = std::mem::take(&mut self.pending_entries);
        self.entries -= dropped;
        self.pending.clear();
        if self.pending.capacity() > 2 * MOST_PENDING {
            self.pending = Vec::new();
        }
        dropped
    }

    fn write(&mut self, framed: &[u8]) -> io::Result<()> {
        self.cut_back()?;
        #[cfg(test)]
        if let Some(cut) = kill_point::cut(framed, self.written) {
            let _ = self.file.write_all_at(framed.get(..cut).unwrap_or(framed), self.written);
            kill_point::die();
        }
        self.dirty = true;
        if let Err(error) = self.file.write_all_at(framed, self.written) {
            // If this fails too, it is tried again before the next write.
            let _ = self.cut_back();
            return Err(error);
        }
        self.dirty = false;
        kill_point::reach("after-write");
        Ok(())
    }

    fn cut_back(&mut self) -> io::Result<()> {
        if self.dirty {
            self.file.set_len(self.written)?;
            self.dirty = false;
        }
        Ok(())
    }

    /// Whether the file is still in the directory.
    pub fn is_in_place(&self) -> bool {
        match (self.file.metadata(), fs::symlink_metadata(&self.path)) {
            (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
            _ => false,
        }
    }

    /// Makes everything written so far survive a power loss.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Renames the file, all of which is written, to `N.log`, where readers find it. Its data is not synced yet.
    pub fn seal(&mut self, directory: &Path, number: u32) -> io::Result<()> {
        self.cut_back()?;
        kill_point::reach("before-rename");
        fs::rename(&self.path, directory::sealed(directory, number))?;
        kill_point::reach("after-rename");
        self.number = number;
        Ok(())
    }

    /// The file, to be synced.
    pub fn into_file(self) -> File {
        self.file
    }
}
