//! The memory queue: bounded by events, filled in chunks by inputs, emptied in batches by workers.
//!
//! A push is let in while the queue holds less than its capacity, so a chunk may pass it by its own length; that
//! saves waking a worker for each part of a chunk. A full queue makes the input wait, which is the back-pressure.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use crate::event::Event;
use crate::pipeline::Lease;

/// Events of one read of a source, and what to tell the source once they are delivered.
pub struct Chunk {
    events: std::vec::IntoIter<Event>,
    lease: Option<Lease>,
}

impl Chunk {
    /// Events with their common lease.
    pub fn new(events: Vec<Event>, lease: Option<Lease>) -> Self {
        Self { events: events.into_iter(), lease }
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
    /// One for each chunk that `events` come from.
    pub leases: Vec<Lease>,
    /// A flush of the filters is due, and this batch serves it.
    pub flush: bool,
}

#[derive(Default)]
struct State {
    chunks: VecDeque<Chunk>,
    len: usize,
    closed: bool,
    flush_due: bool,
}

/// A bounded queue of events for one pipeline.
pub struct MemoryQueue {
    state: Mutex<State>,
    filled: Condvar,
    room: Notify,
    capacity: usize,
}

impl MemoryQueue {
    /// A queue that blocks its inputs once it holds `capacity` events.
    pub fn new(capacity: usize) -> Self {
        Self { state: Mutex::default(), filled: Condvar::new(), room: Notify::new(), capacity: capacity.max(1) }
    }

    /// Puts a chunk at the end, when there is room.
    pub async fn push(&self, chunk: Chunk) -> Result<(), Closed> {
        let mut room = std::pin::pin!(self.room.notified());
        let mut chunk = Some(chunk);
        loop {
            room.as_mut().enable();
            {
                let mut state = self.state.lock();
                if state.closed {
                    return Err(Closed);
                }
                if state.len < self.capacity {
                    if let Some(chunk) = chunk.take() {
                        state.len += chunk.events.len();
                        state.chunks.push_back(chunk);
                    }
                    drop(state);
                    self.filled.notify_one();
                    return Ok(());
                }
            }
            room.as_mut().await;
            room.set(self.room.notified());
        }
    }

    /// Takes up to `most` events. Waits for the first one as long as it takes, then for each further one at most
    /// `delay`. `None` once the queue is closed and empty.
    pub fn take(&self, most: usize, delay: Duration) -> Option<Taken> {
        let mut taken = Taken::default();
        let mut state = self.state.lock();
        loop {
            self.drain(&mut state, most, &mut taken);
            taken.flush |= std::mem::take(&mut state.flush_due);
            if taken.events.len() >= most || state.closed && !taken.events.is_empty() || taken.flush {
                break;
            }
            if taken.events.is_empty() {
                if state.closed {
                    return None;
                }
                self.filled.wait(&mut state);
            } else if self.filled.wait_until(&mut state, Instant::now() + delay).timed_out() {
                self.drain(&mut state, most, &mut taken);
                break;
            }
        }
        let left = !state.chunks.is_empty() || state.closed;
        drop(state);
        if left {
            self.filled.notify_one();
        }
        Some(taken)
    }

    fn drain(&self, state: &mut State, most: usize, taken: &mut Taken) {
        let before = taken.events.len();
        while taken.events.len() < most {
            let Some(chunk) = state.chunks.front_mut() else { break };
            taken.events.extend(chunk.events.by_ref().take(most - taken.events.len()));
            if chunk.events.len() == 0 {
                taken.leases.extend(chunk.lease.take());
                state.chunks.pop_front();
            } else {
                taken.leases.extend(chunk.lease.clone());
            }
        }
        let was_full = state.len >= self.capacity;
        state.len -= taken.events.len() - before;
        if was_full && state.len < self.capacity {
            self.room.notify_waiters();
        }
    }

    /// Lets one worker flush the filters with its next batch, be it empty.
    pub fn request_flush(&self) {
        self.state.lock().flush_due = true;
        self.filled.notify_one();
    }

    /// Takes nothing more; what is in the queue is still handed out.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.filled.notify_all();
        self.room.notify_waiters();
    }

    /// Gives up what is left, and tells the sources so. Returns the number of events.
    pub fn abandon(&self) -> usize {
        let mut state = self.state.lock();
        state.len = 0;
        let chunks = std::mem::take(&mut state.chunks);
        drop(state);
        for lease in chunks.iter().filter_map(|chunk| chunk.lease.as_ref()) {
            lease.fail();
        }
        chunks.iter().map(|chunk| chunk.events.len()).sum()
    }

    /// Events waiting.
    pub fn len(&self) -> usize {
        self.state.lock().len
    }

    /// Whether no event is waiting.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
