//! Text of an event: [`Bytes`] that are UTF-8.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, Range};

use super::Bytes;

/// Valid UTF-8 in two words: up to 15 bytes inline, longer text shared and sliced without a copy.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Text(Bytes);

/// Bytes that are no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are not valid UTF-8")]
pub struct NotUtf8(pub Bytes);

impl Text {
    /// No text.
    pub const fn new() -> Self {
        Self(Bytes::new())
    }

    /// Text of the program itself. Costs nothing, nor do its clones.
    #[inline]
    pub const fn borrowed(text: &'static str) -> Self {
        Self(Bytes::borrowed(text.as_bytes()))
    }

    /// The bytes as text, or the bytes back.
    pub fn from_utf8(bytes: Bytes) -> Result<Self, NotUtf8> {
        if simdutf8::basic::from_utf8(&bytes).is_ok() { Ok(Self(bytes)) } else { Err(NotUtf8(bytes)) }
    }

    /// The bytes at `range` as text, which shares their memory unless it is short. `None` when they are no text.
    #[inline(always)]
    pub fn in_bytes(bytes: &Bytes, range: Range<usize>) -> Option<Self> {
        let part = bytes.slice(range)?;
        (part.is_short_ascii() || part.is_ascii() || simdutf8::basic::from_utf8(&part).is_ok()).then_some(Self(part))
    }

    /// See [`Bytes::is_short`].
    #[inline]
    pub(super) fn is_short(&self) -> bool {
        self.0.is_short()
    }

    /// See [`Bytes::has_words_of`].
    #[inline(always)]
    pub(super) fn has_words_of(&self, other: &Self) -> bool {
        self.0.has_words_of(&other.0)
    }

    /// The memory of a text that is kept inline, see [`Bytes::as_padded`].
    #[inline]
    pub(super) fn as_padded(&self) -> Option<(&[u8; 16], usize)> {
        self.0.as_padded()
    }

    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        // SAFETY: every way to make a `Text` starts from a `str` or checks its bytes, and slices end on characters.
        unsafe { std::str::from_utf8_unchecked(self.0.as_slice()) }
    }

    /// A part of the text, which shares its memory unless it is short. Empty when the range does not lie on character
    /// borders.
    #[inline]
    pub fn piece(&self, range: Range<usize>) -> Self {
        let text = self.as_str();
        if !text.is_char_boundary(range.start) || !text.is_char_boundary(range.end) {
            return Self::new();
        }
        self.0.slice(range).map(Self).unwrap_or_default()
    }
}

impl Text {
    /// As [`Text::piece`], of a part that was borrowed from this text; any other text is copied.
    pub fn part(&self, part: &str) -> Self {
        Self::part_of(&self.0, part)
    }

    /// A text that was borrowed from `bytes`, which it shares unless it is short; any other text is copied.
    #[inline]
    pub fn part_of(bytes: &Bytes, part: &str) -> Self {
        match bytes.part(part.as_bytes()) {
            // A part that lies inside is the same memory, so it is the same UTF-8.
            Some(part) => Self(part),
            None => Self::from(part),
        }
    }
}

/// The part of a text that can be kept: all of it, unless it is longer than [`Bytes`] can be.
#[inline]
fn cut(text: &str) -> &str {
    if text.len() <= Bytes::LONGEST { text } else { text.get(..text.floor_char_boundary(Bytes::LONGEST)).unwrap_or("") }
}

impl Deref for Text {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<&str> for Text {
    #[inline]
    fn from(text: &str) -> Self {
        Self(Bytes::from(cut(text).as_bytes()))
    }
}

impl From<String> for Text {
    fn from(mut text: String) -> Self {
        text.truncate(cut(&text).len());
        Self(Bytes::from(text.into_bytes()))
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::from(text),
            Cow::Owned(text) => Self::from(text),
        }
    }
}

/// As `str` hashes, so that maps with text keys can be asked with a `&str`.
impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<Text> for str {
    fn eq(&self, other: &Text) -> bool {
        self == other.as_str()
    }
}

impl PartialEq<Text> for &str {
    fn eq(&self, other: &Text) -> bool {
        *self == other.as_str()
    }
}

impl PartialEq<Text> for String {
    fn eq(&self, other: &Text) -> bool {
        self == other.as_str()
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other)
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self.as_str(), f)
    }
}
