//! What makes a file the same file, whatever it is called: its inode, and what it begins with.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The inode of a file and the device it is on, as Logstash writes them into a position file. Its Java takes the
/// number of the device apart in its own way, so that the first part is 0 on every common Linux device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub inode: u64,
    pub major: u64,
    pub minor: u64,
}

impl Identity {
    /// Of a file that is there.
    pub fn of(metadata: &Metadata) -> Self {
        let device = metadata.dev();
        Self { inode: metadata.ino(), major: (device >> 24) & 0xff, minor: device & 0xff_ffff }
    }

    /// The same file with the numbers that the system itself gives the device, as other programs may have written.
    pub fn by_system(metadata: &Metadata) -> Self {
        let device = metadata.dev();
        Self {
            inode: metadata.ino(),
            major: u64::from(rustix::fs::major(device)),
            minor: u64::from(rustix::fs::minor(device)),
        }
    }

    /// Opens the file at a path where this one was seen. `None` when it is not there any more: between a look and the
    /// opening the files may have been renamed, and the path is that of another file.
    pub fn open(self, path: &Path) -> io::Result<Option<File>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        Ok((Self::of(&file.metadata()?) == self).then_some(file))
    }
}

/// The checksum of the first bytes of a file. An inode is used again soon after a file is deleted, and a file can be
/// written anew in place; in both cases the first bytes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    length: usize,
    crc: u32,
}

impl Head {
    /// Most bytes that count. Position files hold the checksum of so many, or none.
    pub const LENGTH: usize = 256;

    /// Of all [`Head::LENGTH`] bytes, as a position file has it.
    pub fn of_full_length(crc: u32) -> Self {
        Self { length: Self::LENGTH, crc }
    }

    /// The checksum, if it is one of [`Head::LENGTH`] bytes.
    pub fn full(self) -> Option<u32> {
        (self.length == Self::LENGTH).then_some(self.crc)
    }

    /// Whether the file still begins so. When it does, and has become longer, the new head.
    pub fn check(self, file: impl AsFd) -> rustix::io::Result<Option<Self>> {
        let (bytes, length) = first_bytes(file)?;
        let begins_so = length >= self.length && checksum(&bytes, self.length) == self.crc;
        Ok(begins_so.then(|| Self { length, crc: checksum(&bytes, length) }))
    }

    /// Reads the head of a file.
    pub fn read(file: impl AsFd) -> rustix::io::Result<Self> {
        let (bytes, length) = first_bytes(file)?;
        Ok(Self { length, crc: checksum(&bytes, length) })
    }
}

fn checksum(bytes: &[u8], length: usize) -> u32 {
    crc32fast::hash(bytes.get(..length).unwrap_or(bytes))
}

/// The first bytes of a file, and how many there are.
fn first_bytes(file: impl AsFd) -> rustix::io::Result<([u8; Head::LENGTH], usize)> {
    let mut buffer = [0; Head::LENGTH];
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(&file, rest, length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((buffer, length))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn files_that_are_renamed_before_they_are_opened_are_not_mixed_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        fs::write(path("app.log.1"), "older").unwrap();
        fs::write(path("app.log"), "newer").unwrap();
        let [older, newer] = ["app.log.1", "app.log"].map(|name| Identity::of(&fs::metadata(path(name)).unwrap()));
        fs::rename(path("app.log.1"), path("app.log.2")).unwrap();
        fs::rename(path("app.log"), path("app.log.1")).unwrap();
        assert!(older.open(&path("app.log.1")).unwrap().is_none());
        assert!(newer.open(&path("app.log")).unwrap().is_none());
        let mut content = String::new();
        newer.open(&path("app.log.1")).unwrap().unwrap().read_to_string(&mut content).unwrap();
        assert_eq!(content, "newer");
    }

    #[test]
    fn a_head_is_that_of_a_file_that_grew_and_of_no_other() {
        let mut file = tempfile::tempfile().unwrap();
        let empty = Head::read(&file).unwrap();
        file.write_all(b"one\n").unwrap();
        let short = empty.check(&file).unwrap().unwrap();
        assert_eq!((short.length, short.full()), (4, None));
        file.write_all(&[b'x'; 300]).unwrap();
        let full = short.check(&file).unwrap().unwrap();
        assert_eq!(full.full(), Some(Head::read(&file).unwrap().crc));
        assert_eq!(full.check(&file).unwrap(), Some(full));
        file.set_len(200).unwrap();
        assert_eq!(full.check(&file).unwrap(), None);
        let other = tempfile::tempfile().unwrap();
        (&other).write_all(b"two\n").unwrap();
        assert_eq!(short.check(&other).unwrap(), None);
    }
}
