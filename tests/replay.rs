//! Events that were rejected, read again: what they carry, what reaches outputs, and what becomes of those that fail
//! once more. The rejecting server is a stub.

mod elasticsearch_support;
#[path = "support/process.rs"]
mod process;
mod program;

use std::fs;
use std::time::Duration;

use elasticsearch_support::bulk;
use elasticsearch_support::server::Server;
use process::{Process, dead_letters, queue_bytes, records};
use program::Place;
use serde_json::json;
use spillway::dead_letter::{DeadLetter, record};

/// Segments appear after one second without a further entry.
const SETTINGS: &str = "path.data: data
pipeline.workers: 1
pipeline.ecs_compatibility: disabled
log.rate_limit: 0s
dead_letter_queue.enable: true
dead_letter_queue.flush_interval: 1000
";

/// A place with these pipelines, each an id and its configuration.
fn place(pipelines: &[(&str, &str)]) -> Place {
    let mut list = String::new();
    let mut place = Place::new().file("cfg/logstash.yml", SETTINGS);
    for (id, config) in pipelines {
        list.push_str(&format!("- {{ pipeline.id: {id}, path.config: {id}.conf }}\n"));
        place = place.file(&format!("{id}.conf"), config);
    }
    fs::create_dir_all(place.join("data/dead_letter_queue")).unwrap();
    place.file("cfg/pipelines.yml", &list)
}

fn start(place: &Place, more: &str) -> Process {
    Process::running(place.command(&format!("--path.settings cfg {more}")))
}

/// An input that reads the queue of a pipeline.
fn reading(queue: &str) -> String {
    format!("input {{ dead_letter_queue {{ path => \"data/dead_letter_queue\" pipeline_id => \"{queue}\" }} }}")
}

fn elasticsearch(id: &str, server: &Server) -> String {
    let url = server.url();
    format!(
        "output {{ elasticsearch {{ id => \"{id}\" hosts => [\"{url}\"] index => \"i\" manage_template => false }} }}"
    )
}

/// A server that rejects every document with this error.
fn rejecting(kind: &'static str) -> Server {
    bulk::elasticsearch(move |request| {
        let items = vec![bulk::item(400, kind, "because"); bulk::docs(request).len()];
        bulk::sorted(request, &items)
    })
}

fn queue(place: &Place, id: &str) -> Vec<DeadLetter> {
    dead_letters(&place.join("data/dead_letter_queue").join(id))
}

/// Waits until a queue holds so many sealed entries, and gives them as its reader hands them on.
fn until_queued(process: &Process, place: &Place, id: &str, count: usize) -> Vec<serde_json::Value> {
    process.until(&format!("entry {count} of {id}"), || (queue(place, id).len() >= count).then_some(()));
    let letters = queue(place, id);
    assert_eq!(letters.len(), count, "{id}");
    letters.into_iter().map(|letter| metadata(&letter)).collect()
}

/// `[@metadata][dead_letter_queue]` of an entry once it is read.
fn metadata(letter: &DeadLetter) -> serde_json::Value {
    let event = letter.clone().into_event();
    let mut json = Vec::new();
    spillway::event::json::write_map(event.metadata(), &mut json);
    serde_json::from_slice::<serde_json::Value>(&json).unwrap()["dead_letter_queue"].take()
}

const THREE: &str = "input { generator { count => 3 } } ";

#[test]
fn replay_second_round() {
    let (first, second, third) =
        (rejecting("first_exception"), rejecting("second_exception"), rejecting("third_exception"));
    let place = place(&[
        ("main", &(THREE.to_owned() + &elasticsearch("es-1", &first))),
        ("replay", &(reading("main") + &elasticsearch("es-2", &second))),
        ("last", &(reading("replay") + &elasticsearch("es-3", &third))),
    ]);
    let process = start(&place, "");
    for round in until_queued(&process, &place, "replay", 3) {
        assert_eq!(round["attempt"], 2);
        assert!(round["reason"].as_str().unwrap().contains("second_exception"), "{round}");
        assert_eq!(round["plugin_id"], "es-2");
        let [before] = round["history"].as_array().unwrap().as_slice() else { panic!("{round}") };
        assert!(before["reason"].as_str().unwrap().contains("first_exception"), "{round}");
        assert_eq!((&before["plugin_id"], &before["source_queue"]), (&json!("es-1"), &json!("main")));
        assert!(before["entry_time"].as_str().unwrap().ends_with('Z'), "{round}");
    }
    for round in until_queued(&process, &place, "last", 3) {
        assert_eq!(round["attempt"], 3);
        assert!(round["reason"].as_str().unwrap().contains("third_exception"), "{round}");
        let rounds: Vec<_> = round["history"].as_array().unwrap().iter().map(|r| r["plugin_id"].clone()).collect();
        assert_eq!(rounds, ["es-1", "es-2"]);
    }
    assert_eq!(process.stop().code, 0);
    let numbers: Vec<_> = queue(&place, "last").iter().map(|l| l.event.fields().get("sequence").cloned()).collect();
    assert_eq!(numbers, [Some(0.into()), Some(1.into()), Some(2.into())]);
    assert_eq!(queue(&place, "main").len(), 3);
}

#[test]
fn replay_own_queue_parked() {
    let server = rejecting("some_exception");
    let inputs = "input { generator { count => 100 } dead_letter_queue { path => \"data/dead_letter_queue\" } } ";
    let place = place(&[("main", &(inputs.to_owned() + &elasticsearch("es", &server)))]);
    let process = start(&place, "");
    for round in until_queued(&process, &place, "main.parked", 100) {
        assert_eq!((&round["attempt"], &round["source_queue"]), (&json!(2), &json!("main.parked")));
    }
    let said = process.stop();
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!((queue(&place, "main").len(), queue(&place, "main.parked").len()), (100, 100));
    let warnings = said.err.lines().filter(|line| line.contains("WARN") && line.contains("main.parked"));
    assert_eq!(warnings.count(), 1, "{}", said.err);
    // Nothing reads the parked queue by itself, and everything can.
    let config =
        format!("{} output {{ stdout {{ codec => line {{ format => \"%{{sequence}}\" }} }} }}", reading("main.parked"));
    let reader = Process::running(place.file("parked.conf", &config).command("-f parked.conf --path.data other"));
    reader.until_lines(100);
    let mut read: Vec<usize> = reader.stop().out.lines().map(|line| line.parse().unwrap()).collect();
    read.sort_unstable();
    assert_eq!(read, (0..100).collect::<Vec<_>>());
}

#[test]
fn guard_skip() {
    let (first, second) = (rejecting("first_exception"), rejecting("second_exception"));
    let place = place(&[
        ("main", &(THREE.to_owned() + &elasticsearch("es-1", &first))),
        ("replay", &(reading("main") + &elasticsearch("es-2", &second))),
    ]);
    let process = start(&place, "-S dead_letter_queue.loop_guard=skip");
    process.until("what is routed to the queue", || {
        let output = process.stats("replay")["plugins"]["outputs"][0].clone();
        (output["documents"]["dlq_routed"] == 3).then_some(())
    });
    let said = process.stop();
    said.fails_with(0, &["previously submitted to dead letter queue"]);
    assert_eq!((queue(&place, "main").len(), queue(&place, "replay").len()), (3, 0));
    assert!(!place.join("data/dead_letter_queue/replay.parked").exists());
}

#[test]
fn es_bulk_400() {
    let server = bulk::elasticsearch(|request| {
        let items = [
            bulk::item(201, "", ""),
            bulk::item(400, "mapper_parsing_exception", "failed to parse field [port]"),
            bulk::item(409, "version_conflict_engine_exception", "exists"),
            bulk::item(404, "document_missing_exception", "missing"),
        ];
        bulk::sorted(request, &items)
    });
    let config =
        "input { generator { count => 4 } heartbeat { interval => 600 } } filter { if ![sequence] { drop {} } } ";
    let place = place(&[("main", &(config.to_owned() + &elasticsearch("es-1", &server)))]);
    let process = start(&place, "");
    let rounds = until_queued(&process, &place, "main", 2);
    let output = process.stats("main")["plugins"]["outputs"][0].clone();
    assert_eq!(output["documents"], json!({ "successes": 1, "non_retryable_failures": 1, "dlq_routed": 2 }));
    assert_eq!(process.stop().code, 0);
    for (round, (status, kind)) in
        rounds.iter().zip([(400, "mapper_parsing_exception"), (404, "document_missing_exception")])
    {
        assert_eq!((&round["plugin_type"], &round["plugin_id"]), (&json!("elasticsearch"), &json!("es-1")));
        let reason = round["reason"].as_str().unwrap();
        let start = format!("Could not index event to Elasticsearch. status: {status}, action: [\"index\", ");
        assert!(reason.starts_with(&start) && reason.contains(kind), "{reason}");
    }
}

#[test]
fn es_bad_index() {
    let server = bulk::elasticsearch(bulk::accepted);
    let url = server.url();
    let config = format!(
        "input {{ stdin {{ codec => json_lines }} }}
         output {{ elasticsearch {{ id => \"es\" hosts => [\"{url}\"] index => \"logs-%{{[missing]}}\" manage_template => false }} }}"
    );
    let place = place(&[("main", &config)]);
    let mut process = start(&place, "");
    process.feed("{\"a\":1}\n");
    let rounds = until_queued(&process, &place, "main", 1);
    let documents = process.stats("main")["plugins"]["outputs"][0]["documents"].clone();
    assert_eq!(documents["non_retryable_failures"], 1);
    assert_eq!(documents["dlq_routed"].as_u64().unwrap_or(0), 0);
    assert_eq!(process.stop().code, 0);
    let reason = rounds[0]["reason"].as_str().unwrap();
    let start = "Badly formatted index, after interpolation still contains placeholder: [logs-%{[missing]}]";
    assert!(reason.starts_with(start), "{reason}");
    assert!(server.bulks().is_empty());
}

#[test]
fn stats_shape() {
    let idle = "input { heartbeat { interval => 600 } } output { null {} }";
    let place = place(&[("main", idle), ("b", idle)]).file(
        "cfg/pipelines.yml",
        "- { pipeline.id: main, path.config: main.conf }
- { pipeline.id: b, path.config: b.conf, dead_letter_queue.enable: false }\n",
    );
    let process = start(&place, "");
    let stats = process.get("/_node/stats/pipelines");
    assert_eq!(
        stats["pipelines"]["main"]["dead_letter_queue"],
        json!({
            "max_queue_size_in_bytes": 1_073_741_824, "last_error": "no errors", "queue_size_in_bytes": 1,
            "dropped_events": 0, "expired_events": 0, "storage_policy": "drop_newer",
        })
    );
    assert!(stats["pipelines"]["b"].get("dead_letter_queue").is_none());
    let info = process.get("/_node/pipelines");
    let (main, b) = (&info["pipelines"]["main"], &info["pipelines"]["b"]);
    assert_eq!((&main["dead_letter_queue_enabled"], &b["dead_letter_queue_enabled"]), (&json!(true), &json!(false)));
    let path = main["dead_letter_queue_path"].as_str().unwrap();
    assert!(path.starts_with('/') && path.ends_with("/dead_letter_queue/main"), "{path}");
    assert!(b.get("dead_letter_queue_path").is_none());
    assert!(!place.join("data/dead_letter_queue/b").exists());
    assert_eq!(process.stop().code, 0);
}

/// The bytes of a case in hexadecimal.
fn case_bytes(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/dead-letter-queue.yml");
    let entries = spillway::testing::file::read(&path).unwrap();
    let entry = entries.iter().find(|entry| entry.name == name).unwrap();
    let hex = entry.keys.get("hex").and_then(|value| value.as_str()).unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn input_metadata() {
    let mut segment = vec![record::VERSION];
    record::frame(&case_bytes("dlq.entry.rich"), 1, &mut segment);
    let input = "input { dead_letter_queue { path => \"queue\" pipeline_id => \"main\"
        add_field => { \"x\" => \"%{[@metadata][dead_letter_queue][entry_time]}\" } } }";
    // `rubydebug` shows a string with quotes and a timestamp without.
    let config = format!("{input} output {{ stdout {{ codec => rubydebug {{ metadata => true }} }} }}");
    let place = Place::new().file("replay.conf", &config).file("queue/main/.keep", "");
    fs::write(place.join("queue/main/1.log"), segment).unwrap();
    let process = Process::running(place.command("-f replay.conf --path.data data"));
    process.until("the event", || process.out().ends_with("}\n").then_some(()));
    let said = process.stop();
    assert_eq!(said.code, 0);
    for part in [
        "\"plugin_type\" => \"elasticsearch\"",
        "\"plugin_id\" => \"out-1\"",
        "\"reason\" => \"reason ü\"",
        "\"entry_time\" => 2024-02-03T04:05:06.007Z",
        "\"k\" => \"v\"",
        "\"x\" => \"2024-02-03T04:05:06.007Z\"",
        "\"@timestamp\" => 2024-01-02T03:04:05.678Z",
    ] {
        assert!(said.out.contains(part), "no {part} in\n{}", said.out);
    }
}

#[test]
fn input_pipeline_dir_missing() {
    let config = "input { dead_letter_queue { path => \"queue\" } }
        output { stdout { codec => line { format => \"%{[@metadata][dead_letter_queue][reason]}\" } } }";
    let place = Place::new().file("replay.conf", config).file("queue/.keep", "");
    let process = Process::running(place.command("-f replay.conf --path.data data"));
    process.until_err("queue/main");
    // More looks give no more warnings.
    std::thread::sleep(Duration::from_millis(300));
    fs::create_dir(place.join("queue/main")).unwrap();
    fs::write(place.join("queue/main/1.log"), case_bytes("dlq.segment.five")).unwrap();
    process.until_lines(5);
    let said = process.stop();
    assert_eq!((said.code, said.out.as_str()), (0, "r0\nr1\nr2\nr3\nr4\n"), "{}", said.err);
    assert_eq!(said.err.lines().filter(|line| line.contains("queue/main")).count(), 1, "{}", said.err);
}

#[test]
fn conditionals_see_all_four_fields_and_outputs_see_no_metadata() {
    let main = "input { generator { count => 1 } } filter { dlq { id => \"rule-7\" reason => \"PORT: no number\" } } output { null {} }";
    let replay = reading("main")
        + "filter {
            if [@metadata][dead_letter_queue][reason] =~ /^PORT/ { mutate { add_tag => [\"reason\"] } }
            if [@metadata][dead_letter_queue][plugin_type] == \"dlq\" { mutate { add_tag => [\"type\"] } }
            if [@metadata][dead_letter_queue][plugin_id] in [\"rule-6\", \"rule-7\"] { mutate { add_tag => [\"id\"] } }
            if [@metadata][dead_letter_queue][entry_time] { mutate { add_tag => [\"time\"] } }
            mutate { copy => { \"[@metadata][dead_letter_queue][reason]\" => \"[rejected][reason]\" } }
        }
        output { file { flush_interval => 0 path => \"out.jsonl\" } }";
    let place = place(&[("main", main), ("replay", &replay)]);
    let process = start(&place, "");
    process.until_file(&place.join("out.jsonl"), 1);
    assert_eq!(process.stop().code, 0);
    let out = records(&place.join("out.jsonl"));
    assert_eq!(out[0]["tags"], json!(["reason", "type", "id", "time"]));
    assert_eq!(out[0]["rejected"], json!({ "reason": "PORT: no number" }));
    assert!(out[0].get("@metadata").is_none(), "{}", out[0]);
}

#[test]
fn metadata_does_not_reach_a_server() {
    let server = bulk::elasticsearch(bulk::accepted);
    let main = "input { generator { count => 1 } } filter { dlq { reason => \"R\" } } output { null {} }";
    let replay = reading("main") + &elasticsearch("es", &server);
    let place = place(&[("main", main), ("replay", &replay)]);
    let process = start(&place, "");
    process.until("the document", || (!server.bulks().is_empty()).then_some(()));
    assert_eq!(process.stop().code, 0);
    let documents = bulk::documents(&server.bulks()[0]);
    assert_eq!(documents[0]["message"], "Hello world!");
    assert!(documents[0].get("@metadata").is_none() && !documents[0].to_string().contains("dead_letter_queue"));
}

#[test]
fn the_reason_without_metadata_in_its_path_is_warned_of() {
    let config = format!(
        "{} filter {{ if [dead_letter_queue][reason] =~ /x/ {{ drop {{}} }} }} output {{ null {{}} }}",
        reading("main")
    );
    let place = place(&[("replay", &config)]);
    let said = place.run("-t --path.settings cfg");
    said.fails_with(
        0,
        &["warning", "replay.conf", "line 1", "[dead_letter_queue][reason]", "[@metadata][dead_letter_queue][reason]"],
    );
    let process = start(&place, "");
    let said = process.stop();
    said.fails_with(0, &["WARN", "[@metadata][dead_letter_queue][reason]"]);
}

#[test]
fn a_full_queue_is_not_grown_by_its_replay() {
    let server = rejecting("some_exception");
    let place = place(&[
        ("main", &(THREE.to_owned() + &elasticsearch("es-1", &server))),
        ("replay", &(reading("main") + &elasticsearch("es-2", &server))),
    ]);
    let process = start(&place, "");
    until_queued(&process, &place, "replay", 3);
    let dir = place.join("data/dead_letter_queue");
    let size = queue_bytes(&dir.join("main"));
    assert_eq!(process.stats("main")["dead_letter_queue"]["queue_size_in_bytes"], size);
    assert_eq!(process.stats("replay")["dead_letter_queue"]["queue_size_in_bytes"], queue_bytes(&dir.join("replay")));
    assert_eq!(process.stop().code, 0);
    assert_eq!(queue(&place, "main").len(), 3);
}
