//! The checks of a rule: what a value that was found and cast must be.

use std::cmp::Ordering;
use std::sync::Arc;

use super::message::Message;
use super::number;
use super::path::Path;
use super::text_of;
use crate::event::{Event, FieldRef, Text, Value};
use crate::metrics::Counter;
use crate::plugins::filters::fingerprint::hash::Hash;
use crate::regexp::RubyRegex;

/// Longest text that a pattern is tried on, in bytes.
const LONGEST_TEXT: usize = 64 << 10;

/// A check, and what is told when it fails.
pub(super) struct Check {
    pub test: Test,
    pub verdict: Verdict,
}

/// What is told of a check that failed.
pub(super) struct Verdict {
    /// `missing`, `type`, `min`, …
    pub check: &'static str,
    pub code: Text,
    pub message: Message,
    /// What the configuration asks for, as messages show it.
    pub limit: Text,
    pub counter: Arc<Counter>,
}

/// What is asked of a value.
pub(super) enum Test {
    MinLength(usize),
    MaxLength(usize),
    /// Which orders of the value to the limit are right.
    Bound(&'static [Ordering], Value),
    OneOf {
        values: Vec<Value>,
        ignore_case: bool,
    },
    Pattern(RubyRegex),
    Compare(Comparison, Path),
    Signature {
        hash: Hash,
        is_hex: bool,
        over: FieldRef,
    },
}

/// How two fields are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Same,
    Different,
    Ordered(&'static [Ordering]),
}

impl Comparison {
    /// Reads `==`, `!=`, `<`, `<=`, `>`, `>=` at the start of a text; gives the rest.
    pub fn parse(text: &str) -> Option<(Self, &str)> {
        let operators: [(&str, Self); 6] = [
            ("==", Self::Same),
            ("!=", Self::Different),
            ("<=", Self::Ordered(&[Ordering::Less, Ordering::Equal])),
            (">=", Self::Ordered(&[Ordering::Greater, Ordering::Equal])),
            ("<", Self::Ordered(&[Ordering::Less])),
            (">", Self::Ordered(&[Ordering::Greater])),
        ];
        let text = text.trim();
        operators.into_iter().find_map(|(sign, operator)| Some((operator, text.strip_prefix(sign)?.trim())))
    }
}

impl Test {
    /// Whether a value is as it should be.
    pub fn passes(&self, value: &Value, event: &Event) -> bool {
        match self {
            Self::MinLength(least) => length(value).is_none_or(|length| length >= *least),
            Self::MaxLength(most) => length(value).is_none_or(|length| length <= *most),
            Self::Bound(right, limit) => number::order(value, limit).is_some_and(|order| right.contains(&order)),
            Self::OneOf { values, ignore_case: false } => values.iter().any(|other| number::same(value, other)),
            Self::OneOf { values, .. } => {
                let folded = text_of(value).to_lowercase();
                values.iter().any(|other| text_of(other).to_lowercase() == folded)
            }
            Self::Pattern(pattern) => {
                let text = text_of(value);
                text.len() <= LONGEST_TEXT && pattern.is_match(&text)
            }
            Self::Compare(comparison, path) => {
                let other = path.only().and_then(|field| event.get(field)).filter(|other| !other.is_null());
                other.is_none_or(|other| compare(*comparison, value, other))
            }
            Self::Signature { hash, is_hex, over } => {
                let Some(signed) = event.get(over).map(text_of) else { return false };
                let (given, right) = (text_of(value), text_of(&hash.of_bytes(signed.as_bytes())));
                let given = given.trim();
                if *is_hex { equal(&given.to_ascii_lowercase(), &right) } else { equal(given, &right) }
            }
        }
    }
}

fn compare(comparison: Comparison, value: &Value, other: &Value) -> bool {
    match comparison {
        Comparison::Same => number::same(value, other),
        Comparison::Different => !number::same(value, other),
        Comparison::Ordered(right) => number::order(value, other).is_some_and(|order| right.contains(&order)),
    }
}

/// Characters of a text, elements of a list; a map has no length.
fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Map(_) => None,
        Value::Array(list) => Some(list.len()),
        other => Some(text_of(other).chars().count()),
    }
}

/// Compares in a time that hangs on the length alone, so that nobody can guess a signature byte by byte.
fn equal(a: &str, b: &str) -> bool {
    let difference = a.bytes().zip(b.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b));
    std::hint::black_box(difference) == 0 && a.len() == b.len()
}
