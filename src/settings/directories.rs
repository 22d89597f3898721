//! The directory of kept state: made and checked, locked against a second process, and named by a UUID.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::process::{Flock, FlockType};

/// Why `path.data` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It is there, and is no directory.
    #[error("Path \"{path}\" is not a directory; name another one with {setting}")]
    NotADirectory {
        /// The setting that names it.
        setting: &'static str,
        /// The directory.
        path: PathBuf,
    },
    /// It is a link to nothing.
    #[error("Path \"{path}\" is a symbolic link that leads nowhere; mend it, or name another one with {setting}")]
    Dangling {
        /// The setting that names it.
        setting: &'static str,
        /// The directory.
        path: PathBuf,
    },
    /// It cannot be written to, or not be made.
    #[error(
        "Path \"{path}\" must be a writable directory: {error}; make it writable, or name another one with {setting}"
    )]
    NotWritable {
        /// The setting that names it.
        setting: &'static str,
        /// The directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another process works with it.
    #[error(
        "Logstash or Spillway could not be started because there is already another instance using the configured data directory: {path} (process {holder}). If you wish to run multiple instances, you must change the \"path.data\" setting"
    )]
    Locked {
        /// The directory.
        path: PathBuf,
        /// The process id of the holder, as far as it is known.
        holder: String,
    },
}

/// Makes a directory if it is not there, and makes sure that it can be written to.
pub fn ensure(setting: &'static str, path: &Path) -> Result<(), DirectoryError> {
    let not_writable = |error| DirectoryError::NotWritable { setting, path: path.to_owned(), error };
    match fs::metadata(path) {
        Ok(found) if !found.is_dir() => {
            return Err(DirectoryError::NotADirectory { setting, path: path.to_owned() });
        }
        Ok(_) => {}
        Err(_) if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) => {
            return Err(DirectoryError::Dangling { setting, path: path.to_owned() });
        }
        Err(_) => fs::create_dir_all(path).map_err(not_writable)?,
    }
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
        .map_err(|error| not_writable(error.into()))
}

/// A locked `path.data`. Dropping it unlocks.
#[derive(Debug)]
pub struct DataDirectory {
    path: PathBuf,
    _lock: File,
    /// The id of this node, kept in `path.data/uuid`.
    pub uuid: String,
}

impl DataDirectory {
    /// Makes the directory if needed, locks it for this process and reads or makes its UUID.
    ///
    /// The lock is a record lock (`fcntl`) on `.lock`, as Logstash takes it: a file left over by a dead process does
    /// not block.
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        ensure("path.data", path)?;
        let not_writable = |error| DirectoryError::NotWritable { setting: "path.data", path: path.to_owned(), error };
        let lock = lock(path)?;
        let uuid = uuid(path).map_err(not_writable)?;
        Ok(Self { path: path.to_owned(), _lock: lock, uuid })
    }
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        // IMPORTANT: removed while still locked; the other way round another process could lock the file that goes.
        if let Err(error) = fs::remove_file(self.path.join(".lock")) {
            tracing::debug!(target: "logstash.runner", %error, "could not remove the lock file of path.data");
        }
    }
}

fn lock(path: &Path) -> Result<File, DirectoryError> {
    let not_writable = |error| DirectoryError::NotWritable { setting: "path.data", path: path.to_owned(), error };
    let lock_path = path.join(".lock");
    loop {
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&lock_path);
        let file = open.map_err(not_writable)?;
        match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if is_still(&lock_path, &file) => return Ok(file),
            // The holder removed the file between our open and our lock: ours has no name any more.
            Ok(()) => {}
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => {
                return Err(DirectoryError::Locked { path: path.to_owned(), holder: holder(&file) });
            }
            Err(error) => return Err(not_writable(error.into())),
        }
    }
}

/// Whether a name still leads to an open file.
fn is_still(path: &Path, file: &File) -> bool {
    match (rustix::fs::stat(path), rustix::fs::fstat(file)) {
        (Ok(named), Ok(open)) => (named.st_dev, named.st_ino) == (open.st_dev, open.st_ino),
        _ => false,
    }
}

/// The process that holds the lock on a file.
fn holder(file: &File) -> String {
    match rustix::process::fcntl_getlk(file, &Flock::from(FlockType::WriteLock)) {
        Ok(Some(Flock { pid: Some(pid), .. })) => pid.as_raw_nonzero().to_string(),
        Ok(_) | Err(_) => "unknown".into(),
    }
}

/// Reads the UUID of a data directory, or makes one.
fn uuid(path: &Path) -> io::Result<String> {
    let path = path.join("uuid");
    if let Ok(text) = fs::read_to_string(&path)
        && let Ok(uuid) = uuid::Uuid::parse_str(text.trim())
    {
        return Ok(uuid.to_string());
    }
    let uuid = uuid::Uuid::new_v4().to_string();
    let mut file = File::create(&path)?;
    file.write_all(uuid.as_bytes())?;
    Ok(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uuid_stays() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("a/b");
        let first = DataDirectory::open(&data).unwrap().uuid.clone();
        assert_eq!(fs::read_to_string(data.join("uuid")).unwrap(), first);
        assert!(!data.join(".lock").exists());
        fs::write(data.join(".lock"), "").unwrap();
        assert_eq!(DataDirectory::open(&data).unwrap().uuid, first);
    }

    #[test]
    fn a_damaged_uuid_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("uuid"), "nonsense").unwrap();
        let uuid = DataDirectory::open(dir.path()).unwrap().uuid.clone();
        assert!(uuid::Uuid::parse_str(&uuid).is_ok());
    }

    #[test]
    fn what_can_be_a_data_directory() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        assert!(ensure("path.data", &link).is_ok());
        let dangling = dir.path().join("dangling");
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &dangling).unwrap();
        assert!(matches!(ensure("path.data", &dangling), Err(DirectoryError::Dangling { .. })));
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(ensure("path.data", &file), Err(DirectoryError::NotADirectory { .. })));
        assert!(matches!(ensure("path.data", &file.join("below")), Err(DirectoryError::NotWritable { .. })));
    }
}
