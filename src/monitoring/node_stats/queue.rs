//! The queue of a pipeline in node stats.

use serde_json::{Map, Value, json};

use super::super::reply::object;
use crate::metrics::{PipelineRun, PipelineStatus, QueueFlows};
use crate::queue::persisted::{CompressionStats, Stats};

/// The `queue` block of a pipeline.
pub(super) fn block(run: Option<&PipelineRun>) -> Value {
    match run.and_then(|run| run.view().queue.as_ref()) {
        Some(queue) => persisted(&(queue.stats)()),
        None => memory(),
    }
}

/// Events that wait on disk, over all pipelines.
pub(super) fn events(pipelines: &[PipelineStatus]) -> u64 {
    let runs = pipelines.iter().filter_map(|status| status.run.as_ref());
    runs.filter_map(|run| run.view().queue.as_ref()).map(|queue| (queue.size)().0).sum()
}

/// A memory queue is not measured, as in Logstash.
fn memory() -> Value {
    json!({ "type": "memory", "events_count": 0, "queue_size_in_bytes": 0, "max_queue_size_in_bytes": 0 })
}

fn persisted(stats: &Stats) -> Value {
    let mut block = object(json!({
        "type": "persisted",
        "events": stats.unread,
        "events_count": stats.unread,
        "queue_size_in_bytes": stats.bytes,
        "max_queue_size_in_bytes": stats.max_bytes,
        "capacity": {
            "page_capacity_in_bytes": stats.page_capacity,
            "max_queue_size_in_bytes": stats.max_bytes,
            "max_unread_events": stats.max_events,
            "queue_size_in_bytes": stats.bytes,
        },
        "data": {
            "path": stats.path.to_string_lossy(),
            "free_space_in_bytes": stats.free_bytes,
            "storage_type": stats.file_system,
        },
    }));
    if let Some(codec) = &stats.compression {
        block.insert("compression".to_owned(), compression(codec));
    }
    Value::Object(block)
}

fn compression(codec: &CompressionStats) -> Value {
    let decode = object(json!({ "ratio": lifetime(codec.decode_ratio), "spend": lifetime(codec.decode_spend) }));
    let mut block = object(json!({ "decode": decode }));
    if let Some(goal) = codec.goal {
        let (ratio, spend) = (lifetime(codec.encode_ratio), lifetime(codec.encode_spend));
        block.insert("encode".to_owned(), json!({ "goal": goal, "ratio": ratio, "spend": spend }));
    }
    Value::Object(block)
}

/// Before the first event there is no value.
fn lifetime(value: Option<f64>) -> Value {
    let rounded = value.and_then(|value| format!("{value:.3e}").parse::<f64>().ok());
    Value::Object(rounded.map(|value| ("lifetime".to_owned(), json!(value))).into_iter().collect())
}

/// How fast the queue grows, as far as it is on disk.
pub(super) fn flows(flows: Option<&QueueFlows>) -> Map<String, Value> {
    let Some(flows) = flows else { return Map::new() };
    object(json!({
        "queue_persisted_growth_events": super::flow(&flows.growth_events),
        "queue_persisted_growth_bytes": super::flow(&flows.growth_bytes),
    }))
}
