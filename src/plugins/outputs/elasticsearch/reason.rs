//! The texts of dead letter reasons and log lines, in the form that Logstash writes (Ruby's `inspect`).

use super::action::{Action, Unmapped};
use super::flavor::Flavor;
use super::reply::Item;
use crate::event::json::{Numbers, Reader};
use crate::event::{Event, METADATA, Map, Text, Value, text_form};

/// Characters of an event that a log line shows.
const LOGGED_EVENT_CHARS: usize = 200;

/// Why an item is dead.
pub(super) fn refused(flavor: Flavor, bytes: &[u8], action: &Action, event: &Event, item: &Item) -> String {
    format!(
        "Could not index event to {}. status: {}, action: {}, response: {}",
        flavor.product(),
        item.status,
        with_event(bytes, action, event, usize::MAX),
        response(item)
    )
}

/// Why an action whose item cannot be found is dead.
pub(super) fn ambiguous(flavor: Flavor, bytes: &[u8], action: &Action, event: &Event) -> String {
    format!(
        "Could not index event to {}. ambiguous reply: an ingest pipeline dropped some events of the request and \
         failed on others, and the server did not say which; this is one of them. action: {}",
        flavor.product(),
        with_event(bytes, action, event, usize::MAX)
    )
}

/// Why an event did not become an action.
pub(super) fn unmapped(flavor: Flavor, unmapped: &Unmapped, event: &Event) -> String {
    let mut fields = event.fields().clone();
    if !event.metadata().is_empty() {
        fields.insert(METADATA, event.metadata().clone());
    }
    let event = inspected(&Value::Map(fields));
    match unmapped {
        Unmapped::Index(name) => {
            format!("Badly formatted index, after interpolation still contains placeholder: [{name}]; event: `{event}`")
        }
        Unmapped::Action(name) => {
            format!("{} doesn't support [{name}] action; event: `{event}`", flavor.product())
        }
        Unmapped::Upsert(text) => {
            format!("Badly formatted upsert, after interpolation it is no JSON object: [{text}]; event: `{event}`")
        }
        Unmapped::Join(why) => format!("The join field cannot be set: {why}; event: `{event}`"),
    }
}

/// The action for a log line: `["index", {_id: nil, …}, {…` with the start of the event.
pub(super) fn shown(bytes: &[u8], action: &Action, event: &Event) -> String {
    with_event(bytes, action, event, LOGGED_EVENT_CHARS)
}

/// The action without the event: `["index", {_id: nil, …}]`.
pub(super) fn action(bytes: &[u8], action: &Action) -> String {
    format!("[\"{}\", {}]", action.kind.name(), parameters(&line(bytes, action)))
}

/// The item: `{"index" => {"status" => 400, …}}`.
pub(super) fn response(item: &Item) -> String {
    inspected(&Value::Map([(item.action.clone(), item.body.clone())].into_iter().collect()))
}

/// The name of the index that an action goes to.
pub(super) fn index(bytes: &[u8], action: &Action) -> Text {
    line(bytes, action).get("_index").and_then(Value::as_text).cloned().unwrap_or_default()
}

/// A value as Ruby shows it.
pub(super) fn inspected(value: &Value) -> String {
    let mut out = Vec::new();
    text_form::write_inspect(value, &mut out);
    text_form::utf8(out)
}

/// The first characters of a text, and whether there were more.
pub(super) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn with_event(bytes: &[u8], action: &Action, event: &Event, chars: usize) -> String {
    let mut out = Vec::new();
    text_form::write_inspect_map(event.fields(), &mut out);
    let event = text_form::utf8(out);
    let event = if chars == usize::MAX { event } else { cut(&event, chars) };
    format!("[\"{}\", {}, {event}]", action.kind.name(), parameters(&line(bytes, action)))
}

/// The members of an action line.
fn line(bytes: &[u8], action: &Action) -> Map {
    let text = Text::from(String::from_utf8_lossy(action.line(bytes)).into_owned());
    let value = Reader::new(&text, Numbers::Double).next_value().ok().flatten();
    let named = value.as_ref().and_then(Value::as_map).and_then(|map| map.iter().next());
    named.and_then(|(_, members)| members.as_map()).cloned().unwrap_or_default()
}

/// A map whose keys are symbols in Ruby.
fn parameters(map: &Map) -> String {
    let members: Vec<String> = map.iter().map(|(key, value)| format!("{key}: {}", inspected(value))).collect();
    format!("{{{}}}", members.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::action::Kind;
    use super::*;
    use crate::event::Timestamp;

    fn event() -> Event {
        let mut event = Event::default();
        event.fields_mut().insert("port", "unknown");
        event.fields_mut().insert("@timestamp", Timestamp::parse("2026-03-01T10:00:00.000Z").unwrap());
        event
    }

    #[test]
    fn reasons_read_as_logstash_writes_them() {
        let bytes = b"{\"index\":{\"_id\":null,\"_index\":\"app-logs\",\"routing\":null}}\n";
        let action =
            Action { event: 0, kind: Kind::Index, start: 0, line_end: bytes.len(), end: bytes.len(), id: None };
        let error: Map = [("type", "document_parsing_exception"), ("reason", "…")].into_iter().collect();
        let item = Item::made(Kind::Index, 400, Value::Map(error));
        assert_eq!(
            refused(Flavor::Elasticsearch, bytes, &action, &event(), &item),
            "Could not index event to Elasticsearch. status: 400, action: [\"index\", {_id: nil, _index: \"app-logs\", \
             routing: nil}, {\"port\" => \"unknown\", \"@timestamp\" => 2026-03-01T10:00:00.000Z}], response: \
             {\"index\" => {\"status\" => 400, \"error\" => {\"type\" => \"document_parsing_exception\", \"reason\" => \
             \"…\"}}}"
        );
        assert_eq!(index(bytes, &action), "app-logs");
        let mut event = event();
        event.metadata_mut().insert("k", 1_i64);
        assert_eq!(
            unmapped(Flavor::Elasticsearch, &Unmapped::Index("%{app}-logs".into()), &event),
            "Badly formatted index, after interpolation still contains placeholder: [%{app}-logs]; event: `{\"port\" \
             => \"unknown\", \"@timestamp\" => 2026-03-01T10:00:00.000Z, \"@metadata\" => {\"k\" => 1}}`"
        );
    }
}
