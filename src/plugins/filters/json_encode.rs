//! `json_encode`: a value to its JSON text.

use crate::event::{FieldRef, Value, json, text_form};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "json_encode", summary: "Writes a field as JSON text.", build };

struct JsonEncode {
    source: FieldRef,
    target: FieldRef,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let source = options.field("source").doc("Field to write.").required();
    let target = options.field("target").doc("Field that takes the text; without it `source`.").optional();
    let target = target.unwrap_or_else(|| source.clone());
    Box::new(JsonEncode { source, target })
}

impl Filter for JsonEncode {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            let mut text = Vec::new();
            let value = event.value_of(&self.source);
            json::write_value(value.as_ref().unwrap_or(&Value::Null), &mut text);
            match event.set(&self.target, text_form::utf8(text)) {
                Ok(()) => Outcome::Matched,
                Err(error) => {
                    tracing::warn!(target: "logstash.filters.json_encode", target = %self.target, "{error}");
                    event.tag("_jsongeneratefailure");
                    Outcome::Unmatched
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::filtered;

    fn encode(options: &str, event: &str) -> String {
        filtered(&format!("filter {{ json_encode {{ {options} }} }}"), &[event]).remove(0)
    }

    #[test]
    fn any_value_becomes_text() {
        let event = r#"{"a":{"b":[1,2.5,null,"q\"é/"]}}"#;
        assert_eq!(encode(r#"source => "a""#, event), r#"{"a":"{\"b\":[1,2.5,null,\"q\\\"é/\"]}"}"#);
        assert_eq!(encode(r#"source => "x" target => "y""#, "{}"), r#"{"y":"null"}"#);
        assert_eq!(
            encode(r#"source => "@metadata" target => "m""#, r#"{"@metadata":{"k":1}}"#),
            r#"{"m":"{\"k\":1}"}"#
        );
    }

    #[test]
    fn a_text_that_cannot_be_set_is_tagged() {
        let options = r#"source => "a" target => "[a][b]" add_tag => ["t"]"#;
        assert_eq!(encode(options, r#"{"a":1}"#), r#"{"a":1,"tags":["_jsongeneratefailure"]}"#);
    }
}
