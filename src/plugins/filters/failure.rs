//! Where the events go that a filter does not let pass: the dead letter queue, with what happens when that is full.

use crate::event::Event;
use crate::plugins::{DeadLetters, Options, Sent};

/// Tag of an event that goes on since the queue is full.
const FULL: &str = "_dlqfull";

/// A filter's way to the dead letter queue.
pub(super) struct Burial {
    dead_letters: DeadLetters,
    when_full: WhenFull,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WhenFull {
    Tag,
    Drop,
    Block,
}

impl Burial {
    /// Reads `on_dlq_full`.
    pub fn read(options: &mut Options<'_>) -> Self {
        let when_full = options
            .word("on_dlq_full", &["tag", "drop", "block"])
            .doc("With a full queue the event goes on with the tag `_dlqfull`, is dropped, or waits.")
            .default("tag".to_owned());
        let when_full = match when_full.as_str() {
            "drop" => WhenFull::Drop,
            "block" => WhenFull::Block,
            _ => WhenFull::Tag,
        };
        Self { dead_letters: options.context().dead_letters.clone(), when_full }
    }

    /// Reports that the pipeline has no dead letter queue. `name` is the option that asks for it; none is the block.
    pub fn must_be_possible(&self, options: &mut Options<'_>, name: &str) {
        if !self.dead_letters.is_enabled() {
            let asks = if name.is_empty() { String::new() } else { format!(" with `{name} => \"dlq\"`") };
            let message = format!(
                "the {}{asks} needs the dead letter queue: set `dead_letter_queue.enable: true` for this pipeline",
                options.owner()
            );
            options.invalid(name, message);
        }
    }

    /// Sends an event with a reason and takes it out of the pipeline. `false` when it goes on with a tag, since the
    /// queue is full. One that could not be stored before the stop is cancelled too: its batch is not acknowledged and
    /// comes again.
    pub fn bury(&self, event: &mut Event, reason: &str) -> bool {
        let sent = match self.when_full {
            WhenFull::Block => self.dead_letters.send_when_there_is_room(event, reason),
            WhenFull::Tag | WhenFull::Drop => self.dead_letters.send(event, reason),
        };
        if sent == Sent::Refused && self.when_full == WhenFull::Tag {
            event.tag(FULL);
            return false;
        }
        event.cancel();
        true
    }
}

/// What becomes of an event that failed (`on_failure`).
pub(super) enum OnFailure {
    /// It goes on with a tag.
    Tag,
    /// It goes to the dead letter queue.
    Bury(Burial),
    /// It is dropped.
    Drop,
}

impl OnFailure {
    /// Reads `on_failure` and `on_dlq_full`.
    pub fn read(options: &mut Options<'_>) -> Self {
        let word = options
            .word("on_failure", &["tag", "dlq", "drop"])
            .doc("An event that fails goes on with a tag, to the dead letter queue, or nowhere.")
            .default("tag".to_owned());
        let burial = Burial::read(options);
        match word.as_str() {
            "drop" => Self::Drop,
            "dlq" => {
                burial.must_be_possible(options, "on_failure");
                Self::Bury(burial)
            }
            _ => Self::Tag,
        }
    }

    /// Does what is asked for with an event that failed. `reason` is for the dead letter queue.
    pub fn apply(&self, event: &mut Event, reason: impl FnOnce() -> String) -> Fate {
        match self {
            Self::Tag => Fate::GoesOn,
            Self::Drop => {
                event.cancel();
                Fate::Dropped
            }
            Self::Bury(burial) if burial.bury(event, &reason()) => Fate::Buried,
            Self::Bury(_) => Fate::GoesOn,
        }
    }
}

/// What became of an event that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stays in the pipeline, and wants the filter's tag.
    GoesOn,
    /// It was taken out for the dead letter queue.
    Buried,
    /// It was dropped.
    Dropped,
}
