//! Events to messages.

use super::keys::Keys;
use crate::event::{Event, FieldRef, Template, Value, json, text_form};
use crate::plugins::{EncodeError, Encoder, Options};

/// The option, its default, and what it says, of the header fields in their order.
const HEADER: [(&str, &str, &str); 5] = [
    ("vendor", "Elasticsearch", "Vendor of the device."),
    ("product", "Logstash", "Product."),
    ("version", "1.0", "Version of the product."),
    ("signature", "Logstash", "Kind of the event."),
    ("name", "Logstash", "Description of the event."),
];

/// Writes messages.
pub(super) struct CefEncoder {
    header: Vec<(Template, &'static str)>,
    severity: Template,
    /// The key of each field.
    fields: Vec<(String, FieldRef)>,
    delimiter: String,
}

impl CefEncoder {
    /// Declares and reads the options.
    pub fn read(options: &mut Options<'_>, keys: &Keys, delimiter: String) -> Self {
        let header = HEADER.map(|(name, default, doc)| {
            let template = options.template(name).doc(doc).default(Template::constant(default));
            (template, default)
        });
        let severity =
            options.template("severity").doc("A whole number from 0 to 10.").default(Template::constant("6"));
        let short =
            options.boolean("reverse_mapping").doc("Whether fields are written with their short keys.").default(false);
        let fields = options.fields("fields").doc("Fields to write as keys and values.").optional();
        let key = |name: &str| {
            let key = keys.written(name).map_or(name, |(long, short_key)| if short { short_key } else { long });
            key.chars().filter(char::is_ascii_alphanumeric).collect::<String>()
        };
        Self {
            header: header.into(),
            severity,
            fields: fields.unwrap_or_default().into_iter().map(|field| (key(field.text()), field)).collect(),
            delimiter,
        }
    }
}

impl Encoder for CefEncoder {
    fn encode(&self, event: &Event, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(b"CEF:0|");
        for (template, default) in &self.header {
            let value = template.render(event);
            write_header(if value.is_empty() { default } else { value.as_str() }, out);
            out.push(b'|');
        }
        out.extend_from_slice(severity(&self.severity.render(event)).as_bytes());
        let mut separator = b'|';
        for (key, field) in &self.fields {
            let Some(value) = event.get(field).filter(|value| !value.is_null()) else { continue };
            out.push(std::mem::replace(&mut separator, b' '));
            out.extend_from_slice(key.as_bytes());
            out.push(b'=');
            write_value(value, out);
        }
        if separator == b'|' {
            out.push(separator);
        }
        out.extend_from_slice(self.delimiter.as_bytes());
        Ok(())
    }
}

/// A whole number from 0 to 10; 6 for anything else.
fn severity(text: &str) -> String {
    let number = text.trim().parse::<f64>().ok().filter(|n| (0.0..=10.0).contains(n) && n.fract() == 0.0);
    number.map_or_else(|| "6".to_owned(), |n| format!("{n:.0}"))
}

fn write_header(text: &str, out: &mut Vec<u8>) {
    for letter in text.replace("\r\n", "\n").chars() {
        match letter {
            '\\' => out.extend_from_slice(b"\\\\"),
            '|' => out.extend_from_slice(b"\\|"),
            '\n' | '\r' => out.push(b' '),
            letter => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    let mut text = Vec::new();
    match value {
        Value::Array(_) | Value::Map(_) => json::write_value(value, &mut text),
        Value::Timestamp(at) => return at.write_iso(out),
        other => text_form::write_ruby(other, &mut text),
    }
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'=' => out.extend_from_slice(b"\\="),
            b'\r' if bytes.peek() == Some(&b'\n') => {}
            b'\n' | b'\r' => out.extend_from_slice(b"\\n"),
            byte => out.push(byte),
        }
    }
}
