//! `examples/quickstart` as a new user runs it, in a copy of the folders it needs.

#[path = "support/process.rs"]
mod process;
mod program;

use std::fs;
use std::path::Path;

use process::{Process, dead_letters, lines, records};
use program::{Place, Said};
use rustix::process::Signal;

const COMMAND: &str = "--path.settings examples/quickstart";
const OUT: &str = "data/quickstart/out";
const QUEUE: &str = "data/quickstart/dead_letter_queue";

/// What of the repository the example reads.
fn checkout() -> Place {
    let mut place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(root.join(QUEUE).is_dir(), "the folder that the replay reads from comes with the repository");
    fs::create_dir_all(place.join(QUEUE)).unwrap();
    for file in [
        "examples/quickstart/logstash.yml",
        "examples/quickstart/pipelines.yml",
        "pipelines/quickstart/main.conf",
        "pipelines/quickstart/dlq_replay.conf",
        "data/connections.jsonl",
    ] {
        place = place.file(file, &fs::read_to_string(root.join(file)).unwrap());
    }
    place
}

fn run(place: &Place) -> Said {
    place.run_with_input(COMMAND, &fs::read_to_string(place.join("data/connections.jsonl")).unwrap())
}

fn started(place: &Place) -> Process {
    Process::running(place.command(COMMAND))
}

/// The values of a field in the records of an output file.
fn values(place: &Place, file: &str, field: &str) -> Vec<serde_json::Value> {
    records(&place.join(OUT).join(file)).iter().map(|record| record[field].clone()).collect()
}

/// Filters of several workers finish in any order.
fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort();
    items
}

#[test]
fn it_ends_by_itself_and_says_what_happened() {
    let place = checkout();
    let said = run(&place);
    said.fails_with(0, &["started 2 of 2 pipelines", "Logstash shut down."]).never_says("ERROR");
    assert_eq!(
        sorted(said.out.lines()),
        [
            "archived  BYTES_NEGATIVE: -1 bytes cannot be",
            "archived  HOST_MISSING: the record does not say which host it comes from",
            "archived  NOT_JSON: the line cannot be parsed",
            "repaired  web-02: port is -1 now",
            "repaired  web-03: port is -1 now",
        ]
    );
}

#[test]
fn good_records_are_written_the_others_are_repaired_or_archived_by_reason() {
    let place = checkout();
    assert_eq!(run(&place).code, 0);
    let mut good = records(&place.join(OUT).join("connections.jsonl"));
    good.sort_by_key(|record| record["@timestamp"].as_str().unwrap().to_owned());
    assert_eq!(
        good.iter().map(|record| record["port"].clone()).collect::<Vec<_>>(),
        [51820, 40022, 51821, 51901, 52000]
    );
    assert_eq!(
        good[0],
        serde_json::json!({
            "@timestamp": "2026-03-01T10:00:00.120Z", "@version": "1", "host": "web-01",
            "client": "192.0.2.10", "port": 51820, "status": 200, "bytes": 5120,
        })
    );
    let mut repaired = records(&place.join(OUT).join("repaired.jsonl"));
    repaired.sort_by_key(|record| record["host"].as_str().unwrap().to_owned());
    assert_eq!(repaired.len(), 2);
    assert_eq!(
        repaired[0],
        serde_json::json!({
            "@timestamp": "2026-03-01T10:00:01.007Z", "@version": "1", "host": "web-02",
            "client": "192.0.2.12", "port": -1, "status": 200, "bytes": 811, "tags": ["repaired"],
            "rejected": { "by": "port_unknown", "reason": "PORT_UNKNOWN: the port is no number" },
        })
    );
    let names = fs::read_dir(place.join(OUT)).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    assert_eq!(
        sorted(names),
        [
            "archive-BYTES_NEGATIVE.jsonl",
            "archive-HOST_MISSING.jsonl",
            "archive-NOT_JSON.jsonl",
            "connections.jsonl",
            "repaired.jsonl"
        ]
    );
    assert_eq!(values(&place, "archive-BYTES_NEGATIVE.jsonl", "bytes"), [-1]);
    assert_eq!(values(&place, "archive-HOST_MISSING.jsonl", "client"), ["192.0.2.13"]);
    assert_eq!(
        values(&place, "archive-NOT_JSON.jsonl", "message"),
        ["this line was cut off by a full disk {\"host\":\"we"]
    );
}

#[test]
fn the_queue_keeps_what_was_rejected_with_rule_and_reason() {
    let place = checkout();
    assert_eq!(run(&place).code, 0);
    let letters = dead_letters(&place.join(QUEUE).join("main"));
    let told = letters.iter().map(|l| (l.plugin_type.as_str(), l.plugin_id.as_str(), l.reason.as_str()));
    assert_eq!(
        sorted(told),
        [
            ("dlq", "bytes_negative", "BYTES_NEGATIVE: -1 bytes cannot be"),
            ("dlq", "host_missing", "HOST_MISSING: the record does not say which host it comes from"),
            ("dlq", "not_json", "NOT_JSON: the line cannot be parsed"),
            ("dlq", "port_unknown", "PORT_UNKNOWN: the port is no number"),
            ("dlq", "port_unknown", "PORT_UNKNOWN: the port is no number"),
        ]
    );
}

#[test]
fn a_second_run_goes_on_where_the_first_one_ended() {
    let place = checkout();
    let first = run(&place);
    let second = run(&place);
    assert_eq!((second.code, sorted(second.out.lines())), (0, sorted(first.out.lines())));
    assert_eq!(lines(&place.join(OUT).join("connections.jsonl")).len(), 10);
    assert_eq!(lines(&place.join(OUT).join("repaired.jsonl")).len(), 4);
    assert_eq!(dead_letters(&place.join(QUEUE).join("main")).len(), 10);
}

#[test]
fn an_interrupt_ends_it_cleanly_while_it_waits_for_input() {
    for signal in [Signal::INT, Signal::TERM] {
        let place = checkout();
        let process = started(&place);
        process.signal(signal);
        let said = process.end();
        said.fails_with(0, &["received. Shutting down.", "Logstash shut down."]).never_says("ERROR");
        assert!(!place.join("data/quickstart/.lock").exists());
    }
}

#[test]
fn what_was_typed_before_an_interrupt_is_not_lost() {
    let place = checkout();
    let records = fs::read_to_string(place.join("data/connections.jsonl")).unwrap();
    let mut process = started(&place);
    process.feed(&records);
    process.until_file(&place.join(OUT).join("connections.jsonl"), 5);
    process.signal(Signal::INT);
    let said = process.end();
    assert_eq!(said.code, 0, "{}", said.err);
    // What the replay did not come to is read by the next run.
    let next = place.run(COMMAND);
    assert_eq!(next.code, 0, "{}", next.err);
    assert_eq!(format!("{}{}", said.out, next.out).lines().count(), 5);
    assert_eq!(lines(&place.join(OUT).join("connections.jsonl")).len(), 5);
    assert_eq!(lines(&place.join(OUT).join("repaired.jsonl")).len(), 2);
}
