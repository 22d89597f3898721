//! `grok`: named patterns take text apart.
//!
//! [`library`] knows the patterns, [`expand`] makes one regular expression of a pattern and all it refers to, and
//! [`pattern`] keeps it compiled together with [`capture`], the way from groups to fields, and their [`layout`]. Captured text shares the
//! memory of the text it was found in.

pub mod build;
pub(in crate::plugins) mod capture;
pub mod expand;
mod layout;
pub mod library;
mod number;
pub mod pattern;
pub mod pieces;
pub mod suggest;
pub mod trial;

use std::sync::Arc;
use std::time::Duration;

use self::capture::StoreError;
use self::pattern::Pattern;
use crate::event::{Event, FieldRef, Text, Value, text_form};
use crate::metrics::Counter;
use crate::plugins::{Alternative, Filter, FilterBatch, FilterPlugin, Outcome};
use crate::regexp::{GaveUp, Groups, TimeLimit};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "grok", summary: "Takes text apart with named patterns.", build: build::build };

struct Grok {
    fields: Vec<FieldPatterns>,
    break_on_match: bool,
    tag_on_failure: Vec<String>,
    tag_on_timeout: String,
    timeout: Option<Duration>,
    scope: Scope,
    counters: Counters,
}

/// A field and the patterns that its text is tried with.
struct FieldPatterns {
    field: FieldRef,
    patterns: Vec<Pattern>,
}

/// What `timeout_millis` limits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Each try of a pattern.
    Pattern,
    /// All patterns of one text.
    Event,
}

struct Counters {
    matches: Arc<Counter>,
    failures: Arc<Counter>,
    timeouts: Arc<Counter>,
}

/// Why the captures of a text are not in the event.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Timeout(#[from] GaveUp),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What became of the events of a batch.
#[derive(Default)]
struct Tally {
    matches: u64,
    failures: u64,
    timeouts: u64,
}

impl Filter for Grok {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let mut groups = Groups::default();
        let mut tally = Tally::default();
        batch.each(|event| match self.work(event, &mut groups) {
            Ok(true) => {
                tally.matches += 1;
                Outcome::Matched
            }
            Ok(false) => {
                tally.failures += 1;
                self.tag_on_failure.iter().for_each(|tag| event.tag(tag));
                Outcome::Unmatched
            }
            Err(GaveUp) => {
                tally.timeouts += 1;
                event.tag(&self.tag_on_timeout);
                Outcome::Unmatched
            }
        });
        self.counters.matches.add(tally.matches);
        self.counters.failures.add(tally.failures);
        self.counters.timeouts.add(tally.timeouts);
    }

    fn alternatives(&self) -> Vec<Alternative<'_>> {
        self.fields.iter().flat_map(|field| &field.patterns).map(Pattern::as_alternative).collect()
    }
}

impl Grok {
    /// Tries all fields, or those up to the first that matches. Whether one matched.
    fn work(&self, event: &mut Event, groups: &mut Groups) -> Result<bool, GaveUp> {
        let mut matched = false;
        for field in &self.fields {
            match self.field(field, event, groups) {
                Ok(true) => {
                    matched = true;
                    if self.break_on_match {
                        break;
                    }
                }
                Ok(false) => {}
                Err(Failure::Timeout(gave_up)) => return Err(gave_up),
                Err(failure @ Failure::Store(_)) => {
                    let field = &field.field;
                    tracing::warn!(target: "logstash.filters.grok", %field, "Grok regexp threw exception: {failure}");
                }
            }
        }
        Ok(matched)
    }

    /// Matches the text of a field, or each element of a list: one that matches is enough.
    fn field(&self, field: &FieldPatterns, event: &mut Event, groups: &mut Groups) -> Result<bool, Failure> {
        let texts: Vec<Text> = match event.get(&field.field) {
            Some(Value::Array(list)) => list.iter().map(text_of).collect(),
            value => {
                let text = value.map_or_else(Text::new, text_of);
                return self.text(field, &text, event, groups);
            }
        };
        let mut matched = false;
        for text in &texts {
            matched |= self.text(field, text, event, groups)?;
        }
        Ok(matched)
    }

    /// Tries the patterns of a field on one text. Without `break_on_match` the last one decides, as in Logstash.
    fn text(
        &self,
        field: &FieldPatterns,
        text: &Text,
        event: &mut Event,
        groups: &mut Groups,
    ) -> Result<bool, Failure> {
        let mut limit = TimeLimit::new(self.timeout);
        let mut matched = false;
        for pattern in &field.patterns {
            if self.scope == Scope::Pattern {
                limit = TimeLimit::new(self.timeout);
            }
            matched = pattern.matches(text, groups, &mut limit).inspect_err(|_| warn_of_timeout(&field.field, text))?;
            if matched {
                pattern.store(event, text, groups)?;
                if self.break_on_match {
                    break;
                }
            }
        }
        Ok(matched)
    }
}

/// The text that a value is matched as; null is empty.
fn text_of(value: &Value) -> Text {
    match value {
        Value::String(text) => text.clone(),
        other => {
            let mut text = Vec::new();
            text_form::write_ruby(other, &mut text);
            Text::from(text_form::utf8(text))
        }
    }
}

fn warn_of_timeout(field: &FieldRef, text: &str) {
    /// Bytes of the text that the log shows.
    const SHOWN: usize = 255;
    let start = text.get(..text.floor_char_boundary(SHOWN)).unwrap_or_default();
    tracing::warn!(target: "logstash.filters.grok", %field, bytes = text.len(), "Timeout executing grok against a \
        text that starts with `{start}`");
}

#[cfg(test)]
mod tests;
