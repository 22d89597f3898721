//! The events of a batch as bytes, with the place where each ends.

use crate::event::Event;
use crate::plugins::Encoder;

/// Encoded events.
pub(super) struct Payload {
    pub bytes: Vec<u8>,
    /// Where each event ends.
    ends: Vec<usize>,
}

impl Payload {
    /// Encodes a batch; the second part are the events that have no form, and why.
    pub fn of(events: &[&Event], encoder: &dyn Encoder) -> (Self, Vec<(usize, String)>) {
        let mut payload =
            Self { bytes: Vec::with_capacity(events.len() * 256), ends: Vec::with_capacity(events.len()) };
        let mut dead = Vec::new();
        for (at, event) in events.iter().enumerate() {
            match encoder.encode(event, &mut payload.bytes) {
                Ok(()) => payload.ends.push(payload.bytes.len()),
                Err(error) => dead.push((at, format!("tcp: {error}"))),
            }
        }
        (payload, dead)
    }

    /// How many events there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Where the event begins in which byte `at` lies.
    pub fn event_start(&self, at: usize) -> usize {
        let whole = self.ends.partition_point(|end| *end <= at);
        whole.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0)
    }
}
