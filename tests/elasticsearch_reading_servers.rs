//! Real servers: what the `elasticsearch` input and filter read from them, and documents that are sent twice under lasting
//! ids. Run as `elasticsearch_servers.rs` says; without a server nothing is tested.

mod elasticsearch_support;
#[path = "support/search_node.rs"]
mod search_node;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use elasticsearch_support::program::Program;
use search_node::Node;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(120);
/// More than two pages of the default size.
const COUNT: i64 = 2500;

/// A new index of three shards with [`COUNT`] documents.
fn filled(node: &Node, name: &str) {
    node.delete(name);
    let settings = json!({ "settings": { "number_of_shards": 3, "number_of_replicas": 0 } });
    node.call("PUT", &format!("/{name}"), Some(&settings));
    let documents = (0..COUNT).map(|n| json!({ "n": n, "even": n % 2 == 0, "@timestamp": "2026-03-01T10:00:00.000Z" }));
    let lines: String = documents.map(|document| format!("{document}\n")).collect();
    let home = Arc::new(TempDir::new().unwrap());
    std::fs::write(home.path().join("in"), lines).unwrap();
    run(&home, &format!("{}\n{}", reading(home.path()), writing(node, name, "document_id => \"%{n}\"")), &[]);
    node.call("POST", &format!("/{name}/_refresh"), None);
}

fn reading(home: &Path) -> String {
    format!(
        "input {{ file {{ path => \"{0}/in\" mode => read codec => json sincedb_path => \"/dev/null\" \
         file_completed_action => log file_completed_log_path => \"{0}/done\" exit_after_read => true }} }}",
        home.display()
    )
}

fn writing(node: &Node, index: &str, more: &str) -> String {
    format!(
        "output {{ elasticsearch {{ hosts => \"{}\" index => \"{index}\" manage_template => false {more} }} }}",
        node.url
    )
}

/// Runs a pipeline until its inputs end.
fn run(home: &Arc<TempDir>, text: &str, settings: &[(&str, String)]) -> Program {
    let mut program = Program::start_in(home.clone(), text, settings);
    let status = program.finish(LIMIT);
    assert!(status.success(), "{}", program.log().join("\n"));
    program
}

/// The events that an input with these options reads.
fn read(node: &Node, options: &str) -> Vec<Json> {
    let home = Arc::new(TempDir::new().unwrap());
    let out = home.path().join("out");
    let text = format!(
        "input {{ elasticsearch {{ hosts => \"{}\" {options} }} }} output {{ file {{ path => \"{}\" codec => json_lines }} }}",
        node.url,
        out.display()
    );
    run(&home, &text, &[]);
    let text = std::fs::read_to_string(out).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn numbers(events: &[Json]) -> Vec<i64> {
    let mut numbers: Vec<i64> = events.iter().map(|event| event["n"].as_i64().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn every_document_is_read_once_by_every_way() {
    Node::each(|node| {
        filled(node, "read-all");
        let all: Vec<i64> = (0..COUNT).collect();
        let mut ways =
            vec!["", "search_api => scroll size => 400", "search_api => scroll slices => 3", "slices => 2 size => 300"];
        if !node.is_opensearch() {
            ways.extend([
                "search_api => search_after",
                "search_api => search_after query => '{\"sort\":[\"n\"]}' size => 700",
            ]);
        }
        for way in ways {
            assert_eq!(numbers(&read(node, &format!("index => \"read-*\" {way}"))), all, "{way}");
        }
        let some = "index => \"read-all\" query => '{\"query\":{\"range\":{\"n\":{\"gte\":2490}}}}' docinfo => true \
                    docinfo_target => \"[info]\"";
        let events = read(node, some);
        assert_eq!(numbers(&events), (2490..COUNT).collect::<Vec<_>>());
        assert!(
            events
                .iter()
                .all(|e| e["info"]["_id"].as_str() == Some(&*e["n"].to_string()) && e["info"]["_index"] == "read-all")
        );
        node.delete("read-all");
    });
}

#[test]
fn aggregations_and_refusals_of_a_real_server() {
    Node::each(|node| {
        filled(node, "counted");
        let query = r#"{"aggs":{"even":{"terms":{"field":"even"}}}}"#;
        let events = read(node, &format!("index => \"counted\" response_type => aggregations query => '{query}'"));
        assert_eq!(events.len(), 1);
        let counts: Vec<i64> =
            events[0]["even"]["buckets"].as_array().unwrap().iter().map(|b| b["doc_count"].as_i64().unwrap()).collect();
        assert_eq!(counts, [COUNT / 2, COUNT / 2]);
        node.delete("counted");
        assert!(read(node, "index => \"counted\"").is_empty(), "the index is gone: the input ends");
    });
}

#[test]
fn a_filter_finds_documents_of_a_real_server() {
    Node::each(|node| {
        filled(node, "known");
        let home = Arc::new(TempDir::new().unwrap());
        let template = home.path().join("query.json");
        std::fs::write(&template, r#"{"query":{"term":{"n":"%{n}"}},"aggs":{"top":{"max":{"field":"n"}}}}"#).unwrap();
        let text = format!(
            "filter {{ elasticsearch {{ hosts => \"{0}\" index => \"known\" query => \"n:%{{n}}\" enable_sort => false \
             fields => {{ \"even\" => \"is_even\" \"@timestamp\" => \"[seen]\" }} docinfo_fields => {{ \"_id\" => \"id\" }} }} \
             elasticsearch {{ hosts => \"{0}\" index => \"known\" query_template => \"{1}\" \
             aggregation_fields => {{ \"[top][value]\" => \"top\" }} }} }}\n\
             output {{ file {{ path => \"{2}/out\" codec => json_lines }} }}",
            node.url,
            template.display(),
            home.path().display()
        );
        let mut program = Program::start_in(home.clone(), &text, &[]);
        program.send(&[json!({ "n": 6 }), json!({ "n": 9999 }), json!({ "n": 7 })]);
        assert!(program.finish(LIMIT).success(), "{}", program.log().join("\n"));
        let written = std::fs::read_to_string(home.path().join("out")).unwrap();
        let events: Vec<Json> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |n: i64| events.iter().find(|event| event["n"] == n).unwrap();
        assert_eq!((&of(6)["is_even"], &of(6)["id"], &of(6)["top"]), (&json!(true), &json!("6"), &json!(6.0)));
        assert_eq!((&of(7)["is_even"], &of(7)["seen"]), (&json!(false), &json!("2026-03-01T10:00:00.000Z")));
        assert_eq!(of(9999).get("is_even"), None);
        node.delete("known");
    });
}

/// A thousand events, each tenth of which the mapping refuses: read, dead-lettered, repaired and replayed, all of it twice.
#[test]
fn lasting_ids_keep_documents_single_through_reading_and_replaying_twice() {
    Node::each(|node| {
        node.index("single");
        let home = Arc::new(TempDir::new().unwrap());
        let port = |n: i64| if n % 10 == 0 { json!("unknown") } else { json!(n) };
        let lines: String = (0..1000).map(|n| format!("{}\n", json!({ "n": n, "port": port(n) }))).collect();
        std::fs::write(home.path().join("in"), lines).unwrap();
        let auto = writing(node, "single", "document_id => \"auto\"");
        let with_queue = [("dead_letter_queue.enable", "true".to_owned())];
        for _ in 0..2 {
            run(&home, &format!("{}\n{auto}", reading(home.path())), &with_queue);
        }
        assert_eq!(node.documents("single").len(), 900);
        let replay = format!(
            "input {{ dead_letter_queue {{ path => \"{}/data/dead_letter_queue\" commit_offsets => false exit_after_read => true }} }}\n\
             filter {{ mutate {{ replace => {{ \"port\" => \"1\" }} }} }}\n{auto}",
            home.path().display()
        );
        for _ in 0..2 {
            run(&Arc::new(TempDir::new().unwrap()), &replay, &[]);
        }
        let documents = node.documents("single");
        assert_eq!(documents.len(), 1000, "the queue holds each dead event twice, and none became two documents");
        let mut numbers: Vec<i64> = documents.iter().map(|document| document.source["n"].as_i64().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
        // From there into another index, twice.
        node.index("copied");
        let copy = format!(
            "input {{ elasticsearch {{ hosts => \"{}\" index => \"single\" size => 300 }} }}\n{}",
            node.url,
            writing(node, "copied", "document_id => \"auto\"")
        );
        for _ in 0..2 {
            run(&Arc::new(TempDir::new().unwrap()), &copy, &[]);
        }
        assert_eq!(node.documents("copied").len(), 1000);
        for index in ["single", "copied"] {
            node.delete(index);
        }
    });
}
