//! Real servers: `SPILLWAY_OPENSEARCH=http://127.0.0.1:19200 cargo test --test elasticsearch_servers`, after
//! `tests/services/opensearch.sh start`; `SPILLWAY_ELASTICSEARCH` does the same for an Elasticsearch node. Without
//! them nothing is tested.

mod elasticsearch_support;
#[path = "support/search_node.rs"]
mod search_node;

use std::time::Duration;

use serde_json::{Value as Json, json};

use elasticsearch_support::direct::Direct;
use elasticsearch_support::program::Program;
use search_node::Node;

const QUICK: &str = "retry_initial_interval => 0.2 retry_max_interval => 0.5 resurrect_delay => 0.2";

fn writing_to(node: &Node, index: &str, more: &str) -> Direct {
    let options = format!("hosts => [\"{}\"] index => \"{index}\" manage_template => false {QUICK} {more}", node.url);
    Direct::start(&options, true)
}

fn places(dead: &[(usize, String)]) -> Vec<usize> {
    dead.iter().map(|(at, _)| *at).collect()
}

#[test]
fn a_field_of_the_wrong_type_is_dead_and_the_others_are_stored() {
    Node::each(|node| {
        node.index("ports");
        let output = writing_to(node, "ports", "document_id => \"%{id}\"");
        let dead = output.dead(&[
            json!({ "id": "1", "port": 80 }),
            json!({ "id": "2", "port": "unknown" }),
            json!({ "id": "3", "port": 81 }),
        ]);
        assert_eq!(places(&dead), [1]);
        for part in ["status: 400", "parsing_exception\"", "failed to parse field [port] of type [integer]"] {
            assert!(dead[0].1.contains(part), "{}", dead[0].1);
        }
        assert!(!dead[0].1.contains("\"_id\""), "only status and error are asked for: {}", dead[0].1);
        assert_eq!(node.ids("ports"), ["1", "3"]);
    });
}

#[test]
fn creating_what_exists_is_a_conflict_and_dropped() {
    Node::each(|node| {
        node.index_of("once", &json!({}));
        let output = writing_to(node, "once", "document_id => \"%{id}\" action => \"create\"");
        assert!(output.dead(&[json!({ "id": "1", "n": 1 })]).is_empty());
        assert!(output.dead(&[json!({ "id": "1", "n": 2 }), json!({ "id": "2", "n": 2 })]).is_empty());
        let documents = node.documents("once");
        assert_eq!(documents.iter().map(|d| d.source["n"].clone()).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(output.count("documents.non_retryable_failures"), 1);
        assert_eq!(output.count("documents.successes"), 2);
    });
}

#[test]
fn a_closed_index_and_a_missing_pipeline_are_dead() {
    Node::each(|node| {
        node.index_of("shut", &json!({}));
        node.index_of("open", &json!({}));
        node.call("POST", "/shut/_close", None);
        let output = writing_to(node, "%{to}", "pipeline => \"%{[@metadata][pipeline]}\"");
        let dead = output.dead(&[
            json!({ "to": "shut", "@metadata": { "pipeline": "" } }),
            json!({ "to": "open", "@metadata": { "pipeline": "" } }),
            json!({ "to": "open", "@metadata": { "pipeline": "nowhere" } }),
            json!({ "to": "UPPER", "@metadata": { "pipeline": "" } }),
        ]);
        assert_eq!(places(&dead), [0, 2, 3]);
        for ((_, reason), part) in dead.iter().zip([
            "index_closed_exception",
            "pipeline with id [nowhere] does not exist",
            "invalid_index_name",
        ]) {
            assert!(reason.contains("status: 400") && reason.contains(part), "{reason}");
        }
        assert_eq!(node.documents("open").len(), 1);
    });
}

#[test]
fn deletes_and_updates_of_what_is_not_there() {
    Node::each(|node| {
        node.index("changes");
        let options = "document_id => \"%{id}\" action => \"%{[@metadata][do]}\" doc_as_upsert => false";
        let output = writing_to(node, "changes", options);
        let event =
            |action: &str, id: &str, port: Json| json!({ "id": id, "port": port, "@metadata": { "do": action } });
        let events = [
            event("index", "1", json!(1)),
            event("update", "1", json!(2)),
            event("delete", "gone", json!(0)),
            event("update", "missing", json!(0)),
            event("index", "2", json!("unknown")),
            event("index", "3", json!(3)),
            event("delete", "3", json!(3)),
        ];
        // The failed ones make the reply list the delete, too: it is no failure all the same.
        let dead = output.dead(&events);
        assert_eq!(places(&dead), [3, 4]);
        assert!(dead[0].1.contains("status: 404") && dead[0].1.contains("document_missing_exception"), "{}", dead[0].1);
        let documents = node.documents("changes");
        assert_eq!(documents.len(), 1);
        assert_eq!(documents[0].source["port"], 2);
        let upsert = writing_to(node, "changes", "document_id => \"%{id}\" action => \"update\" doc_as_upsert => true");
        assert!(upsert.dead(&[json!({ "id": "4", "port": 4 })]).is_empty());
        assert_eq!(node.ids("changes"), ["1", "4"]);
    });
}

#[test]
fn a_write_block_is_waited_out() {
    Node::each(|node| {
        node.index_of("blocked", &json!({}));
        let block = |on: bool| node.call("PUT", "/blocked/_settings", Some(&json!({ "index.blocks.write": on })));
        block(true);
        let output = writing_to(node, "blocked", "document_id => \"%{id}\"");
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| output.dead(&[json!({ "id": "1" }), json!({ "id": "2" })]));
            let waits = || output.count("documents.retryable_failures") >= 2;
            assert!(elasticsearch_support::eventually(Duration::from_secs(20), waits));
            block(false);
            assert!(writing.join().unwrap().is_empty());
        });
        assert_eq!(node.ids("blocked"), ["1", "2"]);
    });
}

#[test]
fn a_poisoned_action_is_found_among_many() {
    Node::each(|node| {
        node.index_of("poison", &json!({}));
        let output = writing_to(node, "poison", "document_id => \"%{id}\"");
        let mut events: Vec<Json> = (0..40).map(|n| json!({ "id": format!("{n:02}") })).collect();
        events[17]["id"] = json!("x".repeat(600));
        let dead = output.dead(&events);
        assert_eq!(places(&dead), [17]);
        assert!(dead[0].1.contains("status: 400") && dead[0].1.contains("too long"), "{}", dead[0].1);
        assert_eq!(node.documents("poison").len(), 39);
        let unversioned = json!({ "id": "v", "@metadata": { "_ingest_document": { "version": "abc" } } });
        assert_eq!(places(&output.dead(&[json!({ "id": "w" }), unversioned])), [1]);
    });
}

/// Dropping and failing processors make the server answer out of order.
#[test]
fn ingest_pipelines_that_drop_and_fail_hit_the_right_events() {
    Node::each(|node| {
        if !node.is_opensearch() {
            return println!("skipped: the server has no ingest processors");
        }
        node.index("ingested");
        let processors = json!({ "processors": [
            { "drop": { "if": "ctx.op == 'drop'" } },
            { "fail": { "if": "ctx.op == 'fail'", "message": "as asked" } },
        ] });
        node.call("PUT", "/_ingest/pipeline/moody", Some(&processors));
        let event = |id: &str, op: &str, port: Json| json!({ "id": id, "op": op, "port": port });
        let events = [
            event("A", "keep", json!(1)),
            event("B", "drop", json!(1)),
            event("C", "fail", json!(1)),
            event("D", "keep", json!("unknown")),
            event("E", "keep", json!(1)),
        ];
        // A failing processor is status 500.
        let options = "pipeline => \"moody\" dlq_custom_codes => [500]";
        for id in ["document_id => \"%{id}\"", ""] {
            let dead = writing_to(node, "ingested", &format!("{options} {id}")).dead(&events);
            assert_eq!(places(&dead), [2, 3], "{id}");
            assert!(dead[0].1.contains("as asked"), "{}", dead[0].1);
            assert!(dead[1].1.contains("failed to parse field"), "{}", dead[1].1);
        }
        assert_eq!(node.documents("ingested").len(), 4);
        // A pipeline of the index: no ids are sent, so the reply does not tell which one failed; from then on it does.
        node.call("PUT", "/ingested/_settings", Some(&json!({ "index.default_pipeline": "moody" })));
        let output = writing_to(node, "ingested", "dlq_custom_codes => [500]");
        let dead = output.dead(&events);
        assert!(places(&dead).contains(&2) && places(&dead).contains(&3), "{dead:?}");
        assert!(dead.iter().any(|(_, reason)| reason.contains("ambiguous reply")));
        assert_eq!(places(&output.dead(&events)), [2, 3]);
    });
}

#[test]
fn the_program_writes_and_dead_letters() {
    Node::each(|node| {
        node.index("whole");
        let output = format!(
            "output {{ elasticsearch {{ id => \"out\" hosts => [\"{}\"] index => \"whole\" document_id => \"%{{id}}\" manage_template => false }} }}",
            node.url
        );
        let mut program = Program::start(&output, &[("dead_letter_queue.enable", "true".to_owned())]);
        program.send(&[json!({ "id": "1", "port": 80 }), json!({ "id": "2", "port": "unknown" })]);
        assert!(program.finish(Duration::from_secs(30)).success());
        assert_eq!(node.ids("whole"), ["1"]);
        let dead = program.dead_letters();
        assert_eq!(dead.len(), 1);
        assert_eq!((dead[0].plugin_type.as_str(), dead[0].plugin_id.as_str()), ("elasticsearch", "out"));
    });
}
