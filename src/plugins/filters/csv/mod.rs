//! `csv`: values between separators to fields.

mod build;
mod columns;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use columns::{Column, Columns};

use crate::event::{Event, FieldError, FieldRef, ReferenceError, Text, Value};
use crate::plugins::csv::{Conversion, Malformed, Syntax};
use crate::plugins::filters::text::{lowercase, strip};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "csv", summary: "Reads values between separators.", build: build::build };

const FAILURE: &str = "_csvparsefailure";
const EMPTY: &str = "_csvskippedemptyfield";

struct Csv {
    source: FieldRef,
    /// None when no text can be read, which is what an empty `quote_char` means.
    syntax: Option<Syntax>,
    columns: Columns,
    /// Set by the first event when the names are not configured.
    detected: Option<OnceLock<Vec<Column>>>,
    autogenerate: bool,
    skip_header: bool,
    skip_empty_columns: bool,
    skip_empty_rows: bool,
}

/// Why an event was not read.
#[derive(Debug, thiserror::Error)]
enum CsvFailure {
    #[error("the source is no text but {0}")]
    Source(&'static str),
    #[error("quote_char has to be a single character")]
    QuoteChar,
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error("an empty value cannot become a boolean")]
    EmptyBoolean,
    #[error("a line without values cannot name the columns")]
    NoHeader,
}

impl Filter for Csv {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let mut values = Vec::new();
        batch.each(|event| match self.read(event, &mut values) {
            Ok(outcome) => outcome,
            Err(failure) => {
                tracing::warn!(target: "logstash.filters.csv", field = %self.source, "Error parsing csv: {failure}");
                event.tag(FAILURE);
                Outcome::Unmatched
            }
        });
    }

    fn remembers(&self) -> bool {
        self.detected.is_some()
    }
}

impl Csv {
    fn read(&self, event: &mut Event, values: &mut Vec<Option<Text>>) -> Result<Outcome, CsvFailure> {
        let text = match event.get(&self.source) {
            None | Some(Value::Null | Value::Bool(false)) => return Ok(Outcome::Unmatched),
            Some(Value::String(text)) => text.clone(),
            Some(other) => return Err(CsvFailure::Source(other.kind())),
        };
        if text.is_empty() && self.skip_empty_rows {
            event.tag(EMPTY);
            return Ok(Outcome::Unmatched);
        }
        values.clear();
        self.syntax.as_ref().ok_or(CsvFailure::QuoteChar)?.read(&text, values)?;
        let columns = match &self.detected {
            None => self.columns.given(),
            Some(detected) => match detected.get() {
                Some(columns) => columns,
                None if values.is_empty() => return Err(CsvFailure::NoHeader),
                None => return Ok(self.detect(detected, event, values)),
            },
        };
        if self.skip_header && columns::are(columns, values) {
            event.cancel();
            return Ok(Outcome::Unmatched);
        }
        self.store(event, columns, values)?;
        Ok(Outcome::Matched)
    }

    /// Takes the values as names. When another worker was faster, this line is lost like its.
    fn detect(&self, detected: &OnceLock<Vec<Column>>, event: &mut Event, values: &mut [Option<Text>]) -> Outcome {
        let names = values.iter_mut().map(std::mem::take);
        let columns = names.map(|name| self.columns.column(name)).collect();
        if detected.set(columns).is_err() {
            tracing::warn!(target: "logstash.filters.csv",
                "two lines were taken as column names at once; autodetect_column_names needs pipeline.workers: 1");
        }
        event.cancel();
        Outcome::Unmatched
    }

    fn store(&self, event: &mut Event, columns: &[Column], values: &mut [Option<Text>]) -> Result<(), CsvFailure> {
        for (at, value) in values.iter_mut().enumerate() {
            let value = value.take();
            if self.skip_empty_columns && value.as_ref().is_none_or(|text| text.is_empty()) {
                continue;
            }
            match columns.get(at) {
                Some(Column::Named { field, conversion, .. }) => {
                    let value = convert(*conversion, value)?;
                    event.set(field, value)?;
                }
                Some(Column::Invalid { error, .. }) => return Err(error.clone().into()),
                Some(Column::Nameless) | None if !self.autogenerate => {}
                Some(Column::Nameless) | None => {
                    let (field, conversion) = self.columns.numbered(at);
                    event.set(&field, convert(conversion, value)?)?;
                }
            }
        }
        Ok(())
    }
}

/// The value to store. What does not fit its type stays text; only a boolean cannot be missing, and other text than
/// `true` and `false` comes back trimmed and in lower case.
fn convert(conversion: Option<Conversion>, value: Option<Text>) -> Result<Value, CsvFailure> {
    match (conversion, value) {
        (Some(Conversion::Boolean), None) => Err(CsvFailure::EmptyBoolean),
        (_, None) => Ok(Value::Null),
        (None, Some(text)) => Ok(Value::String(text)),
        (Some(conversion), Some(text)) => Ok(conversion.convert(&text).unwrap_or_else(|| match conversion {
            Conversion::Boolean => {
                let stripped = strip(&text);
                Value::String(lowercase(&stripped).unwrap_or(stripped))
            }
            _ => Value::String(text),
        })),
    }
}
