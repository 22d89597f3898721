//! How well the node does: one word in every answer, and two yes-or-no endpoints for orchestrators.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::Api;
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
    node.pipelines().iter().map(of_pipeline).max().unwrap_or(Status::Green)
}

fn of_pipeline(pipeline: &PipelineStatus) -> Status {
    let by_state = match pipeline.state {
        PipelineState::Running => Status::Green,
        PipelineState::Loading | PipelineState::Finished => Status::Yellow,
        PipelineState::Terminated => Status::Red,
        PipelineState::Unknown => Status::Unknown,
    };
    let by_load = pipeline.alive().map_or(Status::Green, |run| {
        let utilization = run.worker_utilization();
        of_utilization(utilization.get("last_1_minute"), utilization.get("last_5_minutes"))
    });
    by_state.max(by_load)
}

/// Workers that never rest: over a minute that is concerning, over five it is a blockage.
fn of_utilization(one_minute: Option<f64>, five_minutes: Option<f64>) -> Status {
    match (one_minute, five_minutes) {
        (_, Some(percent)) if percent > 99.999 => Status::Red,
        (_, Some(percent)) | (Some(percent), _) if percent >= 95.0 => Status::Yellow,
        _ => Status::Green,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_workers_are_concerning_and_blocked_ones_unhealthy() {
        for (one, five, status) in [
            (None, None, Status::Green),
            (Some(94.9), None, Status::Green),
            (Some(95.0), None, Status::Yellow),
            (Some(100.0), None, Status::Yellow),
            (Some(100.0), Some(50.0), Status::Yellow),
            (Some(10.0), Some(95.0), Status::Yellow),
            (Some(100.0), Some(100.0), Status::Red),
        ] {
            assert_eq!(of_utilization(one, five), status, "{one:?} {five:?}");
        }
    }
}
