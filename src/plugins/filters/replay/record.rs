//! The records that dead letter topics and replay topics hold, recognised by their members.

use super::{COORDINATES, MOST_RETRIES, document, told};
use crate::event::{Event, FieldRef, Map, Text, Value};
use crate::plugins::Options;

/// The header that says how often a record was replayed: the two exact formats have no member for it.
const RETRY_HEADER: &str = "spillway-retry-count";

/// Which record a dead letter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// What its members say.
    Any,
    SqlDlq,
    DeadLetter,
    Replay,
    /// An event of the dead letter queue on disk.
    FileDlq,
}

impl Format {
    /// Reads `format`.
    pub fn read(options: &mut Options<'_>) -> Self {
        let word = options.word("format", &["sql_dlq", "dead_letter", "replay", "file_dlq"]);
        match word.doc("Which record it is; recognised by its members without it.").optional().as_deref() {
            Some("sql_dlq") => Self::SqlDlq,
            Some("dead_letter") => Self::DeadLetter,
            Some("replay") => Self::Replay,
            Some("file_dlq") => Self::FileDlq,
            _ => Self::Any,
        }
    }
}

/// Topic, partition and offset of the record that failed first.
pub(super) struct Origin([Value; 3]);

/// A dead letter.
pub(super) struct Record {
    pub origin: Origin,
    /// How often it was replayed.
    pub retries: i64,
    /// The text that failed.
    pub raw: Option<Value>,
}

/// The envelope of a replayed record.
pub(super) struct Envelope {
    pub origin: Origin,
    pub retries: i64,
    pub repair_version: Value,
    pub payload: Value,
}

impl Origin {
    /// Of the record that the event was read from.
    pub fn of_metadata(event: &Event) -> Self {
        Self(COORDINATES.map(|name| told(event, "kafka", name).cloned().unwrap_or_default()))
    }

    /// A text and two integers, or nothing is known.
    fn of_members(map: &Map, names: [&str; 3]) -> Option<Self> {
        let [topic, partition, offset] = names.map(|name| map.get(name).cloned().unwrap_or_default());
        let is_right = matches!(topic, Value::String(_) | Value::Null)
            && [&partition, &offset].into_iter().all(|value| matches!(value, Value::Integer(_) | Value::Null));
        is_right.then_some(Self([topic, partition, offset]))
    }

    pub fn members(&self) -> [Value; 3] {
        self.0.clone()
    }

    pub fn into_members(self) -> [Value; 3] {
        self.0
    }

    /// Whether the event was read from this topic.
    pub fn is_where(&self, event: &Event) -> bool {
        let [topic, ..] = &self.0;
        !topic.is_null() && told(event, "kafka", "topic") == Some(topic)
    }

    /// The key of the first record, or one made of its coordinates: the tries of one record stay in order.
    pub fn key(&self, event: &Event) -> Option<Text> {
        if let Some(key) = told(event, "kafka", "key").and_then(Value::as_text) {
            return Some(key.clone());
        }
        match &self.0 {
            [Value::String(topic), Value::Integer(partition), Value::Integer(offset)] => {
                Some(Text::from(format!("{topic}-{partition}-{offset}")))
            }
            _ => None,
        }
    }
}

impl Envelope {
    /// Exactly its six members, with values as they can be.
    pub fn read(mut map: Map) -> Option<Self> {
        let origin = Origin::of_members(&map, ["original_topic", "original_partition", "original_offset"])?;
        let has_all = ["original_topic", "original_partition", "original_offset"].iter().all(|n| map.contains_key(n));
        let retries = map.get("retry_count")?.as_integer().filter(is_count)?;
        let repair_version = map.remove("repair_version").filter(|version| version.as_str().is_some())?;
        let payload = map.remove("payload")?;
        has_all.then_some(Self { origin, retries, repair_version, payload })
    }
}

impl Record {
    /// The record of an event; `None` when it has another form or a count that cannot be.
    pub fn read(format: Format, event: &Event, source: &FieldRef) -> Option<Self> {
        if format == Format::FileDlq {
            return Self::of_event(event, source);
        }
        let map = document(event, source)?;
        let has = |names: &[&str]| names.iter().all(|name| map.contains_key(name));
        let is = |wanted: Format, names: &[&str]| [wanted, Format::Any].contains(&format) && has(names);
        if is(Format::SqlDlq, &["raw_message", "source_topic", "source_partition", "source_offset"]) {
            let origin = Origin::of_members(&map, ["source_topic", "source_partition", "source_offset"])?;
            let raw = map.get("raw_message").cloned();
            return Some(Self { origin, retries: retries_of(event)?, raw });
        }
        if is(Format::DeadLetter, &["originalJson", "reason"]) {
            let origin = Origin([Value::Null, Value::Null, Value::Null]);
            let raw = map.get("originalJson").cloned();
            return Some(Self { origin, retries: retries_of(event)?, raw });
        }
        if is(Format::Replay, &["original_topic", "retry_count", "payload"]) {
            let Envelope { origin, retries, payload, .. } = Envelope::read(map)?;
            return Some(Self { origin, retries, raw: Some(payload) });
        }
        None
    }

    /// An event of the queue on disk: everything is in its metadata.
    fn of_event(event: &Event, source: &FieldRef) -> Option<Self> {
        let raw = told(event, "validate", "raw").or_else(|| event.get(source));
        let origin = Origin::of_metadata(event);
        Some(Self { origin, retries: retries_of(event)?, raw: raw.cloned() })
    }
}

fn is_count(count: &i64) -> bool {
    (0..=MOST_RETRIES).contains(count)
}

/// How often a record was replayed, from its header or what an earlier filter knows.
fn retries_of(event: &Event) -> Option<i64> {
    let header = told(event, "kafka", "headers").and_then(|headers| headers.as_map()?.get(RETRY_HEADER));
    match header.or_else(|| told(event, "replay", "retry_count")) {
        None | Some(Value::Null) => Some(0),
        Some(Value::Integer(count)) => Some(*count).filter(is_count),
        Some(Value::String(text)) => text.parse().ok().filter(is_count),
        Some(_) => None,
    }
}
