//! Many `if` in a row at work on one batch.
//!
//! Each event goes from one `if` that is true for it to the next, without a stop at those that are false. The bodies
//! still run in the order written, each for all of its events in their order, so that nothing can tell the difference.

use std::collections::{BTreeMap, HashMap};

use super::dispatch::{Failed, Places};
use super::filtering::Filtering;
use super::plan::Switch;
use crate::event::Event;
use crate::plugins::batch::Selection;

/// Events that wait for one `if` of a switch.
#[derive(Default)]
struct Waiting {
    events: Selection,
    /// The place that the last of them came from.
    from: usize,
    /// Whether they came from several places, and so may be out of order.
    mixed: bool,
}

/// Events on their way through a switch.
struct Walk<'a> {
    switch: &'a Switch,
    waiting: BTreeMap<usize, Waiting>,
    candidates: Places,
}

impl Filtering<'_> {
    /// Runs the bodies of a switch.
    pub(super) fn switch(&self, switch: &Switch, arena: &mut Vec<Event>, selection: &mut Selection) {
        let mut walk = Walk { switch, waiting: BTreeMap::new(), candidates: switch.dispatch.places() };
        self.send_on(&mut walk, arena, selection, 0);
        while let Some((place, Waiting { mut events, mixed, .. })) = walk.waiting.pop_first() {
            if mixed {
                restore_order(&mut events, selection);
            }
            let known = arena.len();
            let arms = switch.branches.get(place).map(|branch| branch.arms.as_slice());
            for arm in arms.unwrap_or_default() {
                self.steps(&arm.body, arena, &mut events, None);
            }
            self.send_on(&mut walk, arena, &events, place + 1);
            if arena.len() > known {
                *selection = join(selection, vec![events], known);
            }
        }
    }

    /// Lets each event wait for the first `if` at `from` or behind it that is true for it.
    fn send_on(&self, walk: &mut Walk<'_>, arena: &mut [Event], events: &Selection, from: usize) {
        for &at in events {
            let Some(event) = arena.get_mut(at as usize).filter(|e| !e.is_cancelled()) else { continue };
            match walk.switch.dispatch.next(event, from, &mut walk.candidates) {
                Ok(Some(place)) => {
                    let there = walk.waiting.entry(place).or_default();
                    there.mixed |= !there.events.is_empty() && there.from != from;
                    there.from = from;
                    there.events.push(at);
                }
                Ok(None) => {}
                Err(failed) => self.switch_failed(walk.switch, event, &failed),
            }
        }
    }

    /// The events that each `if` takes, when no body changes an event.
    pub(super) fn sort_by_if(
        &self,
        switch: &Switch,
        events: &mut [Event],
        selection: &Selection,
    ) -> BTreeMap<usize, Selection> {
        let mut taken: BTreeMap<usize, Selection> = BTreeMap::new();
        let mut candidates = switch.dispatch.places();
        for &at in selection {
            let mut from = 0;
            while let Some(event) = events.get_mut(at as usize).filter(|e| !e.is_cancelled()) {
                match switch.dispatch.next(event, from, &mut candidates) {
                    Ok(Some(place)) => {
                        taken.entry(place).or_default().push(at);
                        from = place + 1;
                    }
                    Ok(None) => break,
                    Err(failed) => self.switch_failed(switch, event, &failed),
                }
            }
        }
        taken
    }

    fn switch_failed(&self, switch: &Switch, event: &mut Event, (place, error): &Failed) {
        let arm = switch.branches.get(*place).and_then(|branch| branch.arms.first());
        if let Some(arm) = arm {
            self.condition_failed(arm, event, error);
        }
    }
}

/// Sorts `events` as they stand in `selection`.
fn restore_order(events: &mut Selection, selection: &Selection) {
    if selection.is_sorted() {
        return events.sort_unstable();
    }
    let ranks: HashMap<u32, usize> = selection.iter().enumerate().map(|(rank, at)| (*at, rank)).collect();
    events.sort_by_key(|at| ranks.get(at).copied());
}

/// Puts the events of all arms back into the order of `before`; events made inside an arm (at `known` and above in
/// the arena) stay behind the one they came from.
pub(super) fn join(before: &Selection, arms: Vec<Selection>, known: usize) -> Selection {
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

    /// Many `if` in a row, as they are decided together.
    const RUN: &str = r#"
        if [t] == "a" { mutate { add_tag => "1" replace => { "t" => "c" } } }
        if [t] == "b" { clone { clones => ["copy"] } }
        if [t] == "a" { mutate { add_tag => "3" } }
        if [t] == "c" { mutate { add_tag => "4" } }
        if [t] == "b" { mutate { add_tag => "5" } }
        if [t] == "c" { drop { } }"#;

    /// The same, evaluated one by one: a filter without effect ends each run.
    fn one_by_one(config: &str) -> String {
        config.replace("if [", "mutate { } if [")
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
    fn conditions_of_all_kinds_see_what_earlier_bodies_did() {
        let config = r#"
            if [n] > 2 { mutate { add_field => { "big" => "%{n}" } } }
            if [t] =~ /^a/ { mutate { replace => { "t" => "b-%{n}" } } }
            if [big] in ["3", "5"] { clone { clones => ["copy"] } }
            if [tags] and "copy" in [tags] { mutate { replace => { "n" => "text" } } }
            if ![big] { mutate { add_tag => "small" } }
            if [t] == "b-3" or [t] == "b-1" { mutate { add_tag => "b" } }
            if [n] < 4 { mutate { add_tag => "low" } }
            if [big] == "4" { drop { } }
            if [t] != "x" { mutate { add_field => { "last" => "%{t}" } } }"#;
        let events: Vec<String> = (0..8)
            .map(|n| format!(r#"{{"n":{n},"t":"{}"}}"#, ["a1", "x", "a2"][n % 3]))
            .chain([r#"{"t":"no number: an error"}"#.to_owned(), r#"{"n":"text","t":"another"}"#.to_owned()])
            .collect();
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let together = filtered(&format!("filter {{ {config} }}"), &events);
        assert_eq!(together, filtered(&format!("filter {{ {} }}", one_by_one(config)), &events));
        // Of the ten, `4` is dropped, and the two without a number and the copies are errors.
        let numbers: Vec<&str> = together.iter().filter_map(|json| json.get(5..6)).collect();
        assert_eq!(numbers, ["0", "1", "2", "3", "5", "6", "7"], "{together:?}");
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
