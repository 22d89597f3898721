//! Messages: text with `{field}`, `{value}`, `{cast}`, `{limit}` and `{type}`, and the usual `%{…}`.
//!
//! Only what the configuration wrote is ever expanded. A text that comes from the data is put in as it is.

use super::cast::Type;
use super::{cut, text_of};
use crate::event::{EscapeStyle, Event, Template, TemplateError, Text, Value, text_form};

/// A message of a check.
#[derive(Default)]
pub(super) struct Message(Vec<Part>);

enum Part {
    Literal(Template),
    Field,
    Value,
    Cast,
    Limit,
    Type,
}

/// What is put into a message.
pub(super) struct Filling<'a> {
    pub field: &'a str,
    pub value: Option<&'a Value>,
    pub cast: Option<&'a Value>,
    pub limit: &'a str,
    pub kind: Option<Type>,
}

impl Message {
    /// Takes a message apart.
    pub fn compile(text: &str, style: EscapeStyle) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let (mut literal, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(['%', '{']) {
            let (before, from) = rest.split_at(at);
            literal.push_str(before);
            // The names between `%{` and `}` are fields of the event.
            let whole = if from.starts_with("%{") { from.find('}').map(|end| end + 1) } else { None };
            if let Some(end) = whole {
                let (reference, after) = from.split_at(end);
                literal.push_str(reference);
                rest = after;
                continue;
            }
            match placeholder(from) {
                Some((part, after)) => {
                    push_literal(&mut literal, &mut parts, style)?;
                    parts.push(part);
                    rest = after;
                }
                None => {
                    literal.push_str(from.get(..1).unwrap_or_default());
                    rest = from.get(1..).unwrap_or_default();
                }
            }
        }
        literal.push_str(rest);
        push_literal(&mut literal, &mut parts, style)?;
        Ok(Self(parts))
    }

    /// The message for an event, with values of at most `most_value` characters, cut to `most` characters.
    pub fn fill(&self, event: &Event, filling: &Filling<'_>, most: usize, most_value: usize) -> Text {
        let mut out = Vec::new();
        for part in &self.0 {
            match part {
                Part::Literal(template) => template.render_into(event, &mut out),
                Part::Field => out.extend_from_slice(filling.field.as_bytes()),
                Part::Value => put_value(filling.value, most_value, &mut out),
                Part::Cast => put_value(filling.cast.or(filling.value), most_value, &mut out),
                Part::Limit => out.extend_from_slice(filling.limit.as_bytes()),
                Part::Type => out.extend_from_slice(filling.kind.map_or("STRING", Type::name).as_bytes()),
            }
        }
        let text = text_form::utf8(out);
        Text::from(cut(&text, most).unwrap_or(&text))
    }
}

fn push_literal(literal: &mut String, parts: &mut Vec<Part>, style: EscapeStyle) -> Result<(), TemplateError> {
    if !literal.is_empty() {
        parts.push(Part::Literal(Template::compile(&std::mem::take(literal), style)?));
    }
    Ok(())
}

fn placeholder(text: &str) -> Option<(Part, &str)> {
    let parts = [
        ("{field}", Part::Field),
        ("{value}", Part::Value),
        ("{cast}", Part::Cast),
        ("{limit}", Part::Limit),
        ("{type}", Part::Type),
    ];
    parts.into_iter().find_map(|(name, part)| Some((part, text.strip_prefix(name)?)))
}

fn put_value(value: Option<&Value>, most: usize, out: &mut Vec<u8>) {
    if let Some(value) = value {
        out.extend_from_slice(quoted(value, most).as_bytes());
    }
}

/// A value in a message: its text, cut.
pub(super) fn quoted(value: &Value, most: usize) -> Text {
    let text = text_of(value);
    match cut(&text, most) {
        Some(start) => Text::from(format!("{start}…")),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::event;

    #[test]
    fn only_the_configuration_is_expanded() {
        let message = Message::compile("{field}: %{x} {value} {cast} {limit} {type} {other} 5% %{}", EscapeStyle::None);
        let filling = Filling {
            field: "f",
            value: Some(&Value::from("%{x}{limit}")),
            cast: Some(&Value::Integer(5)),
            limit: "9",
            kind: Some(Type::Int),
        };
        let event = event(r#"{"x":"{value}","@timestamp":"1970-01-01T00:00:07Z"}"#);
        let text = message.unwrap().fill(&event, &filling, 1000, 200);
        assert_eq!(text, "f: {value} %{x}{limit} 5 9 INT {other} 5% 7");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let message = Message::compile("{value}", EscapeStyle::None).unwrap();
        let value = Value::from("日本語");
        let filling = Filling { field: "f", value: Some(&value), cast: None, limit: "", kind: None };
        let filled = |most, most_value| message.fill(&event("{}"), &filling, most, most_value);
        assert_eq!(filled(1000, 2), "日本…");
        assert_eq!(filled(1000, 3), "日本語");
        assert_eq!(filled(1, 3), "日");
    }
}
