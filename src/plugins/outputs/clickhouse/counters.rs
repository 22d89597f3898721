//! The counters of the output in node stats.

use std::sync::Arc;
use std::time::Duration;

use crate::metrics::{Counter, PluginMetrics};

/// No code of a server is higher; what sends others must not make counters without end.
const HIGHEST_CODE: u32 = 2000;

/// Why rows left their buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flush {
    /// `flush_bytes`, `flush_size`.
    Size,
    /// `flush_interval`.
    Age,
    /// The pipeline ends.
    Shutdown,
    /// `max_buffered_bytes`, `max_tables`.
    Pressure,
}

/// Handles of the counters that are there from the start.
pub(super) struct Counters {
    metrics: Arc<PluginMetrics>,
    pub inserted: Arc<Counter>,
    pub dropped: Arc<Counter>,
    pub dead: Arc<Counter>,
    pub retried: Arc<Counter>,
    pub bytes: Arc<Counter>,
    pub successes: Arc<Counter>,
    pub failures: Arc<Counter>,
    pub retries: Arc<Counter>,
    pub exhausted: Arc<Counter>,
    flushes: [Arc<Counter>; 4],
    pub queued: Arc<Counter>,
    blocked: Arc<Counter>,
    pub tables: Arc<Counter>,
    pub buffered: Arc<Counter>,
    nodes: [Arc<Counter>; 3],
}

impl Counters {
    /// Of one output.
    pub fn new(metrics: &Arc<PluginMetrics>) -> Self {
        let of = |path: &str| metrics.counter(path);
        Self {
            metrics: metrics.clone(),
            inserted: of("rows.inserted"),
            dropped: of("rows.dropped"),
            dead: of("rows.dlq_routed"),
            retried: of("rows.retried"),
            bytes: of("bytes.inserted"),
            successes: of("inserts.successes"),
            failures: of("inserts.failures"),
            retries: of("inserts.retries"),
            exhausted: of("inserts.retries_exhausted"),
            flushes: ["size", "age", "shutdown", "pressure"].map(|why| metrics.counter_at(["flush", why])),
            queued: of("queue.size"),
            blocked: of("queue.blocked_ms"),
            tables: of("buffers.tables"),
            buffered: of("buffers.bytes"),
            nodes: ["known", "healthy", "excluded"].map(|which| metrics.counter_at(["nodes", which])),
        }
    }

    /// A buffer was emptied.
    pub fn flushed(&self, why: Flush) {
        let [size, age, shutdown, pressure] = &self.flushes;
        let counter = match why {
            Flush::Size => size,
            Flush::Age => age,
            Flush::Shutdown => shutdown,
            Flush::Pressure => pressure,
        };
        counter.add(1);
    }

    /// A worker waited for room.
    pub fn waited(&self, time: Duration) {
        self.blocked.add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    }

    /// The server answered with this number.
    pub fn code(&self, code: u32) {
        if code <= HIGHEST_CODE {
            self.metrics.counter(&format!("inserts.codes.{code}")).add(1);
        }
    }

    /// So many nodes are known and healthy.
    pub fn nodes(&self, known: usize, healthy: usize) {
        let [all, well, out] = &self.nodes;
        all.set(known as u64);
        well.set(healthy as u64);
        out.set(known.saturating_sub(healthy) as u64);
    }
}
