//! Cases of codecs: chunks of bytes to events, and events to bytes.

use crate::program::{self, lines_in_any_order};
use base64::Engine;
use spillway::config::{self, Language, Origin, Variables};
use spillway::event::{Event, Timestamp, Value};
use spillway::plugins::{Context, Decoders, Options, SharedEncoder};
use spillway::testing::compare::{self, Arrivals, Leniency};
use spillway::testing::expected::Expected;
use spillway::testing::{Entry, Expectation, Finding, What, judge_events, typed_event};

/// Decodes or encodes what the case gives.
pub fn judge(entry: &Entry) -> Vec<Finding> {
    let text = |key: &str| entry.keys.get(key).and_then(Value::as_str);
    let Some(codec) = text("codec") else { return unusable("`codec` must be a text") };
    let encodes = entry.keys.contains_key("encode");
    match (build(codec, encodes), text("error")) {
        (Ok(_), Some(words)) => vec![Finding::Started(vec![words.to_owned()])],
        (Err(refusal), Some(words)) if refusal.to_lowercase().contains(&words.to_lowercase()) => Vec::new(),
        (Err(refusal), Some(words)) => vec![Finding::OtherRefusal { lacks: vec![words.to_owned()], refusal }],
        (Err(refusal), None) => vec![Finding::Refused(refusal)],
        (Ok(Built::Decodes(decoders)), None) => decode(entry, &decoders),
        (Ok(Built::Encodes(encoder)), None) => encode(entry, &encoder),
    }
}

enum Built {
    Decodes(Decoders),
    Encodes(SharedEncoder),
}

/// Builds the codec as an input or an output would; the error is all that is said.
fn build(codec: &str, encodes: bool) -> Result<Built, String> {
    let text = format!("input {{ any {{ codec => {codec} }} }}");
    let origin = Origin::String { name: "codec".into(), text };
    let mut loaded = config::load(&origin, &Language::default(), &Variables::default());
    let context = Context::alone("any");
    let mut built = None;
    if let Some(block) = loaded.config.inputs.first() {
        let mut options = Options::new(block, &context, &mut loaded.diagnostics);
        built = Some(if encodes {
            Built::Encodes(options.encoder("codec", "plain"))
        } else {
            Built::Decodes(options.decoder("codec", "plain", &[]))
        });
    }
    let errors: Vec<&str> = loaded.diagnostics.0.iter().map(|d| d.message.as_str()).collect();
    match built {
        Some(built) if !loaded.diagnostics.has_errors() => Ok(built),
        _ => Err(errors.join("\n")),
    }
}

fn decode(entry: &Entry, decoders: &Decoders) -> Vec<Finding> {
    let begun = Timestamp::now();
    let mut decoder = decoders.create();
    let mut events: Vec<Event> = Vec::new();
    for chunk in entry.keys.get("decode").and_then(Value::as_array).unwrap_or_default() {
        let Some(bytes) = bytes(chunk) else { return unusable("a chunk must be a text or {base64: …}") };
        decoder.decode(bytes.into(), &mut events);
    }
    decoder.flush(&mut events);
    let arrivals = Arrivals { given: Vec::new(), run: Some((begun, Timestamp::now())) };
    let expected = |key: &str| -> Result<Option<Vec<Expected>>, String> {
        let items = entry.keys.get(key).and_then(Value::as_array);
        items.map(|items| items.iter().map(Expected::read).collect()).transpose()
    };
    match (expected("expect"), expected("metadata")) {
        (Ok(Some(events_expected)), Ok(metadata)) => judge_events(
            Expectation { events: Some(&events_expected), metadata: metadata.as_deref(), unordered: false },
            &events,
            &Leniency { arrivals, ..Leniency::default() },
        ),
        (Ok(None), _) => unusable("nothing is expected"),
        (Err(error), _) | (_, Err(error)) => unusable(&error),
    }
}

fn bytes(chunk: &Value) -> Option<Vec<u8>> {
    match chunk {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        Value::Map(map) => base64::engine::general_purpose::STANDARD.decode(map.get("base64")?.as_str()?).ok(),
        _ => None,
    }
}

fn encode(entry: &Entry, encoder: &SharedEncoder) -> Vec<Finding> {
    let mut out = Vec::new();
    for given in entry.keys.get("encode").and_then(Value::as_array).unwrap_or_default() {
        let Some(fields) = given.as_map() else { return unusable("an event must be a map") };
        match typed_event(fields.clone()) {
            Ok(event) => {
                if let Err(error) = encoder.encode(&event, &mut out) {
                    return unusable(&error.to_string());
                }
            }
            Err(error) => return unusable(&error),
        }
    }
    let output = String::from_utf8_lossy(&out).into_owned();
    let is_rubydebug = entry.keys.get("codec").and_then(Value::as_str).is_some_and(|c| c.starts_with("rubydebug"));
    for (key, got) in [
        ("output", if is_rubydebug { lines_in_any_order(&output) } else { Value::from(output.as_str()) }),
        ("output_json", documents(&output)),
        ("output_lines_json", Value::Array(output.lines().map(documents).collect())),
    ] {
        let Some(expected) = entry.keys.get(key) else { continue };
        let expected = match (key, expected) {
            ("output", Value::String(text)) if is_rubydebug => lines_in_any_order(text),
            ("output_lines_json", Value::Array(items)) => {
                Value::Array(items.iter().map(|item| Value::Array(vec![item.clone()])).collect())
            }
            (_, expected) => expected.clone(),
        };
        return compared(&expected, &got);
    }
    unusable("nothing is expected")
}

fn compared(expected: &Value, got: &Value) -> Vec<Finding> {
    let expected = match Expected::read(expected) {
        Ok(expected) => expected,
        Err(error) => return unusable(&error),
    };
    let differences = compare::value(&expected, got, &Leniency::default());
    if differences.is_empty() {
        return Vec::new();
    }
    vec![Finding::Differs { what: What::Event, at: 0, of: 1, differences }]
}

/// All JSON documents of a text; what is no JSON is told in their place.
fn documents(text: &str) -> Value {
    program::documents(text).map_or_else(|error| Value::from(format!("no JSON: {error}")), Value::Array)
}

fn unusable(message: &str) -> Vec<Finding> {
    vec![Finding::Message(message.to_owned())]
}
