//! What is put in place on the server before the first document: templates, managed indexes, data streams.

mod elasticsearch_support;

use std::time::Duration;

use serde_json::{Value as Json, json};

use elasticsearch_support::bulk::{self, product};
use elasticsearch_support::direct::Direct;
use elasticsearch_support::eventually;
use elasticsearch_support::server::{Reply, Request, Server};

const QUICK: &str = "retry_initial_interval => 0.05 retry_max_interval => 0.1 resurrect_delay => 0.1";

/// A server of a product that answers some requests in its own way.
fn server(name: &'static str, mut own: impl FnMut(&str) -> Option<Reply> + Send + 'static) -> Server {
    Server::start(move |request| {
        let route = format!("{} {}", request.method, request.path());
        match own(&route) {
            Some(reply) => reply,
            None if request.is_bulk() => bulk::accepted(request),
            None => product(name, request, request.path()),
        }
    })
}

fn options(server: &Server, more: &str) -> String {
    format!("hosts => [\"{}\"] {QUICK} {more}", server.url())
}

/// Writes one event with these options, and gives the requests behind those of the start.
fn written(server: &Server, more: &str) -> Vec<String> {
    let output = Direct::start(&options(server, more), true);
    assert!(output.dead(&[json!({ "n": 1, "@timestamp": "2026-03-01T10:00:00.000Z" })]).is_empty());
    let calls = server.requests().iter().map(route).collect::<Vec<_>>();
    calls.into_iter().filter(|call| !matches!(call.as_str(), "HEAD /" | "GET /" | "GET /_license")).collect()
}

fn route(request: &Request) -> String {
    format!("{} {}", request.method, request.path())
}

/// The body of the first PUT to a path.
fn body(server: &Server, path: &str) -> Json {
    let requests = server.requests();
    let put = requests.iter().find(|request| request.method == "PUT" && request.path() == path);
    serde_json::from_slice(&put.unwrap_or_else(|| panic!("no PUT {path}")).body).unwrap()
}

/// The options lead to a pipeline that ends before any document is sent; gives what the server was asked.
fn ends(server: &Server, more: &str) -> Vec<String> {
    let output = Direct::start(&options(server, more), true);
    assert!(output.write(&[json!({ "n": 1 })]).is_err(), "{more}");
    assert!(output.stop.is_cancelled(), "{more}");
    assert!(server.bulks().is_empty(), "{more}");
    server.requests().iter().map(route).collect()
}

fn index(server: &Server) -> Json {
    let docs = bulk::docs(&server.bulks()[0]);
    bulk::action(&docs[0]).1["_index"].clone()
}

const PLAIN: &str = "ecs_compatibility => disabled ilm_enabled => false";

#[test]
fn a_template_of_ones_own_is_sent_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("template.json");
    let own = json!({ "index_patterns": ["app-*"], "template": { "mappings": { "dynamic": false } } });
    std::fs::write(&file, own.to_string()).unwrap();
    let es9 = server("es9", |_| None);
    let more = format!("{PLAIN} template => \"{}\" template_name => \"app one\"", file.display());
    let path = "/_index_template/app%20one";
    assert_eq!(written(&es9, &more), [format!("HEAD {path}"), format!("PUT {path}"), "POST /_bulk".to_owned()]);
    assert_eq!(body(&es9, path), own);
}

#[test]
fn a_template_that_is_there_is_replaced_only_on_request() {
    for (more, puts) in [("", 0), ("template_overwrite => true", 1), ("manage_template => false", 0)] {
        let es9 = server("es9", |route| (route == "HEAD /_index_template/logstash").then(|| Reply::status(200)));
        let calls = written(&es9, &format!("{PLAIN} {more}"));
        assert_eq!(calls.iter().filter(|call| call.starts_with("PUT")).count(), puts, "{more}: {calls:?}");
        assert_eq!(calls.iter().any(|call| call.starts_with("HEAD")), !more.contains("manage"), "{calls:?}");
    }
}

#[test]
fn the_api_of_templates_can_be_chosen() {
    for (name, api, path) in [
        ("es7", "composable", "/_index_template/logstash"),
        ("es9", "legacy", "/_template/logstash"),
        ("opensearch2", "auto", "/_index_template/logstash"),
    ] {
        let node = server(name, |_| None);
        let calls = written(&node, &format!("{PLAIN} template_api => {api}"));
        assert_eq!(calls[1], format!("PUT {path}"));
        assert_eq!(body(&node, path)["index_patterns"], "logstash-*");
    }
}

#[test]
fn managed_indexes_with_an_alias_and_a_policy_of_ones_own() {
    let es9 = server("es9", |route| (route == "GET /_ilm/policy/mine").then(|| Reply::json(200, &json!({}))));
    let more = "ecs_compatibility => disabled index => \"given\" ilm_rollover_alias => \"app\" ilm_policy => \"mine\" \
                ilm_pattern => \"000001\"";
    let calls = written(&es9, more);
    assert_eq!(
        calls,
        [
            "HEAD /_index_template/app",
            "PUT /_index_template/app",
            "HEAD /app",
            "PUT /%3Capp-000001%3E",
            "GET /_ilm/policy/mine",
            "POST /_bulk"
        ]
    );
    assert_eq!(index(&es9), "app");
    let template = body(&es9, "/_index_template/app");
    assert_eq!(template["index_patterns"], "app-*");
    let settings = &template["template"]["settings"];
    assert_eq!(settings["index.lifecycle.name"], "mine");
    assert_eq!(settings["index.lifecycle.rollover_alias"], "app");
    assert_eq!(body(&es9, "/%3Capp-000001%3E"), json!({ "aliases": { "app": { "is_write_index": true } } }));
}

#[test]
fn a_first_index_that_somebody_else_made_meanwhile_is_used() {
    let es9 = server("es9", |route| {
        route.starts_with("PUT /%3Clogstash").then(|| Reply::json(400, &json!({ "error": "exists" })))
    });
    assert_eq!(written(&es9, "ecs_compatibility => disabled").last().unwrap(), "POST /_bulk");
    assert_eq!(index(&es9), "logstash");
}

#[test]
fn managing_applies_only_where_it_can() {
    for (name, more, expected) in [
        ("es9", "ecs_compatibility => disabled", "logstash"),
        ("es9", "data_stream => false", "ecs-logstash"),
        ("es9", "action => index", "ecs-logstash"),
        ("es9", "ecs_compatibility => disabled index => \"a\" ilm_enabled => true", "a"),
        ("es9", "ilm_enabled => false", "ecs-logstash-2026.03.01"),
        ("serverless", "ecs_compatibility => disabled", "logstash-2026.03.01"),
        ("opensearch2", "ecs_compatibility => disabled", "logstash-2026.03.01"),
        ("es9", "", "logs-generic-default"),
        ("opensearch2", "", "logs-generic-default"),
    ] {
        let node = server(name, |_| None);
        let calls = written(&node, more);
        assert_eq!(index(&node), expected, "{name} {more}");
        let managed = calls.iter().any(|call| call.contains("/_ilm/"));
        assert_eq!(managed, ["logstash", "ecs-logstash"].contains(&expected), "{calls:?}");
    }
}

#[test]
fn what_a_server_refuses_ends_the_pipeline_before_any_document() {
    let refusing =
        |name, refused: &'static str| server(name, move |route| (route == refused).then(|| Reply::status(403)));
    for refused in ["HEAD /_index_template/logstash", "PUT /_index_template/logstash"] {
        assert_eq!(ends(&refusing("es9", refused), PLAIN).last().unwrap(), refused);
    }
    for refused in ["HEAD /logstash", "GET /_ilm/policy/logstash-policy", "PUT /_ilm/policy/logstash-policy"] {
        assert_eq!(ends(&refusing("es9", refused), "ecs_compatibility => disabled").last().unwrap(), refused);
    }
    let policy = ends(&server("es9", |_| None), "ecs_compatibility => disabled ilm_policy => \"missing\"");
    assert_eq!(policy.last().unwrap(), "GET /_ilm/policy/missing");
    ends(&server("opensearch2", |_| None), "ecs_compatibility => disabled ilm_enabled => true");
    ends(&server("serverless", |_| None), "ecs_compatibility => disabled template_api => legacy");
}

#[test]
fn data_streams_need_a_server_that_has_them() {
    let old = server("es7", |route| {
        let about =
            json!({ "tagline": "You Know, for Search", "version": { "number": "7.8.1", "build_flavor": "default" } });
        (route == "GET /").then(|| Reply::json(200, &about))
    });
    ends(&old, "");
    assert_eq!(written(&server("es7", |_| None), ""), ["POST /_bulk"]);
}

#[test]
fn a_template_api_that_is_hidden_does_not_hold_documents_up() {
    let es9 = server("es9", |route| route.starts_with("PUT").then(|| Reply::status(404)));
    assert_eq!(written(&es9, PLAIN).last().unwrap(), "POST /_bulk");
}

#[test]
fn a_server_that_goes_away_or_is_busy_during_the_preparations_is_asked_again() {
    let mut troubles = vec![Reply::status(429), Reply::Close, Reply::status(429), Reply::Close];
    let es9 = server("es9", move |route| if route.contains("logstash") { troubles.pop() } else { None });
    let calls = written(&es9, "ecs_compatibility => disabled");
    let first_bulk = calls.iter().position(|call| call == "POST /_bulk").unwrap();
    for needed in ["PUT /_index_template/logstash", "PUT /_ilm/policy/logstash-policy"] {
        assert!(calls[..first_bulk].iter().any(|call| call == needed), "{calls:?}");
    }
    assert_eq!(calls.iter().filter(|call| *call == "POST /_bulk").count(), 1);
}

#[test]
fn documents_of_a_stream_are_created_in_it_and_dead_letters_keep_the_event() {
    let es9 = server("es9", |_| None);
    let more = "data_stream_type => metrics data_stream_dataset => \"web\" document_id => \"%{id}\" routing => \"r\"";
    let output = Direct::start(&options(&es9, more), true);
    let events = [
        json!({ "id": "1" }),
        json!({ "id": "2", "data_stream": { "dataset": "db" } }),
        json!({ "id": "3", "data_stream": "odd" }),
        json!({ "id": "4", "data_stream": { "dataset": "%{x}" } }),
        json!({ "id": "5", "@metadata": { "_ingest_document": { "version": 3, "index": "other" } } }),
    ];
    let dead = output.dead(&events);
    assert_eq!(dead.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [3]);
    assert!(dead[0].1.contains("still contains placeholder: [metrics-%{x}-default]"), "{}", dead[0].1);
    let docs = bulk::docs(&es9.bulks()[0]);
    let names: Vec<Json> = docs.iter().map(|doc| bulk::action(doc).1["_index"].clone()).collect();
    assert_eq!(names, ["metrics-web-default", "metrics-db-default", "metrics-web-default", "metrics-web-default"]);
    assert!(docs.iter().all(|doc| bulk::action(doc).0 == "create" && bulk::action(doc).1.get("version").is_none()));
    let streams: Vec<Json> =
        docs.iter().map(|(_, document)| document.as_ref().unwrap()["data_stream"].clone()).collect();
    let of = |dataset: &str| json!({ "type": "metrics", "dataset": dataset, "namespace": "default" });
    assert_eq!(streams, [of("web"), of("db"), of("web"), of("web")]);
}

#[test]
fn streams_leave_documents_alone_when_asked_to() {
    let es9 = server("es9", |_| None);
    let more = "data_stream => true data_stream_sync_fields => false data_stream_auto_routing => false";
    let output = Direct::start(&options(&es9, more), true);
    output.dead(&[json!({ "data_stream": { "dataset": "db" } }), json!({})]);
    let docs = bulk::docs(&es9.bulks()[0]);
    assert!(docs.iter().all(|doc| bulk::action(doc).1["_index"] == "logs-generic-default"));
    assert_eq!(docs[0].1.as_ref().unwrap()["data_stream"], json!({ "dataset": "db" }));
    assert!(docs[1].1.as_ref().unwrap().get("data_stream").is_none());
}

#[test]
fn an_event_whose_upsert_is_no_json_is_dead_and_the_others_are_sent() {
    let es9 = server("es9", |_| None);
    let more =
        "index => \"a\" manage_template => false action => update document_id => \"%{id}\" upsert => '{\"n\":%{n}}'";
    let output = Direct::start(&options(&es9, more), true);
    let dead = output.dead(&[json!({ "id": "1", "n": 1 }), json!({ "id": "2" }), json!({ "id": "3", "n": 3 })]);
    assert_eq!(dead.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1]);
    assert!(dead[0].1.contains("no JSON object: [{\"n\":%{n}}]"), "{}", dead[0].1);
    assert_eq!(bulk::ids(&es9.bulks()[0]), ["1", "3"]);
}

#[test]
fn nothing_is_sent_before_the_template_is_there() {
    let es9 = server("es9", |route| route.starts_with("PUT").then(|| Reply::status(429)));
    let output = Direct::start(&options(&es9, PLAIN), true);
    assert!(eventually(Duration::from_secs(10), || es9.requests().iter().filter(|r| r.method == "PUT").count() > 1));
    output.stop.cancel();
    assert!(output.write(&[json!({ "n": 1 })]).is_err(), "nothing is sent before the template is there");
    assert!(es9.bulks().is_empty());
}
