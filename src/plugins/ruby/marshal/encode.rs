//! Values to Marshal.

use num_bigint::{BigInt, Sign};

use super::{DECIMAL, TIMESTAMP, VERSION};
use crate::event::text_form::ruby_decimal;
use crate::event::{Decimal, Map, Timestamp, Value};

/// Integers that Ruby writes as such; the others are big ones.
const SMALL: std::ops::Range<i64> = -(1 << 30)..1 << 30;

/// Writes one message: its length in four bytes, then its value.
pub struct Encoder {
    out: Vec<u8>,
    /// Symbols are written out once.
    symbols: Vec<&'static str>,
}

impl Default for Encoder {
    fn default() -> Self {
        let mut out = Vec::with_capacity(4096);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&VERSION);
        Self { out, symbols: Vec::new() }
    }
}

impl Encoder {
    /// The message. One of more than 4 GiB, which no batch is, would be cut by its reader.
    pub fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.out.len() - 4).unwrap_or(u32::MAX);
        self.out[..4].copy_from_slice(&length.to_be_bytes());
        self.out
    }

    /// Begins a list of so many values.
    pub fn list(&mut self, length: usize) {
        self.out.push(b'[');
        self.number(length as i64);
    }

    /// Begins a map of so many pairs, each a text and a value.
    pub fn map(&mut self, length: usize) {
        self.out.push(b'{');
        self.number(length as i64);
    }

    /// A boolean.
    pub fn boolean(&mut self, value: bool) {
        self.out.push(if value { b'T' } else { b'F' });
    }

    /// A text in UTF-8.
    pub fn text(&mut self, text: &str) {
        self.out.extend_from_slice(b"I\"");
        self.bytes(text.as_bytes());
        self.number(1);
        self.symbol("E");
        self.out.push(b'T');
    }

    /// All of a map.
    pub fn fields(&mut self, map: &Map) {
        self.map(map.len());
        for (name, value) in map.iter() {
            self.text(name);
            self.value(value);
        }
    }

    /// Any value.
    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.out.push(b'0'),
            Value::Bool(value) => self.boolean(*value),
            Value::Integer(value) => self.integer(*value),
            Value::Float(value) => self.float(*value),
            Value::BigInteger(value) => self.big(value),
            Value::Decimal(value) => self.decimal(value),
            Value::String(text) => self.text(text),
            Value::Timestamp(at) => self.timestamp(*at),
            Value::Array(list) => {
                self.list(list.len());
                list.iter().for_each(|item| self.value(item));
            }
            Value::Map(map) => self.fields(map),
        }
    }

    fn integer(&mut self, value: i64) {
        if SMALL.contains(&value) {
            self.out.push(b'i');
            self.number(value);
        } else {
            self.big(&BigInt::from(value));
        }
    }

    fn big(&mut self, value: &BigInt) {
        let (sign, mut bytes) = value.to_bytes_le();
        if bytes.len() % 2 == 1 {
            bytes.push(0);
        }
        self.out.extend_from_slice(&[b'l', if sign == Sign::Minus { b'-' } else { b'+' }]);
        self.number(bytes.len() as i64 / 2);
        self.out.extend_from_slice(&bytes);
    }

    fn float(&mut self, value: f64) {
        let text = match value {
            v if v.is_nan() => "nan".to_owned(),
            v if v.is_infinite() => if v > 0.0 { "inf" } else { "-inf" }.to_owned(),
            v => format!("{v:e}"),
        };
        self.out.push(b'f');
        self.bytes(text.as_bytes());
    }

    fn decimal(&mut self, value: &Decimal) {
        self.out.push(b'u');
        self.symbol(DECIMAL);
        // The digits that Ruby shall make room for, and the number.
        self.bytes(format!("0:{}", ruby_decimal(value)).as_bytes());
    }

    fn timestamp(&mut self, at: Timestamp) {
        self.out.push(b'o');
        self.symbol(TIMESTAMP);
        self.number(2);
        self.symbol("@s");
        self.integer(at.seconds());
        self.symbol("@n");
        self.integer(i64::from(at.nanos()));
    }

    fn symbol(&mut self, name: &'static str) {
        if let Some(at) = self.symbols.iter().position(|known| *known == name) {
            self.out.push(b';');
            self.number(at as i64);
        } else {
            self.symbols.push(name);
            self.out.push(b':');
            self.bytes(name.as_bytes());
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as i64);
        self.out.extend_from_slice(bytes);
    }

    /// Lengths and small integers: one byte for the smallest, else how many follow.
    fn number(&mut self, value: i64) {
        match value {
            0 => self.out.push(0),
            1..=122 => self.out.push((value + 5) as u8),
            -123..=-1 => self.out.push((value - 5) as u8),
            _ => {
                let bytes = value.to_le_bytes();
                let filler = if value < 0 { 0xFF } else { 0 };
                let length = bytes.iter().rposition(|b| *b != filler).map_or(1, |at| at + 1);
                self.out.push(if value < 0 { (length as u8).wrapping_neg() } else { length as u8 });
                self.out.extend_from_slice(&bytes[..length]);
            }
        }
    }
}
