//! `json`: text of a field to fields.

use crate::event::json::{JsonError, Numbers, Reader};
use crate::event::{
    EscapeStyle, Event, FieldError, FieldRef, Map, NameError, TIMESTAMP, Text, Timestamp, Value, text_form,
};
use crate::plugins::{Ecs, Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "json", summary: "Reads JSON text into fields.", build };

struct Json {
    source: FieldRef,
    target: Option<FieldRef>,
    skip_on_invalid_json: bool,
    tag_on_failure: Vec<String>,
    escape_style: EscapeStyle,
}

/// Why the text of an event did not become fields.
#[derive(Debug, thiserror::Error)]
enum JsonFailure {
    #[error("Error parsing json: {0}")]
    Syntax(#[from] JsonError),
    #[error("Error parsing json: the source is no text but {0}")]
    Source(&'static str),
    #[error("Parsed JSON object/hash requires a target configuration option: the text is no object but {0}")]
    NeedsTarget(&'static str),
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Key(#[from] NameError),
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let source = options.field("source").doc("Field that holds the text.").required();
    // The names are the same with and without ECS.
    let _ = Ecs::read(options);
    Box::new(Json {
        source,
        target: options.field("target").doc("Field that takes the data; without it the whole event.").optional(),
        skip_on_invalid_json: options
            .boolean("skip_on_invalid_json")
            .doc("Whether text that is no JSON is passed over without tag or log.")
            .default(false),
        tag_on_failure: options
            .strings("tag_on_failure")
            .doc("Tags of an event whose text cannot be used.")
            .default(vec!["_jsonparsefailure".to_owned()]),
        escape_style: options.context().escape_style,
    })
}

impl Filter for Json {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| match self.expand(event) {
            Ok(outcome) => outcome,
            Err(JsonFailure::Syntax(_) | JsonFailure::Source(_)) if self.skip_on_invalid_json => Outcome::Unmatched,
            Err(failure) => {
                tracing::warn!(target: "logstash.filters.json", source = %self.source, "{failure}");
                self.tag_on_failure.iter().for_each(|tag| event.tag(tag));
                Outcome::Unmatched
            }
        });
    }
}

impl Json {
    fn expand(&self, event: &mut Event) -> Result<Outcome, JsonFailure> {
        let text = match event.get(&self.source) {
            None | Some(Value::Null | Value::Bool(false)) => return Ok(Outcome::Unmatched),
            Some(Value::String(text)) => text.clone(),
            Some(other) => return Err(JsonFailure::Source(other.kind())),
        };
        let value = last_value(&text)?;
        match (&self.target, value) {
            (Some(target), value) => event.set(target, value)?,
            (None, Value::Map(map)) => self.set_all(event, map)?,
            (None, other) => return Err(JsonFailure::NeedsTarget(other.kind())),
        }
        Ok(Outcome::Matched)
    }

    /// Sets each key as a reference. `@timestamp` comes last, since it cannot fail.
    fn set_all(&self, event: &mut Event, mut map: Map) -> Result<(), JsonFailure> {
        let timestamp = map.remove(TIMESTAMP);
        for (key, value) in map {
            event.set_named(&key, self.escape_style, value)?;
        }
        match timestamp {
            None | Some(Value::Null | Value::Bool(false)) => {}
            Some(given) => set_timestamp(event, &given),
        }
        Ok(())
    }
}

/// The value of a text; of several ones the last, and null when there is none.
fn last_value(text: &Text) -> Result<Value, JsonError> {
    let mut reader = Reader::new(text, Numbers::Decimal);
    let mut last = Value::Null;
    while let Some(value) = reader.next_value()? {
        last = value;
    }
    Ok(last)
}

/// A time that cannot be read is kept as text, and the event takes place now.
fn set_timestamp(event: &mut Event, given: &Value) {
    if let Some(at) = given.as_str().and_then(Timestamp::parse) {
        return event.set_timestamp(at);
    }
    let mut text = Vec::new();
    text_form::write_ruby(given, &mut text);
    tracing::warn!(target: "logstash.filters.json", "Unrecognized @timestamp value, setting current time to @timestamp, \
        original in _@timestamp field");
    event.set_timestamp(Timestamp::now());
    event.tag("_timestampparsefailure");
    event.fields_mut().insert(Text::borrowed("_@timestamp"), text_form::utf8(text));
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::filtered;

    fn read(options: &str, event: &str) -> String {
        filtered(&format!("filter {{ json {{ source => \"m\" {options} }} }}"), &[event]).remove(0)
    }

    #[test]
    fn keys_at_the_top_are_references() {
        let event = r#"{"m":"{\"[a][b]\":1,\"a.b\":2,\"n\":1.10,\"m\":null}"}"#;
        assert_eq!(read("", event), r#"{"m":null,"a":{"b":1},"a.b":2,"n":1.10}"#);
        assert_eq!(
            read(r#"target => "t""#, event),
            event.replace("}\"}", "}\",\"t\":{\"[a][b]\":1,\"a.b\":2,\"n\":1.10,\"m\":null}}")
        );
    }

    #[test]
    fn a_key_that_cannot_be_set_fails_and_earlier_ones_stay() {
        for bad in [r#"\"a[b\":1"#, r#"\"tags\":5"#, r#"\"@metadata\":5"#] {
            let event = format!(r#"{{"m":"{{\"x\":1,{bad},\"y\":2}}"}}"#);
            let expected = event.replace("}\"}", "}\",\"x\":1,\"tags\":[\"_jsonparsefailure\"]}");
            assert_eq!(read("", &event), expected);
        }
    }

    /// logstash#4507
    #[test]
    fn any_number_of_keys_is_read_although_their_hashes_are_equal() {
        // Java gives `Aa` and `BB`, and all words of them, the same hash.
        let word = |n: u32| (0..12).map(|bit| if n >> bit & 1 == 0 { "Aa" } else { "BB" }).collect::<String>();
        let keys: Vec<String> = (0..4096).map(|n| format!(r#"\"{}\":{n}"#, word(n))).collect();
        let read = read(r#"target => "t" remove_field => "m""#, &format!(r#"{{"m":"{{{}}}"}}"#, keys.join(",")));
        let read: serde_json::Value = serde_json::from_str(&read).unwrap();
        let read = read["t"].as_object().unwrap();
        assert_eq!(read.len(), 4096);
        assert!((0..4096).all(|n| read[&word(n)] == n));
    }

    #[test]
    fn of_several_values_the_last_one_counts() {
        assert_eq!(read(r#"target => "t""#, r#"{"m":"{\"a\":1} 5"}"#), r#"{"m":"{\"a\":1} 5","t":5}"#);
        assert_eq!(read(r#"target => "t""#, r#"{"m":" "}"#), r#"{"m":" ","t":null}"#);
        assert_eq!(read(r#"target => "t""#, r#"{"m":"{} x"}"#), r#"{"m":"{} x","tags":["_jsonparsefailure"]}"#);
    }

    #[test]
    fn what_is_no_json_is_tagged_unless_that_is_switched_off() {
        for event in [r#"{"m":"x"}"#, r#"{"m":5}"#, r#"{"m":[]}"#] {
            assert_eq!(read("", event), event.replace('}', r#","tags":["_jsonparsefailure"]}"#));
            assert_eq!(read("skip_on_invalid_json => true", event), event);
        }
        for event in [r#"{"m":null}"#, r#"{"m":false}"#, "{}"] {
            assert_eq!(read(r#"add_tag => "x""#, event), event);
        }
        let needs_target = read("skip_on_invalid_json => true", r#"{"m":"[1]"}"#);
        assert_eq!(needs_target, r#"{"m":"[1]","tags":["_jsonparsefailure"]}"#);
    }
}
