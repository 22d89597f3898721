//! Finding files, and noticing what became of those that are known.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use indexmap::IndexMap;

use super::identity::{Head, Identity};
use super::positions::{Found, Known};
use super::settings::Mode;
use super::watch::Watch;
use super::watched::{State, Watched};

/// How long a file without a watched path is remembered: it may turn up under its new name with the next look.
const REMEMBERED: Duration = Duration::from_secs(600);

/// A file at one of the watched paths.
struct Seen {
    path: PathBuf,
    metadata: fs::Metadata,
}

impl Seen {
    fn modified(&self) -> SystemTime {
        self.metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

impl Watch {
    /// Looks for files when it is time, and at every known path.
    pub(super) fn look(&mut self) {
        let is_first = self.until_discovery.is_none();
        let looks_again = !self.exits();
        if is_first || (looks_again && self.until_discovery == Some(0)) {
            self.discover();
        }
        let mut seen = self.seen();
        if self.notice(&seen) && looks_again {
            // Something was renamed or replaced: what it is called now is worth a look at once.
            self.discover();
            seen = self.seen();
            self.notice(&seen);
        }
        for (identity, seen) in seen {
            if !self.files.contains_key(&identity) {
                self.add(identity, seen, is_first);
            }
        }
        self.files.retain(|_, file| match (&file.state, file.gone) {
            (State::Open(_) | State::Finishing { .. }, _) | (_, None) => true,
            // Its inode may be that of a new file soon.
            (State::Done { .. }, Some(_)) => false,
            (_, Some(since)) => since.elapsed() < REMEMBERED,
        });
    }

    fn exits(&self) -> bool {
        matches!(self.settings.mode, Mode::Read { exit: true, .. })
    }

    fn discover(&mut self) {
        self.until_discovery = Some(self.settings.discover_interval);
        let mut paths = IndexMap::new();
        for path in self.settings.globs.iter().flat_map(super::glob::Glob::files) {
            let name = path.file_name().unwrap_or_default();
            if !self.settings.exclude.iter().any(|pattern| pattern.matches(name)) {
                paths.insert(path, ());
            }
        }
        self.paths = paths.into_keys().collect();
    }

    /// What is at the known paths now. A file with several of them counts at the first.
    fn seen(&self) -> IndexMap<Identity, Seen> {
        let mut seen = IndexMap::with_capacity(self.paths.len());
        for path in &self.paths {
            if let Ok(metadata) = fs::metadata(path)
                && metadata.is_file()
            {
                seen.entry(Identity::of(&metadata)).or_insert_with(|| Seen { path: path.clone(), metadata });
            }
        }
        seen
    }

    /// Compares what is there with what was. Whether a file is newly without a path.
    fn notice(&mut self, seen: &IndexMap<Identity, Seen>) -> bool {
        let mut lost_some = false;
        let mut moved = Vec::new();
        let mut replaced = Vec::new();
        for (identity, file) in &mut self.files {
            let Some(seen) = seen.get(identity) else {
                lost_some |= file.gone.is_none();
                file.gone.get_or_insert_with(Instant::now);
                continue;
            };
            if is_other(file, seen) {
                replaced.push(*identity);
                continue;
            }
            if file.path != seen.path {
                moved.push((*identity, seen.path.clone()));
            }
            file.see(seen);
        }
        for identity in replaced {
            self.files.shift_remove(&identity);
            self.positions.forget(identity);
        }
        for (identity, path) in moved {
            self.rename(identity, path);
        }
        lost_some
    }

    fn rename(&mut self, identity: Identity, path: PathBuf) {
        self.positions.rename(identity, &path);
        let origin = self.origin(&path);
        let Some(file) = self.files.get_mut(&identity) else { return };
        tracing::debug!(target: "logstash.inputs.file", "{} is {} now", file.path.display(), path.display());
        if let Some(reader) = file.reader() {
            reader.set_origin(origin.clone());
        }
        file.origin = origin;
        file.path = path;
    }

    /// A file that was not there before.
    fn add(&mut self, identity: Identity, seen: Seen, is_first: bool) {
        let size = seen.metadata.len();
        // Files that nobody has read before are not opened for this.
        let head = match self.positions.head(identity).map(|_| identity.open(&seen.path)) {
            // The next look tells what it is called now.
            Some(Ok(None)) => return,
            Some(Ok(Some(file))) => Head::read(&file).ok(),
            Some(Err(_)) | None => None,
        };
        let knew_path = self.positions.knows_path(&seen.path);
        let found = Found { path: &seen.path, size, head };
        let known = self.positions.recall(identity, Identity::by_system(&seen.metadata), &found);
        let resume = match (&self.settings.mode, known) {
            (_, Known::Position(position)) => position,
            (Mode::Tail { from_beginning: false, .. }, Known::Never) if is_first && !knew_path => size,
            _ => 0,
        };
        let mut file = Watched::new(seen.path.clone(), self.origin(&seen.path), size, seen.modified(), State::Waiting);
        file.created = seen.metadata.created().ok();
        file.resume = resume;
        // It may wait long until there is room, and be written anew meanwhile.
        file.head = self.positions.head(identity);
        match &self.settings.mode {
            Mode::Tail { ignore_older: Some(limit), .. } if is_older(seen.modified(), *limit) => {
                file.state = State::Idle { size };
                if !matches!(known, Known::Position(_)) {
                    file.resume = size;
                }
            }
            Mode::Read { completed, .. } if known == Known::Position(size) && size > 0 => {
                // One that is to be deleted is still there because the program was killed before that.
                file.state = if completed.delete {
                    State::Finishing { end: size }
                } else {
                    State::Done { size, modified: None }
                };
            }
            _ => {}
        }
        self.files.insert(identity, file);
    }
}

/// Whether the inode was given to a new file while the old one was closed.
fn is_other(file: &Watched, seen: &Seen) -> bool {
    !file.is_open() && matches!((file.created, seen.metadata.created()), (Some(old), Ok(new)) if old != new)
}

fn is_older(modified: SystemTime, limit: Duration) -> bool {
    SystemTime::now().duration_since(modified).is_ok_and(|age| age > limit)
}

impl Watched {
    /// The file is there, with this size.
    fn see(&mut self, seen: &Seen) {
        self.gone = None;
        self.size = seen.metadata.len();
        self.modified = seen.modified();
        let is_changed = match &self.state {
            State::Idle { size } => *size != self.size,
            // Without a time it was read: then a change does not matter before the next start.
            State::Done { size, modified: Some(modified) } => *size != self.size || *modified != self.modified,
            State::Done { size, modified: None } => *size > self.size,
            _ => false,
        };
        if is_changed {
            self.state = State::Waiting;
        }
    }
}
