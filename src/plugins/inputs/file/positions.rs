//! How far each file is dealt with. A position moves only when the pipeline acknowledges the events before it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use indexmap::IndexMap;
use parking_lot::Mutex;

use super::identity::{Head, Identity};
use super::sincedb::{self, Record};
use crate::plugins::{Lease, PluginError, Progress};

/// The positions of all files of one input, and the file that keeps them.
pub(super) struct Positions {
    path: PathBuf,
    write_interval: Duration,
    clean_after: Duration,
    entries: IndexMap<Identity, Entry>,
    /// When it has changed since it was written, and when that was.
    changed: bool,
    written: Option<Instant>,
    _claim: Option<Claim>,
}

struct Entry {
    position: u64,
    active: f64,
    path: Option<PathBuf>,
    head: Option<u32>,
    /// While the file is read.
    progress: Option<Progress<u64>>,
}

/// What is known of a file that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It was read up to there.
    Position(u64),
    /// It is another file than the one that was read at this path.
    Replaced,
    /// Nothing.
    Never,
}

impl Positions {
    /// Reads the position file, if there is one, for the input `owner`. Two inputs cannot have the same.
    pub fn open(
        path: PathBuf,
        owner: &str,
        write_interval: Duration,
        clean_after: Duration,
    ) -> Result<Self, PluginError> {
        let refused = |error| PluginError(format!("cannot use the position file {}: {error}", path.display()));
        sincedb::touch(&path).map_err(refused)?;
        let claim = Claim::take(&path, owner)?;
        let records = sincedb::load(&path).map_err(refused)?;
        let now = now();
        let is_recent = |record: &Record| record.active.is_none_or(|active| now < active + clean_after.as_secs_f64());
        let entry = |record: Record| {
            let Record { identity, position, active, path, head } = record;
            (identity, Entry { position, active: active.unwrap_or(now), path, head, progress: None })
        };
        let entries = records.into_iter().filter(is_recent).map(entry).collect();
        Ok(Self { path, write_interval, clean_after, entries, changed: false, written: None, _claim: claim })
    }

    /// Whether an earlier run read some file at this path.
    pub fn knows_path(&self, path: &Path) -> bool {
        self.entries.values().any(|entry| entry.path.as_deref() == Some(path))
    }

    /// What is known of a file. `other` is its identity as other programs write it.
    pub fn recall(&mut self, identity: Identity, other: Identity, file: &Found<'_>) -> Known {
        if !self.entries.contains_key(&identity)
            && let Some(entry) = self.entries.swap_remove(&other)
        {
            self.entries.insert(identity, entry);
        }
        let Some(entry) = self.entries.get_mut(&identity) else { return Known::Never };
        let same_path = entry.path.as_deref().is_none_or(|path| path == file.path);
        let same_head = entry.head.and_then(|crc| Some(file.head? == Head::of_full_length(crc)));
        match (same_head, same_path) {
            // A file that begins as it did is the same, also when it was renamed meanwhile.
            (Some(true), _) | (None, true) => {
                // One that became shorter was written anew.
                let position = if entry.position > file.size { 0 } else { entry.position };
                entry.path = Some(file.path.to_owned());
                Known::Position(position)
            }
            (Some(false), true) => {
                self.entries.swap_remove(&identity);
                Known::Replaced
            }
            (_, false) => {
                self.entries.swap_remove(&identity);
                Known::Never
            }
        }
    }

    /// What a known file begins with, if that was kept.
    pub fn head(&self, identity: Identity) -> Option<Head> {
        self.entries.get(&identity)?.head.map(Head::of_full_length)
    }

    /// Reading begins at `position`, or goes on there.
    pub fn begin(&mut self, identity: Identity, path: &Path, position: u64) {
        let entry = self.entries.entry(identity).or_insert_with(|| Entry {
            position,
            active: now(),
            path: None,
            head: None,
            progress: None,
        });
        entry.path = Some(path.to_owned());
        if entry.progress.is_none() {
            entry.progress = Some(Progress::new());
            entry.position = position;
            entry.active = now();
        }
        self.changed = true;
    }

    /// The file was written anew.
    pub fn rewind(&mut self, identity: Identity) {
        if let Some(entry) = self.entries.get_mut(&identity) {
            // What comes back for the old content does not count for the new one.
            entry.progress = Some(Progress::new());
            entry.position = 0;
            entry.head = None;
            entry.active = now();
        }
        self.changed = true;
    }

    /// The file has another name now.
    pub fn rename(&mut self, identity: Identity, path: &Path) {
        if let Some(entry) = self.entries.get_mut(&identity) {
            entry.path = Some(path.to_owned());
            self.changed = true;
        }
    }

    /// What the file begins with.
    pub fn set_head(&mut self, identity: Identity, head: Option<u32>) {
        if let Some(entry) = self.entries.get_mut(&identity) {
            entry.head = head;
        }
    }

    /// Lends the events that were read up to `position`.
    pub fn lend(&mut self, identity: Identity, position: u64) -> Lease {
        match self.entries.get_mut(&identity).and_then(|entry| entry.progress.as_ref()) {
            Some(progress) => progress.lend(position),
            None => Lease::unclaimed(),
        }
    }

    /// How far the file is dealt with.
    pub fn position(&mut self, identity: Identity) -> Option<u64> {
        let entry = self.entries.get_mut(&identity)?;
        self.changed |= entry.look();
        Some(entry.position)
    }

    /// The file is gone for good.
    pub fn forget(&mut self, identity: Identity) {
        self.changed |= self.entries.shift_remove(&identity).is_some();
    }

    /// To be called now and then: writes the file when it is time.
    pub fn tick(&mut self) {
        if self.written.is_none_or(|at| at.elapsed() >= self.write_interval) {
            self.write();
        }
    }

    /// Writes the file if anything changed. A disk that does not take it is tried again later.
    pub fn write(&mut self) {
        for entry in self.entries.values_mut() {
            self.changed |= entry.look();
        }
        if !self.changed {
            return;
        }
        let oldest = now() - self.clean_after.as_secs_f64();
        self.entries.retain(|_, entry| entry.active > oldest || entry.progress.is_some());
        let recent = self.entries.iter().filter(|(_, entry)| entry.active > oldest);
        match sincedb::save(&self.path, recent.map(|(identity, entry)| entry.record(*identity))) {
            Ok(()) => self.changed = false,
            Err(error) => tracing::warn!(target: "logstash.inputs.file",
                "the positions could not be saved in {}: {error}", self.path.display()),
        }
        self.written = Some(Instant::now());
    }
}

impl Entry {
    /// Takes over what was acknowledged meanwhile. Whether it moved.
    fn look(&mut self) -> bool {
        let Some(position) = self.progress.as_ref().and_then(Progress::take_reached) else { return false };
        self.position = position;
        self.active = now();
        true
    }

    fn record(&self, identity: Identity) -> Record {
        Record {
            identity,
            position: self.position,
            active: Some(self.active),
            path: self.path.clone(),
            head: self.head,
        }
    }
}

/// A file that was found, to be compared with what is known.
pub(super) struct Found<'a> {
    pub path: &'a Path,
    pub size: u64,
    /// What it begins with, if it can be read.
    pub head: Option<Head>,
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

static CLAIMED: Mutex<Vec<(PathBuf, Arc<str>)>> = Mutex::new(Vec::new());

/// The right of one input to a position file, given back when it is dropped.
struct Claim(PathBuf);

impl Claim {
    /// `None` for a device, which keeps nothing.
    fn take(path: &Path, owner: &str) -> Result<Option<Self>, PluginError> {
        if path.starts_with("/dev") {
            return Ok(None);
        }
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut claimed = CLAIMED.lock();
        if let Some((_, other)) = claimed.iter().find(|(taken, _)| *taken == path) {
            return Err(PluginError(format!(
                "the file inputs {other} and {owner} have the same position file {}, and would overwrite each other's \
                 positions; give each a `sincedb_path` of its own",
                path.display()
            )));
        }
        claimed.push((path.clone(), Arc::from(owner)));
        Ok(Some(Self(path)))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.lock().retain(|(path, _)| *path != self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Identity = Identity { inode: 1, major: 0, minor: 2 };
    const OTHER: Identity = Identity { inode: 1, major: 9, minor: 9 };

    fn open(path: &Path) -> Positions {
        Positions::open(path.to_owned(), "test", Duration::ZERO, Duration::from_secs(3600)).unwrap()
    }

    fn sincedb(content: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sincedb");
        std::fs::write(&path, content).unwrap();
        (folder, path)
    }

    #[test]
    fn a_position_is_written_when_the_events_before_it_are_dealt_with() {
        let (_folder, path) = sincedb("");
        let mut positions = open(&path);
        positions.begin(ID, Path::new("/a"), 3);
        let (first, second) = (positions.lend(ID, 10), positions.lend(ID, 20));
        second.settle();
        positions.write();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("1 0 2 3 "));
        first.settle();
        positions.tick();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("1 0 2 20 "));
        let late = positions.lend(ID, 30);
        positions.rewind(ID);
        late.settle();
        assert_eq!(positions.position(ID), Some(0));
    }

    #[test]
    fn files_are_recognized_by_inode_and_path() {
        let time = now();
        let old = time - 7200.0;
        let (_folder, path) =
            sincedb(&format!("1 0 2 7\n2 0 2 8 {time} /b\n3 0 2 9 {time} /c\n4 0 2 5 {old} /d\n5 9 9 6 {time} /e\n"));
        let mut positions = open(&path);
        let mut recall = |inode, path: &str, size| {
            let identity = Identity { inode, ..ID };
            positions.recall(identity, Identity { inode, ..OTHER }, &Found { path: Path::new(path), size, head: None })
        };
        assert_eq!(recall(1, "/a", 100), Known::Position(7));
        assert_eq!(recall(2, "/b", 100), Known::Position(8));
        assert_eq!(recall(2, "/b", 5), Known::Position(0));
        assert_eq!(recall(3, "/x", 100), Known::Never);
        assert_eq!(recall(4, "/d", 100), Known::Never);
        assert_eq!(recall(5, "/e", 100), Known::Position(6));
        assert_eq!(recall(6, "/f", 100), Known::Never);
        assert!(positions.knows_path(Path::new("/b")));
        assert!(!positions.knows_path(Path::new("/c")));
    }

    #[test]
    fn a_changed_head_is_another_file_and_a_known_head_the_same_under_any_name() {
        let crc = crc32fast::hash(&[b'x'; 256]);
        let positions = format!("1 0 2 290 {} /other\n", now());
        let (_folder, path) = sincedb(&positions);
        let heads = format!("positions {:08x}\n1 0 2 {crc:08x}\n", crc32fast::hash(positions.as_bytes()));
        std::fs::write(super::super::heads::beside(&path), heads).unwrap();
        let mut positions = open(&path);
        let mut recall = |crc| {
            let head = Some(Head::of_full_length(crc));
            positions.recall(ID, OTHER, &Found { path: Path::new("/a"), size: 300, head })
        };
        assert_eq!(recall(crc), Known::Position(290));
        assert_eq!(recall(crc + 1), Known::Replaced);
        assert_eq!(recall(crc + 1), Known::Never);
    }

    #[test]
    fn two_inputs_cannot_have_the_same_position_file() {
        let (_folder, path) = sincedb("");
        let first = open(&path);
        let refused = Positions::open(path.clone(), "second", Duration::ZERO, Duration::ZERO).err().unwrap();
        assert!(refused.0.contains("test and second"), "{refused}");
        drop(first);
        open(&path);
        let null = Path::new("/dev/null");
        let _both = (open(null), open(null));
    }
}
