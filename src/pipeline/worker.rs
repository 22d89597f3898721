//! A worker: takes a batch, runs the plan over it, returns the lease, again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::delivery::deliver;
use super::filtering::{Filtering, Flush};
use super::plan::Plan;
use crate::acknowledgement::{Lease, Promises};
use crate::event::Event;
use crate::metrics::PipelineMetrics;
use crate::plugins::{DeadLetterQueue, Stop};
use crate::queue::Lanes;

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
    pub queues: Lanes,
    pub batching: Batching,
    pub metrics: Arc<PipelineMetrics>,
    pub dead_letters: DeadLetterQueue,
    /// How often a batch at which an output broke is offered to it again as a whole; 0 ends the pipeline.
    pub poison_batch_limit: u64,
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

    /// Works as the worker of that number until its queue is closed and empty.
    pub fn work(&self, number: usize) -> Ended {
        let mut ended = Ended::Drained;
        // There is one for each worker.
        let Some(mut queue) = self.queues.consumer(number) else { return Ended::Crashed };
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
            ended = self.deal_with(taken.events, taken.leases, flush);
        }
        drop(queue);
        let last = self.at_work.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && ended == Ended::Drained {
            ended = self.deal_with(Vec::new(), Vec::new(), Some(Flush::Last));
        }
        ended
    }

    /// What filters promise is bound to the batch before any output sees it: an output may keep its lease for longer.
    fn deal_with(&self, events: Vec<Event>, leases: Vec<Lease>, flush: Option<Flush>) -> Ended {
        let _running = self.metrics.duration.start();
        let _in_flight = InFlight::new(&self.metrics.in_flight, events.len());
        let (read, promises) = (events.len(), Promises::new());
        let filtered = guarded(|| self.filtering(&promises).run(events, flush, self.batching.ordered));
        let lease = promises.bind(leases);
        let ended = filtered.and_then(|out| guarded(|| self.deliver(out, read, &lease)));
        let ended = ended.unwrap_or_else(|broken| broken);
        if ended == Ended::Drained && !self.dead_letters.is_broken() {
            lease.settle();
        }
        ended
    }

    fn filtering<'c>(&'c self, promises: &'c Promises) -> Filtering<'c> {
        Filtering {
            plan: &self.plan,
            dead_letters: &self.dead_letters,
            metrics: &self.metrics,
            decisions: None,
            promises,
        }
    }

    /// `read` is how many events the batch had before the filters.
    fn deliver(&self, mut out: Vec<Event>, read: usize, lease: &Lease) -> Ended {
        if !out.is_empty() {
            let grown = read > 0 && out.len() / read > self.batching.growth_factor;
            let piece = if grown { self.batching.size } else { out.len() };
            // Conditions of the output section promise nothing.
            let promises = Promises::new();
            let filtering = self.filtering(&promises);
            let delivered = self.runtime.block_on(async {
                for events in out.chunks_mut(piece) {
                    deliver(&filtering, events, lease, &self.stop, self.poison_batch_limit).await?;
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

/// Counts the events of a batch while a worker has them.
struct InFlight<'c> {
    all: &'c AtomicU64,
    own: u64,
}

impl<'c> InFlight<'c> {
    fn new(all: &'c AtomicU64, count: usize) -> Self {
        all.fetch_add(count as u64, Ordering::Relaxed);
        Self { all, own: count as u64 }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Ordering::Relaxed);
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
