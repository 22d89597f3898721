//! From an event to the lines of a bulk request: what to do, with which document, where.
//!
//! What is the same for every event is written as JSON once, at load. The members of an action line stand in a fixed
//! order: `_id, _index, routing, pipeline, _type, parent, retry_on_conflict, version, version_type`; the first three are
//! always there, null when unset.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use super::action::{Action, ActionOption, DocumentId, Kind, Unmapped};
use super::json_text::{JsonText, write_member, write_name};
use super::target::{Name, Target, has_placeholder, text_of};
use super::update::Update;
use crate::event::{EscapeStyle, Event, FieldRef, Map, Template, Text, Value, json};
use crate::plugins::lasting_ids;

/// Index names for which ids are generated, at most; one more is a sign of names made from hostile data.
const LEARNED_LIMIT: usize = 10_000;

/// The options that [`Actions`] are made of.
pub(super) struct Parts {
    pub action: ActionOption,
    pub target: Arc<Target>,
    pub document_id: Option<DocumentId>,
    pub routing: Option<Template>,
    pub parent: Option<Template>,
    pub join_field: Option<FieldRef>,
    pub pipeline: Option<Template>,
    pub document_type: Option<Template>,
    pub version: Option<Template>,
    pub version_type: Option<String>,
    pub update: Update,
}

/// Makes actions of events.
pub(super) struct Actions {
    action: ActionOption,
    target: Arc<Target>,
    document_id: Option<DocumentId>,
    warned_of_id: AtomicBool,
    /// An ingest pipeline may drop events, after which replies can only be paired by id.
    always_generates: bool,
    /// Indexes whose replies turned out to need ids.
    learned: RwLock<HashSet<Text>>,
    has_learned: AtomicBool,
    routing: Option<JsonText>,
    parent: Option<JsonText>,
    /// With `parent`: the field that becomes a join, and the parent that it names.
    join: Option<(FieldRef, Template)>,
    pipeline: Option<Template>,
    document_type: Option<JsonText>,
    version: Option<Template>,
    version_type: Option<String>,
    update: Update,
}

impl Actions {
    /// From the options.
    pub fn new(parts: Parts) -> Self {
        let fixed_pipeline = parts.pipeline.as_ref().is_some_and(|p| p.as_constant().is_some_and(|p| !p.is_empty()));
        let (join, routing, parent) = match (parts.join_field, parts.parent) {
            // A child lives where its parent does.
            (Some(field), Some(parent)) => (Some((field, parent.clone())), Some(parent), None),
            (_, parent) => (None, parts.routing, parent),
        };
        Self {
            always_generates: fixed_pipeline && parts.document_id.is_none(),
            action: parts.action,
            target: parts.target,
            document_id: parts.document_id,
            warned_of_id: AtomicBool::new(false),
            learned: RwLock::default(),
            has_learned: AtomicBool::new(false),
            routing: routing.map(JsonText::new),
            parent: parent.map(JsonText::new),
            join,
            pipeline: parts.pipeline,
            document_type: parts.document_type.map(JsonText::new),
            version: parts.version,
            version_type: parts.version_type,
            update: parts.update,
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
        let start = out.len();
        let written = self.write_lines(at, event, server, out);
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    fn write_lines(&self, at: usize, event: &Event, server: u32, out: &mut Vec<u8>) -> Result<Action, Unmapped> {
        let control = event.metadata().get("_ingest_document").and_then(Value::as_map);
        let index = self.target.name(event, control)?;
        let kind = self.kind(event)?;
        let id = self.id(event, control, kind, &index);
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
            Name::Made(name) => json::write_string(name, out),
            Name::Fixed(json) => out.extend_from_slice(json),
        }
        self.write_places(event, control, server, out);
        if kind == Kind::Update {
            write_name("retry_on_conflict", out);
            out.extend_from_slice(itoa::Buffer::new().format(self.update.retry_on_conflict).as_bytes());
        }
        self.write_version(event, control, out);
        out.extend_from_slice(b"}}\n");
        let line_end = out.len();
        self.write_document(event, kind, out)?;
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

    fn id(&self, event: &Event, control: Option<&Map>, kind: Kind, index: &Name<'_>) -> Option<Text> {
        if let Some(DocumentId::Lasting) = &self.document_id {
            return Some(lasting_ids::of(event).cloned().unwrap_or_else(lasting_ids::random));
        }
        if let Some(DocumentId::Given(template)) = &self.document_id {
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
        generates.then(lasting_ids::random)
    }

    fn has_learned(&self, index: &Name<'_>) -> bool {
        if !self.has_learned.load(Ordering::Acquire) {
            return false;
        }
        match index {
            // Hardly another one can have been learned, and an id too many does no harm.
            Name::Fixed(_) => true,
            Name::Made(name) => self.learned.read().contains(name),
        }
    }

    fn write_places(&self, event: &Event, control: Option<&Map>, server: u32, out: &mut Vec<u8>) {
        write_name("routing", out);
        match (&self.routing, control.and_then(|c| text_of(c, "routing"))) {
            (Some(routing), _) => routing.write(event, out),
            (None, Some(routing)) => json::write_string(&routing, out),
            (None, None) => out.extend_from_slice(b"null"),
        }
        if let Some(pipeline) = self.pipeline(event, control).filter(|p| !p.is_empty()) {
            write_member("pipeline", &pipeline, out);
        }
        if let Some(document_type) = self.document_type.as_ref().filter(|_| server == 7) {
            write_name("_type", out);
            document_type.write(event, out);
        }
        if let Some(parent) = &self.parent {
            write_name("parent", out);
            parent.write(event, out);
        }
    }

    fn write_version(&self, event: &Event, control: Option<&Map>, out: &mut Vec<u8>) {
        // Data streams know no versions of their documents.
        let control = control.filter(|_| self.target.as_stream().is_none());
        let given = |name| control.and_then(|c| c.get(name)).filter(|value| !value.is_null());
        match (&self.version, given("version")) {
            (Some(version), _) => write_member("version", &version.render(event), out),
            (None, Some(version)) => {
                write_name("version", out);
                json::write_value(version, out);
            }
            (None, None) => {}
        }
        match (&self.version_type, given("version_type")) {
            (Some(kind), _) => write_member("version_type", kind, out),
            (None, Some(kind)) => {
                write_name("version_type", out);
                json::write_value(kind, out);
            }
            (None, None) => {}
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

    fn write_document(&self, event: &Event, kind: Kind, out: &mut Vec<u8>) -> Result<(), Unmapped> {
        match kind {
            Kind::Delete => return Ok(()),
            Kind::Index | Kind::Create => self.write_fields(event, out)?,
            Kind::Update => self.update.write(event, |out| self.write_fields(event, out), out)?,
        }
        out.push(b'\n');
        Ok(())
    }

    /// The event as it is sent: with its join or its data stream. The event itself stays as it is.
    fn write_fields(&self, event: &Event, out: &mut Vec<u8>) -> Result<(), Unmapped> {
        if let Some((field, parent)) = &self.join {
            let name = event.value_of(field).unwrap_or_default();
            let relation: Map = [("name", name), ("parent", Value::String(parent.render(event)))].into_iter().collect();
            let mut child = event.clone();
            child.set(field, relation).map_err(|error| Unmapped::Join(error.to_string()))?;
            child.write_json(out);
        } else if let Some(stream) = self.target.as_stream() {
            stream.write(event.fields(), out);
        } else {
            event.write_json(out);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
