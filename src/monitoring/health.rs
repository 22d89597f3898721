//! How well the node does: one word in every answer, and two yes-or-no endpoints for orchestrators.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::Api;
use super::concerns::{Concern, concerns};
use super::reply::Request;
use crate::metrics::{Node, PipelineState, PipelineStatus};

/// From good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    Green,
    Unknown,
    Yellow,
    Red,
}

impl Status {
    /// As the API spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Unknown => "unknown",
            Self::Yellow => "yellow",
            Self::Red => "red",
        }
    }
}

/// The status of the worst pipeline.
pub(super) fn status(node: &Node) -> Status {
    node.pipelines().iter().map(|pipeline| worst(&concerns(pipeline))).max().unwrap_or(Status::Green)
}

/// The status of the worst of them.
pub(super) fn worst(concerns: &[Concern]) -> Status {
    concerns.iter().map(|concern| concern.status).max().unwrap_or(Status::Green)
}

/// `GET /_health/live`: the program answers, whatever its pipelines do.
pub(super) async fn live(request: Request) -> Response {
    request.json(StatusCode::OK, &json!({ "live": true }))
}

/// `GET /_health/ready`: every configured pipeline has started, and the program is not stopping.
pub(super) async fn ready(State(api): State<Api>, request: Request) -> Response {
    let mut reasons: Vec<String> = api.node.pipelines().iter().filter_map(not_ready).collect();
    if api.node.is_stopping() {
        reasons.insert(0, "stopping".to_owned());
    }
    if reasons.is_empty() {
        return request.json(StatusCode::OK, &json!({ "ready": true }));
    }
    request.json(StatusCode::SERVICE_UNAVAILABLE, &json!({ "ready": false, "reasons": reasons }))
}

fn not_ready(pipeline: &PipelineStatus) -> Option<String> {
    match pipeline.state {
        PipelineState::Loading => Some(format!("pipeline {}: starting", pipeline.id)),
        PipelineState::Unknown => Some(format!("pipeline {}: failed to start", pipeline.id)),
        PipelineState::Running | PipelineState::Finished | PipelineState::Terminated => None,
    }
}
