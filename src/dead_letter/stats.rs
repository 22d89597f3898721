//! The numbers of a queue that the monitoring API shows.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use serde::Serialize;

use super::settings::{Settings, StoragePolicy};

/// The `dead_letter_queue` object of the node statistics, with Logstash's names. Counters run since the queue was
/// opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Most bytes that the files may take.
    pub max_queue_size_in_bytes: u64,
    /// Why the last event could not be stored, or "no errors".
    pub last_error: String,
    /// Bytes in all segments, the one being written included.
    pub queue_size_in_bytes: u64,
    /// Events that were refused because the queue was full.
    pub dropped_events: u64,
    /// Events in segments that were deleted because of their age.
    pub expired_events: u64,
    /// `drop_newer` or `drop_older`.
    pub storage_policy: &'static str,
}

/// Where the writer counts; reading it never waits for a write.
#[derive(Debug)]
pub struct Counters {
    max_bytes: u64,
    policy: StoragePolicy,
    last_error: Mutex<String>,
    pub(super) size: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) expired: AtomicU64,
}

impl Counters {
    /// All zero.
    pub fn new(settings: &Settings) -> Self {
        Self {
            max_bytes: settings.max_bytes,
            policy: settings.storage_policy,
            last_error: Mutex::new("no errors".into()),
            size: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            expired: AtomicU64::new(0),
        }
    }

    /// Keeps the reason why an event was not stored.
    pub fn set_last_error(&self, error: &str) {
        *self.last_error.lock() = error.into();
    }

    /// The numbers now.
    pub fn snapshot(&self) -> Stats {
        Stats {
            max_queue_size_in_bytes: self.max_bytes,
            last_error: self.last_error.lock().clone(),
            queue_size_in_bytes: self.size.load(Relaxed),
            dropped_events: self.dropped.load(Relaxed),
            expired_events: self.expired.load(Relaxed),
            storage_policy: self.policy.name(),
        }
    }
}
