//! `date`: text or numbers of a field to an instant, by default the event's own.

mod epoch;
mod format;
mod last;
mod options;
mod reader;
#[cfg(test)]
mod tests;
mod year;
mod zone;

use std::sync::Arc;

pub(crate) use last::LastRead;
pub(crate) use reader::DateReader;

use format::{Format, Moment};
use year::Today;
use zone::ZoneChoice;

use crate::event::{Event, FieldRef, TIMESTAMP, Value};
use crate::metrics::Counter;
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "date", summary: "Reads dates into `@timestamp` or another field.", build: options::build };

struct Date {
    source: FieldRef,
    target: FieldRef,
    formats: Vec<Format>,
    zone: ZoneChoice,
    tag_on_failure: Vec<String>,
    matches: Arc<Counter>,
    failures: Arc<Counter>,
}

impl Filter for Date {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let (mut matches, mut failures) = (0, 0);
        let (mut today, mut last) = (Today::default(), LastRead::default());
        batch.each(|event| match self.read(event, &mut today, &mut last) {
            Some(true) => {
                matches += 1;
                Outcome::Matched
            }
            Some(false) => {
                failures += 1;
                self.tag_on_failure.iter().for_each(|tag| event.tag(tag));
                Outcome::Unmatched
            }
            None => Outcome::Unmatched,
        });
        self.matches.add(matches);
        self.failures.add(failures);
    }
}

impl Date {
    /// Whether the source could be read. `None` when there is none.
    fn read(&self, event: &mut Event, today: &mut Today, last: &mut LastRead) -> Option<bool> {
        let value = event.get(&self.source).filter(|value| !value.is_null())?;
        let zone = self.zone.of(event);
        let mut read = || format::first(&self.formats, value, Moment { zone: zone.as_deref(), today });
        let at = match value {
            Value::String(text) if self.zone.is_fixed() => last.or_read(text, read),
            _ => read(),
        };
        let Some(at) = at else { return Some(false) };
        if self.target.top_level_name().is_some_and(|name| name == TIMESTAMP) {
            event.set_timestamp(at);
            return Some(true);
        }
        Some(event.set(&self.target, Value::Timestamp(at)).is_ok())
    }
}
