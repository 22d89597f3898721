//! The filter section at work on one batch.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::batch::{FilterBatch, Selection};
use super::plan::{FilterSlot, Plan, Step, StepArm, StepBranch, Switch};
use crate::event::Event;
use crate::metrics::PipelineMetrics;
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
}

impl Filtering<'_> {
    /// Runs a batch through all filters and returns what comes out, in order. With `ordered`, each event passes the
    /// whole section before the next one starts.
    pub fn run(&self, events: Vec<Event>, flush: Option<Flush>, ordered: bool) -> Vec<Event> {
        if !ordered {
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

    fn steps(&self, steps: &[Step], arena: &mut Vec<Event>, selection: &mut Selection, flush: Option<Flush>) {
        for step in steps {
            self.step(step, arena, selection, flush);
        }
    }

    fn step(&self, step: &Step, arena: &mut Vec<Event>, selection: &mut Selection, flush: Option<Flush>) {
        match step {
            Step::Branch(branch) => self.branch(branch, arena, selection, flush),
            // A flush has to come past every filter, whatever the conditions say.
            Step::Switch(switch) if flush.is_some() => {
                switch.branches.iter().for_each(|branch| self.branch(branch, arena, selection, flush));
            }
            Step::Switch(switch) => self.switch(switch, arena, selection),
            Step::Plugin(at) => {
                let Some(slot) = self.plan.filters.get(*at) else { return };
                if !selection.is_empty() {
                    self.filter(slot, arena, selection);
                }
                if let Some(flush) = flush {
                    flush_filter(slot, flush, arena, selection);
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
            while !call(slot, arena, selection, &mut started) {}
        }
        slot.info.metrics.events_out.add(live(arena, selection) as u64);
    }

    /// Takes each event from one `if` that is true for it to the next.
    fn switch(&self, switch: &Switch, arena: &mut Vec<Event>, selection: &mut Selection) {
        let mut waiting: BTreeMap<usize, Waiting> = BTreeMap::new();
        send_on(switch, arena, selection, 0, &mut waiting);
        while let Some((place, Waiting { mut events, mixed, .. })) = waiting.pop_first() {
            if mixed {
                restore_order(&mut events, selection);
            }
            let known = arena.len();
            let arms = switch.branches.get(place).map(|branch| branch.arms.as_slice());
            for arm in arms.unwrap_or_default() {
                self.steps(&arm.body, arena, &mut events, None);
            }
            send_on(switch, arena, &events, place + 1, &mut waiting);
            if arena.len() > known {
                *selection = join(selection, vec![events], known);
            }
        }
    }

    fn branch(&self, branch: &StepBranch, arena: &mut Vec<Event>, selection: &mut Selection, flush: Option<Flush>) {
        let known = arena.len();
        let mut rest: Option<Selection> = None;
        let mut taken_by_arms: Vec<Selection> = Vec::new();
        let last = branch.arms.len() - usize::from(branch.otherwise.is_empty());
        for (n, arm) in branch.arms.iter().enumerate() {
            let mut left = Selection::new();
            let mut taken = Selection::new();
            for &at in rest.as_ref().unwrap_or(selection) {
                let Some(event) = arena.get_mut(at as usize).filter(|e| !e.is_cancelled()) else { continue };
                let chosen = match &branch.dispatch {
                    Some(dispatch) => Ok(dispatch.next(event, 0) == Some(n)),
                    None => arm.condition.evaluate(event),
                };
                match chosen {
                    Ok(true) => taken.push(at),
                    Ok(false) if n < last => left.push(at),
                    Ok(false) => {}
                    Err(error) => self.condition_failed(arm, event, &error.to_string()),
                }
            }
            rest = Some(left);
            if !taken.is_empty() || flush.is_some() {
                self.steps(&arm.body, arena, &mut taken, flush);
                taken_by_arms.push(taken);
            }
        }
        if let Some(mut taken) =
            rest.filter(|rest| !branch.otherwise.is_empty() && (!rest.is_empty() || flush.is_some()))
        {
            self.steps(&branch.otherwise, arena, &mut taken, flush);
            taken_by_arms.push(taken);
        }
        if arena.len() > known {
            *selection = join(selection, taken_by_arms, known);
        }
    }

    /// The event leaves the pipeline; the others of its batch go on.
    pub(super) fn condition_failed(&self, arm: &StepArm, event: &mut Event, error: &str) {
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
fn call(slot: &FilterSlot, arena: &mut Vec<Event>, selection: &mut Selection, started: &mut usize) -> bool {
    let from = *started;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        slot.filter.filter(&mut FilterBatch::new(arena, selection, &slot.on_match, started));
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

fn flush_filter(slot: &FilterSlot, flush: Flush, arena: &mut Vec<Event>, selection: &mut Selection) {
    let due = flush == Flush::Last || slot.on_match.periodic_flush;
    if !due || !slot.filter.flushes() {
        return;
    }
    let events = slot.filter.flush(flush == Flush::Last);
    slot.info.metrics.events_out.add(events.len() as u64);
    for event in events {
        selection.push(arena.len() as u32);
        arena.push(event);
    }
}

/// Events that wait for one `if` of a switch.
#[derive(Default)]
struct Waiting {
    events: Selection,
    /// The place that the last of them came from.
    from: usize,
    /// Whether they came from several places, and so may be out of order.
    mixed: bool,
}

/// Lets each event wait for the first `if` at `from` or behind it that is true for it.
fn send_on(switch: &Switch, arena: &[Event], events: &Selection, from: usize, waiting: &mut BTreeMap<usize, Waiting>) {
    for &at in events {
        let Some(event) = arena.get(at as usize).filter(|e| !e.is_cancelled()) else { continue };
        if let Some(place) = switch.dispatch.next(event, from) {
            let there = waiting.entry(place).or_default();
            there.mixed |= !there.events.is_empty() && there.from != from;
            there.from = from;
            there.events.push(at);
        }
    }
}

/// Sorts `events` as they stand in `selection`.
fn restore_order(events: &mut Selection, selection: &Selection) {
    let ranks: HashMap<u32, usize> = selection.iter().enumerate().map(|(rank, at)| (*at, rank)).collect();
    events.sort_by_key(|at| ranks.get(at).copied());
}

/// Puts the events of all arms back into the order of `before`; events made inside an arm (at `known` and above in
/// the arena) stay behind the one they came from.
fn join(before: &Selection, arms: Vec<Selection>, known: usize) -> Selection {
    let mut arms: Vec<_> = arms.into_iter().map(|arm| arm.into_iter().peekable()).collect();
    let mut joined = Selection::with_capacity(before.len() + 8);
    for &at in before {
        joined.push(at);
        let from = arms.iter_mut().position(|arm| arm.peek() == Some(&at));
        let Some(arm) = from.and_then(|from| arms.get_mut(from)) else { continue };
        arm.next();
        while let Some(made) = arm.next_if(|&made| made as usize >= known) {
            joined.push(made);
        }
    }
    // What is left was flushed out of an arm.
    joined.extend(arms.into_iter().flatten());
    joined
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::filtered;

    /// Runs of `if` on one field, as they are decided by one look-up.
    const RUN: &str = r#"
        if [t] == "a" { mutate { add_tag => "1" replace => { "t" => "c" } } }
        if [t] == "b" { clone { clones => ["copy"] } }
        if [t] == "a" { mutate { add_tag => "3" } }
        if [t] == "c" { mutate { add_tag => "4" } }
        if [t] == "b" { mutate { add_tag => "5" } }
        if [t] == "c" { drop { } }"#;

    /// The same, evaluated one by one: a condition that means the same but is no comparison with a text alone.
    fn one_by_one(config: &str) -> String {
        config.replace("if [t] ==", "if [t] and [t] ==")
    }

    #[test]
    fn many_conditions_on_one_field_give_what_each_alone_gives() {
        let events: Vec<String> = ["a", "b", "x", "b", "c", "a", "b"]
            .iter()
            .enumerate()
            .map(|(n, t)| format!(r#"{{"n":{n},"t":"{t}"}}"#))
            .chain([r#"{"n":7,"t":["b"]}"#.to_owned(), r#"{"n":8}"#.to_owned()])
            .collect();
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let together = filtered(&format!("filter {{ {RUN} }}"), &events);
        assert_eq!(together, filtered(&format!("filter {{ {} }}", one_by_one(RUN)), &events));
        // Two events of kind `b` and their copies, each behind the one it came from; `a` and `c` are gone.
        let numbers: Vec<&str> = together.iter().filter_map(|json| json.get(5..6)).collect();
        assert_eq!(numbers, ["1", "1", "2", "3", "3", "6", "6", "7", "8"]);
    }

    #[test]
    fn an_event_that_changes_kind_on_the_way_keeps_its_place() {
        let config = r#"filter {
            if [t] == "late" { mutate { replace => { "t" => "end" } } }
            if [t] == "x" { drop { } }
            if [t] == "y" { drop { } }
            if [t] == "end" { clone { clones => ["copy"] } }
            if [t] == "end" { mutate { add_field => { "seen" => "%{n}" } } }
        }"#;
        let events = [r#"{"n":0,"t":"late"}"#, r#"{"n":1,"t":"end"}"#, r#"{"n":2,"t":"late"}"#];
        let seen = filtered(config, &events);
        let numbers: Vec<&str> = seen.iter().filter_map(|json| json.get(5..6)).collect();
        assert_eq!(numbers, ["0", "0", "1", "1", "2", "2"]);
        assert!(seen.iter().all(|json| json.contains("\"seen\"")), "{seen:?}");
        assert_eq!(seen, filtered(&one_by_one(config), &events));
    }

    #[test]
    fn a_chain_of_else_if_on_one_field_takes_the_first_that_is_true() {
        let chain: String = ["a", "b", "a", "c", "d"]
            .iter()
            .enumerate()
            .map(|(n, t)| {
                let word = if n == 0 { "if" } else { "else if" };
                format!(r#"{word} [t] == "{t}" {{ mutate {{ add_tag => "{n}" }} }} "#)
            })
            .chain([r#"else { mutate { add_tag => "other" } }"#.to_owned()])
            .collect();
        let events = [r#"{"t":"a"}"#, r#"{"t":"d"}"#, r#"{"t":1}"#, r#"{}"#];
        let seen = filtered(&format!("filter {{ {chain} }}"), &events);
        let tags: Vec<&str> = seen.iter().filter_map(|json| json.split("\"tags\":").nth(1)).collect();
        assert_eq!(tags, [r#"["0"]}"#, r#"["4"]}"#, r#"["other"]}"#, r#"["other"]}"#]);
    }
}
