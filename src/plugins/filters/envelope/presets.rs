//! Objects that other systems read: exactly these members, in this order.

use std::sync::Arc;

use super::TimeForm;
use super::text::{compact, time};
use crate::event::{Event, Map, Text, Timestamp, Value};
use crate::plugins::Options;
use crate::plugins::filters::replay::{envelope, told};
use crate::plugins::filters::validate::PARSED;

/// A preset with its options.
pub(super) enum Preset {
    /// A record for the dead letter topic of an SQL job.
    SqlDlq {
        /// Name of the job and version, to be told beside the errors.
        job: Option<(Arc<str>, Value)>,
    },
    /// A record for the dead letter topic of a cleansing job.
    DeadLetter {
        /// The document as it was judged instead of the raw text.
        parsed: bool,
        /// What is wrong in place of a general word.
        detail: bool,
    },
    /// The envelope of a record that is to be replayed.
    Replay,
}

impl Preset {
    /// Reads `preset` and the options that belong to it.
    pub fn read(options: &mut Options<'_>) -> Option<Self> {
        let name = options.word("preset", &["sql_dlq", "dead_letter", "replay"]);
        let name = name.doc("An object that other systems know, with exactly its members.").optional();
        let extended = options.boolean("extended").doc("Adds job and errors to `sql_dlq`.").default(false);
        let job_version = options.string("job_version").doc("Version of the job, for `extended`.").optional();
        let original = options.word("original", &["parsed", "raw"]);
        let original = original.doc("Which text `dead_letter` has of an event that is not valid.");
        let parsed = original.default("parsed".to_owned()) == "parsed";
        let detail = options.boolean("detail").doc("Gives `dead_letter` the real message.").default(false);
        for (option, preset) in [
            ("extended", "sql_dlq"),
            ("job_version", "sql_dlq"),
            ("original", "dead_letter"),
            ("detail", "dead_letter"),
        ] {
            if options.is_set(option) && name.as_deref() != Some(preset) {
                options.invalid(option, format!("`{option}` belongs to `preset => \"{preset}\"`"));
            }
        }
        if job_version.is_some() && !extended {
            options.invalid("job_version", "`job_version` belongs to `extended => true`");
        }
        let job = extended.then(|| (options.context().pipeline_id.clone(), job_version.map(Value::from)));
        Some(match name?.as_str() {
            "sql_dlq" => Self::SqlDlq { job: job.map(|(id, version)| (id, version.unwrap_or_default())) },
            "dead_letter" => Self::DeadLetter { parsed, detail },
            _ => Self::Replay,
        })
    }

    /// The object of an event, and the name of its raw text.
    pub fn object(&self, event: &Event, now: Timestamp, times: TimeForm) -> (Map, Option<&'static str>) {
        match self {
            Self::SqlDlq { job } => (sql_dlq(event, now, times, job.as_ref()), Some("raw_message")),
            Self::DeadLetter { parsed, detail } => (dead_letter(event, now, *parsed, *detail), Some("originalJson")),
            Self::Replay => (replay(event), None),
        }
    }
}

/// What a plugin says of the event in `@metadata`; null when it says nothing.
fn part(event: &Event, plugin: &str, name: &str) -> Value {
    told(event, plugin, name).cloned().unwrap_or_default()
}

fn raw(event: &Event) -> Value {
    match part(event, "validate", "raw") {
        Value::Null => event.fields().get("message").cloned().unwrap_or_default(),
        raw => raw,
    }
}

fn sql_dlq(event: &Event, now: Timestamp, times: TimeForm, job: Option<&(Arc<str>, Value)>) -> Map {
    let at = part(event, "kafka", "timestamp").as_integer().filter(|at| *at >= 0);
    let at = at.and_then(Timestamp::from_millis).map_or(Value::Null, |at| time(at, times));
    let mut object = Map::with_capacity(12);
    let mut put = |name: &'static str, value: Value| _ = object.insert(Text::borrowed(name), value);
    put("raw_message", raw(event));
    put("error_code", part(event, "validate", "error_code"));
    put("error_message", part(event, "validate", "error_message"));
    put("source_topic", part(event, "kafka", "topic"));
    put("source_partition", part(event, "kafka", "partition"));
    put("source_offset", part(event, "kafka", "offset"));
    put("source_timestamp", at);
    put("dlq_timestamp", time(now, times));
    if let Some((name, version)) = job {
        put("job_name", Value::from(&**name));
        put("job_version", version.clone());
        put("errors", part(event, "validate", "errors"));
    }
    object
}

fn dead_letter(event: &Event, now: Timestamp, parsed: bool, detail: bool) -> Map {
    let reason = part(event, "validate", "reason");
    let is_json = reason.as_str() != Some("INVALID_JSON");
    let document = part(event, "validate", PARSED);
    let original = match document.as_map().filter(|_| parsed && is_json) {
        Some(document) => Value::String(compact(document)),
        None => raw(event),
    };
    let message = match part(event, "validate", "error_message") {
        message @ Value::String(_) if detail => message,
        _ if is_json => Value::literal("required field missing"),
        _ => Value::literal("parse error"),
    };
    let members: [(&'static str, Value); 4] = [
        ("originalJson", original),
        ("reason", reason),
        ("timestamp", Value::Integer(now.millis())),
        ("errorMessage", message),
    ];
    members.into_iter().map(|(name, value)| (Text::borrowed(name), value)).collect()
}

fn replay(event: &Event) -> Map {
    let known = |name: &str, kafka: &str| match part(event, "replay", name) {
        Value::Null => part(event, "kafka", kafka),
        value => value,
    };
    let count = part(event, "replay", "retry_count").as_integer().unwrap_or(0);
    envelope(
        [
            known("original_topic", "topic"),
            known("original_partition", "partition"),
            known("original_offset", "offset"),
        ],
        count,
        part(event, "replay", "repair_version"),
        &raw(event),
    )
}
