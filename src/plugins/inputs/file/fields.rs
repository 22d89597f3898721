//! What the input says about where an event comes from.

use std::path::Path;

use crate::event::{Event, FieldRef, Map, Text, Value};
use crate::plugins::Ecs;
use crate::plugins::inputs::host_field::HostField;

/// The fields of the events of one file. Events share what they have in common.
#[derive(Clone)]
pub(super) struct Origin {
    host: HostField,
    /// The name of the top-level field that holds the path, and what it is on an event that has none.
    name: &'static str,
    value: Value,
    /// Where the path belongs when something else is in that field.
    field: FieldRef,
    path: Text,
    metadata: Map,
}

impl Origin {
    /// Of a file that was found at `path`.
    pub fn new(host: &str, ecs: Ecs, path: &Path) -> Self {
        let path = Text::from(path.to_string_lossy());
        let (name, field, value) = if ecs.is_disabled() {
            ("path", FieldRef::top("path"), Value::String(path.clone()))
        } else {
            let file = Map::from_unique(vec![(Text::borrowed("path"), Value::String(path.clone()))]);
            let log = Map::from_unique(vec![(Text::borrowed("file"), Value::Map(file))]);
            ("log", FieldRef::path_of(&["log", "file", "path"]), Value::Map(log.shared()))
        };
        let metadata = Map::from_unique(vec![
            (Text::borrowed("path"), Value::String(path.clone())),
            (Text::borrowed("host"), Value::from(host)),
        ]);
        Self { host: HostField::new(host, ecs, "name"), name, value, field, path, metadata: metadata.shared() }
    }

    /// The same for the events of one chunk, which one worker deals with, see [`Value::apart`].
    pub fn apart(&self) -> Self {
        Self { host: self.host.apart(), value: self.value.apart(), metadata: self.metadata.apart(), ..self.clone() }
    }

    /// Puts the fields on an event that does not have them.
    pub fn put_on(&self, event: &mut Event) {
        self.host.set_if_absent(event);
        let mut is_new = false;
        event.fields_mut().get_or_insert_with(&Text::borrowed(self.name), || {
            is_new = true;
            self.value.clone()
        });
        if !is_new && !event.includes(&self.field) {
            // A field on the way that is no map stays as it is.
            let _ = event.set(&self.field, self.path.clone());
        }
        let metadata = event.metadata_mut();
        if metadata.is_empty() {
            *metadata = self.metadata.clone();
        } else {
            for (key, value) in self.metadata.iter() {
                metadata.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{event, json};

    fn put(ecs: Ecs, given: &str) -> (String, Map) {
        let mut event = event(given);
        Origin::new("web1", ecs, Path::new("/var/log/a.log")).put_on(&mut event);
        (json(&event), event.metadata().clone())
    }

    #[test]
    fn host_and_path_are_set_where_they_are_absent() {
        let (fields, metadata) = put(Ecs::Disabled, r#"{"m":1}"#);
        assert_eq!(fields, r#"{"m":1,"host":"web1","path":"/var/log/a.log"}"#);
        assert_eq!(metadata.get("path").and_then(Value::as_str), Some("/var/log/a.log"));
        assert_eq!(metadata.get("host").and_then(Value::as_str), Some("web1"));
        let (fields, _) = put(Ecs::V8, r#"{"m":1}"#);
        assert_eq!(fields, r#"{"m":1,"host":{"name":"web1"},"log":{"file":{"path":"/var/log/a.log"}}}"#);
        let (fields, _) = put(Ecs::V8, r#"{"log":{"level":"x"},"host":"h"}"#);
        assert_eq!(fields, r#"{"log":{"level":"x","file":{"path":"/var/log/a.log"}},"host":"h"}"#);
        let (fields, _) = put(Ecs::V8, r#"{"log":{"file":{"path":"mine"}},"host":{"name":"h"}}"#);
        assert_eq!(fields, r#"{"log":{"file":{"path":"mine"}},"host":{"name":"h"}}"#);
        let (fields, metadata) = put(Ecs::Disabled, r#"{"path":"p","host":"h","@metadata":{"path":"x","y":1}}"#);
        assert_eq!(fields, r#"{"path":"p","host":"h"}"#);
        assert_eq!(metadata.len(), 3);
    }
}
