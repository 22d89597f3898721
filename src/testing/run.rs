//! Puts the events of a case through the filters of its pipeline and judges what comes out.

use std::rc::Rc;

use super::build::{Builder, Built, Defaults, Refusal};
use super::case::{Case, CaseError};
use super::compare::{Arrivals, Leniency};
use super::file::Entry;
use super::judge::{Expectation, judge_events};
use super::route::{Route, Visits};
use super::show;
use super::verdict::{Failure, Finding, Verdict};
use crate::event::{Event, Timestamp};
use crate::pipeline::{Filtering, Flush, Opened};

/// When events arrive unless a case says otherwise: 2026-01-01T00:00:00Z.
const DEFAULT_CLOCK: i64 = 1_767_225_600;

/// Runs cases.
pub struct Runner {
    builder: Builder,
    clock: Timestamp,
}

impl Runner {
    /// A runner with a scratch folder of its own. `clock` is when events arrive unless a case says otherwise.
    pub fn new(defaults: Defaults, clock: Option<Timestamp>) -> std::io::Result<Self> {
        let usual = || Timestamp::from_unix(DEFAULT_CLOCK, 0).unwrap_or_else(Timestamp::now);
        Ok(Self { builder: Builder::new(defaults)?, clock: clock.unwrap_or_else(usual) })
    }

    /// Runs an entry of a case file.
    pub fn run_entry(&mut self, entry: &Entry) -> Verdict {
        match Case::read(entry) {
            Ok(case) => self.run(&case),
            Err(CaseError::Wrong(message)) => failed(vec![Finding::Message(message)]),
            Err(CaseError::Unsupported(reason)) => Verdict::Skipped(reason),
        }
    }

    /// Runs a case.
    pub fn run(&mut self, case: &Case) -> Verdict {
        match self.builder.build(case) {
            Built::Refused(refusal) => judge_refusal(case, &refusal),
            Built::Ready(_) if !case.error.is_empty() => failed(vec![Finding::Started(case.error.clone())]),
            Built::Ready(pipeline) => self.run_events(case, &pipeline),
        }
    }

    fn run_events(&self, case: &Case, pipeline: &Rc<Opened>) -> Verdict {
        let plan = &pipeline.prepared().compiled.plan;
        let visits = Visits::before(plan);
        let begun = Timestamp::now();
        let arrival = |at: usize| case.clock.get(at).or(case.clock.last()).copied().unwrap_or(self.clock);
        let given = case.events.iter().enumerate();
        let given: Vec<Event> = given.map(|(at, fields)| Event::from_map_at(fields.clone(), || arrival(at))).collect();
        let mut arrivals: Vec<Timestamp> = given.iter().filter_map(Event::timestamp).collect();
        arrivals.push(self.clock);
        let events = feed(pipeline, given, &case.batches);
        let leniency = Leniency {
            subset: case.subset,
            ignore: case.ignore.clone(),
            arrivals: Arrivals { given: arrivals, run: Some((begun, Timestamp::now())) },
        };
        if !case.expects() {
            let shown = events.iter().map(|event| show::event(event.fields())).collect();
            return failed(vec![Finding::NothingExpected(shown)]);
        }
        let expected = Expectation {
            events: case.expect.as_deref(),
            metadata: case.metadata.as_deref(),
            unordered: case.unordered,
        };
        let mut findings = judge_events(expected, &events, &leniency);
        if let Some(expected) = &case.dlq {
            findings.extend(super::dead_letters::judge(expected, pipeline, &leniency));
        }
        if findings.is_empty() {
            return Verdict::Passed;
        }
        Verdict::Failed(Failure { findings, route: visits.route(plan) })
    }
}

/// Events go in by batches, then filters give out what they hold back.
fn feed(pipeline: &Opened, given: Vec<Event>, batches: &[usize]) -> Vec<Event> {
    let prepared = pipeline.prepared();
    let filtering =
        Filtering { plan: &prepared.compiled.plan, dead_letters: &prepared.dead_letters, metrics: pipeline.metrics() };
    let mut out = Vec::new();
    let mut given = given.into_iter();
    for size in batches {
        out.append(&mut filtering.run(given.by_ref().take(*size).collect(), None, true));
    }
    for event in given {
        out.append(&mut filtering.run(vec![event], None, true));
    }
    for flush in [Flush::Periodic, Flush::Last] {
        out.append(&mut filtering.run(Vec::new(), Some(flush), true));
    }
    out
}

fn failed(findings: Vec<Finding>) -> Verdict {
    Verdict::Failed(Failure { findings, route: Route::default() })
}

fn judge_refusal(case: &Case, refusal: &Refusal) -> Verdict {
    if case.error.is_empty() {
        return failed(vec![Finding::Refused(refusal.printed.clone())]);
    }
    let said = refusal.said.to_lowercase();
    let lacks: Vec<String> = case.error.iter().filter(|text| !said.contains(&text.to_lowercase())).cloned().collect();
    if lacks.is_empty() {
        return Verdict::Passed;
    }
    failed(vec![Finding::OtherRefusal { lacks, refusal: refusal.printed.clone() }])
}
