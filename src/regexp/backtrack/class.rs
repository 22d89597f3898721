//! One character out of a set.

use regex_syntax::hir::{Class, HirKind};

use super::set::ByteSet;

/// A set of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CharClass {
    ascii: ByteSet,
    others: Others,
}

/// The characters beyond ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Others {
    None,
    All,
    Ranges(Box<[(char, char)]>),
}

impl CharClass {
    /// Any character, a line feed only with `dot_all`.
    pub fn any(dot_all: bool) -> Self {
        let mut ascii = ByteSet::EMPTY;
        ascii.insert_range(0, 9);
        ascii.insert_range(if dot_all { 10 } else { 11 }, 0x7f);
        Self { ascii, others: Others::All }
    }

    /// The class of a text in the syntax of the `regex` crate: a bracketed class, or one character.
    pub fn parse(text: &str, ignore_case: bool) -> Option<Self> {
        let parser = regex_syntax::ParserBuilder::new().case_insensitive(ignore_case).build().parse(text);
        let class = match parser.ok()?.into_kind() {
            HirKind::Class(Class::Unicode(class)) => class,
            HirKind::Class(Class::Bytes(class)) => class.to_unicode_class()?,
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).ok()?;
                return text.chars().next().filter(|c| c.len_utf8() == text.len()).map(Self::single);
            }
            _ => return None,
        };
        let mut found = Self { ascii: ByteSet::EMPTY, others: Others::None };
        let mut ranges = Vec::new();
        for range in class.ranges() {
            if range.start().is_ascii() {
                found.ascii.insert_range(range.start() as u8, range.end().min('\x7f') as u8);
            }
            if !range.end().is_ascii() {
                ranges.push((range.start().max('\u{80}'), range.end()));
            }
        }
        found.others = match ranges.as_slice() {
            [] => Others::None,
            [('\u{80}', char::MAX)] => Others::All,
            _ => Others::Ranges(ranges.into()),
        };
        Some(found)
    }

    pub fn single(c: char) -> Self {
        let mut class = Self { ascii: ByteSet::EMPTY, others: Others::None };
        if c.is_ascii() {
            class.ascii = ByteSet::of(c as u8);
        } else {
            class.others = Others::Ranges(Box::new([(c, c)]));
        }
        class
    }

    /// Whether all its characters are one byte long.
    pub fn is_ascii(&self) -> bool {
        self.others == Others::None
    }

    /// For each byte, whether it is one of a character of the class. `None` when the bytes cannot tell.
    pub fn by_bytes(&self) -> Option<ByteSet> {
        match self.others {
            Others::None => Some(self.ascii),
            Others::All => {
                let mut set = self.ascii;
                set.insert_range(0x80, 0xff);
                Some(set)
            }
            Others::Ranges(_) => None,
        }
    }

    /// The bytes that its characters start with.
    pub fn first_bytes(&self) -> ByteSet {
        let mut set = self.ascii;
        match &self.others {
            Others::None => {}
            Others::All => set.insert_range(0xc2, 0xf4),
            Others::Ranges(ranges) => {
                for (low, high) in ranges {
                    set.insert_range(first_byte(*low), first_byte(*high));
                }
            }
        }
        set
    }

    pub fn contains(&self, c: char) -> bool {
        match &self.others {
            _ if c.is_ascii() => self.ascii.contains(c as u8),
            Others::None => false,
            Others::All => true,
            Others::Ranges(ranges) => {
                let at = ranges.partition_point(|(_, high)| *high < c);
                ranges.get(at).is_some_and(|(low, _)| *low <= c)
            }
        }
    }

    /// The bytes of the character at a place of the text, if it is one of the class.
    #[inline]
    pub fn length_at(&self, text: &str, at: usize) -> Option<usize> {
        let byte = *text.as_bytes().get(at)?;
        if byte.is_ascii() {
            return self.ascii.contains(byte).then_some(1);
        }
        let c = text.get(at..)?.chars().next()?;
        self.contains(c).then(|| c.len_utf8())
    }

    /// Whether a character of the class ends at a place of the text.
    #[inline]
    pub fn is_before(&self, text: &str, at: usize) -> bool {
        match at.checked_sub(1).and_then(|before| text.as_bytes().get(before)) {
            None => false,
            Some(byte) if byte.is_ascii() => self.ascii.contains(*byte),
            Some(_) => text.get(..at).and_then(|before| before.chars().next_back()).is_some_and(|c| self.contains(c)),
        }
    }
}

fn first_byte(c: char) -> u8 {
    c.encode_utf8(&mut [0; 4]).as_bytes().first().copied().unwrap_or_default()
}
