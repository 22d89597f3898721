//! Writing an event: the shapes that Logstash writes, in their shortest form.
//!
//! Lengths are definite and integers short, which makes every entry at most as large as Logstash's own.

use num_bigint::{BigInt, Sign};

use super::strings::{Kind, WrittenStrings};
use super::{DEEPEST, class, major, tag};
use crate::event::{Decimal, Map, Timestamp, VERSION, Value};

/// Longest text, in UTF-16 units, that is written in one piece; longer ones never enter the string table. It is the
/// limit that Logstash has, so that both count the same table.
const LONGEST_PIECE_UNITS: usize = 3996;
/// A piece of that many units has at most this many bytes.
const LONGEST_PIECE_BYTES: usize = 3 * LONGEST_PIECE_UNITS;

/// The head of a list of two.
const TYPED: u8 = major::ARRAY << 5 | 2;
/// The head of a tag of one byte.
const TAGGED: u8 = major::TAG << 5 | 24;
const BREAK: u8 = 0xff;
const INDEFINITE_TEXT: u8 = 0x7f;

/// An event with more maps and lists inside each other than a reader takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event has more than {DEEPEST} maps and lists inside each other")]
pub struct TooDeep;

/// Encodes events; keeps its tables from one event to the next.
#[derive(Default)]
pub struct Encoder {
    strings: WrittenStrings,
    scratch: Vec<u8>,
}

/// The types that an encoder writes.
#[derive(Clone, Copy)]
enum Class {
    Root,
    String,
    Nil,
    Timestamp,
    Map,
    List,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Root => class::ROOT,
            Self::String => class::STRING,
            Self::Nil => class::NIL,
            Self::Timestamp => class::TIMESTAMP,
            Self::Map => class::MAP,
            Self::List => class::LIST,
        }
    }
}

impl Encoder {
    /// Appends an event to `out`.
    pub fn encode(&mut self, fields: &Map, metadata: &Map, out: &mut Vec<u8>) -> Result<(), TooDeep> {
        self.strings.clear();
        head(out, major::TAG, tag::STRING_TABLE);
        let mut to = Encoding { strings: &mut self.strings, scratch: &mut self.scratch, classes: [None; 6], out };
        to.class(Class::Root);
        head(to.out, major::MAP, 2);
        to.text("DATA");
        to.map(fields, 1)?;
        to.text("META");
        to.map(metadata, 1)
    }
}

struct Encoding<'a> {
    strings: &'a mut WrittenStrings,
    scratch: &'a mut Vec<u8>,
    /// Index in the string table of each [`Class`] that was written.
    classes: [Option<u64>; 6],
    out: &'a mut Vec<u8>,
}

impl Encoding<'_> {
    /// Starts a typed value.
    #[inline]
    fn class(&mut self, class: Class) {
        match self.classes.get_mut(class as usize) {
            Some(Some(index @ 0..24)) => {
                self.out.extend_from_slice(&[TYPED, TAGGED, tag::STRING_REFERENCE as u8, *index as u8]);
            }
            Some(Some(index)) => {
                self.out.push(TYPED);
                reference(self.out, *index);
            }
            first => {
                if let Some(index) = first {
                    *index = Some(self.strings.len() as u64);
                }
                self.out.push(TYPED);
                self.text(class.name());
            }
        }
    }

    fn map(&mut self, map: &Map, depth: usize) -> Result<(), TooDeep> {
        if depth > DEEPEST {
            return Err(TooDeep);
        }
        self.class(Class::Map);
        head(self.out, major::MAP, map.len() as u64);
        for (key, value) in map.iter() {
            self.text(key);
            match value {
                // The one text that Logstash leaves untyped.
                Value::String(text) if depth == 1 && key == VERSION => self.text(text),
                value => self.value(value, depth)?,
            }
        }
        Ok(())
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<(), TooDeep> {
        match value {
            Value::String(text) => {
                self.class(Class::String);
                self.text(text);
            }
            Value::Integer(n) => integer(self.out, *n),
            Value::Float(f) => {
                self.out.push(0xfb);
                self.out.extend_from_slice(&f.to_bits().to_be_bytes());
            }
            Value::Bool(b) => self.out.push(0xf4 + u8::from(*b)),
            Value::Null => {
                self.class(Class::Nil);
                self.out.push(0xf6);
            }
            Value::Timestamp(at) => self.timestamp(*at),
            Value::BigInteger(n) => self.big_integer(n),
            Value::Decimal(d) => self.decimal(d),
            Value::Map(map) => self.map(map, depth + 1)?,
            Value::Array(list) => {
                if depth >= DEEPEST {
                    return Err(TooDeep);
                }
                self.class(Class::List);
                head(self.out, major::ARRAY, list.len() as u64);
                for value in list {
                    self.value(value, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    fn timestamp(&mut self, at: Timestamp) {
        self.class(Class::Timestamp);
        let mut iso = std::mem::take(self.scratch);
        iso.clear();
        at.write_iso(&mut iso);
        self.shared(Kind::Text, &iso);
        *self.scratch = iso;
    }

    fn text(&mut self, text: &str) {
        if text.len() > LONGEST_PIECE_UNITS && more_units_than_a_piece(text) {
            self.text_in_pieces(text);
        } else {
            self.shared(Kind::Text, text.as_bytes());
        }
    }

    fn text_in_pieces(&mut self, text: &str) {
        self.out.push(INDEFINITE_TEXT);
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(LONGEST_PIECE_BYTES));
            head(self.out, major::TEXT, piece.len() as u64);
            self.out.extend_from_slice(piece.as_bytes());
            rest = behind;
        }
        self.out.push(BREAK);
    }

    /// A string of definite length, or a reference to an equal one that was written before.
    fn shared(&mut self, kind: Kind, string: &[u8]) {
        let major = if kind == Kind::Text { major::TEXT } else { major::BYTES };
        let start = self.out.len() + head_len(string.len() as u64);
        match self.strings.find_or_add(kind, string, start, self.out) {
            Some(index) => reference(self.out, u64::from(index)),
            None => {
                self.out.reserve(string.len() + 9);
                head(self.out, major, string.len() as u64);
                self.out.extend_from_slice(string);
            }
        }
    }

    /// Not the form of the CBOR standard: Java's two's complement bytes of the magnitude, where tag 3 means minus
    /// those. Without the zero in front of a set top bit Logstash would read a negative number.
    fn big_integer(&mut self, n: &BigInt) {
        let negative = n.sign() == Sign::Minus;
        head(self.out, major::TAG, if negative { tag::BIG_NEGATIVE } else { tag::BIG_POSITIVE });
        let bytes = BigInt::from(n.magnitude().clone()).to_signed_bytes_be();
        self.shared(Kind::Bytes, &bytes);
    }

    fn decimal(&mut self, d: &Decimal) {
        head(self.out, major::TAG, tag::DECIMAL);
        head(self.out, major::ARRAY, 2);
        integer(self.out, -i64::from(d.scale()));
        match d {
            Decimal::Small { unscaled, .. } => integer(self.out, *unscaled),
            Decimal::Big(_) => self.big_integer(&d.unscaled()),
        }
    }
}

fn more_units_than_a_piece(text: &str) -> bool {
    text.len() > LONGEST_PIECE_BYTES || text.encode_utf16().nth(LONGEST_PIECE_UNITS).is_some()
}

fn integer(out: &mut Vec<u8>, n: i64) {
    if n < 0 {
        head(out, major::NEGATIVE, !n as u64);
    } else {
        head(out, major::UNSIGNED, n as u64);
    }
}

#[inline]
fn reference(out: &mut Vec<u8>, index: u64) {
    const TAG: u8 = tag::STRING_REFERENCE as u8;
    match index {
        0..=23 => out.extend_from_slice(&[TAGGED, TAG, index as u8]),
        24..=0xff => out.extend_from_slice(&[TAGGED, TAG, major::UNSIGNED << 5 | 24, index as u8]),
        _ => {
            out.extend_from_slice(&[TAGGED, TAG]);
            head(out, major::UNSIGNED, index);
        }
    }
}

/// Number of bytes that [`head`] appends.
fn head_len(argument: u64) -> usize {
    match argument {
        0..=23 => 1,
        24..=0xff => 2,
        0x100..=0xffff => 3,
        0x1_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}

/// The first byte of an item and its argument in the shortest form.
#[inline]
fn head(out: &mut Vec<u8>, major: u8, argument: u64) {
    let major = major << 5;
    match argument {
        0..=23 => out.push(major | argument as u8),
        24..=0xff => out.extend_from_slice(&[major | 24, argument as u8]),
        0x100..=0xffff => {
            let [a, b] = (argument as u16).to_be_bytes();
            out.extend_from_slice(&[major | 25, a, b]);
        }
        0x1_0000..=0xffff_ffff => {
            out.push(major | 26);
            out.extend_from_slice(&(argument as u32).to_be_bytes());
        }
        _ => {
            out.push(major | 27);
            out.extend_from_slice(&argument.to_be_bytes());
        }
    }
}
