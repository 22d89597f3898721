//! The keys of a filter: which are known, which are on their way, and what becomes of them with their batch.

use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::log::Log;
use super::segment::{Record, Seed};
use super::table::{Hash, Known, Shard};
use crate::event::Clock;
use crate::metrics::{Counter, PluginMetrics};
use crate::plugins::{BatchId, Stop};

/// Parts of all keys, each with a lock of its own.
pub(super) const SHARDS: usize = 64;
/// How long a disk that does not take the keys is left alone.
const REST: Duration = Duration::from_secs(1);

/// What holds for all keys of a filter.
pub(super) struct Rules {
    /// Milliseconds.
    pub ttl: i64,
    /// Whether seeing a key again starts its time anew.
    pub refresh: bool,
    /// Most keys; 0 for no limit.
    pub max_keys: usize,
    /// Whether the oldest keys go when there are too many; else new ones are not kept.
    pub evicts: bool,
    /// Whether every batch is synced.
    pub syncs: bool,
}

/// What is known of the key of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    First,
    Again {
        /// When it was seen first, or with `refresh` last.
        seen: i64,
        /// How often it was seen again, now counted.
        count: u32,
    },
}

/// The keys.
pub(super) struct Store {
    rules: Rules,
    seed: Seed,
    shards: Vec<Mutex<Shard>>,
    live: AtomicUsize,
    /// Keys of batches that are on their way.
    pending: Mutex<HashMap<BatchId, Vec<Hash>>>,
    log: Option<Mutex<Log>>,
    clock: Clock,
    stop: Stop,
    gauges: Gauges,
}

struct Gauges {
    keys: Arc<Counter>,
    pending: Arc<Counter>,
    store_bytes: Arc<Counter>,
    expired: Arc<Counter>,
    purged: Arc<Counter>,
    evicted: Arc<Counter>,
}

impl Store {
    /// With the keys of `log`, as they were given when it was opened.
    pub fn new(
        rules: Rules,
        log: Option<(Log, Vec<Shard>)>,
        clock: Clock,
        stop: Stop,
        metrics: &PluginMetrics,
    ) -> Self {
        let counter = |name| metrics.counter(name);
        let seed = log.as_ref().map_or_else(|| *uuid::Uuid::new_v4().as_bytes(), |(log, _)| log.seed());
        let (log, shards) = match log {
            Some((log, shards)) => (Some(Mutex::new(log)), shards),
            None => (None, empty_shards()),
        };
        let store = Self {
            rules,
            seed,
            live: AtomicUsize::new(shards.iter().map(Shard::len).sum()),
            shards: shards.into_iter().map(Mutex::new).collect(),
            pending: Mutex::default(),
            log,
            clock,
            stop,
            gauges: Gauges {
                keys: counter("keys"),
                pending: counter("pending"),
                store_bytes: counter("store_bytes"),
                expired: counter("expired"),
                purged: counter("purged"),
                evicted: counter("evicted"),
            },
        };
        store.show();
        store
    }

    /// The hash of a key.
    pub fn hash(&self, key: &[u8]) -> Hash {
        let digest = Sha256::new().chain_update(self.seed).chain_update(key).finalize();
        digest.first_chunk().map_or(0, |half: &[u8; 16]| Hash::from_le_bytes(*half))
    }

    /// Asks for a key and makes it known in one step: of two workers that ask at once, one hears that it is new. It is
    /// on its way with `batch` then.
    pub fn see(&self, hash: Hash, batch: BatchId) -> Seen {
        let now = self.clock.millis();
        let Some(shard) = self.shards.get(shard_of(hash)) else { return Seen::First };
        let mut keys = shard.lock();
        if self.is_full() && keys.get(hash).is_none() {
            drop(keys);
            if !self.rules.evicts {
                return Seen::First;
            }
            self.evict();
            keys = shard.lock();
        }
        let fresh = Known { seen: now, count: 0, pending: true };
        match keys.get(hash) {
            Some(known) if known.pending || now.saturating_sub(known.seen) < self.rules.ttl => {
                let count = known.count.saturating_add(1);
                let seen = if self.rules.refresh { now.max(known.seen) } else { known.seen };
                keys.set(hash, Known { seen, count, ..known });
                drop(keys);
                // A key that is on its way is written with its own batch; this one must not vouch for it.
                if self.rules.refresh && !known.pending {
                    self.pending.lock().entry(batch).or_default().push(hash);
                }
                return Seen::Again { seen: known.seen, count };
            }
            Some(_) => {
                keys.set(hash, fresh);
                self.gauges.expired.add(1);
            }
            None => {
                keys.set(hash, fresh);
                self.live.fetch_add(1, Relaxed);
            }
        }
        self.pending.lock().entry(batch).or_default().push(hash);
        Seen::First
    }

    /// The batch is dealt with, and its keys are known for good; or it was given up, and they are forgotten. Whether
    /// the keys are where they should be.
    pub fn end(&self, batch: BatchId, ok: bool) -> bool {
        let Some(hashes) = self.pending.lock().remove(&batch) else { return true };
        let kept = if ok { self.commit(&hashes) } else { self.forget(&hashes) };
        self.show();
        kept
    }

    fn commit(&self, hashes: &[Hash]) -> bool {
        let is_written = self.log.as_ref().is_none_or(|log| {
            let known = hashes.iter().filter_map(|hash| Some((*hash, self.shard(*hash)?.lock().get(*hash)?.seen)));
            self.write(log, &known.collect::<Vec<_>>())
        });
        for hash in hashes {
            let Some(shard) = self.shard(*hash) else { continue };
            let mut keys = shard.lock();
            if let Some(known) = keys.get(*hash) {
                keys.set(*hash, Known { pending: false, ..known });
            }
        }
        is_written
    }

    /// Waits while the disk does not take the keys, until the pipeline stops.
    fn write(&self, log: &Mutex<Log>, records: &[Record]) -> bool {
        loop {
            let outcome = {
                let mut log = log.lock();
                let written = log.append(records, self.clock.millis());
                written.and_then(|()| if self.rules.syncs { log.sync() } else { Ok(()) })
            };
            let Err(error) = outcome else { return true };
            tracing::error!(target: "spillway.filters.dedupe", "the keys of a batch cannot be written: {error}");
            if self.stop.is_cancelled() {
                return false;
            }
            std::thread::sleep(REST);
        }
    }

    fn forget(&self, hashes: &[Hash]) -> bool {
        for hash in hashes {
            let Some(shard) = self.shard(*hash) else { continue };
            let mut keys = shard.lock();
            if keys.get(*hash).is_some_and(|known| known.pending) && keys.remove(*hash) {
                self.live.fetch_sub(1, Relaxed);
            }
        }
        true
    }

    fn shard(&self, hash: Hash) -> Option<&Mutex<Shard>> {
        self.shards.get(shard_of(hash))
    }

    fn is_full(&self) -> bool {
        self.rules.max_keys > 0 && self.live.load(Relaxed) >= self.rules.max_keys
    }

    /// Makes room for new keys: the oldest one, or of many keys the oldest thousandth at once, since finding them
    /// takes a look at all.
    fn evict(&self) {
        let wanted = (self.rules.max_keys / 1024).max(1);
        let mut oldest: BinaryHeap<(i64, Hash)> = BinaryHeap::with_capacity(wanted + 1);
        for shard in &self.shards {
            for (hash, known) in shard.lock().iter().filter(|(_, known)| !known.pending) {
                oldest.push((known.seen, hash));
                if oldest.len() > wanted {
                    oldest.pop();
                }
            }
        }
        for (seen, hash) in oldest {
            let Some(shard) = self.shard(hash) else { continue };
            let mut keys = shard.lock();
            let is_unchanged = keys.get(hash).is_some_and(|known| known.seen == seen && !known.pending);
            if is_unchanged && keys.remove(hash) {
                self.live.fetch_sub(1, Relaxed);
                self.gauges.evicted.add(1);
            }
        }
    }

    /// Forgets the expired keys of one part.
    pub fn purge_shard(&self, at: usize) {
        let Some(shard) = self.shards.get(at) else { return };
        let now = self.clock.millis();
        let gone = shard.lock().retain(|_, known| known.pending || now.saturating_sub(known.seen) < self.rules.ttl);
        self.live.fetch_sub(gone, Relaxed);
        self.gauges.purged.add(gone as u64);
        self.show();
    }

    /// Deletes what is expired on disk.
    pub fn purge_log(&self) {
        let Some(log) = &self.log else { return };
        if let Err(error) = log.lock().purge(self.clock.millis()) {
            tracing::warn!(target: "spillway.filters.dedupe", "expired keys cannot be deleted: {error}");
        }
        self.show();
    }

    /// Syncs what was not synced with its batch.
    pub fn sync(&self) {
        if let Some(Err(error)) = self.log.as_ref().map(|log| log.lock().sync()) {
            tracing::error!(target: "spillway.filters.dedupe", "the keys cannot be synced: {error}");
        }
    }

    fn show(&self) {
        self.gauges.keys.set(self.live.load(Relaxed) as u64);
        self.gauges.pending.set(self.pending.lock().values().map(Vec::len).sum::<usize>() as u64);
        if let Some(log) = &self.log {
            self.gauges.store_bytes.set(log.lock().bytes());
        }
    }
}

/// No keys.
pub(super) fn empty_shards() -> Vec<Shard> {
    (0..SHARDS).map(|_| Shard::default()).collect()
}

/// The part that a hash belongs to: its upper half, since the lower one finds its place in it.
pub(super) fn shard_of(hash: Hash) -> usize {
    (hash >> 64) as usize % SHARDS
}

/// Puts a key that was read from disk where it belongs, unless a later time of it is there.
pub(super) fn restore(shards: &mut [Shard], (hash, seen): Record) {
    if let Some(shard) = shards.get_mut(shard_of(hash))
        && shard.get(hash).is_none_or(|known| known.seen < seen)
    {
        shard.set(hash, Known { seen, count: 0, pending: false });
    }
}
