//! Templates (`sprintf`): `app-%{[service][name]}-%{+YYYY.MM.dd}`, taken apart once at load.

use super::time_format::{JavaFormat, JodaFormat};
use super::{EscapeStyle, Event, FieldRef, Root, Text, Timestamp, Value, text_form};

/// A template with its references and time formats already parsed.
#[derive(Clone, Debug, Default)]
pub struct Template {
    source: Text,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Literal(Text),
    /// The reference, and the text that stays when the field is missing.
    Field(FieldRef, Text),
    EpochSeconds,
    Joda(JodaFormat),
    Java(JavaFormat),
    Now,
}

/// A template that can never be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// Byte offset of the `%{` in the template.
    pub offset: usize,
    /// What is wrong with it.
    pub message: String,
}

impl Template {
    /// Takes a template apart. Fails on an illegal reference or time format between `%{` and `}`.
    pub fn compile(source: &str, style: EscapeStyle) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut at = 0;
        while let Some(rest) = source.get(at..) {
            let Some(open) = rest.find("%{") else {
                literal.push_str(rest);
                break;
            };
            let Some(length) = rest[open + 2..].find('}') else {
                literal.push_str(rest);
                break;
            };
            literal.push_str(&rest[..open]);
            let inside = &rest[open + 2..open + 2 + length];
            let mut end = open + 2 + length + 1;
            let part = if let Some(pattern) = inside.strip_prefix('{') {
                if rest[end..].starts_with('}') {
                    end += 1;
                    Some(java_part(pattern, at + open)?)
                } else {
                    None
                }
            } else {
                Some(part(inside, &rest[open..end], at + open, style)?)
            };
            match part {
                Some(part) => {
                    if !literal.is_empty() {
                        parts.push(Part::Literal(Text::from(std::mem::take(&mut literal))));
                    }
                    parts.push(part);
                }
                None => literal.push_str(&rest[open..end]),
            }
            at += end;
        }
        if !literal.is_empty() {
            parts.push(Part::Literal(Text::from(literal)));
        }
        Ok(Self { source: Text::from(source), parts })
    }

    /// A template without references.
    pub fn constant(text: &str) -> Self {
        let source = Text::from(text);
        Self { parts: vec![Part::Literal(source.clone())], source }
    }

    /// The template as it was written.
    pub fn source(&self) -> &Text {
        &self.source
    }

    /// The text, if it is the same for every event.
    pub fn as_constant(&self) -> Option<&Text> {
        self.parts.iter().all(|p| matches!(p, Part::Literal(_))).then_some(&self.source)
    }

    /// The fields that the template reads.
    pub fn references(&self) -> impl Iterator<Item = &FieldRef> {
        self.parts.iter().filter_map(|p| match p {
            Part::Field(field, _) => Some(field),
            _ => None,
        })
    }

    /// The text for this event. A text field alone is shared, not copied.
    pub fn render(&self, event: &Event) -> Text {
        match &*self.parts {
            [] => Text::new(),
            [Part::Literal(text)] => text.clone(),
            [Part::Field(field, _)] if matches!(event.get(field), Some(Value::String(_))) => {
                event.get(field).and_then(Value::as_text).cloned().unwrap_or_default()
            }
            _ => {
                let mut out = Vec::with_capacity(self.source.len() + 32);
                self.render_into(event, &mut out);
                Text::from(text_form::utf8(out))
            }
        }
    }

    /// Appends the text for this event; always valid UTF-8.
    pub fn render_into(&self, event: &Event, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.extend_from_slice(text.as_bytes()),
                Part::Field(field, raw) => write_field(event, field, raw, out),
                Part::Now => Timestamp::now().write_iso(out),
                Part::EpochSeconds => {
                    if let Some(at) = event.timestamp() {
                        out.extend_from_slice(itoa::Buffer::new().format(at.seconds()).as_bytes());
                    }
                }
                Part::Joda(format) => {
                    if let Some(at) = event.timestamp() {
                        format.write(at, out);
                    }
                }
                Part::Java(format) => {
                    if let Some(at) = event.timestamp() {
                        format.write(at, out);
                    }
                }
            }
        }
    }
}

fn write_field(event: &Event, field: &FieldRef, raw: &Text, out: &mut Vec<u8>) {
    if field.root() == Root::Metadata && field.path().is_empty() {
        super::json::write_map(event.metadata(), out);
        return;
    }
    match event.get(field) {
        None | Some(Value::Null) => out.extend_from_slice(raw.as_bytes()),
        Some(value) => text_form::write_template(value, out),
    }
}

fn part(inside: &str, raw: &str, offset: usize, style: EscapeStyle) -> Result<Part, TemplateError> {
    // `%{}`, `%{+}` and `%{+%}` mean epoch seconds too: an accident that configurations may rest on.
    if matches!(inside, "" | "+" | "+%" | "+%s") {
        return Ok(Part::EpochSeconds);
    }
    if let Some(pattern) = inside.strip_prefix('+') {
        return JodaFormat::compile(pattern).map(Part::Joda).map_err(|message| TemplateError { offset, message });
    }
    let field = FieldRef::parse(inside, style).map_err(|e| TemplateError { offset, message: e.to_string() })?;
    Ok(Part::Field(field, Text::from(raw)))
}

fn java_part(pattern: &str, offset: usize) -> Result<Part, TemplateError> {
    if pattern == "TIME_NOW" {
        return Ok(Part::Now);
    }
    JavaFormat::compile(pattern).map(Part::Java).map_err(|message| TemplateError { offset, message })
}
