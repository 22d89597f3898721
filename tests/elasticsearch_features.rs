//! Real servers: what is put in place on them, and everything that can be done with a document there. Run as
//! `elasticsearch_servers.rs` says; without a server nothing is tested.

mod elasticsearch_support;
#[path = "support/search_node.rs"]
mod search_node;

use serde_json::{Value as Json, json};

use elasticsearch_support::direct::Direct;
use search_node::Node;

const QUICK: &str = "retry_initial_interval => 0.2 retry_max_interval => 0.5 resurrect_delay => 0.2";

/// Starts an output from its options.
type Start = fn(&str, bool) -> Direct;

/// Runs a test on each server that there is, with each plugin that speaks to it.
fn on_each_server(test: impl Fn(&Node, &str, Start)) {
    let urls = ["SPILLWAY_OPENSEARCH", "SPILLWAY_ELASTICSEARCH"].map(std::env::var);
    if urls.iter().all(Result::is_err) {
        println!("skipped: neither SPILLWAY_OPENSEARCH nor SPILLWAY_ELASTICSEARCH names a server");
    }
    for url in urls.into_iter().flatten() {
        let node = Node { url };
        test(&node, "elasticsearch", Direct::start);
        if is_opensearch(&node) {
            test(&node, "opensearch", Direct::start_opensearch);
        }
    }
}

fn is_opensearch(node: &Node) -> bool {
    node.call("GET", "/", None)["version"]["distribution"] == "opensearch"
}

fn options(node: &Node, more: &str) -> String {
    format!("hosts => [\"{}\"] {QUICK} {more}", node.url)
}

#[test]
fn default_templates_are_taken_and_give_fields_their_types() {
    on_each_server(|node, plugin, start| {
        let indexes = ["logstash-2026.03.01", "ecs-logstash-2026.03.01"];
        let ecs_too = is_opensearch(node);
        for (index, more) in
            indexes.into_iter().zip(["ecs_compatibility => disabled", ""]).take(1 + usize::from(ecs_too))
        {
            let name = index.trim_end_matches("-2026.03.01");
            node.delete(index);
            for api in ["_template", "_index_template"] {
                node.delete(&format!("{api}/{name}"));
            }
            let unmanaged = if plugin == "elasticsearch" { "ilm_enabled => false" } else { "" };
            let output = start(&options(node, &format!("{more} {unmanaged}")), true);
            let event = json!({
                "@timestamp": "2026-03-01T10:00:00.000Z", "message": "a b", "name": "n",
                "geoip": { "location": "1,2" }, "source": { "ip": "127.0.0.1" },
            });
            assert!(output.dead(&[event]).is_empty());
            let mapping = node.call("GET", &format!("/{index}/_mapping"), None);
            let kind = |path: &str| {
                let pointer = format!("/{index}/mappings/properties/{}/type", path.replace('.', "/properties/"));
                mapping.pointer(&pointer).cloned().unwrap_or_default()
            };
            let expected = if more.is_empty() {
                [("@timestamp", "date"), ("message", "text"), ("name", "keyword"), ("source.ip", "ip")]
            } else {
                [("@timestamp", "date"), ("message", "text"), ("name", "text"), ("geoip.location", "geo_point")]
            };
            for (path, wanted) in expected {
                assert_eq!(kind(path), wanted, "{plugin} {index} {path}: {mapping}");
            }
            node.delete(index);
        }
    });
}

#[test]
fn a_template_that_the_server_refuses_ends_the_pipeline() {
    on_each_server(|node, plugin, start| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("bad.json");
        std::fs::write(&file, json!({ "index_patterns": ["x-*"], "nonsense": 1 }).to_string()).unwrap();
        let more = format!("index => \"refused\" template => \"{}\" template_name => \"bad\"", file.display());
        node.delete("refused");
        let output = start(&options(node, &more), true);
        let written = output.write(&[json!({ "n": 1 })]);
        assert_eq!(
            (written.is_err(), output.stop.is_cancelled()),
            (plugin == "elasticsearch", plugin == "elasticsearch")
        );
        node.delete("refused");
    });
}

#[test]
fn data_streams_take_events_by_their_own_fields() {
    on_each_server(|node, plugin, start| {
        if plugin == "opensearch" {
            return;
        }
        let template = json!({ "index_patterns": ["logs-spillway*"], "data_stream": {}, "priority": 500,
            "template": { "settings": { "number_of_replicas": 0 }, "mappings": { "properties": { "port": { "type": "integer" } } } } });
        node.call("PUT", "/_index_template/spillway-streams", Some(&template));
        // A name of its own: not every server that has streams can delete them.
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
        let dataset = format!("spillway{}", since.as_nanos());
        let output = start(&options(node, &format!("data_stream_dataset => \"{dataset}\"")), true);
        let dead = output.dead(&[
            json!({ "n": 1, "port": 80 }),
            json!({ "n": 2, "port": 81, "data_stream": { "namespace": "eu" } }),
            json!({ "n": 3, "port": "unknown" }),
        ]);
        assert_eq!(dead.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [2]);
        for (namespace, n) in [("default", 1), ("eu", 2)] {
            let stream = format!("logs-{dataset}-{namespace}");
            let documents = node.documents(&stream);
            assert_eq!(documents.len(), 1, "{stream}");
            assert_eq!(documents[0].source["n"], n);
            let fields = json!({ "type": "logs", "dataset": dataset, "namespace": namespace });
            assert_eq!(documents[0].source["data_stream"], fields);
            node.delete(&format!("_data_stream/{stream}"));
        }
        node.delete("_index_template/spillway-streams");
    });
}

#[test]
fn upserts_make_what_is_missing_and_change_what_is_there() {
    on_each_server(|node, _, start| {
        node.index_of("upserts", &json!({}));
        let more = "index => \"upserts\" manage_template => false action => \"%{[@metadata][do]}\" document_id => \"%{id}\" \
                    upsert => '{\"first\": \"%{n}\"}'";
        let output = start(&options(node, more), true);
        let event = |n: i64| json!({ "id": "1", "n": n, "@metadata": { "do": "update" } });
        assert!(output.dead(&[event(5)]).is_empty());
        assert_eq!(node.documents("upserts")[0].source, json!({ "first": "5" }));
        assert!(output.dead(&[event(6)]).is_empty());
        let source = node.documents("upserts")[0].source.clone();
        assert_eq!((&source["first"], &source["n"]), (&json!("5"), &json!(6)));
        node.delete("upserts");
    });
}

#[test]
fn scripts_count_and_make_documents() {
    on_each_server(|node, _, start| {
        if !is_opensearch(node) {
            return println!("skipped: the server has no scripting language");
        }
        node.index_of("counts", &json!({}));
        let stored = json!({ "script": { "lang": "painless", "source": "ctx._source.n = (ctx._source.n ?: 0) + params.event.n" } });
        node.call("PUT", "/_scripts/spillway-count", Some(&stored));
        for (id, more) in [
            ("inline", "script => 'ctx._source.n = (ctx._source.n ?: 0) + params.e.n' script_var_name => \"e\""),
            ("stored", "script => \"spillway-count\" script_type => indexed script_lang => \"\""),
        ] {
            let more = format!(
                "index => \"counts\" manage_template => false action => update document_id => \"%{{id}}\" \
                 scripted_upsert => true {more}"
            );
            let output = start(&options(node, &more), true);
            for n in [2, 3] {
                let dead = output.dead(&[json!({ "id": id, "n": n })]);
                assert!(dead.is_empty(), "{dead:?}");
            }
        }
        let counted: Vec<Json> = node.documents("counts").iter().map(|document| document.source.clone()).collect();
        assert_eq!(counted, [json!({ "n": 5 }), json!({ "n": 5 })]);
        let broken =
            "index => \"counts\" manage_template => false action => update document_id => \"inline\" script => 'ctx.'";
        let dead = start(&options(node, broken), true).dead(&[json!({ "n": 1 })]);
        assert!(dead[0].1.contains("status: 400") && dead[0].1.contains("script_exception"), "{dead:?}");
        node.delete("counts");
    });
}

#[test]
fn versions_of_ones_own_keep_older_documents_out() {
    on_each_server(|node, _, start| {
        node.index_of("versions", &json!({}));
        let more = "index => \"versions\" manage_template => false document_id => \"%{id}\" version => \"%{v}\" \
                    version_type => external";
        let output = start(&options(node, more), true);
        assert!(output.dead(&[json!({ "id": "1", "v": 42 }), json!({ "id": "1", "v": 41 })]).is_empty());
        assert_eq!(output.count("documents.non_retryable_failures"), 1);
        let documents = node.documents("versions");
        assert_eq!((documents[0].version, &documents[0].source["v"]), (42, &json!(42)));
        node.delete("versions");
    });
}

#[test]
fn routing_and_ingest_pipelines_are_followed() {
    on_each_server(|node, _, start| {
        node.index_of("routed", &json!({}));
        let more = "index => \"routed\" manage_template => false document_id => \"%{id}\" routing => \"%{r}\"";
        assert!(start(&options(node, more), true).dead(&[json!({ "id": "1", "r": "here" })]).is_empty());
        assert_eq!(node.call("GET", "/routed/_doc/1?routing=here", None)["_routing"], "here");
        if is_opensearch(node) {
            let adding = json!({ "processors": [{ "set": { "field": "seen", "value": "yes" } }] });
            node.call("PUT", "/_ingest/pipeline/spillway-adds", Some(&adding));
            let more =
                "index => \"routed\" manage_template => false document_id => \"2\" pipeline => \"spillway-adds\"";
            assert!(start(&options(node, more), true).dead(&[json!({})]).is_empty());
            assert_eq!(node.call("GET", "/routed/_doc/2", None)["_source"]["seen"], "yes");
        }
        node.delete("routed");
    });
}

#[test]
fn names_that_no_index_can_have_are_dead_and_the_others_are_stored() {
    on_each_server(|node, _, start| {
        node.index_of("app-logs", &json!({}));
        let output =
            start(&options(node, "index => \"%{app}-logs\" manage_template => false document_id => \"%{id}\""), true);
        let dead = output.dead(&[
            json!({ "id": "1", "app": "app" }),
            json!({ "id": "2", "app": ["a", "b"] }),
            json!({ "id": "3", "app": "UPPER" }),
            json!({ "id": "4" }),
        ]);
        let places: Vec<usize> = dead.iter().map(|(at, _)| *at).collect();
        assert_eq!(places, [1, 2, 3]);
        assert!(dead[0].1.contains("a,b-logs") && dead[0].1.contains("invalid_index_name_exception"), "{}", dead[0].1);
        assert_eq!(node.ids("app-logs"), ["1"]);
        node.delete("app-logs");
    });
}

#[test]
fn children_live_where_their_parents_do() {
    on_each_server(|node, _, start| {
        if !is_opensearch(node) {
            return println!("skipped: the server has no join fields");
        }
        node.delete("family");
        let mapping = json!({ "mappings": { "properties": { "rel": { "type": "join", "relations": { "question": "answer" } } } } });
        if node.call("PUT", "/family", Some(&mapping))["acknowledged"] != true {
            return println!("skipped: the server has no join fields");
        }
        let more = "index => \"family\" manage_template => false document_id => \"%{id}\" join_field => \"rel\" parent => \"%{pid}\"";
        assert!(
            start(&options(node, more), true).dead(&[json!({ "id": "c1", "pid": "p1", "rel": "answer" })]).is_empty()
        );
        let child = node.call("GET", "/family/_doc/c1?routing=p1", None);
        assert_eq!(child["_source"]["rel"], json!({ "name": "answer", "parent": "p1" }));
        node.delete("family");
    });
}

#[test]
fn servers_name_themselves_when_sniffed() {
    on_each_server(|node, _, start| {
        node.index_of("sniffed", &json!({}));
        let more = "index => \"sniffed\" manage_template => false sniffing => true sniffing_delay => 0.1";
        let output = start(&options(node, more), true);
        let sniffed = || output.count("sniff_requests") > 2;
        assert!(elasticsearch_support::eventually(std::time::Duration::from_secs(20), sniffed));
        assert!(output.dead(&[json!({ "n": 1 })]).is_empty());
        assert_eq!(node.documents("sniffed").len(), 1);
        node.delete("sniffed");
    });
}

/// Ten thousand documents of which a thousand do not fit the mapping; the dead ones are repaired and sent again.
#[test]
fn of_ten_thousand_documents_the_thousand_bad_ones_are_dead_and_then_repaired() {
    on_each_server(|node, plugin, start| {
        node.index("many");
        let more = "index => \"many\" manage_template => false document_id => \"%{id}\"";
        let output = start(&options(node, more), true);
        let port = |n: i64| if n % 10 == 3 { json!("unknown") } else { json!(n) };
        let events: Vec<Json> = (0..10_000).map(|n| json!({ "id": format!("{n:05}"), "port": port(n) })).collect();
        let mut bad = Vec::new();
        for batch in events.chunks(2500) {
            bad.extend(output.dead(batch).into_iter().map(|(at, _)| batch[at].clone()));
        }
        let count = || {
            node.call("POST", "/many/_refresh", None);
            node.call("GET", "/many/_count", None)["count"].clone()
        };
        assert_eq!((bad.len(), count()), (1000, json!(9000)), "{plugin}");
        for event in &mut bad {
            event["port"] = json!(-1);
        }
        assert!(output.dead(&bad).is_empty());
        assert_eq!(count(), 10_000);
        let documents = node.documents("many");
        assert!(documents.iter().all(|document| document.version == 1), "none was stored twice");
        node.delete("many");
    });
}
