//! What a queue tells of itself: for the monitoring API, at any time and without waiting for a disk's writes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::PersistedQueue;
use super::element::Traffic;
use super::settings::Compression;

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Counters of an open queue.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub checkpoints: Counter,
    pub syncs: Counter,
    pub sync_nanos: Counter,
    pub write_errors: Counter,
    pub corrupt_events: Counter,
    pub encoded: Traffic,
    pub decoded: Traffic,
}

impl Counters {
    /// The disk was asked to keep what it has.
    pub fn synced(&self, begun: Instant) {
        self.syncs.add(1);
        self.sync_nanos.add(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }
}

/// A queue as it is now.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Events that no worker has taken.
    pub unread: u64,
    /// Bytes that are written to its pages.
    pub bytes: u64,
    /// Pages that are there.
    pub pages: u64,
    /// `queue.page_capacity`
    pub page_capacity: u64,
    /// `queue.max_bytes`
    pub max_bytes: u64,
    /// `queue.max_events`
    pub max_events: u64,
    /// Its directory, absolute.
    pub path: PathBuf,
    /// Bytes that are free on its file system.
    pub free_bytes: u64,
    /// Kind of that file system, such as `ext4`.
    pub file_system: String,
    /// What the codec did; none when it is disabled.
    pub compression: Option<CompressionStats>,
    /// Checkpoints that were written.
    pub checkpoints: u64,
    /// How often the disk was asked to keep what it has.
    pub syncs: u64,
    /// How long that took, all together.
    pub sync_time: Duration,
    /// Writes, checkpoints and reads that failed and were tried again.
    pub write_errors: u64,
    /// Whether the disk refuses at the moment.
    pub is_stalled: bool,
    /// Events that could not be read.
    pub corrupt_events: u64,
}

/// What the codec did.
#[derive(Clone, Debug, Default)]
pub struct CompressionStats {
    /// What new elements are written with; none when they are plain.
    pub goal: Option<&'static str>,
    /// Bytes of events for each byte of an element that was read; none before the first one.
    pub decode_ratio: Option<f64>,
    /// Part of the time that was spent on it.
    pub decode_spend: Option<f64>,
    /// Bytes of an element for each byte of an event that was written.
    pub encode_ratio: Option<f64>,
    /// Part of the time that was spent on it.
    pub encode_spend: Option<f64>,
}

impl PersistedQueue {
    /// The queue as it is now.
    pub fn stats(&self) -> Stats {
        let (inner, settings) = (&*self.0, &self.0.settings);
        let counters = &inner.counters;
        let (unread, bytes, pages) = {
            let pages = inner.pages.lock();
            (pages.unread, pages.used, pages.tails.len() as u64 + 1)
        };
        let path = std::path::absolute(&settings.directory).unwrap_or_else(|_| settings.directory.clone());
        Stats {
            unread,
            bytes,
            pages,
            page_capacity: settings.page_capacity,
            max_bytes: settings.max_bytes,
            max_events: settings.max_events,
            free_bytes: inner.disk.free_bytes().unwrap_or(0),
            file_system: file_system(&path).unwrap_or_else(|| "unknown".to_owned()),
            path,
            compression: self.compression(),
            checkpoints: counters.checkpoints.get(),
            syncs: counters.syncs.get(),
            sync_time: Duration::from_nanos(counters.sync_nanos.get()),
            write_errors: counters.write_errors.get(),
            is_stalled: inner.is_stalled.load(Relaxed),
            corrupt_events: counters.corrupt_events.get(),
        }
    }

    /// Events that no worker has taken, and bytes that are written.
    pub fn size(&self) -> (u64, u64) {
        let pages = self.0.pages.lock();
        (pages.unread, pages.used)
    }

    fn compression(&self) -> Option<CompressionStats> {
        let (counters, compression) = (&self.0.counters, self.0.settings.compression);
        let uptime = self.0.opened.elapsed().as_nanos() as f64;
        let spend = |traffic: &Traffic| traffic.ratio().map(|_| traffic.nanos() as f64 / uptime.max(1.0));
        (compression != Compression::Disabled).then(|| CompressionStats {
            goal: compression.level().map(|(_, goal)| goal),
            decode_ratio: counters.decoded.ratio(),
            decode_spend: spend(&counters.decoded),
            encode_ratio: counters.encoded.ratio(),
            encode_spend: spend(&counters.encoded),
        })
    }
}

/// The kind of the file system that a path is on, from the mounts of this process.
fn file_system(path: &std::path::Path) -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    // The last mount of the longest path is the one that is seen.
    let holding = mounts.filter(|(place, _)| path.starts_with(place));
    holding.max_by_key(|(place, _)| place.len()).map(|(_, kind)| kind.to_owned())
}
