//! The node: who it is, which pipelines it has, and the sums over them.
//!
//! The pipeline supervisor says here what starts, stops and fails; the monitoring API reads it. Nobody waits for
//! anybody: a pipeline that has no counters yet is shown as far as it is known.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use indexmap::IndexMap;
use parking_lot::{Mutex, RwLock};

use super::flow::Windows;
use super::pipeline::{PipelineFlows, PipelineRun, PipelineState, PipelineStatus, PipelineView, Totals};
use super::process::{ProcessFigures, ProcessWatch};
use super::{ReloadError, Reloads};

/// Who this node is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Kept in `path.data`, the same over all runs.
    pub id: String,
    /// `node.name`
    pub name: String,
    /// Name of this machine.
    pub host: String,
    /// `monitoring.cluster_uuid`
    pub cluster_uuid: Option<String>,
    /// Settings that pipelines have unless they set their own.
    pub defaults: Defaults,
}

/// Settings that pipelines have unless they set their own.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// `pipeline.workers`
    pub workers: u64,
    /// `pipeline.batch.size`
    pub batch_size: u64,
    /// `pipeline.batch.delay`
    pub batch_delay_ms: u64,
}

/// The running program.
pub struct Node {
    identity: Identity,
    ephemeral_id: String,
    started: Instant,
    started_at: SystemTime,
    http_address: OnceLock<SocketAddr>,
    stopping: AtomicBool,
    pipelines: RwLock<Pipelines>,
    history: Mutex<Windows<Totals>>,
    process: Mutex<ProcessWatch>,
}

#[derive(Default)]
struct Pipelines {
    by_id: IndexMap<Arc<str>, PipelineStatus>,
    /// What runs counted that were replaced since: sums over the node never go back.
    retired: Totals,
    successes: u64,
    failures: u64,
}

impl Pipelines {
    fn status(&mut self, id: &Arc<str>) -> &mut PipelineStatus {
        self.by_id.entry(id.clone()).or_insert_with(|| PipelineStatus {
            id: id.clone(),
            state: PipelineState::Loading,
            reloads: Reloads::default(),
            run: None,
        })
    }

    fn totals(&self) -> Totals {
        let runs = self.by_id.values().filter_map(|status| status.run.as_ref());
        runs.fold(self.retired, |sum, run| sum + run.view().metrics.totals())
    }

    fn retire(&mut self, run: Option<Arc<PipelineRun>>) {
        if let Some(run) = run {
            self.retired = self.retired + run.view().metrics.totals();
        }
    }
}

impl Node {
    /// A node that starts now and has no pipelines yet.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            ephemeral_id: uuid::Uuid::new_v4().to_string(),
            started: Instant::now(),
            started_at: SystemTime::now(),
            http_address: OnceLock::new(),
            stopping: AtomicBool::new(false),
            pipelines: RwLock::default(),
            history: Mutex::new(Windows::new(Totals::default())),
            process: Mutex::new(ProcessWatch::start()),
        }
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Id of this run of the program.
    pub fn ephemeral_id(&self) -> &str {
        &self.ephemeral_id
    }

    /// How long the program runs.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// When the program started.
    pub fn started_at(&self) -> SystemTime {
        self.started_at
    }

    /// Where the monitoring API listens, once it does.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http_address.get().copied()
    }

    /// The monitoring API listens.
    pub fn set_http_address(&self, address: SocketAddr) {
        // A program binds its API once.
        let _ = self.http_address.set(address);
    }

    /// The program was asked to stop.
    pub fn set_stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether the program was asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// A pipeline is configured and will be started (again). What its last run counted stays until
    /// [`Node::pipeline_started`].
    pub fn pipeline_loading(&self, id: &Arc<str>) {
        self.pipelines.write().status(id).state = PipelineState::Loading;
    }

    /// A run of a pipeline begins; it replaces the last one. It counts as loading until
    /// [`Node::set_pipeline_state`] says that it runs.
    pub fn pipeline_started(&self, view: PipelineView) {
        let id = view.id.clone();
        let run = Arc::new(PipelineRun::new(view));
        let mut pipelines = self.pipelines.write();
        let status = pipelines.status(&id);
        status.state = PipelineState::Loading;
        let last = status.run.replace(run);
        pipelines.retire(last);
    }

    /// A pipeline came into another state. The rates of one that is over stay as they are now.
    pub fn set_pipeline_state(&self, id: &Arc<str>, state: PipelineState) {
        let mut pipelines = self.pipelines.write();
        let status = pipelines.status(id);
        if let Some(run) = status.alive().filter(|_| !state.is_alive()) {
            run.capture();
        }
        status.state = state;
    }

    /// A pipeline was loaded anew.
    pub fn reload_succeeded(&self, id: &Arc<str>) {
        let mut pipelines = self.pipelines.write();
        pipelines.successes += 1;
        pipelines.status(id).reloads.succeeded();
    }

    /// A pipeline could not be loaded; what ran before goes on.
    pub fn reload_failed(&self, id: &Arc<str>, error: ReloadError) {
        let mut pipelines = self.pipelines.write();
        pipelines.failures += 1;
        pipelines.status(id).reloads.failed(error);
    }

    /// A pipeline is no longer configured.
    pub fn remove_pipeline(&self, id: &str) {
        let mut pipelines = self.pipelines.write();
        if let Some(status) = pipelines.by_id.shift_remove(id) {
            pipelines.retire(status.run);
        }
    }

    /// All pipelines, in the order they were first named.
    pub fn pipelines(&self) -> Vec<PipelineStatus> {
        self.pipelines.read().by_id.values().cloned().collect()
    }

    /// One pipeline.
    pub fn pipeline(&self, id: &str) -> Option<PipelineStatus> {
        self.pipelines.read().by_id.get(id).cloned()
    }

    /// The sums over all pipelines, former runs included; none before there is any pipeline.
    pub fn totals(&self) -> Option<Totals> {
        let pipelines = self.pipelines.read();
        let known = !pipelines.by_id.is_empty() || pipelines.retired != Totals::default();
        known.then(|| pipelines.totals())
    }

    /// How often pipelines were reloaded with and without success, over all of them.
    pub fn reloads(&self) -> (u64, u64) {
        let pipelines = self.pipelines.read();
        (pipelines.successes, pipelines.failures)
    }

    /// Captures all counters. Due every [`super::flow::CAPTURE_EVERY`], and before rates are read.
    pub fn capture(&self) {
        for status in self.pipelines() {
            status.alive().into_iter().for_each(|run| run.capture());
        }
        self.process.lock().observe();
        let mut history = self.history.lock();
        let totals = self.pipelines.read().totals();
        history.record(self.uptime(), totals);
    }

    /// The rates over all pipelines up to the last capture.
    pub fn flows(&self) -> PipelineFlows {
        PipelineFlows::of(&self.history.lock())
    }

    /// What the kernel said of this process at the last capture.
    pub fn process(&self) -> ProcessFigures {
        self.process.lock().latest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::PipelineMetrics;

    fn node() -> Node {
        Node::new(Identity {
            id: "node".into(),
            name: "n".into(),
            host: "h".into(),
            cluster_uuid: None,
            defaults: Defaults { workers: 2, batch_size: 125, batch_delay_ms: 50 },
        })
    }

    fn view(id: &str, events: u64) -> PipelineView {
        let metrics = PipelineMetrics::default();
        metrics.events_in.add(events);
        PipelineView {
            id: id.into(),
            ephemeral_id: String::new(),
            hash: String::new(),
            workers: 1,
            configured_workers: 2,
            batch_size: 1,
            batch_delay_ms: 1,
            growth_factor: 1,
            metrics: Arc::new(metrics),
            plugins: Vec::new(),
            dead_letter_queue: None,
            queue: None,
            graph: crate::metrics::Graph::default(),
        }
    }

    #[test]
    fn sums_never_go_back_when_a_pipeline_is_replaced_or_removed() {
        let node = node();
        assert_eq!(node.totals(), None);
        node.pipeline_started(view("a", 3));
        node.pipeline_started(view("b", 4));
        node.pipeline_started(view("a", 5));
        assert_eq!(node.totals().map(|t| t.events_in), Some(12));
        node.remove_pipeline("a");
        node.remove_pipeline("b");
        assert_eq!(node.totals().map(|t| t.events_in), Some(12));
        assert!(node.pipelines().is_empty());
    }

    #[test]
    fn the_rates_of_a_pipeline_that_is_over_stay() {
        let node = node();
        node.pipeline_started(view("a", 3));
        node.set_pipeline_state(&"a".into(), PipelineState::Finished);
        let lifetime = || node.pipeline("a").unwrap().run.unwrap().flows().input_throughput.get("lifetime");
        let last = lifetime();
        assert!(last > Some(0.0));
        std::thread::sleep(Duration::from_millis(5));
        node.capture();
        assert_eq!(lifetime(), last);
    }

    #[test]
    fn reloads_outlive_runs() {
        let node = node();
        let id: Arc<str> = "a".into();
        node.pipeline_loading(&id);
        node.reload_failed(&id, ReloadError { message: "no".into(), backtrace: None });
        node.pipeline_started(view("a", 0));
        node.reload_succeeded(&id);
        let reloads = node.pipeline("a").unwrap().reloads;
        assert_eq!((reloads.successes, reloads.failures), (1, 1));
        assert_eq!(node.reloads(), (1, 1));
        assert_eq!(reloads.last_error.unwrap().message, "no");
    }

    #[test]
    fn a_stuck_filter_costs_infinite_time_per_event_and_an_idle_one_has_no_cost() {
        use crate::config::ast::PluginKind;
        use crate::config::source::Place;
        use crate::metrics::{PluginFlows, PluginInfo, PluginMetrics};
        let plugin = |name: &str| PluginInfo {
            kind: PluginKind::Filter,
            name: name.into(),
            id: name.into(),
            explicit_id: true,
            place: Place { file: "f".into(), line: 1, column: 1 },
            measured: true,
            metrics: Arc::new(PluginMetrics::default()),
        };
        let (stuck, idle) = (plugin("stuck"), plugin("idle"));
        let metrics = stuck.metrics.clone();
        let _call = metrics.duration.start();
        let run = PipelineRun::new(PipelineView { plugins: vec![stuck, idle], ..view("a", 0) });
        std::thread::sleep(Duration::from_millis(3));
        run.capture();
        let costs: Vec<_> = run
            .plugins()
            .into_iter()
            .map(|(_, flows)| match flows {
                PluginFlows::Worker { worker_millis_per_event, .. } => worker_millis_per_event.get("current"),
                PluginFlows::Input { .. } => panic!("a filter"),
            })
            .collect();
        assert_eq!(costs, [Some(f64::INFINITY), None]);
    }
}
