//! The files that are open, at most [`MOST`] of them: the one that was used longest ago makes room.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

use super::appender::{Appender, Manner};

/// Most files open at a time.
const MOST: usize = 1024;

/// A file that workers share. The lock is held for a whole batch, over waits for a full disk too, so that nothing gets
/// between the two halves of a write.
pub(super) type SharedAppender = Arc<AsyncMutex<Appender>>;

/// The files that are open.
pub(super) struct OpenFiles {
    manner: Manner,
    most: usize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    files: HashMap<PathBuf, Entry>,
    /// Counts uses, to tell which one was the last.
    clock: u64,
}

struct Entry {
    appender: SharedAppender,
    used: u64,
}

impl OpenFiles {
    /// None yet.
    pub fn new(manner: Manner) -> Self {
        Self { manner, most: MOST, table: Mutex::default() }
    }

    /// The file of that path, and one to be closed for it when there are too many.
    pub fn get(&self, path: &Path) -> (SharedAppender, Option<SharedAppender>) {
        let mut table = self.table.lock();
        table.clock += 1;
        let used = table.clock;
        if let Some(entry) = table.files.get_mut(path) {
            entry.used = used;
            return (entry.appender.clone(), None);
        }
        let oldest = (table.files.len() >= self.most)
            .then(|| table.files.values().min_by_key(|entry| entry.used).map(|entry| entry.appender.clone()))
            .flatten();
        let appender = Arc::new(AsyncMutex::new(Appender::new(path.to_owned(), self.manner.clone())));
        table.files.insert(path.to_owned(), Entry { appender: appender.clone(), used });
        (appender, oldest)
    }

    /// All of them.
    pub fn all(&self) -> Vec<SharedAppender> {
        self.table.lock().files.values().map(|entry| entry.appender.clone()).collect()
    }

    /// Takes a file out that has nothing left to write. It is closed when the last worker lets go of it.
    pub fn retire(&self, appender: &mut Appender) {
        appender.retire();
        self.table.lock().files.remove(appender.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_used_longest_ago_makes_room() {
        let mut files =
            OpenFiles::new(Manner { gzip: false, overwrite: false, file_mode: None, dir_mode: None, journal: None });
        files.most = 2;
        for path in ["a", "b", "a"] {
            assert!(files.get(Path::new(path)).1.is_none());
        }
        let (_, oldest) = files.get(Path::new("c"));
        let oldest = oldest.unwrap();
        let mut oldest = oldest.try_lock().unwrap();
        assert_eq!(oldest.path(), Path::new("b"));
        files.retire(&mut oldest);
        assert!(oldest.is_retired);
        assert_eq!(files.all().len(), 2);
    }
}
