//! What inputs put into a queue and workers take out of it.

use crate::acknowledgement::Lease;
use crate::event::{Event, EventStream};

/// Events of one read of a source, and what to tell the source once they are delivered.
pub struct Chunk {
    pub(super) events: EventStream,
    pub(super) lease: Option<Lease>,
}

impl Chunk {
    /// Events with their common lease.
    pub fn new(events: impl Into<EventStream>, lease: Option<Lease>) -> Self {
        Self { events: events.into(), lease }
    }

    /// Moves events into a batch.
    pub(super) fn fill(&mut self, most: usize, batch: &mut Taken) {
        self.events.take_into(most - batch.events.len(), &mut batch.events);
        batch.leases.extend(if self.events.is_empty() { self.lease.take() } else { self.lease.clone() });
    }
}

/// The queue takes nothing any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue is closed")]
pub struct Closed;

/// What a worker took.
#[derive(Default)]
pub struct Taken {
    /// In the order they were pushed.
    pub events: Vec<Event>,
    /// What hears of it when the events are dealt with: one for each chunk that they come from, or the queue on disk.
    pub leases: Vec<Lease>,
    /// A flush of the filters is due, and this batch serves it.
    pub flush: bool,
}
