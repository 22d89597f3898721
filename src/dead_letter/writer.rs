//! The writing end of a dead letter queue, shared by all workers of a pipeline.
//!
//! [`Writer::write`] returns when the kernel has the whole entry, so it survives the death of the process; data is
//! synced to the disk when a segment is sealed, at close, and by [`Writer::sync`]. A thread named `dlq-main` seals
//! idle segments, applies the age limit, and syncs what was sealed.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::clock::Clock;
use super::directory;
use super::entry::NewEntry;
use super::queue::{Appended, OpenError, Queue, WhenFull, WriteError};
use super::record::BLOCK;
use super::rounds::{self, Destination};
use super::settings::{LoopGuard, Settings};
use super::stats::{Counters, Stats};
use crate::event::cbor::{Encoder, TooDeep};
use crate::event::{Event, Map};

/// What became of an event that was handed to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is in the pipeline's queue.
    Stored,
    /// It is in the parked queue beside it, because it came out of this very queue.
    Parked,
    /// The queue is full, or the event can never fit; it was counted and logged. Trying again is useless.
    Refused,
    /// The queue is full, and the caller would rather wait: nothing was counted.
    Full,
    /// It failed before and the loop guard is set to skip such events.
    Skipped,
    /// The queue was closed before; nothing was written.
    Closed,
}

/// A dead letter queue that is open for writing.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    ticker: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    /// The directory's name: the pipeline id.
    name: String,
    clock: Clock,
    counters: Arc<Counters>,
    skipped: AtomicU64,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// None once closed.
    queue: Option<Queue>,
    parked: Option<Queue>,
    buffers: Buffers,
}

/// Kept from one entry to the next.
#[derive(Default)]
struct Buffers {
    encoder: Encoder,
    entry: Vec<u8>,
}

impl std::fmt::Debug for Buffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffers").field("entry", &self.entry.len()).finish()
    }
}

/// An event that could not be handled, and what is said about it.
#[derive(Clone, Copy, Debug)]
pub struct Rejected<'a> {
    /// The event as it is now.
    pub event: &'a Event,
    /// Config name of the plugin that could not handle it.
    pub plugin_type: &'a str,
    /// Id of that plugin.
    pub plugin_id: &'a str,
    /// What the plugin says.
    pub reason: &'a str,
}

/// Some events of several could not be stored. Trying again with the rest makes sense when the cause is gone.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct PartlyWritten {
    /// What became of the first ones; none of the others is stored.
    pub written: Vec<Written>,
    /// Why not.
    pub error: WriteError,
}

impl Writer {
    /// Opens the queue: makes the directory, takes the lock, recovers what a dead writer left, and starts a segment.
    pub fn open(settings: Settings) -> Result<Self, OpenError> {
        let writer = Self::open_by(settings, Clock::system())?;
        let shared = Arc::clone(&writer.shared);
        let ticker = std::thread::Builder::new().name("dlq-main".into()).spawn(move || shared.run());
        let source = match ticker {
            Ok(handle) => {
                *writer.ticker.lock() = Some(handle);
                return Ok(writer);
            }
            Err(source) => source,
        };
        Err(OpenError::Directory { directory: writer.shared.settings.directory.clone(), source })
    }

    /// Without a thread: the caller ticks.
    pub(super) fn open_by(settings: Settings, clock: Clock) -> Result<Self, OpenError> {
        let counters = Arc::new(Counters::new(&settings));
        let queue = Queue::open(settings.clone(), clock.clone(), Arc::clone(&counters))?;
        let name = settings.directory.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let state = State { queue: Some(queue), ..State::default() };
        let shared = Shared {
            settings,
            name,
            clock,
            counters,
            skipped: AtomicU64::new(0),
            state: Mutex::new(state),
            wake: Condvar::new(),
        };
        Ok(Self { shared: Arc::new(shared), ticker: Mutex::new(None) })
    }

    /// Stores an event with what the plugin says about it. An error means that nothing was stored and that trying
    /// again makes sense, see [`Writer::write_until`].
    pub fn write(
        &self,
        event: &Event,
        plugin_type: &str,
        plugin_id: &str,
        reason: &str,
    ) -> Result<Written, WriteError> {
        one(self.write_all(&[Rejected { event, plugin_type, plugin_id, reason }]))
    }

    /// Stores several events, in order, with one call to the kernel for many of them.
    pub fn write_all(&self, rejected: &[Rejected<'_>]) -> Result<Vec<Written>, PartlyWritten> {
        self.try_once(rejected, WhenFull::Refuse)
    }

    /// Stores several events, or as many of them as it can.
    pub(super) fn try_once(
        &self,
        rejected: &[Rejected<'_>],
        when_full: WhenFull,
    ) -> Result<Vec<Written>, PartlyWritten> {
        self.shared.write_all(rejected, when_full)
    }

    /// Where the queue is.
    pub(super) fn directory(&self) -> &Path {
        &self.shared.settings.directory
    }

    /// The numbers for the monitoring API; never waits for a write.
    pub fn stats(&self) -> Stats {
        self.shared.counters.snapshot()
    }

    /// Makes everything stored so far survive a power loss.
    pub fn sync(&self) -> Result<(), WriteError> {
        self.shared.state.lock().queues().try_for_each(Queue::sync)
    }

    /// Makes what was stored readable, syncs it and gives the lock up. Later writes store nothing.
    pub fn close(&self) -> Result<(), WriteError> {
        let (queue, parked) = {
            let mut state = self.shared.state.lock();
            (state.queue.take(), state.parked.take())
        };
        self.shared.wake.notify_all();
        if let Some(ticker) = self.ticker.lock().take() {
            // A thread that panicked has said so.
            let _ = ticker.join();
        }
        let skipped = self.shared.skipped.swap(0, Relaxed);
        if skipped > 0 {
            tracing::warn!(
                directory = %self.shared.settings.directory.display(),
                "{skipped} events that had been in a dead letter queue before were dropped (dead_letter_queue.loop_guard: skip)"
            );
        }
        let results: Vec<_> = [queue, parked].into_iter().flatten().map(Queue::close).collect();
        results.into_iter().collect()
    }

    /// What the thread does from time to time.
    #[cfg(test)]
    pub(super) fn tick(&self) {
        self.shared.tick();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!("{error}");
        }
    }
}

impl Shared {
    fn write_all(&self, rejected: &[Rejected<'_>], when_full: WhenFull) -> Result<Vec<Written>, PartlyWritten> {
        let mut state = self.state.lock();
        let mut written = Vec::with_capacity(rejected.len());
        let done = rejected.iter().try_for_each(|letter| {
            written.push(self.append(&mut state, letter, when_full)?);
            Ok(())
        });
        let done = done.and_then(|()| state.flush());
        if state.queue.as_ref().is_some_and(Queue::has_unsynced) {
            self.wake.notify_all();
        }
        match done {
            Ok(()) => Ok(written),
            Err(error) => {
                // They would be stored twice if they stayed for the next try.
                let mut unstored = state.drop_pending();
                while unstored > 0 {
                    match written.pop() {
                        Some(Written::Stored) => unstored -= 1,
                        Some(_) => {}
                        None => break,
                    }
                }
                Err(PartlyWritten { written, error })
            }
        }
    }

    fn append(&self, state: &mut State, letter: &Rejected<'_>, when_full: WhenFull) -> Result<Written, WriteError> {
        let metadata = letter.event.metadata();
        if !rounds::was_here_before(metadata) {
            return self.store(state, letter, metadata, Destination::Own, when_full);
        }
        if self.settings.loop_guard == LoopGuard::Skip {
            if self.skipped.fetch_add(1, Relaxed) == 0 {
                tracing::warn!(
                    directory = %self.settings.directory.display(),
                    "an event previously submitted to dead letter queue failed again and is dropped, as are others like it (dead_letter_queue.loop_guard: skip)"
                );
            }
            return Ok(Written::Skipped);
        }
        let (metadata, destination) = rounds::next_round(metadata, &self.name);
        self.store(state, letter, &metadata, destination, when_full)
    }

    fn store(
        &self,
        state: &mut State,
        letter: &Rejected<'_>,
        metadata: &Map,
        destination: Destination,
        when_full: WhenFull,
    ) -> Result<Written, WriteError> {
        let State { queue: Some(queue), parked, buffers } = state else { return Ok(Written::Closed) };
        let entry = NewEntry {
            entry_time: self.clock.now(),
            fields: letter.event.fields(),
            metadata,
            plugin_type: letter.plugin_type,
            plugin_id: letter.plugin_id,
            reason: letter.reason,
        };
        if buffers.entry.capacity() > 32 * BLOCK {
            buffers.entry = Vec::new();
        }
        if let Err(too_deep) = entry.encode(&mut buffers.encoder, &mut buffers.entry) {
            return Ok(self.refuse(too_deep));
        }
        let (to, written) = match destination {
            Destination::Own => (queue, Written::Stored),
            Destination::Parked => (self.parked(parked)?, Written::Parked),
        };
        match to.append(&buffers.entry, entry.entry_time, when_full)? {
            Appended::Stored if written == Written::Parked => {
                // Rare, so only the pipeline's own queue ever has something pending.
                if let Err(error) = to.flush() {
                    to.drop_pending();
                    return Err(error);
                }
                Ok(written)
            }
            Appended::Stored => Ok(written),
            Appended::Full => Ok(Written::Full),
            Appended::Refused => {
                if written == Written::Parked {
                    self.counters.dropped.fetch_add(1, Relaxed);
                }
                Ok(Written::Refused)
            }
        }
    }

    fn refuse(&self, why: TooDeep) -> Written {
        let text = format!("Cannot write event to DLQ(path: {}): {why}", self.settings.directory.display());
        tracing::error!("{text}");
        self.counters.set_last_error(&text);
        self.counters.dropped.fetch_add(1, Relaxed);
        Written::Refused
    }

    /// The queue for events that came out of this very queue, opened when it is needed for the first time.
    fn parked<'a>(&self, slot: &'a mut Option<Queue>) -> Result<&'a mut Queue, WriteError> {
        let mut settings = self.settings.clone();
        settings.directory.set_file_name(format!("{}.parked", self.name));
        match slot {
            Some(queue) => Ok(queue),
            None => {
                let counters = Arc::new(Counters::new(&settings));
                let directory = settings.directory.clone();
                let opened = Queue::open(settings, self.clock.clone(), counters).map_err(|error| WriteError {
                    directory: directory.clone(),
                    source: std::io::Error::other(error),
                })?;
                tracing::warn!(
                    directory = %directory.display(),
                    "an event failed again in the pipeline that reads its own dead letter queue; it and others like it are parked here, read them with pipeline_id => \"{}.parked\"",
                    self.name
                );
                Ok(slot.insert(opened))
            }
        }
    }

    /// The thread: ticks at every check interval, and syncs what was sealed as soon as that happened.
    fn run(&self) {
        let mut next = Instant::now() + self.settings.flush_check_interval;
        let mut state = self.state.lock();
        loop {
            self.wake.wait_until(&mut state, next);
            let Some(queue) = &mut state.queue else { return };
            if Instant::now() >= next {
                next = Instant::now() + self.settings.flush_check_interval;
                queue.tick();
                if let Some(parked) = &mut state.parked {
                    parked.tick();
                }
            }
            let unsynced = state.take_unsynced();
            if !unsynced.is_empty() {
                // Not under the lock: writing goes on while the disk works.
                parking_lot::MutexGuard::unlocked(&mut state, || self.sync_sealed(&unsynced));
            }
        }
    }

    #[cfg(test)]
    fn tick(&self) {
        let mut state = self.state.lock();
        state.queues().for_each(Queue::tick);
        self.sync_sealed(&state.take_unsynced());
    }

    fn sync_sealed(&self, files: &[File]) {
        if let Err(source) = directory::sync_all(files) {
            let error = WriteError { directory: self.settings.directory.clone(), source };
            tracing::error!("{error}");
            self.counters.set_last_error(&error.to_string());
        }
    }
}

/// The outcome for the only one of its kind.
pub(super) fn one(result: Result<Vec<Written>, PartlyWritten>) -> Result<Written, WriteError> {
    match result {
        Ok(written) => Ok(written.first().copied().unwrap_or(Written::Closed)),
        Err(failure) => Err(failure.error),
    }
}

impl State {
    fn queues(&mut self) -> impl Iterator<Item = &mut Queue> {
        self.queue.iter_mut().chain(&mut self.parked)
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        self.queue.as_mut().map_or(Ok(()), Queue::flush)
    }

    fn drop_pending(&mut self) -> u64 {
        self.queue.as_mut().map_or(0, Queue::drop_pending)
    }

    fn take_unsynced(&mut self) -> Vec<File> {
        self.queues().flat_map(Queue::take_unsynced).collect()
    }
}
