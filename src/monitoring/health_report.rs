//! `GET /_health_report`: how each pipeline does, what is wrong with it, what that leads to and what to do.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Api;
use super::concerns::{Concern, concerns};
use super::health::{Status, worst};
use super::node_stats::flow;
use super::reply::{Request, identity, time};
use crate::metrics::{Node, PipelineState, PipelineStatus};

/// What all ids begin with.
const PREFIX: &str = "logstash:health:pipeline:";
/// Where each diagnosis is explained.
const HELP: &str = "docs/health.md";

/// Always 200, whatever the health.
pub(super) async fn health_report(State(api): State<Api>, request: Request) -> Response {
    request.json(StatusCode::OK, &Value::Object(report(&api.node)))
}

fn report(node: &Node) -> Map<String, Value> {
    let pipelines = node.pipelines();
    let concerns: Vec<Vec<Concern>> = pipelines.iter().map(concerns).collect();
    let children: Vec<(&str, Status)> =
        pipelines.iter().zip(&concerns).map(|(status, concerns)| (&*status.id, worst(concerns))).collect();
    let all = children.iter().map(|(_, status)| *status).max().unwrap_or(Status::Green);
    let described = pipelines.iter().zip(&concerns).map(|(status, concerns)| pipeline(status, concerns));
    let indicators: Map<String, Value> = pipelines.iter().map(|status| status.id.to_string()).zip(described).collect();
    let mut body = identity(node);
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("timestamp", json!(time(Timestamp::now())));
    put("status", json!(all.as_str()));
    put("symptom", json!(symptom(&[("pipelines", all)])));
    put(
        "indicators",
        json!({
            "pipelines": { "status": all.as_str(), "symptom": symptom(&children), "indicators": indicators },
        }),
    );
    body
}

fn pipeline(status: &PipelineStatus, concerns: &[Concern]) -> Value {
    let health = worst(concerns);
    let mut symptom = format!("The pipeline is {}", word(health));
    if !concerns.is_empty() {
        // Every impact is on the execution of the pipeline, which is one area.
        let diagnoses = if concerns.len() == 1 { "diagnosis is" } else { "diagnoses are" };
        symptom += &format!("; 1 area is impacted and {} {diagnoses} available", concerns.len());
    }
    let mut body = json!({ "status": health.as_str(), "symptom": symptom, "details": details(status) });
    if !concerns.is_empty() {
        body["diagnosis"] = concerns.iter().map(diagnosis).collect();
        let mut impacts: Vec<Value> = Vec::new();
        for concern in concerns {
            let impact = impact(concern);
            if !impacts.contains(&impact) {
                impacts.push(impact);
            }
        }
        body["impacts"] = Value::Array(impacts);
    }
    body
}

fn details(status: &PipelineStatus) -> Value {
    let state = match status.state {
        PipelineState::Loading => "LOADING",
        PipelineState::Running => "RUNNING",
        PipelineState::Finished => "FINISHED",
        PipelineState::Terminated => "TERMINATED",
        PipelineState::Unknown => "UNKNOWN",
    };
    let mut details = json!({ "status": { "state": state } });
    let utilization = status.alive().map(|run| flow(&run.worker_utilization()));
    if let Some(windows) = utilization.filter(|windows| windows.as_object().is_some_and(|windows| !windows.is_empty()))
    {
        details["flow"] = json!({ "worker_utilization": windows });
    }
    let recoveries = status.recoveries.recent();
    if !recoveries.is_empty() {
        details["recovery_log"] = recoveries.into_iter().map(time).collect();
    }
    details
}

fn diagnosis(concern: &Concern) -> Value {
    let anchor = concern.diagnosis.rsplit(':').next().unwrap_or_default();
    json!({
        "id": format!("{PREFIX}{}", concern.diagnosis),
        "cause": concern.cause,
        "action": concern.action,
        "help_url": format!("{HELP}#{anchor}"),
    })
}

fn impact(concern: &Concern) -> Value {
    json!({
        "id": format!("{PREFIX}{}", concern.impact),
        "severity": concern.severity,
        "description": concern.description,
        "impact_areas": ["pipeline_execution"],
    })
}

/// Of a group: how many of it do how, from the worst on.
fn symptom(children: &[(&str, Status)]) -> String {
    let parts: Vec<String> = [Status::Red, Status::Yellow, Status::Unknown, Status::Green]
        .into_iter()
        .filter_map(|status| {
            let names: Vec<String> =
                children.iter().filter(|child| child.1 == status).map(|(name, _)| format!("`{name}`")).collect();
            let count = match names.len() {
                0 => return None,
                1 => "1 indicator is".to_owned(),
                more => format!("{more} indicators are"),
            };
            Some(format!("{count} {} ({})", word(status), names.join(", ")))
        })
        .collect();
    match parts.as_slice() {
        [] => "no indicators".to_owned(),
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Green => "healthy",
        Status::Unknown => "unknown",
        Status::Yellow => "concerning",
        Status::Red => "unhealthy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_described_from_its_worst_member_on() {
        use Status::{Green, Red, Unknown, Yellow};
        for (children, text) in [
            (vec![], "no indicators"),
            (vec![("a", Green)], "1 indicator is healthy (`a`)"),
            (vec![("a", Green), ("b", Green)], "2 indicators are healthy (`a`, `b`)"),
            (vec![("a", Green), ("b", Red)], "1 indicator is unhealthy (`b`) and 1 indicator is healthy (`a`)"),
            (
                vec![("a", Unknown), ("b", Yellow), ("c", Green)],
                "1 indicator is concerning (`b`), 1 indicator is unknown (`a`), and 1 indicator is healthy (`c`)",
            ),
        ] {
            assert_eq!(symptom(&children), text);
        }
    }
}
