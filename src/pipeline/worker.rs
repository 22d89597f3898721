//! A worker: takes a batch, runs the plan over it, returns the lease, again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::Lease;
use super::delivery::deliver;
use super::filtering::{Filtering, Flush};
use super::plan::Plan;
use crate::event::Event;
use crate::metrics::PipelineMetrics;
use crate::plugins::{DeadLetterQueue, Stop};
use crate::queue::MemoryQueue;

/// How batches are made.
#[derive(Clone, Copy, Debug)]
pub struct Batching {
    /// Most events in a batch.
    pub size: usize,
    /// How long a batch waits for each further event.
    pub delay: Duration,
    /// Whether each event passes all filters before the next one starts.
    pub ordered: bool,
    /// A batch that grew by more than this factor goes to the outputs in pieces.
    pub growth_factor: usize,
}

/// What the workers of a pipeline share.
pub(super) struct Crew {
    pub plan: Plan,
    pub queue: Arc<MemoryQueue>,
    pub batching: Batching,
    pub metrics: Arc<PipelineMetrics>,
    pub dead_letters: DeadLetterQueue,
    pub stop: Stop,
    pub runtime: tokio::runtime::Handle,
    /// Workers that still run; the last one flushes the filters.
    pub at_work: AtomicUsize,
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The queue was closed and is empty.
    Drained,
    /// An output asked to stop could not deliver; what is left was not acknowledged.
    GaveBack,
    /// An output broke.
    Crashed,
}

impl Crew {
    /// Workers that have not ended.
    pub fn workers_left(&self) -> usize {
        self.at_work.load(Ordering::Acquire)
    }

    /// Works until the queue is closed and empty.
    pub fn work(&self) -> Ended {
        let mut ended = Ended::Drained;
        let mut queue = self.queue.consumer();
        while ended == Ended::Drained {
            // Taking makes the events, which is the work of codecs.
            let taken = guarded(|| queue.take(self.batching.size, self.batching.delay));
            let Some(taken) = taken.unwrap_or_else(|broken| {
                ended = broken;
                None
            }) else {
                break;
            };
            let flush = taken.flush.then_some(Flush::Periodic);
            ended = self.deal_with(taken.events, Lease::joined(taken.leases), flush);
        }
        drop(queue);
        let last = self.at_work.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && ended == Ended::Drained {
            ended = self.deal_with(Vec::new(), Lease::unclaimed(), Some(Flush::Last));
        }
        ended
    }

    fn deal_with(&self, events: Vec<Event>, lease: Lease, flush: Option<Flush>) -> Ended {
        let ended = guarded(|| self.batch(events, &lease, flush)).unwrap_or_else(|broken| broken);
        if ended == Ended::Drained && !self.dead_letters.is_broken() {
            lease.settle();
        }
        ended
    }

    fn batch(&self, events: Vec<Event>, lease: &Lease, flush: Option<Flush>) -> Ended {
        let read = events.len();
        let _running = self.metrics.duration.start();
        let filtering = Filtering { plan: &self.plan, dead_letters: &self.dead_letters, metrics: &self.metrics };
        let mut out = filtering.run(events, flush, self.batching.ordered);
        if !out.is_empty() {
            let grown = read > 0 && out.len() / read > self.batching.growth_factor;
            let piece = if grown { self.batching.size } else { out.len() };
            let delivered = self.runtime.block_on(async {
                for events in out.chunks_mut(piece) {
                    deliver(&filtering, events, lease, &self.stop).await?;
                }
                Ok(())
            });
            if delivered.is_err() {
                let _: Result<(), crate::plugins::GivenBack> = delivered;
                tracing::info!(target: "logstash.javapipeline", count = read,
                    "Aborting the batch due to shutdown request while waiting for an output");
                return Ended::GaveBack;
            }
        }
        self.metrics.events_filtered.add(read as u64);
        self.metrics.events_out.add(out.len() as u64);
        Ended::Drained
    }
}

/// What `work` gives, or how a worker ends whose plugin panicked.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Ended> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        tracing::error!(target: "logstash.javapipeline", { always = true },
            "Pipeline worker error, the pipeline will be stopped");
        Ended::Crashed
    })
}
