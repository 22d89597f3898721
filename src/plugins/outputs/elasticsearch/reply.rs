//! Reading the reply to a bulk request.

use serde::Deserialize;

use super::action::{Action, Kind};
use crate::event::json::{Numbers, Reader};
use crate::event::{Map, Text, Value};

/// What a bulk reply with a good HTTP status says.
#[derive(Debug)]
pub(super) enum Answer {
    /// Every action was accepted.
    Accepted,
    /// Some were not: one item per action, in the order of the reply.
    Sorted(Vec<Item>),
    /// Not something that a server answers to a bulk request.
    Senseless,
}

/// What became of one action.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    /// `index`, `create`, …
    pub action: Text,
    /// The id, where the reply has one.
    pub id: Option<Text>,
    /// The status; 0 when there is none.
    pub status: i64,
    /// All members, as they came.
    pub body: Map,
}

impl Item {
    /// An item that we made ourselves, of a status that was given to a whole request.
    pub fn made(kind: Kind, status: i64, error: Value) -> Self {
        let body = [("status", Value::Integer(status)), ("error", error)].into_iter().collect();
        Self { action: Text::borrowed(kind.name()), id: None, status, body }
    }

    /// The error's type; empty when there is none.
    pub fn error_type(&self) -> &str {
        let error = self.body.get("error").and_then(Value::as_map);
        error.and_then(|e| e.get("type")).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether it names an error.
    pub fn has_error(&self) -> bool {
        self.body.get("error").is_some_and(|e| !e.is_null())
    }

    /// Whether an ingest pipeline dropped the document: the server did nothing. A new document without an id of its
    /// own is never answered with 200 otherwise.
    pub fn is_dropped(&self, action: &Action) -> bool {
        let noop = self.body.get("result").and_then(Value::as_str).is_some_and(|r| r == "noop");
        self.status == 200 && (noop || (action.id.is_none() && matches!(action.kind, Kind::Index | Kind::Create)))
    }
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    errors: Option<serde_json::Value>,
}

/// Reads a reply. Items are looked at only when the reply says that there are errors.
pub(super) fn read(body: &[u8]) -> Answer {
    let Ok(head) = serde_json::from_slice::<Head>(body) else { return Answer::Senseless };
    // Serde would take a list for an object.
    if body.iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'{') {
        return Answer::Senseless;
    }
    if head.errors != Some(serde_json::Value::Bool(true)) {
        return Answer::Accepted;
    }
    match object(body).as_ref().and_then(|reply| reply.get("items")) {
        Some(Value::Array(items)) => Answer::Sorted(items.iter().map(item).collect()),
        _ => Answer::Sorted(Vec::new()),
    }
}

/// The error object of a reply that a server made itself: `{"error":{"type":…},"status":…}`.
pub(super) fn own_error(body: &[u8]) -> Option<Value> {
    let reply = object(body)?;
    reply.get("status")?.as_integer()?;
    let error = reply.get("error")?;
    error.as_map()?.get("type")?.as_str()?;
    Some(error.clone())
}

fn object(body: &[u8]) -> Option<Map> {
    let text = Text::from(std::str::from_utf8(body).ok()?);
    match Reader::new(&text, Numbers::Double).next_value() {
        Ok(Some(Value::Map(map))) => Some(map),
        _ => None,
    }
}

fn item(value: &Value) -> Item {
    let named = value.as_map().and_then(|map| map.iter().next());
    let (action, body) = match named {
        Some((action, Value::Map(body))) => (action.clone(), body.clone()),
        Some((action, _)) => (action.clone(), Map::new()),
        None => (Text::new(), Map::new()),
    };
    let status = body.get("status").and_then(Value::as_integer).unwrap_or(0);
    Item { action, id: body.get("_id").and_then(Value::as_text).cloned(), status, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_true_errors_member_leads_to_the_items() {
        for text in ["{}", "{\"errors\":false,\"items\":[{\"delete\":{\"status\":404}}]}", " {\"took\":1}\n"] {
            assert!(matches!(read(text.as_bytes()), Answer::Accepted), "{text}");
        }
        for text in ["", "<html>ok</html>", "[]", "[true]", "\"x\"", "null", "{\"errors\":tru", "{} x"] {
            assert!(matches!(read(text.as_bytes()), Answer::Senseless), "{text}");
        }
        let text =
            b"{\"items\":[{\"index\":{\"status\":400,\"error\":{\"type\":\"t\"},\"_id\":\"a\"}},{}],\"errors\":true}";
        let Answer::Sorted(items) = read(text) else { panic!() };
        let first = items.first().unwrap();
        assert_eq!((first.status, first.error_type(), first.id.as_deref()), (400, "t", Some("a")));
        assert_eq!(items.get(1).map(|i| i.status), Some(0));
    }

    #[test]
    fn errors_of_the_server_itself() {
        let own = own_error(b"{\"error\":{\"type\":\"action_request_validation_exception\"},\"status\":400}");
        assert!(own.is_some());
        for other in ["<html>", "{\"error\":\"x\",\"status\":400}", "{\"error\":{\"type\":\"x\"}}", "{}"] {
            assert_eq!(own_error(other.as_bytes()), None, "{other}");
        }
    }
}
