//! `dlq`: sends events to the pipeline's dead letter queue, with a reason of the user's own.

use super::failure::Burial;
use crate::event::Template;
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "dlq", summary: "Sends events to the dead letter queue; use it under an `if`.", build };

struct Dlq {
    reason: Template,
    burial: Burial,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let reason = options.template("reason").doc("Why; stands in the entry's reason.").required();
    let burial = Burial::read(options);
    burial.must_be_possible(options, "");
    Box::new(Dlq { reason, burial })
}

impl Filter for Dlq {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            let reason = self.reason.render(event);
            self.burial.bury(event, &reason);
            Outcome::Unmatched
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::dead_letter::{Settings, Writer};
    use crate::plugins::testing::{compiled, compiled_with, event, json, run_filters};
    use crate::plugins::{DeadLetterQueue, Stop};

    fn run(config: &str, max_bytes: u64, events: usize) -> (Vec<String>, u64) {
        run_until(&Stop::new(), config, max_bytes, events)
    }

    fn run_until(stop: &Stop, config: &str, max_bytes: u64, events: usize) -> (Vec<String>, u64) {
        let folder = tempfile::tempdir().unwrap();
        let queue = DeadLetterQueue::new(true, stop.clone());
        let mut settings = Settings::new(folder.path().join("main"));
        settings.max_bytes = max_bytes;
        queue.attach(Writer::open(settings).unwrap());
        let compiled = compiled_with(config, queue.clone()).unwrap();
        let events = (0..events).map(|n| event(&format!(r#"{{"n":{n}}}"#))).collect();
        let out = run_filters(&compiled, events).iter().map(json).collect();
        (out, queue.writer().unwrap().stats().dropped_events)
    }

    #[test]
    fn the_event_leaves_the_pipeline_and_is_in_the_queue() {
        let config = r#"filter { if [n] == 1 { dlq { reason => "BAD: n is %{n}" add_tag => ["no"] } } }"#;
        assert_eq!(run(config, 1 << 30, 3), (vec![r#"{"n":0}"#.to_owned(), r#"{"n":2}"#.to_owned()], 0));
    }

    #[test]
    fn a_full_queue_tags_or_drops() {
        let tagged = vec![r#"{"n":0,"tags":["_dlqfull"]}"#.to_owned()];
        assert_eq!(run(r#"filter { dlq { reason => "x" } }"#, 1, 1), (tagged, 1));
        assert_eq!(run(r#"filter { dlq { reason => "x" on_dlq_full => drop } }"#, 1, 1), (vec![], 1));
    }

    #[test]
    fn waiting_for_room_is_not_counted_as_dropping() {
        let stop = Stop::new();
        stop.cancel();
        // There is room for the first one only.
        let config = r#"filter { dlq { reason => "x" on_dlq_full => block } }"#;
        assert_eq!(run_until(&stop, config, 500, 2), (vec![], 0));
    }

    #[test]
    fn without_a_dead_letter_queue_the_pipeline_does_not_start() {
        let errors = compiled(r#"filter { dlq { reason => "x" } }"#).err().unwrap();
        assert!(errors.contains("dead_letter_queue.enable"), "{errors}");
    }
}
