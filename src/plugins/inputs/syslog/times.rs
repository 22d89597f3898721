//! The times of lines that came together: most of them are the same.

use std::cell::RefCell;

use crate::event::{Event, Text, Timestamp, Value};
use crate::plugins::filters::date::{DateReader, LastRead};

/// How the times of syslog lines are written.
pub(super) const FORMATS: [&str; 4] = ["MMM dd HH:mm:ss", "MMM  d HH:mm:ss", "MMM d HH:mm:ss", "ISO8601"];

/// Remembers the time that was read last.
#[derive(Default)]
pub(super) struct Times {
    last: RefCell<LastRead>,
}

impl Times {
    /// The instant that a text names.
    pub fn read(&self, dates: &DateReader, event: &Event, text: &Text) -> Option<Timestamp> {
        let read = || dates.instant(event, &Value::String(text.clone()));
        if dates.is_fixed() { self.last.borrow_mut().or_read(text, read) } else { read() }
    }
}
