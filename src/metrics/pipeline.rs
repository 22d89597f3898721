//! Counters of a pipeline, and what is known of one that runs.

use std::ops::{Add, Sub};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use parking_lot::Mutex;

use super::flow::{self, Flow, Windows};
use super::plugin::{PluginFlows, PluginInfo, PluginTotals};
use super::{Counter, Graph, Reloads, Stopwatch};
use crate::dead_letter;
use crate::queue::persisted;

/// Counters of one pipeline.
#[derive(Debug)]
pub struct PipelineMetrics {
    /// Events pushed into the queue.
    pub events_in: Counter,
    /// Events read from the queue whose batch is done.
    pub events_filtered: Counter,
    /// Events that came out of the filters, once the outputs returned.
    pub events_out: Counter,
    /// Events that workers have taken and not dealt with yet.
    pub in_flight: AtomicU64,
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
            in_flight: AtomicU64::new(0),
            duration: Stopwatch::default(),
            queue_push: Stopwatch::default(),
            condition_errors: Counter::default(),
            started: Instant::now(),
        }
    }
}

impl PipelineMetrics {
    /// The counters that rates and sums are made of.
    pub fn totals(&self) -> Totals {
        Totals {
            events_in: flow::total(self.events_in.get()),
            events_filtered: flow::total(self.events_filtered.get()),
            events_out: flow::total(self.events_out.get()),
            worker_nanos: flow::nanos(self.duration.total()),
            queue_push_nanos: flow::nanos(self.queue_push.total()),
        }
    }
}

/// The counters of a pipeline, or of all pipelines together, at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events pushed into queues.
    pub events_in: i64,
    /// Events read from queues whose batch is done.
    pub events_filtered: i64,
    /// Events that came out of filters, once the outputs returned.
    pub events_out: i64,
    /// Time of workers in filters and outputs.
    pub worker_nanos: i64,
    /// Time of inputs waiting for room in a queue.
    pub queue_push_nanos: i64,
}

impl Add for Totals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            events_in: self.events_in.saturating_add(other.events_in),
            events_filtered: self.events_filtered.saturating_add(other.events_filtered),
            events_out: self.events_out.saturating_add(other.events_out),
            worker_nanos: self.worker_nanos.saturating_add(other.worker_nanos),
            queue_push_nanos: self.queue_push_nanos.saturating_add(other.queue_push_nanos),
        }
    }
}

impl Sub for Totals {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            events_in: self.events_in - earlier.events_in,
            events_filtered: self.events_filtered - earlier.events_filtered,
            events_out: self.events_out - earlier.events_out,
            worker_nanos: self.worker_nanos - earlier.worker_nanos,
            queue_push_nanos: self.queue_push_nanos - earlier.queue_push_nanos,
        }
    }
}

/// The rates of a pipeline, or of all pipelines together.
#[derive(Clone, Debug)]
pub struct PipelineFlows {
    /// Events in per second.
    pub input_throughput: Flow,
    /// Events filtered per second.
    pub filter_throughput: Flow,
    /// Events out per second.
    pub output_throughput: Flow,
    /// Time of inputs waiting for the queue, per time; above 1 when several wait.
    pub queue_backpressure: Flow,
    /// Workers that were busy, on average.
    pub worker_concurrency: Flow,
}

impl PipelineFlows {
    pub(super) fn of(windows: &Windows<Totals>) -> Self {
        let per_second =
            |value: fn(&Totals) -> f64| windows.flow(|elapsed, delta| flow::rate(value(&delta), elapsed.as_secs_f64()));
        Self {
            input_throughput: per_second(|delta| delta.events_in as f64),
            filter_throughput: per_second(|delta| delta.events_filtered as f64),
            output_throughput: per_second(|delta| delta.events_out as f64),
            queue_backpressure: per_second(|delta| delta.queue_push_nanos as f64 / 1e9),
            worker_concurrency: per_second(|delta| delta.worker_nanos as f64 / 1e9),
        }
    }
}

/// How a pipeline does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineState {
    /// It is starting.
    Loading,
    /// Its inputs run.
    Running,
    /// All of its inputs came to their end, or it was stopped.
    Finished,
    /// It crashed.
    Terminated,
    /// It could not start.
    Unknown,
}

impl PipelineState {
    /// Whether its workers are there.
    pub fn is_alive(self) -> bool {
        matches!(self, Self::Loading | Self::Running)
    }
}

/// A pipeline that the node knows of.
#[derive(Clone)]
pub struct PipelineStatus {
    /// Its id.
    pub id: Arc<str>,
    /// How it does.
    pub state: PipelineState,
    /// How often it was loaded anew.
    pub reloads: Reloads,
    /// Its last run; none until it has started.
    pub run: Option<Arc<PipelineRun>>,
}

impl PipelineStatus {
    /// The run, while there are workers in it.
    pub fn alive(&self) -> Option<&Arc<PipelineRun>> {
        self.run.as_ref().filter(|_| self.state.is_alive())
    }
}

/// The dead letter queue of a pipeline that has one.
pub struct DeadLetterView {
    /// Absolute, with the pipeline id.
    pub path: PathBuf,
    /// Reads it as it is now; called for each request, and must not block.
    pub stats: Box<dyn Fn() -> dead_letter::Stats + Send + Sync>,
}

/// The queue of a pipeline that has one on disk.
pub struct QueueView {
    /// Reads it as it is now; called for each request.
    pub stats: Box<dyn Fn() -> persisted::Stats + Send + Sync>,
    /// Events that no worker has taken, and bytes that are written; called for each capture.
    pub size: Box<dyn Fn() -> (u64, u64) + Send + Sync>,
}

impl QueueView {
    fn growth(&self) -> QueueSize {
        let (events, bytes) = (self.size)();
        QueueSize { events: flow::total(events), bytes: flow::total(bytes) }
    }
}

/// How large a queue on disk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct QueueSize {
    events: i64,
    bytes: i64,
}

impl Sub for QueueSize {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { events: self.events - earlier.events, bytes: self.bytes - earlier.bytes }
    }
}

/// How fast a queue on disk grows; negative while it shrinks.
#[derive(Clone, Debug)]
pub struct QueueFlows {
    /// Events per second.
    pub growth_events: Flow,
    /// Bytes per second.
    pub growth_bytes: Flow,
}

/// One run of a pipeline as its supervisor describes it, from its start to its end or reload.
pub struct PipelineView {
    /// Id of the pipeline.
    pub id: Arc<str>,
    /// Id of this run.
    pub ephemeral_id: String,
    /// Changes when the configuration does: 64 hex digits.
    pub hash: String,
    /// Workers that run.
    pub workers: u64,
    /// `pipeline.workers`, which utilisation is measured against.
    pub configured_workers: u64,
    /// `pipeline.batch.size`
    pub batch_size: u64,
    /// `pipeline.batch.delay`
    pub batch_delay_ms: u64,
    /// `pipeline.batch.output_chunking.growth_threshold_factor`
    pub growth_factor: u64,
    /// Its counters.
    pub metrics: Arc<PipelineMetrics>,
    /// Inputs, filters, outputs, each in config order.
    pub plugins: Vec<PluginInfo>,
    /// Its dead letter queue, when it has one.
    pub dead_letter_queue: Option<DeadLetterView>,
    /// Its queue, when it is on disk.
    pub queue: Option<QueueView>,
    /// How events get from plugin to plugin.
    pub graph: Graph,
}

/// A run and what its counters were at earlier times.
pub struct PipelineRun {
    view: PipelineView,
    history: Mutex<History>,
}

struct History {
    pipeline: Windows<Totals>,
    plugins: Vec<Windows<PluginTotals>>,
    queue: Windows<QueueSize>,
}

impl PipelineRun {
    pub(super) fn new(view: PipelineView) -> Self {
        let history = History {
            pipeline: Windows::new(Totals::default()),
            plugins: view.plugins.iter().map(|_| Windows::new(PluginTotals::default())).collect(),
            queue: Windows::new(view.queue.as_ref().map(QueueView::growth).unwrap_or_default()),
        };
        Self { view, history: Mutex::new(history) }
    }

    /// What the supervisor said of it.
    pub fn view(&self) -> &PipelineView {
        &self.view
    }

    /// Captures all counters.
    pub(super) fn capture(&self) {
        let mut history = self.history.lock();
        let uptime = self.view.metrics.started.elapsed();
        history.pipeline.record(uptime, self.view.metrics.totals());
        if let Some(queue) = &self.view.queue {
            history.queue.record(uptime, queue.growth());
        }
        for (windows, plugin) in history.plugins.iter_mut().zip(&self.view.plugins) {
            windows.record(uptime, plugin.metrics.totals(plugin.kind));
        }
    }

    /// The rates of the pipeline up to the last capture.
    pub fn flows(&self) -> PipelineFlows {
        PipelineFlows::of(&self.history.lock().pipeline)
    }

    /// How fast the queue on disk grew up to the last capture; nothing for one in memory.
    pub fn queue_flows(&self) -> Option<QueueFlows> {
        self.view.queue.as_ref()?;
        let history = self.history.lock();
        let per_second = |value: fn(&QueueSize) -> f64| {
            history.queue.flow(|elapsed, delta| flow::rate(value(&delta), elapsed.as_secs_f64()))
        };
        Some(QueueFlows {
            growth_events: per_second(|delta| delta.events as f64),
            growth_bytes: per_second(|delta| delta.bytes as f64),
        })
    }

    /// How much of the worker time was used up to the last capture, in percent.
    pub fn worker_utilization(&self) -> Flow {
        let workers = self.view.configured_workers as f64;
        self.history
            .lock()
            .pipeline
            .flow(|elapsed, delta| flow::rate(100.0 * delta.worker_nanos as f64 / 1e9, elapsed.as_secs_f64() * workers))
    }

    /// Every plugin with its rates up to the last capture.
    pub fn plugins(&self) -> Vec<(&PluginInfo, PluginFlows)> {
        let history = self.history.lock();
        let plugins = self.view.plugins.iter().zip(&history.plugins);
        plugins
            .map(|(info, windows)| (info, PluginFlows::of(info.kind, windows, self.view.configured_workers)))
            .collect()
    }
}
