//! The times of lines that came together: most of them are the same.

use std::cell::RefCell;

use crate::event::{Event, Text, Timestamp, Value};
use crate::plugins::filters::date::DateReader;

/// How the times of syslog lines are written.
pub(super) const FORMATS: [&str; 4] = ["MMM dd HH:mm:ss", "MMM  d HH:mm:ss", "MMM d HH:mm:ss", "ISO8601"];

/// Remembers the time that was read last.
#[derive(Default)]
pub(super) struct Times {
    last: RefCell<Option<(Text, Option<Timestamp>)>>,
}

impl Times {
    /// The instant that a text names.
    pub fn read(&self, dates: &DateReader, event: &Event, text: &Text) -> Option<Timestamp> {
        let mut last = self.last.borrow_mut();
        if let Some((known, at)) = &*last
            && known == text
            && dates.is_fixed()
        {
            return *at;
        }
        let at = dates.instant(event, &Value::String(text.clone()));
        *last = Some((text.clone(), at));
        at
    }
}
