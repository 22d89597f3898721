//! The queues between inputs and workers: one for all workers, or one for each of them.
//!
//! With one for each, an input decides which worker deals with an event, so that events which belong together keep
//! their order although there are several workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Chunk, Closed, Consumer, MemoryQueue};

/// All queues of a pipeline. Cheap to clone.
#[derive(Clone)]
pub struct Lanes(Arc<Shared>);

struct Shared {
    /// At least one.
    queues: Vec<MemoryQueue>,
    next: AtomicUsize,
}

impl Lanes {
    /// `batch` events for each of the `workers`, in queues of their `own` or in one.
    pub fn new(batch: usize, workers: usize, own: bool) -> Self {
        let queues = if own && workers > 1 {
            (0..workers).map(|_| MemoryQueue::new(batch)).collect()
        } else {
            vec![MemoryQueue::new(batch.saturating_mul(workers))]
        };
        Self(Arc::new(Shared { queues, next: AtomicUsize::new(0) }))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.queues.len()
    }

    /// The queue for events that may go to any worker: each one in its turn.
    pub fn any(&self) -> usize {
        if self.count() == 1 { 0 } else { self.0.next.fetch_add(1, Ordering::Relaxed) % self.count() }
    }

    /// Puts a chunk at the end of a queue, when there is room.
    pub async fn push(&self, lane: usize, chunk: Chunk) -> Result<(), Closed> {
        match self.0.queues.get(lane % self.count()) {
            Some(queue) => queue.push(chunk).await,
            None => Err(Closed),
        }
    }

    /// The end of the worker of that number.
    pub fn consumer(&self, worker: usize) -> Option<Consumer<'_>> {
        self.0.queues.get(worker % self.count()).map(MemoryQueue::consumer)
    }

    /// Lets one worker flush the filters with its next batch, be it empty.
    pub fn request_flush(&self) {
        self.0.queues.iter().take(1).for_each(MemoryQueue::request_flush);
    }

    /// Whether nothing is taken any more.
    pub fn is_closed(&self) -> bool {
        self.0.queues.iter().any(MemoryQueue::is_closed)
    }

    /// Takes nothing more; what is in the queues is still handed out.
    pub fn close(&self) {
        self.0.queues.iter().for_each(MemoryQueue::close);
    }

    /// Gives up what is left; its leases are not settled. Returns the number of events.
    pub fn abandon(&self) -> usize {
        self.0.queues.iter().map(MemoryQueue::abandon).sum()
    }
}
