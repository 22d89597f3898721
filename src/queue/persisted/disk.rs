//! Every touch of the files of a queue: the one place where a test can drop, tear or refuse a write.
//!
//! Pages are written with plain writes, not through a mapping: a full disk is then an error that is told, and not a
//! signal that ends the program. What a write gave to the kernel outlives the program; only [`Disk::sync`] makes it
//! outlive the machine.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::checkpoint::Checkpoint;
use super::page;
#[cfg(test)]
use super::tape::{Op, Tape};

/// The highest page number, Java's largest 32-bit integer.
pub const HIGHEST_PAGE: u32 = i32::MAX as u32;
/// Tries of a rename after the first one.
const RENAME_TRIES: u32 = 4;
/// Pause before the second of them; it doubles.
const RENAME_PAUSE: Duration = Duration::from_millis(5);

/// A file of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// `page.N`
    Page(u32),
    /// `checkpoint.N`, of a page that is no longer written.
    Tail(u32),
    /// `checkpoint.head`, of the page that is being written.
    Head,
}

impl Name {
    /// The file of that name, when it is one of a queue.
    pub fn parse(name: &str) -> Option<Self> {
        let number = |digits: &str| {
            let only_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            only_digits.then(|| digits.parse().ok()).flatten().filter(|n| *n <= HIGHEST_PAGE)
        };
        match name.split_once('.')? {
            ("page", digits) => number(digits).map(Self::Page),
            ("checkpoint", "head") => Some(Self::Head),
            ("checkpoint", digits) => number(digits).map(Self::Tail),
            _ => None,
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Page(number) => write!(f, "page.{number}"),
            Self::Tail(number) => write!(f, "checkpoint.{number}"),
            Self::Head => f.write_str("checkpoint.head"),
        }
    }
}

/// The directory of a queue.
pub struct Disk {
    directory: PathBuf,
    /// Whether a rename is tried again.
    retry: bool,
    /// What a test wants to know, or to go wrong.
    #[cfg(test)]
    pub tape: Tape,
}

impl Disk {
    /// The files in `directory`.
    pub fn new(directory: &Path, retry: bool) -> Self {
        Self {
            directory: directory.to_owned(),
            retry,
            #[cfg(test)]
            tape: Tape::of(directory),
        }
    }

    /// The queue's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where a file is.
    pub fn path(&self, name: Name) -> PathBuf {
        self.directory.join(name.to_string())
    }

    /// The files that are there, in order of their kind and number. Any other name is passed over.
    pub fn list(&self) -> io::Result<Vec<Name>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            names.extend(entry?.file_name().to_str().and_then(Name::parse));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// A new page with its blocks reserved, of which nothing but the version is written. What had its name is gone.
    pub fn create_page(&self, number: u32, capacity: u64) -> io::Result<File> {
        let path = self.path(Name::Page(number));
        #[cfg(test)]
        self.tape.note(Op::Create(Name::Page(number), capacity))?;
        let made = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).and_then(|file| {
            reserve(&file, capacity)?;
            file.write_all_at(&[page::VERSION], 0)?;
            file.sync_all()?;
            Ok(file)
        });
        if made.is_err() {
            // Blocks that were reserved would be missing elsewhere.
            let _ = fs::remove_file(&path);
        }
        made
    }

    /// A page that is there.
    pub fn open_page(&self, number: u32) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.path(Name::Page(number)))
    }

    /// Writes into a page. When it fails, any part of it may have been written.
    pub fn write(&self, number: u32, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let _ = number;
        #[cfg(test)]
        if let Err(error) = self.tape.note(Op::Write(Name::Page(number), offset, bytes.to_vec())) {
            // As a disk does that fills up in the middle.
            file.write_all_at(bytes.get(..bytes.len() / 2).unwrap_or_default(), offset)?;
            return Err(error);
        }
        file.write_all_at(bytes, offset)
    }

    /// What was written to a page outlives the machine when this returns.
    pub fn sync(&self, number: u32, file: &File) -> io::Result<()> {
        let _ = number;
        #[cfg(test)]
        self.tape.note(Op::Sync(Name::Page(number)))?;
        file.sync_data()
    }

    /// Gives back the reserved blocks behind the data of a page that is no longer written. Its size stays.
    pub fn trim(&self, file: &File, end: u64) {
        let Ok(capacity) = file.metadata().map(|metadata| metadata.len()) else { return };
        // A file system that cannot do it keeps the blocks until the page is deleted.
        let _ = fallocate(
            file,
            FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
            end,
            capacity.saturating_sub(end).max(1),
        );
    }

    /// Reads a checkpoint's bytes.
    pub fn read(&self, name: Name) -> io::Result<Vec<u8>> {
        fs::read(self.path(name))
    }

    /// Puts a checkpoint in place of the last one, all of it or nothing.
    pub fn write_checkpoint(&self, name: Name, checkpoint: &Checkpoint) -> io::Result<()> {
        let half = self.directory.join(format!("{name}.tmp"));
        #[cfg(test)]
        self.tape.note(Op::Replace(name, checkpoint.encode().to_vec()))?;
        let mut file = File::create(&half)?;
        file.write_all(&checkpoint.encode())?;
        file.sync_data()?;
        drop(file);
        let tries = if self.retry { RENAME_TRIES } else { 0 };
        let mut pause = Duration::ZERO;
        for _ in 0..tries {
            if fs::rename(&half, self.path(name)).is_ok() {
                return Ok(());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).max(RENAME_PAUSE);
        }
        fs::rename(&half, self.path(name))
    }

    /// Deletes a file; one that is not there is fine.
    pub fn remove(&self, name: Name) -> io::Result<()> {
        #[cfg(test)]
        self.tape.note(Op::Remove(name))?;
        match fs::remove_file(self.path(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Names that came, changed or went outlive the machine when this returns.
    pub fn sync_directory(&self) -> io::Result<()> {
        #[cfg(test)]
        self.tape.note(Op::SyncNames)?;
        match File::open(&self.directory)?.sync_all() {
            // Not every file system can do that.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            done => done,
        }
    }

    /// Bytes that are free for this user on the file system.
    pub fn free_bytes(&self) -> io::Result<u64> {
        let figures = rustix::fs::statvfs(&self.directory)?;
        Ok(figures.f_bavail.saturating_mul(figures.f_frsize))
    }

    /// Bytes that the pages have, written or not.
    pub fn page_bytes(&self) -> io::Result<u64> {
        let pages = self.list()?.into_iter().filter(|name| matches!(name, Name::Page(_)));
        Ok(pages.filter_map(|name| fs::metadata(self.path(name)).ok()).map(|metadata| metadata.len()).sum())
    }
}

/// Gives a file its size and the blocks for it, so that a full disk shows here and not in the middle of an event.
fn reserve(file: &File, capacity: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, capacity) {
        // Where blocks cannot be reserved, each write may find the disk full, which is waited for as well.
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => file.set_len(capacity),
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_a_queue_are_its_files() {
        for (name, file) in [
            ("page.0", Some(Name::Page(0))),
            ("page.12", Some(Name::Page(12))),
            ("checkpoint.head", Some(Name::Head)),
            ("checkpoint.7", Some(Name::Tail(7))),
            ("checkpoint.7.tmp", None),
            ("checkpoint.head.tmp", None),
            ("page.", None),
            ("page.-1", None),
            ("page.2147483648", None),
            ("page.x", None),
            (".lock", None),
        ] {
            assert_eq!(Name::parse(name), file, "{name}");
            assert!(file.is_none_or(|file| file.to_string() == name));
        }
    }

    #[test]
    fn a_page_has_its_size_and_its_blocks_and_gives_back_what_it_does_not_need() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::new(dir.path(), true);
        let file = disk.create_page(3, 1 << 20).unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.len(), 1 << 20);
        assert!(metadata.blocks() * 512 >= 1 << 20);
        disk.trim(&file, 5000);
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.len(), 1 << 20);
        assert!(metadata.blocks() * 512 < 1 << 16);
    }
}
