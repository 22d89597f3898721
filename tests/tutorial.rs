//! The exercises of the dead letter queue tutorial, and `examples/elasticsearch`, on a real server:
//! `SPILLWAY_OPENSEARCH=http://127.0.0.1:19200 cargo test --test tutorial`, after `tests/services/opensearch.sh start`.

#[path = "support/process.rs"]
mod process;
mod program;
#[path = "support/search_node.rs"]
mod search_node;

use std::fs;
use std::path::{Path, PathBuf};

use process::{DeadLetter, Process, dead_letters, queue_bytes};
use program::Place;
use search_node::Node;
use serde_json::json;

const SETTINGS: &str = "path.data: data
pipeline.workers: 1
pipeline.ecs_compatibility: disabled
dead_letter_queue.enable: true
dead_letter_queue.flush_interval: 1000
";
const QUEUE: &str = "data/dead_letter_queue/main";
const RUN: &str = "--path.settings cfg";
/// The replay alone, after everything was rejected.
const REPLAY: &str = "--path.settings cfg -f replay.conf --pipeline.id replay";

/// `main` sends `count` documents with an unknown port and then waits for standard input to end.
fn main_conf(node: &Node, index: &str, count: usize, padding: usize) -> String {
    let padding = "x".repeat(padding);
    let line = format!(r#"{{"port":"unknown","padding":"{padding}","@timestamp":"2026-03-01T10:00:00.000Z"}}"#);
    format!(
        "input {{ generator {{ lines => ['{line}'] count => {count} codec => json }} stdin {{}} }}
        {}",
        output(node, index)
    )
}

fn output(node: &Node, index: &str) -> String {
    let options = "document_id => \"%{sequence}\" manage_template => false";
    format!("output {{ elasticsearch {{ hosts => [\"{}\"] index => \"{index}\" {options} }} }}\n", node.url)
}

/// Reads a queue, repairs the port, sends again.
fn replay_conf(node: &Node, index: &str, options: &str) -> String {
    format!(
        "input {{ dead_letter_queue {{ path => \"data/dead_letter_queue\" {options} }} }}
        filter {{
          if [@metadata][dead_letter_queue][reason] =~ /status: 400.*port/ {{
            mutate {{ replace => {{ \"port\" => \"-1\" }} convert => {{ \"port\" => \"integer\" }} }}
          }}
        }}
        {}",
        output(node, index)
    )
}

fn place(main: &str, replay: &str) -> Place {
    let place = Place::new()
        .file("cfg/logstash.yml", SETTINGS)
        .file(
            "cfg/pipelines.yml",
            "- { pipeline.id: main, path.config: main.conf }\n- { pipeline.id: replay, path.config: replay.conf }\n",
        )
        .file("main.conf", main)
        .file("replay.conf", replay);
    fs::create_dir_all(place.join("data/dead_letter_queue")).unwrap();
    place
}

/// Rejects everything that `main` sends, and ends.
fn reject(place: &Place) {
    let said = place.run("--path.settings cfg -f main.conf");
    assert_eq!(said.code, 0, "{}", said.err);
}

/// The file with the position of the replay.
fn sincedb(place: &Place) -> PathBuf {
    let folder = place.join("data/plugins/inputs/dead_letter_queue/main");
    let names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    names[0].clone()
}

/// Segment and offset of a position.
fn position(sincedb: &Path) -> (PathBuf, u64) {
    let bytes = fs::read(sincedb).unwrap();
    let length = u32::from_be_bytes(bytes[2..6].try_into().unwrap()) as usize;
    let (path, rest) = bytes[6..].split_at(length);
    (PathBuf::from(String::from_utf8(path.to_vec()).unwrap()), u64::from_be_bytes(rest[..8].try_into().unwrap()))
}

fn segments(place: &Place) -> Vec<u32> {
    let names = fs::read_dir(place.join(QUEUE)).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut numbers: Vec<u32> = names.filter_map(|name| name.strip_suffix(".log")?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// The numbers of the documents that wait in the queue.
fn waiting(place: &Place) -> Vec<i64> {
    let sequence = |letter: DeadLetter| letter.event.fields().get("sequence").unwrap().as_integer().unwrap();
    dead_letters(&place.join(QUEUE)).into_iter().map(sequence).collect()
}

#[test]
fn exercise_1_a_rejected_document_is_repaired_and_arrives() {
    let Some(node) = Node::given() else { return };
    node.index("tutorial-1");
    let place =
        place(&main_conf(&node, "tutorial-1", 1, 0), &replay_conf(&node, "tutorial-1", "exit_after_read => true"));
    let segment = place.join(QUEUE).join("1.log");
    let mut process = Process::running(place.command(RUN));
    process.until("a sealed segment while the pipeline runs on", || segment.exists().then_some(()));
    let letters = dead_letters(&place.join(QUEUE));
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].plugin_type.as_str(), "elasticsearch");
    let reason = letters[0].reason.as_str();
    assert!(
        reason.starts_with("Could not index event to Elasticsearch. status: 400, action: [\"index\", "),
        "{reason}"
    );
    assert!(reason.contains("failed to parse field [port] of type [integer]"), "{reason}");
    process.until("the repaired document", || (node.documents("tutorial-1").len() == 1).then_some(()));
    process.end_input();
    assert_eq!(process.end().code, 0);
    let documents = node.documents("tutorial-1");
    assert_eq!((documents[0].version, &documents[0].source["port"]), (1, &json!(-1)));
    assert!(documents[0].source.get("@metadata").is_none());
    assert_eq!(position(&sincedb(&place)), (fs::canonicalize(&segment).unwrap(), segment.metadata().unwrap().len()));
    // A second start has nothing to do; without the position it does it all again.
    assert_eq!(place.run(REPLAY).code, 0);
    assert_eq!(node.documents("tutorial-1")[0].version, 1);
    fs::remove_file(sincedb(&place)).unwrap();
    assert_eq!(place.run(REPLAY).code, 0);
    assert_eq!(node.documents("tutorial-1")[0].version, 2);
    node.delete("tutorial-1");
}

const MANY: usize = 600;

/// Fills a queue of one mebibyte with more than it can hold; gives what stays, after a look at the node stats.
fn overfill(node: &Node, index: &str, policy: &str) -> (Place, serde_json::Value) {
    node.index(index);
    let place = place(&main_conf(node, index, MANY, 2000), "");
    let limits = format!("-S dead_letter_queue.max_bytes=1mb -S dead_letter_queue.storage_policy={policy}");
    let mut process = Process::running(place.command(&format!("{RUN} -f main.conf {limits}")));
    let stats = process.until("all rejections", || {
        let stats = process.stats("main");
        let settled = stats["events"]["out"] == MANY;
        let queue = &stats["dead_letter_queue"];
        (settled && queue["queue_size_in_bytes"] == queue_bytes(&place.join(QUEUE))).then(|| queue.clone())
    });
    assert_eq!((&stats["max_queue_size_in_bytes"], &stats["storage_policy"]), (&json!(1 << 20), &json!(policy)));
    assert!(stats["queue_size_in_bytes"].as_u64().unwrap() <= 1 << 20, "{stats}");
    process.end_input();
    assert_eq!(process.end().code, 0);
    assert!(queue_bytes(&place.join(QUEUE)) <= 1 << 20);
    node.delete(index);
    (place, stats)
}

#[test]
fn exercise_2_a_full_queue_drops_what_is_newer() {
    let Some(node) = Node::given() else { return };
    let (place, stats) = overfill(&node, "tutorial-2-newer", "drop_newer");
    let kept = waiting(&place);
    assert!(kept.len() > 100 && kept.len() < MANY, "{}", kept.len());
    assert_eq!(kept, (0..kept.len() as i64).collect::<Vec<_>>());
    assert_eq!(stats["dropped_events"], MANY - kept.len());
    let error = stats["last_error"].as_str().unwrap();
    assert!(
        error.contains("Cannot write event to DLQ") && error.contains("reached maxQueueSize of 1048576"),
        "{error}"
    );
}

#[test]
fn exercise_2_a_full_queue_drops_what_is_older() {
    let Some(node) = Node::given() else { return };
    let (place, stats) = overfill(&node, "tutorial-2-older", "drop_older");
    let kept = waiting(&place);
    assert!(kept.len() > 100 && kept.len() < MANY, "{}", kept.len());
    assert_eq!(kept, ((MANY - kept.len()) as i64..MANY as i64).collect::<Vec<_>>());
    assert_eq!((&stats["dropped_events"], &stats["last_error"]), (&json!(0), &json!("no errors")));
    assert!(segments(&place)[0] > 1);
}

#[test]
fn exercise_3_segments_stay_or_go_once_they_are_read() {
    let Some(node) = Node::given() else { return };
    node.index("tutorial-3");
    let place =
        place(&main_conf(&node, "tutorial-3", 150, 2000), &replay_conf(&node, "tutorial-3", "exit_after_read => true"))
            // Segments of a quarter of a mebibyte.
            .file(
                "cfg/logstash.yml",
                &format!("{SETTINGS}dead_letter_queue.max_bytes: 1mb\ndead_letter_queue.storage_policy: drop_older\n"),
            );
    reject(&place);
    let all = segments(&place);
    assert!(all.len() >= 3, "{all:?}");
    assert_eq!(place.run(REPLAY).code, 0);
    assert_eq!(node.documents("tutorial-3").len(), 150);
    assert_eq!(segments(&place), all);

    node.index("tutorial-3");
    fs::remove_file(sincedb(&place)).unwrap();
    let place = place.file("replay.conf", &replay_conf(&node, "tutorial-3", "clean_consumed => true"));
    let process = Process::running(place.command(REPLAY));
    process.until("only the last segment", || (segments(&place) == all[all.len() - 1..]).then_some(()));
    let cleaned = process.until("the count of cleaned segments", || {
        let input = process.stats("replay")["plugins"]["inputs"][0].clone();
        (input["main"]["cleaned_segments"] == all.len() - 1).then(|| input["main"]["cleaned_events"].clone())
    });
    process.until("all documents", || (node.documents("tutorial-3").len() == 150).then_some(()));
    assert_eq!(process.stop().code, 0);
    assert_eq!(cleaned, 150 - waiting(&place).len());
    assert_eq!(segments(&place), all[all.len() - 1..]);
    node.delete("tutorial-3");
}

#[test]
fn exercise_3_cleaning_without_a_position_is_refused() {
    let node = Node { url: "http://127.0.0.1:9".to_owned() };
    let options = "clean_consumed => true commit_offsets => false";
    let said = place("", &replay_conf(&node, "i", options)).run(REPLAY);
    said.fails_with(1, &["replay.conf", "clean_consumed => true needs commit_offsets => true"]);
}

#[test]
fn exercise_4_two_queue_directories_are_replayed_by_themselves() {
    let Some(node) = Node::given() else { return };
    let mut place = Place::new().file("cfg/logstash.yml", SETTINGS);
    let mut list = String::new();
    for id in ["a", "b"] {
        let index = format!("tutorial-4-{id}");
        node.index(&index);
        let replay =
            replay_conf(&node, &index, &format!("pipeline_id => \"{id}\" add_field => {{ \"from\" => \"{id}\" }}"))
                .replace("data/dead_letter_queue", &format!("queues-{id}"));
        place = place
            .file(&format!("{id}.conf"), &main_conf(&node, &index, if id == "a" { 3 } else { 5 }, 0))
            .file(&format!("replay-{id}.conf"), &replay)
            .file(&format!("queues-{id}/.keep"), "");
        list.push_str(&format!(
            "- {{ pipeline.id: {id}, path.config: {id}.conf, path.dead_letter_queue: queues-{id} }}
- {{ pipeline.id: replay-{id}, path.config: replay-{id}.conf, dead_letter_queue.enable: false }}\n"
        ));
    }
    let place = place.file("cfg/pipelines.yml", &list);
    let process = Process::running(place.command(RUN));
    for (id, count) in [("a", 3), ("b", 5)] {
        let index = format!("tutorial-4-{id}");
        process.until("the repaired documents", || (node.documents(&index).len() == count).then_some(()));
        assert!(node.documents(&index).iter().all(|d| d.source["from"] == id && d.source["port"] == -1));
    }
    assert_eq!(process.stop().code, 0);
    for (id, count) in [("a", 3), ("b", 5)] {
        assert_eq!(dead_letters(&place.join(&format!("queues-{id}/{id}"))).len(), count);
        node.delete(&format!("tutorial-4-{id}"));
    }
    assert!(!place.join("data/dead_letter_queue").exists());
}

/// Of each ten documents one has an unknown port.
#[test]
fn of_ten_thousand_documents_the_thousand_bad_ones_are_repaired_and_none_is_stored_twice() {
    let Some(node) = Node::given() else { return };
    node.index("tutorial-many");
    let port = |k: usize| if k == 3 { "\"unknown\"" } else { "80" };
    let lines: Vec<String> = (0..10).map(|k| format!("'{{\"k\":{k},\"port\":{}}}'", port(k))).collect();
    let output = output(&node, "tutorial-many").replace("%{sequence}", "%{sequence}-%{k}");
    let main = format!(
        "input {{ generator {{ lines => [{}] count => 1000 codec => json }} stdin {{}} }} {output}",
        lines.join(", ")
    );
    let replay = |options| replay_conf(&node, "tutorial-many", options).replace("%{sequence}", "%{sequence}-%{k}");
    let place = place(&main, &replay(""));
    let mut process = Process::running(place.command(RUN));
    let count = || {
        node.call("POST", "/tutorial-many/_refresh", None);
        node.call("GET", "/tutorial-many/_count", None)["count"].as_i64().unwrap_or(0)
    };
    process.until("all documents", || (count() == 10_000).then_some(()));
    process.end_input();
    let said = process.stop();
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(dead_letters(&place.join(QUEUE)).len(), 1000);
    // All of them were read: a replay that ends with the queue has nothing to do.
    let place = place.file("replay.conf", &replay("exit_after_read => true"));
    assert_eq!(place.run(REPLAY).code, 0);
    let documents = node.documents("tutorial-many");
    assert_eq!(documents.iter().filter(|document| document.source["port"] == -1).count(), 1000);
    assert!(documents.iter().all(|document| document.version == 1), "one was stored twice");
    node.delete("tutorial-many");
}

#[test]
fn the_elasticsearch_example_repairs_what_the_server_rejects() {
    let Some(node) = Node::given() else { return };
    node.index("connections");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = "data/elasticsearch/dead_letter_queue";
    assert!(root.join(folder).is_dir(), "the folder that the replay reads from comes with the repository");
    let mut place = Place::new().env("ELASTICSEARCH", &node.url);
    fs::create_dir_all(place.join(folder)).unwrap();
    for file in [
        "examples/elasticsearch/logstash.yml",
        "examples/elasticsearch/pipelines.yml",
        "pipelines/elasticsearch/main.conf",
        "pipelines/elasticsearch/dlq_replay.conf",
        "data/connections.jsonl",
    ] {
        place = place.file(file, &fs::read_to_string(root.join(file)).unwrap());
    }
    let mut process = Process::running(place.command("--path.settings examples/elasticsearch"));
    process.feed(&fs::read_to_string(place.join("data/connections.jsonl")).unwrap());
    process.end_input();
    let count = |port: i64| node.documents("connections").iter().filter(|d| d.source["port"] == port).count();
    process.until("the repaired documents", || (count(-1) == 2).then_some(()));
    let said = process.stop();
    assert_eq!(said.code, 0, "{}", said.err);
    let documents = node.documents("connections");
    assert_eq!(documents.len(), 10, "{}", said.err);
    assert!(
        documents
            .iter()
            .filter(|d| d.source["port"] == -1)
            .all(|d| { d.source["rejected"]["reason"].as_str().is_some_and(|reason| reason.contains("status: 400")) })
    );
    node.delete("connections");
}
