//! `merge`: one field takes in others.

use crate::event::{Event, FieldError, FieldRef, Value};

/// A field and those it takes in.
pub(super) struct Merge {
    pub destination: FieldRef,
    pub sources: Vec<FieldRef>,
}

impl Merge {
    /// Joins lists (a single value is a list of one) or maps; a map and something else stay apart, with a log line.
    ///
    /// The destination is read once: a single value is joined with each source anew, so that the last source wins,
    /// while a list or map collects them all. That is how Logstash does it.
    pub fn apply(&self, event: &mut Event) -> Result<(), FieldError> {
        let mut destination = event.value_of(&self.destination).unwrap_or_default();
        for source in &self.sources {
            let source_value = event.value_of(source).unwrap_or_default();
            match (&mut destination, source_value) {
                (Value::Map(map), Value::Map(added)) => {
                    for (key, value) in added {
                        map.insert(key, value);
                    }
                    event.set(&self.destination, destination.clone())?;
                }
                (there, other) if there.as_map().is_some() != other.as_map().is_some() => {
                    tracing::error!(target: "logstash.filters.mutate", "Not possible to merge {} and {}: {source} into {}",
                        there.kind(), other.kind(), self.destination);
                }
                (Value::Array(list), added) => {
                    list.extend(as_list(added));
                    event.set(&self.destination, destination.clone())?;
                }
                (single, added) => {
                    let mut list = as_list(single.clone());
                    list.extend(as_list(added));
                    event.set(&self.destination, list)?;
                }
            }
        }
        Ok(())
    }
}

fn as_list(value: Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(list) => list,
        single => vec![single],
    }
}
