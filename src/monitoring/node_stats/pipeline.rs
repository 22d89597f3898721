//! One pipeline in node stats: its events, rates, plugins, queues and reloads.

use serde_json::{Map, Value, json};

use super::super::reply::{Request, object, time};
use super::{events, flow, millis, pipeline_flows, queue};
use crate::config::ast::PluginKind;
use crate::metrics::{PipelineRun, PipelineStatus, PluginFlows, PluginInfo, PluginMetrics, Reloads, Totals};

/// All that is known of a pipeline: one that never ran has the same blocks, empty.
pub(super) fn stats(status: &PipelineStatus, request: &Request) -> Map<String, Value> {
    let run = status.run.as_deref();
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("events", events(run.map_or_else(Totals::default, |run| run.view().metrics.totals())));
    put("flow", Value::Object(run.map(flows).unwrap_or_default()));
    put("plugins", plugins(run));
    put("reloads", reloads(&status.reloads));
    put("queue", queue::block(run));
    let Some(run) = run else { return body };
    let view = run.view();
    put(
        "pipeline",
        json!({ "workers": view.workers, "batch_size": view.batch_size, "batch_delay": view.batch_delay_ms }),
    );
    if let Some(queue) = &view.dead_letter_queue {
        put("dead_letter_queue", json!((queue.stats)()));
    }
    if status.alive().is_some() {
        put("hash", json!(view.hash));
        put("ephemeral_id", json!(view.ephemeral_id));
        if request.asks_for("vertices") {
            put("vertices", view.plugins.iter().map(|plugin| vertex(plugin, &view.ephemeral_id)).collect());
        }
    }
    body
}

fn flows(run: &PipelineRun) -> Map<String, Value> {
    let mut flows = pipeline_flows(&run.flows());
    flows.insert("worker_utilization".to_owned(), flow(&run.worker_utilization()));
    flows.extend(queue::flows(run.queue_flows().as_ref()));
    flows
}

/// Always four arrays.
fn plugins(run: Option<&PipelineRun>) -> Value {
    let (mut inputs, mut codecs, mut filters, mut outputs) = (vec![], vec![], vec![], vec![]);
    for (info, flows) in run.map(PipelineRun::plugins).unwrap_or_default() {
        codecs.extend(info.metrics.codecs().iter().map(|codec| json!({ "id": codec.id, "name": codec.name })));
        let section = match info.kind {
            PluginKind::Input => &mut inputs,
            PluginKind::Filter => &mut filters,
            PluginKind::Output => &mut outputs,
            PluginKind::Codec => &mut codecs,
        };
        section.push(Value::Object(plugin(info, &flows)));
    }
    json!({ "inputs": inputs, "codecs": codecs, "filters": filters, "outputs": outputs })
}

/// Of a plugin that is not measured only who it is.
fn plugin(info: &PluginInfo, flows: &PluginFlows) -> Map<String, Value> {
    if !info.measured {
        return object(json!({ "id": &*info.id, "name": info.name }));
    }
    let metrics = &info.metrics;
    let (events, flow) = match flows {
        PluginFlows::Input { throughput } => {
            let waited = millis(metrics.queue_push.total());
            let events = json!({ "out": metrics.events_out.get(), "queue_push_duration_in_millis": waited });
            (events, json!({ "throughput": flow(throughput) }))
        }
        PluginFlows::Worker { worker_utilization, worker_millis_per_event } => {
            let events = json!({
                "in": metrics.events_in.get(),
                "out": metrics.events_out.get(),
                "duration_in_millis": millis(metrics.duration.total()),
            });
            let utilization = flow(worker_utilization);
            (
                events,
                json!({ "worker_utilization": utilization, "worker_millis_per_event": flow(worker_millis_per_event) }),
            )
        }
    };
    let mut body = object(json!({ "id": &*info.id, "name": info.name, "events": events, "flow": flow }));
    for (path, count) in metrics.named() {
        nest(&mut body, &path, count);
    }
    body
}

/// Puts a counter where its path leads. What already stands there stays.
fn nest(body: &mut Map<String, Value>, path: &[String], count: u64) {
    let Some((name, below)) = path.split_first() else { return };
    if below.is_empty() {
        body.entry(name.as_str()).or_insert_with(|| json!(count));
    } else if let Value::Object(inner) = body.entry(name.as_str()).or_insert_with(|| json!({})) {
        nest(inner, below, count);
    }
}

fn reloads(reloads: &Reloads) -> Value {
    let error = reloads.last_error.as_ref();
    json!({
        "successes": reloads.successes,
        "failures": reloads.failures,
        "last_error": error.map(|error| json!({ "message": error.message, "backtrace": error.backtrace })),
        "last_success_timestamp": reloads.last_success.map(time),
        "last_failure_timestamp": reloads.last_failure.map(time),
    })
}

/// A plugin as a vertex of the pipeline's graph, for monitoring clusters.
fn vertex(info: &PluginInfo, ephemeral_id: &str) -> Value {
    let PluginMetrics { events_in, events_out, duration, queue_push, .. } = &*info.metrics;
    let mut body = object(json!({ "id": &*info.id, "pipeline_ephemeral_id": ephemeral_id }));
    if !info.measured {
        return Value::Object(body);
    }
    body.insert("events_out".to_owned(), json!(events_out.get()));
    if info.kind == PluginKind::Input {
        body.insert("queue_push_duration_in_millis".to_owned(), json!(millis(queue_push.total())));
    } else {
        body.insert("events_in".to_owned(), json!(events_in.get()));
        body.insert("duration_in_millis".to_owned(), json!(millis(duration.total())));
    }
    let named = info.metrics.named();
    if !named.is_empty() {
        let counter = |(path, value): &(Vec<String>, u64)| json!({ "name": path.join("."), "value": value });
        body.insert("long_counters".to_owned(), named.iter().map(counter).collect());
    }
    Value::Object(body)
}
