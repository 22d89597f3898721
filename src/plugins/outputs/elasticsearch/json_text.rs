//! A text of an action line as JSON: written once at load when it is the same for every event.

use crate::event::{Event, Template, json};

/// A JSON string.
pub(super) enum JsonText {
    /// The same for every event, with its quotes.
    Constant(Vec<u8>),
    /// Made for each event.
    Rendered(Template),
}

impl JsonText {
    /// From an option.
    pub fn new(template: Template) -> Self {
        match template.as_constant() {
            Some(text) => Self::Constant(quoted(text)),
            None => Self::Rendered(template),
        }
    }

    /// Appends it, with its quotes.
    pub fn write(&self, event: &Event, out: &mut Vec<u8>) {
        match self {
            Self::Constant(json) => out.extend_from_slice(json),
            Self::Rendered(template) => json::write_string(&template.render(event), out),
        }
    }
}

/// A text as JSON, with its quotes.
pub(super) fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    json::write_string(text, &mut out);
    out
}

/// Appends `,"name":"value"`.
pub(super) fn write_member(name: &str, value: &str, out: &mut Vec<u8>) {
    write_name(name, out);
    json::write_string(value, out);
}

/// Appends `,"name":`; the name has nothing to escape.
pub(super) fn write_name(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}
