//! Events that come out of a dead letter queue and fail again: what they carry with them, and where they go.
//!
//! An event that was read from a queue says so in `[@metadata][dead_letter_queue]`. When it fails again it is not
//! lost: it goes to the queue of the pipeline in which it failed now, with the history of its earlier rounds. Only when
//! that is the queue it was read from does it go to a parked queue beside it, so that no pipeline can feed itself.

use super::reader::DeadLetter;
use crate::event::{Map, Text, Value};

/// Name of the map in `@metadata`.
pub const METADATA_KEY: &str = "dead_letter_queue";
/// Earlier rounds that are kept.
const LONGEST_HISTORY: usize = 10;
/// What a round leaves in the history.
const ROUND: [&str; 5] = ["plugin_type", "plugin_id", "reason", "entry_time", "source_queue"];
const ATTEMPT: &str = "attempt";
const HISTORY: &str = "history";

/// Where a failed event goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// The queue of the pipeline in which it failed.
    Own,
    /// The queue beside it that nothing reads by itself.
    Parked,
}

/// Whether the event carries the key at all, which is what Logstash's loop guard goes by.
pub(super) fn was_here_before(metadata: &Map) -> bool {
    metadata.contains_key(METADATA_KEY)
}

/// The `@metadata` to store for an event that carries the key and fails in the pipeline whose queue is `own`.
pub(super) fn next_round(metadata: &Map, own: &str) -> (Map, Destination) {
    let mut stored = metadata.clone();
    let last = match stored.remove(METADATA_KEY) {
        Some(Value::Map(last)) if !last.is_empty() => last,
        // Whatever stands there was not put there by a reader: this is the first failure.
        _ => return (stored, Destination::Own),
    };
    let from_own = last.get("source_queue").and_then(Value::as_str) == Some(own);
    stored.insert(METADATA_KEY, with_round(&last));
    (stored, if from_own { Destination::Parked } else { Destination::Own })
}

fn with_round(last: &Map) -> Map {
    let attempt = last.get(ATTEMPT).and_then(Value::as_integer).unwrap_or(1).saturating_add(1);
    let mut history = last.get(HISTORY).and_then(Value::as_array).unwrap_or_default().to_vec();
    let round: Map = ROUND.iter().filter_map(|name| Some((*name, last.get(name)?.clone()))).collect();
    history.push(Value::Map(round));
    history.drain(..history.len().saturating_sub(LONGEST_HISTORY));
    [(ATTEMPT, Value::Integer(attempt)), (HISTORY, Value::Array(history))].into_iter().collect()
}

/// Writes into a replayed event where it comes from.
pub(super) fn mark(letter: &mut DeadLetter) {
    let metadata = letter.event.metadata_mut();
    let stored = match metadata.remove(METADATA_KEY) {
        Some(Value::Map(stored)) => stored,
        _ => Map::new(),
    };
    let mut origin = Map::with_capacity(ROUND.len() + 2);
    origin.insert(Text::borrowed("plugin_type"), letter.plugin_type.clone());
    origin.insert(Text::borrowed("plugin_id"), letter.plugin_id.clone());
    origin.insert(Text::borrowed("reason"), letter.reason.clone());
    origin.insert(Text::borrowed("entry_time"), letter.entry_time);
    origin.insert(Text::borrowed("source_queue"), letter.source_queue.clone());
    if let (Some(attempt @ Value::Integer(_)), Some(history @ Value::Array(_))) =
        (stored.get(ATTEMPT), stored.get(HISTORY))
    {
        origin.insert(Text::borrowed(ATTEMPT), attempt.clone());
        origin.insert(Text::borrowed(HISTORY), history.clone());
    }
    metadata.insert(Text::borrowed(METADATA_KEY), origin);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(value: Value) -> Map {
        [("kept", Value::from("k")), (METADATA_KEY, value)].into_iter().collect()
    }

    fn seen(source: &str) -> Map {
        ROUND.iter().map(|name| (*name, Value::from(if *name == "source_queue" { source } else { *name }))).collect()
    }

    #[test]
    fn a_key_that_no_reader_wrote_is_a_first_failure() {
        for odd in [Value::Null, Value::from("x"), Value::Map(Map::new()), Value::from(vec![Value::Null])] {
            let (stored, destination) = next_round(&metadata(odd), "main");
            assert_eq!(stored, [("kept", "k")].into_iter().collect());
            assert_eq!(destination, Destination::Own);
        }
    }

    #[test]
    fn a_second_failure_keeps_the_first_as_history() {
        let (stored, destination) = next_round(&metadata(seen("main").into()), "replay");
        assert_eq!(destination, Destination::Own);
        let round = stored.get(METADATA_KEY).unwrap().as_map().unwrap();
        assert_eq!(round.get(ATTEMPT), Some(&Value::Integer(2)));
        assert_eq!(round.get(HISTORY), Some(&Value::Array(vec![Value::Map(seen("main"))])));
        assert_eq!(round.len(), 2);
    }

    #[test]
    fn a_pipeline_that_reads_its_own_queue_parks() {
        assert_eq!(next_round(&metadata(seen("main").into()), "main").1, Destination::Parked);
    }

    #[test]
    fn the_history_keeps_the_last_ten_rounds_oldest_first() {
        let mut last = seen("0");
        for n in 1..15 {
            let (stored, _) = next_round(&metadata(last.clone().into()), "x");
            let next = stored.get(METADATA_KEY).unwrap().as_map().unwrap().clone();
            last = seen(&n.to_string());
            for (key, value) in next {
                last.insert(key, value);
            }
        }
        assert_eq!(last.get(ATTEMPT), Some(&Value::Integer(15)));
        let sources: Vec<_> = last.get(HISTORY).unwrap().as_array().unwrap().iter().collect();
        assert_eq!(sources.len(), 10);
        let source = |v: &Value| v.as_map().unwrap().get("source_queue").unwrap().as_str().unwrap().to_owned();
        assert_eq!((source(sources[0]).as_str(), source(sources[9]).as_str()), ("4", "13"));
    }
}
