//! Lines that read back as the values they were made of.

use super::Syntax;
use crate::event::{Value, text_form};

impl Syntax {
    /// Appends a line. A value that is null is empty; lists and maps are in Ruby's form.
    pub fn write_values<'v>(&self, values: impl Iterator<Item = Option<&'v Value>>, out: &mut Vec<u8>) {
        self.write_line(values.map(|value| value.filter(|value| !value.is_null()).map(text)), out);
    }

    /// Appends a line. A value that is none is empty; one that would not be read back as it is stands in quotes.
    pub fn write_line(&self, values: impl Iterator<Item = Option<Vec<u8>>>, out: &mut Vec<u8>) {
        for (at, value) in values.enumerate() {
            if at > 0 {
                out.extend_from_slice(&self.separator);
            }
            let Some(value) = value else { continue };
            match &self.quote {
                Some(quote) if self.needs_quotes(&value, quote) => write_quoted(&value, quote, out),
                _ => out.extend_from_slice(&value),
            }
        }
        out.push(b'\n');
    }

    fn needs_quotes(&self, value: &[u8], quote: &[u8]) -> bool {
        let has = |part: &[u8]| memchr::memmem::find(value, part).is_some();
        // A part of the separator at the end of a value would run into the separator behind it.
        let parts = |byte: &u8| matches!(byte, b'\r' | b'\n') || self.separator.contains(byte);
        value.is_empty() || value.starts_with(b" ") || value.iter().any(parts) || has(quote)
    }
}

fn text(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    text_form::write_ruby(value, &mut out);
    out
}

fn write_quoted(value: &[u8], quote: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(quote);
    let mut start = 0;
    for at in memchr::memmem::find_iter(value, quote) {
        let end = at + quote.len();
        out.extend_from_slice(value.get(start..end).unwrap_or_default());
        out.extend_from_slice(quote);
        start = end;
    }
    out.extend_from_slice(value.get(start..).unwrap_or_default());
    out.extend_from_slice(quote);
}
