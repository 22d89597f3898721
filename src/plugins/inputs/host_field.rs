//! The name of this machine on each event.

use std::sync::Arc;

use crate::event::{Event, Map, Text, Value};
use crate::plugins::Ecs;

/// Puts the name of this machine on events: as `host`, or below it where ECS is followed.
pub(super) struct HostField {
    key: &'static str,
    name: Text,
    ecs: Ecs,
}

impl HostField {
    /// `key` is the field below `host` in ECS.
    pub fn new(host: &Arc<str>, ecs: Ecs, key: &'static str) -> Self {
        Self { key, name: Text::from(&**host), ecs }
    }

    /// Sets the field if the event does not have it.
    pub fn set_if_absent(&self, event: &mut Event) {
        match event.fields_mut().get_mut("host") {
            None => {
                event.fields_mut().insert(Text::borrowed("host"), self.value());
            }
            Some(Value::Map(host)) if !self.ecs.is_disabled() && !host.contains_key(self.key) => {
                host.insert(Text::borrowed(self.key), self.name.clone());
            }
            Some(_) => {}
        }
    }

    fn value(&self) -> Value {
        if self.ecs.is_disabled() {
            return Value::String(self.name.clone());
        }
        let mut map = Map::with_capacity(1);
        map.insert(Text::borrowed(self.key), self.name.clone());
        Value::Map(map)
    }
}
