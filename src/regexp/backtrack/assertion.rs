//! Conditions on a place of the text.

use super::node::Assertion;

impl Assertion {
    /// Whether it holds at a place; `search_start` is where the search began.
    pub fn holds(self, text: &str, at: usize, search_start: usize) -> bool {
        let bytes = text.as_bytes();
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        match self {
            Self::TextStart => at == 0,
            Self::TextEnd => at == bytes.len(),
            // Not behind the last line feed of a text.
            Self::LineStart => before.is_none_or(|byte| *byte == b'\n' && at < bytes.len()),
            Self::LineEnd => bytes.get(at).is_none_or(|byte| *byte == b'\n'),
            Self::WordBoundary => is_word_boundary(text, at),
            Self::NoWordBoundary => !is_word_boundary(text, at),
            Self::SearchStart => at == search_start,
        }
    }
}

#[inline]
fn is_word_boundary(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let before = match at.checked_sub(1).and_then(|before| bytes.get(before)) {
        Some(byte) if byte.is_ascii() => is_word(*byte),
        None => false,
        Some(_) => text.get(..at).and_then(|text| text.chars().next_back()).is_some_and(is_word_character),
    };
    let behind = match bytes.get(at) {
        Some(byte) if byte.is_ascii() => is_word(*byte),
        None => false,
        Some(_) => text.get(at..).and_then(|text| text.chars().next()).is_some_and(is_word_character),
    };
    before != behind
}

fn is_word_character(c: char) -> bool {
    regex_syntax::try_is_word_character(c).unwrap_or(false)
}
