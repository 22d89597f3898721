//! Pairs with separators of single ASCII characters, in a text without backslashes.
//!
//! Here nothing can make the regular expression step back: a key ends at the first separator of either kind, and
//! whatever follows the one behind the key is a value or nothing. So one walk over the bytes finds what it finds; a
//! property test holds both against each other.

use super::characters::ByteSet;
use super::scanner::{Pair, Separator, Separators};

/// Single characters that separate.
pub(super) struct Quick {
    field: ByteSet,
    value: ByteSet,
    /// When fields are separated by one character only.
    single_field: Option<u8>,
    is_lenient: bool,
    has_brackets: bool,
}

impl Quick {
    /// None when the separators are more than single ASCII characters.
    pub fn new(separators: &Separators) -> Option<Self> {
        let (Separator::Class(fields), Separator::Class(values)) = (&separators.field, &separators.value) else {
            return None;
        };
        let (field, value) = (ByteSet::of_class(fields)?, ByteSet::of_class(values)?);
        if separators.is_lenient && value.contains(b' ') {
            return None;
        }
        let single_field = match *fields.as_bytes() {
            [byte] => Some(byte),
            _ => None,
        };
        let Separators { is_lenient, has_brackets, .. } = *separators;
        Some(Self { field, value, single_field, is_lenient, has_brackets })
    }

    /// The first pair that begins at or behind `from`, and where the next one can begin.
    #[inline]
    pub fn next(&self, text: &[u8], from: usize) -> Option<(Pair, usize)> {
        let mut at = from;
        loop {
            let start = at + self.position(text, at, |byte| !self.separates(byte))?;
            let key_end = match self.position(text, start, |byte| self.separates(byte)) {
                Some(length) => start + length,
                None => return None,
            };
            if let Some(separator) = self.value_separator(text, key_end) {
                let (value, end) = self.value(text, self.behind_blanks(text, separator + 1));
                return Some((Pair { key: start..key_end, value }, end));
            }
            at = key_end;
        }
    }

    #[inline]
    fn separates(&self, byte: u8) -> bool {
        self.field.contains(byte) || self.value.contains(byte)
    }

    #[inline]
    fn position(&self, text: &[u8], from: usize, is_it: impl Fn(u8) -> bool) -> Option<usize> {
        text.get(from..)?.iter().position(|byte| is_it(*byte))
    }

    /// Where the separator behind a key is, if there is one.
    #[inline]
    fn value_separator(&self, text: &[u8], key_end: usize) -> Option<usize> {
        let at = self.behind_blanks(text, key_end);
        text.get(at).is_some_and(|byte| self.value.contains(*byte)).then_some(at)
    }

    #[inline]
    fn behind_blanks(&self, text: &[u8], mut at: usize) -> usize {
        while self.is_lenient && text.get(at) == Some(&b' ') {
            at += 1;
        }
        at
    }

    /// The value that begins at `start`, and the end of its pair.
    #[inline]
    fn value(&self, text: &[u8], start: usize) -> (Option<std::ops::Range<usize>>, usize) {
        if let Some(close) = text.get(start).and_then(|open| self.closing(*open))
            && let Some(length) = memchr::memchr(close, text.get(start + 1..).unwrap_or_default())
        {
            let close = start + 1 + length;
            match text.get(close + 1) {
                Some(byte) if self.field.contains(*byte) => return (Some(start + 1..close), close + 2),
                None | Some(b'\n') => return (Some(start + 1..close), close + 1),
                Some(_) => {}
            }
        }
        let rest = text.get(start..).unwrap_or_default();
        let length = match self.single_field {
            Some(byte) => memchr::memchr(byte, rest),
            None => rest.iter().position(|byte| self.field.contains(*byte)),
        };
        let end = length.map_or(text.len(), |length| start + length);
        let value = (end > start).then_some(start..end);
        (value, if length.is_some() { end + 1 } else { end })
    }

    fn closing(&self, open: u8) -> Option<u8> {
        match open {
            b'"' | b'\'' => Some(open),
            b'(' if self.has_brackets => Some(b')'),
            b'[' if self.has_brackets => Some(b']'),
            b'<' if self.has_brackets => Some(b'>'),
            _ => None,
        }
    }
}
