//! What a bulk request does with a document, and where that stands in the bytes of a batch.

use crate::event::{Template, Text};

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

    /// The kind of that name.
    pub fn of(name: &str) -> Option<Self> {
        [Self::Index, Self::Create, Self::Update, Self::Delete].into_iter().find(|kind| kind.name() == name)
    }

    /// Whether a document is there afterwards that was not before.
    pub fn makes_documents(self) -> bool {
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

    /// Whether every event takes this action.
    pub fn is_always(&self, kind: Kind) -> bool {
        matches!(self, Self::Always(always) if *always == kind)
    }
}

/// The `document_id` option.
#[derive(Clone)]
pub(super) enum DocumentId {
    /// Of the event's fields.
    Given(Template),
    /// `auto`: the id that the event has had since it was read.
    Lasting,
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
    /// What `upsert` came to is no JSON object.
    Upsert(Text),
    /// The join field cannot be set; holds why.
    Join(String),
}
