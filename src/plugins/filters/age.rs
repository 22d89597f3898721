//! `age`: how many seconds ago an event took place.

use crate::event::{Clock, FieldRef, METADATA, Timestamp};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "age", summary: "Tells how old an event is.", build };

struct Age {
    clock: Clock,
    target: FieldRef,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let clock = options.context().clock.clone();
    let target = options.field("target").doc("Field that takes the seconds.");
    Box::new(Age { clock, target: target.default(FieldRef::path_of(&[METADATA, "age"])) })
}

impl Filter for Age {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let now = self.clock.now();
        batch.each(|event| {
            let Some(at) = event.timestamp() else { return Outcome::Unmatched };
            match event.set(&self.target, seconds_between(at, now)) {
                Ok(()) => Outcome::Matched,
                Err(error) => {
                    tracing::warn!(target: "logstash.filters.age", target = %self.target, "{error}");
                    Outcome::Unmatched
                }
            }
        });
    }
}

fn seconds_between(from: Timestamp, to: Timestamp) -> f64 {
    (to.seconds() - from.seconds()) as f64 + (f64::from(to.nanos()) - f64::from(from.nanos())) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{compiled, event, run_filters};

    #[test]
    fn seconds_have_a_fraction_and_may_be_negative() {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        assert_eq!(seconds_between(at("2020-01-01T00:00:00.750Z"), at("2020-01-01T00:01:00.500Z")), 59.75);
        assert_eq!(seconds_between(at("2020-01-01T00:00:01Z"), at("2020-01-01T00:00:00.500Z")), -0.5);
    }

    #[test]
    fn the_age_goes_to_the_metadata() {
        let compiled = compiled("filter { age { add_tag => [\"t\"] } }").unwrap();
        let events = run_filters(&compiled, vec![event(r#"{"@timestamp":"2020-01-01T00:00:00Z"}"#)]);
        let Some(crate::event::Value::Float(age)) = events[0].metadata().get("age") else { panic!("{events:?}") };
        assert!(*age > 1e8);
        assert!(events[0].fields().contains_key("tags"));
    }
}
