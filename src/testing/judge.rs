//! Holds lists of events against what is expected of them: which belongs to which, and what differs.

use super::align::{self, Pairing};
use super::compare::{self, Difference, Leniency};
use super::expected::Expected;
use super::show;
use super::verdict::{Finding, What};
use crate::event::{Event, Map, Value};

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
