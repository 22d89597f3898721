//! Cases with steps: events go in, the pipeline is stopped or killed, and starts again on what it left on disk.

use std::path::Path;

use super::build::Refusal;
use super::case::{Case, Step};
use super::dead_letters;
use super::run::{End, Runner, failed, judge_observed, judge_refusal};
use super::verdict::{Finding, Verdict};
use crate::pipeline::Opened;

/// Why the steps of a case end before the last.
enum Stopped {
    Refused(Refusal),
    Broken(String),
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Runner {
    /// Takes the steps of a case.
    pub(super) fn run_steps(&mut self, case: &Case) -> Verdict {
        if !case.expects() {
            return failed(vec![Finding::Message("no step says what it expects".into())]);
        }
        match self.take_steps(case) {
            Ok(findings) if findings.is_empty() => Verdict::Passed,
            Ok(findings) => failed(findings),
            Err(Stopped::Refused(refusal)) => judge_refusal(case, &refusal),
            Err(Stopped::Broken(message)) => failed(vec![Finding::Message(message)]),
        }
    }

    fn take_steps(&mut self, case: &Case) -> Result<Vec<Finding>, Stopped> {
        let folder = self.builder.new_folder();
        let mut running = self.builder.build_in(case, &folder)?;
        let mut findings = Vec::new();
        let mut next = case.steps.iter().skip(1);
        for (at, step) in case.steps.iter().enumerate() {
            let before_crash = matches!(next.next(), Some(Step::Crash));
            match step {
                Step::Feed(feed) => {
                    let end = if before_crash { End::Open } else { End::Settled };
                    let (observed, promises) = self.run_events(feed, &running, end).map_err(Stopped::Broken)?;
                    let found = judge_observed(feed, &running, &observed);
                    if !found.is_empty() {
                        findings.push(Finding::Message(format!("step {}", at + 1)));
                        findings.extend(found);
                    }
                    // Before a crash they are broken, as if nobody had heard of the batch.
                    drop(promises);
                }
                Step::Restart => {
                    running.prepared().compiled.plan.filters.iter().for_each(|slot| slot.filter.close());
                    running = self.again(case, running, &folder)?;
                }
                Step::Crash => running = self.again(case, running, &folder)?,
            }
        }
        if let Some(expected) = &case.dlq {
            findings.extend(dead_letters::judge(expected, &running, &self.leniency(case)));
        }
        Ok(findings)
    }

    /// Two cannot hold the same files.
    fn again(&self, case: &Case, running: Opened, folder: &Path) -> Result<Opened, Refusal> {
        drop(running);
        self.builder.build_in(case, folder)
    }
}
