//! Fields that an input puts on events that lack them, made once for each connection.

use std::sync::Arc;

use crate::event::{Event, EventStream, FieldRef, Map, Text, Value};
use crate::plugins::InputSink;

/// The fields of one connection. Cheap to clone.
#[derive(Clone)]
pub(in crate::plugins::inputs) struct Marks(Arc<Inner>);

struct Inner {
    fields: Vec<(FieldRef, Value)>,
    /// All of them as they stand in the metadata of an event that has none, if they all go there: its one key, and
    /// what is below it.
    metadata: Option<(Text, Value)>,
}

impl Marks {
    /// From fields in the order in which they are set.
    pub fn new(fields: Vec<(FieldRef, Value)>) -> Self {
        let mut template = Event::new();
        let before = template.fields().len();
        for (field, value) in &fields {
            // What cannot be set here cannot be set on any event.
            let _ = template.set(field, value.clone());
        }
        let metadata = (template.fields().len() == before).then(|| template.metadata().iter().next()).flatten();
        let metadata = metadata.map(|(key, value)| (key.clone(), shared(value)));
        Self(Arc::new(Inner { fields, metadata }))
    }

    /// Sets what the event does not have.
    pub fn set_if_absent(&self, event: &mut Event) {
        if let Some((key, value)) = &self.0.metadata
            && event.metadata().is_empty()
        {
            event.metadata_mut().insert(key.clone(), value.clone());
            return;
        }
        for (field, value) in &self.0.fields {
            if !event.includes(field) {
                set(event, field, value.clone());
            }
        }
    }

    /// The same events with the fields on them, and then the common options.
    pub fn before_options(&self, sink: &InputSink, events: EventStream) -> EventStream {
        let marks = self.clone();
        sink.decorated(events.each(move |event| marks.set_if_absent(event)))
    }
}

/// Sets a field; where a text or number stands in the way it stays.
pub(in crate::plugins::inputs) fn set(event: &mut Event, field: &FieldRef, value: Value) {
    if let Err(error) = event.set(field, value) {
        tracing::debug!(target: "logstash.inputs", "{field} was not set: {error}");
    }
}

/// Maps in it are not copied for each event.
pub(in crate::plugins::inputs) fn shared(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            Value::Map(map.iter().map(|(key, value)| (key.clone(), shared(value))).collect::<Map>().shared())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{event, json};

    #[test]
    fn only_what_is_absent_is_set() {
        let marks = Marks::new(vec![
            (FieldRef::top("host"), Value::literal("h")),
            (FieldRef::path_of(&["@metadata", "ip"]), Value::literal("1")),
        ]);
        let mut given = event(r#"{"host":null,"@metadata":{"x":1}}"#);
        marks.set_if_absent(&mut given);
        assert_eq!(json(&given), r#"{"host":null}"#);
        assert_eq!(given.metadata().get("ip"), Some(&Value::literal("1")));
        let ecs = Marks::new(vec![
            (FieldRef::path_of(&["@metadata", "input", "tcp", "ip"]), Value::literal("1")),
            (FieldRef::path_of(&["@metadata", "input", "tcp", "port"]), Value::Integer(2)),
        ]);
        for (given, expected) in [
            ("{}", r#"{"ip":"1","port":2}"#),
            (r#"{"@metadata":{"input":{"tcp":{"port":3}}}}"#, r#"{"port":3,"ip":"1"}"#),
        ] {
            let mut given = event(given);
            ecs.set_if_absent(&mut given);
            let tcp = given.get(&FieldRef::path_of(&["@metadata", "input", "tcp"])).and_then(Value::as_map).unwrap();
            let mut out = Vec::new();
            crate::event::json::write_map(tcp, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
