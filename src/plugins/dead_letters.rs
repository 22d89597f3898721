//! The dead letter queue as every plugin sees it: one call, with the plugin's type and id filled in.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::Stop;
use crate::dead_letter::{Rejected, WriteError, Writer, Written};
use crate::event::Event;

/// What became of an event that was sent to the dead letter queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is in the queue, in the hands of the kernel.
    Stored,
    /// The queue is full and drops newer entries; counted there.
    Refused,
    /// `dead_letter_queue.enable` is off, or the loop guard skipped it.
    Skipped,
    /// The disk or a full queue did not take it before the pipeline had to stop, or the queue was closed before: the
    /// batch must not be acknowledged.
    NotStored,
}

impl From<Written> for Sent {
    fn from(written: Written) -> Self {
        match written {
            Written::Stored | Written::Parked => Self::Stored,
            Written::Refused => Self::Refused,
            Written::Skipped => Self::Skipped,
            Written::Full | Written::Closed => Self::NotStored,
        }
    }
}

/// The dead letter queue of a pipeline: there from the start of its compilation, open while it runs.
#[derive(Clone, Debug, Default)]
pub struct DeadLetterQueue {
    enabled: bool,
    writer: Arc<OnceLock<Writer>>,
    broken: Arc<AtomicBool>,
    stop: Stop,
}

impl DeadLetterQueue {
    /// A queue that is opened later, or never when it is not `enabled`. `stop` ends the wait for a full disk.
    pub fn new(enabled: bool, stop: Stop) -> Self {
        Self { enabled, writer: Arc::default(), broken: Arc::default(), stop }
    }

    /// Whether `dead_letter_queue.enable` is on.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Puts the open queue in place.
    pub fn attach(&self, writer: Writer) {
        // A pipeline opens its queue once.
        let _ = self.writer.set(writer);
    }

    /// The open queue.
    pub fn writer(&self) -> Option<&Writer> {
        self.writer.get()
    }

    /// Stores an event with the name and id of whatever could not handle it.
    pub fn send(&self, event: &Event, plugin_type: &str, plugin_id: &str, reason: &str) -> Sent {
        let sent = self.send_all(&[Rejected { event, plugin_type, plugin_id, reason }]);
        sent.first().copied().unwrap_or(Sent::NotStored)
    }

    /// Stores several events, in order; says what became of each. Much faster than one after the other.
    pub fn send_all(&self, rejected: &[Rejected<'_>]) -> Vec<Sent> {
        let Some(writer) = self.writer.get() else { return vec![Sent::Skipped; rejected.len()] };
        let (written, error) = match writer.write_all_until(rejected, &|| self.stop.is_cancelled()) {
            Ok(written) => (written, None),
            Err(failure) => (failure.written, Some(failure.error)),
        };
        let mut sent: Vec<_> = written.into_iter().map(Sent::from).collect();
        sent.resize(rejected.len(), Sent::NotStored);
        self.note_lost(&sent, error);
        sent
    }

    /// Stores an event; while the queue is full, waits until there is room or the pipeline stops.
    fn send_when_there_is_room(&self, rejected: &Rejected<'_>) -> Sent {
        let Some(writer) = self.writer.get() else { return Sent::Skipped };
        let (sent, error) = match writer.write_when_there_is_room(rejected, &|| self.stop.is_cancelled()) {
            Ok(written) => (Sent::from(written), None),
            Err(error) => (Sent::NotStored, Some(error)),
        };
        self.note_lost(&[sent], error);
        sent
    }

    fn note_lost(&self, sent: &[Sent], error: Option<WriteError>) {
        let lost = sent.iter().filter(|sent| **sent == Sent::NotStored).count();
        if lost > 0 {
            let why = error.map_or_else(|| "the queue was full or closed".to_owned(), |error| error.to_string());
            tracing::error!(target: "logstash.deadletterqueue", count = lost, "events were not stored before the stop: {why}");
            self.broken.store(true, Ordering::Release);
        }
    }

    /// Whether an event could not be stored before the stop: nothing may be acknowledged any more.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }
}

/// A plugin's way to the dead letter queue. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DeadLetters {
    queue: DeadLetterQueue,
    plugin_type: Arc<str>,
    plugin_id: Arc<str>,
}

impl DeadLetters {
    /// For the plugin of this config name and id.
    pub fn new(queue: DeadLetterQueue, plugin_type: &str, plugin_id: Arc<str>) -> Self {
        Self { queue, plugin_type: Arc::from(plugin_type), plugin_id }
    }

    /// Whether events can be sent at all.
    pub fn is_enabled(&self) -> bool {
        self.queue.is_enabled()
    }

    /// Stores an event as it is now, with the reason. Blocks while the disk is full, until the pipeline stops.
    pub fn send(&self, event: &Event, reason: &str) -> Sent {
        self.queue.send(event, &self.plugin_type, &self.plugin_id, reason)
    }

    /// As [`DeadLetters::send`] for several events, each with its reason. Much faster than one after the other.
    pub fn send_all<R: AsRef<str>>(&self, dead: &[(&Event, R)]) -> Vec<Sent> {
        let (plugin_type, plugin_id) = (&*self.plugin_type, &*self.plugin_id);
        let rejected =
            dead.iter().map(|(event, reason)| Rejected { event, plugin_type, plugin_id, reason: reason.as_ref() });
        self.queue.send_all(&rejected.collect::<Vec<_>>())
    }

    /// As [`DeadLetters::send`]; while the queue is full, waits until there is room or the pipeline stops.
    pub fn send_when_there_is_room(&self, event: &Event, reason: &str) -> Sent {
        let (plugin_type, plugin_id) = (&*self.plugin_type, &*self.plugin_id);
        self.queue.send_when_there_is_room(&Rejected { event, plugin_type, plugin_id, reason })
    }
}
