//! What is counted, and what is known of the node and its pipelines while they run.
//!
//! Workers add to [`Counter`]s and [`Stopwatch`]es once per batch; [`Node`] is the one place where the rest of the
//! program says which pipelines there are, and where the monitoring API reads it. Rates over time windows are in
//! [`flow`], figures of the process and its control group come from the kernel.

pub mod cgroup;
pub mod flow;
mod graph;
mod node;
mod pipeline;
mod plugin;
pub mod process;
mod reloads;
mod stopwatch;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub use graph::{ConditionVertex, Edge, Graph, QUEUE};
pub use node::{Defaults, Identity, Node};
pub use pipeline::{
    DeadLetterView, PipelineFlows, PipelineMetrics, PipelineRun, PipelineState, PipelineStatus, PipelineView,
    QueueFlows, QueueView, Totals,
};
pub use plugin::{CodecInfo, PluginFlows, PluginInfo, PluginMetrics};
pub use reloads::{ReloadError, Reloads};
pub use stopwatch::{Stopwatch, StopwatchGuard};

/// A number that grows, or one that is set to what there is now.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// There are `n` now.
    pub fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }

    /// Its value now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
