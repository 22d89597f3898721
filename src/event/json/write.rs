//! Values as compact JSON: Java's number forms, timestamps and non-finite doubles as text.

use std::cell::Cell;

use super::scan::{plain_prefix, special_bytes};
use crate::event::in_place::append_short;
use crate::event::{Decimal, Map, Text, Value, text_form};

/// Appends an object.
pub fn write_map(map: &Map, out: &mut Vec<u8>) {
    write_map_with(map, out, Decimal::write);
}

/// Appends any value.
pub fn write_value(value: &Value, out: &mut Vec<u8>) {
    write_value_with(value, out, Decimal::write);
}

/// As [`write_map`], with decimals in a form of their own.
pub fn write_map_with(map: &Map, out: &mut Vec<u8>, decimal: impl Fn(&Decimal, &mut Vec<u8>) + Copy) {
    if let Some(json) = map.shared_json(written_once) {
        return out.extend_from_slice(json);
    }
    let mut before = b'{';
    for (key, value) in map.iter() {
        write_key(before, key, out);
        write_value_with(value, out, decimal);
        before = b',';
    }
    if map.is_empty() {
        out.push(before);
    }
    out.push(b'}');
}

/// The text of a map that many events share; none when it has decimals, which not all write in the same form.
#[cold]
fn written_once(map: &Map) -> Option<Box<[u8]>> {
    let (mut out, has_decimals) = (Vec::new(), Cell::new(false));
    write_map_with(map, &mut out, |_, _| has_decimals.set(true));
    (!has_decimals.get()).then(|| out.into_boxed_slice())
}

/// As [`write_value`], with decimals in a form of their own.
pub fn write_value_with(value: &Value, out: &mut Vec<u8>, decimal: impl Fn(&Decimal, &mut Vec<u8>) + Copy) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Integer(n) => out.extend_from_slice(itoa::Buffer::new().format(*n).as_bytes()),
        Value::Float(f) if f.is_finite() => text_form::write_java_double(*f, out),
        Value::Float(f) => {
            out.push(b'"');
            text_form::write_java_double(*f, out);
            out.push(b'"');
        }
        Value::BigInteger(n) => out.extend_from_slice(n.to_string().as_bytes()),
        Value::Decimal(d) => decimal(d, out),
        Value::String(s) => write_text(s, out),
        Value::Timestamp(at) => {
            out.push(b'"');
            at.write_iso(out);
            out.push(b'"');
        }
        Value::Array(list) => {
            out.push(b'[');
            for (i, value) in list.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_value_with(value, out, decimal);
            }
            out.push(b']');
        }
        Value::Map(map) => write_map_with(map, out, decimal),
    }
}

/// Appends the name of a field, with the sign that stands before it and the colon behind it.
#[inline]
fn write_key(before: u8, key: &Text, out: &mut Vec<u8>) {
    match plain_and_short(key) {
        Some(key) => append_short(out, [before, b'"'], key, *b"\":"),
        None => {
            out.push(before);
            write_string(key, out);
            out.push(b':');
        }
    }
}

/// As [`write_string`], in a few steps when the text is kept inline, as nearly all are.
#[inline]
fn write_text(text: &Text, out: &mut Vec<u8>) {
    match plain_and_short(text) {
        Some(text) => append_short(out, [b'"'], text, [b'"']),
        None => write_string(text, out),
    }
}

/// The memory and the length of a text that is kept inline and has nothing to escape.
#[inline]
fn plain_and_short(text: &Text) -> Option<(&[u8; 16], usize)> {
    text.as_padded().filter(|(memory, length)| special_bytes(memory) & ((1 << length) - 1) == 0)
}

/// Appends a string with its quotes. Only the quote, the backslash and controls are escaped.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let plain = plain_prefix(rest);
        let (before, from) = rest.split_at(plain);
        out.extend_from_slice(before);
        let Some((&special, after)) = from.split_first() else { break };
        write_escape(special, out);
        rest = after;
    }
    out.push(b'"');
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        other => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(other >> 4)]);
            out.push(HEX[usize::from(other & 15)]);
        }
    }
}
