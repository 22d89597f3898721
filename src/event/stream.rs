//! Events on their way from a decoder to a worker: made already, or only when they are taken.
//!
//! A decoder that can find its records without looking into them leaves the rest to the worker that takes them. The
//! events of a batch are then made, changed and freed by one thread while they are in its cache, and several workers
//! decode what one input reads.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Event;

/// A known number of events in order.
pub struct EventStream {
    source: Source,
    remaining: usize,
    changes: Vec<Change>,
}

/// Makes up to so many events at the end of a list.
type Make = Box<dyn FnMut(usize, &mut Vec<Event>) + Send>;
/// Changes events that were just made.
type Change = Box<dyn Fn(&mut [Event]) + Send>;

enum Source {
    Made(std::vec::IntoIter<Event>),
    Lazy(Make),
}

impl EventStream {
    /// `count` events; `make` is called until it has made them all, or makes none. Events are made where they stay:
    /// moving them costs as much as making them.
    pub fn lazy(count: usize, make: impl FnMut(usize, &mut Vec<Event>) + Send + 'static) -> Self {
        Self { source: Source::Lazy(Box::new(make)), remaining: count, changes: Vec::new() }
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
            Source::Lazy(make) => {
                // A record that a decoder breaks on must not bring down the worker that decodes it.
                if catch_unwind(AssertUnwindSafe(|| make(most, out))).is_err() {
                    tracing::error!(target: "logstash.codecs", "a codec broke on what it was given; the rest of \
                        what was read with it is lost");
                    self.remaining = out.len() - before;
                }
            }
        }
        let taken = out.get_mut(before..).unwrap_or_default();
        self.changes.iter().for_each(|change| change(taken));
        // A source that made fewer than it promised has no more.
        self.remaining = if taken.len() < most { 0 } else { self.remaining - taken.len() };
    }

    /// The same events, each changed by `change` when it is taken.
    #[must_use]
    pub fn each(mut self, change: impl Fn(&mut Event) + Send + 'static) -> Self {
        self.changes.push(Box::new(move |events| events.iter_mut().for_each(&change)));
        self
    }
}

impl From<Vec<Event>> for EventStream {
    fn from(events: Vec<Event>) -> Self {
        Self { remaining: events.len(), source: Source::Made(events.into_iter()), changes: Vec::new() }
    }
}
