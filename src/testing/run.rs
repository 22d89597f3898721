//! Puts the events of a case through the filters of its pipeline and judges what comes out.

use super::build::{Builder, Built, Defaults, Refusal};
use super::case::{Case, CaseError};
use super::compare::{Arrivals, Leniency};
use super::coverage::Coverage;
use super::file::Entry;
use super::judge::{Expectation, judge_events};
use super::route::{Route, Visits};
use super::verdict::{Failure, Finding, Verdict};
use super::{dead_letters, given, show};
use crate::event::{Clock, Event, Timestamp};
use crate::pipeline::{Decisions, Filtering, Flush, Opened};
use crate::plugins::Promises;

/// When events arrive unless a case says otherwise: 2026-01-01T00:00:00Z.
const DEFAULT_CLOCK: i64 = 1_767_225_600;

/// Runs cases.
pub struct Runner {
    pub(super) builder: Builder,
    /// When events arrive unless a case says otherwise.
    start: Timestamp,
    /// What the pipelines go by.
    clock: Clock,
    coverage: Option<Coverage>,
}

/// What a case did.
pub struct Observed {
    /// The events that came out of the filters.
    pub events: Vec<Event>,
    /// What does not count in them.
    pub leniency: Leniency,
    /// Whether their order does not count.
    pub unordered: bool,
    /// Positions of the events that lead to each output.
    targets: Vec<Vec<u32>>,
    route: Route,
}

impl Runner {
    /// A runner with a scratch folder of its own. `clock` is when events arrive unless a case says otherwise.
    pub fn new(defaults: Defaults, clock: Option<Timestamp>) -> std::io::Result<Self> {
        let usual = || Timestamp::from_unix(DEFAULT_CLOCK, 0).unwrap_or_else(Timestamp::now);
        let start = clock.unwrap_or_else(usual);
        let clock = Clock::standing_at(start);
        Ok(Self { builder: Builder::new(defaults, clock.clone())?, start, clock, coverage: None })
    }

    /// From now on takes down which branches, plugins and patterns run.
    pub fn cover(&mut self) {
        self.coverage.get_or_insert_default();
    }

    /// What ran so far, if it was taken down.
    pub fn into_coverage(self) -> Option<Coverage> {
        self.coverage
    }

    /// Runs an entry of a case file.
    pub fn run_entry(&mut self, entry: &Entry) -> Verdict {
        match Case::read(entry) {
            Ok(case) => self.run(&case),
            Err(error) => unreadable(error),
        }
    }

    /// Runs a case.
    pub fn run(&mut self, case: &Case) -> Verdict {
        if !case.steps.is_empty() {
            return self.run_steps(case);
        }
        match self.builder.build(case) {
            Built::Refused(refusal) => judge_refusal(case, &refusal),
            Built::Ready(_) if !case.error.is_empty() => failed(vec![Finding::Started(case.error.clone())]),
            Built::Ready(pipeline) => match self.run_events(case, &pipeline, End::Settled) {
                Ok((observed, _)) => verdict(case, &pipeline, observed),
                Err(message) => failed(vec![Finding::Message(message)]),
            },
        }
    }

    /// What an entry does, whatever it expects.
    pub fn observe(&mut self, entry: &Entry) -> Result<Observed, Verdict> {
        let case = Case::read(entry).map_err(unreadable)?;
        if !case.steps.is_empty() {
            return Err(Verdict::Skipped("what steps expect is not rewritten".into()));
        }
        match self.builder.build(&case) {
            Built::Refused(refusal) => Err(failed(vec![Finding::Refused(refusal.printed.clone())])),
            Built::Ready(pipeline) => match self.run_events(&case, &pipeline, End::Settled) {
                Ok((observed, _)) => Ok(observed),
                Err(message) => Err(failed(vec![Finding::Message(message)])),
            },
        }
    }

    /// What does not count in the events of a case that says nothing of when they arrive.
    pub(super) fn leniency(&self, case: &Case) -> Leniency {
        Leniency {
            subset: case.subset,
            ignore: case.ignore.clone(),
            arrivals: Arrivals { given: vec![self.start], run: None },
        }
    }

    /// With [`End::Open`], gives back what the filters promised.
    pub(super) fn run_events(
        &mut self,
        case: &Case,
        pipeline: &Opened,
        end: End,
    ) -> Result<(Observed, Vec<Promises>), String> {
        let compiled = &pipeline.prepared().compiled;
        let visits = Visits::before(&compiled.plan);
        let begun = Timestamp::now();
        let arrival = |at: usize| case.clock.get(at).or(case.clock.last()).copied().flatten().unwrap_or(self.start);
        let given = given::events(case, compiled, arrival)?;
        let mut arrivals: Vec<Timestamp> = given.iter().filter_map(Event::timestamp).collect();
        arrivals.push(self.start);
        let decisions = self.coverage.as_ref().map(|_| Decisions::default());
        let mut feed = Feed {
            pipeline,
            clock: &self.clock,
            arrival: &arrival,
            decisions: decisions.as_ref(),
            end,
            out: Vec::new(),
            open: Vec::new(),
        };
        let targets = feed.run(given, &case.batches);
        let Feed { out: events, open, .. } = feed;
        if let (Some(coverage), Some(decisions)) = (&mut self.coverage, &decisions) {
            coverage.add(&compiled.plan, decisions, |at, slot| visits.since(at, slot));
        }
        let leniency = Leniency {
            subset: case.subset,
            ignore: case.ignore.clone(),
            arrivals: Arrivals { given: arrivals, run: Some((begun, Timestamp::now())) },
        };
        let route = visits.route(&compiled.plan);
        Ok((Observed { events, leniency, unordered: case.unordered, targets, route }, open))
    }
}

/// What becomes of the events of a case once they came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// They are dealt with.
    Settled,
    /// That is not known yet.
    Open,
}

/// Events on their way into a pipeline.
struct Feed<'f> {
    pipeline: &'f Opened,
    clock: &'f Clock,
    /// When an event arrives, by its place.
    arrival: &'f dyn Fn(usize) -> Timestamp,
    decisions: Option<&'f Decisions>,
    end: End,
    /// What came out.
    out: Vec<Event>,
    /// What was promised for batches that are not dealt with.
    open: Vec<Promises>,
}

impl Feed<'_> {
    /// Events go in by batches, each as a worker would take it; without any they go in one by one. Then filters give
    /// out what they hold back. Gives which of the events that came out lead to each output.
    fn run(&mut self, given: Vec<Event>, batches: &[usize]) -> Vec<Vec<u32>> {
        let count = given.len();
        let mut given = given.into_iter();
        let mut arrived = 0;
        for size in batches.iter().copied().chain(std::iter::repeat(1)) {
            if arrived == count {
                break;
            }
            let batch: Vec<Event> = given.by_ref().take(size).collect();
            arrived += batch.len();
            // A worker takes a batch when its last event is there.
            self.clock.set((self.arrival)(arrived.saturating_sub(1)));
            self.batch(batch, None);
        }
        for flush in [Flush::Periodic, Flush::Last] {
            self.batch(Vec::new(), Some(flush));
        }
        let promises = Promises::new();
        filtering(self.pipeline, self.decisions, &promises).targets(&mut self.out)
    }

    fn batch(&mut self, events: Vec<Event>, flush: Option<Flush>) {
        let promises = Promises::new();
        let ordered = self.pipeline.prepared().settings.is_ordered();
        self.out.append(&mut filtering(self.pipeline, self.decisions, &promises).run(events, flush, ordered));
        match self.end {
            End::Settled => _ = promises.keep(),
            End::Open => self.open.push(promises),
        }
    }
}

fn filtering<'f>(pipeline: &'f Opened, decisions: Option<&'f Decisions>, promises: &'f Promises) -> Filtering<'f> {
    let prepared = pipeline.prepared();
    Filtering {
        plan: &prepared.compiled.plan,
        dead_letters: &prepared.dead_letters,
        metrics: pipeline.metrics(),
        decisions,
        promises,
    }
}

fn verdict(case: &Case, pipeline: &Opened, observed: Observed) -> Verdict {
    let (leniency, route) = (observed.leniency.clone(), observed.route.clone());
    if !case.expects() {
        let shown = observed.events.iter().map(|event| show::event(event.fields())).collect();
        return failed(vec![Finding::NothingExpected(shown)]);
    }
    let mut findings = judge_observed(case, pipeline, &observed);
    if let Some(expected) = &case.dlq {
        findings.extend(dead_letters::judge(expected, pipeline, &leniency));
    }
    if findings.is_empty() {
        return Verdict::Passed;
    }
    Verdict::Failed(Failure { findings, route })
}

/// What the events that came out are, and where they lead, against what is expected.
pub(super) fn judge_observed(case: &Case, pipeline: &Opened, observed: &Observed) -> Vec<Finding> {
    let Observed { events, leniency, targets, .. } = observed;
    let expected =
        Expectation { events: case.expect.as_deref(), metadata: case.metadata.as_deref(), unordered: case.unordered };
    let mut findings = judge_events(expected, events, leniency);
    findings.extend(judge_outputs(case, pipeline, events, targets, leniency));
    findings
}

fn judge_outputs(
    case: &Case,
    pipeline: &Opened,
    events: &[Event],
    targets: &[Vec<u32>],
    leniency: &Leniency,
) -> Vec<Finding> {
    let outputs = &pipeline.prepared().compiled.plan.outputs;
    let mut findings = Vec::new();
    for (id, expected) in &case.outputs {
        let Some(target) = outputs.iter().position(|slot| *slot.info.id == **id).and_then(|at| targets.get(at)) else {
            let known: Vec<_> = outputs.iter().map(|slot| slot.info.label().to_string()).collect();
            let message = format!("`outputs`: no output has the id `{id}`, only {}", known.join(", "));
            findings.push(Finding::Message(message));
            continue;
        };
        let got: Vec<Event> = target.iter().filter_map(|&at| events.get(at as usize).cloned()).collect();
        let expected = Expectation { events: Some(expected), metadata: None, unordered: case.unordered };
        let found = judge_events(expected, &got, leniency);
        if !found.is_empty() {
            findings.push(Finding::Message(format!("output {id}")));
            findings.extend(found);
        }
    }
    findings
}

pub(super) fn failed(findings: Vec<Finding>) -> Verdict {
    Verdict::Failed(Failure { findings, route: Route::default() })
}

fn unreadable(error: CaseError) -> Verdict {
    match error {
        CaseError::Wrong(message) => failed(vec![Finding::Message(message)]),
        CaseError::Unsupported(reason) => Verdict::Skipped(reason),
    }
}

pub(super) fn judge_refusal(case: &Case, refusal: &Refusal) -> Verdict {
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
