//! Values as compact JSON: Java's number forms, timestamps and non-finite doubles as text.

use crate::event::{Map, Value, text_form};

/// Appends an object.
pub fn write_map(map: &Map, out: &mut Vec<u8>) {
    out.push(b'{');
    for (i, (key, value)) in map.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_string(key, out);
        out.push(b':');
        write_value(value, out);
    }
    out.push(b'}');
}

/// Appends any value.
pub fn write_value(value: &Value, out: &mut Vec<u8>) {
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
        Value::Decimal(d) => d.write(out),
        Value::String(s) => write_string(s, out),
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
                write_value(value, out);
            }
            out.push(b']');
        }
        Value::Map(map) => write_map(map, out),
    }
}

/// Appends a string with its quotes. Only the quote, the backslash and controls are escaped.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let plain = super::read::plain_prefix(rest);
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
