//! `?graph=true`: plugins, conditions and the queue of a pipeline, and the ways between them.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::config::source::Place;
use crate::metrics::{ConditionVertex, Edge, PipelineView, PluginInfo, QUEUE};

/// The graph under the names of Logstash's intermediate representation.
pub(super) fn document(view: &PipelineView) -> Value {
    let queue = json!({ "id": QUEUE, "explicit_id": false, "type": "queue", "meta": null });
    let protocol = if view.graph.in_files { "file" } else { "string" };
    let plugins = view.plugins.iter().map(|info| plugin(info, protocol));
    let conditions = view.graph.conditions.iter().map(|vertex| condition(vertex, protocol));
    let vertices: Vec<Value> = plugins.chain([queue]).chain(conditions).collect();
    let edges: Vec<Value> = view.graph.edges.iter().map(edge).collect();
    json!({
        "hash": view.hash,
        "type": "lir",
        "version": "0.0.0",
        "graph": { "vertices": vertices, "edges": edges },
    })
}

fn plugin(info: &PluginInfo, protocol: &str) -> Value {
    json!({
        "id": &*info.id,
        "explicit_id": info.explicit_id,
        "type": "plugin",
        "config_name": info.name,
        "plugin_type": info.kind.as_str(),
        "meta": meta(&info.place, protocol),
    })
}

fn condition(vertex: &ConditionVertex, protocol: &str) -> Value {
    json!({
        "id": &*vertex.id,
        "explicit_id": false,
        "type": "if",
        "condition": vertex.condition,
        "meta": meta(&vertex.place, protocol),
    })
}

fn meta(place: &Place, protocol: &str) -> Value {
    json!({ "source": { "protocol": protocol, "id": place.file, "line": place.line, "column": place.column } })
}

fn edge(edge: &Edge) -> Value {
    let mut hasher = Sha256::new();
    hasher.update(format!("{}\n{}\n{:?}", edge.from, edge.to, edge.when));
    let id: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    match edge.when {
        None => json!({ "id": id, "from": &*edge.from, "to": &*edge.to, "type": "plain" }),
        Some(when) => json!({ "id": id, "from": &*edge.from, "to": &*edge.to, "type": "boolean", "when": when }),
    }
}
