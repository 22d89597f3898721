//! Which plugins the events of a case passed, and which branches nobody took.

use std::collections::HashMap;

use crate::config::source::Place;
use crate::pipeline::{FilterSlot, Plan, Step, StepBranch};

/// The way that the events of a case went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Filters that saw an event: `grok 20-web.conf:12`.
    pub passed: Vec<String>,
    /// Branches whose filters saw none: `if 20-web.conf:24`.
    pub not_taken: Vec<String>,
}

/// How many events the filters of a plan had seen before a case.
pub(super) struct Visits(HashMap<usize, u64>);

impl Visits {
    pub fn before(plan: &Plan) -> Self {
        Self(plan.filters.iter().enumerate().map(|(at, slot)| (at, seen(slot))).collect())
    }

    /// How many events came to a filter since.
    pub fn since(&self, at: usize, slot: &FilterSlot) -> u64 {
        seen(slot).saturating_sub(self.0.get(&at).copied().unwrap_or(0))
    }

    /// What happened since.
    pub fn route(&self, plan: &Plan) -> Route {
        let mut route = Route::default();
        self.steps(&plan.filter_steps, plan, &mut route);
        route
    }

    /// Whether any filter of the steps saw an event; `None` when there is no filter in them.
    fn steps(&self, steps: &[Step], plan: &Plan, route: &mut Route) -> Option<bool> {
        let mut any = None;
        for step in steps {
            let visited = match step {
                Step::Plugin(at) => plan.filters.get(*at).map(|slot| {
                    let visited = self.since(*at, slot) > 0;
                    if visited {
                        route.passed.push(format!("{} {}", slot.info.name, short(&slot.info.place)));
                    }
                    visited
                }),
                Step::Branch(branch) => self.branch(branch, plan, route),
                Step::Switch(switch) => {
                    switch.branches.iter().map(|branch| self.branch(branch, plan, route)).max().flatten()
                }
            };
            any = any.max(visited);
        }
        any
    }

    fn branch(&self, branch: &StepBranch, plan: &Plan, route: &mut Route) -> Option<bool> {
        let mut any = None;
        for (n, arm) in branch.arms.iter().enumerate() {
            let mut inside = Route::default();
            let visited = self.steps(&arm.body, plan, &mut inside);
            route.passed.append(&mut inside.passed);
            if visited == Some(false) {
                let word = if n == 0 { "if" } else { "else if" };
                route.not_taken.push(format!("{word} {}", short(&arm.place)));
            } else {
                route.not_taken.append(&mut inside.not_taken);
            }
            any = any.max(visited);
        }
        any.max(self.steps(&branch.otherwise, plan, route))
    }
}

fn seen(slot: &FilterSlot) -> u64 {
    slot.info.metrics.events_in.get()
}

/// The file without its folder, and the line; `line 3` in a text that is no file.
fn short(place: &Place) -> String {
    if place.file == "config string" {
        return format!("line {}", place.line);
    }
    let name = place.file.rsplit('/').next().unwrap_or(&place.file);
    format!("{name}:{}", place.line)
}
