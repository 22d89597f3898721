//! Events that end their interpreter.

use crate::event::Event;
use crate::plugins::{DeadLetters, Sent};

/// An event that ends the interpreter goes to the dead letter queue if there is one, and on with its tag if there is none.
pub fn bury(dead_letters: &DeadLetters, event: &mut Event, reason: &str) {
    match dead_letters.send(event, reason) {
        // What could not be stored before the stop is not acknowledged, and comes again.
        Sent::Stored | Sent::NotStored => event.cancel(),
        Sent::Refused | Sent::Skipped => {}
    }
}
