//! One entry of `mapping`: from the text of a field to the fields that its dissection names.

use super::dissection::{Captures, Dissection, Kind, Part};
use crate::event::{Event, FieldError, FieldRef, Text, Value, text_form};

/// A field and the dissection of its text.
pub(super) struct Mapping {
    pub source: FieldRef,
    pub dissection: Dissection,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapped {
    Fits,
    /// The event does not have the field.
    NoSource,
    Fails,
}

impl Mapping {
    /// Stores what the dissection finds; nothing when the text does not fit.
    pub fn run(&self, event: &mut Event, captures: &mut Captures) -> Mapped {
        let text = match event.get(&self.source) {
            None => {
                tracing::warn!(target: "logstash.filters.dissect", field = %self.source,
                    "Dissector mapping, field not found in event");
                return Mapped::NoSource;
            }
            Some(Value::String(text)) => text.clone(),
            Some(other) => as_text(other),
        };
        if text.is_empty() || !self.dissection.cut(&text, captures) {
            tracing::warn!(target: "logstash.filters.dissect", field = %self.source,
                "Dissector mapping, pattern not found");
            return Mapped::Fails;
        }
        match self.store(event, &text, captures) {
            Ok(()) => Mapped::Fits,
            Err(error) => {
                tracing::warn!(target: "logstash.filters.dissect", field = %self.source, "Dissect threw an exception: {error}");
                Mapped::Fails
            }
        }
    }

    /// Fields first, then what is appended, then what other values name.
    fn store(&self, event: &mut Event, text: &Text, captures: &Captures) -> Result<(), StoreError> {
        let value = |part: &Part| text.piece(captures.range(part.position));
        for part in self.dissection.parts() {
            if let Kind::Field(field) = &part.kind {
                event.set(field, value(part))?;
            }
        }
        for part in self.dissection.appended() {
            if let Kind::Append { field, joint, .. } = &part.kind {
                append(event, field, joint, value(part))?;
            }
        }
        for part in self.dissection.parts() {
            if let Kind::Indirect(name_field) = &part.kind {
                let name = match event.get(name_field) {
                    None | Some(Value::Null) => self.dissection.named(&part.name).map(value).unwrap_or_default(),
                    Some(Value::String(name)) => name.clone(),
                    Some(other) => as_text(other),
                };
                if !name.is_empty() {
                    event.set_named(&name, self.dissection.style(), value(part))?;
                }
            }
        }
        Ok(())
    }
}

/// A value that cannot be stored.
#[derive(Debug, thiserror::Error)]
enum StoreError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Name(#[from] crate::event::NameError),
}

fn append(event: &mut Event, field: &FieldRef, joint: &str, value: Text) -> Result<(), FieldError> {
    let old = match event.get(field) {
        None => return event.set(field, value),
        Some(old) => as_text(old),
    };
    event.set(field, format!("{old}{joint}{value}"))
}

fn as_text(value: &Value) -> Text {
    let mut out = Vec::new();
    text_form::write_ruby(value, &mut out);
    Text::from(text_form::utf8(out))
}
