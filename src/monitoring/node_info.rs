//! `GET /_node…`: what does not change while a pipeline runs.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::{Value, json};

use super::Api;
use super::graph;
use super::reply::{Block, Request, object};
use crate::metrics::process::processors;
use crate::metrics::{Node, PipelineRun};
use crate::plugins::registry;
use crate::version;

/// The blocks of `/_node`, in order.
const BLOCKS: [Block; 3] = [("pipelines", pipelines), ("os", |_, _| os()), ("jvm", |node, _| jvm(node))];

/// `GET /_node`
pub(super) async fn all(State(api): State<Api>, request: Request) -> Response {
    request.blocks(&api.node, &BLOCKS, None)
}

/// `GET /_node/os,jvm`
pub(super) async fn listed(
    State(api): State<Api>,
    list: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let Ok(Path(list)) = list else { return request.not_found() };
    request.blocks(&api.node, &BLOCKS, Some(&list))
}

/// `GET /_node/pipelines/<id>`
pub(super) async fn pipeline(
    State(api): State<Api>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let found = id.ok().and_then(|Path(id)| api.node.pipeline(&id));
    let Some(status) = found else { return request.not_found() };
    let Some(run) = status.alive() else { return request.not_found() };
    let body = json!({ "pipelines": { &*status.id: one_pipeline(run, &request) } });
    request.answer(&api.node, object(body))
}

fn pipelines(node: &Node, request: &Request) -> Value {
    let alive = node.pipelines();
    let alive = alive.iter().filter_map(|status| Some((status.id.to_string(), one_pipeline(status.alive()?, request))));
    Value::Object(alive.collect())
}

fn one_pipeline(run: &PipelineRun, request: &Request) -> Value {
    let view = run.view();
    let mut pipeline = object(json!({
        "ephemeral_id": view.ephemeral_id,
        "hash": view.hash,
        "workers": view.workers,
        "batch_size": view.batch_size,
        "batch_delay": view.batch_delay_ms,
        "batch_output_chunking_growth_threshold_factor": view.growth_factor,
        "dead_letter_queue_enabled": view.dead_letter_queue.is_some(),
    }));
    if let Some(queue) = &view.dead_letter_queue {
        pipeline.insert("dead_letter_queue_path".to_owned(), json!(queue.path.to_string_lossy()));
    }
    if request.asks_for("graph") {
        pipeline.insert("graph".to_owned(), graph::document(view));
    }
    Value::Object(pipeline)
}

fn os() -> Value {
    let system = rustix::system::uname();
    json!({
        "name": system.sysname().to_string_lossy(),
        "arch": architecture(),
        "version": system.release().to_string_lossy(),
        "available_processors": processors(),
    })
}

/// The names that Java gives to processors.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        other => other,
    }
}

/// There is no JVM; what its figures are read for is told of the process.
fn jvm(node: &Node) -> Value {
    let process = node.process();
    let started = node.started_at().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    json!({
        "pid": std::process::id(),
        "version": "21.0.0",
        "vm_version": "21.0.0",
        "vm_vendor": "Spillway",
        "vm_name": "Spillway (no JVM)",
        "start_time_in_millis": u64::try_from(started.as_millis()).unwrap_or(u64::MAX),
        "mem": {
            "heap_init_in_bytes": 0,
            "heap_max_in_bytes": process.memory_limit_bytes,
            "non_heap_init_in_bytes": 0,
            "non_heap_max_in_bytes": 0,
        },
        "gc_collectors": [],
    })
}

/// `GET /_node/plugins`: every plugin under the name of the package that brings it in Logstash.
pub(super) async fn plugins(State(api): State<Api>, request: Request) -> Response {
    let inputs = registry::INPUTS.iter().map(|plugin| ("input", plugin.name));
    let filters = registry::FILTERS.iter().map(|plugin| ("filter", plugin.name));
    let outputs = registry::OUTPUTS.iter().map(|plugin| ("output", plugin.name));
    let codecs = registry::CODECS.iter().map(|plugin| ("codec", plugin.name));
    let all = inputs.chain(filters).chain(outputs).chain(codecs);
    let mut names: Vec<String> = all.map(|(kind, name)| format!("logstash-{kind}-{name}")).collect();
    names.sort_unstable();
    let plugins: Vec<Value> = names.iter().map(|name| json!({ "name": name, "version": version::SPILLWAY })).collect();
    request.answer(&api.node, object(json!({ "total": plugins.len(), "plugins": plugins })))
}
