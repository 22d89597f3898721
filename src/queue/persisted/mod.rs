//! The queue on disk, in Logstash's own format: what an input pushed survives a crash, and a queue that Logstash left
//! is drained here, or the other way round.
//!
//! A queue is a directory of numbered pages ([`page`]) with a checkpoint for each ([`checkpoint`]). Inputs write to the
//! head page (`push`); when it is full it becomes a tail and a new one is made (`files`). Workers take batches in the
//! order of writing, none across pages (`take`), and acknowledge them in any order; a tail page that is fully
//! acknowledged is deleted. `open` is what happens to the files of a process that died.
//!
//! Four locks, taken in this order: `write` (the end that writes), `files` (checkpoints and the set of files), `read`
//! (the end that reads), `pages` (what is known of them). The last is never held while a file is touched, so that
//! readers and writers do not wait for each other's disk.

pub mod checkpoint;
mod disk;
mod element;
mod files;
mod inspect;
mod keeper;
mod open;
pub mod page;
mod pages;
mod peek;
mod push;
mod repair;
#[cfg(test)]
mod scenarios;
mod settings;
mod stats;
mod take;
#[cfg(test)]
mod tape;
mod version;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use crate::event::Event;
use crate::storage::Lock;
use disk::Disk;
use keeper::Keeper;
use pages::Pages;
use push::WriteEnd;
use stats::Counters;
use take::ReadEnd;

pub use element::Unfit;
pub use inspect::{InspectError, Inspection, PageReport, inspect};
pub use open::OpenError;
pub use peek::peek;
pub use repair::{Repaired, repair};
pub use settings::{Compression, Durability, Settings};
pub use stats::{CompressionStats, Stats};

/// Deals with an event that can never be stored: says whether it is safe, or dropped by intent.
pub type Refuse = Box<dyn Fn(&Event, &Unfit) -> bool + Send + Sync>;

/// An open queue. Cheap to clone.
#[derive(Clone)]
pub struct PersistedQueue(Arc<Inner>);

struct Inner {
    settings: Settings,
    disk: Disk,
    /// Gone once the queue is shut.
    lock: Mutex<Option<Lock>>,
    write: Mutex<WriteEnd>,
    /// Whether files may still be touched.
    files: Mutex<bool>,
    read: Mutex<ReadEnd>,
    pages: Mutex<Pages>,
    /// Something to take, a flush, or the end.
    filled: Condvar,
    /// Room for what inputs push.
    room: Notify,
    /// One writer at a time asks the disk, the others profit from it.
    syncing: Mutex<()>,
    /// Number of the last element that outlives the machine.
    synced: AtomicU64,
    /// Set under the lock of `pages`, so that no waiting worker misses it.
    flush_due: AtomicBool,
    /// Whether the last write failed, so that it is told once.
    is_stalled: AtomicBool,
    refuse: Refuse,
    keeper: Keeper,
    counters: Counters,
    opened: Instant,
}

impl PersistedQueue {
    /// Opens a queue, or makes it, and puts right what a process that died left. `refuse` gets events that can never
    /// be stored.
    pub fn open(settings: Settings, refuse: Refuse) -> Result<Self, OpenError> {
        let opened = open::open(&settings)?;
        let inner = Inner {
            lock: Mutex::new(Some(opened.lock)),
            write: Mutex::new(opened.write),
            files: Mutex::new(true),
            read: Mutex::default(),
            synced: AtomicU64::new(opened.last),
            pages: Mutex::new(opened.pages),
            filled: Condvar::new(),
            room: Notify::new(),
            syncing: Mutex::new(()),
            flush_due: AtomicBool::new(false),
            is_stalled: AtomicBool::new(false),
            refuse,
            keeper: Keeper::default(),
            counters: Counters::default(),
            opened: Instant::now(),
            disk: opened.disk,
            settings,
        };
        let queue = Self(Arc::new(inner));
        Keeper::start(&queue.0).map_err(|source| OpenError::Io { path: queue.0.settings.directory.clone(), source })?;
        Ok(queue)
    }

    /// What it runs with.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Lets one worker flush the filters with its next batch, be it empty.
    pub fn request_flush(&self) {
        {
            let _pages = self.0.pages.lock();
            self.0.flush_due.store(true, Ordering::Release);
        }
        self.0.filled.notify_one();
    }

    /// Whether nothing is taken any more.
    pub fn is_closed(&self) -> bool {
        self.0.pages.lock().closed
    }

    /// Takes nothing more; what is in it is still handed out.
    pub fn close(&self) {
        self.0.pages.lock().closed = true;
        self.0.wake_all();
    }

    /// Hands out nothing more: what is in it stays for the next start.
    pub fn leave_rest(&self) {
        {
            let mut pages = self.0.pages.lock();
            pages.closed = true;
            pages.leave_rest = true;
        }
        self.0.wake_all();
    }

    /// Ends all work on the files, with a last checkpoint, and gives up the lock. Returns how many events are left:
    /// those that no worker has taken. What is acknowledged later is forgotten.
    pub fn shut(&self) -> u64 {
        self.leave_rest();
        self.0.keeper.stop();
        self.0.last_checkpoints();
        *self.0.lock.lock() = None;
        self.0.pages.lock().unread
    }
}

impl Inner {
    fn wake_all(&self) {
        self.filled.notify_all();
        self.room.notify_waiters();
    }
}

/// A queue that is dropped without being shut leaves what a process that died leaves.
impl Drop for Inner {
    fn drop(&mut self) {
        self.keeper.abandon();
    }
}

impl std::fmt::Debug for PersistedQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PersistedQueue").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}
