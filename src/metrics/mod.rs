//! Counters of pipelines and plugins. Workers add to them once per batch; the monitoring API reads them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::RwLock;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// Its value now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Time spent in calls, including those still running, so that it grows while an output hangs.
#[derive(Debug)]
pub struct Stopwatch {
    origin: Instant,
    finished_nanos: AtomicU64,
    /// Number of running calls, and the sum of their start times after `origin`.
    running: AtomicU64,
    running_since_nanos: AtomicU64,
}

impl Default for Stopwatch {
    fn default() -> Self {
        Self {
            origin: Instant::now(),
            finished_nanos: AtomicU64::new(0),
            running: AtomicU64::new(0),
            running_since_nanos: AtomicU64::new(0),
        }
    }
}

impl Stopwatch {
    /// Starts a call; it ends when the guard is dropped.
    pub fn start(&self) -> StopwatchGuard<'_> {
        let since = self.nanos();
        self.running_since_nanos.fetch_add(since, Relaxed);
        self.running.fetch_add(1, Relaxed);
        StopwatchGuard { watch: self, since }
    }

    /// All time so far.
    pub fn total(&self) -> Duration {
        let running = self.running.load(Relaxed).saturating_mul(self.nanos());
        let running = running.saturating_sub(self.running_since_nanos.load(Relaxed));
        Duration::from_nanos(self.finished_nanos.load(Relaxed).saturating_add(running))
    }

    fn nanos(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A running call of a [`Stopwatch`].
pub struct StopwatchGuard<'a> {
    watch: &'a Stopwatch,
    since: u64,
}

impl Drop for StopwatchGuard<'_> {
    fn drop(&mut self) {
        let took = self.watch.nanos().saturating_sub(self.since);
        self.watch.finished_nanos.fetch_add(took, Relaxed);
        self.watch.running_since_nanos.fetch_sub(self.since, Relaxed);
        self.watch.running.fetch_sub(1, Relaxed);
    }
}

/// Counters of one plugin. An input counts what it gives out, a filter or output what goes in and comes out.
#[derive(Debug, Default)]
pub struct PluginMetrics {
    /// Events that reached it.
    pub events_in: Counter,
    /// Events that left it.
    pub events_out: Counter,
    /// Time in its calls.
    pub duration: Stopwatch,
    /// Time its pushes waited for room in the queue (inputs).
    pub queue_push: Stopwatch,
    named: RwLock<BTreeMap<String, Arc<Counter>>>,
}

impl PluginMetrics {
    /// A counter of the plugin's own, by its dotted path below the plugin in node stats
    /// (`bulk_requests.responses.200`). It shows once it was asked for. Keep the handle where calls are frequent.
    pub fn counter(&self, path: &str) -> Arc<Counter> {
        if let Some(counter) = self.named.read().get(path) {
            return counter.clone();
        }
        self.named.write().entry(path.to_owned()).or_default().clone()
    }

    /// As [`PluginMetrics::counter`], but one that does not show unless `shown`.
    pub fn counter_if(&self, shown: bool, path: &str) -> Arc<Counter> {
        if shown { self.counter(path) } else { Arc::default() }
    }

    /// The plugin's own counters.
    pub fn named(&self) -> Vec<(String, u64)> {
        self.named.read().iter().map(|(path, counter)| (path.clone(), counter.get())).collect()
    }
}

/// Counters of one pipeline.
#[derive(Debug)]
pub struct PipelineMetrics {
    /// Events pushed into the queue.
    pub events_in: Counter,
    /// Events read from the queue whose batch is done.
    pub events_filtered: Counter,
    /// Events that came out of the filters, once the outputs returned.
    pub events_out: Counter,
    /// Time of workers in filters and outputs, summed over workers.
    pub duration: Stopwatch,
    /// Time of inputs waiting for room in the queue.
    pub queue_push: Stopwatch,
    /// Events dropped because a condition could not be evaluated.
    pub condition_errors: Counter,
    /// When the pipeline started.
    pub started: Instant,
}

impl Default for PipelineMetrics {
    fn default() -> Self {
        Self {
            events_in: Counter::default(),
            events_filtered: Counter::default(),
            events_out: Counter::default(),
            duration: Stopwatch::default(),
            queue_push: Stopwatch::default(),
            condition_errors: Counter::default(),
            started: Instant::now(),
        }
    }
}
