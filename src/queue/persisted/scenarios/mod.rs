//! The queue as a whole, on real files.

mod basics;
mod disk_full;
mod killed;
mod power_cut;

use std::path::Path;
use std::time::Duration;

use super::{PersistedQueue, Settings};
use crate::acknowledgement::Lease;
use crate::event::{Event, Value};
use crate::queue::{Chunk, Taken};

const DELAY: Duration = Duration::from_millis(1);

pub(super) fn settings(directory: &Path) -> Settings {
    Settings { page_capacity: 4096, max_bytes: 0, ..Settings::new(directory) }
}

pub(super) fn open(settings: Settings) -> PersistedQueue {
    PersistedQueue::open(settings, Box::new(|_, _| false)).unwrap()
}

pub(super) fn event(number: u64) -> Event {
    let mut event = Event::new();
    event.fields_mut().insert("n", Value::Integer(number as i64));
    event
}

pub(super) fn events(numbers: std::ops::Range<u64>) -> Vec<Event> {
    numbers.map(event).collect()
}

pub(super) fn number(event: &Event) -> u64 {
    event.fields().get("n").and_then(Value::as_integer).unwrap() as u64
}

pub(super) fn numbers(taken: &Taken) -> Vec<u64> {
    taken.events.iter().map(number).collect()
}

pub(super) async fn push(queue: &PersistedQueue, numbers: std::ops::Range<u64>) {
    queue.push(Chunk::new(events(numbers), None), |_| {}).await.unwrap();
}

pub(super) fn settle(taken: Taken) {
    taken.leases.into_iter().for_each(Lease::settle);
}

/// A number that can be followed: a failure names the seed it began with.
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// From 0 to below `most`.
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }
}

/// How often a campaign repeats itself: `SPILLWAY_QUEUE_CAMPAIGN` asks for a longer one.
pub(super) fn repeats(usual: u64) -> u64 {
    std::env::var("SPILLWAY_QUEUE_CAMPAIGN").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// Everything that is in a queue, in the order in which it comes.
pub(super) fn drain(queue: &PersistedQueue) -> Vec<u64> {
    queue.close();
    let mut all = Vec::new();
    while let Some(taken) = queue.take(7, DELAY) {
        all.extend(numbers(&taken));
        settle(taken);
    }
    all
}
