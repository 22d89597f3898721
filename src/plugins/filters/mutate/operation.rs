//! One change to an event.

use super::convert::{Conversion, ConversionError};
use super::gsub::{Gsub, GsubError};
use super::merge::Merge;
use crate::event::{
    Event, FieldError, FieldName, FieldRef, ReferenceError, Root, TAGS, TIMESTAMP, Template, Text, Value, text_form,
};
use crate::plugins::filters::text::{self, Change};

/// One change to an event.
pub(super) enum Operation {
    /// A text for a field that is null.
    Coerce(FieldRef, Template),
    /// A new name; `None` stands for a list, which names no field.
    Rename(FieldName, Option<FieldName>),
    /// A text for a field that exists.
    Update(FieldRef, Template),
    /// A text for a field.
    Replace(FieldRef, Template),
    /// A new type.
    Convert(FieldRef, Conversion),
    /// Replacement by regular expression.
    Gsub(Gsub),
    /// Letter case.
    Change(FieldRef, Change),
    /// No white space at both ends.
    Strip(FieldRef),
    /// Text to list.
    Split(FieldRef, Text),
    /// List to text.
    Join(FieldRef, Text),
    /// Several fields to one.
    Merge(Merge),
    /// A second field with the same value; `None` as in a new name.
    Copy(FieldRef, Option<FieldRef>),
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum MutateError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error(transparent)]
    Conversion(#[from] ConversionError),
    #[error(transparent)]
    Gsub(#[from] GsubError),
    #[error("a list is no name of a field; was a key given twice?")]
    ListAsName,
    #[error("cannot strip {0} in a list of texts")]
    StripElement(&'static str),
}

impl Operation {
    /// Does it.
    pub fn apply(&self, event: &mut Event) -> Result<(), MutateError> {
        match self {
            Self::Coerce(field, text) => {
                if matches!(event.get(field), Some(Value::Null)) {
                    let text = text.render(event);
                    assign(event, field, text)?;
                }
            }
            Self::Rename(from, to) => rename(event, from, to.as_ref())?,
            Self::Update(field, text) => {
                if event.includes(field) {
                    let text = text.render(event);
                    assign(event, field, text)?;
                }
            }
            Self::Replace(field, text) => {
                let text = text.render(event);
                event.set(field, text)?;
            }
            Self::Convert(field, conversion) => change(event, field, |value| Ok(conversion.convert(value)?))?,
            Self::Gsub(gsub) => {
                if let Some(changed) = gsub.substitute(event)? {
                    assign(event, gsub.field(), changed)?;
                }
            }
            Self::Change(field, letters) => change(event, field, |value| Ok(text::each(value, *letters)))?,
            Self::Strip(field) => change(event, field, strip)?,
            Self::Split(field, separator) => change(event, field, |value| {
                Ok(value.as_text().map(|whole| Value::Array(text::split(whole, separator))))
            })?,
            Self::Join(field, separator) => {
                change(event, field, |value| Ok(value.as_array().map(|list| Value::from(join(list, separator)))))?
            }
            Self::Merge(merge) => merge.apply(event)?,
            Self::Copy(from, to) => copy(event, from, to.as_ref())?,
        }
        Ok(())
    }
}

/// Gives a field that exists the value that `work` makes of it, if any.
fn change(
    event: &mut Event,
    field: &FieldRef,
    work: impl FnOnce(&Value) -> Result<Option<Value>, MutateError>,
) -> Result<(), MutateError> {
    let Some(slot) = event.get_mut(field) else { return Ok(()) };
    let Some(value) = work(slot)? else { return Ok(()) };
    if has_rules(field) {
        event.set(field, value)?;
    } else {
        // In place, which spares looking for its parents again.
        *slot = value;
    }
    Ok(())
}

/// Sets a field, in place if it is there.
fn assign(event: &mut Event, field: &FieldRef, value: impl Into<Value>) -> Result<(), FieldError> {
    match event.get_mut(field) {
        Some(slot) if !has_rules(field) => {
            *slot = value.into();
            Ok(())
        }
        _ => event.set(field, value),
    }
}

/// Whether the field does not take just any value.
fn has_rules(field: &FieldRef) -> bool {
    let first = field.path().first().map(|segment| segment.name.as_str());
    field.root() == Root::Fields && matches!(first, Some(TAGS | TIMESTAMP))
}

/// The names are made before the value is taken out, which they may depend on. When it cannot be set it is gone.
fn rename(event: &mut Event, from: &FieldName, to: Option<&FieldName>) -> Result<(), MutateError> {
    let from = from.of(event)?;
    let Some(to) = to else {
        return if event.includes(&from) { Err(MutateError::ListAsName) } else { Ok(()) };
    };
    let to = to.of(event);
    if let Some(value) = event.remove(&from) {
        event.set(&*to?, value)?;
    }
    Ok(())
}

fn copy(event: &mut Event, from: &FieldRef, to: Option<&FieldRef>) -> Result<(), MutateError> {
    let Some(value) = event.value_of(from).filter(|value| !value.is_null()) else { return Ok(()) };
    Ok(event.set(to.ok_or(MutateError::ListAsName)?, value)?)
}

fn strip(value: &Value) -> Result<Option<Value>, MutateError> {
    Ok(match value {
        Value::String(whole) => Some(Value::String(text::strip(whole))),
        Value::Array(list) => {
            let element = |value: &Value| match value {
                Value::String(whole) => Ok(Value::String(text::strip(whole))),
                other => Err(MutateError::StripElement(other.kind())),
            };
            Some(Value::Array(list.iter().map(element).collect::<Result<_, _>>()?))
        }
        _ => None,
    })
}

fn join(list: &[Value], separator: &str) -> String {
    let mut out = Vec::new();
    let mut first = true;
    join_into(list, separator, &mut first, &mut out);
    text_form::utf8(out)
}

fn join_into(list: &[Value], separator: &str, first: &mut bool, out: &mut Vec<u8>) {
    for value in list {
        if let Value::Array(inner) = value {
            join_into(inner, separator, first, out);
            continue;
        }
        if !std::mem::take(first) {
            out.extend_from_slice(separator.as_bytes());
        }
        text_form::write_ruby(value, out);
    }
}
