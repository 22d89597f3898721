//! A node with two pipelines, described by hand, behind the API on a port of its own.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at what it did not expect")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use serde_json::Value;
use spillway::config::ast::PluginKind;
use spillway::config::source::Place;
use spillway::dead_letter::Stats;
use spillway::metrics::{
    CodecInfo, ConditionVertex, DeadLetterView, Defaults, Edge, Graph, Identity, Node, PipelineMetrics, PipelineState,
    PipelineView, PluginInfo, PluginMetrics,
};
use spillway::monitoring::Server;
use spillway::settings::ApiSettings;
use tokio_util::sync::CancellationToken;

/// Ids of the two conditions of `main`, as in the fixtures.
const IF_TYPE: &str = "779ec1565d7a32cb37cd9f0506ff3e17ce0bed86d2977e44b9be84dca9392d92";
const IF_N: &str = "012e74aeb1f39593b94fab3830678c6133c105896444ce534fcfb8416a555186";

/// What came back for a request.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {}", self.text))
    }
}

/// The API of a node, until it is dropped.
pub struct Service {
    pub node: Arc<Node>,
    pub address: SocketAddr,
    pub stop: CancellationToken,
    _runtime: tokio::runtime::Runtime,
}

impl Service {
    pub fn start(node: Arc<Node>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let settings = ApiSettings {
            enabled: true,
            host: "127.0.0.1".into(),
            ports: (0, 0),
            environment: String::new(),
            basic_auth: None,
        };
        let server = runtime.block_on(Server::bind(&settings, node.clone())).unwrap().unwrap();
        let stop = CancellationToken::new();
        runtime.spawn(server.serve(stop.clone()));
        let address = node.http_address().unwrap();
        Self { node, address, stop, _runtime: runtime }
    }

    pub fn get(&self, target: &str) -> Answer {
        self.request("GET", target)
    }

    pub fn request(&self, method: &str, target: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(stream, "{method} {target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_ascii_lowercase(), text: text.to_owned() }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub fn empty_node() -> Arc<Node> {
    Arc::new(Node::new(Identity {
        id: "c5e115b1-62fc-492f-a107-e580b7b86416".into(),
        name: "demo".into(),
        host: "demo-host".into(),
        cluster_uuid: None,
        defaults: Defaults { workers: 2, batch_size: 125, batch_delay_ms: 50 },
    }))
}

pub fn plugin(kind: PluginKind, name: &str, id: &str, events: (u64, u64)) -> PluginInfo {
    let metrics = PluginMetrics::default();
    metrics.events_in.add(events.0);
    metrics.events_out.add(events.1);
    PluginInfo {
        kind,
        name: name.into(),
        id: id.into(),
        explicit_id: true,
        place: Place { file: "/srv/demo/a.conf".into(), line: 1, column: 9 },
        measured: true,
        metrics: Arc::new(metrics),
    }
}

/// `main` as in the fixtures, with 4 events in, 4 filtered, 3 out.
pub fn main_pipeline() -> PipelineView {
    let metrics = PipelineMetrics::default();
    metrics.events_in.add(4);
    metrics.events_filtered.add(4);
    metrics.events_out.add(3);
    let plugins = vec![
        plugin(PluginKind::Input, "generator", "in", (0, 3)),
        plugin(PluginKind::Input, "heartbeat", "hb", (0, 1)),
        plugin(PluginKind::Filter, "drop", "dr", (1, 0)),
        plugin(PluginKind::Filter, "grok", "g", (3, 3)),
        plugin(PluginKind::Filter, "mutate", "m", (1, 1)),
        plugin(PluginKind::Output, "stdout", "out", (3, 3)),
    ];
    plugins[3].metrics.counter("matches").add(2);
    plugins[3].metrics.counter("failures").add(1);
    plugins[3].metrics.counter_at(["patterns_per_field", "message"]).add(1);
    plugins[5].metrics.add_codec(CodecInfo { id: "jl".into(), name: "json_lines".into() });
    PipelineView {
        id: "main".into(),
        ephemeral_id: "6d70fb13-ee34-43d3-8237-9e4296f8a230".into(),
        hash: "7958695045d0a70f4c4e7f441cb411116b8bc86df08359f0dd5e5774c1d68672".into(),
        workers: 2,
        configured_workers: 2,
        batch_size: 125,
        batch_delay_ms: 50,
        growth_factor: 1000,
        metrics: Arc::new(metrics),
        plugins,
        dead_letter_queue: None,
        queue: None,
        graph: main_graph(),
    }
}

fn main_graph() -> Graph {
    let condition = |id: &str, text: &str, column| ConditionVertex {
        id: id.into(),
        condition: text.into(),
        place: Place { file: "/srv/demo/a.conf".into(), line: 2, column },
    };
    let edge = |from: &str, to: &str, when| Edge { from: from.into(), to: to.into(), when };
    Graph {
        in_files: true,
        conditions: vec![condition(IF_TYPE, "[type] == \"hb\"", 13), condition(IF_N, "[n] == 1", 127)],
        edges: vec![
            edge("in", "__QUEUE__", None),
            edge("hb", "__QUEUE__", None),
            edge("__QUEUE__", IF_TYPE, None),
            edge(IF_TYPE, "dr", Some(true)),
            edge(IF_TYPE, "g", Some(false)),
            edge("dr", IF_N, None),
            edge("g", IF_N, None),
            edge(IF_N, "m", Some(true)),
            edge("m", "out", None),
            edge(IF_N, "out", Some(false)),
        ],
    }
}

/// A replay pipeline with an Elasticsearch output and a dead letter queue.
pub fn replay_pipeline() -> PipelineView {
    let metrics = PipelineMetrics::default();
    metrics.events_in.add(10);
    let output = plugin(PluginKind::Output, "elasticsearch", "es", (10, 10));
    output.metrics.counter("bulk_requests.successes").add(1);
    output.metrics.counter("bulk_requests.responses.200").add(1);
    output.metrics.counter("documents.successes").add(8);
    output.metrics.counter("documents.dlq_routed").add(2);
    let input = plugin(PluginKind::Input, "dead_letter_queue", "dlq", (0, 10));
    input.metrics.counter_at(["main.parked", "cleaned_segments"]).add(7);
    PipelineView {
        id: "dlq replay".into(),
        ephemeral_id: "3acfe291-950b-48e5-b5e5-2c98802e7794".into(),
        plugins: vec![input, output],
        metrics: Arc::new(metrics),
        dead_letter_queue: Some(DeadLetterView {
            path: "/srv/data/dead_letter_queue/dlq replay".into(),
            stats: Box::new(|| Stats {
                queue_size_in_bytes: 1,
                max_queue_size_in_bytes: 10_485_760,
                dropped_events: 2,
                expired_events: 3,
                storage_policy: "drop_newer",
                last_error: "no errors".into(),
            }),
        }),
        ..main_pipeline()
    }
}

/// Both pipelines, running.
pub fn two_pipelines() -> Service {
    let node = empty_node();
    for view in [main_pipeline(), replay_pipeline()] {
        let id = view.id.clone();
        node.pipeline_loading(&id);
        node.pipeline_started(view);
        node.set_pipeline_state(&id, PipelineState::Running);
    }
    Service::start(node)
}
