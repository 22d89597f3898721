//! `in`: what it means depends on what stands on either side.

use std::collections::HashSet;

use memchr::memmem::Finder;

use super::evaluate::lookup;
use crate::event::{Event, FieldRef, Text, Value, text_form};

/// One meaning of `in` for each pair of operands that looks at the event.
#[derive(Debug)]
pub(super) enum Membership {
    /// `[field] in ["a", "b"]`: the field's text equals that of an element.
    FieldInList(FieldRef, TextSet),
    /// `[field] in "text"`: the field is a text and a piece of this one.
    FieldInText(FieldRef, Text),
    /// `"text" in [field]`: a piece of the field's text, or an element of its list.
    TextInField(Text, Box<Finder<'static>>, FieldRef),
    /// `5 in [field]`: an element of the field's list, of the same type.
    NumberInField(Value, FieldRef),
    /// `[field] in [field]`
    FieldInField(FieldRef, FieldRef),
}

impl Membership {
    pub(super) fn text_in_field(text: Text, field: FieldRef) -> Self {
        let finder = Box::new(Finder::new(text.as_bytes()).into_owned());
        Self::TextInField(text, finder, field)
    }

    pub(super) fn evaluate(&self, event: &Event) -> bool {
        match self {
            Self::FieldInList(field, set) => event.get(field).is_some_and(|value| set.contains_text_of(value)),
            Self::FieldInText(field, text) => {
                event.get(field).and_then(Value::as_str).is_some_and(|piece| text.contains(piece))
            }
            Self::TextInField(text, finder, field) => match event.get(field) {
                Some(Value::String(value)) => finder.find(value.as_bytes()).is_some(),
                Some(Value::Array(list)) => list.iter().any(|v| v.as_text() == Some(text)),
                _ => false,
            },
            Self::NumberInField(number, field) => {
                event.get(field).and_then(Value::as_array).is_some_and(|list| list.contains(number))
            }
            Self::FieldInField(left, right) => match (lookup(event, left), lookup(event, right)) {
                (Some(left), Some(right)) => value_in_value(&left, &right),
                _ => false,
            },
        }
    }
}

fn value_in_value(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(_) | Value::Map(_), _) => false,
        (Value::String(piece), Value::String(text)) => text.contains(piece.as_str()),
        (value, Value::Array(list)) => list.contains(value),
        (left, right) => left == right,
    }
}

/// The texts of a list literal.
#[derive(Debug)]
pub(super) enum TextSet {
    /// So few that comparing them one by one is fastest.
    Few(Vec<Text>),
    Many(HashSet<Text>),
}

impl TextSet {
    const FEW: usize = 8;

    pub(super) fn new(texts: Vec<Text>) -> Self {
        if texts.len() <= Self::FEW { Self::Few(texts) } else { Self::Many(texts.into_iter().collect()) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Text> {
        let (few, many) = match self {
            Self::Few(texts) => (Some(texts), None),
            Self::Many(texts) => (None, Some(texts)),
        };
        few.into_iter().flatten().chain(many.into_iter().flatten())
    }

    fn contains(&self, text: &str) -> bool {
        match self {
            Self::Few(texts) => texts.iter().any(|t| t == text),
            Self::Many(texts) => texts.contains(text),
        }
    }

    /// Whether the text form of a scalar is in the set. Lists and maps never are.
    fn contains_text_of(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.contains(text),
            Value::Integer(n) => self.contains(itoa::Buffer::new().format(*n)),
            Value::Bool(b) => self.contains(if *b { "true" } else { "false" }),
            Value::Null => self.contains(""),
            Value::Array(_) | Value::Map(_) => false,
            other => self.contains(&text_of(other)),
        }
    }
}

/// A scalar in the form that `in` compares.
pub(super) fn text_of(value: &Value) -> String {
    let mut out = Vec::new();
    text_form::write_template(value, &mut out);
    text_form::utf8(out)
}
