//! Where an input puts its events: decorated with the common options, counted, and pushed into the queue.

use std::sync::Arc;

use crate::acknowledgement::Lease;
use crate::event::EventStream;
use crate::metrics::{PipelineMetrics, PluginMetrics};
use crate::plugins::common::Decoration;
use crate::plugins::lasting_ids;
use crate::queue::{Chunk, Closed, Lanes};

/// The way from one input into its pipeline. Cheap to clone.
#[derive(Clone)]
pub struct InputSink {
    queues: Lanes,
    decoration: Arc<Decoration>,
    metrics: Arc<PluginMetrics>,
    pipeline: Arc<PipelineMetrics>,
    runtime: tokio::runtime::Handle,
    /// Whether every event gets an id that lasts.
    gives_ids: bool,
}

impl InputSink {
    pub(crate) fn new(
        queues: Lanes,
        decoration: Decoration,
        metrics: Arc<PluginMetrics>,
        pipeline: Arc<PipelineMetrics>,
        runtime: tokio::runtime::Handle,
    ) -> Self {
        Self { queues, decoration: Arc::new(decoration), metrics, pipeline, runtime, gives_ids: false }
    }

    /// The same, which gives every event that enters the pipeline a lasting id unless the input has done so.
    pub(crate) fn giving_ids(self, gives_ids: bool) -> Self {
        Self { gives_ids, ..self }
    }

    /// Whether events get lasting ids: an input that knows their places in its source can give better ones.
    pub(crate) fn gives_ids(&self) -> bool {
        self.gives_ids
    }

    /// Pushes the events of one read, and waits while the queue is full. `lease` comes back once all of them are
    /// dealt with. Fails only when the pipeline is gone.
    pub async fn push(&self, events: impl Into<EventStream>, lease: Option<Lease>) -> Result<(), Closed> {
        self.push_decorated(self.decorated(events), lease).await
    }

    /// The same events with the common options on them, for an input that puts more on them after that.
    pub fn decorated(&self, events: impl Into<EventStream>) -> EventStream {
        let events = events.into();
        if self.decoration.is_empty() {
            return events;
        }
        let decoration = self.decoration.clone();
        events.each(move |event| decoration.apply(event))
    }

    /// As [`InputSink::push`], of events that have the common options on them.
    pub async fn push_decorated(&self, events: EventStream, lease: Option<Lease>) -> Result<(), Closed> {
        self.push_to(self.queues.any(), events, lease).await
    }

    /// Whether the pipeline takes nothing any more.
    pub fn is_closed(&self) -> bool {
        self.queues.is_closed()
    }

    /// How many queues there are. Events that go to the same one are dealt with by one worker, in order, when there are
    /// several.
    pub fn lanes(&self) -> usize {
        self.queues.count()
    }

    /// As [`InputSink::push`], for a sender who goes elsewhere when the pipeline is gone.
    pub async fn hand_over(&self, events: impl Into<EventStream>, lease: Lease) -> Result<(), Closed> {
        self.enqueue(self.queues.any(), self.decorated(events), Some(lease)).await
    }

    /// As [`InputSink::push_decorated`], into the queue of that number.
    pub async fn push_to(&self, lane: usize, events: EventStream, lease: Option<Lease>) -> Result<(), Closed> {
        let count = events.len();
        let pushed = self.enqueue(lane, events, lease).await;
        if pushed.is_err() {
            tracing::warn!(target: "logstash.javapipeline", count,
                "the pipeline takes nothing more: events that were read were not delivered; sources that can replay send them again");
        }
        pushed
    }

    async fn enqueue(&self, lane: usize, events: EventStream, lease: Option<Lease>) -> Result<(), Closed> {
        if events.is_empty() {
            lease.into_iter().for_each(Lease::settle);
            return Ok(());
        }
        let events = if self.gives_ids { events.each(lasting_ids::give) } else { events };
        let count = events.len() as u64;
        let _waiting = (self.metrics.queue_push.start(), self.pipeline.queue_push.start());
        let entered = |count| self.pipeline.events_in.add(count);
        let pushed = self.queues.push(lane, Chunk::new(events, lease), entered).await;
        if pushed.is_ok() {
            self.metrics.events_out.add(count);
        }
        pushed
    }

    /// As [`InputSink::push`], for an input that reads on a thread of its own.
    pub fn push_blocking(&self, events: impl Into<EventStream>, lease: Option<Lease>) -> Result<(), Closed> {
        self.runtime.block_on(self.push(events, lease))
    }
}
