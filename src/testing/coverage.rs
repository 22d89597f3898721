//! Which plugins, branches and patterns of the configuration files no case reached.
//!
//! A condition has two parts, true and false; the false one counts also where there is no `else`. A plugin has one, and
//! one more for each of the patterns that it tries.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::config::source::Place;
use crate::pipeline::{Decided, Decisions, FilterSlot, Plan, Step, StepBranch};

/// What has run so far, by the place in its file.
#[derive(Clone, Debug, Default)]
pub struct Coverage(BTreeMap<Key, Part>);

/// Where a part stands, and its number among the patterns of a plugin; 0 for what is no pattern.
type Key = (Place, usize);

/// A condition or plugin, and how often it ran.
#[derive(Clone, Debug)]
enum Part {
    Condition { text: String, decided: Decided },
    Plugin { name: String, events: u64 },
    Pattern { name: String, text: String, matched: bool },
}

impl Coverage {
    /// Adds what a case did: `seen` tells how many events of the case came to a filter.
    pub fn add(&mut self, plan: &Plan, decisions: &Decisions, seen: impl Fn(usize, &FilterSlot) -> u64) {
        self.steps(&plan.filter_steps, plan, decisions, &seen);
        self.conditions(&plan.output_steps, decisions);
    }

    /// Adds what another runner saw.
    pub fn join(&mut self, other: Self) {
        for (key, part) in other.0 {
            self.part(key, part);
        }
    }

    fn part(&mut self, key: Key, part: Part) {
        let place = &key.0;
        // A text inside a case is no file that anybody runs.
        if place.file == "config string" || place.file.starts_with("mock of ") {
            return;
        }
        match (self.0.get_mut(&key), part) {
            (Some(Part::Condition { decided, .. }), Part::Condition { decided: more, .. }) => {
                decided.yes += more.yes;
                decided.no += more.no;
            }
            (Some(Part::Plugin { events, .. }), Part::Plugin { events: more, .. }) => *events += more,
            (Some(Part::Pattern { matched, .. }), Part::Pattern { matched: now, .. }) => *matched |= now,
            (_, part) => {
                self.0.insert(key, part);
            }
        }
    }

    fn steps(&mut self, steps: &[Step], plan: &Plan, decisions: &Decisions, seen: &impl Fn(usize, &FilterSlot) -> u64) {
        for step in steps {
            match step {
                Step::Plugin(at) => {
                    let Some(slot) = plan.filters.get(*at) else { continue };
                    let part = Part::Plugin { name: slot.info.name.clone(), events: seen(*at, slot) };
                    self.part((slot.info.place.clone(), 0), part);
                    for (number, pattern) in slot.filter.alternatives().into_iter().enumerate() {
                        let (name, text) = (slot.info.name.clone(), pattern.text.to_owned());
                        let part = Part::Pattern { name, text, matched: pattern.matched };
                        self.part((slot.info.place.clone(), number + 1), part);
                    }
                }
                step => {
                    for branch in branches(step) {
                        self.branch(branch, decisions);
                        branch.arms.iter().for_each(|arm| self.steps(&arm.body, plan, decisions, seen));
                        self.steps(&branch.otherwise, plan, decisions, seen);
                    }
                }
            }
        }
    }

    /// Outputs never run, but conditions in front of them do.
    fn conditions(&mut self, steps: &[Step], decisions: &Decisions) {
        for branch in steps.iter().flat_map(branches) {
            self.branch(branch, decisions);
            branch.arms.iter().for_each(|arm| self.conditions(&arm.body, decisions));
            self.conditions(&branch.otherwise, decisions);
        }
    }

    fn branch(&mut self, branch: &StepBranch, decisions: &Decisions) {
        for (n, arm) in branch.arms.iter().enumerate() {
            let word = if n == 0 { "if" } else { "else if" };
            let text = format!("{word} {}", arm.condition.source());
            self.part((arm.place.clone(), 0), Part::Condition { text, decided: decisions.at(&arm.place) });
        }
    }

    /// Parts that ran, and all parts.
    pub fn count(&self) -> (usize, usize) {
        let ran = |part: &Part| match part {
            Part::Condition { decided, .. } => usize::from(decided.yes > 0) + usize::from(decided.no > 0),
            Part::Plugin { events, .. } => usize::from(*events > 0),
            Part::Pattern { matched, .. } => usize::from(*matched),
        };
        let parts = |part: &Part| if matches!(part, Part::Condition { .. }) { 2 } else { 1 };
        (self.0.values().map(ran).sum(), self.0.values().map(parts).sum())
    }

    /// Per cent of the parts that ran; all, when there are none.
    pub fn percent(&self) -> f64 {
        match self.count() {
            (_, 0) => 100.0,
            (ran, all) => ran as f64 * 100.0 / all as f64,
        }
    }

    /// One line for each condition and for each plugin and pattern that was of no use, by file.
    pub fn report(&self) -> String {
        let mut out = String::new();
        let mut file = None;
        for ((place, _), part) in &self.0 {
            let remark = part.remark();
            if remark.is_none() && !matches!(part, Part::Condition { .. }) {
                continue;
            }
            if file != Some(&place.file) {
                let _infallible = writeln!(out, "coverage of {}", place.file);
                file = Some(&place.file);
            }
            let remark = remark.map(|remark| format!("  <- {remark}")).unwrap_or_default();
            let _infallible = match part {
                Part::Condition { text, decided } => {
                    writeln!(
                        out,
                        "  {}:{} {text}: yes {}, no {}{remark}",
                        place.file, place.line, decided.yes, decided.no
                    )
                }
                Part::Plugin { name, .. } => writeln!(out, "  {}:{} {name}: 0 events{remark}", place.file, place.line),
                Part::Pattern { name, text, .. } => {
                    writeln!(out, "  {}:{} {name} {text}{remark}", place.file, place.line)
                }
            };
        }
        let (ran, all) = self.count();
        // Rounded down: 100 % says that nothing is missing.
        let _infallible =
            writeln!(out, "coverage: {ran} of {all} branches, plugins and patterns, {} %", self.percent().floor());
        out
    }

    /// In the format of lcov, for editors.
    pub fn lcov(&self) -> String {
        let mut out = String::new();
        let mut file: Option<&str> = None;
        for ((place, number), part) in &self.0 {
            if file != Some(&place.file) {
                out.push_str(if file.is_some() { "end_of_record\n" } else { "" });
                let _infallible = writeln!(out, "TN:\nSF:{}", place.file);
                file = Some(&place.file);
            }
            let line = place.line;
            let _infallible = match part {
                Part::Condition { decided: Decided { yes, no }, .. } => {
                    writeln!(
                        out,
                        "BRDA:{line},{c},0,{yes}\nBRDA:{line},{c},1,{no}\nDA:{line},{}",
                        yes + no,
                        c = place.column
                    )
                }
                Part::Plugin { events, .. } => writeln!(out, "DA:{line},{events}"),
                Part::Pattern { matched, .. } => {
                    writeln!(out, "BRDA:{line},{},{number},{}", place.column, u8::from(*matched))
                }
            };
        }
        out.push_str(if file.is_some() { "end_of_record\n" } else { "" });
        out
    }
}

impl Part {
    fn remark(&self) -> Option<&'static str> {
        match self {
            Self::Condition { decided: Decided { yes: 0, no: 0 }, .. } => Some("never asked"),
            Self::Condition { decided: Decided { yes: 0, .. }, .. } => Some("never true"),
            Self::Condition { decided: Decided { no: 0, .. }, .. } => Some("never false"),
            Self::Plugin { events: 0, .. } => Some("never ran"),
            Self::Pattern { matched: false, .. } => Some("never matched"),
            _ => None,
        }
    }
}

fn branches(step: &Step) -> &[StepBranch] {
    match step {
        Step::Plugin(_) => &[],
        Step::Branch(branch) => std::slice::from_ref(branch),
        Step::Switch(switch) => &switch.branches,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: usize) -> Place {
        Place { file: "w.conf".into(), line, column: 6 }
    }

    fn sample() -> Coverage {
        let condition = |yes, no| Part::Condition { text: "if [a]".into(), decided: Decided { yes, no } };
        let plugin = |events| Part::Plugin { name: "drop".into(), events };
        let pattern = |text: &str, matched| Part::Pattern { name: "grok".into(), text: text.into(), matched };
        let mut coverage = Coverage::default();
        for (line, part) in
            [(1, condition(0, 2)), (2, plugin(0)), (3, condition(0, 0)), (4, condition(3, 1)), (5, plugin(4))]
        {
            coverage.part((place(line), 0), part);
        }
        coverage.part((place(5), 1), pattern("%{IP:ip}", true));
        coverage.part((place(5), 2), pattern("%{WORD:host}", false));
        coverage
    }

    #[test]
    fn what_never_ran_is_told() {
        let report = "\
coverage of w.conf
  w.conf:1 if [a]: yes 0, no 2  <- never true
  w.conf:2 drop: 0 events  <- never ran
  w.conf:3 if [a]: yes 0, no 0  <- never asked
  w.conf:4 if [a]: yes 3, no 1
  w.conf:5 grok %{WORD:host}  <- never matched
coverage: 5 of 10 branches, plugins and patterns, 50 %
";
        assert_eq!(sample().report(), report);
        assert_eq!(Coverage::default().percent(), 100.0);
    }

    #[test]
    fn runners_add_up() {
        let mut both = sample();
        both.join(sample());
        assert!(both.report().contains("w.conf:4 if [a]: yes 6, no 2"));
        assert_eq!(both.count(), (5, 10));
    }

    #[test]
    fn lcov_has_lines_and_branches() {
        let lcov = sample().lcov();
        assert!(lcov.starts_with("TN:\nSF:w.conf\nBRDA:1,6,0,0\nBRDA:1,6,1,2\nDA:1,2\nDA:2,0\n"), "{lcov}");
        assert!(lcov.ends_with("DA:5,4\nBRDA:5,6,1,1\nBRDA:5,6,2,0\nend_of_record\n"));
    }
}
