//! One pipeline from start to end: open the queues, register the plugins, run inputs and workers, drain, close.
//!
//! Inputs run only once every plugin is registered and the workers wait, so that no event enters a pipeline that
//! cannot take it. The end goes the same way backwards: inputs, queue, workers, filters, outputs, dead letter queue.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::graph::graph;
use super::persistent;
use super::plan::{Compiled, InputSlot};
use super::prepare::Prepared;
use super::register::{close, register};
use super::stall;
use super::worker::{Batching, Crew, Ended};
use crate::dead_letter::Writer;
use crate::metrics::{DeadLetterView, PipelineMetrics, PipelineView, PluginInfo};
use crate::plugins::{InputSink, PluginError, Stop};
use crate::queue::Lanes;
use crate::queue::persisted::PersistedQueue;
use crate::settings::QueueType;

/// How often filters that hold events back are asked for them.
const FLUSH_EVERY: Duration = Duration::from_secs(5);
/// How long a broken input rests before it is run again.
const RESTART_AFTER: Duration = Duration::from_secs(1);

/// Why a pipeline did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The dead letter queue could not be opened.
    #[error("the dead letter queue cannot be opened: {0}")]
    DeadLetterQueue(String),
    /// The persisted queue could not be opened.
    #[error(transparent)]
    Queue(#[from] crate::queue::persisted::OpenError),
    /// A plugin refused.
    #[error("the {kind} {plugin} could not start: {error}")]
    Plugin {
        /// Input, filter or output.
        kind: &'static str,
        /// Id or place.
        plugin: String,
        /// What it said.
        error: PluginError,
    },
    /// A plugin panicked.
    #[error("one of its plugins broke")]
    Broke,
}

/// How a pipeline ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// All inputs ended, or it was asked to stop, and everything was delivered.
    Drained,
    /// It was asked to stop while an output could not deliver; what it held was not acknowledged.
    GaveBack,
    /// An input broke; what had come in before was delivered.
    InputBroke,
    /// A worker broke.
    Crashed,
}

/// A pipeline whose plugins are registered while another run of it still has its queues.
pub(super) struct Registered(Prepared);

/// A pipeline with its queues on disk open.
pub struct Opened {
    prepared: Prepared,
    queue: Option<PersistedQueue>,
    metrics: Arc<PipelineMetrics>,
    /// Whether its plugins are registered already.
    is_registered: bool,
}

/// A pipeline at work.
pub struct Running {
    inputs: JoinSet<(InputSlot, bool)>,
    ended_inputs: Vec<InputSlot>,
    has_broken_input: bool,
    workers: mpsc::UnboundedReceiver<Ended>,
    crew: Arc<Crew>,
    stall_warn: Option<Duration>,
    queue: Option<PersistedQueue>,
    /// Names the pipeline in log lines.
    span: tracing::Span,
}

impl Registered {
    /// Registers the plugins. When one refuses, everything that was opened is closed again.
    pub async fn register(mut prepared: Prepared) -> Result<Self, StartError> {
        let span = log_span(&prepared.settings.id);
        let Compiled { inputs, plan, .. } = &mut prepared.compiled;
        register(plan, inputs, &prepared.stop).instrument(span).await?;
        Ok(Self(prepared))
    }

    /// Opens the queues, which the other run has closed. When they refuse, the plugins are closed again.
    pub async fn open(self) -> Result<Opened, StartError> {
        let span = log_span(&self.0.settings.id);
        match open_queues(&self.0) {
            Ok(queue) => Ok(Opened { prepared: self.0, queue, metrics: Arc::default(), is_registered: true }),
            Err(error) => {
                self.close().instrument(span).await;
                Err(error)
            }
        }
    }

    /// Closes the plugins again.
    pub async fn close(mut self) {
        let Compiled { inputs, plan, .. } = &mut self.0.compiled;
        close(plan.filters.iter(), plan.outputs.iter(), inputs.iter_mut()).await;
    }
}

/// Opens what the pipeline has on disk: the persisted queue, which is returned, and the dead letter queue.
fn open_queues(prepared: &Prepared) -> Result<Option<PersistedQueue>, StartError> {
    let queue = match prepared.settings.queue_type {
        QueueType::Memory => None,
        QueueType::Persisted => Some(log_span(&prepared.settings.id).in_scope(|| persistent::open(prepared))?),
    };
    if prepared.settings.dead_letter_queue_enable {
        match Writer::open(prepared.settings.dead_letter_queue.clone()) {
            Ok(writer) => prepared.dead_letters.attach(writer),
            Err(error) => {
                queue.iter().for_each(persistent::shut);
                return Err(StartError::DeadLetterQueue(error.to_string()));
            }
        }
    }
    Ok(queue)
}

impl Opened {
    /// Opens the persisted queue and the dead letter queue, as far as the pipeline has them.
    pub fn open(prepared: Prepared) -> Result<Self, StartError> {
        let queue = open_queues(&prepared)?;
        Ok(Self { prepared, queue, metrics: Arc::default(), is_registered: false })
    }

    /// The pipeline's counters.
    pub fn metrics(&self) -> &Arc<PipelineMetrics> {
        &self.metrics
    }

    /// What was checked.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// The pipeline as the monitoring API shows it.
    pub fn view(&self) -> PipelineView {
        let settings = &self.prepared.settings;
        let queue = settings.dead_letter_queue_enable.then(|| {
            let queue = self.prepared.dead_letters.clone();
            let directory = settings.dead_letter_queue.directory.clone();
            DeadLetterView {
                path: std::path::absolute(&directory).unwrap_or(directory),
                stats: Box::new(move || queue.writer().map(Writer::stats).unwrap_or_default()),
            }
        });
        let measured =
            |info: &PluginInfo| PluginInfo { measured: info.measured && settings.metric_collect, ..info.clone() };
        let plugins = self.prepared.compiled.plugins().map(measured);
        PipelineView {
            id: Arc::from(settings.id.as_str()),
            ephemeral_id: uuid::Uuid::new_v4().to_string(),
            hash: self.prepared.compiled.plan.hash.clone(),
            workers: settings.workers as u64,
            configured_workers: settings.workers as u64,
            batch_size: settings.batch_size as u64,
            batch_delay_ms: u64::try_from(settings.batch_delay.as_millis()).unwrap_or(u64::MAX),
            growth_factor: settings.output_chunking_growth_factor as u64,
            metrics: self.metrics.clone(),
            plugins: plugins.collect(),
            dead_letter_queue: queue,
            queue: self.queue.as_ref().map(persistent::view),
            graph: graph(&self.prepared.compiled, &settings.config),
        }
    }

    /// Registers outputs and filters, starts the workers, registers and starts the inputs. When a plugin refuses,
    /// everything that was opened is closed again.
    pub async fn start(self) -> Result<Running, StartError> {
        let Self { prepared, queue, metrics, is_registered } = self;
        let Prepared { settings, compiled: Compiled { mut inputs, plan, gives_ids, .. }, stop, dead_letters, .. } =
            prepared;
        if !is_registered
            && let Err(error) = register(&plan, &mut inputs, &stop).instrument(log_span(&settings.id)).await
        {
            close_dead_letters(&dead_letters);
            queue.iter().for_each(persistent::shut);
            return Err(error);
        }
        let queues = match &queue {
            Some(queue) => Lanes::on_disk(queue.clone()),
            None => Lanes::in_memory(settings.batch_size, settings.workers, settings.partition_affinity),
        };
        let runtime = tokio::runtime::Handle::current();
        let crew = Arc::new(Crew {
            plan,
            queues,
            batching: Batching {
                size: settings.batch_size,
                delay: settings.batch_delay,
                ordered: settings.is_ordered(),
                growth_factor: settings.output_chunking_growth_factor,
            },
            metrics,
            dead_letters,
            poison_batch_limit: settings.poison_batch_limit,
            stop,
            runtime: runtime.clone(),
            at_work: AtomicUsize::new(settings.workers),
        });
        let workers = spawn_workers(&crew, &settings.id, settings.workers);
        let mut tasks = JoinSet::new();
        for slot in inputs {
            let sink = InputSink::new(
                crew.queues.clone(),
                slot.decoration.clone(),
                slot.info.metrics.clone(),
                crew.metrics.clone(),
                runtime.clone(),
            )
            .giving_ids(gives_ids);
            tasks.spawn(run_input(slot, sink, crew.stop.clone()).instrument(log_span(&settings.id)));
        }
        tracing::info!(target: "logstash.javapipeline", { pipeline.id = %settings.id }, "Pipeline started");
        Ok(Running {
            inputs: tasks,
            ended_inputs: Vec::new(),
            has_broken_input: false,
            workers,
            crew,
            queue,
            stall_warn: settings.stall_warn,
            span: log_span(&settings.id),
        })
    }
}

impl Running {
    /// Runs until all inputs ended or the stop was asked for, drains, and closes everything. A stop that stalls is told
    /// of; `force` is cancelled when it is to be ended by force.
    pub async fn finish(self, force: Option<Stop>) -> Finish {
        let span = self.span.clone();
        let watch = stall::watch(self.crew.clone(), self.stall_warn, force);
        let mut watching = JoinSet::new();
        watching.spawn(watch.instrument(span.clone()));
        // The watch ends with the set.
        self.drain().instrument(span).await
    }

    async fn drain(mut self) -> Finish {
        let mut crashed = !self.until_inputs_end().await;
        self.crew.queues.close();
        let mut gave_back = false;
        // Once all sources came to their end the queue is drained; a stop leaves on disk what is there.
        let mut may_leave = self.queue.as_ref().is_some_and(|queue| !queue.settings().drain);
        loop {
            tokio::select! {
                ended = self.workers.recv() => match ended {
                    None => break,
                    Some(ended) => {
                        crashed |= ended == Ended::Crashed;
                        gave_back |= ended == Ended::GaveBack;
                    }
                },
                () = self.crew.stop.cancelled(), if may_leave => {
                    may_leave = false;
                    self.crew.queues.leave_rest();
                }
            }
        }
        self.crew.stop.cancel();
        while let Some(ended) = self.inputs.join_next().await {
            self.ended_inputs.extend(ended.map(|(slot, _)| slot));
        }
        let left = self.crew.queues.abandon();
        if left > 0 {
            tracing::warn!(target: "logstash.javapipeline", count = left,
                "events were still waiting in the memory queue and were not delivered; sources that can replay send them again");
        }
        crashed |= self.crew.plan.outputs.iter().any(|slot| slot.output.has_failed());
        let plan = &self.crew.plan;
        close(plan.filters.iter(), plan.outputs.iter(), self.ended_inputs.iter_mut()).await;
        let (dead_letters, queue, span) = (self.crew.dead_letters.clone(), self.queue.clone(), self.span.clone());
        // Both sync what they have to disk.
        let close = move || {
            span.in_scope(|| {
                queue.iter().for_each(persistent::shut);
                close_dead_letters(&dead_letters);
            });
        };
        let _ = tokio::task::spawn_blocking(close).await;
        match (crashed, gave_back || left > 0) {
            (true, _) => Finish::Crashed,
            (false, _) if self.has_broken_input => Finish::InputBroke,
            (false, true) => Finish::GaveBack,
            (false, false) => Finish::Drained,
        }
    }

    /// `false` when a worker broke.
    async fn until_inputs_end(&mut self) -> bool {
        let mut flush = tokio::time::interval(FLUSH_EVERY);
        let mut sound = true;
        loop {
            tokio::select! {
                ended = self.inputs.join_next() => match ended {
                    None => return sound,
                    Some(Ok((slot, ended_well))) => {
                        self.ended_inputs.push(slot);
                        if !ended_well {
                            // What it was at when it broke is unknown: only from its saved position can it go on.
                            self.has_broken_input = true;
                            self.crew.stop.cancel();
                        }
                    }
                    Some(Err(_)) => sound = false,
                },
                ended = self.workers.recv() => {
                    // A worker only ends before the queue is closed when it cannot go on.
                    sound &= ended != Some(Ended::Crashed);
                    self.crew.stop.cancel();
                    if ended.is_none() || self.crew.workers_left() == 0 {
                        return sound;
                    }
                }
                _ = flush.tick() => self.crew.queues.request_flush(),
            }
        }
    }
}

fn close_dead_letters(queue: &crate::plugins::DeadLetterQueue) {
    if let Some(Err(error)) = queue.writer().map(Writer::close) {
        tracing::error!(target: "logstash.deadletterqueue", "{error}");
    }
}

/// Log lines from inside name the pipeline.
fn log_span(pipeline: &str) -> tracing::Span {
    tracing::error_span!("pipeline", pipeline.id = pipeline)
}

fn spawn_workers(crew: &Arc<Crew>, pipeline: &str, count: usize) -> mpsc::UnboundedReceiver<Ended> {
    let (send, receive) = mpsc::unbounded_channel();
    for n in 0..count {
        let (hand, report, span) = (crew.clone(), send.clone(), log_span(pipeline));
        let spawned = std::thread::Builder::new().name(format!("[{pipeline}]>worker{n}")).spawn(move || {
            let _in_log = span.entered();
            let _ = report.send(hand.work(n));
        });
        if let Err(error) = spawned {
            tracing::error!(target: "logstash.javapipeline", "cannot start worker {n}: {error}");
            crew.at_work.fetch_sub(1, std::sync::atomic::Ordering::AcqRel);
            let _ = send.send(Ended::Crashed);
        }
    }
    receive
}

/// Runs an input until it ends; one that fails is run again after a rest. `false` when it panicked.
async fn run_input(mut slot: InputSlot, sink: InputSink, stop: Stop) -> (InputSlot, bool) {
    let sound = run_until_it_ends(&mut slot, &sink, &stop).await;
    (slot, sound)
}

async fn run_until_it_ends(slot: &mut InputSlot, sink: &InputSink, stop: &Stop) -> bool {
    loop {
        let outcome = AssertUnwindSafe(slot.input.run(sink, stop)).catch_unwind().await;
        let error = match outcome {
            Ok(Ok(())) => return true,
            Ok(Err(_)) if stop.is_cancelled() => return true,
            Ok(Err(error)) => error,
            Err(_) => {
                tracing::error!(target: "logstash.javapipeline", { plugin.id = %slot.info.label() },
                    "A plugin had an unrecoverable error. Will restart this plugin. {{plugin: {}, error: it broke}} \
                     Its pipeline is started anew, with the position that the input has saved.", slot.info.name);
                return false;
            }
        };
        tracing::error!(target: "logstash.javapipeline", { plugin.id = %slot.info.label() },
            "A plugin had an unrecoverable error. Will restart this plugin. {{plugin: {}, error: {error}}}",
            slot.info.name);
        tokio::select! {
            () = tokio::time::sleep(RESTART_AFTER) => {}
            () = stop.cancelled() => return true,
        }
    }
}
