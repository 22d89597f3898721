//! What a request says: the event, or what the options make of it.

use crate::event::{Event, FieldRef, Map, Template, Text, Value, json, text_form};

use super::encoding::form_encoded;

/// How events become bodies.
pub(super) enum Content {
    /// A JSON document each.
    Json(Option<Mapping>),
    /// All of a batch in one JSON list.
    Batch(Option<Mapping>),
    /// `k=v&…`
    Form(Option<Mapping>),
    /// A text.
    Message(Template),
}

/// What stands in a document instead of the event.
pub(super) struct Mapping(Vec<(Text, Mapped)>);

enum Mapped {
    Text(Template),
    Map(Mapping),
    List(Vec<Mapped>),
}

impl Mapping {
    /// From the option; `template` compiles the texts in it.
    pub fn new(pairs: Vec<(String, Value)>, template: &mut dyn FnMut(&str) -> Option<Template>) -> Option<Self> {
        let pairs = pairs.into_iter().map(|(name, value)| Some((Text::from(name), Mapped::new(value, template)?)));
        pairs.collect::<Option<Vec<_>>>().map(Self)
    }

    fn of(&self, event: &Event) -> Map {
        self.0.iter().map(|(name, mapped)| (name.clone(), mapped.of(event))).collect()
    }
}

impl Mapped {
    fn new(value: Value, template: &mut dyn FnMut(&str) -> Option<Template>) -> Option<Self> {
        Some(match value {
            Value::Map(map) => {
                let pairs = map.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
                Self::Map(Mapping::new(pairs, template)?)
            }
            Value::Array(list) => {
                Self::List(list.into_iter().map(|value| Self::new(value, template)).collect::<Option<_>>()?)
            }
            other => Self::Text(template(&shown(&other))?),
        })
    }

    fn of(&self, event: &Event) -> Value {
        match self {
            Self::Text(template) => Value::String(template.render(event)),
            Self::Map(mapping) => Value::Map(mapping.of(event)),
            Self::List(list) => Value::Array(list.iter().map(|mapped| mapped.of(event)).collect()),
        }
    }
}

impl Content {
    /// Whether a request holds a whole batch.
    pub fn is_batch(&self) -> bool {
        matches!(self, Self::Batch(_))
    }

    /// The body for one event.
    pub fn of(&self, event: &Event) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        match self {
            Self::Json(mapping) | Self::Batch(mapping) => write(mapping.as_ref(), event, &mut out),
            Self::Form(None) => write_form(event.fields(), &mut out),
            Self::Form(Some(mapping)) => write_form(&mapping.of(event), &mut out),
            Self::Message(template) => template.render_into(event, &mut out),
        }
        out
    }

    /// The body for a batch.
    pub fn of_all(&self, events: &[&Event]) -> Vec<u8> {
        let mapping = match self {
            Self::Json(mapping) | Self::Batch(mapping) | Self::Form(mapping) => mapping.as_ref(),
            Self::Message(_) => None,
        };
        let mut out = vec![b'['];
        for (at, event) in events.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write(mapping, event, &mut out);
        }
        out.push(b']');
        out
    }
}

fn write(mapping: Option<&Mapping>, event: &Event, out: &mut Vec<u8>) {
    match mapping {
        Some(mapping) => json::write_map(&mapping.of(event), out),
        None => event.write_json(out),
    }
}

fn write_form(map: &Map, out: &mut Vec<u8>) {
    for (at, (name, value)) in map.iter().enumerate() {
        if at > 0 {
            out.push(b'&');
        }
        form_encoded(name, out);
        out.push(b'=');
        form_encoded(&shown(value), out);
    }
}

/// As Ruby shows a value.
fn shown(value: &Value) -> String {
    let mut out = Vec::new();
    text_form::write_ruby(value, &mut out);
    text_form::utf8(out)
}

/// Whether a template depends on the event at all.
pub(super) fn is_fixed(template: &Template) -> bool {
    template.references().next().map(FieldRef::text).is_none() && template.as_constant().is_some()
}
