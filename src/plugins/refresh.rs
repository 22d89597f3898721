//! Files that are read again while the pipeline runs: dictionaries, lists, databases.
//!
//! One thread of the process reads them, never a worker. Workers take the version that is there, once for a batch. A
//! version that cannot be read changes nothing: it is logged, and the one before stays in use.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, RwLock};

/// Makes a new version of a file, given the one before. The error is one sentence.
type Read<T> = Box<dyn Fn(&Path, Option<&T>) -> Result<T, String> + Send + Sync>;

/// What a file holds, in the version that was read last.
pub(super) struct Refreshed<T> {
    path: PathBuf,
    read: Read<T>,
    current: RwLock<Arc<T>>,
    /// Of the version that was read last, or tried.
    seen: Mutex<Option<Stamp>>,
    also_unchanged: bool,
}

/// How often a file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Every {
    /// Only at the start.
    Never,
    /// After each such time, and read when it changed.
    IfChanged(Duration),
    /// Read after each such time.
    Always(Duration),
}

/// By what a new version of a file is told from the old one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: SystemTime,
    length: u64,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { modified: metadata.modified().ok()?, length: metadata.len() })
    }
}

impl<T: Send + Sync + 'static> Refreshed<T> {
    /// Reads the file for the first time, and again as often as `every` says, for as long as the result is in use.
    pub fn open(
        path: &Path,
        every: Every,
        read: impl Fn(&Path, Option<&T>) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Arc<Self>, String> {
        // The stamp first: what is written after it counts as a change.
        let seen = Mutex::new(Stamp::of(path));
        let current = RwLock::new(Arc::new(read(path, None)?));
        let also_unchanged = matches!(every, Every::Always(_));
        let file = Arc::new(Self { path: path.to_owned(), read: Box::new(read), current, seen, also_unchanged });
        if let Every::IfChanged(pause) | Every::Always(pause) = every {
            let file = Arc::downgrade(&file);
            repeat(pause, move || file.upgrade().map(|file| file.refresh()).is_some());
        }
        Ok(file)
    }

    /// The same file for all that give the same key: `open` runs when nobody has it.
    pub fn shared(key: String, open: impl FnOnce() -> Result<Arc<Self>, String>) -> Result<Arc<Self>, String> {
        static FILES: OnceLock<Mutex<Files>> = OnceLock::new();
        let mut files = FILES.get_or_init(Mutex::default).lock();
        let key = (TypeId::of::<T>(), key);
        let known = files.get(&key).and_then(Weak::upgrade).and_then(|file| file.downcast::<Self>().ok());
        if let Some(file) = known {
            file.refresh();
            return Ok(file);
        }
        files.retain(|_, file| file.strong_count() > 0);
        let file = open()?;
        let shared: Arc<dyn Any + Send + Sync> = file.clone();
        files.insert(key, Arc::downgrade(&shared));
        Ok(file)
    }

    /// The version that is there.
    pub fn current(&self) -> Arc<T> {
        self.current.read().clone()
    }

    /// Reads the file if there is a reason to.
    fn refresh(&self) {
        let stamp = Stamp::of(&self.path);
        let mut seen = self.seen.lock();
        if *seen == stamp && !self.also_unchanged {
            return;
        }
        *seen = stamp;
        match (self.read)(&self.path, Some(&self.current())) {
            Ok(version) => {
                *self.current.write() = Arc::new(version);
                tracing::debug!(target: "spillway.refresh", path = %self.path.display(), "read again");
            }
            Err(error) => tracing::warn!(target: "spillway.refresh", path = %self.path.display(),
                "the file cannot be used, its last version stays in use: {error}"),
        }
    }
}

type Files = HashMap<(TypeId, String), Weak<dyn Any + Send + Sync>>;

/// Something to do again and again, until it says that it is no longer wanted.
struct Job {
    due: Instant,
    pause: Duration,
    run: Box<dyn Fn() -> bool + Send>,
}

/// Has `run` called after each `pause` until it returns `false`.
fn repeat(pause: Duration, run: impl Fn() -> bool + Send + 'static) {
    static JOBS: OnceLock<Sender<Job>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| {
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new().name("file-refresh".to_owned());
        if let Err(error) = thread.spawn(move || work(&receiver)) {
            tracing::error!(target: "spillway.refresh", "files are not read again: {error}");
        }
        sender
    });
    // Fails only when there is no thread, which was logged.
    let _ = jobs.send(Job { due: Instant::now() + pause, pause, run: Box::new(run) });
}

fn work(new: &Receiver<Job>) {
    let mut jobs: Vec<Job> = Vec::new();
    loop {
        let received = match jobs.iter().map(|job| job.due).min() {
            None => new.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => new.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        match received {
            Ok(job) => jobs.push(job),
            Err(RecvTimeoutError::Timeout) => run_due(&mut jobs),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn run_due(jobs: &mut Vec<Job>) {
    let now = Instant::now();
    jobs.retain_mut(|job| {
        if job.due > now {
            return true;
        }
        job.due = now + job.pause;
        // A file that a reader stumbles over must not keep the others from being read.
        catch_unwind(AssertUnwindSafe(|| (job.run)())).unwrap_or(true)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(path: &Path, before: Option<&i32>) -> Result<i32, String> {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        text.parse::<i32>().map(|n| n + before.unwrap_or(&0)).map_err(|e| e.to_string())
    }

    #[test]
    fn a_changed_file_is_read_again_and_a_broken_one_changes_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let write = |text: &str| std::fs::write(file.path(), text).unwrap();
        assert!(Refreshed::open(file.path(), Every::Never, number).is_err());
        write("1");
        let refreshed = Refreshed::open(file.path(), Every::Never, number).unwrap();
        assert_eq!(*refreshed.current(), 1);
        refreshed.refresh();
        assert_eq!(*refreshed.current(), 1, "nothing changed");
        write("20");
        refreshed.refresh();
        assert_eq!(*refreshed.current(), 21);
        write("broken");
        refreshed.refresh();
        assert_eq!(*refreshed.current(), 21);
        std::fs::remove_file(file.path()).unwrap();
        refreshed.refresh();
        assert_eq!(*refreshed.current(), 21);
    }

    #[test]
    fn a_file_is_read_by_a_thread_of_its_own() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "1").unwrap();
        let every = Every::Always(Duration::from_millis(1));
        let refreshed = Refreshed::open(file.path(), every, number).unwrap();
        while *refreshed.current() < 3 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn who_asks_for_the_same_file_gets_the_same() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "1").unwrap();
        let key = file.path().display().to_string();
        let open = || Refreshed::open(file.path(), Every::Never, number);
        let one = Refreshed::shared(key.clone(), open).unwrap();
        std::fs::write(file.path(), "22").unwrap();
        let other = Refreshed::shared(key.clone(), || panic!("opened twice")).unwrap();
        assert!(Arc::ptr_eq(&one, &other));
        assert_eq!(*one.current(), 23);
        drop((one, other));
        assert_eq!(*Refreshed::shared(key, open).unwrap().current(), 22);
    }
}
