//! Finding pairs in a text.
//!
//! What a pair looks like is defined by a regular expression, which is how Logstash does it. Nearly all configurations
//! have separators of single characters and nearly all texts have no backslash; for those [`quick`](super::quick) does
//! the same without an engine.

use std::ops::Range;

use super::quick::Quick;
use crate::regexp::{GaveUp, RegexpError, RubyRegex};

/// How keys, values and pairs are told apart.
#[derive(Clone, Debug)]
pub(super) struct Separators {
    pub field: Separator,
    pub value: Separator,
    /// Blanks around the separator of key and value belong to it.
    pub is_lenient: bool,
    /// Values may stand in brackets.
    pub has_brackets: bool,
}

/// What separates.
#[derive(Clone, Debug)]
pub(super) enum Separator {
    /// Any one of these characters: the inside of a character class.
    Class(String),
    Pattern(String),
}

impl Separator {
    fn pattern(&self) -> String {
        match self {
            Self::Class(class) => format!("[{class}]"),
            Self::Pattern(pattern) => format!("(?:{pattern})"),
        }
    }
}

/// Separators, compiled.
pub(super) struct Scanner {
    quick: Option<Quick>,
    pairs: RubyRegex,
    /// A text without it has no pairs.
    value_separator: RubyRegex,
    key_group: usize,
    /// One for each way in which a value can be written.
    value_groups: Vec<usize>,
}

/// A pair in a text; without a value when there is nothing behind the separator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub key: Range<usize>,
    pub value: Option<Range<usize>>,
}

/// The text was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("finding the pairs took too long")]
pub(super) struct TookTooLong;

impl From<GaveUp> for TookTooLong {
    fn from(_: GaveUp) -> Self {
        Self
    }
}

impl Scanner {
    /// Compiles separators; the error is that of the regular expression they make.
    pub fn new(separators: &Separators) -> Result<Self, RegexpError> {
        let value_separator = RubyRegex::new(&separators.value.pattern())?;
        RubyRegex::new(&separators.field.pattern())?;
        let pairs = RubyRegex::new(&pair_pattern(separators))?;
        let numbered = || (1..).zip(pairs.group_names());
        let groups = |wanted: &'static str| numbered().filter(move |(_, name)| name.as_deref() == Some(wanted));
        let key_group = groups(KEY).map(|(at, _)| at).next().unwrap_or_default();
        let value_groups = groups(VALUE).map(|(at, _)| at).collect();
        Ok(Self { quick: Quick::new(separators), pairs, value_separator, key_group, value_groups })
    }

    /// The pairs of a text from left to right.
    pub fn scan<'s, 't>(&'s self, text: &'t str) -> Result<Scan<'s, 't>, TookTooLong> {
        let quick = self.quick.as_ref().filter(|_| memchr::memchr(b'\\', text.as_bytes()).is_none());
        let is_over = quick.is_none() && !self.value_separator.try_is_match(text)?;
        Ok(Scan { scanner: self, quick, text, at: if is_over { text.len() } else { 0 } })
    }

    /// As [`Scanner::scan`], always by the regular expression.
    #[cfg(test)]
    pub fn scan_by_pattern<'s, 't>(&'s self, text: &'t str) -> Scan<'s, 't> {
        Scan { scanner: self, quick: None, text, at: 0 }
    }

    /// Whether texts without a backslash need no engine.
    #[cfg(test)]
    pub fn is_quick(&self) -> bool {
        self.quick.is_some()
    }

    fn next_by_pattern(&self, text: &str, from: usize) -> Result<Option<(Pair, usize)>, GaveUp> {
        let Some(captures) = self.pairs.captures_at(text, from)? else { return Ok(None) };
        let key = captures.get(self.key_group).unwrap_or_default();
        let value = self.value_groups.iter().find_map(|group| captures.get(*group));
        Ok(Some((Pair { key, value }, captures.range().end)))
    }
}

/// See [`Scanner::scan`].
pub(super) struct Scan<'s, 't> {
    scanner: &'s Scanner,
    quick: Option<&'s Quick>,
    text: &'t str,
    at: usize,
}

impl Scan<'_, '_> {
    /// Whether it may take long.
    pub fn is_by_pattern(&self) -> bool {
        self.quick.is_none()
    }
}

impl Iterator for Scan<'_, '_> {
    type Item = Result<Pair, TookTooLong>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let found = match self.quick {
            Some(quick) => Ok(quick.next(self.text.as_bytes(), self.at)),
            None if self.at >= self.text.len() => Ok(None),
            None => self.scanner.next_by_pattern(self.text, self.at),
        };
        match found {
            Ok(Some((pair, end))) => {
                self.at = end;
                Some(Ok(pair))
            }
            Ok(None) => None,
            Err(gave_up) => {
                self.at = self.text.len();
                Some(Err(gave_up.into()))
            }
        }
    }
}

const KEY: &str = "key";
const VALUE: &str = "value";

/// Key, separator, maybe a value, and the end of the pair. Ways to write a value are tried in order; one counts only
/// when the pair ends behind it.
fn pair_pattern(separators: &Separators) -> String {
    let (field, value) = (separators.field.pattern(), separators.value.pattern());
    let (key, bare) = match (&separators.field, &separators.value) {
        (Separator::Class(fields), Separator::Class(values)) => {
            (format!(r"(?:\\.|[^{fields}{values}])+"), format!(r"(?:\\.|[^{fields}])+"))
        }
        _ => (format!(r"(?:(?!{field}|{value})(?m:.))+"), format!(r"(?:\\.|(?!{field})(?m:.))+")),
    };
    let blanks = if separators.is_lenient { " *" } else { "" };
    let marks = [('"', '"'), ('\'', '\''), ('(', ')'), ('[', ']'), ('<', '>')];
    let marks = marks.iter().take(if separators.has_brackets { marks.len() } else { 2 });
    let marked: String =
        marks.map(|(open, close)| format!(r"\{open}(?<{VALUE}>(?:\\.|[^\{close}])*)\{close}|")).collect();
    format!("(?<{KEY}>{key}){blanks}{value}{blanks}(?:{marked}(?<{VALUE}>{bare}))?(?:{field}|$)")
}
