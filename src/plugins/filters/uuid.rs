//! `uuid`: a random identifier for each event.

use uuid::Uuid;
use uuid::fmt::Hyphenated;

use crate::event::{FieldRef, Text, Value};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "uuid", summary: "Puts a random UUID into a field of each event.", build };

struct RandomId {
    target: FieldRef,
    overwrite: bool,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let target = options.field("target").doc("Field that takes the identifier.").required();
    let overwrite = options.boolean("overwrite").doc("Whether a value that is there is replaced.").default(false);
    Box::new(RandomId { target, overwrite })
}

impl Filter for RandomId {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            if !self.overwrite && event.get(&self.target).is_some_and(|value| !value.is_null()) {
                return Outcome::Matched;
            }
            let mut text = [0; Hyphenated::LENGTH];
            let text = Text::from(&*Uuid::new_v4().hyphenated().encode_lower(&mut text));
            match event.set(&self.target, Value::String(text)) {
                Ok(()) => Outcome::Matched,
                Err(error) => {
                    tracing::warn!(target: "logstash.filters.uuid", target = %self.target, "{error}");
                    Outcome::Unmatched
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, event, filtered, run_filters};

    fn id_of(options: &str, given: &str) -> String {
        let config = format!(
            r#"filter {{ uuid {{ target => "[a][id]" {options} add_field => {{ "m" => "%{{[a][id]}}" }} }} }}"#
        );
        let events = run_filters(&compiled(&config).unwrap(), vec![event(given)]);
        events[0].fields().get("m").and_then(|id| id.as_str()).unwrap().to_owned()
    }

    #[test]
    fn every_event_gets_a_random_id_of_version_4() {
        let (one, other) = (id_of("", "{}"), id_of("", r#"{"a":{"id":null}}"#));
        for id in [&one, &other] {
            let id = uuid::Uuid::parse_str(id).unwrap();
            assert_eq!(id.get_version_num(), 4);
        }
        assert_ne!(one, other);
    }

    #[test]
    fn an_id_that_is_there_is_kept_unless_it_may_be_overwritten() {
        assert_eq!(id_of("", r#"{"a":{"id":"mine"}}"#), "mine");
        assert_ne!(id_of("overwrite => true", r#"{"a":{"id":"mine"}}"#), "mine");
    }

    #[test]
    fn a_field_that_cannot_be_set_leaves_the_event_alone() {
        let config = r#"filter { uuid { target => "[a][id]" add_tag => ["no"] } }"#;
        assert_eq!(filtered(config, &[r#"{"a":1}"#]), [r#"{"a":1}"#]);
        assert!(compiled("filter { uuid { } }").is_err_and(|errors| errors.contains("`target`")));
    }
}
