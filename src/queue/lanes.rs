//! The queues between inputs and workers: one for all workers, in memory or on disk, or one in memory for each of them.
//!
//! With one for each, an input decides which worker deals with an event, so that events which belong together keep
//! their order although there are several workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::memory;
use super::persisted::PersistedQueue;
use super::{Chunk, Closed, MemoryQueue, Taken};

/// All queues of a pipeline. Cheap to clone.
#[derive(Clone)]
pub struct Lanes(Kind);

#[derive(Clone)]
enum Kind {
    Memory(Arc<MemoryLanes>),
    Persisted(PersistedQueue),
}

struct MemoryLanes {
    /// At least one.
    queues: Vec<MemoryQueue>,
    next: AtomicUsize,
}

/// A worker's end of its queue.
pub enum Consumer<'q> {
    /// It keeps the chunk that the worker is at.
    Memory(memory::Consumer<'q>),
    /// One for all workers.
    Persisted(&'q PersistedQueue),
}

impl Consumer<'_> {
    /// Takes up to `most` events. Waits for the first one as long as it takes, then for each further one at most
    /// `delay`. `None` once there is nothing more for a worker to do.
    pub fn take(&mut self, most: usize, delay: Duration) -> Option<Taken> {
        match self {
            Self::Memory(consumer) => consumer.take(most, delay),
            Self::Persisted(queue) => queue.take(most, delay),
        }
    }
}

impl Lanes {
    /// `batch` events for each of the `workers`, in queues of their `own` or in one.
    pub fn in_memory(batch: usize, workers: usize, own: bool) -> Self {
        let queues = if own && workers > 1 {
            (0..workers).map(|_| MemoryQueue::new(batch)).collect()
        } else {
            vec![MemoryQueue::new(batch.saturating_mul(workers))]
        };
        Self(Kind::Memory(Arc::new(MemoryLanes { queues, next: AtomicUsize::new(0) })))
    }

    /// One queue on disk for all workers.
    pub fn on_disk(queue: PersistedQueue) -> Self {
        Self(Kind::Persisted(queue))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        match &self.0 {
            Kind::Memory(lanes) => lanes.queues.len(),
            Kind::Persisted(_) => 1,
        }
    }

    /// The queue for events that may go to any worker: each one in its turn.
    pub fn any(&self) -> usize {
        match &self.0 {
            Kind::Memory(lanes) if lanes.queues.len() > 1 => {
                lanes.next.fetch_add(1, Ordering::Relaxed) % lanes.queues.len()
            }
            Kind::Memory(_) | Kind::Persisted(_) => 0,
        }
    }

    /// Puts a chunk at the end of a queue, when there is room. `entered` hears of the events as they come in: of all at
    /// once before the wait for room in memory, of each part that was written to disk.
    pub async fn push(&self, lane: usize, chunk: Chunk, entered: impl Fn(u64)) -> Result<(), Closed> {
        match &self.0 {
            Kind::Memory(lanes) => {
                entered(chunk.events.len() as u64);
                match lanes.queues.get(lane % lanes.queues.len()) {
                    Some(queue) => queue.push(chunk).await,
                    None => Err(Closed),
                }
            }
            Kind::Persisted(queue) => queue.push(chunk, entered).await,
        }
    }

    /// The end of the worker of that number.
    pub fn consumer(&self, worker: usize) -> Option<Consumer<'_>> {
        match &self.0 {
            Kind::Memory(lanes) => {
                lanes.queues.get(worker % lanes.queues.len()).map(|queue| Consumer::Memory(queue.consumer()))
            }
            Kind::Persisted(queue) => Some(Consumer::Persisted(queue)),
        }
    }

    /// Lets one worker flush the filters with its next batch, be it empty.
    pub fn request_flush(&self) {
        match &self.0 {
            Kind::Memory(lanes) => lanes.queues.iter().take(1).for_each(MemoryQueue::request_flush),
            Kind::Persisted(queue) => queue.request_flush(),
        }
    }

    /// Whether nothing is taken any more.
    pub fn is_closed(&self) -> bool {
        match &self.0 {
            Kind::Memory(lanes) => lanes.queues.iter().any(MemoryQueue::is_closed),
            Kind::Persisted(queue) => queue.is_closed(),
        }
    }

    /// Takes nothing more. What is in memory is still handed out; so is what is on disk, until
    /// [`Lanes::leave_rest`].
    pub fn close(&self) {
        match &self.0 {
            Kind::Memory(lanes) => lanes.queues.iter().for_each(MemoryQueue::close),
            Kind::Persisted(queue) => queue.close(),
        }
    }

    /// Workers end after their batch: what is on disk stays there for the next start. What is in memory is not left.
    pub fn leave_rest(&self) {
        match &self.0 {
            Kind::Memory(_) => {}
            Kind::Persisted(queue) => queue.leave_rest(),
        }
    }

    /// Gives up what is left in memory; its leases are not settled. Returns the number of events.
    pub fn abandon(&self) -> usize {
        match &self.0 {
            Kind::Memory(lanes) => lanes.queues.iter().map(MemoryQueue::abandon).sum(),
            Kind::Persisted(_) => 0,
        }
    }
}
