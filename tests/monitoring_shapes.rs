//! Member names and JSON types of the monitoring API: against answers of Logstash, and against what clients decode.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod monitoring_support;

use std::collections::BTreeMap;

use monitoring_support::two_pipelines;
use serde_json::Value;

/// A JSON type as clients tell them apart.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Every path in a document with its type; members of arrays by their `id` where they have one.
fn shape(document: &Value) -> BTreeMap<String, &'static str> {
    fn walk(path: &str, value: &Value, found: &mut BTreeMap<String, &'static str>) {
        found.insert(path.to_owned(), kind(value));
        match value {
            Value::Object(members) => members.iter().for_each(|(name, v)| walk(&format!("{path}/{name}"), v, found)),
            Value::Array(elements) => elements.iter().enumerate().for_each(|(at, v)| {
                let name = v["id"].as_str().map_or(at.to_string(), str::to_owned);
                walk(&format!("{path}/{name}"), v, found);
            }),
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    walk("", document, &mut found);
    found
}

fn fixture(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/api/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// What differs from the fixtures on purpose, or depends on the time of the request.
fn may_differ(path: &str) -> bool {
    // A boolean here; the fixtures are of a build from source.
    path == "/snapshot"
        // No batch statistics yet, and codecs that do not count.
        || path.contains("/batch/") || path.ends_with("/batch")
        || path.contains("/codecs/plain_")
        // Named by hashes; compared with those of Logstash in `monitoring_api.rs`.
        || path.contains("/edges/")
        // Counters of patterns are integers here.
        || path.contains("/double_gauges")
        // Windows and values of rates have tests of their own.
        || path.contains("/flow/") && path.matches('/').count() > path.find("/flow/").map_or(0, |at| path[..at].matches('/').count() + 2)
        // Where there are control groups.
        || path.starts_with("/os/cgroup")
        || path.starts_with("/jvm/gc_collectors/")
}

#[test]
fn answers_have_every_member_that_logstash_gives_with_the_same_type() {
    let service = two_pipelines();
    for (name, target) in [
        ("root", "/"),
        ("node", "/_node"),
        ("node_os_jvm", "/_node/os,jvm"),
        ("node_pipelines", "/_node/pipelines"),
        ("node_pipeline_graph", "/_node/pipelines/main?graph=true"),
        ("stats", "/_node/stats"),
        ("stats_events", "/_node/stats/events"),
        ("stats_pipeline", "/_node/stats/pipelines/main"),
        ("stats_vertices", "/_node/stats/pipelines/main?vertices=true"),
        ("e404", "/nope"),
        ("e404_pipeline", "/_node/stats/pipelines/none"),
    ] {
        let ours = shape(&service.get(target).json());
        let missing: Vec<String> = shape(&fixture(name))
            .into_iter()
            .filter(|(path, kind)| !may_differ(path) && ours.get(path) != Some(kind))
            .map(|(path, kind)| format!("{path}: {kind}, ours {:?}", ours.get(&path)))
            .collect();
        assert!(missing.is_empty(), "{target}\n{}", missing.join("\n"));
    }
}

fn check(target: &str, document: &Value, table: &[(&str, &str)]) {
    for (path, expected) in table {
        let at = format!("/{}", path.replace('.', "/"));
        let found = document.pointer(&at).map_or("absent", kind);
        let fits = match *expected {
            "number" => matches!(found, "int" | "float"),
            "null or str" => matches!(found, "null" | "str"),
            expected => expected == found,
        };
        assert!(fits, "{target}: {path} should be {expected}, is {found}");
    }
}

const METADATA: &[(&str, &str)] = &[
    ("host", "str"),
    ("version", "str"),
    ("spillway_version", "str"),
    ("http_address", "str"),
    ("id", "str"),
    ("name", "str"),
    ("ephemeral_id", "str"),
    ("snapshot", "bool"),
    ("status", "str"),
    ("pipeline.workers", "int"),
    ("pipeline.batch_size", "int"),
    ("pipeline.batch_delay", "int"),
    ("monitoring", "absent"),
];

const PROCESS: &[(&str, &str)] = &[
    ("jvm.threads.count", "int"),
    ("jvm.threads.peak_count", "int"),
    ("jvm.mem.heap_used_percent", "int"),
    ("jvm.mem.heap_committed_in_bytes", "int"),
    ("jvm.mem.heap_max_in_bytes", "int"),
    ("jvm.mem.heap_used_in_bytes", "int"),
    ("jvm.mem.non_heap_used_in_bytes", "int"),
    ("jvm.mem.non_heap_committed_in_bytes", "int"),
    ("jvm.mem.pools.young.used_in_bytes", "int"),
    ("jvm.mem.pools.young.peak_used_in_bytes", "int"),
    ("jvm.mem.pools.young.max_in_bytes", "int"),
    ("jvm.mem.pools.young.peak_max_in_bytes", "int"),
    ("jvm.mem.pools.old.used_in_bytes", "int"),
    ("jvm.mem.pools.old.peak_used_in_bytes", "int"),
    ("jvm.mem.pools.old.max_in_bytes", "int"),
    ("jvm.mem.pools.old.peak_max_in_bytes", "int"),
    ("jvm.mem.pools.survivor.used_in_bytes", "int"),
    ("jvm.mem.pools.survivor.peak_used_in_bytes", "int"),
    ("jvm.mem.pools.survivor.max_in_bytes", "int"),
    ("jvm.mem.pools.survivor.peak_max_in_bytes", "int"),
    ("jvm.gc.collectors.young.collection_count", "int"),
    ("jvm.gc.collectors.young.collection_time_in_millis", "int"),
    ("jvm.gc.collectors.old.collection_count", "int"),
    ("jvm.gc.collectors.old.collection_time_in_millis", "int"),
    ("jvm.uptime_in_millis", "int"),
    ("process.open_file_descriptors", "int"),
    ("process.peak_open_file_descriptors", "int"),
    ("process.max_file_descriptors", "int"),
    ("process.mem.total_virtual_in_bytes", "int"),
    ("process.cpu.total_in_millis", "int"),
    ("process.cpu.percent", "int"),
    ("process.cpu.load_average.1m", "float"),
    ("process.cpu.load_average.5m", "float"),
    ("process.cpu.load_average.15m", "float"),
    ("os", "object"),
];

const SUMS: &[(&str, &str)] = &[
    ("events.in", "int"),
    ("events.filtered", "int"),
    ("events.out", "int"),
    ("events.duration_in_millis", "int"),
    ("events.queue_push_duration_in_millis", "int"),
    ("flow.input_throughput.current", "number"),
    ("flow.input_throughput.lifetime", "number"),
    ("flow.filter_throughput.lifetime", "number"),
    ("flow.output_throughput.lifetime", "number"),
    ("flow.queue_backpressure.lifetime", "number"),
    ("flow.worker_concurrency.lifetime", "number"),
    ("flow.worker_utilization", "absent"),
    ("reloads.successes", "int"),
    ("reloads.failures", "int"),
    ("queue.events_count", "int"),
    ("pipelines.main", "object"),
    ("geoip_download_manager", "absent"),
];

/// One pipeline, below its id.
const PIPELINE: &[(&str, &str)] = &[
    ("events.in", "int"),
    ("events.filtered", "int"),
    ("events.out", "int"),
    ("events.duration_in_millis", "int"),
    ("events.queue_push_duration_in_millis", "int"),
    ("flow.input_throughput.current", "number"),
    ("flow.input_throughput.lifetime", "number"),
    ("flow.filter_throughput.lifetime", "number"),
    ("flow.output_throughput.lifetime", "number"),
    ("flow.queue_backpressure.lifetime", "number"),
    ("flow.worker_concurrency.lifetime", "number"),
    ("flow.worker_utilization.lifetime", "number"),
    ("flow.queue_persisted_growth_events", "absent"),
    ("plugins.inputs", "array"),
    ("plugins.codecs", "array"),
    ("plugins.filters", "array"),
    ("plugins.outputs", "array"),
    ("plugins.inputs.0.id", "str"),
    ("plugins.inputs.0.name", "str"),
    ("plugins.inputs.0.events.in", "absent"),
    ("plugins.inputs.0.events.out", "int"),
    ("plugins.inputs.0.events.queue_push_duration_in_millis", "int"),
    ("plugins.inputs.0.flow.throughput.lifetime", "number"),
    ("plugins.outputs.0.events.in", "int"),
    ("plugins.outputs.0.events.out", "int"),
    ("plugins.outputs.0.events.duration_in_millis", "int"),
    ("plugins.outputs.0.flow.worker_utilization.lifetime", "number"),
    ("plugins.outputs.0.flow.worker_millis_per_event.lifetime", "number"),
    ("reloads.successes", "int"),
    ("reloads.failures", "int"),
    ("reloads.last_error", "null"),
    ("reloads.last_success_timestamp", "null or str"),
    ("reloads.last_failure_timestamp", "null or str"),
    ("queue.type", "str"),
    ("queue.events_count", "int"),
    ("queue.queue_size_in_bytes", "int"),
    ("queue.max_queue_size_in_bytes", "int"),
    ("pipeline.workers", "int"),
    ("pipeline.batch_size", "int"),
    ("pipeline.batch_delay", "int"),
    ("hash", "str"),
    ("ephemeral_id", "str"),
];

const DEAD_LETTER_QUEUE: &[(&str, &str)] = &[
    ("dead_letter_queue.queue_size_in_bytes", "int"),
    ("dead_letter_queue.max_queue_size_in_bytes", "int"),
    ("dead_letter_queue.dropped_events", "int"),
    ("dead_letter_queue.expired_events", "int"),
    ("dead_letter_queue.storage_policy", "str"),
    ("dead_letter_queue.last_error", "str"),
    ("plugins.outputs.0.bulk_requests.successes", "int"),
    ("plugins.outputs.0.bulk_requests.responses.200", "int"),
    ("plugins.outputs.0.documents.successes", "int"),
    ("plugins.outputs.0.documents.dlq_routed", "int"),
];

const NODE: &[(&str, &str)] = &[
    ("os.name", "str"),
    ("os.arch", "str"),
    ("os.version", "str"),
    ("os.available_processors", "int"),
    ("jvm.pid", "int"),
    ("jvm.version", "str"),
    ("jvm.vm_version", "str"),
    ("jvm.vm_vendor", "str"),
    ("jvm.vm_name", "str"),
    ("jvm.start_time_in_millis", "int"),
    ("jvm.mem.heap_init_in_bytes", "int"),
    ("jvm.mem.heap_max_in_bytes", "int"),
    ("jvm.mem.non_heap_init_in_bytes", "int"),
    ("jvm.mem.non_heap_max_in_bytes", "int"),
    ("jvm.gc_collectors", "array"),
    ("pipelines.main.ephemeral_id", "str"),
    ("pipelines.main.hash", "str"),
    ("pipelines.main.workers", "int"),
    ("pipelines.main.batch_size", "int"),
    ("pipelines.main.batch_delay", "int"),
    ("pipelines.main.batch_output_chunking_growth_threshold_factor", "int"),
    ("pipelines.main.dead_letter_queue_enabled", "bool"),
    ("pipelines.main.dead_letter_queue_path", "absent"),
    ("pipelines.dlq replay.dead_letter_queue_path", "str"),
];

#[test]
fn every_answer_has_the_types_that_clients_decode() {
    let service = two_pipelines();
    let get = |target: &str| {
        let document = service.get(target).json();
        check(target, &document, METADATA);
        document
    };
    let root = [("build_date", "str"), ("build_sha", "str"), ("build_snapshot", "bool")];
    check("/", &get("/"), &root);
    check("/_node", &get("/_node"), NODE);
    let stats = get("/_node/stats?vertices=true");
    check("/_node/stats", &stats, PROCESS);
    check("/_node/stats", &stats, SUMS);
    check("/_node/stats main", &stats["pipelines"]["main"], PIPELINE);
    check("/_node/stats main", &stats["pipelines"]["main"], &[("dead_letter_queue", "absent"), ("vertices", "array")]);
    let replay = &get("/_node/stats/pipelines/dlq%20replay")["pipelines"]["dlq replay"];
    check("replay", replay, PIPELINE);
    check("replay", replay, DEAD_LETTER_QUEUE);
    check("replay", replay, &[("vertices", "absent")]);
    check(
        "/_node/plugins",
        &get("/_node/plugins"),
        &[("total", "int"), ("plugins.0.name", "str"), ("plugins.0.version", "str")],
    );
}

#[test]
fn control_group_figures_are_integers_where_there_are_control_groups() {
    let stats = two_pipelines().get("/_node/stats/os").json();
    let Some(group) = stats["os"].get("cgroup") else { return };
    let table = [
        ("cpuacct.control_group", "str"),
        ("cpuacct.usage_nanos", "int"),
        ("cpu.control_group", "str"),
        ("cpu.cfs_period_micros", "int"),
        ("cpu.cfs_quota_micros", "int"),
        ("cpu.stat.number_of_elapsed_periods", "int"),
        ("cpu.stat.number_of_times_throttled", "int"),
        ("cpu.stat.time_throttled_nanos", "int"),
    ];
    check("os.cgroup", group, &table);
}
