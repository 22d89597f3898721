//! `validate`: reads raw text, casts and checks its fields by rules, and says in `@metadata` what is wrong.
//!
//! [`options`] reads the configuration into [`rule::Rule`]s. An event passes in two rounds: every rule finds, casts and
//! defaults its field ([`rule`], [`cast`]), so that the event looks the same whatever fails; then the checks are asked
//! in rule order ([`check`]). [`parsed`] has what the text held, [`report`] what is told.

mod cast;
mod check;
mod code;
mod message;
mod number;
mod options;
mod parsed;
mod path;
mod report;
mod rule;
mod schema;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::failure::{Fate, OnFailure};
use crate::event::{Event, FieldRef, Text, Value, text_form};
use crate::metrics::Counter;
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};
use parsed::{Document, Fault, Parsing};
use report::{Problem, Report};
use rule::Rule;
use schema::Schema;

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "validate", summary: "Casts and checks fields, and says what is wrong with them.", build };

struct Validate {
    parsing: Option<Parsing>,
    rules: Vec<Rule>,
    /// Report all errors and not only the first.
    all: bool,
    schema: Option<Schema>,
    report: Report,
    tag_on_failure: Vec<String>,
    on_failure: OnFailure,
    /// Whether parsed members stay on an event that fails.
    keeps_fields: bool,
    counters: Counters,
}

struct Counters {
    valid: Arc<Counter>,
    invalid: Arc<Counter>,
    parse_errors: Arc<Counter>,
    dlq: Arc<Counter>,
    dropped: Arc<Counter>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    Box::new(options::read(options))
}

impl Filter for Validate {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| match self.validate(event) {
            Ok(()) => {
                self.counters.valid.add(1);
                Outcome::Matched
            }
            Err(failure) => {
                self.counters.invalid.add(1);
                self.failed(event, &failure);
                Outcome::Unmatched
            }
        });
    }
}

/// The first thing that is wrong, for the reason of a dead letter.
struct Failure {
    code: Text,
    message: Text,
    document: Document,
}

impl Failure {
    fn new(first: Option<&Problem>, document: Document) -> Self {
        let (code, message) = first.map(|problem| (problem.code.clone(), problem.message.clone())).unwrap_or_default();
        Self { code, message, document }
    }
}

/// Name below the result of the document as it was judged.
pub(super) const PARSED: &str = "parsed";

impl Validate {
    fn validate(&self, event: &mut Event) -> Result<(), Failure> {
        let raw = self.parsing.as_ref().and_then(|parsing| parsing.raw(event));
        if let Some(bytes) = self.parsing.as_ref().and_then(|parsing| parsing.bytes(event, raw.as_ref())) {
            return Err(self.no_text(event, bytes));
        }
        let (document, fault) = match &self.parsing {
            None => (Document::of_event(event), None),
            Some(parsing) => parsing.read(event, raw.as_ref()),
        };
        if fault.is_some() {
            self.counters.parse_errors.add(1);
        }
        if let Some(Fault { what, ends: true }) = &fault {
            let problem = self.report.no_json(what);
            let failure = Failure::new(Some(&problem), document);
            self.report.write_failure(event, raw, "INVALID_JSON", vec![problem], None);
            return Err(failure);
        }
        // The target may hold fields of other filters: they are not members of a text that has none.
        let found: Vec<_> = self.rules.iter().flat_map(|rule| rule.prepare(event, document.is_absent)).collect();
        let mut problems = Vec::new();
        for found in &found {
            let enough = found.check(event, &self.report, self.all, &mut problems);
            if enough {
                break;
            }
        }
        if let Some(schema) = self.schema.as_ref().filter(|_| self.all || problems.is_empty()) {
            schema.check(&document.object(event, &[]), self.all, &self.report, &mut problems);
        }
        if problems.is_empty() {
            self.report.write_success(event, raw);
            return Ok(());
        }
        let parsed = document.object(event, &self.rules);
        let failure = Failure::new(problems.first(), document);
        self.report.write_failure(event, raw, "VALIDATION_FAILED", problems, Some(parsed));
        Err(failure)
    }

    /// The bytes take the place of the text, which only stands for them.
    fn no_text(&self, event: &mut Event, bytes: Text) -> Failure {
        self.counters.parse_errors.add(1);
        let problem = self.report.no_text();
        let failure = Failure::new(Some(&problem), Document::none());
        self.report.write_failure(event, Some(bytes), "INVALID_JSON", vec![problem], None);
        self.report.write_encoding(event);
        failure
    }

    fn failed(&self, event: &mut Event, failure: &Failure) {
        tracing::warn!(target: "spillway.filters.validate", code = %failure.code, "an event is not valid");
        if !self.keeps_fields
            && let Some(parsing) = &self.parsing
        {
            parsing.take_back(event, &failure.document, &self.rules);
        }
        match self.on_failure.apply(event, || format!("{}: {}", failure.code, failure.message)) {
            Fate::GoesOn => self.tag_on_failure.iter().for_each(|tag| event.tag(tag)),
            Fate::Buried => self.counters.dlq.add(1),
            Fate::Dropped => self.counters.dropped.add(1),
        }
    }
}

/// A value as a text: JSON for lists and maps.
fn text_of(value: &Value) -> Text {
    match value {
        Value::String(text) => text.clone(),
        Value::Timestamp(at) => Text::from(at.to_string()),
        other => {
            let mut out = Vec::new();
            crate::event::json::write_value(other, &mut out);
            Text::from(text_form::utf8(out))
        }
    }
}

/// The first `most` characters.
fn cut(text: &str, most: usize) -> Option<&str> {
    text.char_indices().nth(most).and_then(|(at, _)| text.get(..at))
}

/// Sets a field; one that cannot be set stays as it is.
fn put(event: &mut Event, field: &FieldRef, value: impl Into<Value>) {
    if let Err(error) = event.set(field, value) {
        tracing::warn!(target: "spillway.filters.validate", field = %field, "{error}");
    }
}
