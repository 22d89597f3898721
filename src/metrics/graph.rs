//! How events get from one plugin of a pipeline to the next, for tools that draw it.

use std::sync::Arc;

use crate::config::source::Place;

/// The id of the queue, which stands between inputs and filters.
pub const QUEUE: &str = "__QUEUE__";

/// Conditions and edges of a pipeline; the other vertices are its plugins and the [`QUEUE`].
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Whether places are in files; else they are in a text of the settings.
    pub in_files: bool,
    /// Every `if` and `else if`.
    pub conditions: Vec<ConditionVertex>,
    /// inputs → queue → filters and conditions → outputs
    pub edges: Vec<Edge>,
}

/// An `if` or `else if`.
#[derive(Clone, Debug)]
pub struct ConditionVertex {
    /// Stable as long as the configuration does not change: 64 hex digits.
    pub id: Arc<str>,
    /// As written.
    pub condition: String,
    /// Where it stands.
    pub place: Place,
}

/// A way that events can take.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// Id of the vertex they come from.
    pub from: Arc<str>,
    /// Id of the vertex they go to.
    pub to: Arc<str>,
    /// What the condition they come from must say; none behind a plugin or the queue.
    pub when: Option<bool>,
}
