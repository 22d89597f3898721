//! What is known of a plugin from outside, and its counters.

use std::collections::BTreeMap;
use std::ops::Sub;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;

use super::flow::{self, Flow, Windows};
use super::{Counter, Stopwatch};
use crate::config::ast::PluginKind;
use crate::config::source::Place;

/// What is known of a plugin from outside.
#[derive(Clone, Debug)]
pub struct PluginInfo {
    /// Input, filter or output.
    pub kind: PluginKind,
    /// As in the `.conf`.
    pub name: String,
    /// The `id` option, or a hash of the plugin's place.
    pub id: Arc<str>,
    /// Whether the id was given.
    pub explicit_id: bool,
    /// Where the plugin stands.
    pub place: Place,
    /// Whether its counters are shown (`enable_metric`, `metric.collect`).
    pub measured: bool,
    /// Its counters.
    pub metrics: Arc<PluginMetrics>,
}

impl PluginInfo {
    /// How logs call the plugin: its id when the user gave one, else its place.
    pub fn label(&self) -> String {
        if self.explicit_id { self.id.to_string() } else { format!("{} at {}", self.name, self.place) }
    }
}

/// A codec inside an input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecInfo {
    /// The `id` option, or one made from the plugin's.
    pub id: String,
    /// As in the `.conf`.
    pub name: String,
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
    named: RwLock<BTreeMap<Vec<String>, Arc<Counter>>>,
    codecs: RwLock<Vec<CodecInfo>>,
}

impl PluginMetrics {
    /// A counter of the plugin's own, by its dotted path below the plugin in node stats
    /// (`bulk_requests.responses.200`). It shows once it was asked for. Keep the handle where calls are frequent.
    pub fn counter(&self, path: &str) -> Arc<Counter> {
        self.counter_at(path.split('.'))
    }

    /// As [`PluginMetrics::counter`], for a path with a name from outside in it, which may hold dots itself.
    pub fn counter_at<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> Arc<Counter> {
        let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
        if let Some(counter) = self.named.read().get(&path) {
            return counter.clone();
        }
        self.named.write().entry(path).or_default().clone()
    }

    /// The plugin's own counters with their paths, sorted by path.
    pub fn named(&self) -> Vec<(Vec<String>, u64)> {
        self.named.read().iter().map(|(path, counter)| (path.clone(), counter.get())).collect()
    }

    /// Says that the plugin works with this codec.
    pub fn add_codec(&self, codec: CodecInfo) {
        self.codecs.write().push(codec);
    }

    /// The codecs inside the plugin.
    pub fn codecs(&self) -> Vec<CodecInfo> {
        self.codecs.read().clone()
    }

    /// What rates of the plugin are made of.
    pub(super) fn totals(&self, kind: PluginKind) -> PluginTotals {
        let (events, time) = match kind {
            PluginKind::Input => (&self.events_out, &self.queue_push),
            PluginKind::Filter | PluginKind::Output | PluginKind::Codec => (&self.events_in, &self.duration),
        };
        PluginTotals { events: flow::total(events.get()), nanos: flow::nanos(time.total()) }
    }
}

/// Events given out and time waiting of an input; events taken and time working of any other plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PluginTotals {
    events: i64,
    nanos: i64,
}

impl Sub for PluginTotals {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { events: self.events - earlier.events, nanos: self.nanos - earlier.nanos }
    }
}

/// The rates of a plugin.
#[derive(Clone, Debug)]
pub enum PluginFlows {
    /// Of an input.
    Input {
        /// Events per second.
        throughput: Flow,
    },
    /// Of a filter or output.
    Worker {
        /// Share of all worker time, in percent.
        worker_utilization: Flow,
        /// Worker time per event, in milliseconds.
        worker_millis_per_event: Flow,
    },
}

impl PluginFlows {
    pub(super) fn of(kind: PluginKind, windows: &Windows<PluginTotals>, workers: u64) -> Self {
        let seconds = |elapsed: Duration| elapsed.as_secs_f64();
        if kind == PluginKind::Input {
            return Self::Input { throughput: windows.flow(|t, d| flow::rate(d.events as f64, seconds(t))) };
        }
        let worker_seconds = |elapsed: Duration| elapsed.as_secs_f64() * workers as f64;
        Self::Worker {
            worker_utilization: windows.flow(|t, d| flow::rate(100.0 * d.nanos as f64 / 1e9, worker_seconds(t))),
            worker_millis_per_event: windows.flow(|_, d| millis_per_event(d)),
        }
    }
}

/// A call that a capture fell into leaves its rest, without an event, to the next window: less than a millisecond of
/// that is no sign of a stuck plugin.
fn millis_per_event(delta: PluginTotals) -> Option<f64> {
    let idle = delta.events == 0 && delta.nanos < 1_000_000;
    if idle { None } else { flow::rate(delta.nanos as f64 / 1e6, delta.events as f64) }
}
