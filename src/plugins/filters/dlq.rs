//! `dlq`: sends events to the pipeline's dead letter queue, with a reason of the user's own.

use crate::event::{Event, Template};
use crate::plugins::{DeadLetters, Filter, FilterBatch, FilterPlugin, Options, Outcome, Sent};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "dlq", summary: "Sends events to the dead letter queue; use it under an `if`.", build };

/// Tag of an event that goes on since the queue is full.
const FULL: &str = "_dlqfull";

struct Dlq {
    reason: Template,
    when_full: WhenFull,
    dead_letters: DeadLetters,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WhenFull {
    Tag,
    Drop,
    Block,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let reason = options.template("reason").doc("Why; stands in the entry's reason.").required();
    let when_full = options
        .word("on_dlq_full", &["tag", "drop", "block"])
        .doc("With a full queue the event goes on with the tag `_dlqfull`, is dropped, or waits.")
        .default("tag".to_owned());
    let dead_letters = options.context().dead_letters.clone();
    if !dead_letters.is_enabled() {
        let message =
            "the dlq filter needs the dead letter queue: set `dead_letter_queue.enable: true` for this pipeline";
        options.invalid("", message);
    }
    let when_full = match when_full.as_str() {
        "drop" => WhenFull::Drop,
        "block" => WhenFull::Block,
        _ => WhenFull::Tag,
    };
    Box::new(Dlq { reason, when_full, dead_letters })
}

impl Filter for Dlq {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            if self.send(event) == Sent::Refused && self.when_full == WhenFull::Tag {
                event.tag(FULL);
            } else {
                // Also when it was not stored: its batch is not acknowledged and comes again.
                event.cancel();
            }
            Outcome::Unmatched
        });
    }
}

impl Dlq {
    fn send(&self, event: &Event) -> Sent {
        let reason = self.reason.render(event);
        match self.when_full {
            WhenFull::Block => self.dead_letters.send_when_there_is_room(event, &reason),
            WhenFull::Tag | WhenFull::Drop => self.dead_letters.send(event, &reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::dead_letter::{Settings, Writer};
    use crate::plugins::testing::{compiled, compiled_with, event, json, run_filters};
    use crate::plugins::{DeadLetterQueue, Stop};

    fn run(config: &str, max_bytes: u64, events: usize) -> (Vec<String>, u64) {
        let folder = tempfile::tempdir().unwrap();
        let queue = DeadLetterQueue::new(true, Stop::new());
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
    fn without_a_dead_letter_queue_the_pipeline_does_not_start() {
        let errors = compiled(r#"filter { dlq { reason => "x" } }"#).err().unwrap();
        assert!(errors.contains("dead_letter_queue.enable"), "{errors}");
    }
}
