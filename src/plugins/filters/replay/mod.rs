//! `replay`: repaired dead letters on their way back, and the main pipeline that takes them.
//!
//! `wrap` makes the envelope of a dead letter: [`record`] finds in it where the text came from and how often it was
//! tried. `unwrap` takes an envelope apart again, so that the filters behind it see the repaired text with the
//! coordinates of the record that it was. Nothing goes back to the topic it came from.

mod record;

use std::sync::Arc;

use super::envelope::compact_value;
use super::failure::{Fate, OnFailure};
use crate::event::json::{Numbers, Reader};
use crate::event::{Event, FieldRef, METADATA, Map, Text, Value};
use crate::metrics::Counter;
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};
use record::{Format, Origin, Record};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "replay", summary: "Wraps repaired dead letters for a replay, and unwraps them.", build };

/// Tag of what is no record of the expected form.
const MALFORMED: &str = "_replay_malformed";
/// Tag of a record that was tried often enough.
const PARKED: &str = "_replay_parked";
/// Tag of a record that was read from the topic that it came from.
const BLOCKED: &str = "_replay_blocked";

/// What says which record of Kafka an event was.
const COORDINATES: [&str; 3] = ["topic", "partition", "offset"];

/// Counts that are more than this were made up.
const MOST_RETRIES: i64 = 1000;

struct Wrap {
    source: FieldRef,
    /// The repaired text; that of the record when `None`.
    payload: Option<FieldRef>,
    repair_version: Text,
    max_retries: i64,
    /// Whether a record that was tried often enough is dropped.
    drops: bool,
    allow_loop: bool,
    format: Format,
    shared: Shared,
    wrapped: Arc<Counter>,
    parked: Arc<Counter>,
    blocked: Arc<Counter>,
}

struct Unwrap {
    source: FieldRef,
    /// Where the event takes the coordinates of the record that it was, in the order of [`COORDINATES`].
    coordinates: [FieldRef; 3],
    shared: Shared,
    unwrapped: Arc<Counter>,
}

/// What both have.
struct Shared {
    replay: FieldRef,
    out: FieldRef,
    on_failure: OnFailure,
    malformed: Arc<Counter>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let action = options.word("action", &["wrap", "unwrap"]).doc("Makes an envelope, or takes one apart.").required();
    let source = options.field("source").doc("Field that holds the record.").default(FieldRef::top("message"));
    let payload = options.field("payload").doc("The repaired text; that of the record without it.").optional();
    let version = options.string("repair_version").doc("Says which repair was made; `wrap` needs it.").optional();
    let max_retries = options.integer("max_retries").doc("How often a record may be replayed.").default(3);
    let exhausted = options.word("on_exhausted", &["park", "drop"]);
    let exhausted = exhausted.doc("A record that was replayed so often is tagged `_replay_parked`, or dropped.");
    let drops = exhausted.default("park".to_owned()) == "drop";
    let allow_loop = options.boolean("allow_loop").doc("Also wraps what was read from its own topic.").default(false);
    let format = Format::read(options);
    let metrics = options.context().metrics.clone();
    let shared = Shared {
        replay: FieldRef::path_of(&[METADATA, "replay"]),
        out: FieldRef::path_of(&[METADATA, "out"]),
        on_failure: OnFailure::read(options),
        malformed: metrics.counter("malformed"),
    };
    if action == "unwrap" {
        for option in ["payload", "repair_version", "max_retries", "on_exhausted", "allow_loop", "format"] {
            if options.is_set(option) {
                options.invalid(option, format!("`{option}` belongs to `action => \"wrap\"`"));
            }
        }
        let coordinates = COORDINATES.map(|name| FieldRef::path_of(&[METADATA, "kafka", name]));
        return Box::new(Unwrap { source, coordinates, shared, unwrapped: metrics.counter("unwrapped") });
    }
    if version.is_none() && !action.is_empty() {
        options.invalid("", "the replay filter needs `repair_version` to wrap");
    }
    if !(0..=MOST_RETRIES).contains(&max_retries) {
        options.invalid("max_retries", format!("`max_retries` is a number from 0 to {MOST_RETRIES}"));
    }
    Box::new(Wrap {
        source,
        payload,
        repair_version: Text::from(version.unwrap_or_default()),
        max_retries,
        drops,
        allow_loop,
        format,
        shared,
        wrapped: metrics.counter("wrapped"),
        parked: metrics.counter("parked"),
        blocked: metrics.counter("blocked"),
    })
}

/// The six members of an envelope, in their order. A payload that is JSON is that value, any other a text.
pub(super) fn envelope(origin: [Value; 3], retry_count: i64, repair_version: Value, payload: &Value) -> Map {
    let [topic, partition, offset] = origin;
    let payload = match payload {
        Value::String(text) => json(text).unwrap_or_else(|| payload.clone()),
        other => other.clone(),
    };
    let members: [(&'static str, Value); 6] = [
        ("original_topic", topic),
        ("original_partition", partition),
        ("original_offset", offset),
        ("retry_count", Value::Integer(retry_count)),
        ("repair_version", repair_version),
        ("payload", payload),
    ];
    members.into_iter().map(|(name, value)| (Text::borrowed(name), value)).collect()
}

/// What another plugin says of an event: a member of one of the maps in `@metadata`.
pub(super) fn told<'e>(event: &'e Event, map: &str, name: &str) -> Option<&'e Value> {
    event.metadata().get(map)?.as_map()?.get(name)
}

/// The only JSON value of a text.
fn json(text: &Text) -> Option<Value> {
    let mut reader = Reader::new(text, Numbers::Decimal);
    let value = reader.next_value().ok().flatten()?;
    matches!(reader.next_value(), Ok(None)).then_some(value)
}

/// The record in a field: a map, or its JSON text.
fn document(event: &Event, source: &FieldRef) -> Option<Map> {
    match event.get(source)? {
        Value::Map(map) => Some(map.clone()),
        Value::String(text) => match json(text)? {
            Value::Map(map) => Some(map),
            _ => None,
        },
        _ => None,
    }
}

impl Filter for Wrap {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| match Record::read(self.format, event, &self.source) {
            None => self.shared.is_malformed(event),
            Some(record) => self.wrap(event, record),
        });
    }
}

impl Wrap {
    fn wrap(&self, event: &mut Event, record: Record) -> Outcome {
        let Record { origin, retries, raw } = record;
        if !self.allow_loop && origin.is_where(event) {
            self.blocked.add(1);
            tracing::warn!(target: "spillway.filters.replay",
                "a record was read from the topic that it came from, and is not wrapped");
            event.tag(BLOCKED);
            return Outcome::Unmatched;
        }
        if retries >= self.max_retries {
            self.parked.add(1);
            if self.drops {
                event.cancel();
                return Outcome::Unmatched;
            }
            self.note(event, &origin, retries, true);
            event.tag(PARKED);
            return Outcome::Unmatched;
        }
        let payload = match &self.payload {
            None => raw,
            Some(field) => event.get(field).filter(|value| !value.is_null()).cloned(),
        };
        // Nothing was repaired: there is nothing to replay.
        let Some(payload) = payload else { return Outcome::Unmatched };
        self.note(event, &origin, retries + 1, false);
        let version = Value::String(self.repair_version.clone());
        let envelope = envelope(origin.members(), retries + 1, version, &payload);
        put(event, &self.shared.out, compact_value(&Value::Map(envelope)));
        self.wrapped.add(1);
        Outcome::Matched
    }

    /// Says in `@metadata` where the record came from and how often it was tried. An output refuses to send it to its
    /// `original_topic` unless it reads `allow_loop` beside it.
    fn note(&self, event: &mut Event, origin: &Origin, retries: i64, parked: bool) {
        let key = origin.key(event);
        let mut note = Map::with_capacity(8);
        let [topic, partition, offset] = origin.members();
        if self.allow_loop {
            note.insert(Text::borrowed("allow_loop"), true);
        }
        note.insert(Text::borrowed("original_topic"), topic);
        note.insert(Text::borrowed("original_partition"), partition);
        note.insert(Text::borrowed("original_offset"), offset);
        note.insert(Text::borrowed("retry_count"), retries);
        note.insert(Text::borrowed("repair_version"), self.repair_version.clone());
        note.insert(Text::borrowed("parked"), parked);
        if let Some(key) = key {
            note.insert(Text::borrowed("key"), key);
        }
        put(event, &self.shared.replay, note);
    }
}

impl Filter for Unwrap {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            let envelope = document(event, &self.source).and_then(record::Envelope::read);
            let Some(envelope) = envelope else { return self.shared.is_malformed(event) };
            let via = COORDINATES
                .into_iter()
                .map(Text::borrowed)
                .zip(Origin::of_metadata(event).into_members())
                .collect::<Map>();
            let mut note = Map::with_capacity(3);
            note.insert(Text::borrowed("retry_count"), envelope.retries);
            note.insert(Text::borrowed("repair_version"), envelope.repair_version);
            note.insert(Text::borrowed("via"), via);
            put(event, &self.shared.replay, note);
            for (field, value) in self.coordinates.iter().zip(envelope.origin.into_members()) {
                put(event, field, value);
            }
            let payload = match envelope.payload {
                text @ Value::String(_) => text,
                value => Value::String(compact_value(&value)),
            };
            put(event, &self.source, payload);
            self.unwrapped.add(1);
            Outcome::Matched
        });
    }
}

impl Shared {
    /// The event goes on unchanged but for a tag, unless the configuration says otherwise.
    fn is_malformed(&self, event: &mut Event) -> Outcome {
        self.malformed.add(1);
        let reason = || "REPLAY_MALFORMED: the record has not the expected form".to_owned();
        if self.on_failure.apply(event, reason) == Fate::GoesOn {
            event.tag(MALFORMED);
        }
        Outcome::Unmatched
    }
}

fn put(event: &mut Event, field: &FieldRef, value: impl Into<Value>) {
    if let Err(error) = event.set(field, value) {
        tracing::warn!(target: "spillway.filters.replay", field = %field, "{error}");
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered};

    /// What the filter leaves in `@metadata`, and the fields.
    fn run(options: &str, event: &str) -> String {
        let config = format!(
            "filter {{ replay {{ {options} }} mutate {{ add_field => {{ \"out\" => \"%{{[@metadata][out]}}\" \
             \"replay\" => \"%{{[@metadata][replay]}}\" \"kafka\" => \"%{{[@metadata][kafka]}}\" }} }} }}"
        );
        filtered(&config, &[event]).remove(0)
    }

    const WRAP: &str = r#"action => "wrap" repair_version => "v2""#;

    fn dead_letter(headers: &str) -> String {
        let message = r#"{\"raw_message\":\"{\\\"a\\\":1.50}\",\"error_code\":\"C\",\"error_message\":\"m\",\"source_topic\":\"t\",\"source_partition\":1,\"source_offset\":2,\"source_timestamp\":null,\"dlq_timestamp\":\"x\"}"#;
        format!(
            r#"{{"message":"{message}","@metadata":{{"kafka":{{"topic":"t-dlq","key":"k","headers":{headers}}}}}}}"#
        )
    }

    #[test]
    fn the_raw_text_is_the_payload_and_its_digits_stay() {
        let out = run(WRAP, &dead_letter("{}"));
        assert!(out.contains(r#"\"retry_count\":1,\"repair_version\":\"v2\",\"payload\":{\"a\":1.50}}"#), "{out}");
        assert!(out.contains(r#"\"key\":\"k\""#), "{out}");
    }

    #[test]
    fn the_count_travels_in_a_header_and_ends_in_a_parking_place() {
        let out = run(WRAP, &dead_letter(r#"{"spillway-retry-count":"2"}"#));
        assert!(out.contains(r#"\"retry_count\":3"#) && !out.contains("_replay_parked"), "{out}");
        let out = run(WRAP, &dead_letter(r#"{"spillway-retry-count":"3"}"#));
        assert!(out.contains("_replay_parked") && out.contains(r#"\"parked\":true"#), "{out}");
        assert!(out.contains(r#"\"retry_count\":3"#) && out.contains("%{[@metadata][out]}"), "{out}");
        let dropped = format!("filter {{ replay {{ {WRAP} on_exhausted => drop max_retries => 0 }} }}");
        assert!(filtered(&dropped, &[&dead_letter("{}")]).is_empty());
    }

    #[test]
    fn made_up_counts_are_malformed() {
        for count in ["-1", "x", "1001", "1.5"] {
            let out = run(WRAP, &dead_letter(&format!(r#"{{"spillway-retry-count":"{count}"}}"#)));
            assert!(out.contains("_replay_malformed"), "{count}: {out}");
        }
        for count in ["-1", "1.5", "\\\"1\\\"", "1001", "null"] {
            let envelope = format!(
                r#"{{"message":"{{\"original_topic\":\"t\",\"original_partition\":0,\"original_offset\":1,\"retry_count\":{count},\"repair_version\":\"v\",\"payload\":1}}"}}"#
            );
            let out = run(r#"action => "unwrap""#, &envelope);
            assert!(out.contains("_replay_malformed"), "{count}: {out}");
        }
    }

    #[test]
    fn a_record_of_its_own_topic_is_not_wrapped() {
        let looping = dead_letter("{}").replace("t-dlq", "t");
        assert!(run(WRAP, &looping).contains("_replay_blocked"));
        assert!(run(&format!("{WRAP} allow_loop => true"), &looping).contains(r#"\"retry_count\":1"#));
    }

    #[test]
    fn without_a_repair_nothing_is_replayed() {
        let out = run(&format!("{WRAP} payload => \"[fixed]\""), &dead_letter("{}"));
        assert!(out.contains("%{[@metadata][out]}") && !out.contains("tags"), "{out}");
    }

    #[test]
    fn what_is_no_record_is_tagged_and_stays() {
        for message in ["x", "{}", "[]", r#"{\"payload\":1}"#] {
            let event = format!(r#"{{"message":"{message}"}}"#);
            for options in [WRAP, r#"action => "unwrap""#] {
                let config = format!("filter {{ replay {{ {options} }} }}");
                let expected = event.replace("\"}", "\",\"tags\":[\"_replay_malformed\"]}");
                assert_eq!(filtered(&config, &[&event]), [expected]);
            }
        }
    }

    #[test]
    fn an_event_of_the_file_queue_has_its_coordinates_in_the_metadata() {
        let event = r#"{"message":"raw","@metadata":{"kafka":{"topic":"t","partition":4,"offset":9},"replay":{"retry_count":1}}}"#;
        let out = run(&format!("{WRAP} format => \"file_dlq\" allow_loop => true"), event);
        let envelope = r#"{\"original_topic\":\"t\",\"original_partition\":4,\"original_offset\":9,\"retry_count\":2,\"repair_version\":\"v2\",\"payload\":\"raw\"}"#;
        assert!(out.contains(envelope), "{out}");
    }

    #[test]
    fn mistakes_of_a_configuration() {
        for (options, part) in [
            (r#"action => "wrap""#, "repair_version"),
            (r#"action => "unwrap" max_retries => 1"#, "belongs to"),
            (r#"action => "wrap" repair_version => "v" max_retries => -1"#, "max_retries"),
        ] {
            let errors = compiled(&format!("filter {{ replay {{ {options} }} }}")).err().unwrap();
            assert!(errors.contains(part), "{options}: {errors}");
        }
    }
}
