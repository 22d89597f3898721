//! `gsub`: every match of a regular expression is replaced.

use std::borrow::Cow;

use super::ruby_regex::{Match, RubyRegex};
use crate::event::{EscapeStyle, Event, FieldRef, Template, Text, Value};

/// A rule of `gsub`.
pub(super) struct Gsub {
    field: FieldRef,
    pattern: Pattern,
    replacement: Replacement,
}

enum Pattern {
    Fixed(RubyRegex),
    PerEvent(Template),
}

enum Replacement {
    Fixed(Vec<Piece>),
    PerEvent(Template),
}

/// A part of a replacement.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    /// `\1`; 0 is the whole match.
    Group(usize),
    /// `\k<name>`
    Named(String),
    /// `` \` ``: all before the match.
    Before,
    /// `\'`: all behind it.
    Behind,
}

/// Why a rule could not be applied.
#[derive(Debug, thiserror::Error)]
pub(super) enum GsubError {
    #[error("gsub: {0}")]
    Regex(String),
    #[error("gsub: undefined group name reference: {0}")]
    UnknownGroup(String),
}

impl Gsub {
    /// Takes a rule apart; the error says what is wrong with it.
    pub fn new(field: FieldRef, pattern: &str, replacement: &str, style: EscapeStyle) -> Result<Self, String> {
        let replacement = Template::compile(replacement, style).map_err(|error| error.to_string())?;
        Ok(Self {
            field,
            pattern: if pattern.contains("%{") {
                Pattern::PerEvent(Template::compile(pattern, style).map_err(|error| error.to_string())?)
            } else {
                Pattern::Fixed(RubyRegex::new(pattern).map_err(|error| format!("gsub: {error}"))?)
            },
            replacement: match replacement.as_constant() {
                Some(text) => Replacement::Fixed(pieces(text)),
                None => Replacement::PerEvent(replacement),
            },
        })
    }

    /// The field it changes.
    pub fn field(&self) -> &FieldRef {
        &self.field
    }

    /// The new value of the field; `None` when nothing changes.
    pub fn substitute(&self, event: &Event) -> Result<Option<Value>, GsubError> {
        let Some(value @ (Value::String(_) | Value::Array(_))) = event.get(&self.field) else { return Ok(None) };
        let compiled;
        let regex = match &self.pattern {
            Pattern::Fixed(regex) => regex,
            Pattern::PerEvent(template) => {
                compiled = RubyRegex::new(&template.render(event)).map_err(GsubError::Regex)?;
                &compiled
            }
        };
        let pieces = match &self.replacement {
            Replacement::Fixed(pieces) => Cow::Borrowed(pieces.as_slice()),
            Replacement::PerEvent(template) => Cow::Owned(pieces(&template.render(event))),
        };
        let replaced = |text: &Text| replace_all(regex, &pieces, text);
        match value {
            Value::String(text) => Ok(replaced(text)?.map(Value::from)),
            Value::Array(list) => {
                let element = |value: &Value| match value {
                    Value::String(text) => Ok(replaced(text)?.map_or_else(|| value.clone(), Value::from)),
                    other => Ok(other.clone()),
                };
                Ok(Some(Value::Array(list.iter().map(element).collect::<Result<_, GsubError>>()?)))
            }
            _ => Ok(None),
        }
    }
}

/// Replaces every match, empty ones too; `None` when there is no match.
fn replace_all(regex: &RubyRegex, pieces: &[Piece], text: &str) -> Result<Option<String>, GsubError> {
    let mut out = String::new();
    let mut from = 0;
    let mut copied = 0;
    let mut any = false;
    while from <= text.len()
        && let Some(found) = regex.find_at(text, from).map_err(GsubError::Regex)?
    {
        any = true;
        let range = found.range();
        out.push_str(text.get(copied..range.start).unwrap_or_default());
        push_replacement(pieces, &found, text, &mut out)?;
        copied = range.end;
        // After an empty match the search goes on behind the next character.
        let step = text.get(range.end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        from = if range.is_empty() { range.end + step } else { range.end };
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Ok(any.then_some(out))
}

fn push_replacement(pieces: &[Piece], found: &Match, text: &str, out: &mut String) -> Result<(), GsubError> {
    for piece in pieces {
        let range = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Group(index) => found.group(*index),
            Piece::Named(name) => found.named(name).ok_or_else(|| GsubError::UnknownGroup(name.clone()))?,
            Piece::Before => Some(0..found.range().start),
            Piece::Behind => Some(found.range().end..text.len()),
        };
        out.push_str(range.and_then(|range| text.get(range)).unwrap_or_default());
    }
    Ok(())
}

/// Takes a replacement apart. A backslash before anything else stays.
fn pieces(replacement: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = replacement;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        literal.push_str(before);
        let (piece, length) = match escape.as_bytes().get(1) {
            Some(digit @ b'0'..=b'9') => (Piece::Group(usize::from(digit - b'0')), 2),
            Some(b'&') => (Piece::Group(0), 2),
            Some(b'`') => (Piece::Before, 2),
            Some(b'\'') => (Piece::Behind, 2),
            Some(b'\\') => (Piece::Text("\\".to_owned()), 2),
            Some(b'k') => match escape.get(2..).and_then(|name| name.strip_prefix('<')?.split_once('>')) {
                Some((name, _)) => (Piece::Named(name.to_owned()), name.len() + 4),
                None => (Piece::Text("\\k".to_owned()), 2),
            },
            _ => (Piece::Text("\\".to_owned()), 1),
        };
        match piece {
            Piece::Text(text) => literal.push_str(&text),
            other => {
                if !literal.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                }
                pieces.push(other);
            }
        }
        rest = escape.get(length..).unwrap_or_default();
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Text(literal));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gsub(text: &str, pattern: &str, replacement: &str) -> String {
        let regex = RubyRegex::new(pattern).unwrap();
        replace_all(&regex, &pieces(replacement), text).unwrap().unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn replacements() {
        for (text, pattern, replacement, expected) in [
            ("x-y p-q", r"(\w)-(\w)", r"\2-\1", "y-x q-p"),
            ("abc", "x*", "-", "-a-b-c-"),
            ("xabc", "x*", "-", "--a-b-c-"),
            ("é", "", "-", "-é-"),
            ("abc", "b", r"<\0\&>", "a<bb>c"),
            ("abc", "b", r"<\`|\'>", "a<a|c>c"),
            ("abc", "(?<n>b)", r"\k<n>\k<n>", "abbc"),
            ("abc", "b", r"\\0", r"a\0c"),
            ("abc", "b", "$1", "a$1c"),
            ("abc", "b", r"\z\9", r"a\zc"),
            ("a\nb", "^", ">", ">a\n>b"),
            ("a\nb", "a.b", "x", "a\nb"),
        ] {
            assert_eq!(gsub(text, pattern, replacement), expected, "{pattern} {replacement}");
        }
        let regex = RubyRegex::new("b").unwrap();
        assert!(replace_all(&regex, &pieces(r"\k<no>"), "abc").is_err());
    }
}
