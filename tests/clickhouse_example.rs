//! `examples/clickhouse` as a user runs it, in a copy of the folders it needs, against a node that refuses what a real one
//! refuses.

mod clickhouse_support;
mod elasticsearch_support;
#[path = "support/process.rs"]
mod process;
mod program;

use std::fs;
use std::path::Path;

use clickhouse_support::{Node, exception, text};
use process::Process;
use program::Place;
use rustix::process::Signal;
use serde_json::json;

fn checkout(node: &Node) -> Place {
    let mut place = Place::new().env("CLICKHOUSE", &node.url()).env("CLICKHOUSE_CLUSTER", "three");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::create_dir_all(place.join("data/clickhouse/dead_letter_queue")).unwrap();
    for file in [
        "examples/clickhouse/logstash.yml",
        "examples/clickhouse/pipelines.yml",
        "pipelines/clickhouse/main.conf",
        "pipelines/clickhouse/dlq_replay.conf",
    ] {
        place = place.file(file, &fs::read_to_string(root.join(file)).unwrap());
    }
    place
}

#[test]
fn records_go_to_the_tables_of_their_applications_and_the_others_to_one_for_what_was_refused() {
    let node = Node::with(|insert| {
        let row = insert.first(|row| row["duration_ms"].is_string())?;
        Some(exception(
            400,
            27,
            &format!("Cannot parse input: (while reading the value of key duration_ms): (at row {row})"),
        ))
    });
    let listed = json!({ "host_name": "ch1", "host_address": "127.0.0.1", "shard_num": 1, "replica_num": 1 });
    node.answers("system.clusters", text(&format!("{listed}\n")));
    let place = checkout(&node);
    let mut process = Process::running(place.command("--path.settings examples/clickhouse"));
    let records = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("data/applications.jsonl")).unwrap();
    // The end of standard input ends the first pipeline, which sends what it holds.
    process.feed(&records).end_input();
    process.until("what was refused", || {
        (node.stored("n").iter().filter(|(table, _)| table == "`tb_refused`").count() == 2).then_some(())
    });
    process.signal(Signal::TERM);
    let said = process.end();
    assert_eq!(said.code, 0, "{}", said.err);
    let stored = |table: &str| -> Vec<String> {
        let rows = node.stored("message").into_iter().filter(|(at, _)| at == table);
        let mut messages: Vec<String> = rows.map(|(_, message)| message.as_str().unwrap().to_owned()).collect();
        messages.sort();
        messages
    };
    assert_eq!(stored("`tb_logs_order_service`"), ["order 1 placed"]);
    assert_eq!(stored("`tb_logs_web`"), ["GET / 200", "GET /favicon.ico 404"]);
    assert_eq!(stored("`tb_refused`"), ["order 2 failed", "who am I"]);
    let mut reasons: Vec<String> =
        node.stored("reason").into_iter().filter_map(|(_, r)| r.as_str().map(str::to_owned)).collect();
    reasons.sort();
    assert!(reasons[0].contains("code: 27") && reasons[1].contains("no %{application}"), "{reasons:?}");
}
