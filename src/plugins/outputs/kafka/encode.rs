//! An event as a record: topic, key, headers, value.

use crate::event::{Event, FieldRef, METADATA, Template, Text, Value};
use crate::plugins::SharedEncoder;
use crate::plugins::kafka::record::{Record, is_topic_name};

/// How records are made.
pub(super) struct Form {
    pub topic: Template,
    pub key: Option<Template>,
    pub headers: Vec<(Text, Template)>,
    pub encoder: SharedEncoder,
    /// Topics that nothing is sent to.
    pub forbidden: Vec<String>,
    /// Whether the record has the event's time; the time of sending otherwise.
    pub with_event_time: bool,
    /// What `filter { replay { } }` says of an event.
    pub replay: Replay,
}

/// Where the replay filter leaves what concerns outputs.
pub(super) struct Replay {
    origin: FieldRef,
    allow_loop: FieldRef,
}

impl Default for Replay {
    fn default() -> Self {
        Self {
            origin: FieldRef::path_of(&[METADATA, "replay", "original_topic"]),
            allow_loop: FieldRef::path_of(&[METADATA, "replay", "allow_loop"]),
        }
    }
}

impl Form {
    /// Whether all records go to the same topic.
    pub fn has_one_topic(&self) -> bool {
        self.topic.as_constant().is_some()
    }

    /// The record of an event, or why there is none.
    pub fn record(&self, event: &Event) -> Result<Record, String> {
        let topic = self.topic.render(event);
        self.check_topic(&topic, event)?;
        let mut value = Vec::new();
        self.encoder.encode(event, &mut value).map_err(|error| error.to_string())?;
        let is_there = |field: &FieldRef| event.get(field).is_some_and(|value| !value.is_null());
        let headers = self.headers.iter().filter(|(_, template)| template.references().all(is_there));
        Ok(Record {
            key: self.key.as_ref().map(|key| key.render(event).as_bytes().to_vec()),
            headers: headers.map(|(name, template)| (name.clone(), template.render(event))).collect(),
            timestamp: event.timestamp().filter(|_| self.with_event_time).map(|at| at.millis()),
            topic,
            value,
        })
    }

    fn check_topic(&self, topic: &str, event: &Event) -> Result<(), String> {
        if !is_topic_name(topic) {
            return Err(format!("`{topic}` is no name for a topic"));
        }
        if self.forbidden.iter().any(|forbidden| forbidden == topic) {
            return Err(format!("the topic `{topic}` is one of `forbid_topics`"));
        }
        let came_from_it = event.get(&self.replay.origin).and_then(Value::as_str) == Some(topic);
        if came_from_it && !event.get(&self.replay.allow_loop).is_some_and(Value::is_truthy) {
            return Err(format!("the record came from the topic `{topic}` and may not go back to it"));
        }
        Ok(())
    }
}
