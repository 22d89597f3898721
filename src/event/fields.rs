//! Following a field reference through nested maps and lists, and the fields that have rules of their own.

use super::{FieldRef, Map, Root, Segment, Value};

/// Name of the instant of an event.
pub const TIMESTAMP: &str = "@timestamp";
/// Name of the format version of an event.
pub const VERSION: &str = "@version";
/// Name of the map that never leaves through an output.
pub const METADATA: &str = "@metadata";
/// Name of the list of tags.
pub const TAGS: &str = "tags";

/// A value that a field cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The parent is a text, number, boolean or null.
    #[error("Could not set field '{field}' on object '{parent}'")]
    ScalarParent {
        /// The step that could not be made.
        field: String,
        /// What stands there instead of a map.
        parent: &'static str,
    },
    /// A negative list index before the first element.
    #[error("index {0} is out of range")]
    OutOfRange(i64),
    /// `@timestamp` takes only an instant.
    #[error("wrong argument type {0} for @timestamp (expected a timestamp)")]
    Timestamp(&'static str),
    /// `tags` takes only a text or a list of texts.
    #[error("Could not set field 'tags' to {0}: it takes a string or a list of strings")]
    Tags(&'static str),
    /// `@metadata` as a whole takes only a map.
    #[error("Could not set field '@metadata' to {0}: it takes a map")]
    Metadata(&'static str),
}

/// The value at `path`, from a map downwards.
pub(super) fn get<'a>(root: &'a Map, path: &[Segment]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let mut at = root.get_text(&first.name)?;
    for segment in rest {
        at = match at {
            Value::Map(map) => map.get_text(&segment.name)?,
            Value::Array(list) => list.get(position(segment, list.len())?)?,
            _ => return None,
        };
    }
    Some(at)
}

/// The value at `path`, to change in place.
pub(super) fn get_mut<'a>(root: &'a mut Map, path: &[Segment]) -> Option<&'a mut Value> {
    let (first, rest) = path.split_first()?;
    let mut at = root.get_mut(&first.name)?;
    for segment in rest {
        at = match at {
            Value::Map(map) => map.get_mut(&segment.name)?,
            Value::Array(list) => {
                let index = position(segment, list.len())?;
                list.get_mut(index)?
            }
            _ => return None,
        };
    }
    Some(at)
}

/// Sets `path`, making the maps on the way. Lists grow with nulls; a name below a list is ignored.
pub(super) fn set(root: &mut Map, path: &[Segment], value: Value) -> Result<(), FieldError> {
    if let Some(place) = place(root, path)? {
        *place = value;
    }
    Ok(())
}

/// The place of `path`, null when it is new, with the maps on the way to it. There is none for a name below a list.
pub(super) fn place<'a>(root: &'a mut Map, path: &[Segment]) -> Result<Option<&'a mut Value>, FieldError> {
    let Some((last, parents)) = path.split_last() else { return Ok(None) };
    let Some((first, parents)) = parents.split_first() else { return Ok(Some(root.slot(&last.name))) };
    let mut at = child(root, first);
    for segment in parents {
        at = match at {
            Value::Map(map) => child(map, segment),
            Value::Array(list) => match slot(list, segment)? {
                Some(slot) => {
                    if slot.is_null() {
                        *slot = Value::Map(Map::new());
                    }
                    slot
                }
                None => return Ok(None),
            },
            other => return Err(scalar_parent(segment, other)),
        };
    }
    match at {
        Value::Map(map) => Ok(Some(map.slot(&last.name))),
        Value::Array(list) => slot(list, last),
        other => Err(scalar_parent(last, other)),
    }
}

/// The value of a step in a map; a missing one becomes a map.
fn child<'a>(map: &'a mut Map, segment: &Segment) -> &'a mut Value {
    // It is about to get a field; most such maps have one or two.
    map.get_or_insert_with(&segment.name, || Value::Map(Map::with_capacity(2)))
}

/// Takes the value at `path` out.
pub(super) fn remove(root: &mut Map, path: &[Segment]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    if parents.is_empty() {
        return root.remove(&last.name);
    }
    match get_mut(root, parents)? {
        Value::Map(map) => map.remove(&last.name),
        Value::Array(list) => position(last, list.len()).map(|at| list.remove(at)),
        _ => None,
    }
}

/// Longest list that setting an index may make, so that `[list][999999999]` cannot eat the memory.
const LONGEST_PADDED_LIST: i64 = 1 << 20;

fn slot<'a>(list: &'a mut Vec<Value>, segment: &Segment) -> Result<Option<&'a mut Value>, FieldError> {
    let Some(index) = segment.index else { return Ok(None) };
    if index < 0 || index < list.len() as i64 {
        let at = position(segment, list.len()).ok_or(FieldError::OutOfRange(index))?;
        return Ok(list.get_mut(at));
    }
    if index >= LONGEST_PADDED_LIST {
        return Err(FieldError::OutOfRange(index));
    }
    list.resize(index as usize + 1, Value::Null);
    Ok(list.last_mut())
}

fn position(segment: &Segment, len: usize) -> Option<usize> {
    let index = segment.index?;
    let at = if index < 0 { index.checked_add(len as i64)? } else { index };
    usize::try_from(at).ok().filter(|at| *at < len)
}

fn scalar_parent(segment: &Segment, parent: &Value) -> FieldError {
    FieldError::ScalarParent { field: segment.name.to_string(), parent: parent.kind() }
}

/// Whether `value` may stand in the field that `field` names.
pub(super) fn check(field: &FieldRef, value: &Value) -> Result<(), FieldError> {
    if field.root() == Root::Metadata {
        return match (field.path(), value) {
            ([], Value::Map(_)) => Ok(()),
            ([], other) => Err(FieldError::Metadata(other.kind())),
            _ => Ok(()),
        };
    }
    let Some(first) = field.path().first() else { return Ok(()) };
    match (first.name.as_str(), field.path().len(), value) {
        (TIMESTAMP, 1, Value::Timestamp(_)) => Ok(()),
        (TIMESTAMP, 1, other) => Err(FieldError::Timestamp(other.kind())),
        (TAGS, 1, value) if is_tags(value) => Ok(()),
        (TAGS, 1, other) => Err(FieldError::Tags(other.kind())),
        (TAGS, _, value) => Err(FieldError::Tags(value.kind())),
        _ => Ok(()),
    }
}

/// Whether `value` is a text or a list of texts.
pub(super) fn is_tags(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Array(list) => list.iter().all(|v| matches!(v, Value::String(_))),
        _ => false,
    }
}
