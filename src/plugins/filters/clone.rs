//! `clone`: copies of an event, each with a name.

use crate::event::{Event, Text};
use crate::plugins::{Ecs, Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "clone", summary: "Makes copies of events.", build };

struct Clone {
    names: Vec<Text>,
    ecs: Ecs,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let names = options.strings("clones").doc("A name for each copy, put into `tags`, or `type` without ECS.");
    let names = names.required();
    if options.is_set("clones") && names.is_empty() {
        options.warn("clones", "no-effect", "the clone filter without names makes no copies");
    }
    Box::new(Clone { names: names.into_iter().map(Text::from).collect(), ecs: Ecs::read(options) })
}

impl Filter for Clone {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        // The common options are for the copies only.
        batch.each_emitting(|event, emitter| {
            for name in &self.names {
                emitter.emit(self.copy(event, name), Outcome::Matched);
            }
            Outcome::Unmatched
        });
    }
}

impl Clone {
    fn copy(&self, event: &Event, name: &Text) -> Event {
        let mut copy = event.clone();
        if self.ecs.is_disabled() {
            copy.fields_mut().insert(Text::borrowed("type"), name.clone());
        } else {
            copy.append_tag(name.clone());
        }
        copy
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered};

    #[test]
    fn copies_follow_the_original_and_take_the_common_options() {
        let config = r#"filter { clone { clones => ["a", "b"] add_field => { "c" => "1" } remove_field => ["m"] } }"#;
        assert_eq!(
            filtered(config, &[r#"{"m":1,"tags":["t"]}"#]),
            [r#"{"m":1,"tags":["t"]}"#, r#"{"tags":["t","a"],"c":"1"}"#, r#"{"tags":["t","b"],"c":"1"}"#]
        );
        let config =
            r#"filter { clone { ecs_compatibility => disabled clones => "x" } mutate { rename => { "m" => "n" } } }"#;
        assert_eq!(filtered(config, &[r#"{"m":1}"#]), [r#"{"n":1}"#, r#"{"type":"x","n":1}"#]);
    }

    #[test]
    fn clones_must_be_given_but_may_be_empty() {
        assert!(compiled("filter { clone { } }").is_err_and(|errors| errors.contains("`clones`")));
        assert_eq!(filtered("filter { clone { clones => [] } }", &["{}"]), ["{}"]);
    }
}
