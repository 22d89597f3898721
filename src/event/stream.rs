//! Events on their way from a decoder to a worker: made already, or only when they are taken.
//!
//! A decoder that can find its records without looking into them leaves the rest to the worker that takes them. The
//! events of a batch are then made, changed and freed by one thread while they are in its cache, and several workers
//! decode what one input reads.

use super::Event;

/// A known number of events in order.
pub struct EventStream {
    source: Source,
    remaining: usize,
}

enum Source {
    Made(std::vec::IntoIter<Event>),
    Lazy(Box<dyn Iterator<Item = Event> + Send>),
}

impl EventStream {
    /// `count` events that `events` makes when they are taken.
    pub fn lazy(events: impl Iterator<Item = Event> + Send + 'static, count: usize) -> Self {
        Self { source: Source::Lazy(Box::new(events)), remaining: count }
    }

    /// How many are left.
    pub fn len(&self) -> usize {
        self.remaining
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.remaining == 0
    }

    /// Moves up to `most` events to the end of `out`.
    pub fn take_into(&mut self, most: usize, out: &mut Vec<Event>) {
        let before = out.len();
        let most = most.min(self.remaining);
        match &mut self.source {
            Source::Made(events) => out.extend(events.by_ref().take(most)),
            Source::Lazy(events) => out.extend(events.by_ref().take(most)),
        }
        let taken = out.len() - before;
        // A source that made fewer than it promised has no more.
        self.remaining = if taken < most { 0 } else { self.remaining - taken };
    }

    /// The same events, each changed by `change` when it is taken.
    #[must_use]
    pub fn each(self, change: impl Fn(&mut Event) + Send + 'static) -> Self {
        let apply = move |mut event: Event| {
            change(&mut event);
            event
        };
        let source = match self.source {
            Source::Made(events) => Box::new(events.map(apply)) as Box<dyn Iterator<Item = Event> + Send>,
            Source::Lazy(events) => Box::new(events.map(apply)),
        };
        Self { source: Source::Lazy(source), remaining: self.remaining }
    }
}

impl From<Vec<Event>> for EventStream {
    fn from(events: Vec<Event>) -> Self {
        Self { remaining: events.len(), source: Source::Made(events.into_iter()) }
    }
}
