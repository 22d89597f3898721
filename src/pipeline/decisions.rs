//! How often each condition was true and false, for those who ask which branches were never taken.
//!
//! Nobody counts this while a pipeline runs; test cases do.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::plan::StepBranch;
use crate::config::source::Place;

/// The decisions of one plan.
#[derive(Debug, Default)]
pub struct Decisions(Mutex<HashMap<Place, Decided>>);

/// The decisions of one condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// Events for which it was true.
    pub yes: u64,
    /// Events for which it was false.
    pub no: u64,
}

impl Decisions {
    /// An event took this arm of a branch; the one behind the last is `else`.
    pub(super) fn chose(&self, branch: &StepBranch, chosen: usize) {
        let mut all = self.0.lock();
        for (n, arm) in branch.arms.iter().enumerate().take_while(|(n, _)| *n <= chosen) {
            let decided = all.entry(arm.place.clone()).or_default();
            if n == chosen { decided.yes += 1 } else { decided.no += 1 }
        }
    }

    /// What the condition at a place decided.
    pub fn at(&self, place: &Place) -> Decided {
        self.0.lock().get(place).copied().unwrap_or_default()
    }
}
