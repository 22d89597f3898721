//! What the raw text holds: read, put into the event, and taken out of it again.

use base64::Engine;

use super::rule::Rule;
use super::text_of;
use crate::event::json::{Numbers, Reader};
use crate::event::{Bytes, Event, FieldRef, METADATA, Map, TAGS, TIMESTAMP, Text, VERSION, Value};
use crate::plugins::codecs::charset::Charset;

/// Deepest nesting that is read.
const DEEPEST: usize = 512;
/// Takes the members that may not overwrite what the event has under their names.
const RESERVED: &str = "_reserved";

/// How the raw text is read.
pub(super) struct Parsing {
    pub source: FieldRef,
    /// Where the members go; the event when `None`.
    pub target: Option<FieldRef>,
    /// Whether text that cannot be parsed ends the validation.
    pub broken_ends: bool,
    /// Whether text that is no object does.
    pub non_object_ends: bool,
    /// Says that there was no text at all.
    pub tombstone: FieldRef,
    /// Has the bytes that the text was made of, as base64, when they were no text.
    pub bytes: FieldRef,
}

/// Text that is no object.
pub(super) struct Fault {
    pub what: String,
    /// Whether nothing more is looked at.
    pub ends: bool,
}

/// The members of a text.
pub(super) struct Document {
    /// Their names, in their order.
    members: Vec<Text>,
    target: Option<FieldRef>,
    /// Whether there was no object.
    pub is_absent: bool,
}

impl Parsing {
    /// The raw text.
    pub fn raw(&self, event: &Event) -> Option<Text> {
        event.get(&self.source).filter(|value| !value.is_null()).map(text_of)
    }

    /// The bytes, as base64, of a text that only stands for them. Not when it was changed since.
    pub fn bytes(&self, event: &Event, raw: Option<&Text>) -> Option<Text> {
        let Some(Value::String(bytes)) = event.get(&self.bytes) else { return None };
        let decoded = base64::engine::general_purpose::STANDARD.decode(bytes.as_str()).ok()?;
        (Some(&Charset::Utf8.text(Bytes::from(decoded))) == raw).then(|| bytes.clone())
    }

    /// Reads the text and puts its members into the event.
    pub fn read(&self, event: &mut Event, raw: Option<&Text>) -> (Document, Option<Fault>) {
        let absent = Document { members: Vec::new(), target: self.target.clone(), is_absent: true };
        let broken = |what: String| Some(Fault { what, ends: self.broken_ends });
        let Some(raw) = raw else { return (absent, broken("there is no text".to_owned())) };
        if matches!(event.get(&self.tombstone), Some(Value::Bool(true))) {
            return (absent, broken("the record is a tombstone".to_owned()));
        }
        match parse(raw) {
            Err(what) => (absent, broken(what)),
            Ok(Some(Value::Map(map))) => (self.put(event, map), None),
            Ok(other) => {
                let kind = other.as_ref().map_or("empty", Value::kind);
                let what = format!("the text is no object but {kind}");
                let fault = self.non_object_ends.then_some(Fault { what, ends: true });
                (absent, fault)
            }
        }
    }

    fn put(&self, event: &mut Event, map: Map) -> Document {
        let members = map.keys().cloned().collect();
        match &self.target {
            None => put_at_root(event, map),
            Some(target) => match event.get_mut(target) {
                Some(Value::Map(there)) => map.into_iter().for_each(|(name, value)| _ = there.insert(name, value)),
                _ => super::put(event, target, map),
            },
        }
        Document { members, target: self.target.clone(), is_absent: false }
    }

    /// Takes the members, and what rules made of missing ones, out of the event.
    pub fn take_back(&self, event: &mut Event, document: &Document, rules: &[Rule]) {
        for name in document.names(rules) {
            let field = document.field(&name);
            event.remove(&field);
        }
        if document.target.is_none() {
            event.fields_mut().remove(RESERVED);
        } else if let Some(target) = &document.target
            && matches!(event.get(target), Some(Value::Map(map)) if map.is_empty())
        {
            event.remove(target);
        }
    }
}

fn parse(raw: &Text) -> Result<Option<Value>, String> {
    let mut reader = Reader::new(raw, Numbers::Decimal).nested_at_most(DEEPEST);
    let value = reader.next_value().map_err(|error| error.to_string())?;
    match reader.next_value() {
        Ok(None) => Ok(value),
        _ => Err(format!("there is text behind the value, from byte {}", reader.offset())),
    }
}

fn is_reserved(name: &str) -> bool {
    matches!(name, TIMESTAMP | VERSION | METADATA | TAGS)
}

fn put_at_root(event: &mut Event, map: Map) {
    let fields = event.fields_mut();
    let mut reserved = Map::new();
    for (name, value) in map {
        if is_reserved(&name) {
            reserved.insert(name, value);
        } else {
            fields.insert(name, value);
        }
    }
    if reserved.is_empty() {
        return;
    }
    match fields.get_mut(RESERVED) {
        Some(Value::Map(there)) => reserved.into_iter().for_each(|(name, value)| _ = there.insert(name, value)),
        _ => _ = fields.insert(Text::borrowed(RESERVED), reserved),
    }
}

impl Document {
    /// Of a text that holds nothing.
    pub fn none() -> Self {
        Self { members: Vec::new(), target: None, is_absent: true }
    }

    /// All fields of an event that is structured already.
    pub fn of_event(event: &Event) -> Self {
        let members = event.fields().keys().filter(|name| !matches!(name.as_str(), TIMESTAMP | VERSION));
        Self { members: members.cloned().collect(), target: None, is_absent: false }
    }

    /// The fields of rules in rule order, then the other members in their order.
    fn names(&self, rules: &[Rule]) -> Vec<Text> {
        let mut names: Vec<Text> = Vec::with_capacity(self.members.len() + rules.len());
        for name in rules.iter().filter_map(|rule| rule.path.member(self.target.as_ref())) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let of_rules = names.len();
        for name in &self.members {
            if !names.iter().take(of_rules).any(|other| other == name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn field(&self, name: &Text) -> FieldRef {
        match &self.target {
            Some(target) => target.child(&[name]),
            None if is_reserved(name) && self.members.contains(name) => FieldRef::path_of(&[RESERVED, name]),
            None => FieldRef::path_of(&[name]),
        }
    }

    /// The document as it is now, cast and defaulted; fields of rules that are not there are null.
    pub fn object(&self, event: &Event, rules: &[Rule]) -> Map {
        let names = self.names(rules).into_iter();
        names
            .map(|name| {
                let value = event.get(&self.field(&name)).cloned().unwrap_or_default();
                (name, value)
            })
            .collect()
    }
}
