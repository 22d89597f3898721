//! The names in a queue's directory, and noticing that they changed.
//!
//! ```text
//! N.log             sealed segment; N is a decimal number, the first is 1
//! N.log.tmp         the segment that is being written; no reader opens it
//! N.err             a segment that could not be recovered, kept for a person
//! .lock             the writer's lock
//! dlq_reader.lock   the lock of a reader that deletes what it has read
//! .deleted_segment  a reader tells the writer that it deleted segments
//! ```

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Name of the note from a reader that deleted segments to the writer.
pub const DELETED_NOTE: &str = ".deleted_segment";
/// Highest segment number, Java's largest 32-bit integer.
pub const HIGHEST_NUMBER: u32 = i32::MAX as u32;

/// Path of a sealed segment.
pub fn sealed(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{number}.log"))
}

/// Path of a segment that is being written.
pub fn head(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{number}.log.tmp"))
}

/// Path of a segment that could not be recovered.
pub fn unrecovered(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{number}.err"))
}

/// What is in a queue's directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Numbers of sealed segments.
    pub sealed: BTreeSet<u32>,
    /// Numbers of segments being written, or left behind by a writer that died.
    pub heads: BTreeSet<u32>,
    /// Numbers that are taken by anything.
    pub taken: BTreeSet<u32>,
    /// Names that end in `.log` and are no segment.
    pub foreign: Vec<String>,
    /// Whether a reader left a note that it deleted segments.
    pub has_deleted_note: bool,
}

impl Listing {
    /// Reads a directory.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let mut listing = Self::default();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_file = || match entry.file_type() {
                Ok(kind) if kind.is_symlink() => fs::metadata(entry.path()).is_ok_and(|m| m.is_file()),
                Ok(kind) => kind.is_file(),
                Err(_) => false,
            };
            listing.add(name, is_file);
        }
        Ok(listing)
    }

    fn add(&mut self, name: &str, is_file: impl Fn() -> bool) {
        self.has_deleted_note |= name == DELETED_NOTE;
        let Some((stem, ending)) = name.split_once('.') else { return };
        let Some(number) = parse_number(stem) else {
            if name.ends_with(".log") {
                self.foreign.push(name.to_owned());
            }
            return;
        };
        match ending {
            "log" if is_file() => {
                self.sealed.insert(number);
            }
            "log.tmp" if is_file() => {
                self.heads.insert(number);
            }
            "log" => self.foreign.push(name.to_owned()),
            "log.tmp" | "err" => {}
            _ => return,
        }
        self.taken.insert(number);
    }

    /// The lowest number above all that are taken; `None` when the numbers are used up.
    pub fn free_number(&self) -> Option<u32> {
        let highest = self.taken.last().copied().unwrap_or(0);
        (highest < HIGHEST_NUMBER).then_some(highest + 1)
    }
}

fn parse_number(stem: &str) -> Option<u32> {
    let digits = !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| stem.parse().ok()).flatten().filter(|n| *n <= HIGHEST_NUMBER)
}

/// The number in the name of a sealed segment.
pub fn sealed_number(name: &str) -> Option<u32> {
    parse_number(name.strip_suffix(".log")?)
}

/// Makes files, and renames and deletions in directories, survive a power loss. Not every file system can do that for
/// a directory; those that cannot need no more than was done.
pub fn sync_all(files: &[File]) -> io::Result<()> {
    files.iter().try_for_each(|file| match file.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done,
    })
}

/// Notices that names in a directory came or went, for the price of one look at its modification time.
///
/// That time is coarse: a change right after a look can leave it as it was. So a time that was fresh when it was
/// seen counts as changed once more.
#[derive(Debug, Default)]
pub struct ChangeWatch {
    seen: Option<SystemTime>,
    settled: bool,
}

/// Older than this, a modification time cannot get another change.
const SETTLE_TIME: Duration = Duration::from_millis(100);

impl ChangeWatch {
    /// Whether the directory may have changed since the last call that said so. The caller then looks.
    pub fn changed(&mut self, directory: &Path) -> io::Result<bool> {
        let modified = fs::metadata(directory)?.modified()?;
        let changed = self.seen != Some(modified) || !self.settled;
        if changed {
            self.seen = Some(modified);
            self.settled = SystemTime::now().duration_since(modified).is_ok_and(|age| age > SETTLE_TIME);
        }
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_and_log_is_a_segment() {
        let dir = tempfile::tempdir().unwrap();
        for name in
            ["1.log", "10.log", "9.log", "12.log.tmp", "3.err", "foo.log", ".log", "1.log.bak", "2147483648.log"]
        {
            fs::write(dir.path().join(name), "1").unwrap();
        }
        fs::create_dir(dir.path().join("11.log")).unwrap();
        let mut listing = Listing::read(dir.path()).unwrap();
        listing.foreign.sort();
        assert_eq!(listing.sealed.iter().copied().collect::<Vec<_>>(), [1, 9, 10]);
        assert_eq!(listing.heads.iter().copied().collect::<Vec<_>>(), [12]);
        assert_eq!(listing.foreign, [".log", "11.log", "2147483648.log", "foo.log"]);
        assert_eq!(listing.free_number(), Some(13));
    }

    #[test]
    fn numbers_end_at_javas_largest_integer() {
        let mut listing = Listing::default();
        assert_eq!(listing.free_number(), Some(1));
        listing.add("2147483646.err", || true);
        assert_eq!(listing.free_number(), Some(HIGHEST_NUMBER));
        listing.add("2147483647.log", || true);
        assert_eq!(listing.free_number(), None);
    }

    #[test]
    fn a_change_of_names_is_noticed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let mut watch = ChangeWatch::default();
        assert!(watch.changed(dir.path()).unwrap());
        fs::write(dir.path().join("a"), "").unwrap();
        assert!(watch.changed(dir.path()).unwrap());
        std::thread::sleep(SETTLE_TIME * 2);
        assert!(watch.changed(dir.path()).unwrap(), "the time was fresh, so it counts once more");
        assert!(!watch.changed(dir.path()).unwrap());
        fs::write(dir.path().join("a"), "content").unwrap();
        assert!(!watch.changed(dir.path()).unwrap());
        fs::remove_file(dir.path().join("a")).unwrap();
        assert!(watch.changed(dir.path()).unwrap());
    }
}
