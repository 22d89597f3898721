//! The event: fields, `@metadata`, and the few operations that every plugin needs.

use super::in_place::push_with;
use super::{
    FieldError, FieldRef, METADATA, Map, Root, TAGS, TIMESTAMP, Text, Timestamp, VERSION, Value, fields, text_form,
};

/// Room for what an input sets and a filter or two add, so that few events have to move.
const USUAL_FIELDS: usize = 8;

/// One event on its way through a pipeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    fields: Map,
    metadata: Map,
    cancelled: bool,
}

impl Event {
    /// An event with nothing but `@timestamp` (now) and `@version` ("1").
    pub fn new() -> Self {
        Self::at(Timestamp::now())
    }

    /// An event with nothing but `@timestamp` and `@version` ("1").
    pub fn at(timestamp: Timestamp) -> Self {
        let mut fields = Map::with_capacity(6);
        fields.insert(Text::borrowed(TIMESTAMP), timestamp);
        fields.insert(Text::borrowed(VERSION), Value::literal("1"));
        Self { fields, metadata: Map::new(), cancelled: false }
    }

    /// An event made of one line of text: `message` first, then `@timestamp` and `@version`.
    pub fn from_message(message: Text, timestamp: Timestamp) -> Self {
        let mut events = Vec::with_capacity(1);
        Self::push_message(message, timestamp, false, &mut events);
        events.pop().unwrap_or_default()
    }

    /// Makes an event of one line of text at the end of `out`, as [`Event::from_message`] does; with `keep_original`
    /// the text stands in `[event][original]` as well.
    #[inline]
    pub fn push_message(message: Text, timestamp: Timestamp, keep_original: bool, out: &mut Vec<Self>) {
        let original = if keep_original { message.clone() } else { Text::new() };
        let made = || Self { fields: Map::with_capacity(USUAL_FIELDS), metadata: Map::new(), cancelled: false };
        let fields = &mut push_with(out, made).fields;
        fields.add(Text::borrowed("message"), || Value::String(message));
        fields.add(Text::borrowed(TIMESTAMP), || Value::Timestamp(timestamp));
        fields.add(Text::borrowed(VERSION), || Value::literal("1"));
        if keep_original {
            let event = fields.add(Text::borrowed("event"), || Value::Map(Map::with_capacity(1)));
            if let Value::Map(event) = event {
                event.add(Text::borrowed("original"), || Value::String(original));
            }
        }
    }

    /// An event made of decoded data. `@metadata` is moved out, `@timestamp`, `@version` and `tags` are put right:
    /// what cannot be used stays under another name with a tag that says so.
    pub fn from_map(fields: Map) -> Self {
        Self::from_map_at(fields, Timestamp::now)
    }

    /// As [`Event::from_map`], with the clock to use.
    pub fn from_map_at(mut fields: Map, now: impl Fn() -> Timestamp) -> Self {
        let metadata = match fields.remove(METADATA) {
            None => Map::new(),
            Some(Value::Map(metadata)) => metadata,
            Some(other) => {
                let mut event = Self::from_map_at(fields, now);
                event.fields.insert(Text::borrowed("_@metadata"), other);
                event.tag("_metadataparsefailure");
                return event;
            }
        };
        Self::restore_at(fields, metadata, now)
    }

    /// An event read back from a queue: fields and metadata apart, the same rules as [`Event::from_map`].
    pub fn restore(fields: Map, metadata: Map) -> Self {
        Self::restore_at(fields, metadata, Timestamp::now)
    }

    fn restore_at(fields: Map, metadata: Map, now: impl Fn() -> Timestamp) -> Self {
        let mut event = Self { fields, metadata, cancelled: false };
        event.put_tags_right();
        event.put_timestamp_right(now);
        if !event.fields.contains_key(VERSION) {
            event.fields.insert(Text::borrowed(VERSION), Value::literal("1"));
        }
        event
    }

    fn put_tags_right(&mut self) {
        let Some(tags) = self.fields.get_mut(TAGS) else { return };
        if fields::is_tags(tags) {
            return;
        }
        let odd = std::mem::replace(tags, Value::Array(vec![Value::literal("_tagsparsefailure")]));
        self.fields.insert(Text::borrowed("_tags"), Value::Array(vec![odd]));
    }

    fn put_timestamp_right(&mut self, now: impl Fn() -> Timestamp) {
        let odd = match self.fields.get_mut(TIMESTAMP) {
            Some(Value::Timestamp(_)) => return,
            None => None,
            Some(slot) => {
                let given = std::mem::replace(slot, Value::Null);
                if let Some(at) = given.as_str().and_then(Timestamp::parse) {
                    *slot = Value::Timestamp(at);
                    return;
                }
                (!given.is_null()).then_some(given)
            }
        };
        self.fields.insert(Text::borrowed(TIMESTAMP), now());
        if let Some(odd) = odd {
            self.fields.insert(Text::borrowed("_@timestamp"), odd);
            self.tag("_timestampparsefailure");
        }
    }

    /// All fields but `@metadata`, in insertion order.
    pub fn fields(&self) -> &Map {
        &self.fields
    }

    /// All fields but `@metadata`. Changing `tags` or `@timestamp` here goes past their rules.
    pub fn fields_mut(&mut self) -> &mut Map {
        &mut self.fields
    }

    /// The content of `@metadata`.
    pub fn metadata(&self) -> &Map {
        &self.metadata
    }

    /// The content of `@metadata`, to change.
    pub fn metadata_mut(&mut self) -> &mut Map {
        &mut self.metadata
    }

    /// Fields and metadata, taken apart.
    pub fn into_parts(self) -> (Map, Map) {
        (self.fields, self.metadata)
    }

    /// The value of a field. All of `@metadata` has no value of its own, see [`Event::metadata`].
    pub fn get(&self, field: &FieldRef) -> Option<&Value> {
        fields::get(self.root(field), field.path())
    }

    /// The value of a field, to change in place. Only for changes that keep its type: the rules of `tags` and
    /// `@timestamp` are not checked.
    pub fn get_mut(&mut self, field: &FieldRef) -> Option<&mut Value> {
        fields::get_mut(self.root_mut(field), field.path())
    }

    /// Sets a field, making the maps on the way to it.
    pub fn set(&mut self, field: &FieldRef, value: impl Into<Value>) -> Result<(), FieldError> {
        let value = value.into();
        fields::check(field, &value)?;
        match (field.root(), field.path(), value) {
            (Root::Metadata, [], Value::Map(map)) => {
                self.metadata = map;
                Ok(())
            }
            (_, path, value) => fields::set(self.root_mut(field), path, value),
        }
    }

    /// The place of a field, made when it is missing, and null then. `None` for fields that do not take any value
    /// (`tags`, `@timestamp`, all of `@metadata`) and for a name below a list.
    pub fn place(&mut self, field: &FieldRef) -> Result<Option<&mut Value>, FieldError> {
        if !field.takes_all() {
            return Ok(None);
        }
        fields::place(self.root_mut(field), field.path())
    }

    /// Takes a field out. All of `@metadata` is emptied and comes back as a map.
    pub fn remove(&mut self, field: &FieldRef) -> Option<Value> {
        if field.root() == Root::Metadata && field.path().is_empty() {
            return Some(Value::Map(std::mem::take(&mut self.metadata)));
        }
        fields::remove(self.root_mut(field), field.path())
    }

    /// Whether a field is there, be its value null. `@metadata` always is.
    pub fn includes(&self, field: &FieldRef) -> bool {
        (field.root() == Root::Metadata && field.path().is_empty()) || self.get(field).is_some()
    }

    /// A copy of the field's value; all of `@metadata` as a map.
    pub fn value_of(&self, field: &FieldRef) -> Option<Value> {
        if field.root() == Root::Metadata && field.path().is_empty() {
            return Some(Value::Map(self.metadata.clone()));
        }
        self.get(field).cloned()
    }

    fn root(&self, field: &FieldRef) -> &Map {
        match field.root() {
            Root::Fields => &self.fields,
            Root::Metadata => &self.metadata,
        }
    }

    fn root_mut(&mut self, field: &FieldRef) -> &mut Map {
        match field.root() {
            Root::Fields => &mut self.fields,
            Root::Metadata => &mut self.metadata,
        }
    }

    /// The event's instant, unless it was removed.
    pub fn timestamp(&self) -> Option<Timestamp> {
        self.fields.get(TIMESTAMP).and_then(Value::as_timestamp)
    }

    /// Sets the event's instant.
    pub fn set_timestamp(&mut self, at: Timestamp) {
        self.fields.insert(Text::borrowed(TIMESTAMP), at);
    }

    /// Adds a failure tag unless it is there already.
    pub fn tag(&mut self, tag: &str) {
        let there = match self.fields.get(TAGS) {
            Some(Value::String(only)) => only == tag,
            Some(Value::Array(list)) => list.iter().any(|v| v.as_str() == Some(tag)),
            _ => false,
        };
        if !there {
            self.append_tag(Text::from(tag));
        }
    }

    /// Adds a tag at the end, also when it is there already (`add_tag`). A text becomes a list.
    pub fn append_tag(&mut self, tag: Text) {
        let tag = Value::String(tag);
        match self.fields.get_mut(TAGS) {
            Some(Value::Array(list)) => list.push(tag),
            Some(slot) => {
                let only = std::mem::take(slot);
                *slot = Value::Array(if only.is_null() { vec![tag] } else { vec![only, tag] });
            }
            None => {
                self.fields.insert(Text::borrowed(TAGS), Value::Array(vec![tag]));
            }
        }
    }

    /// Removes every copy of a tag. Without `tags` nothing happens; else `tags` is a list afterwards.
    pub fn remove_tag(&mut self, tag: &str) {
        match self.fields.get_mut(TAGS) {
            Some(Value::Array(list)) => list.retain(|v| v.as_str() != Some(tag)),
            Some(slot) => {
                let only = std::mem::take(slot);
                *slot = Value::Array(if only.as_str() == Some(tag) { Vec::new() } else { vec![only] });
            }
            None => {}
        }
    }

    /// Adds a value to a field as `add_field` does: absent is set, present becomes a list of old and new.
    pub fn append(&mut self, field: &FieldRef, value: Value) -> Result<(), FieldError> {
        let Some(slot) = self.get_mut(field) else { return self.set(field, value) };
        if field.top_level_name().is_some_and(|name| name == TAGS) && !matches!(value, Value::String(_)) {
            return Err(FieldError::Tags(value.kind()));
        }
        if field.top_level_name().is_some_and(|name| name == TIMESTAMP) {
            return Err(FieldError::Timestamp("list"));
        }
        match slot {
            Value::Array(list) => list.push(value),
            Value::Null => *slot = Value::Array(vec![value]),
            Value::Map(map) => {
                let pairs = std::mem::take(map).into_iter();
                let mut list: Vec<Value> = pairs.map(|(k, v)| Value::Array(vec![k.into(), v])).collect();
                list.push(value);
                *slot = Value::Array(list);
            }
            _ => {
                let old = std::mem::take(slot);
                *slot = Value::Array(vec![old, value]);
            }
        }
        Ok(())
    }

    /// Takes the event out of the pipeline: later filters and the outputs do not see it.
    pub fn cancel(&mut self) {
        self.cancelled = true;
    }

    /// Whether the event was taken out of the pipeline.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// The fields as compact JSON, without `@metadata`.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        super::json::write_map(&self.fields, out);
    }

    /// The fields as compact JSON, without `@metadata`.
    pub fn to_json(&self) -> String {
        let mut out = Vec::with_capacity(256);
        self.write_json(&mut out);
        text_form::utf8(out)
    }
}
