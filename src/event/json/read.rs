//! A strict JSON reader over shared text: strings without escapes become slices of it.

use num_bigint::BigInt;

use super::scan::plain_prefix;
use crate::event::in_place::push_with;
use crate::event::{Decimal, Map, Text, Value};

/// Deepest nesting of lists and objects; the limit that Logstash's parser has.
const DEEPEST: usize = 1000;
/// Longest number in characters; the limit that Logstash's parser has. It keeps big integers from taking quadratic
/// time.
const LONGEST_NUMBER: usize = 1000;

/// What a number with a point or an exponent becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// A double.
    Double,
    /// A decimal that keeps its digits.
    Decimal,
}

/// Text that is no JSON, and the byte offset where that shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at byte {offset}")]
pub struct JsonError {
    /// What is wrong.
    pub message: &'static str,
    /// Where, in bytes from the start of the text.
    pub offset: usize,
}

/// Reads one JSON value after the other from a text.
pub struct Reader<'a> {
    text: &'a Text,
    bytes: &'a [u8],
    at: usize,
    numbers: Numbers,
    deepest: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the beginning of `text`, past a byte order mark.
    pub fn new(text: &'a Text, numbers: Numbers) -> Self {
        let bytes = text.as_bytes();
        let at = if bytes.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
        Self { text, bytes, at, numbers, deepest: DEEPEST }
    }

    /// Refuses lists and objects that are nested more deeply than this.
    #[must_use]
    pub fn nested_at_most(self, deepest: usize) -> Self {
        Self { deepest, ..self }
    }

    /// The next value; `None` when only blanks are left. Equal keys: the last one wins.
    pub fn next_value(&mut self) -> Result<Option<Value>, JsonError> {
        self.skip_blanks();
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let mut value = Value::Null;
        self.value(0, &mut value)?;
        Ok(Some(value))
    }

    /// Bytes read so far.
    pub fn offset(&self) -> usize {
        self.at
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn fail<T>(&self, message: &'static str) -> Result<T, JsonError> {
        Err(JsonError { message, offset: self.at })
    }

    #[inline(always)]
    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// Reads a value into its place. Values are built where they stay: moving them through results costs more than
    /// reading them.
    fn value(&mut self, depth: usize, slot: &mut Value) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'"') => {
                let mut text = Text::new();
                self.string(&mut text)?;
                *slot = Value::String(text);
                Ok(())
            }
            Some(b'{') => self.object(depth, slot),
            Some(b'[') => self.array(depth, slot),
            Some(b'-' | b'0'..=b'9') => self.number(slot),
            Some(b't') => self.word("true", Value::Bool(true), slot),
            Some(b'f') => self.word("false", Value::Bool(false), slot),
            Some(b'n') => self.word("null", Value::Null, slot),
            Some(_) => self.fail("expected a JSON value"),
            None => self.fail("unexpected end of text"),
        }
    }

    fn word(&mut self, word: &str, value: Value, slot: &mut Value) -> Result<(), JsonError> {
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return self.fail("expected a JSON value");
        }
        self.at += word.len();
        if self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return self.fail("expected a JSON value");
        }
        *slot = value;
        Ok(())
    }

    fn object(&mut self, depth: usize, slot: &mut Value) -> Result<(), JsonError> {
        if depth >= self.deepest {
            return self.fail("nested too deeply");
        }
        *slot = Value::Map(Map::new());
        let Value::Map(map) = slot else { return Ok(()) };
        self.at += 1;
        self.skip_blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.fail("expected a string as key");
            }
            let mut key = Text::new();
            self.string(&mut key)?;
            self.skip_blanks();
            if self.peek() != Some(b':') {
                return self.fail("expected `:`");
            }
            self.at += 1;
            self.skip_blanks();
            self.value(depth + 1, map.slot(&key))?;
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return self.fail("expected `,` or `}`"),
            }
            self.skip_blanks();
        }
        self.at += 1;
        Ok(())
    }

    fn array(&mut self, depth: usize, slot: &mut Value) -> Result<(), JsonError> {
        if depth >= self.deepest {
            return self.fail("nested too deeply");
        }
        *slot = Value::Array(Vec::new());
        let Value::Array(list) = slot else { return Ok(()) };
        self.at += 1;
        self.skip_blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1, push_with(list, || Value::Null))?;
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return self.fail("expected `,` or `]`"),
            }
            self.skip_blanks();
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn string(&mut self, slot: &mut Text) -> Result<(), JsonError> {
        self.at += 1;
        let start = self.at;
        self.at += plain_prefix(self.bytes.get(start..).unwrap_or_default());
        if self.peek() == Some(b'"') {
            *slot = self.slice(start, self.at);
            self.at += 1;
            return Ok(());
        }
        *slot = self.escaped_string(start)?;
        Ok(())
    }

    /// A piece of the text, shared when it is long. Ends stand next to ASCII bytes, so they are character borders.
    #[inline]
    fn slice(&self, start: usize, end: usize) -> Text {
        self.text.piece(start..end)
    }

    fn escaped_string(&mut self, start: usize) -> Result<Text, JsonError> {
        let mut out = String::from(self.slice(start, self.at).as_str());
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Text::from(out));
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(_) => return self.fail("raw control character in a string"),
                None => return self.fail("unterminated string"),
            }
            let from = self.at;
            self.at += plain_prefix(self.bytes.get(from..).unwrap_or_default());
            out.push_str(&self.slice(from, self.at));
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let c = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return self.fail("unknown escape"),
        };
        self.at += 1;
        Ok(c)
    }

    /// After `\u`. A surrogate without its partner becomes U+FFFD.
    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let unit = self.hex4()?;
        if (0xD800..0xDC00).contains(&unit) && self.bytes.get(self.at..self.at + 2) == Some(b"\\u") {
            let back = self.at;
            self.at += 2;
            let low = self.hex4()?;
            if (0xDC00..0xE000).contains(&low) {
                let code = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|b| char::from(b).to_digit(16)) else {
                return self.fail("expected four hex digits");
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    fn number(&mut self, slot: &mut Value) -> Result<(), JsonError> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let digits_start = self.at;
        let mut magnitude: u64 = 0;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            magnitude = magnitude.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        let digits = self.at - digits_start;
        if digits == 0 {
            return self.fail("expected a digit");
        }
        if digits > 1 && self.bytes.get(digits_start) == Some(&b'0') {
            return self.fail("a number cannot start with 0");
        }
        if matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            return self.fraction(start, slot);
        }
        if self.peek().is_some_and(|b| b.is_ascii_alphabetic()) {
            return self.fail("unexpected letter after a number");
        }
        *slot = if digits <= 18 {
            let n = magnitude as i64;
            Value::Integer(if negative { -n } else { n })
        } else {
            match self.number_text(start)?.parse::<BigInt>() {
                Ok(n) => Value::from_big(n),
                Err(_) => return self.fail("not a number"),
            }
        };
        Ok(())
    }

    fn fraction(&mut self, start: usize, slot: &mut Value) -> Result<(), JsonError> {
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        if self.peek().is_some_and(|b| b.is_ascii_alphabetic()) {
            return self.fail("unexpected letter after a number");
        }
        let text = self.number_text(start)?;
        let value = match self.numbers {
            Numbers::Double => text.parse().ok().map(Value::Float),
            Numbers::Decimal => Decimal::parse(text).map(Value::Decimal),
        };
        let Some(value) = value else { return self.fail("number out of range") };
        *slot = value;
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { self.fail("expected a digit") } else { Ok(()) }
    }

    fn number_text(&self, start: usize) -> Result<&'a str, JsonError> {
        if self.at - start > LONGEST_NUMBER {
            return self.fail("number too long");
        }
        match self.text.get(start..self.at) {
            Some(text) => Ok(text),
            None => self.fail("not a number"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Value>, JsonError> {
        Reader::new(&Text::from(text), Numbers::Decimal).next_value()
    }

    fn round(text: &str) -> String {
        let value = read(text).unwrap().unwrap();
        let mut out = Vec::new();
        super::super::write_value(&value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_keep_their_digits() {
        for (given, expected) in [
            ("1.10", "1.10"),
            ("1E3", "1E+3"),
            ("1e-7", "1E-7"),
            ("-0.0", "0.0"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "9223372036854775808"),
            ("-0", "0"),
            ("0.000001", "0.000001"),
        ] {
            assert_eq!(round(given), expected);
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in [
            "{'a':1}",
            "{a:1}",
            r#"{"a":1,}"#,
            r#"{"a":NaN}"#,
            "01",
            "1.",
            "-",
            "[1 2]",
            "\"a\nb\"",
            r#""\x""#,
            "tru",
            "nullx",
            "[",
            r#"{"a""#,
            "1x",
            r#""\ud83"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read(&"9".repeat(2_000)).is_err());
        assert!(read(&format!("{}{}", "[".repeat(1000), "]".repeat(1000))).is_ok());
    }

    #[test]
    fn strings() {
        let text = r#"["\u00e9\ud83d\ude00\ud800x\"\\\/\b", "a long string without any escape in it"]"#;
        assert_eq!(round(text), "[\"é😀\u{fffd}x\\\"\\\\/\\b\",\"a long string without any escape in it\"]");
    }
}
