//! From an event to the lines of a bulk request: what to do, with which document, where.
//!
//! What is the same for every event is written as JSON once, at load. The members of an action line stand in a fixed
//! order: `_id, _index, routing, pipeline, _type, retry_on_conflict, version, version_type`; the first three are
//! always there, null when unset.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use parking_lot::RwLock;

use crate::event::{EscapeStyle, Event, Map, Template, Text, Value, json, text_form};

/// Index names for which ids are generated, at most; one more is a sign of names made from hostile data.
const LEARNED_LIMIT: usize = 10_000;

/// What a bulk request can do with a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Index,
    Create,
    Update,
    Delete,
}

impl Kind {
    /// As in an action line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    fn of(name: &str) -> Option<Self> {
        [Self::Index, Self::Create, Self::Update, Self::Delete].into_iter().find(|kind| kind.name() == name)
    }

    fn makes_documents(self) -> bool {
        matches!(self, Self::Index | Self::Create)
    }
}

/// The `action` option.
pub(super) enum ActionOption {
    Always(Kind),
    PerEvent(Template),
}

impl ActionOption {
    /// Refuses a fixed action that does not exist.
    pub fn new(template: Template) -> Result<Self, String> {
        let Some(name) = template.as_constant() else { return Ok(Self::PerEvent(template)) };
        match Kind::of(name) {
            Some(kind) => Ok(Self::Always(kind)),
            None if name.is_empty() => Err("No action specified! Give one of index, create, update, delete".to_owned()),
            None => Err(format!("Action `{name}` is invalid! Pick one of index, create, update, delete")),
        }
    }

    /// Whether every event is an update.
    pub fn is_always_update(&self) -> bool {
        matches!(self, Self::Always(Kind::Update))
    }
}

/// The options that [`Actions`] are made of.
pub(super) struct Parts {
    pub action: ActionOption,
    pub index: Template,
    pub document_id: Option<Template>,
    pub routing: Option<Template>,
    pub pipeline: Option<Template>,
    pub document_type: Option<Template>,
    pub retry_on_conflict: i64,
    pub doc_as_upsert: bool,
    pub check_index: bool,
}

/// Makes actions of events.
pub(super) struct Actions {
    action: ActionOption,
    index: JsonText,
    check_index: bool,
    document_id: Option<Template>,
    warned_of_id: AtomicBool,
    /// An ingest pipeline may drop events, after which replies can only be paired by id.
    always_generates: bool,
    /// Indexes whose replies turned out to need ids.
    learned: RwLock<HashSet<Text>>,
    has_learned: AtomicBool,
    routing: Option<JsonText>,
    pipeline: Option<Template>,
    document_type: Option<JsonText>,
    retry_on_conflict: i64,
    doc_as_upsert: bool,
}

/// A part of an action line, as JSON.
enum JsonText {
    Constant(Vec<u8>),
    Rendered(Template),
}

impl JsonText {
    fn new(template: Template) -> Self {
        match template.as_constant() {
            Some(text) => Self::Constant(quoted(text)),
            None => Self::Rendered(template),
        }
    }

    fn write(&self, event: &Event, out: &mut Vec<u8>) {
        match self {
            Self::Constant(json) => out.extend_from_slice(json),
            Self::Rendered(template) => json::write_string(&template.render(event), out),
        }
    }
}

fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    json::write_string(text, &mut out);
    out
}

/// An action, as a place in the bytes of its batch.
#[derive(Clone, Debug)]
pub(super) struct Action {
    /// Which event of the batch.
    pub event: usize,
    /// What it does.
    pub kind: Kind,
    /// First byte of the action line.
    pub start: usize,
    /// First byte behind the action line.
    pub line_end: usize,
    /// First byte behind the action.
    pub end: usize,
    /// The `_id` that was sent.
    pub id: Option<Text>,
}

impl Action {
    /// Its size on the wire, before compression.
    pub fn size(&self) -> usize {
        self.end - self.start
    }

    /// Its first line.
    pub fn line<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.start..self.line_end).unwrap_or_default()
    }
}

/// Why an event cannot become an action.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unmapped {
    /// The index name still holds a placeholder.
    Index(Text),
    /// There is no such action.
    Action(Text),
}

impl Actions {
    /// From the options.
    pub fn new(parts: Parts) -> Self {
        let fixed_pipeline = parts.pipeline.as_ref().is_some_and(|p| p.as_constant().is_some_and(|p| !p.is_empty()));
        Self {
            always_generates: fixed_pipeline && parts.document_id.is_none(),
            check_index: parts.check_index && parts.index.as_constant().is_none(),
            action: parts.action,
            index: JsonText::new(parts.index),
            document_id: parts.document_id,
            warned_of_id: AtomicBool::new(false),
            learned: RwLock::default(),
            has_learned: AtomicBool::new(false),
            routing: parts.routing.map(JsonText::new),
            pipeline: parts.pipeline,
            document_type: parts.document_type.map(JsonText::new),
            retry_on_conflict: parts.retry_on_conflict,
            doc_as_upsert: parts.doc_as_upsert,
        }
    }

    /// From now on, new documents of this index get ids of ours.
    pub fn generate_ids_for(&self, index: Text) {
        let mut learned = self.learned.write();
        if learned.len() < LEARNED_LIMIT {
            learned.insert(index);
        }
        self.has_learned.store(true, Ordering::Release);
    }

    /// Appends the lines for an event; nothing when it cannot be mapped. `server` is the newest major version.
    pub fn write(&self, at: usize, event: &Event, server: u32, out: &mut Vec<u8>) -> Result<Action, Unmapped> {
        let control = event.metadata().get("_ingest_document").and_then(Value::as_map);
        let index = match &self.index {
            JsonText::Constant(_) => None,
            JsonText::Rendered(template) => Some(template.render(event)),
        };
        if let Some(name) = index.as_ref().filter(|name| self.check_index && has_placeholder(name)) {
            return Err(Unmapped::Index(name.clone()));
        }
        let kind = self.kind(event)?;
        let id = self.id(event, control, kind, index.as_ref());
        let start = out.len();
        out.extend_from_slice(b"{\"");
        out.extend_from_slice(kind.name().as_bytes());
        out.extend_from_slice(b"\":{\"_id\":");
        match &id {
            Some(id) => json::write_string(id, out),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"_index\":");
        match &index {
            Some(name) => json::write_string(name, out),
            None => self.index.write(event, out),
        }
        self.write_rest(event, control, kind, server, out);
        out.extend_from_slice(b"}}\n");
        let line_end = out.len();
        self.write_document(event, kind, out);
        Ok(Action { event: at, kind, start, line_end, end: out.len(), id })
    }

    fn kind(&self, event: &Event) -> Result<Kind, Unmapped> {
        match &self.action {
            ActionOption::Always(kind) => Ok(*kind),
            ActionOption::PerEvent(template) => {
                let name = template.render(event);
                Kind::of(&name).ok_or(Unmapped::Action(name))
            }
        }
    }

    fn id(&self, event: &Event, control: Option<&Map>, kind: Kind, index: Option<&Text>) -> Option<Text> {
        if let Some(template) = &self.document_id {
            let id = template.render(event);
            if has_placeholder(&id) && !self.warned_of_id.swap(true, Ordering::Relaxed) {
                tracing::warn!(target: super::LOG,
                    "`document_id` is still `{id}` for an event that lacks the field: all such events share one \
                     document, each replacing the one before");
            }
            return Some(id);
        }
        if let Some(id) = control.and_then(|c| text_of(c, "id")) {
            return Some(id);
        }
        let generates = kind.makes_documents() && (self.always_generates || self.has_learned(index));
        generates.then(|| Text::from(BASE64_URL_SAFE_NO_PAD.encode(uuid::Uuid::new_v4().as_bytes())))
    }

    fn has_learned(&self, index: Option<&Text>) -> bool {
        if !self.has_learned.load(Ordering::Acquire) {
            return false;
        }
        // A fixed index is the only one that can have been learned.
        index.is_none_or(|name| self.learned.read().contains(name))
    }

    fn write_rest(&self, event: &Event, control: Option<&Map>, kind: Kind, server: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"routing\":");
        match (&self.routing, control.and_then(|c| text_of(c, "routing"))) {
            (Some(routing), _) => routing.write(event, out),
            (None, Some(routing)) => json::write_string(&routing, out),
            (None, None) => out.extend_from_slice(b"null"),
        }
        if let Some(pipeline) = self.pipeline(event, control).filter(|p| !p.is_empty()) {
            write_member(b"pipeline", &pipeline, out);
        }
        if let Some(document_type) = self.document_type.as_ref().filter(|_| server == 7) {
            out.extend_from_slice(b",\"_type\":");
            document_type.write(event, out);
        }
        if kind == Kind::Update {
            out.extend_from_slice(b",\"retry_on_conflict\":");
            out.extend_from_slice(itoa::Buffer::new().format(self.retry_on_conflict).as_bytes());
        }
        for name in ["version", "version_type"] {
            if let Some(value) = control.and_then(|c| text_of(c, name)) {
                write_member(name.as_bytes(), &value, out);
            }
        }
    }

    fn pipeline(&self, event: &Event, control: Option<&Map>) -> Option<Text> {
        if let Some(template) = &self.pipeline {
            return Some(template.render(event));
        }
        if let Some(pipeline) = control.and_then(|c| text_of(c, "pipeline")) {
            return Some(pipeline);
        }
        let target = text_of(event.metadata(), "target_ingest_pipeline")?;
        match Template::compile(&target, EscapeStyle::None) {
            Ok(template) => Some(template.render(event)),
            Err(_) => Some(target),
        }
    }

    fn write_document(&self, event: &Event, kind: Kind, out: &mut Vec<u8>) {
        match kind {
            Kind::Delete => return,
            Kind::Index | Kind::Create => event.write_json(out),
            Kind::Update => {
                out.extend_from_slice(b"{\"doc\":");
                event.write_json(out);
                out.extend_from_slice(if self.doc_as_upsert { b",\"doc_as_upsert\":true}".as_slice() } else { b"}" });
            }
        }
        out.push(b'\n');
    }
}

fn write_member(name: &[u8], value: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name);
    out.extend_from_slice(b"\":");
    json::write_string(value, out);
}

fn text_of(map: &Map, key: &str) -> Option<Text> {
    match map.get(key)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => {
            let mut out = Vec::new();
            text_form::write_template(other, &mut out);
            Some(Text::from(text_form::utf8(out)))
        }
    }
}

/// Whether `%{…}` is left in a name.
fn has_placeholder(name: &str) -> bool {
    name.find("%{").and_then(|at| name.get(at + 2..)).is_some_and(|rest| rest.find('}').is_some_and(|end| end > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        Template::compile(text, EscapeStyle::None).unwrap()
    }

    fn parts(action: &str, index: &str) -> Parts {
        Parts {
            action: ActionOption::new(template(action)).unwrap(),
            index: template(index),
            document_id: None,
            routing: None,
            pipeline: None,
            document_type: None,
            retry_on_conflict: 1,
            doc_as_upsert: false,
            check_index: true,
        }
    }

    fn event(pairs: &[(&'static str, &'static str)]) -> Event {
        let mut event = Event::default();
        for (name, value) in pairs {
            event.fields_mut().insert(*name, *value);
        }
        event
    }

    fn lines(parts: Parts, event: &Event) -> Result<String, Unmapped> {
        let mut out = Vec::new();
        Actions::new(parts).write(0, event, 9, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn lines_of_each_action() {
        let e = event(&[("id", "1"), ("n", "é\"")]);
        let doc = "{\"id\":\"1\",\"n\":\"é\\\"\"}";
        let plain = lines(parts("index", "app-logs"), &e).unwrap();
        assert_eq!(plain, format!("{{\"index\":{{\"_id\":null,\"_index\":\"app-logs\",\"routing\":null}}}}\n{doc}\n"));
        let with_id = |action: &str| Parts { document_id: Some(template("%{id}")), ..parts(action, "a") };
        let delete = lines(with_id("delete"), &e).unwrap();
        assert_eq!(delete, "{\"delete\":{\"_id\":\"1\",\"_index\":\"a\",\"routing\":null}}\n");
        let update = lines(Parts { doc_as_upsert: true, ..with_id("update") }, &e).unwrap();
        let line = "{\"update\":{\"_id\":\"1\",\"_index\":\"a\",\"routing\":null,\"retry_on_conflict\":1}}";
        assert_eq!(update, format!("{line}\n{{\"doc\":{doc},\"doc_as_upsert\":true}}\n"));
    }

    #[test]
    fn unmapped_events_leave_nothing_behind() {
        let e = event(&[("app", "%{x}"), ("op", "bananas")]);
        assert_eq!(lines(parts("index", "%{none}-logs"), &e), Err(Unmapped::Index("%{none}-logs".into())));
        assert_eq!(lines(parts("index", "%{app}-logs"), &e), Err(Unmapped::Index("%{x}-logs".into())));
        assert_eq!(lines(parts("%{op}", "a"), &e), Err(Unmapped::Action("bananas".into())));
        assert_eq!(lines(parts("%{none}", "a"), &e), Err(Unmapped::Action("%{none}".into())));
        let literal = lines(Parts { check_index: false, ..parts("index", "%{none}") }, &e).unwrap();
        assert!(literal.contains("\"_index\":\"%{none}\""));
    }

    #[test]
    fn metadata_fills_roles_whose_option_is_unset() {
        let mut e = event(&[("k", "z")]);
        e.metadata_mut().insert("target_ingest_pipeline", "beat-%{k}");
        let line = lines(parts("index", "a"), &e).unwrap();
        assert!(
            line.starts_with("{\"index\":{\"_id\":null,\"_index\":\"a\",\"routing\":null,\"pipeline\":\"beat-z\"}}")
        );
        let control: Map = [("id", Value::from("i1")), ("routing", Value::from("no")), ("version", Value::from(3_i64))]
            .into_iter()
            .collect();
        e.metadata_mut().insert("_ingest_document", control);
        let line = lines(Parts { routing: Some(template("fixed")), ..parts("index", "a") }, &e).unwrap();
        let head = "{\"index\":{\"_id\":\"i1\",\"_index\":\"a\",\"routing\":\"fixed\",\"pipeline\":\"beat-z\",\"version\":\"3\"}}";
        assert!(line.starts_with(head), "{line}");
    }

    #[test]
    fn ids_are_generated_where_an_ingest_pipeline_may_drop_events() {
        let mut out = Vec::new();
        let with_pipeline = || Parts { pipeline: Some(template("geo")), ..parts("index", "a") };
        let actions = Actions::new(with_pipeline());
        let first = actions.write(0, &event(&[]), 9, &mut out).unwrap().id.unwrap();
        let second = actions.write(1, &event(&[]), 9, &mut out).unwrap().id.unwrap();
        assert_ne!(first, second);
        let learning = Actions::new(parts("index", "%{i}"));
        let e = event(&[("i", "logs")]);
        assert_eq!(learning.write(0, &e, 9, &mut out).unwrap().id, None);
        learning.generate_ids_for("logs".into());
        assert!(learning.write(0, &e, 9, &mut out).unwrap().id.is_some());
        assert_eq!(learning.write(0, &event(&[("i", "other")]), 9, &mut out).unwrap().id, None);
    }
}
