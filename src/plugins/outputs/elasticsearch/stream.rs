//! Data streams: which one an event goes to, and its `data_stream` fields as they are sent.
//!
//! A stream is named `type-dataset-namespace`. The three stand in the options, and in `[data_stream]` of an event that
//! chooses for itself. The event keeps its fields; only the document that is sent has them filled in.

use std::sync::atomic::{AtomicBool, Ordering};

use super::json_text::quoted;
use super::target::text_of;
use crate::event::{Map, Text, Value, json};

/// The field that names a stream.
const FIELD: &str = "data_stream";
/// Its members, in the order of the name.
const MEMBERS: [&str; 3] = ["type", "dataset", "namespace"];

/// The stream of the options.
pub(super) struct DataStream {
    parts: [Text; 3],
    name: Text,
    /// `"data_stream":{…}` of an event that has none.
    member: Vec<u8>,
    /// Events may choose for themselves.
    auto_routing: bool,
    /// Documents get the fields of their stream.
    sync_fields: bool,
    warned_of_type: AtomicBool,
    warned_of_sync: AtomicBool,
}

impl DataStream {
    /// From the options: type, dataset, namespace.
    pub fn new(parts: [String; 3], auto_routing: bool, sync_fields: bool) -> Self {
        let parts = parts.map(Text::from);
        let [kind, dataset, namespace] = &parts;
        let name = Text::from(format!("{kind}-{dataset}-{namespace}"));
        let mut member = quoted(FIELD);
        let fields: Map = MEMBERS.into_iter().zip(parts.iter().cloned().map(Value::String)).collect();
        member.push(b':');
        json::write_map(&fields, &mut member);
        Self {
            parts,
            name,
            member,
            auto_routing,
            sync_fields,
            warned_of_type: AtomicBool::new(false),
            warned_of_sync: AtomicBool::new(false),
        }
    }

    /// The name that the options make.
    pub fn name(&self) -> &Text {
        &self.name
    }

    /// The name that an event makes; `None` when it is that of the options.
    pub fn own_name(&self, fields: &Map) -> Option<Text> {
        if !self.auto_routing {
            return None;
        }
        let chosen = fields.get(FIELD)?.as_map()?;
        let [kind, dataset, namespace] = self.parts_of(chosen);
        Some(Text::from(format!("{kind}-{dataset}-{namespace}")))
    }

    fn parts_of(&self, chosen: &Map) -> [Text; 3] {
        let mut parts = self.parts.clone();
        for (part, member) in parts.iter_mut().zip(MEMBERS) {
            if let Some(own) = text_of(chosen, member) {
                *part = own;
            }
        }
        parts
    }

    /// Appends the fields of an event as a document of its stream.
    pub fn write(&self, fields: &Map, out: &mut Vec<u8>) {
        if !self.sync_fields {
            return json::write_map(fields, out);
        }
        match fields.get(FIELD) {
            None => {
                json::write_map(fields, out);
                out.pop();
                if !fields.is_empty() {
                    out.push(b',');
                }
                out.extend_from_slice(&self.member);
                out.push(b'}');
            }
            Some(Value::Map(chosen)) => match self.synced(chosen) {
                None => json::write_map(fields, out),
                Some(synced) => write_with(fields, synced, out),
            },
            Some(_) => {
                if !self.warned_of_type.swap(true, Ordering::Relaxed) {
                    tracing::warn!(target: super::LOG,
                        "The field [data_stream] of an event is no map: in the document that is sent it is replaced");
                }
                write_with(
                    fields,
                    MEMBERS.into_iter().zip(self.parts.iter().cloned().map(Value::String)).collect(),
                    out,
                );
            }
        }
    }

    /// The members as they have to be; `None` when they are so.
    fn synced(&self, chosen: &Map) -> Option<Map> {
        let mut synced = None;
        for (member, part) in MEMBERS.into_iter().zip(&self.parts) {
            let own = chosen.get(member).filter(|own| !own.is_null());
            let differs = own.is_some_and(|own| own.as_str() != Some(part.as_str()));
            if own.is_none() || (differs && !self.auto_routing) {
                synced.get_or_insert_with(|| chosen.clone()).insert(member, part.clone());
            }
            if differs && !self.auto_routing && !self.warned_of_sync.swap(true, Ordering::Relaxed) {
                tracing::warn!(target: super::LOG,
                    "[data_stream][{member}] of an event is out of sync with the stream `{}` that it is sent to: in the \
                     document it is replaced",
                    self.name);
            }
        }
        synced
    }
}

fn write_with(fields: &Map, stream: Map, out: &mut Vec<u8>) {
    let mut fields = fields.clone();
    fields.insert(FIELD, stream);
    json::write_map(&fields, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::event;

    fn stream(auto_routing: bool) -> DataStream {
        DataStream::new(["logs", "web", "default"].map(str::to_owned), auto_routing, true)
    }

    fn sent(stream: &DataStream, event: &str) -> (String, String) {
        let event = self::event(event);
        let mut out = Vec::new();
        stream.write(event.fields(), &mut out);
        let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let name = stream.own_name(event.fields()).unwrap_or_else(|| stream.name().clone());
        (name.to_string(), document["data_stream"].to_string())
    }

    #[test]
    fn events_choose_member_by_member() {
        let full = r#"{"type":"logs","dataset":"web","namespace":"default"}"#;
        for (event, name, fields) in [
            ("{}", "logs-web-default", full),
            (r#"{"data_stream":"x"}"#, "logs-web-default", full),
            (
                r#"{"data_stream":{"type":"metrics","namespace":"eu","more":1}}"#,
                "metrics-web-eu",
                r#"{"type":"metrics","namespace":"eu","more":1,"dataset":"web"}"#,
            ),
            (
                r#"{"data_stream":{"type":7,"dataset":null}}"#,
                "7-web-default",
                r#"{"type":7,"dataset":"web","namespace":"default"}"#,
            ),
        ] {
            assert_eq!(sent(&stream(true), event), (name.to_owned(), fields.to_owned()), "{event}");
        }
    }

    #[test]
    fn without_routing_the_options_win() {
        let (name, fields) = sent(&stream(false), r#"{"data_stream":{"type":"metrics"}}"#);
        assert_eq!(name, "logs-web-default");
        assert_eq!(fields, r#"{"type":"logs","dataset":"web","namespace":"default"}"#);
    }
}
