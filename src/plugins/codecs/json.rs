//! `json`: a chunk is one object, or a list of objects.

use super::charset::Charset;
use super::message;
use std::sync::Arc;

use crate::event::json::{Numbers, Reader};
use crate::event::{Bytes, Event, FieldRef, Map, Text, Timestamp, Value};
use crate::plugins::{Codec, CodecPlugin, Decoder, Decoders, Ecs, EncodeError, Encoder, Options};

/// The plugin.
pub const PLUGIN: CodecPlugin = CodecPlugin { name: "json", summary: "JSON objects, or lists of them.", build };

fn build(options: &mut Options<'_>) -> Codec {
    let documents = Documents::read(options);
    let keep_original = !Ecs::read(options).is_disabled();
    Codec {
        decoders: Some(Decoders::new(move || JsonDecoder { documents: documents.clone(), keep_original })),
        encoder: Some(Arc::new(JsonEncoder)),
    }
}

/// How JSON text becomes events: the options that `json` and `json_lines` share.
#[derive(Clone)]
pub(super) struct Documents {
    charset: Charset,
    target: Option<FieldRef>,
}

impl Documents {
    /// Declares and reads the options.
    pub fn read(options: &mut Options<'_>) -> Self {
        let charset = Charset::read(options);
        let target = options.field("target").doc("Field that takes the data; without it the whole event.").optional();
        Self { charset, target }
    }

    /// The character set of the texts.
    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// Appends the events of one text: none when it is blank, one with a failure tag when it is no JSON or holds
    /// anything but objects. Text behind the first value is ignored. `false` after a failure.
    pub fn decode(&self, text: &Text, out: &mut Vec<Event>) -> bool {
        let first = out.len();
        let decoded = self.try_decode(text, out);
        if let Err(problem) = &decoded {
            out.truncate(first);
            out.push(failure(text, problem));
        }
        decoded.is_ok()
    }

    fn try_decode(&self, text: &Text, out: &mut Vec<Event>) -> Result<(), String> {
        match Reader::new(text, Numbers::Double).next_value().map_err(|e| e.to_string())? {
            None => Ok(()),
            Some(Value::Map(map)) => self.push(map, out),
            Some(Value::Array(list)) => list.into_iter().try_for_each(|value| match value {
                Value::Map(map) => self.push(map, out),
                other => Err(format!("a list holds {}, not only objects", other.kind())),
            }),
            Some(other) => Err(format!("expected an object or a list of objects, got {}", other.kind())),
        }
    }

    fn push(&self, map: Map, out: &mut Vec<Event>) -> Result<(), String> {
        let event = match &self.target {
            None => Event::from_map(map),
            Some(target) => {
                let mut event = Event::new();
                event.set(target, map).map_err(|e| e.to_string())?;
                event
            }
        };
        out.push(event);
        Ok(())
    }
}

/// An event that keeps what is no JSON as text.
fn failure(text: &Text, problem: &str) -> Event {
    tracing::warn!(target: "logstash.codecs.json",
        "JSON parse error, original data now in message field: {problem}");
    let mut event = Event::from_message(text.clone(), Timestamp::now());
    event.tag("_jsonparsefailure");
    event
}

struct JsonDecoder {
    documents: Documents,
    keep_original: bool,
}

impl Decoder for JsonDecoder {
    fn decode(&mut self, chunk: Bytes, out: &mut Vec<Event>) {
        let text = self.documents.charset.text(chunk);
        let first = out.len();
        let decoded = self.documents.decode(&text, out);
        if let [only] = out.get_mut(first..).unwrap_or_default()
            && self.keep_original
            && decoded
        {
            message::keep_original(only, text);
        }
    }
}

/// Compact JSON without metadata; nothing stands between documents.
pub(super) struct JsonEncoder;

impl Encoder for JsonEncoder {
    fn encode(&self, event: &Event, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        event.write_json(out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{decoded, encoded, json};

    fn shown(codec: &str, text: &str) -> Vec<String> {
        decoded(codec, &[text.as_bytes()]).iter().map(json).collect()
    }

    #[test]
    fn objects_and_lists_of_them_are_events() {
        assert_eq!(shown("json { }", r#"{"a":1}"#), [r#"{"a":1,"event":{"original":"{\"a\":1}"}}"#]);
        assert_eq!(shown("json { }", r#"[{"a":1},{"b":2}] junk"#), [r#"{"a":1}"#, r#"{"b":2}"#]);
        assert_eq!(shown("json { }", r#"{"event":{"original":"x"}}"#), [r#"{"event":{"original":"x"}}"#]);
        assert!(shown("json { }", " \n").is_empty());
        assert!(shown("json { }", "[]").is_empty());
        let codec = r#"json { ecs_compatibility => disabled target => "[p][q]" }"#;
        assert_eq!(
            shown(codec, r#"{"@timestamp":"nope","tags":{"x":1}}"#),
            [r#"{"p":{"q":{"@timestamp":"nope","tags":{"x":1}}}}"#]
        );
    }

    #[test]
    fn anything_else_is_kept_as_text_with_a_tag() {
        for text in [r#"{"a":"#, "5", "null", r#"[{"a":1},2]"#, r#""x""#, "{'a':1}"] {
            let events = decoded("json { }", &[text.as_bytes()]);
            assert_eq!(events.len(), 1, "{text}");
            assert_eq!(events[0].fields().get("message").unwrap().as_str(), Some(text));
            assert!(json(&events[0]).ends_with(r#""tags":["_jsonparsefailure"]}"#), "{text}");
            assert!(!events[0].fields().contains_key("event"));
        }
    }

    #[test]
    fn hostile_nesting_is_a_failure() {
        for text in ["[".repeat(100_000), "{\"a\":".repeat(100_000), "9".repeat(100_000)] {
            let events = decoded("json { }", &[text.as_bytes()]);
            assert_eq!(events.len(), 1);
            assert!(events[0].fields().contains_key("tags"));
        }
    }

    #[test]
    fn documents_are_compact_and_without_metadata() {
        let event = r#"{"@timestamp":"2020-01-02T03:04:05.006Z","m":"é/<\u0001","f":1e7,"@metadata":{"x":1}}"#;
        let expected = r#"{"@timestamp":"2020-01-02T03:04:05.006Z","m":"é/<\u0001","f":1.0E7,"@version":"1"}"#;
        assert_eq!(encoded("json { }", &[event, event]), format!("{expected}{expected}"));
        assert_eq!(encoded(r#"json_lines { delimiter => ";" }"#, &[event]), format!("{expected};"));
    }
}
