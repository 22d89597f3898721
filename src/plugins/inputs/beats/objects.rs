//! From the object that a Beat sends to events: its text goes through the codec, and everything else is put around what
//! comes out.

use super::frames::Body;
use crate::event::json::{Numbers, Reader};
use crate::event::{Bytes, Event, Map, Text, Timestamp, Value, text_form};
use crate::plugins::Decoder;

/// Names of the text of an event, the usual one first.
const TEXTS: [&str; 2] = ["message", "line"];
/// Tag of an event without such a text.
const RAW_TAG: &str = "beats_input_raw_event";

/// How objects become events.
pub(super) struct Objects {
    /// Whether events are tagged with what made them, and the tag of those that the codec made.
    pub codec_tag: Option<Text>,
    /// Whether a missing `host` is what the object's `beat` says.
    pub add_hostname: bool,
}

/// What is no object.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadObject {
    #[error("an event is no JSON: {0}")]
    Json(#[from] crate::event::json::JsonError),
    #[error("an event is {0}, not an object")]
    Kind(&'static str),
    #[error("an event is no text in UTF-8")]
    Utf8,
}

/// The object that a frame holds.
pub(super) fn object(body: Body) -> Result<Map, BadObject> {
    match body {
        Body::Pairs(fields) => Ok(fields),
        Body::Json(bytes) => {
            let text = Text::from_utf8(bytes).map_err(|_| BadObject::Utf8)?;
            match Reader::new(&text, Numbers::Double).next_value()? {
                Some(Value::Map(map)) => Ok(map),
                Some(other) => Err(BadObject::Kind(other.kind())),
                None => Err(BadObject::Kind("empty")),
            }
        }
    }
}

impl Objects {
    /// Appends the events of an object, and for each of them the tag that it gets once it has the common options.
    pub fn events(
        &self,
        mut object: Map,
        decoder: &mut dyn Decoder,
        events: &mut Vec<Event>,
        tags: &mut Vec<Option<Text>>,
    ) {
        let first = events.len();
        match take_text(&mut object) {
            None => events.push(Event::from_map(object)),
            Some(text) => {
                decoder.decode(Bytes::from(text.as_bytes()), events);
                decoder.flush(events);
                if let Some((last, others)) = events.get_mut(first..).and_then(<[Event]>::split_last_mut) {
                    others.iter_mut().for_each(|event| put_around(event, object.clone()));
                    put_around(last, object);
                }
                tags.resize(events.len(), self.codec_tag.clone());
            }
        }
        tags.resize(events.len(), self.codec_tag.as_ref().map(|_| Text::borrowed(RAW_TAG)));
        if self.add_hostname {
            events.get_mut(first..).unwrap_or_default().iter_mut().for_each(add_hostname);
        }
    }
}

/// Takes the text out of an object.
fn take_text(object: &mut Map) -> Option<Text> {
    let name = TEXTS.into_iter().find(|name| object.get(name).is_some_and(|value| !value.is_null()))?;
    match object.remove(name)? {
        Value::String(text) => Some(text),
        other => {
            let mut text = Vec::new();
            text_form::write_ruby(&other, &mut text);
            Some(Text::from(text_form::utf8(text)))
        }
    }
}

/// Puts the fields of an object on an event that was made of its text. Maps that both have are merged, one level deep.
fn put_around(event: &mut Event, mut object: Map) {
    let (mut fields, mut metadata) = std::mem::replace(event, Event::new()).into_parts();
    for (name, value) in object.drain() {
        match (name.as_str(), value) {
            ("@metadata", Value::Map(given)) => metadata = given,
            ("@metadata", given) => _ = fields.insert(Text::borrowed("_@metadata"), given),
            ("@timestamp", given) => match given.as_str().and_then(Timestamp::parse) {
                Some(at) => _ = fields.insert(name, Value::Timestamp(at)),
                None => tracing::warn!(target: "logstash.inputs.beats",
                    "an event's `@timestamp` is no time; the time of its arrival stays"),
            },
            (_, Value::Map(mut given)) => match fields.get_mut(&name) {
                Some(Value::Map(old)) => given.drain().for_each(|(name, value)| _ = old.insert(name, value)),
                _ => _ = fields.insert(name, given),
            },
            (_, value) => _ = fields.insert(name, value),
        }
    }
    *event = Event::restore(fields, metadata);
}

fn add_hostname(event: &mut Event) {
    if event.fields().contains_key("host") {
        return;
    }
    let name = event.fields().get("beat").and_then(Value::as_map).and_then(|beat| beat.get("hostname")).cloned();
    if let Some(name) = name {
        event.fields_mut().insert(Text::borrowed("host"), name);
    }
}
