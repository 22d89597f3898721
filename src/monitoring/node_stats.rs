//! `GET /_node/stats…`: the process, and the sums over all pipelines.

mod pipeline;
mod queue;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::Api;
use super::reply::{Block, Request, object};
use crate::metrics::flow::Flow;
use crate::metrics::{Node, PipelineFlows, Totals, cgroup, process};

/// The blocks of `/_node/stats`, in order.
const BLOCKS: [Block; 8] = [
    ("jvm", |node, _| jvm(node)),
    ("process", |node, _| process(node)),
    ("events", |node, _| node.totals().map_or_else(|| json!({}), events)),
    ("flow", |node, _| flows(node)),
    ("pipelines", pipelines),
    ("reloads", |node, _| reloads(node)),
    ("os", |_, _| os()),
    // Memory queues hold nothing that is counted here.
    ("queue", |node, _| json!({ "events_count": queue::events(&node.pipelines()) })),
];

/// `GET /_node/stats`
pub(super) async fn all(State(api): State<Api>, request: Request) -> Response {
    api.node.capture();
    request.blocks(&api.node, &BLOCKS, None)
}

/// `GET /_node/stats/jvm,process`
pub(super) async fn listed(
    State(api): State<Api>,
    list: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let Ok(Path(list)) = list else { return request.not_found() };
    api.node.capture();
    request.blocks(&api.node, &BLOCKS, Some(&list))
}

/// `GET /_node/stats/pipelines/<id>`
pub(super) async fn pipeline(
    State(api): State<Api>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    api.node.capture();
    let found = id.ok().and_then(|Path(id)| api.node.pipeline(&id));
    let Some(status) = found else { return request.not_found() };
    let body = json!({ "pipelines": { &*status.id: pipeline::stats(&status, &request) } });
    request.answer(&api.node, object(body))
}

fn pipelines(node: &Node, request: &Request) -> Value {
    let all = node.pipelines();
    let all = all.iter().map(|status| (status.id.to_string(), Value::Object(pipeline::stats(status, request))));
    Value::Object(all.collect())
}

/// There is no JVM; what its figures are read for is told of the process.
fn jvm(node: &Node) -> Value {
    let process = node.process();
    let used_percent = process.allocated_bytes.saturating_mul(100).checked_div(process.memory_limit_bytes);
    let empty_pool = json!({
        "used_in_bytes": 0,
        "committed_in_bytes": 0,
        "max_in_bytes": 0,
        "peak_used_in_bytes": 0,
        "peak_max_in_bytes": 0,
    });
    let no_collections = json!({ "collection_count": 0, "collection_time_in_millis": 0 });
    json!({
        "threads": { "count": process.threads, "peak_count": process.peak_threads },
        "mem": {
            "heap_used_percent": used_percent.unwrap_or(0),
            "heap_committed_in_bytes": process.resident_bytes,
            "heap_max_in_bytes": process.memory_limit_bytes,
            "heap_used_in_bytes": process.allocated_bytes,
            "non_heap_used_in_bytes": 0,
            "non_heap_committed_in_bytes": 0,
            "pools": {
                "young": empty_pool,
                "old": {
                    "used_in_bytes": process.allocated_bytes,
                    "committed_in_bytes": 0,
                    "max_in_bytes": 0,
                    "peak_used_in_bytes": 0,
                    "peak_max_in_bytes": 0,
                },
                "survivor": empty_pool,
            },
        },
        "gc": { "collectors": { "young": no_collections, "old": no_collections } },
        "uptime_in_millis": millis(node.uptime()),
    })
}

fn process(node: &Node) -> Value {
    let process = node.process();
    let load = process::load_average();
    let load = load.map_or(Value::Null, |[one, five, fifteen]| json!({ "1m": one, "5m": five, "15m": fifteen }));
    json!({
        "open_file_descriptors": process.open_files,
        "peak_open_file_descriptors": process.peak_open_files,
        "max_file_descriptors": process.max_files,
        "mem": { "total_virtual_in_bytes": process.virtual_bytes },
        "cpu": { "total_in_millis": millis(process.cpu), "percent": process.cpu_percent, "load_average": load },
    })
}

fn events(totals: Totals) -> Value {
    json!({
        "in": totals.events_in,
        "filtered": totals.events_filtered,
        "out": totals.events_out,
        "duration_in_millis": totals.worker_nanos / 1_000_000,
        "queue_push_duration_in_millis": totals.queue_push_nanos / 1_000_000,
    })
}

fn flows(node: &Node) -> Value {
    let known = node.totals().is_some();
    Value::Object(if known { pipeline_flows(&node.flows()) } else { Map::new() })
}

fn pipeline_flows(flows: &PipelineFlows) -> Map<String, Value> {
    object(json!({
        "input_throughput": flow(&flows.input_throughput),
        "filter_throughput": flow(&flows.filter_throughput),
        "output_throughput": flow(&flows.output_throughput),
        "queue_backpressure": flow(&flows.queue_backpressure),
        "worker_concurrency": flow(&flows.worker_concurrency),
    }))
}

/// A rate that is no number is a word; JSON has no infinity.
fn flow(flow: &Flow) -> Value {
    let rate = |rate: f64| match serde_json::Number::from_f64(rate) {
        Some(number) => Value::Number(number),
        None => Value::from(if rate > 0.0 { "Infinity" } else { "-Infinity" }),
    };
    Value::Object(flow.iter().map(|(window, value)| (window.to_owned(), rate(value))).collect())
}

fn reloads(node: &Node) -> Value {
    let (successes, failures) = node.reloads();
    json!({ "successes": successes, "failures": failures })
}

fn os() -> Value {
    let Some(group) = cgroup::cpu() else { return json!({}) };
    json!({
        "cgroup": {
            "cpuacct": { "control_group": group.accounting_group, "usage_nanos": group.usage_nanos },
            "cpu": {
                "control_group": group.control_group,
                "cfs_period_micros": group.period_micros,
                "cfs_quota_micros": group.quota_micros,
                "stat": {
                    "number_of_elapsed_periods": group.periods,
                    "number_of_times_throttled": group.throttled_periods,
                    "time_throttled_nanos": group.throttled_nanos,
                },
            },
        },
    })
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
