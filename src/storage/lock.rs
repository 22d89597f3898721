//! One writer, and one deleting reader, per queue on disk: locks that exclude other processes, Logstash among them.
//!
//! Logstash takes a POSIX record lock (`fcntl`), which `flock` does not exclude. Such a lock says nothing between
//! threads of one process, and is lost as soon as the process closes *any* descriptor of the file. So the paths that
//! this process has locked are kept in a set that is asked first.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::process::{Flock, FlockType, fcntl_getlk};

static HELD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A lock that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody has it.
    #[error("{} is held by {holder}: only one may use this queue at a time", path.display())]
    Held {
        /// The lock file.
        path: PathBuf,
        /// "another program", with its process id where the system tells it, or "this process".
        holder: String,
    },
    /// The file cannot be made or locked.
    #[error("cannot lock {}: {source}", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// A lock file that is held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Closing it gives the lock up. None only while that happens.
    file: Option<File>,
    delete: bool,
}

impl Lock {
    /// Locks the file `name` in `directory`, which exists. With `delete`, the file goes away with the lock.
    pub fn take(directory: &Path, name: &str, delete: bool) -> Result<Self, LockError> {
        let shown = directory.join(name);
        let failed = |source| LockError::Io { path: shown.clone(), source };
        let path = fs::canonicalize(directory).map_err(failed)?.join(name);
        let mut held = HELD.lock();
        if held.contains(&path) {
            return Err(LockError::Held { path: shown, holder: "this process".into() });
        }
        loop {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path).map_err(failed)?;
            match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => {
                    return Err(LockError::Held { path: shown, holder: holder(&file) });
                }
                Err(error) => return Err(failed(error.into())),
            }
            // Its last holder may have deleted the file after it was opened here.
            if is_at(&file, &path) {
                held.insert(path.clone());
                return Ok(Self { path, file: Some(file), delete });
            }
        }
    }

    /// Whether the lock file is still the one that is locked, and was not deleted by somebody.
    pub fn is_in_place(&self) -> bool {
        self.file.as_ref().is_some_and(|file| is_at(file, &self.path))
    }
}

/// Whether somebody, here or in another process, has the queue in `directory` open for writing.
pub fn has_writer(directory: &Path) -> bool {
    let Ok(path) = fs::canonicalize(directory).map(|directory| directory.join(".lock")) else { return false };
    // The file may not be opened while this process holds its lock: closing it again would give the lock up.
    let held = HELD.lock();
    if held.contains(&path) {
        return true;
    }
    let Ok(file) = File::open(&path) else { return false };
    let asked = Flock::from(FlockType::WriteLock);
    matches!(fcntl_getlk(&file, &asked), Ok(Some(_)))
}

/// Who holds a lock that could not be had.
fn holder(file: &File) -> String {
    match fcntl_getlk(file, &Flock::from(FlockType::WriteLock)) {
        Ok(Some(Flock { pid: Some(pid), .. })) => format!("another program (process {pid})"),
        _ => "another program".into(),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.delete && self.is_in_place() {
            // A lock file that stays behind does no harm.
            let _ = fs::remove_file(&self.path);
        }
        // In this order: a new holder's lock would be lost with this file's closing.
        let mut held = HELD.lock();
        self.file = None;
        held.remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_in_this_process_is_refused_by_every_path() {
        let dir = tempfile::tempdir().unwrap();
        let lock = Lock::take(dir.path(), ".lock", true).unwrap();
        let detour = dir.path().join("..").join(dir.path().file_name().unwrap());
        let error = Lock::take(&detour, ".lock", true).unwrap_err().to_string();
        assert!(error.contains(".lock") && error.contains("this process"), "{error}");
        drop(lock);
        assert!(!dir.path().join(".lock").exists());
        Lock::take(dir.path(), ".lock", true).unwrap();
    }

    #[test]
    fn a_lock_file_that_a_dead_process_left_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".lock"), "").unwrap();
        Lock::take(dir.path(), ".lock", true).unwrap();
    }

    #[test]
    fn a_lock_file_that_is_kept_can_be_taken_again() {
        let dir = tempfile::tempdir().unwrap();
        drop(Lock::take(dir.path(), "dlq_reader.lock", false).unwrap());
        assert!(dir.path().join("dlq_reader.lock").exists());
        Lock::take(dir.path(), "dlq_reader.lock", false).unwrap();
    }
}
