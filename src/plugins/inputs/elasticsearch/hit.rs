//! From a hit to an event.

use super::LOG;
use crate::event::{Event, FieldRef, Map, Text, Value, json};
use crate::plugins::lasting_ids;

/// Tag of an event that was made of a hit that is none.
const FAILURE: &str = "_elasticsearch_input_failure";

/// Where the parts of a hit go.
pub(super) struct Places {
    /// `target`: the field that takes the document; the whole event without it.
    pub target: Option<FieldRef>,
    /// With `docinfo`: the field that takes what the server says of the document, and which of it.
    pub docinfo: Option<(FieldRef, Vec<String>)>,
}

impl Places {
    /// The event of a hit. One that holds no document keeps the hit as a text.
    pub fn event(&self, mut hit: Map) -> Event {
        let source = hit.remove("_source");
        let mut event = match source {
            Some(Value::Map(source)) => self.placed(source),
            other => {
                if let Some(other) = other {
                    hit.insert(Text::borrowed("_source"), other);
                }
                return unusable(&hit);
            }
        };
        if let Some((target, names)) = &self.docinfo
            && !put_docinfo(&mut event, &hit, target, names)
        {
            let id = hit.get("_id").and_then(Value::as_str).unwrap_or_default();
            tracing::error!(target: LOG, id,
                "Incompatible event: the field `{target}` of the document is no hash, so that it cannot take the \
                 docinfo. The event goes on without, with the tag {FAILURE}");
            event.tag(FAILURE);
        }
        event
    }

    /// The event of a row or of aggregations.
    pub fn placed(&self, content: Map) -> Event {
        let Some(target) = &self.target else { return Event::from_map(content) };
        let mut event = Event::new();
        if let Err(error) = event.set(target, content) {
            tracing::warn!(target: LOG, "the document cannot be put into `{target}`: {error}");
            event.tag(FAILURE);
        }
        event
    }
}

/// Whether the target takes it.
fn put_docinfo(event: &mut Event, hit: &Map, target: &FieldRef, names: &[String]) -> bool {
    if event.get(target).is_some_and(|there| there.as_map().is_none()) {
        return false;
    }
    names.iter().all(|name| {
        let value = hit.get(name).cloned().unwrap_or_default();
        event.set(&target.child(&[name]), value).is_ok()
    })
}

fn unusable(hit: &Map) -> Event {
    let mut text = Vec::new();
    json::write_map(hit, &mut text);
    let mut event = Event::new();
    let text = String::from_utf8_lossy(&text).into_owned();
    // Nothing is in the way in an event that is new.
    let _ = event.set(&FieldRef::path_of(&["event", "original"]), Text::from(text));
    event.tag(FAILURE);
    event
}

/// Names an event by the document that it was.
pub(super) fn name(event: &mut Event, index: &str, id: &str) {
    let source = lasting_ids::Source::new("elasticsearch", &[index.as_bytes(), id.as_bytes()]);
    source.name(0, std::slice::from_mut(event));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing;

    const HIT: &str = r#"{"_index":"i","_id":"7","_score":1.5,"_source":{"a":1,"d":"text"}}"#;

    fn made(target: Option<&str>, docinfo: Option<&str>, hit: &str) -> Event {
        let field = |name: &str| FieldRef::parse(name, crate::event::EscapeStyle::None).unwrap();
        let names = ["_index", "_id", "_type"].map(str::to_owned).to_vec();
        let places = Places { target: target.map(field), docinfo: docinfo.map(|name| (field(name), names)) };
        places.event(testing::event(hit).fields().clone())
    }

    #[test]
    fn the_document_is_the_event_or_goes_into_its_target() {
        assert_eq!(testing::json(&made(None, None, HIT)), r#"{"a":1,"d":"text"}"#);
        assert_eq!(testing::json(&made(Some("[doc]"), None, HIT)), r#"{"doc":{"a":1,"d":"text"}}"#);
    }

    #[test]
    fn docinfo_goes_where_it_is_wanted_if_that_is_a_map() {
        let event = made(None, Some("[@metadata]"), HIT);
        assert_eq!(event.metadata().get("_id").and_then(Value::as_str), Some("7"));
        assert_eq!(event.metadata().get("_type"), Some(&Value::Null));
        let event = made(None, Some("[info]"), HIT);
        assert!(testing::json(&event).contains(r#""info":{"_index":"i","_id":"7","_type":null}"#));
        let event = made(None, Some("[d]"), HIT);
        assert_eq!(testing::json(&event), r#"{"a":1,"d":"text","tags":["_elasticsearch_input_failure"]}"#);
    }

    #[test]
    fn a_hit_without_a_document_is_kept_as_a_text() {
        for hit in [r#"{"_id":"7"}"#, r#"{"_id":"7","_source":[1]}"#] {
            let shown = testing::json(&made(None, Some("[@metadata]"), hit));
            assert!(shown.contains(r#""event":{"original":"{\"_id\":\"7\""#) && shown.contains(FAILURE), "{shown}");
        }
    }
}
