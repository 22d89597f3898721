//! `kv`: pairs of keys and values in a text to fields.

mod build;
mod characters;
mod pairs;
mod quick;
mod scanner;
#[cfg(test)]
mod tests;

use std::time::Duration;

use pairs::{Pairs, Rules};
use scanner::{Scanner, TookTooLong};

use crate::event::{EscapeStyle, Event, FieldError, FieldRef, Map, NameError, Text, Value};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "kv", summary: "Reads `key=value` pairs.", build: build::build };

struct Kv {
    source: FieldRef,
    target: Option<FieldRef>,
    scanner: Scanner,
    rules: Rules,
    default_keys: Vec<(Text, Value)>,
    timeout: Option<Duration>,
    tag_on_timeout: String,
    tag_on_failure: Vec<String>,
    escape_style: EscapeStyle,
}

/// Why the pairs of an event were not stored.
#[derive(Debug, thiserror::Error)]
enum KvFailure {
    #[error(transparent)]
    TookTooLong(#[from] TookTooLong),
    #[error("a list holds a {0} where a text was expected")]
    Element(&'static str),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Field(#[from] FieldError),
}

impl Filter for Kv {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        // The memory of one event's pairs serves those of the next.
        let mut found = Map::new();
        batch.each(|event| match self.expand(event, &mut found) {
            Ok(outcome) => outcome,
            Err(KvFailure::TookTooLong(_)) => {
                tracing::warn!(target: "logstash.filters.kv", field = %self.source, "Timeout reached in KV filter");
                event.tag(&self.tag_on_timeout);
                Outcome::Unmatched
            }
            Err(failure) => {
                tracing::warn!(target: "logstash.filters.kv", field = %self.source, "Exception while parsing KV: {failure}");
                self.tag_on_failure.iter().for_each(|tag| event.tag(tag));
                Outcome::Unmatched
            }
        });
    }
}

impl Kv {
    fn expand(&self, event: &mut Event, found: &mut Map) -> Result<Outcome, KvFailure> {
        self.find(event, found)?;
        for (key, value) in &self.default_keys {
            if !found.contains_key(key) {
                found.insert(key.clone(), value.clone());
            }
        }
        if found.is_empty() {
            return Ok(Outcome::Unmatched);
        }
        match &self.target {
            Some(target) => event.set(target, std::mem::take(found))?,
            None => found.drain().try_for_each(|(key, value)| event.set_named(&key, self.escape_style, value))?,
        }
        Ok(Outcome::Matched)
    }

    /// Puts the pairs of an event into `found`, in place of what it held.
    fn find(&self, event: &Event, found: &mut Map) -> Result<(), KvFailure> {
        drop(found.drain());
        let names = self.rules.names_for(event);
        let mut pairs = Pairs::new(&self.scanner, &self.rules, &names, self.timeout, found);
        match event.get(&self.source) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => pairs.add_all(text)?,
            Some(Value::Array(list)) => {
                for element in list {
                    match element {
                        Value::Null => {}
                        Value::String(text) => pairs.add_all(text)?,
                        other => return Err(KvFailure::Element(other.kind())),
                    }
                }
            }
            Some(other) => {
                tracing::warn!(target: "logstash.filters.kv", field = %self.source,
                    "kv filter has no support for this type of data: {}", other.kind());
            }
        }
        Ok(())
    }
}
