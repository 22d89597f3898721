//! A batch on its way through the filters.
//!
//! Events lie in one arena and never move; a *selection* is the list of those that a filter or branch works on, in
//! order of arrival. A branch makes a smaller selection, a new event takes its place right behind the one it came
//! from, and nothing is copied.

use crate::acknowledgement::Promises;
use crate::event::Event;
use crate::plugins::common::OnMatch;
use crate::plugins::lasting_ids;

/// Positions in the arena, in the order in which filters see the events.
pub(crate) type Selection = Vec<u32>;

/// Whether a filter did its work on an event; the common options (`add_field`, …) follow only then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The common options apply.
    Matched,
    /// They do not.
    Unmatched,
}

/// New events that come from the one a filter works on.
#[derive(Default)]
pub struct Emitter(Vec<(Event, Outcome)>);

impl Emitter {
    /// Puts a new event behind the present one. It goes on with the next filter.
    pub fn emit(&mut self, event: Event, outcome: Outcome) {
        self.0.push((event, outcome));
    }
}

/// The events that reached a filter.
pub struct FilterBatch<'a> {
    arena: &'a mut Vec<Event>,
    selection: &'a mut Selection,
    on_match: &'a OnMatch,
    /// How many of the selection were given to the filter: where to go on after a panic.
    started: &'a mut usize,
    promises: &'a Promises,
    emitter: Emitter,
}

impl<'a> FilterBatch<'a> {
    pub(crate) fn new(
        arena: &'a mut Vec<Event>,
        selection: &'a mut Selection,
        on_match: &'a OnMatch,
        started: &'a mut usize,
        promises: &'a Promises,
    ) -> Self {
        Self { arena, selection, on_match, started, promises, emitter: Emitter::default() }
    }

    /// What filters promise for the batch that the events are part of.
    pub fn promises(&self) -> &'a Promises {
        self.promises
    }

    /// Number of events, cancelled ones not counted.
    pub fn len(&self) -> usize {
        self.events().count()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Works on one event after the other, and applies the common options to those that matched.
    pub fn each(&mut self, mut work: impl FnMut(&mut Event) -> Outcome) {
        self.each_emitting(|event, _| work(event));
    }

    /// As [`FilterBatch::each`], for filters that can match an event several times: `work` applies the common options
    /// itself for all matches but the last.
    pub fn each_with_common(&mut self, mut work: impl FnMut(&mut Event, &OnMatch) -> Outcome) {
        let common = self.on_match;
        self.each_emitting(|event, _| work(event, common));
    }

    /// As [`FilterBatch::each`], for filters that make new events.
    pub fn each_emitting(&mut self, mut work: impl FnMut(&mut Event, &mut Emitter) -> Outcome) {
        self.each_emitting_with_common(|event, emitter, _| work(event, emitter));
    }

    /// The events that are still to be worked on, in order.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        let remaining = self.selection.get(*self.started..).unwrap_or_default();
        remaining.iter().filter_map(|&at| self.arena.get(at as usize)).filter(|event| !event.is_cancelled())
    }

    /// As [`FilterBatch::each_emitting`]; `work` may apply the common options itself, and answers
    /// [`Outcome::Unmatched`] then.
    pub fn each_emitting_with_common(&mut self, mut work: impl FnMut(&mut Event, &mut Emitter, &OnMatch) -> Outcome) {
        let common = self.on_match;
        let plain = self.on_match.is_empty();
        while let Some(&at) = self.selection.get(*self.started) {
            *self.started += 1;
            let Some(event) = self.arena.get_mut(at as usize) else { continue };
            if event.is_cancelled() {
                continue;
            }
            let outcome = work(event, &mut self.emitter, common);
            if outcome == Outcome::Matched && !plain && !event.is_cancelled() {
                self.on_match.apply(event);
            }
            if !self.emitter.0.is_empty() {
                lasting_ids::derive(event, self.emitter.0.iter_mut().map(|(event, _)| event));
                self.place_emitted();
            }
        }
    }

    /// Gives out an event that was held back, behind all others of the batch.
    pub fn release(&mut self, event: Event, outcome: Outcome) {
        *self.started = self.selection.len();
        self.emitter.emit(event, outcome);
        self.place_emitted();
    }

    /// Puts the new events behind the one that was worked on last.
    fn place_emitted(&mut self) {
        let first = self.arena.len();
        for (mut event, outcome) in self.emitter.0.drain(..) {
            if outcome == Outcome::Matched {
                self.on_match.apply(&mut event);
            }
            self.arena.push(event);
        }
        let added = (first..self.arena.len()).map(|at| at as u32);
        let count = self.arena.len() - first;
        self.selection.splice(*self.started..*self.started, added);
        *self.started += count;
    }
}
