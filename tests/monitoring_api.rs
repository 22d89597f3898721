//! The monitoring API from outside: what it answers to whom, and when.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod monitoring_support;
#[path = "support/process.rs"]
mod process;
mod program;

use std::collections::BTreeMap;
use std::sync::Arc;

use monitoring_support::{Service, empty_node, main_pipeline, replay_pipeline, two_pipelines};
use process::Process;
use program::Place;
use serde_json::{Value, json};
use spillway::logging::Levels;
use spillway::metrics::{Defaults, Identity, Node, PipelineState, ReloadError};
use spillway::monitoring::Server;
use spillway::settings::{ApiSettings, LogLevel};

fn members(document: &Value) -> Vec<&str> {
    document.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Members beside the metadata.
fn body(document: &Value) -> Vec<&str> {
    const METADATA: [&str; 10] = [
        "host",
        "version",
        "spillway_version",
        "http_address",
        "id",
        "name",
        "ephemeral_id",
        "snapshot",
        "status",
        "pipeline",
    ];
    members(document).into_iter().filter(|name| !METADATA.contains(name)).collect()
}

#[test]
fn the_root_says_who_answers() {
    let service = two_pipelines();
    let answer = service.get("/");
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: application/json\r\n"), "{}", answer.head);
    assert!(answer.head.contains("x-content-type-options: nosniff"), "{}", answer.head);
    let root = answer.json();
    assert_eq!(root["version"], "9.5.2");
    assert_eq!(root["http_address"], service.address.to_string());
    assert_eq!(root["id"], "c5e115b1-62fc-492f-a107-e580b7b86416");
    assert_eq!(root["pipeline"], json!({ "workers": 2, "batch_size": 125, "batch_delay": 50 }));
    assert_eq!(root["status"], "green");
    assert_eq!(body(&root), ["build_date", "build_sha", "build_snapshot"]);
}

#[test]
fn a_cluster_is_named_only_when_one_is_configured() {
    let identity = Identity { cluster_uuid: Some("abc".into()), ..empty_node().identity().clone() };
    let service = Service::start(Arc::new(Node::new(identity)));
    assert_eq!(service.get("/_node").json()["monitoring"], json!({ "cluster_uuid": "abc" }));
}

#[test]
fn pretty_counts_by_its_presence() {
    let service = two_pipelines();
    for (target, pretty) in [("/?pretty", true), ("/?pretty=false", true), ("/", false), ("/nope?pretty", true)] {
        assert_eq!(service.get(target).text.lines().count() > 1, pretty, "{target}");
    }
    assert_eq!(members(&service.get("/?pretty").json()), members(&service.get("/").json()));
}

#[test]
fn everything_that_is_not_there_has_one_error_form() {
    let service = two_pipelines();
    for path in [
        "/nope",
        "/_node/nope",
        "/_node/nope,neither",
        "/_node/stats/nope",
        "/_node/stats/geoip_download_manager",
        "/_node/pipelines/nope",
        "/_node/stats/pipelines/nope",
        "/_node/stats/pipelines/%FF",
        "/_node/stats/pipelines/main/more",
    ] {
        let answer = service.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.head.contains("content-type: application/json"), "{path}");
        let expected = json!({ "path": path, "status": 404, "error": { "message": "Not Found" } });
        assert_eq!(answer.json(), expected);
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = service.request(method, "/_node");
        assert_eq!((answer.status, &answer.json()["path"]), (404, &json!("/_node")), "{method}");
    }
}

#[test]
fn head_answers_like_get_without_a_body() {
    let service = two_pipelines();
    for (target, status) in [("/", 200), ("/_node/stats", 200), ("/nope", 404)] {
        let answer = service.request("HEAD", target);
        assert_eq!((answer.status, answer.text.as_str()), (status, ""), "{target}");
        assert!(answer.head.contains("content-type: application/json"), "{target}");
    }
}

#[test]
fn comma_lists_select_blocks_and_ignore_unknown_names() {
    let service = two_pipelines();
    for (target, expected) in [
        ("/_node/stats/jvm,process,nope", &["jvm", "process"][..]),
        ("/_node/stats/process,jvm", &["jvm", "process"]),
        ("/_node/stats/pipelines", &["pipelines"]),
        ("/_node/stats/reloads,queue,os,flow,events", &["events", "flow", "reloads", "os", "queue"]),
        ("/_node/os", &["os"]),
        ("/_node/jvm,os", &["os", "jvm"]),
        ("/_node/pipelines", &["pipelines"]),
        ("/_node", &["pipelines", "os", "jvm"]),
        ("/_node/stats", &["jvm", "process", "events", "flow", "pipelines", "reloads", "os", "queue"]),
    ] {
        assert_eq!(body(&service.get(target).json()), expected, "{target}");
    }
}

#[test]
fn events_are_summed_over_pipelines() {
    let events = two_pipelines().get("/_node/stats/events").json()["events"].clone();
    assert_eq!((&events["in"], &events["filtered"], &events["out"]), (&json!(14), &json!(4), &json!(3)));
}

#[test]
fn plugins_show_their_events_and_their_own_counters() {
    let service = two_pipelines();
    let stats = service.get("/_node/stats/pipelines/main").json();
    let plugins = &stats["pipelines"]["main"]["plugins"];
    let grok = &plugins["filters"][1];
    assert_eq!(grok["id"], "g");
    assert_eq!(grok["events"], json!({ "in": 3, "out": 3, "duration_in_millis": 0 }));
    assert_eq!((&grok["matches"], &grok["failures"]), (&json!(2), &json!(1)));
    assert_eq!(grok["patterns_per_field"], json!({ "message": 1 }));
    assert_eq!(plugins["codecs"], json!([{ "id": "jl", "name": "json_lines" }]));
    let replay = service.get("/_node/stats/pipelines/dlq%20replay").json();
    let plugins = &replay["pipelines"]["dlq replay"]["plugins"];
    assert_eq!(plugins["inputs"][0]["main.parked"], json!({ "cleaned_segments": 7 }));
    assert_eq!(plugins["outputs"][0]["bulk_requests"], json!({ "successes": 1, "responses": { "200": 1 } }));
    assert_eq!(plugins["filters"], json!([]));
}

/// What node stats say of the plugins of a pipeline whose filter `a` has `enable_metric => false`.
fn plugins_of_a_run(settings: &str) -> (Value, Value) {
    let config = "input { stdin { id => \"in\" } } filter { mutate { id => \"a\" enable_metric => false } mutate { id => \"b\" } } \
                  output { null { id => \"out\" } }";
    let place = Place::new()
        .file("cfg/logstash.yml", &format!("path.data: data\n{settings}"))
        .file("cfg/pipelines.yml", "- { pipeline.id: main, path.config: a.conf }\n")
        .file("a.conf", config);
    let mut process = Process::running(place.command("--path.settings cfg"));
    process.feed("x\n");
    process.until("the event", || (process.stats("main")["events"]["out"] == 1).then_some(()));
    let stats = process.get("/_node/stats/pipelines/main?vertices=true")["pipelines"]["main"].clone();
    process.stop();
    (stats["plugins"].clone(), stats["vertices"].clone())
}

#[test]
fn a_plugin_with_enable_metric_false_shows_who_it_is_and_no_counters() {
    let (plugins, vertices) = plugins_of_a_run("");
    assert_eq!(plugins["filters"][0], json!({ "id": "a", "name": "mutate" }));
    assert_eq!(plugins["filters"][1]["events"]["in"], 1);
    assert_eq!(members(&vertices[1]), ["id", "pipeline_ephemeral_id"]);
    assert_eq!(vertices[2]["events_in"], 1);
}

#[test]
fn no_plugin_shows_counters_with_metric_collect_false() {
    let (plugins, vertices) = plugins_of_a_run("metric.collect: false\n");
    for plugin in [&plugins["inputs"][0], &plugins["filters"][1], &plugins["outputs"][0]] {
        assert_eq!(members(plugin), ["id", "name"]);
    }
    assert!(vertices.as_array().unwrap().iter().all(|vertex| members(vertex) == ["id", "pipeline_ephemeral_id"]));
}

#[test]
fn the_dead_letter_queue_shows_only_where_there_is_one() {
    let service = two_pipelines();
    let stats = service.get("/_node/stats/pipelines").json()["pipelines"].clone();
    assert_eq!(
        stats["dlq replay"]["dead_letter_queue"],
        json!({
            "queue_size_in_bytes": 1,
            "max_queue_size_in_bytes": 10_485_760,
            "dropped_events": 2,
            "expired_events": 3,
            "storage_policy": "drop_newer",
            "last_error": "no errors",
        })
    );
    assert!(stats["main"].get("dead_letter_queue").is_none());
    let node = service.get("/_node/pipelines").json()["pipelines"].clone();
    assert_eq!(node["dlq replay"]["dead_letter_queue_path"], "/srv/data/dead_letter_queue/dlq replay");
    assert_eq!(
        members(&node["main"]),
        [
            "ephemeral_id",
            "hash",
            "workers",
            "batch_size",
            "batch_delay",
            "batch_output_chunking_growth_threshold_factor",
            "dead_letter_queue_enabled"
        ]
    );
}

#[test]
fn vertices_come_on_request_and_match_the_plugins() {
    let service = two_pipelines();
    let stats = service.get("/_node/stats?vertices=true").json();
    let main = &stats["pipelines"]["main"];
    let vertices = main["vertices"].as_array().unwrap();
    let ids: Vec<_> = vertices.iter().map(|vertex| vertex["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["in", "hb", "dr", "g", "m", "out"]);
    assert!(vertices.iter().all(|vertex| vertex["pipeline_ephemeral_id"] == main["ephemeral_id"]));
    assert_eq!(vertices[0]["events_out"], 3);
    assert_eq!(members(&vertices[0]).len(), 4);
    assert_eq!(
        vertices[3]["long_counters"],
        json!([
            { "name": "failures", "value": 1 },
            { "name": "matches", "value": 2 },
            { "name": "patterns_per_field.message", "value": 1 },
        ])
    );
}

/// An edge without its id, which is a hash.
fn ends(edge: &Value) -> (String, String, String, String) {
    let text = |name: &str| edge[name].to_string();
    (text("from"), text("to"), text("type"), text("when"))
}

#[test]
fn the_graph_of_a_pipeline_equals_that_of_logstash() {
    let service = two_pipelines();
    let ours = service.get("/_node/pipelines?graph=true").json()["pipelines"]["main"]["graph"].clone();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/api/node_pipeline_graph.json");
    let theirs: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let theirs = &theirs["pipelines"]["main"]["graph"];
    for name in ["hash", "type", "version"] {
        assert_eq!(ours[name], theirs[name]);
    }
    let sorted = |graph: &Value, key: fn(&Value) -> (String, String, String, String)| {
        let mut all: Vec<_> = graph["graph"]["edges"].as_array().unwrap().iter().map(key).collect();
        all.sort();
        all
    };
    assert_eq!(sorted(&ours, ends), sorted(theirs, ends));
    let ids = |graph: &Value| -> BTreeMap<String, Value> {
        let vertices = graph["graph"]["vertices"].as_array().unwrap().iter();
        vertices
            .map(|v| (v["id"].to_string(), json!([v["type"], v["explicit_id"], v["config_name"], v["condition"]])))
            .collect()
    };
    assert_eq!(ids(&ours), ids(theirs));
    assert!(service.get("/_node/pipelines").json()["pipelines"]["main"].get("graph").is_none());
    assert!(service.get("/_node/pipelines?graph=false").json()["pipelines"]["main"].get("graph").is_none());
}

#[test]
fn before_any_pipeline_sums_are_empty_and_all_is_well() {
    let service = Service::start(empty_node());
    let stats = service.get("/_node/stats").json();
    assert_eq!((&stats["events"], &stats["flow"], &stats["pipelines"]), (&json!({}), &json!({}), &json!({})));
    assert_eq!(stats["status"], "green");
    assert_eq!(service.get("/_node/pipelines").json()["pipelines"], json!({}));
}

#[test]
fn a_pipeline_that_never_ran_is_listed_with_empty_blocks() {
    let node = empty_node();
    let id: Arc<str> = "broken".into();
    node.pipeline_loading(&id);
    let service = Service::start(node);
    assert_eq!(service.get("/").json()["status"], "yellow");
    service.node.set_pipeline_state(&id, PipelineState::Unknown);
    service.node.reload_failed(&id, ReloadError { message: "no such filter".into(), backtrace: None });
    let stats = service.get("/_node/stats?vertices=true").json();
    let broken = &stats["pipelines"]["broken"];
    assert_eq!(stats["status"], "unknown");
    assert_eq!(broken["plugins"], json!({ "inputs": [], "codecs": [], "filters": [], "outputs": [] }));
    assert_eq!(broken["reloads"]["last_error"], json!({ "message": "no such filter", "backtrace": null }));
    let when = broken["reloads"]["last_failure_timestamp"].as_str().unwrap();
    assert!(when.len() == 24 && when.ends_with('Z'), "{when}");
    assert_eq!(stats["reloads"], json!({ "successes": 0, "failures": 1 }));
    assert_eq!(service.get("/_node/pipelines/broken").status, 404);
}

#[test]
fn a_pipeline_that_ended_keeps_its_counters_and_loses_its_run() {
    let service = two_pipelines();
    let id: Arc<str> = "main".into();
    for (state, status) in [(PipelineState::Finished, "yellow"), (PipelineState::Terminated, "red")] {
        service.node.set_pipeline_state(&id, state);
        let stats = service.get("/_node/stats?vertices=true").json();
        assert_eq!(stats["status"], status);
        let main = &stats["pipelines"]["main"];
        assert_eq!(main["events"]["in"], 4);
        assert!(["hash", "ephemeral_id", "vertices"].iter().all(|name| main.get(name).is_none()));
        assert!(service.get("/_node/pipelines").json()["pipelines"].get("main").is_none());
    }
}

#[test]
fn a_client_can_wait_for_a_status() {
    let service = two_pipelines();
    let id: Arc<str> = "main".into();
    for (target, status) in [
        ("/?wait_for_status=green&timeout=2s", 200),
        ("/?wait_for_status=green", 400),
        ("/?wait_for_status=blue&timeout=2s", 400),
        ("/?timeout=1.5s", 400),
        ("/?timeout=1", 400),
        ("/?timeout=1s", 200),
    ] {
        let answer = service.get(target);
        assert_eq!(answer.status, status, "{target}");
        if status == 400 {
            assert_eq!(members(&answer.json()), ["path", "status", "error"]);
        }
    }
    service.node.set_pipeline_state(&id, PipelineState::Finished);
    assert_eq!(service.get("/?wait_for_status=yellow&timeout=1s").status, 200);
    assert_eq!(service.get("/?wait_for_status=green&timeout=20ms").status, 408);
    service.node.set_pipeline_state(&id, PipelineState::Unknown);
    assert_eq!(service.get("/?wait_for_status=red&timeout=20ms").status, 408);
    let node = service.node.clone();
    let recovery = std::thread::spawn(move || node.set_pipeline_state(&id, PipelineState::Running));
    assert_eq!(service.get("/?wait_for_status=green&timeout=30s").status, 200);
    recovery.join().unwrap();
}

/// What the health report says of one pipeline.
fn health_of(service: &Service, id: &str) -> Value {
    service.get("/_health_report").json()["indicators"]["pipelines"]["indicators"][id].clone()
}

#[test]
fn the_health_report_of_a_pipeline_that_runs_has_nothing_to_tell() {
    let service = two_pipelines();
    let report = service.get("/_health_report").json();
    assert_eq!(report["status"], "green");
    assert_eq!(report["symptom"], "1 indicator is healthy (`pipelines`)");
    assert!(report["pipeline"].is_null() && report["timestamp"].is_string(), "{report}");
    let main = health_of(&service, "main");
    assert_eq!(main["symptom"], "The pipeline is healthy");
    assert_eq!(main["details"]["status"], json!({ "state": "RUNNING" }));
    assert!(main["diagnosis"].is_null() && main["impacts"].is_null(), "{main}");
    let none = Service::start(empty_node()).get("/_health_report").json();
    assert_eq!(none["indicators"]["pipelines"]["symptom"], "no indicators");
    assert_eq!(none["status"], "green");
}

#[test]
fn the_health_report_says_what_is_wrong_what_that_means_and_what_to_do() {
    let service = two_pipelines();
    service.node.set_pipeline_state(&"main".into(), PipelineState::Finished);
    let main = health_of(&service, "main");
    assert_eq!(main["status"], "yellow");
    assert_eq!(main["symptom"], "The pipeline is concerning; 1 area is impacted and 1 diagnosis is available");
    assert_eq!(main["diagnosis"][0]["id"], "logstash:health:pipeline:status:diagnosis:finished");
    assert!(["cause", "action", "help_url"].iter().all(|part| main["diagnosis"][0][part].is_string()), "{main}");
    assert_eq!(main["impacts"][0]["id"], "logstash:health:pipeline:status:impact:not_processing");
    assert_eq!(main["impacts"][0]["severity"], 10);
    assert_eq!(main["impacts"][0]["impact_areas"], json!(["pipeline_execution"]));
    service.node.set_pipeline_state(&"dlq replay".into(), PipelineState::Terminated);
    let report = service.get("/_health_report").json();
    assert_eq!(report["status"], "red");
    let symptom = "1 indicator is unhealthy (`dlq replay`) and 1 indicator is concerning (`main`)";
    assert_eq!(report["indicators"]["pipelines"]["symptom"], symptom);
    assert_eq!(service.get("/").json()["status"], "red");
}

#[test]
fn a_pipeline_that_was_started_again_after_a_crash_is_concerning_for_a_while() {
    let service = two_pipelines();
    service.node.recovered(&"main".into());
    let main = health_of(&service, "main");
    assert_eq!(main["status"], "yellow");
    assert_eq!(main["diagnosis"][0]["id"], "logstash:health:pipeline:recovery:diagnosis:5m-recovery-recent");
    assert_eq!(main["details"]["recovery_log"].as_array().unwrap().len(), 1);
    (0..4).for_each(|_| service.node.recovered(&"main".into()));
    assert_eq!(health_of(&service, "main")["status"], "red");
}

#[test]
fn every_diagnosis_is_explained_where_the_report_points_to() {
    let page = std::fs::read_to_string("docs/health.md").unwrap();
    for anchor in [
        "loading",
        "finished",
        "terminated",
        "unknown",
        "5m-blocked",
        "5m-nearly-blocked",
        "1m-blocked",
        "1m-nearly-blocked",
        "5m-recovery-repeated",
        "5m-recovery-recent",
    ] {
        assert!(page.contains(&format!("## {anchor}\n")), "docs/health.md does not explain {anchor}");
    }
}

#[test]
fn levels_of_loggers_are_shown_changed_and_put_back() {
    let service = two_pipelines();
    let level = |logger: &str| service.get("/_node/logging").json()["loggers"][logger].clone();
    assert_eq!(level(""), "WARN");
    let answer = service.put("/_node/logging", r#"{"logger.logstash.agent":"debug"}"#);
    assert_eq!((answer.status, &answer.json()["acknowledged"]), (200, &json!(true)));
    assert_eq!(answer.json()["host"], "demo-host");
    assert_eq!(level("logstash.agent"), "DEBUG");
    assert_eq!(service.request("PUT", "/_node/logging/reset").json()["acknowledged"], true);
    assert_eq!(service.get("/_node/logging").json()["loggers"].get("logstash.agent"), None);
    for (body, error) in [
        (r#"{"logger.logstash":"loud"}"#, "invalid level[loud] for logger[logstash]"),
        (r#"{"level":"DEBUG"}"#, "unrecognized option [level]"),
    ] {
        let answer = service.put("/_node/logging", body);
        assert_eq!((answer.status, &answer.json()["error"]), (200, &json!(error)));
    }
    let answer = service.put("/_node/logging", "[");
    assert!(answer.json()["error"].as_str().unwrap().starts_with("the body is no JSON object"));
}

#[test]
fn orchestrators_hear_whether_the_program_lives_and_is_ready() {
    let node = empty_node();
    let service = Service::start(node.clone());
    node.pipeline_loading(&"main".into());
    assert_eq!(service.get("/_health/live").json(), json!({ "live": true }));
    let ready = service.get("/_health/ready");
    assert_eq!(ready.status, 503);
    assert_eq!(ready.json(), json!({ "ready": false, "reasons": ["pipeline main: starting"] }));
    node.pipeline_started(main_pipeline());
    node.set_pipeline_state(&"main".into(), PipelineState::Running);
    assert_eq!(service.get("/_health/ready").status, 200);
    node.set_pipeline_state(&"main".into(), PipelineState::Unknown);
    assert_eq!(service.get("/_health/ready").json()["reasons"], json!(["pipeline main: failed to start"]));
    node.set_pipeline_state(&"main".into(), PipelineState::Running);
    node.set_stopping();
    assert_eq!(service.get("/_health/ready").json()["reasons"], json!(["stopping"]));
    assert_eq!(service.get("/_health/live").status, 200);
}

#[test]
fn plugins_are_listed_as_logstash_packages() {
    let plugins = two_pipelines().get("/_node/plugins").json();
    let names: Vec<_> = plugins["plugins"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(plugins["total"], names.len());
    assert!(names.is_sorted());
    assert!(names.contains(&"logstash-input-stdin") && names.contains(&"logstash-filter-drop"), "{names:?}");
}

#[test]
fn rates_are_numbers_or_words_and_never_break_the_document() {
    let node = empty_node();
    let view = main_pipeline();
    let stuck = view.plugins[4].metrics.clone();
    let _call = stuck.duration.start();
    node.pipeline_started(view);
    node.set_pipeline_state(&"main".into(), PipelineState::Running);
    let service = Service::start(node);
    service.get("/_node/stats");
    std::thread::sleep(std::time::Duration::from_millis(5));
    let stats = service.get("/_node/stats").json();
    let main = &stats["pipelines"]["main"];
    let mut rates = 0;
    let flows = [&stats["flow"], &main["flow"], &main["plugins"]["filters"][2]["flow"]];
    for windows in flows.iter().flat_map(|flow| flow.as_object().unwrap().values()) {
        for rate in windows.as_object().unwrap().values() {
            rates += 1;
            assert!(rate.is_f64() || rate == "Infinity", "{rate}");
        }
    }
    assert!(rates > 10, "{stats}");
}

#[test]
fn a_replaced_run_starts_from_zero_and_the_node_does_not() {
    let service = two_pipelines();
    service.node.pipeline_started(replay_pipeline());
    let stats = service.get("/_node/stats").json();
    assert_eq!(stats["events"]["in"], 24);
    assert_eq!(stats["pipelines"]["dlq replay"]["events"]["in"], 10);
}

#[tokio::test]
async fn a_disabled_api_listens_nowhere() {
    let settings = ApiSettings {
        enabled: false,
        host: "127.0.0.1".into(),
        ports: (9600, 9700),
        environment: String::new(),
        basic_auth: None,
    };
    let identity = Identity {
        defaults: Defaults { workers: 1, batch_size: 1, batch_delay_ms: 1 },
        ..empty_node().identity().clone()
    };
    let node = Arc::new(Node::new(identity));
    assert!(Server::bind(&settings, node.clone(), Arc::new(Levels::new(LogLevel::Warn))).await.unwrap().is_none());
    assert_eq!(node.http_address(), None);
}

#[test]
fn a_stop_ends_the_service() {
    let service = two_pipelines();
    let address = service.address;
    service.get("/");
    service.stop.cancel();
    let closed = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        std::net::TcpStream::connect(address).is_err()
    });
    assert!(closed);
}
