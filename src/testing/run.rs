//! Puts the events of a case through the filters of its pipeline and judges what comes out.

use std::rc::Rc;
use std::time::Duration;

use super::align::{self, Pairing};
use super::build::{Builder, Built, Defaults, Refusal};
use super::case::{Case, CaseError};
use super::compare::{self, Arrivals, Difference, Leniency};
use super::expected::Expected;
use super::file::Entry;
use super::route::{Route, Visits};
use super::show;
use crate::event::{Event, Map, Timestamp, Value};
use crate::pipeline::{Filtering, Flush, Opened};

/// When events arrive unless a case says otherwise: 2026-01-01T00:00:00Z.
const DEFAULT_CLOCK: i64 = 1_767_225_600;

/// What became of one case.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// All is as expected.
    Passed,
    /// Something is not.
    Failed(Failure),
    /// It could not be run, for this reason.
    Skipped(String),
}

/// Why a case failed.
#[derive(Clone, Debug, Default)]
pub struct Failure {
    /// What went wrong.
    pub findings: Vec<Finding>,
    /// Which way the events went.
    pub route: Route,
}

/// One thing that is not as expected.
#[derive(Clone, Debug)]
pub enum Finding {
    /// The case cannot be used as it is written.
    Unusable(String),
    /// The pipeline does not start; the errors.
    Refused(String),
    /// The pipeline starts, and these texts were expected in a refusal.
    Started(Vec<String>),
    /// The refusal lacks some of the expected texts.
    OtherRefusal {
        /// Those it lacks.
        lacks: Vec<String>,
        /// What it says.
        refusal: String,
    },
    /// The case expects nothing; what came out.
    NothingExpected(Vec<String>),
    /// An event (or its metadata, or a dead letter) differs.
    Differs {
        /// What is compared.
        what: What,
        /// Its place among those that came out, from 0.
        at: usize,
        /// How many came out.
        of: usize,
        /// Where it differs, sorted.
        differences: Vec<Difference>,
    },
    /// An expected event did not come.
    Missing {
        /// What is missing.
        what: What,
        /// Its place among those that are expected, from 0.
        at: usize,
        /// What was expected.
        shown: String,
    },
    /// An event came that nobody expected.
    Extra {
        /// What is too much.
        what: What,
        /// Its place among those that came out, from 0.
        at: usize,
        /// Its fields.
        shown: String,
    },
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Fields of an event.
    Event,
    /// `[@metadata]` of an event.
    Metadata,
    /// An entry of the dead letter queue.
    DeadLetter,
}

impl What {
    /// `event`, `metadata of event`, `dead letter`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Metadata => "metadata of event",
            Self::DeadLetter => "dead letter",
        }
    }
}

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
            Err(CaseError::Wrong(message)) => failed(vec![Finding::Unusable(message)]),
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

/// What is expected of the events that come out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expectation<'a> {
    /// Their fields.
    pub events: Option<&'a [Expected]>,
    /// Their `@metadata`, as a subset; each belongs to the expected event of the same place.
    pub metadata: Option<&'a [Expected]>,
    /// Whether their order does not count.
    pub unordered: bool,
}

/// Holds the events that came out against what is expected of them.
pub fn judge_events(expected: Expectation<'_>, events: &[Event], leniency: &Leniency) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut order: Vec<(usize, usize)> = (0..events.len()).map(|at| (at, at)).collect();
    if let Some(items) = expected.events {
        let compare = |e: &Expected, got: &Event| compare::event(e, got, leniency);
        let shown = |event: &Event| show::event(event.fields());
        let pairing = pair(items, events, expected.unordered, compare);
        findings.extend(judge(What::Event, &pairing, items, events, compare, shown));
        order = pairing.pairs;
    }
    if let Some(metadata) = expected.metadata {
        findings.extend(judge_metadata(metadata, events, &order, leniency));
    }
    findings
}

/// Each metadata belongs to the expected event of the same place.
fn judge_metadata(
    expected: &[Expected],
    events: &[Event],
    order: &[(usize, usize)],
    leniency: &Leniency,
) -> Vec<Finding> {
    let subset = Leniency { subset: true, ..leniency.clone() };
    let got: Vec<Map> = events.iter().map(|event| event.metadata().clone()).collect();
    let compare = |e: &Expected, got: &Map| compare::value(e, &Value::Map(got.clone()), &subset);
    let pairs = order.iter().copied().filter(|(e, _)| *e < expected.len()).collect::<Vec<_>>();
    let missing = (0..expected.len()).filter(|e| !pairs.iter().any(|(paired, _)| paired == e)).collect();
    let pairing = Pairing { pairs, missing, extra: Vec::new() };
    judge(What::Metadata, &pairing, expected, &got, compare, show::event)
}

/// Finds out which received item belongs to which expected one.
pub(super) fn pair<T>(
    expected: &[Expected],
    got: &[T],
    unordered: bool,
    compare: impl Fn(&Expected, &T) -> Vec<Difference>,
) -> Pairing {
    let equal = |e: usize, g: usize| {
        expected.get(e).zip(got.get(g)).is_some_and(|(expected, got)| compare(expected, got).is_empty())
    };
    let by = if unordered { align::unordered } else { align::ordered };
    by(expected.len(), got.len(), &equal)
}

/// What differs, is missing or too much.
pub(super) fn judge<T>(
    what: What,
    pairing: &Pairing,
    expected: &[Expected],
    got: &[T],
    compare: impl Fn(&Expected, &T) -> Vec<Difference>,
    shown: impl Fn(&T) -> String,
) -> Vec<Finding> {
    let pairs = pairing.pairs.iter().filter_map(|(e, g)| Some((*g, compare(expected.get(*e)?, got.get(*g)?))));
    let differing = pairs.filter(|(_, differences)| !differences.is_empty());
    let differing = differing.map(|(at, differences)| Finding::Differs { what, at, of: got.len(), differences });
    let missing = pairing.missing.iter().filter_map(|at| Some((*at, expected.get(*at)?.plain())));
    let missing = missing.map(|(at, shown)| Finding::Missing { what, at, shown });
    let extra = pairing.extra.iter().filter_map(|at| Some((*at, shown(got.get(*at)?))));
    let extra = extra.map(|(at, shown)| Finding::Extra { what, at, shown });
    differing.chain(missing).chain(extra).collect()
}

/// How many cases ended how, and how long it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// As expected.
    pub passed: usize,
    /// Not as expected.
    pub failed: usize,
    /// Not run.
    pub skipped: usize,
}

impl Tally {
    /// Counts one.
    pub fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::Skipped(_) => self.skipped += 1,
        }
    }
}

/// The summary line: `12 passed, 1 failed, 0 skipped in 18 ms`.
pub fn summary(tally: Tally, took: Duration) -> String {
    let Tally { passed, failed, skipped } = tally;
    format!("{passed} passed, {failed} failed, {skipped} skipped in {} ms", took.as_millis())
}
