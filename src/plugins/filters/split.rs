//! `split`: one event for each part of a text, or each element of a list.

use crate::event::{Event, FieldRef, Text, Value};
use crate::plugins::{Emitter, Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "split", summary: "Makes one event of each part of a text or list.", build };

const FAILURE: &str = "_split_type_failure";

struct Split {
    field: FieldRef,
    target: Option<FieldRef>,
    terminator: String,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let field = options.field("field").doc("Field to take apart.").default(FieldRef::top("message"));
    let terminator =
        options.string("terminator").doc("What stands between two parts of a text.").default("\n".to_owned());
    let target = options.field("target").doc("Field that takes the part; without it `field`.").optional();
    Box::new(Split { field, target, terminator })
}

impl Filter for Split {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        // The common options are for the parts only.
        batch.each_emitting(|event, emitter| {
            match event.get(&self.field) {
                Some(Value::String(text)) => {
                    let Some(parts) = self.parts(text) else { return Outcome::Unmatched };
                    self.emit(event, parts, emitter);
                }
                Some(Value::Array(list)) => {
                    let parts = list.iter().filter(|part| !is_nothing(part)).cloned().collect();
                    self.emit(event, parts, emitter);
                }
                other => {
                    let kind = other.map_or("missing", Value::kind);
                    tracing::warn!(target: "logstash.filters.split", field = %self.field,
                        "Only String and Array types are splittable, the field is {kind}");
                    event.tag(FAILURE);
                }
            }
            Outcome::Unmatched
        });
    }
}

impl Split {
    /// The parts of a text that are not empty; `None` when it has no terminator and stays as it is.
    fn parts(&self, text: &Text) -> Option<Vec<Value>> {
        let is_whole = self.terminator.is_empty() || !text.contains(self.terminator.as_str());
        if is_whole && !text.is_empty() {
            return None;
        }
        let parts = text.as_str().split(self.terminator.as_str()).filter(|part| !part.is_empty());
        Some(parts.map(|part| Value::String(text.part(part))).collect())
    }

    /// Puts a copy for each part behind the event, which goes.
    fn emit(&self, event: &mut Event, parts: Vec<Value>, emitter: &mut Emitter) {
        if parts.is_empty() {
            tracing::warn!(target: "logstash.filters.split", field = %self.field,
                "an event was dropped, since there is nothing in the field to make events of");
        }
        if self.target.is_none()
            && let Some(slot) = event.get_mut(&self.field)
        {
            // The copies need the parts, not the whole.
            *slot = Value::Null;
        }
        for part in parts {
            let mut copy = event.clone();
            let outcome = match copy.set(self.target.as_ref().unwrap_or(&self.field), part) {
                Ok(()) => Outcome::Matched,
                Err(error) => {
                    tracing::warn!(target: "logstash.filters.split", field = %self.field, "{error}");
                    copy.tag(FAILURE);
                    Outcome::Unmatched
                }
            };
            emitter.emit(copy, outcome);
        }
        event.cancel();
    }
}

fn is_nothing(part: &Value) -> bool {
    part.is_null() || part.as_str().is_some_and(str::is_empty)
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::filtered;

    #[test]
    fn parts_take_the_place_of_the_event_and_the_common_options() {
        let config = r#"filter { split { add_tag => ["s"] } mutate { add_field => { "n" => "%{message}" } } }"#;
        assert_eq!(
            filtered(config, &[r#"{"message":"a\nb","x":1}"#, r#"{"message":"c","x":2}"#]),
            [
                r#"{"message":"a","x":1,"tags":["s"],"n":"a"}"#,
                r#"{"message":"b","x":1,"tags":["s"],"n":"b"}"#,
                r#"{"message":"c","x":2,"n":"c"}"#
            ]
        );
        assert_eq!(filtered(config, &[r#"{"message":"a\n"}"#]), [r#"{"message":"a","tags":["s"],"n":"a"}"#]);
    }

    #[test]
    fn nothing_to_make_events_of_drops_the_event() {
        for message in [r#""""#, r#""\n\n""#, "[]", r#"[null,""]"#] {
            let event = format!(r#"{{"message":{message}}}"#);
            assert!(filtered("filter { split { } }", &[&event]).is_empty(), "{message}");
        }
    }

    #[test]
    fn a_part_that_cannot_be_set_is_tagged() {
        let config = r#"filter { split { field => "l" target => "[m][x]" add_tag => ["s"] } }"#;
        assert_eq!(
            filtered(config, &[r#"{"l":["a"],"m":1}"#]),
            [r#"{"l":["a"],"m":1,"tags":["_split_type_failure"]}"#]
        );
    }

    #[test]
    fn metadata_is_copied_and_can_be_split() {
        let config = r#"filter { split { field => "[@metadata][l]" } mutate { copy => { "[@metadata]" => "m" } } }"#;
        assert_eq!(
            filtered(config, &[r#"{"@metadata":{"l":["a","b"],"k":1}}"#]),
            [r#"{"m":{"l":"a","k":1}}"#, r#"{"m":{"l":"b","k":1}}"#]
        );
    }
}
