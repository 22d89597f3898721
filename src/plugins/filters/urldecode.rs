//! `urldecode`: `%XX` to the bytes it stands for.

use crate::event::{Bytes, Event, FieldRef, Map, Text, Value};
use crate::plugins::codecs::charset::Charset;
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "urldecode", summary: "Decodes percent escapes.", build };

struct UrlDecode {
    /// All top-level fields when there is none.
    field: Option<FieldRef>,
    charset: Charset,
    tag_on_failure: Vec<String>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let field = options.field("field").doc("Field to decode.").default(FieldRef::top("message"));
    let all_fields = options.boolean("all_fields").doc("Whether every field is decoded.").default(false);
    let charset = Charset::read(options);
    let tag_on_failure = options
        .strings("tag_on_failure")
        .doc("Tags of an event whose field cannot be set.")
        .default(vec!["_urldecodefailure".to_owned()]);
    Box::new(UrlDecode { field: (!all_fields).then_some(field), charset, tag_on_failure })
}

impl Filter for UrlDecode {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            let Some(field) = &self.field else {
                self.decode_all(event.fields_mut());
                return Outcome::Matched;
            };
            if self.decode_field(event, field) {
                return Outcome::Matched;
            }
            self.tag_on_failure.iter().for_each(|tag| event.tag(tag));
            Outcome::Unmatched
        });
    }
}

impl UrlDecode {
    /// Whether it worked: a field that is missing becomes null, which not every field can be.
    fn decode_field(&self, event: &mut Event, field: &FieldRef) -> bool {
        if let Some(value) = event.get_mut(field) {
            self.decode(value);
            return true;
        }
        let set = event.set(field, Value::Null);
        if let Err(error) = &set {
            tracing::warn!(target: "logstash.filters.urldecode", field = %field, "{error}");
        }
        set.is_ok()
    }

    fn decode_all(&self, map: &mut Map) {
        map.iter_mut().for_each(|(_, value)| self.decode(value));
    }

    fn decode(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(decoded) = self.decoded(text) {
                    *text = decoded;
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|value| self.decode(value)),
            Value::Map(map) => self.decode_all(map),
            _ => {}
        }
    }

    /// `None` when the text stays as it is.
    fn decoded(&self, text: &Text) -> Option<Text> {
        if memchr::memchr(b'%', text.as_bytes()).is_none() {
            let is_kept = self.charset.is_utf8() || text.is_ascii();
            return (!is_kept).then(|| self.charset.text(Bytes::from(text.as_bytes())));
        }
        let bytes = text.as_bytes();
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let escaped = if byte == b'%' { escape(bytes.get(at + 1..at + 3)) } else { None };
            out.push(escaped.unwrap_or(byte));
            at += if escaped.is_some() { 3 } else { 1 };
        }
        Some(self.charset.text(Bytes::from(out)))
    }
}

/// The byte of two hexadecimal digits.
fn escape(digits: Option<&[u8]>) -> Option<u8> {
    let digit = |b: &u8| char::from(*b).to_digit(16);
    let (high, low) = (digit(digits?.first()?)?, digit(digits?.get(1)?)?);
    u8::try_from(high * 16 + low).ok()
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered};

    fn decode(options: &str, event: &str) -> String {
        filtered(&format!("filter {{ urldecode {{ {options} }} }}"), &[event]).remove(0)
    }

    #[test]
    fn only_whole_escapes_are_decoded() {
        assert_eq!(decode("", r#"{"message":"a%20b+c%2Fd%3f%zz%4%"}"#), r#"{"message":"a b+c/d?%zz%4%"}"#);
        assert_eq!(decode("", r#"{"message":"%2541"}"#), r#"{"message":"%41"}"#);
        assert_eq!(decode("", r#"{"message":"é%C3%A9"}"#), r#"{"message":"éé"}"#);
    }

    #[test]
    fn bytes_are_read_in_the_character_set() {
        assert_eq!(decode(r#"charset => "ISO-8859-1""#, r#"{"message":"caf%E9"}"#), r#"{"message":"café"}"#);
        assert_eq!(decode("", r#"{"message":"caf%E9"}"#), r#"{"message":"caf\\xE9"}"#);
        assert!(compiled(r#"filter { urldecode { charset => "none" } }"#).is_err());
    }

    #[test]
    fn a_field_that_is_missing_becomes_null_or_a_failure() {
        assert_eq!(decode(r#"field => "x" add_tag => ["t"]"#, "{}"), r#"{"x":null,"tags":["t"]}"#);
        let failed = r#"{"x":1,"tags":["_urldecodefailure"]}"#;
        assert_eq!(decode(r#"field => "[x][y]" add_tag => ["t"]"#, r#"{"x":1}"#), failed);
        assert_eq!(decode(r#"field => "[x][y]" tag_on_failure => []"#, r#"{"x":1}"#), r#"{"x":1}"#);
    }

    #[test]
    fn all_fields_means_values_and_not_names() {
        let event = r#"{"a%20":"x%20y","b":{"c%41":["%41",1]}}"#;
        assert_eq!(decode("all_fields => true", event), r#"{"a%20":"x y","b":{"c%41":["A",1]}}"#);
    }
}
