//! Holds the dead letter queue of a case against what is expected to be in it.

use std::time::Duration;

use super::compare::{self, Difference, Leniency, Path, Step};
use super::expected::Expected;
use super::judge;
use super::show;
use super::verdict::{Finding, What};
use crate::dead_letter::{DeadLetter, Reader, Start};
use crate::event::{Map, Text, Value};
use crate::pipeline::Opened;

/// Seals the queue and compares its entries, in order. The events in them are compared as those that come out of a
/// pipeline; of the other parts only those that are expected.
pub(super) fn judge(expected: &[Expected], pipeline: &Opened, leniency: &Leniency) -> Vec<Finding> {
    let prepared = pipeline.prepared();
    if let Some(Err(error)) = prepared.dead_letters.writer().map(crate::dead_letter::Writer::close) {
        return vec![Finding::Message(error.to_string())];
    }
    let mut reader = Reader::new(&prepared.settings.dead_letter_queue.directory, Start::Beginning);
    let letters: Vec<DeadLetter> = std::iter::from_fn(|| reader.next(Duration::ZERO)).collect();
    let compare = |expected: &Expected, letter: &DeadLetter| differences(expected, letter, leniency);
    let pairing = judge::pair(expected, &letters, false, compare);
    judge::judge(What::DeadLetter, &pairing, expected, &letters, compare, |letter| show::event(&parts(letter)))
}

fn differences(expected: &Expected, letter: &DeadLetter, leniency: &Leniency) -> Vec<Difference> {
    let Expected::Map(fields) = expected else { return Vec::new() };
    let subset = Leniency { subset: true, ..leniency.clone() };
    let (event, others): (Vec<_>, Vec<_>) = fields.iter().cloned().partition(|(name, _)| name == "event");
    let mut found = compare::value(&Expected::Map(others), &Value::Map(parts(letter)), &subset);
    for (_, expected) in event {
        let inside = compare::event(&expected, &letter.event, leniency).into_iter().map(|difference| {
            let path = [Step::Name("event".into())].into_iter().chain(difference.path.0).collect();
            Difference { path: Path(path), ..difference }
        });
        found.extend(inside);
    }
    found
}

fn parts(letter: &DeadLetter) -> Map {
    let text = |text: &Text| Value::String(text.clone());
    Map::from_iter([
        ("event", Value::Map(letter.event.fields().clone())),
        ("metadata", Value::Map(letter.event.metadata().clone())),
        ("plugin_type", text(&letter.plugin_type)),
        ("plugin_id", text(&letter.plugin_id)),
        ("reason", text(&letter.reason)),
        ("entry_time", Value::Timestamp(letter.entry_time)),
    ])
}
