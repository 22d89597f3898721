//! The name of this machine on each event.

use crate::event::{Event, Map, Text, Value};
use crate::plugins::Ecs;

/// Puts the name of this machine on events: as `host`, or below it where ECS is followed.
#[derive(Clone)]
pub(super) struct HostField {
    key: &'static str,
    name: Text,
    ecs: Ecs,
    /// What `host` is on an event that has none; all events of the input share it.
    value: Value,
}

impl HostField {
    /// `key` is the field below `host` in ECS.
    pub fn new(host: &str, ecs: Ecs, key: &'static str) -> Self {
        let name = Text::from(host);
        let value = if ecs.is_disabled() {
            Value::String(name.clone())
        } else {
            Value::Map(Map::from_unique(vec![(Text::borrowed(key), Value::String(name.clone()))]).shared())
        };
        Self { key, name, ecs, value }
    }

    /// The same for the events of one chunk, which one worker deals with, see [`Value::apart`].
    pub fn apart(&self) -> Self {
        Self { value: self.value.apart(), ..self.clone() }
    }

    /// Sets the field if the event does not have it.
    pub fn set_if_absent(&self, event: &mut Event) {
        let slot = event.fields_mut().get_or_insert_with(&Text::borrowed("host"), || self.value.clone());
        if let Value::Map(host) = slot
            && !self.ecs.is_disabled()
            && !host.contains_key(self.key)
        {
            host.insert(Text::borrowed(self.key), self.name.clone());
        }
    }
}
