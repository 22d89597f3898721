//! A Joda-Time pattern taken apart, the same way for printing and for reading.

use crate::event::time_format::run_length;

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A run of one letter.
    Letters(char, usize),
    Literal(String),
}

impl Token {
    /// Whether what it stands for is digits.
    pub fn is_numeric(&self) -> bool {
        match self {
            Self::Letters('M', count) => *count <= 2,
            Self::Letters(letter, _) => "CxyYdhHmsSeDwkK".contains(*letter),
            Self::Literal(_) => false,
        }
    }
}

/// Takes a pattern apart.
pub(super) fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let length;
        if first.is_ascii_alphabetic() {
            length = run_length(rest, first);
            tokens.push(Token::Letters(first, length));
        } else {
            let (text, end) = literal(rest);
            length = end;
            tokens.push(Token::Literal(text));
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    tokens
}

/// What is said of letters without a meaning.
pub(super) fn illegal(letter: char, pattern: &str) -> String {
    format!(
        "Illegal pattern component: the letter `{letter}` of the time format `{pattern}` is unknown; \
        quote text like 'this'"
    )
}

/// Text up to the next letter outside of quotes, and its length in the pattern. Two quotes are one; a quote that is
/// never closed reaches to the end.
fn literal(rest: &str) -> (String, usize) {
    let mut text = String::new();
    let mut is_quoted = false;
    let mut chars = rest.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars.next_if(|(_, next)| *next == '\'').is_some() => text.push('\''),
            '\'' => is_quoted = !is_quoted,
            c if c.is_ascii_alphabetic() && !is_quoted => return (text, at),
            c => text.push(c),
        }
    }
    (text, rest.len())
}
