//! The position file, in Logstash's own format, so that either program goes on where the other stopped.
//!
//! ```text
//! inode major minor position last_active path
//! ```
//!
//! One file in each line; `position` in bytes, `last_active` in seconds since 1970. Old files have only the first four
//! columns. What Spillway knows beyond that is in a file of its own beside it: see [`heads`].

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::heads::{self, Heads};
use super::identity::Identity;

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub identity: Identity,
    /// Everything before is dealt with.
    pub position: u64,
    /// Seconds since 1970; `None` in old files.
    pub active: Option<f64>,
    pub path: Option<PathBuf>,
    /// The checksum of the file's head, which is not in the line.
    pub head: Option<u32>,
}

impl Record {
    /// Reads a line without its end.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut columns = line.splitn(6, |byte| *byte == b' ');
        let mut number = || std::str::from_utf8(columns.next()?).ok()?.parse().ok();
        let identity = Identity { inode: number()?, major: number()?, minor: number()? };
        let position = number()?;
        let active = match columns.next() {
            None => None,
            Some(text) => Some(std::str::from_utf8(text).ok()?.parse::<f64>().ok().filter(|time| time.is_finite())?),
        };
        let path = columns.next().filter(|path| !path.is_empty()).map(|path| PathBuf::from(OsStr::from_bytes(path)));
        Some(Self { identity, position, active, path, head: None })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let Identity { inode, major, minor } = self.identity;
        out.extend_from_slice(format!("{inode} {major} {minor} {}", self.position).as_bytes());
        // A path with a line feed cannot be written down; by its inode the file is found all the same.
        let path = self.path.as_ref().map(|path| path.as_os_str().as_bytes()).filter(|path| !path.contains(&b'\n'));
        if let (Some(active), Some(path)) = (self.active, path) {
            out.extend_from_slice(format!(" {active:.6} ").as_bytes());
            out.extend_from_slice(path);
        }
        out.push(b'\n');
    }
}

/// Makes an empty position file, and the folders on the way, when there is none.
pub(super) fn touch(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().append(true).create(true).open(path).map(drop)
}

/// Reads a position file. Lines that say nothing are passed over with a warning.
pub(super) fn load(path: &Path) -> io::Result<Vec<Record>> {
    if is_device(&fs::metadata(path)?) {
        return Ok(Vec::new());
    }
    let content = fs::read(path)?;
    let heads = heads_of(&target(path), &content);
    let mut bad = 0_usize;
    let lines = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let records = lines
        .filter_map(|line| {
            let record = Record::parse(line);
            bad += usize::from(record.is_none());
            record.map(|record| Record { head: heads.get(&record.identity).copied(), ..record })
        })
        .collect();
    if bad > 0 {
        tracing::warn!(target: "logstash.inputs.file", file = %path.display(), lines = bad,
            "the position file has lines that cannot be understood; they are dropped");
    }
    Ok(records)
}

/// Writes a position file whole, and before it the file of the heads.
pub(super) fn save(path: &Path, records: impl Iterator<Item = Record>) -> io::Result<()> {
    let mut content = Vec::new();
    let mut heads = Heads::new();
    for record in records {
        record.write(&mut content);
        heads.extend(record.head.map(|head| (record.identity, head)));
    }
    let path = &target(path);
    let before = fs::metadata(path).ok();
    if before.as_ref().is_some_and(is_device) {
        return fs::write(path, content);
    }
    save_heads(path, before.as_ref(), &heads, &content)?;
    write_whole(path, before.as_ref(), &content)
}

/// Where the positions are: a link stays one.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The heads that hold for a position file with this content.
fn heads_of(path: &Path, content: &[u8]) -> Heads {
    fs::read_to_string(heads::beside(path)).map_or_else(|_| Heads::new(), |text| heads::parse(&text, content))
}

/// Writes the heads for the position file as it is and as it will be. A folder that takes no new file gets none.
fn save_heads(path: &Path, before: Option<&fs::Metadata>, heads: &Heads, content: &[u8]) -> io::Result<()> {
    let mut text = String::new();
    heads::write(&mut text, heads, content);
    if let Ok(old) = fs::read(path) {
        heads::write(&mut text, &heads_of(path, &old), &old);
    }
    match write_whole(&heads::beside(path), before, text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        done => done,
    }
}

/// Writes a file beside the old one and renames it over that, with the owner and mode that are wanted. In place when
/// the folder does not allow that.
fn write_whole(path: &Path, like: Option<&fs::Metadata>, content: &[u8]) -> io::Result<()> {
    match replace(path, like, content) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => fs::write(path, content),
        done => done,
    }
}

fn is_device(metadata: &fs::Metadata) -> bool {
    let kind = metadata.file_type();
    kind.is_char_device() || kind.is_block_device()
}

fn replace(path: &Path, before: Option<&fs::Metadata>, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().unwrap_or_default();
    let mut prefix = name.to_owned();
    prefix.push(".");
    let mut temporary = tempfile::Builder::new().prefix(&prefix).tempfile_in(folder)?;
    temporary.write_all(content)?;
    if let Some(before) = before {
        fs::set_permissions(temporary.path(), before.permissions())?;
        // Only root may give a file away; as anybody else the owner is the same already.
        let _ = std::os::unix::fs::chown(temporary.path(), Some(before.uid()), Some(before.gid()));
    } else {
        fs::set_permissions(temporary.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    }
    temporary.as_file().sync_data()?;
    temporary.persist(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn record(line: &str) -> Option<Record> {
        Record::parse(line.as_bytes())
    }

    #[test]
    fn lines_of_logstash_are_read() {
        let full = record("263342 0 51713 1234 1519319662.852678 /var/log/a b.log").unwrap();
        assert_eq!(full.identity, Identity { inode: 263_342, major: 0, minor: 51713 });
        assert_eq!((full.position, full.active, full.head), (1234, Some(1_519_319_662.852_678), None));
        assert_eq!(full.path.as_deref(), Some(Path::new("/var/log/a b.log")));
        let old = record("2977152 1 4 94").unwrap();
        assert_eq!((old.position, old.active, old.path), (94, None, None));
        for bad in ["", "x", "1 2 3", "1 2 3 -4", "1 2 3 4 soon /a", "1 2 3 4 NaN /a"] {
            assert_eq!(record(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sincedb");
        let with = |inode, path: &[u8], head| Record {
            identity: Identity { inode, major: 0, minor: 3 },
            position: 5,
            active: Some(1_700_000_000.25),
            path: Some(PathBuf::from(OsStr::from_bytes(path))),
            head,
        };
        let records =
            [with(1, b"/a b.log", None), with(2, b"/\xff\t0123abcd", Some(0xab)), with(3, b"/c", Some(u32::MAX))];
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        save(&path, records.iter().cloned()).unwrap();
        assert_eq!(load(&path).unwrap(), records);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::read_to_string(&path).is_err());
        save(&path, std::iter::once(with(1, b"/a\nb", Some(1)))).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1 0 3 5\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    /// Either program goes on where the other stopped.
    #[test]
    fn positions_go_to_logstash_and_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sincedb");
        let lines = "263342 0 51713 1234 1519319662.852678 /var/log/a b.log\n7 0 51713 300 1519319663.000000 /c\n";
        fs::write(&path, lines).unwrap();
        let mut records = load(&path).unwrap();
        records[0].head = Some(0xab);
        save(&path, records.iter().cloned()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), lines, "not as Logstash writes it");
        assert_eq!(load(&path).unwrap(), records);
        // Logstash read on, in what may be another file by now.
        let later = lines.replace(" 1234 1519319662.852678 ", " 2000 1519319699.1 ");
        fs::write(&path, later).unwrap();
        let after = load(&path).unwrap();
        assert_eq!((after[0].position, after[0].head), (2000, None));
    }

    #[test]
    fn heads_hold_when_the_process_is_killed_before_the_positions_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sincedb");
        let record = |position, head| Record { head, ..record(&format!("1 0 3 {position} 1.5 /a")).unwrap() };
        save(&path, std::iter::once(record(300, Some(7)))).unwrap();
        let before = fs::read(&path).unwrap();
        save(&path, std::iter::once(record(0, Some(8)))).unwrap();
        assert_eq!(load(&path).unwrap(), [record(0, Some(8))]);
        fs::write(&path, before).unwrap();
        assert_eq!(load(&path).unwrap(), [record(300, Some(7))]);
        // The same lines, and a head that was not known before.
        save(&path, std::iter::once(record(300, Some(9)))).unwrap();
        assert_eq!(load(&path).unwrap(), [record(300, Some(9))]);
    }

    #[test]
    fn a_device_remembers_nothing() {
        save(Path::new("/dev/null"), std::iter::empty()).unwrap();
        assert!(load(Path::new("/dev/null")).unwrap().is_empty());
    }
}
