//! How far a reader has come, and the file (`sincedb`) in which that survives a restart.
//!
//! ```text
//! 00 31         version, '1' in UTF-16BE
//! i32           length L of the path
//! L bytes       absolute path of the segment, UTF-8
//! i64           offset of the next entry in it
//! 51 zeros
//! ```
//!
//! On reading, only the segment's number counts: a queue that was moved is read on from where it was.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use md5::{Digest, Md5};

use super::directory::{self, Listing};
use super::record::{FIRST_RECORD, SegmentReader};
use super::{kill_point, record};

const VERSION: [u8; 2] = [0, b'1'];
const PADDING: usize = 51;

/// A place between two entries of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Number of the segment.
    pub segment: u32,
    /// Offset in it of the next entry; the first is 1.
    pub offset: u64,
}

/// A position file that cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadPosition(&'static str);

/// Where the position file of an input is when it sets no `sincedb_path`. `path_option` is the input's `path` exactly
/// as it was written.
pub fn default_sincedb(path_data: &Path, pipeline_id: &str, path_option: &str) -> PathBuf {
    let digest = Md5::digest(path_option);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    path_data.join("plugins/inputs/dead_letter_queue").join(pipeline_id).join(format!(".sincedb_{hex}"))
}

impl Position {
    /// The first entry of a segment.
    pub fn start_of(segment: u32) -> Self {
        Self { segment, offset: FIRST_RECORD }
    }

    /// Reads a position file. `None` when there is none, or it is empty. One that cannot be understood is kept as
    /// `.bad` beside it, with a warning, and counts as none.
    pub fn load(path: &Path) -> io::Result<Option<Self>> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match Self::decode(&bytes) {
            Ok(position) => Ok(position),
            Err(why) => {
                let mut bad = path.as_os_str().to_owned();
                bad.push(".bad");
                tracing::warn!(
                    file = %path.display(),
                    "the position in the dead letter queue cannot be read ({why}); reading starts at the first entry, the file is kept as {}",
                    Path::new(&bad).display()
                );
                fs::copy(path, &bad)?;
                Ok(None)
            }
        }
    }

    /// Writes the position file of a reader of `directory`, making directories on the way. Afterwards the file is on
    /// the disk, whole.
    pub fn save(self, path: &Path, directory: &Path) -> io::Result<()> {
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent)?;
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let mut file = File::create(&temporary)?;
        file.write_all(&self.encode(directory)?)?;
        file.sync_all()?;
        kill_point::reach("before-sincedb-rename");
        fs::rename(&temporary, path)?;
        directory::sync_all(&[File::open(parent)?])
    }

    /// The content of the position file of a reader of `directory`.
    pub fn encode(self, directory: &Path) -> io::Result<Vec<u8>> {
        let segment = std::path::absolute(directory::sealed(directory, self.segment))?;
        let segment = segment.as_os_str().as_encoded_bytes();
        let mut out = VERSION.to_vec();
        out.extend_from_slice(&(segment.len() as i32).to_be_bytes());
        out.extend_from_slice(segment);
        out.extend_from_slice(&(self.offset as i64).to_be_bytes());
        out.resize(out.len() + PADDING, 0);
        Ok(out)
    }

    /// Reads the content of a position file; an empty one holds no position.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, BadPosition> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let rest = bytes.strip_prefix(&VERSION).ok_or(BadPosition("unknown version"))?;
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(BadPosition("it is cut off"))?;
        let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| BadPosition("negative length"))?;
        let (path, rest) = rest.split_at_checked(length).ok_or(BadPosition("it is cut off"))?;
        let (offset, _) = rest.split_first_chunk::<8>().ok_or(BadPosition("it is cut off"))?;
        let offset = u64::try_from(i64::from_be_bytes(*offset)).map_err(|_| BadPosition("negative offset"))?;
        let name = path.rsplit(|b| *b == b'/' || *b == b'\\').next().unwrap_or_default();
        let segment = std::str::from_utf8(name).ok().and_then(directory::sealed_number);
        let segment = segment.ok_or(BadPosition("it names no segment"))?;
        Ok(Some(Self { segment, offset }))
    }
}

/// Where reading goes on from a position that was saved in an earlier run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resumed {
    /// At the position.
    Here(Position),
    /// The segment is gone: at the next one.
    Next(u32),
    /// The queue was cleared and numbered anew, or the segment is another file: at the start of this segment. Nothing
    /// below it was read.
    Anew(u32),
}

impl Resumed {
    /// Looks for the position in the segments that exist; `None` when there are none.
    pub fn find(position: Position, directory: &Path, listing: &Listing) -> Option<Self> {
        if listing.sealed.contains(&position.segment) {
            return Some(if is_entry_start(position, directory) {
                Self::Here(position)
            } else {
                Self::Anew(position.segment)
            });
        }
        let next = listing.sealed.range(position.segment..).next();
        next.map(|n| Self::Next(*n)).or_else(|| listing.sealed.first().map(|n| Self::Anew(*n)))
    }

    /// The position to read on from.
    pub fn position(&self) -> Position {
        match self {
            Self::Here(position) => *position,
            Self::Next(segment) | Self::Anew(segment) => Position::start_of(*segment),
        }
    }
}

fn is_entry_start(position: Position, directory: &Path) -> bool {
    let path = directory::sealed(directory, position.segment);
    let check = || -> io::Result<bool> {
        let mut reader = SegmentReader::new(File::open(&path)?, position.offset)?;
        Ok(reader.version()? == Some(record::VERSION) && reader.at_entry_start()?)
    };
    // What cannot be read now is no proof of another file.
    check().unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_bytes_of_the_reference() {
        let position = Position { segment: 1, offset: 1316 };
        let bytes = position.encode(Path::new("/srv/dlq/main")).unwrap();
        let start: Vec<u8> =
            [b"\x00\x31\x00\x00\x00\x13/srv/dlq/main/1.log".as_slice(), &[0, 0, 0, 0, 0, 0, 5, 0x24]].concat();
        assert_eq!(bytes, [start, vec![0; 51]].concat());
        assert_eq!(Position::decode(&bytes), Ok(Some(position)));
    }

    #[test]
    fn the_length_counts_bytes_not_characters() {
        let position = Position { segment: 7, offset: 1 };
        let bytes = position.encode(Path::new("/d\u{e9}")).unwrap();
        assert_eq!(bytes.len(), 65 + "/d\u{e9}/7.log".len());
        assert_eq!(Position::decode(&bytes), Ok(Some(position)));
    }

    #[test]
    fn a_moved_queue_is_found_by_the_segment_number() {
        let bytes = Position { segment: 12, offset: 99 }.encode(Path::new("/old/place")).unwrap();
        assert_eq!(Position::decode(&bytes).unwrap().unwrap().segment, 12);
    }

    #[test]
    fn an_odd_file_is_kept_and_counts_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sincedb");
        assert_eq!(Position::load(&path).unwrap(), None);
        for (content, bad) in [
            (b"".as_slice(), false),
            (b"\x00\x32", true),
            (b"\x00\x31\x00\x00", true),
            (b"\x00\x31\xff\xff\xff\xff", true),
            (b"\x00\x31\x7f\xff\xff\xff/1.log", true),
            (b"\x00\x31\x00\x00\x00\x05a.log\x00\x00\x00\x00\x00\x00\x00\x01", true),
        ] {
            fs::write(&path, content).unwrap();
            assert_eq!(Position::load(&path).unwrap(), None);
            let copy = dir.path().join("sincedb.bad");
            assert_eq!(fs::read(&copy).ok().as_deref(), bad.then_some(content));
            let _ = fs::remove_file(copy);
        }
    }

    #[test]
    fn saving_makes_the_directory_and_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = default_sincedb(dir.path(), "main", "/srv/dlq");
        let position = Position { segment: 3, offset: 4 };
        position.save(&path, Path::new("/srv/dlq/main")).unwrap();
        assert_eq!(Position::load(&path).unwrap(), Some(position));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
