//! The segment that is being written: appending to it, and sealing it for the readers.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{directory, kill_point, record};
use crate::event::Timestamp;

/// An open `N.log.tmp`.
#[derive(Debug)]
pub(super) struct Head {
    pub number: u32,
    path: PathBuf,
    file: File,
    /// Up to the end of the last whole entry.
    pub len: u64,
    /// Bytes of an entry that could not be written may stand behind `len`.
    dirty: bool,
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
            len: record::FIRST_RECORD,
            dirty: false,
            entries: 0,
            first_write: Duration::ZERO,
            last_write: Duration::ZERO,
            last_entry: None,
        })
    }

    /// Hands one framed entry to the kernel. On an error nothing of it stays in the file.
    pub fn append(&mut self, framed: &[u8], entry_time: Timestamp, now: Duration) -> io::Result<()> {
        self.cut_back()?;
        #[cfg(test)]
        if let Some(cut) = kill_point::cut(framed, self.len) {
            let _ = self.file.write_all_at(framed.get(..cut).unwrap_or(framed), self.len);
            kill_point::die();
        }
        self.dirty = true;
        if let Err(error) = self.file.write_all_at(framed, self.len) {
            // If this fails too, it is tried again before the next write.
            let _ = self.cut_back();
            return Err(error);
        }
        self.dirty = false;
        self.len += framed.len() as u64;
        if self.entries == 0 {
            self.first_write = now;
        }
        self.entries += 1;
        self.last_write = now;
        self.last_entry = Some(entry_time);
        kill_point::reach("after-write");
        Ok(())
    }

    fn cut_back(&mut self) -> io::Result<()> {
        if self.dirty {
            self.file.set_len(self.len)?;
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

    /// Renames the file to `N.log`, where readers find it. Its data is not synced yet.
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
