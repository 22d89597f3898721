//! `gsub`: every match of a regular expression is replaced.

use std::borrow::Cow;
use std::ops::Range;

use crate::event::{EscapeStyle, Event, FieldRef, Template, Text, Value};
use crate::regexp::{Captures, GaveUp, RegexpError, RubyRegex};

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
    Pattern(#[from] RegexpError),
    #[error("gsub: {0}")]
    GaveUp(#[from] GaveUp),
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
                compiled = RubyRegex::new(&template.render(event))?;
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

/// Replaces every match, empty ones too, also right behind another one; `None` when there is no match.
fn replace_all(regex: &RubyRegex, pieces: &[Piece], text: &str) -> Result<Option<String>, GsubError> {
    let needs_groups = pieces.iter().any(|piece| matches!(piece, Piece::Group(1..) | Piece::Named(_)));
    let mut out = String::new();
    let mut next = Some(0);
    let mut copied = None;
    while let Some(from) = next {
        let found = if needs_groups {
            regex.captures_at(text, from)?.map(|captures| (captures.range(), Some(captures)))
        } else {
            regex.find_at(text, from)?.map(|range| (range, None))
        };
        let Some((range, captures)) = found else { break };
        out.push_str(text.get(copied.unwrap_or(0)..range.start).unwrap_or_default());
        for piece in pieces {
            out.push_str(piece.text(regex, text, &range, captures.as_ref())?);
        }
        copied = Some(range.end);
        // After an empty match the search goes on behind the next character, or ends with the text.
        let character = || text.get(range.end..).and_then(|rest| rest.chars().next());
        next = if range.is_empty() { character().map(|c| range.end + c.len_utf8()) } else { Some(range.end) };
    }
    Ok(copied.map(|copied| {
        out.push_str(text.get(copied..).unwrap_or_default());
        out
    }))
}

impl Piece {
    /// What stands for this part, for one match.
    fn text<'t>(
        &'t self,
        regex: &RubyRegex,
        text: &'t str,
        range: &Range<usize>,
        captures: Option<&Captures<'_>>,
    ) -> Result<&'t str, GsubError> {
        let part = match self {
            Self::Text(text) => return Ok(text),
            Self::Group(0) => Some(range.clone()),
            Self::Group(index) => captures.and_then(|captures| captures.get(*index)),
            Self::Named(name) if regex.group_names().iter().all(|known| known.as_ref() != Some(name)) => {
                return Err(GsubError::UnknownGroup(name.clone()));
            }
            Self::Named(name) => captures.and_then(|captures| captures.name(name)),
            Self::Before => Some(0..range.start),
            Self::Behind => Some(range.end..text.len()),
        };
        Ok(part.and_then(|part| text.get(part)).unwrap_or_default())
    }
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
            ("hello", "l*", "-", "-h-e--o-"),
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
