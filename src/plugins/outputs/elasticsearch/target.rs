//! Where an event goes: an index of the options, the index that nobody chose, the alias of managed indexes, or a data
//! stream.

use std::sync::OnceLock;

use super::action::Unmapped;
use super::json_text::{JsonText, quoted};
use super::stream::DataStream;
use crate::event::{Event, Map, Template, Text, Value, text_form};

/// What the options say.
pub(super) enum Chosen {
    /// `index`.
    Named(JsonText),
    /// Nothing: a dated index, unless an ingest pipeline of Logstash's own says another.
    Default(Template),
    /// A data stream, with its name as JSON.
    Stream(DataStream, Vec<u8>),
}

/// Where events go.
pub(super) struct Target {
    chosen: Chosen,
    /// A name with an unresolved placeholder is refused.
    checks: bool,
    /// As JSON; known once a server is.
    alias: OnceLock<Vec<u8>>,
}

/// The name for one event.
pub(super) enum Name<'a> {
    /// The same for all events, as JSON.
    Fixed(&'a [u8]),
    /// Its own.
    Made(Text),
}

impl Target {
    /// Of `index`.
    pub fn named(index: Template, checks: bool) -> Self {
        Self::new(Chosen::Named(JsonText::new(index)), checks)
    }

    /// Of no option at all; a dated index.
    pub fn dated(dated: Template, checks: bool) -> Self {
        Self::new(Chosen::Default(dated), checks)
    }

    /// Of a data stream.
    pub fn stream(stream: DataStream, checks: bool) -> Self {
        let name = quoted(stream.name());
        Self::new(Chosen::Stream(stream, name), checks)
    }

    fn new(chosen: Chosen, checks: bool) -> Self {
        Self { chosen, checks, alias: OnceLock::new() }
    }

    /// From now on everything goes to this alias.
    pub fn use_alias(&self, alias: &str) {
        // Set-up may be done a second time; the alias is the same then.
        let _ = self.alias.set(quoted(alias));
    }

    /// The data stream.
    pub fn as_stream(&self) -> Option<&DataStream> {
        match &self.chosen {
            Chosen::Stream(stream, _) => Some(stream),
            _ => None,
        }
    }

    /// The name for an event. `control` is its `[@metadata][_ingest_document]`.
    pub fn name(&self, event: &Event, control: Option<&Map>) -> Result<Name<'_>, Unmapped> {
        if let Some(alias) = self.alias.get() {
            return Ok(Name::Fixed(alias));
        }
        let made = match &self.chosen {
            Chosen::Named(JsonText::Constant(json)) => return Ok(Name::Fixed(json)),
            Chosen::Named(JsonText::Rendered(template)) => template.render(event),
            Chosen::Default(dated) => {
                control.and_then(|control| text_of(control, "index")).unwrap_or_else(|| dated.render(event))
            }
            Chosen::Stream(stream, name) => match stream.own_name(event.fields()) {
                Some(own) => own,
                None => return Ok(Name::Fixed(name)),
            },
        };
        if self.checks && has_placeholder(&made) { Err(Unmapped::Index(made)) } else { Ok(Name::Made(made)) }
    }
}

/// A member as text; `None` when it is missing or null.
pub(super) fn text_of(map: &Map, key: &str) -> Option<Text> {
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
pub(super) fn has_placeholder(name: &str) -> bool {
    name.find("%{").and_then(|at| name.get(at + 2..)).is_some_and(|rest| rest.find('}').is_some_and(|end| end > 0))
}
