//! How `plain` and `line` print an event: a template, or time, host and message.

use crate::event::{Event, Template, Value, text_form};
use crate::plugins::Options;

/// The `format` option of `plain` and `line`.
pub(super) struct PlainText(Option<Template>);

impl PlainText {
    /// Declares and reads the option.
    pub fn read(options: &mut Options<'_>) -> Self {
        Self(options.template("format").doc("What to print of an event; without it time, host and message.").optional())
    }

    /// Appends an event.
    pub fn write(&self, event: &Event, out: &mut Vec<u8>) {
        if let Some(format) = &self.0 {
            return format.render_into(event, out);
        }
        if let Some(at) = event.timestamp() {
            at.write_iso(out);
        }
        for name in ["host", "message"] {
            out.push(b' ');
            match event.fields().get(name) {
                None | Some(Value::Null) => out.extend_from_slice(format!("%{{{name}}}").as_bytes()),
                Some(value) => text_form::write_java(value, out),
            }
        }
    }
}
