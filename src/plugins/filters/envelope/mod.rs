//! `envelope`: builds exactly one JSON object for a sink, and leaves the event as it is.
//!
//! The object is a list of [`Member`]s: those of the configuration, or those of a preset ([`presets`]), which other
//! systems read and which therefore have these members in this order and no others. [`text`] writes it.

mod presets;
mod text;

use std::sync::Arc;

use super::failure::{Fate, OnFailure};
use crate::event::{Clock, EscapeStyle, Event, FieldRef, METADATA, Map, TAGS, TIMESTAMP, Template, Text, Value};
use crate::metrics::Counter;
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};
use presets::Preset;
pub(super) use text::compact_value;

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "envelope", summary: "Builds the exact JSON object that a sink wants.", build };

/// Tag of an event whose object cannot be put in place.
const FAILED: &str = "_envelopefailure";

struct Envelope {
    clock: Clock,
    content: Content,
    /// Text of the object, or the object itself.
    as_text: bool,
    target: FieldRef,
    /// Whether the object becomes the event's only content.
    replace: bool,
    omit_null: bool,
    times: TimeForm,
    most_bytes: usize,
    on_failure: OnFailure,
    built: Arc<Counter>,
    truncated: Arc<Counter>,
}

enum Content {
    Members(Vec<Member>),
    Preset(Preset),
}

/// A member of the object.
struct Member {
    name: Text,
    value: Source,
}

enum Source {
    /// A copy of a field; null when it is not there, unless it is optional.
    Field {
        field: FieldRef,
        optional: bool,
    },
    Literal(Template),
}

/// How times are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeForm {
    Sql,
    Iso8601,
    EpochMillis,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let context = options.context().clone();
    let content = read_content(options);
    let form = options.word("as", &["json", "object"]).doc("Whether the target takes JSON text or the object.");
    let as_text = form.default("json".to_owned()) == "json";
    let target = options.field("target").doc("Field that takes the object.");
    let target = target.default(FieldRef::path_of(&[METADATA, "out"]));
    let replace = options.boolean("replace").doc("Makes the object the only content of the event.").default(false);
    let omit_null = options.boolean("omit_null").doc("Leaves members out that are null.").default(false);
    let times = options.word("timestamp_format", &["sql", "iso8601", "epoch_ms"]).doc("How times are written.");
    let times = match times.default("sql".to_owned()).as_str() {
        "iso8601" => TimeForm::Iso8601,
        "epoch_ms" => TimeForm::EpochMillis,
        _ => TimeForm::Sql,
    };
    let most_bytes = options.bytes("max_bytes").doc("Of a longer object the raw text is cut.").default(1_000_000);
    Box::new(Envelope {
        clock: context.clock,
        content,
        as_text,
        target,
        replace,
        omit_null,
        times,
        most_bytes: usize::try_from(most_bytes).unwrap_or(usize::MAX),
        on_failure: OnFailure::read(options),
        built: context.metrics.counter("built"),
        truncated: context.metrics.counter("truncated"),
    })
}

fn read_content(options: &mut Options<'_>) -> Content {
    let preset = Preset::read(options);
    let fields = options.hash("fields").doc("Members: `[field]`, `?[field]` where it may be absent, or `=text`.");
    let fields = fields.optional();
    match (preset, fields) {
        (Some(_), Some(_)) => options.invalid("fields", "`preset` has members of its own: give it or `fields`"),
        (None, None) => options.invalid("", "the envelope filter needs `fields` or a `preset`"),
        (Some(preset), None) => return Content::Preset(preset),
        (None, Some(fields)) => return Content::Members(read_members(options, &fields)),
    }
    Content::Members(Vec::new())
}

fn read_members(options: &mut Options<'_>, fields: &[(String, Value)]) -> Vec<Member> {
    let style = options.context().escape_style;
    let mut members = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        match value.as_str().ok_or_else(|| "must be a text".to_owned()).and_then(|text| source(text, style)) {
            Ok(value) => members.push(Member { name: Text::from(name.as_str()), value }),
            Err(error) => options.invalid("fields", format!("`{name}`: {error}")),
        }
    }
    members
}

fn source(text: &str, style: EscapeStyle) -> Result<Source, String> {
    if let Some(literal) = text.strip_prefix('=') {
        return Template::compile(literal, style).map(Source::Literal).map_err(|e| e.message);
    }
    let (text, optional) = text.strip_prefix('?').map_or((text, false), |text| (text, true));
    let field = FieldRef::parse(text, style).map_err(|e| e.to_string())?;
    Ok(Source::Field { field, optional })
}

impl Filter for Envelope {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            let (mut object, raw) = match &self.content {
                Content::Members(members) => (self.members(members, event), None),
                Content::Preset(preset) => preset.object(event, self.clock.now(), self.times),
            };
            if self.omit_null {
                object = object.into_iter().filter(|(_, value)| !value.is_null()).collect();
            }
            if text::shorten(&mut object, raw, self.most_bytes) {
                self.truncated.add(1);
            }
            match self.put(event, object) {
                Ok(()) => {
                    self.built.add(1);
                    Outcome::Matched
                }
                Err(error) => {
                    self.failed(event, &error);
                    Outcome::Unmatched
                }
            }
        });
    }
}

impl Envelope {
    fn members(&self, members: &[Member], event: &Event) -> Map {
        let mut object = Map::with_capacity(members.len());
        for member in members {
            let value = match &member.value {
                Source::Literal(template) => Value::String(template.render(event)),
                Source::Field { field, optional } => match event.value_of(field) {
                    None if *optional => continue,
                    value => text::with_times(value.unwrap_or_default(), self.times),
                },
            };
            object.insert(member.name.clone(), value);
        }
        object
    }

    fn put(&self, event: &mut Event, object: Map) -> Result<(), String> {
        let content = self.replace.then(|| object.clone());
        let value = if self.as_text { Value::String(text::compact(&object)) } else { Value::Map(object) };
        event.set(&self.target, value).map_err(|error| error.to_string())?;
        let Some(content) = content else { return Ok(()) };
        event.fields_mut().clear();
        for (name, value) in content {
            // The two fields that do not take any value keep it under another name.
            let field = match name.as_str() {
                TIMESTAMP | TAGS => format!("_{name}"),
                name => name.to_owned(),
            };
            event.fields_mut().insert(field, value);
        }
        Ok(())
    }

    fn failed(&self, event: &mut Event, error: &str) {
        tracing::warn!(target: "spillway.filters.envelope", "the object cannot be put in place: {error}");
        if self.on_failure.apply(event, || format!("ENVELOPE_NOT_BUILT: {error}")) == Fate::GoesOn {
            event.tag(FAILED);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered};

    fn built(options: &str, event: &str) -> String {
        let config = format!("filter {{ envelope {{ target => \"out\" {options} }} }}");
        let out = filtered(&config, &[event]).remove(0);
        let out: serde_json::Value = serde_json::from_str(&out).unwrap();
        out.get("out").and_then(|out| out.as_str()).unwrap_or_default().to_owned()
    }

    #[test]
    fn decimals_are_plain_numbers_with_all_digits() {
        let json = r#"filter { json { source => "m" target => "d" } envelope { fields => { "a" => "[d]" } target => "out" } }"#;
        let out = filtered(json, &[r#"{"m":"[1.50,1e3,-2.5E-9,12345678901234567890.10]"}"#]).remove(0);
        assert!(out.contains(r#"{\"a\":[1.50,1000,-0.0000000025,12345678901234567890.10]}"#), "{out}");
    }

    #[test]
    fn absent_fields_are_null_or_left_out() {
        let fields = r#"fields => { "a" => "[n]" "b" => "?[n]" "c" => "=%{x}!" "d" => "x" }"#;
        assert_eq!(built(fields, r#"{"x":1}"#), r#"{"a":null,"c":"1!","d":1}"#);
        assert_eq!(built(&format!("{fields} omit_null => true"), r#"{"x":1}"#), r#"{"c":"1!","d":1}"#);
    }

    #[test]
    fn times_are_written_as_asked() {
        let fields = r#"fields => { "t" => "[@timestamp]" }"#;
        let time =
            |options: &str, at: &str| built(&format!("{fields} {options}"), &format!(r#"{{"@timestamp":"{at}"}}"#));
        assert_eq!(time("", "2026-07-22T05:00:00.500Z"), r#"{"t":"2026-07-22 05:00:00.500Z"}"#);
        assert_eq!(time("", "2026-07-22T05:00:00Z"), r#"{"t":"2026-07-22 05:00:00Z"}"#);
        let iso = r#"timestamp_format => "iso8601""#;
        assert_eq!(time(iso, "2026-07-22T05:00:00Z"), r#"{"t":"2026-07-22T05:00:00.000Z"}"#);
        assert_eq!(time(r#"timestamp_format => "epoch_ms""#, "1970-01-01T00:00:01Z"), r#"{"t":1000}"#);
    }

    #[test]
    fn a_raw_text_that_is_too_long_is_cut_between_characters() {
        let text = "\u{e4}\\\"".repeat(100);
        let event = serde_json::json!({ "message": text }).to_string();
        let out = built(r#"preset => "dead_letter" max_bytes => 150"#, &event);
        assert!(out.len() <= 150 && out.len() > 145, "{} {out}", out.len());
        let out: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(out["truncated"], true);
        assert!(text.starts_with(out["originalJson"].as_str().unwrap()));
    }

    #[test]
    fn the_object_can_be_the_only_content() {
        let config = r#"filter { envelope { as => "object" replace => true fields => { "b" => "[a]" } } }"#;
        assert_eq!(filtered(config, &[r#"{"a":1,"c":2}"#]), [r#"{"b":1}"#]);
    }

    #[test]
    fn without_members_it_does_not_start() {
        for (options, part) in [
            ("", "needs `fields`"),
            (r#"preset => "sql_dlq" fields => { "a" => "[a]" }"#, "members of its own"),
            (r#"fields => { "a" => "[" }"#, "`a`"),
            (r#"fields => { "a" => "[a]" } job_version => "1""#, "job_version"),
        ] {
            let errors = compiled(&format!("filter {{ envelope {{ {options} }} }}")).err().unwrap();
            assert!(errors.contains(part), "{options}: {errors}");
        }
    }
}
