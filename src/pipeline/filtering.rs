//! The filter section at work on one batch.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::decisions::Decisions;
use super::dispatch::Dispatch;
use super::plan::{FilterSlot, Plan, Step, StepArm, StepBranch};
use super::switch::join;
use crate::acknowledgement::Promises;
use crate::config::condition::ConditionError;
use crate::event::Event;
use crate::metrics::PipelineMetrics;
use crate::plugins::batch::{FilterBatch, Selection};
use crate::plugins::{DeadLetterQueue, Sent};

/// A flush that travels with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Every five seconds, for filters with `periodic_flush`.
    Periodic,
    /// Once, after the last event.
    Last,
}

/// Runs filters and conditions of a plan.
pub struct Filtering<'p> {
    /// The compiled pipeline.
    pub plan: &'p Plan,
    /// Takes events whose condition cannot be evaluated.
    pub dead_letters: &'p DeadLetterQueue,
    /// Counts them.
    pub metrics: &'p PipelineMetrics,
    /// Takes down what each condition decides, if somebody wants to know.
    pub decisions: Option<&'p Decisions>,
    /// Takes what filters promise for the batch.
    pub promises: &'p Promises,
}

impl Filtering<'_> {
    /// Runs a batch through all filters and returns what comes out, in order. With `ordered`, each event passes the
    /// whole section before the next one starts.
    pub fn run(&self, events: Vec<Event>, flush: Option<Flush>, ordered: bool) -> Vec<Event> {
        if !ordered || !self.can_tell_order() {
            return self.run_together(events, flush);
        }
        let mut out = Vec::with_capacity(events.len());
        for event in events {
            out.append(&mut self.run_together(vec![event], None));
        }
        if flush.is_some() {
            out.append(&mut self.run_together(Vec::new(), flush));
        }
        out
    }

    /// Whether it makes a difference that an event has passed all filters before the next one starts. Events keep their
    /// order in any case, so that takes two filters that both remember something.
    fn can_tell_order(&self) -> bool {
        self.plan.filters.iter().filter(|slot| slot.filter.remembers()).nth(1).is_some()
    }

    fn run_together(&self, mut arena: Vec<Event>, flush: Option<Flush>) -> Vec<Event> {
        if self.plan.filter_steps.is_empty() {
            return arena;
        }
        let count = arena.len();
        let mut selection: Selection = (0..count as u32).collect();
        for step in &self.plan.filter_steps {
            self.step(step, &mut arena, &mut selection, flush);
            // Only here nobody has to find the cancelled events again to restore the order of a joined branch.
            selection.retain(|&at| arena.get(at as usize).is_some_and(|e| !e.is_cancelled()));
        }
        if arena.len() == count {
            arena.retain(|event| !event.is_cancelled());
            return arena;
        }
        let mut arena: Vec<Option<Event>> = arena.into_iter().map(Some).collect();
        selection.into_iter().filter_map(|at| arena.get_mut(at as usize)?.take()).collect()
    }

    pub(super) fn steps(
        &self,
        steps: &[Step],
        arena: &mut Vec<Event>,
        selection: &mut Selection,
        flush: Option<Flush>,
    ) {
        for step in steps {
            self.step(step, arena, selection, flush);
        }
    }

    fn step(&self, step: &Step, arena: &mut Vec<Event>, selection: &mut Selection, flush: Option<Flush>) {
        match step {
            Step::Branch(branch) => self.branch(branch, arena, selection, flush),
            // A flush has to come past every filter, whatever the conditions say, and who wants to know every decision
            // must have every condition asked.
            Step::Switch(switch) if flush.is_some() || self.decisions.is_some() => {
                switch.branches.iter().for_each(|branch| self.branch(branch, arena, selection, flush));
            }
            Step::Switch(switch) => self.switch(switch, arena, selection),
            Step::Plugin(at) => {
                let Some(slot) = self.plan.filters.get(*at) else { return };
                if !selection.is_empty() {
                    self.filter(slot, arena, selection);
                }
                if let Some(flush) = flush {
                    flush_filter(slot, flush, arena, selection, self.promises);
                }
            }
        }
    }

    fn filter(&self, slot: &FilterSlot, arena: &mut Vec<Event>, selection: &mut Selection) {
        let before = live(arena, selection);
        if before == 0 {
            return;
        }
        slot.info.metrics.events_in.add(before as u64);
        {
            let _running = slot.info.metrics.duration.start();
            let mut started = 0;
            while !call(slot, arena, selection, &mut started, self.promises) {}
        }
        slot.info.metrics.events_out.add(live(arena, selection) as u64);
    }

    fn branch(&self, branch: &StepBranch, arena: &mut Vec<Event>, selection: &mut Selection, flush: Option<Flush>) {
        let known = arena.len();
        let taken = self.sort_by_arm(branch, arena, selection);
        if flush.is_none() && taken.iter().all(Vec::is_empty) {
            return;
        }
        let mut passed = Vec::with_capacity(taken.len());
        for (steps, mut taken) in branch.bodies().zip(taken) {
            if !taken.is_empty() || flush.is_some() {
                self.steps(steps, arena, &mut taken, flush);
                passed.push(taken);
            }
        }
        if arena.len() > known {
            *selection = join(selection, passed, known);
        }
    }

    /// The events that each arm takes, and at last those for `else`.
    pub(super) fn sort_by_arm(
        &self,
        branch: &StepBranch,
        events: &mut [Event],
        selection: &Selection,
    ) -> Vec<Selection> {
        let mut taken = vec![Selection::new(); branch.arms.len() + usize::from(!branch.otherwise.is_empty())];
        let mut candidates = branch.dispatch.as_ref().map(Dispatch::places);
        for &at in selection {
            let Some(event) = events.get_mut(at as usize).filter(|e| !e.is_cancelled()) else { continue };
            match branch.choose(event, candidates.as_mut()) {
                Ok(arm) => {
                    if let Some(decisions) = self.decisions {
                        decisions.chose(branch, arm);
                    }
                    if let Some(taken) = taken.get_mut(arm) {
                        taken.push(at);
                    }
                }
                Err((arm, error)) => {
                    if let Some(arm) = branch.arms.get(arm) {
                        self.condition_failed(arm, event, &error);
                    }
                }
            }
        }
        taken
    }

    /// The event leaves the pipeline; the others of its batch go on.
    pub(super) fn condition_failed(&self, arm: &StepArm, event: &mut Event, error: &ConditionError) {
        self.metrics.condition_errors.add(1);
        let StepArm { place, condition, .. } = arm;
        let reason = format!(
            "condition evaluation error, {error} (line {}, column {} of {}: if {})",
            place.line,
            place.column,
            place.file,
            condition.source()
        );
        let sent = self.dead_letters.send(event, "if-statement", "if-statement", &reason);
        event.cancel();
        let became = match sent {
            Sent::Stored => "Failing event was sent to dead letter queue",
            Sent::Skipped | Sent::Refused => "Event was dropped, enable debug logging to see its content",
            Sent::NotStored => "The dead letter queue could not take it, its batch is not acknowledged",
        };
        tracing::warn!(target: "spillway.condition", place = %place, "{reason}. {became}.");
    }
}

/// Calls the filter from event `started` on. `false` when it broke on one event and there are more.
fn call(
    slot: &FilterSlot,
    arena: &mut Vec<Event>,
    selection: &mut Selection,
    started: &mut usize,
    promises: &Promises,
) -> bool {
    let from = *started;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        slot.filter.filter(&mut FilterBatch::new(arena, selection, &slot.on_match, started, promises));
    }));
    if outcome.is_ok() {
        return true;
    }
    let broken = if *started > from { *started - 1..*started } else { from..selection.len() };
    *started = broken.end;
    let tag = format!("_{}_error", slot.info.name);
    for &at in selection.get(broken).unwrap_or_default() {
        if let Some(event) = arena.get_mut(at as usize) {
            event.tag(&tag);
        }
    }
    tracing::error!(target: "spillway.filter", { plugin.id = %slot.info.id },
        "the {} filter broke on an event, which goes on with the tag {tag}", slot.info.name);
    *started >= selection.len()
}

fn live(arena: &[Event], selection: &Selection) -> usize {
    selection.iter().filter(|&&at| arena.get(at as usize).is_some_and(|e| !e.is_cancelled())).count()
}

fn flush_filter(
    slot: &FilterSlot,
    flush: Flush,
    arena: &mut Vec<Event>,
    selection: &mut Selection,
    promises: &Promises,
) {
    let due = flush == Flush::Last || slot.on_match.periodic_flush || slot.filter.flushes_by_itself();
    if !due || !slot.filter.flushes() {
        return;
    }
    let (mut released, mut started) = (Selection::new(), 0);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut batch = FilterBatch::new(arena, &mut released, &slot.on_match, &mut started, promises);
        slot.filter.flush(&mut batch, flush == Flush::Last);
    }));
    if outcome.is_err() {
        tracing::error!(target: "spillway.filter", { plugin.id = %slot.info.id },
            "the {} filter broke while it gave out events that it had held back", slot.info.name);
    }
    slot.info.metrics.events_out.add(live(arena, &released) as u64);
    selection.append(&mut released);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{compiled, event, json, run_and_flush};
    use crate::plugins::{Filter, Outcome};

    /// Gives out one event at the end, and breaks when there is no field to give.
    struct HeldBack(Option<&'static str>);

    impl Filter for HeldBack {
        fn filter(&self, _: &mut FilterBatch<'_>) {}

        fn flushes(&self) -> bool {
            true
        }

        fn flush(&self, batch: &mut FilterBatch<'_>, _: bool) {
            batch.release(event(self.0.expect("something held back")), Outcome::Matched);
        }
    }

    #[test]
    fn held_back_events_get_the_common_options_and_pass_the_later_filters() {
        let config = r#"filter { drop { add_tag => "late" } drop { } mutate { add_field => { "seen" => "yes" } } }"#;
        let mut compiled = compiled(config).unwrap();
        compiled.plan.filters[0].filter = Box::new(HeldBack(Some("{}")));
        compiled.plan.filters[1].filter = Box::new(HeldBack(None));
        let out = run_and_flush(&compiled, vec![event("{}")], Some(Flush::Last));
        let shown: Vec<String> = out.iter().map(json).collect();
        assert_eq!(shown, [r#"{"seen":"yes"}"#, r#"{"tags":["late"],"seen":"yes"}"#]);
        assert_eq!(compiled.plan.filters[0].info.metrics.events_out.get(), 2);
    }
}
