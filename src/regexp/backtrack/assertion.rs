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
    let (before, behind) = (at.checked_sub(1).and_then(|before| bytes.get(before)), bytes.get(at));
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| IS_WORD[usize::from(*byte)]);
    if before.is_none_or(u8::is_ascii) && behind.is_none_or(u8::is_ascii) {
        return is_word(before) != is_word(behind);
    }
    let before = text.get(..at).and_then(|text| text.chars().next_back()).is_some_and(is_word_character);
    let behind = text.get(at..).and_then(|text| text.chars().next()).is_some_and(is_word_character);
    before != behind
}

/// The ASCII characters of words.
static IS_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    table
};

fn is_word_character(c: char) -> bool {
    regex_syntax::try_is_word_character(c).unwrap_or(false)
}
