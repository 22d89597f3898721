//! The memory queue: bounded by events, filled in chunks by inputs, emptied chunk by chunk by workers.
//!
//! A push is let in while the queue holds less than its capacity, so a chunk may pass it by its own length; that
//! saves waking a worker for each part of a chunk. A full queue makes the input wait, which is the back-pressure. A
//! worker takes a chunk as a whole and makes batches of it, so that decoding it holds up nobody else.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use super::chunk::{Chunk, Closed, Taken};

#[derive(Default)]
struct State {
    chunks: VecDeque<Chunk>,
    len: usize,
    closed: bool,
}

/// A bounded queue of events for one pipeline.
pub struct MemoryQueue {
    state: Mutex<State>,
    filled: Condvar,
    room: Notify,
    capacity: usize,
    /// Set under the lock, so that no waiting worker misses it.
    flush_due: AtomicBool,
}

/// A worker's end of the queue. It keeps the chunk that the worker is at.
pub struct Consumer<'q> {
    queue: &'q MemoryQueue,
    chunk: Option<Chunk>,
}

impl MemoryQueue {
    /// A queue that blocks its inputs once it holds `capacity` events.
    pub fn new(capacity: usize) -> Self {
        Self {
            state: Mutex::default(),
            filled: Condvar::new(),
            room: Notify::new(),
            capacity: capacity.max(1),
            flush_due: AtomicBool::new(false),
        }
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

    /// A worker's end.
    pub fn consumer(&self) -> Consumer<'_> {
        Consumer { queue: self, chunk: None }
    }

    /// Lets one worker flush the filters with its next batch, be it empty.
    pub fn request_flush(&self) {
        {
            let _state = self.state.lock();
            self.flush_due.store(true, Ordering::Release);
        }
        self.filled.notify_one();
    }

    /// Whether nothing is taken any more.
    pub fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Takes nothing more; what is in the queue is still handed out.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.filled.notify_all();
        self.room.notify_waiters();
    }

    /// Gives up what is left; its leases are not settled. Returns the number of events.
    pub fn abandon(&self) -> usize {
        let mut state = self.state.lock();
        state.len = 0;
        let chunks = std::mem::take(&mut state.chunks);
        drop(state);
        chunks.iter().map(|chunk| chunk.events.len()).sum()
    }

    /// The next chunk, if there is one.
    fn pop(&self, state: &mut State) -> Option<Chunk> {
        let chunk = state.chunks.pop_front()?;
        let was_full = state.len >= self.capacity;
        state.len -= chunk.events.len();
        if was_full && state.len < self.capacity {
            self.room.notify_waiters();
        }
        Some(chunk)
    }
}

/// What a worker finds when it needs more events.
enum Found {
    Chunk(Chunk),
    Flush,
    Nothing,
    Closed,
}

impl Consumer<'_> {
    /// Takes up to `most` events. Waits for the first one as long as it takes, then for each further one at most
    /// `delay`. `None` once the queue is closed and empty.
    pub fn take(&mut self, most: usize, delay: Duration) -> Option<Taken> {
        let mut taken = self.gather(most, delay)?;
        let due = &self.queue.flush_due;
        taken.flush = due.load(Ordering::Relaxed) && due.swap(false, Ordering::AcqRel);
        Some(taken)
    }

    fn gather(&mut self, most: usize, delay: Duration) -> Option<Taken> {
        let mut taken = Taken { events: Vec::with_capacity(most.min(1024)), ..Taken::default() };
        loop {
            if let Some(chunk) = &mut self.chunk {
                chunk.fill(most, &mut taken);
                if chunk.events.is_empty() {
                    self.chunk = None;
                }
            }
            if taken.events.len() >= most {
                return Some(taken);
            }
            match self.find(if taken.events.is_empty() { None } else { Some(delay) }) {
                Found::Chunk(chunk) => self.chunk = Some(chunk),
                Found::Flush | Found::Nothing => return Some(taken),
                Found::Closed => return (!taken.events.is_empty()).then_some(taken),
            }
        }
    }

    /// The next chunk; waits for it, at most as long as `patience` allows.
    fn find(&self, patience: Option<Duration>) -> Found {
        let end = patience.map(|patience| Instant::now() + patience);
        let mut state = self.queue.state.lock();
        loop {
            if let Some(chunk) = self.queue.pop(&mut state) {
                return Found::Chunk(chunk);
            }
            if self.queue.flush_due.load(Ordering::Acquire) {
                return Found::Flush;
            }
            if state.closed {
                return Found::Closed;
            }
            match end {
                None => self.queue.filled.wait(&mut state),
                Some(end) if self.queue.filled.wait_until(&mut state, end).timed_out() => {
                    return self.queue.pop(&mut state).map_or(Found::Nothing, Found::Chunk);
                }
                Some(_) => {}
            }
        }
    }
}

/// A worker that ends in the middle of a chunk gives the rest of it up.
impl Drop for Consumer<'_> {
    fn drop(&mut self) {
        if let Some(left) = self.chunk.take().map(|chunk| chunk.events.len()).filter(|left| *left > 0) {
            tracing::warn!(target: "logstash.javapipeline", count = left,
                "a worker ended with events that it had not begun with; sources that can replay send them again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acknowledgement::Lease;
    use crate::event::Event;

    const DELAY: Duration = Duration::from_millis(1);

    fn events(count: usize) -> Vec<Event> {
        (0..count).map(|_| Event::new()).collect()
    }

    #[tokio::test]
    async fn a_chunk_is_handed_out_in_batches_and_its_lease_comes_back_with_the_last_one() {
        let queue = MemoryQueue::new(10);
        let (returned, mut seen) = tokio::sync::oneshot::channel();
        let lease = Lease::new(move |ok| {
            let _ = returned.send(ok);
        });
        queue.push(Chunk::new(events(5), Some(lease))).await.unwrap();
        queue.close();
        let mut consumer = queue.consumer();
        let mut taken = Vec::new();
        while let Some(batch) = consumer.take(2, DELAY) {
            taken.push(batch.events.len());
            assert!(seen.try_recv().is_err());
            batch.leases.into_iter().for_each(Lease::settle);
        }
        assert_eq!(taken, [2, 2, 1]);
        assert_eq!(seen.await, Ok(true));
    }

    #[tokio::test]
    async fn a_full_queue_makes_its_input_wait() {
        let queue = std::sync::Arc::new(MemoryQueue::new(3));
        queue.push(Chunk::new(events(4), None)).await.unwrap();
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.push(Chunk::new(events(1), None)).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        assert_eq!(queue.consumer().take(4, DELAY).map(|batch| batch.events.len()), Some(4));
        waiting.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn what_a_worker_leaves_in_the_middle_of_a_chunk_is_not_acknowledged() {
        let queue = MemoryQueue::new(10);
        let (returned, seen) = tokio::sync::oneshot::channel();
        let lease = Lease::new(move |ok| {
            let _ = returned.send(ok);
        });
        queue.push(Chunk::new(events(5), Some(lease))).await.unwrap();
        let mut consumer = queue.consumer();
        drop(consumer.take(2, DELAY));
        drop(consumer);
        assert_eq!(seen.await, Ok(false));
    }
}
