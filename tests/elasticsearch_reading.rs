//! The `elasticsearch` input and filter, against a server that answers as told.

mod elasticsearch_support;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use elasticsearch_support::bulk::product;
use elasticsearch_support::direct::Direct;
use elasticsearch_support::eventually;
use elasticsearch_support::program::Program;
use elasticsearch_support::server::{Reply, Request, Server};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(60);

/// A server of that product which answers searches as told.
fn server(name: &'static str, mut search: impl FnMut(&Request) -> Reply + Send + 'static) -> Server {
    Server::start(move |request| {
        let is_question = request.path() != "/" && request.path() != "/_license";
        if is_question { search(request) } else { product(name, request, request.path()) }
    })
}

fn hits(ids: &[i64]) -> Json {
    let hit = |id: &i64| json!({ "_index": "i", "_id": id.to_string(), "_source": { "n": id }, "sort": [id] });
    json!({ "total": { "value": ids.len() }, "hits": ids.iter().map(hit).collect::<Vec<_>>() })
}

fn page(ids: &[i64], more: &Json) -> Reply {
    let mut body = json!({ "_shards": { "failed": 0 }, "hits": hits(ids) });
    more.as_object().unwrap().iter().for_each(|(name, value)| body[name] = value.clone());
    Reply::json(200, &body)
}

fn body(request: &Request) -> Json {
    serde_json::from_slice(&request.body).unwrap_or_default()
}

fn config(server: &Server, options: &str, home: &Path) -> String {
    format!(
        "input {{ elasticsearch {{ hosts => \"{}\" index => \"docs-*\" {options} }} }}\n\
         output {{ file {{ path => \"{}/out\" codec => json_lines }} }}",
        server.url(),
        home.display()
    )
}

/// The events that a pipeline wrote.
fn written(home: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(home.join("out")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs the input until it ends, and gives the events.
fn read(server: &Server, options: &str) -> Vec<Json> {
    let home = Arc::new(TempDir::new().unwrap());
    let mut program = Program::start_in(home.clone(), &config(server, options, home.path()), &[]);
    let status = program.finish(LIMIT);
    assert!(status.success(), "{}", program.log().join("\n"));
    written(home.path())
}

fn numbers(events: &[Json]) -> Vec<i64> {
    let mut numbers: Vec<i64> = events.iter().map(|event| event["n"].as_i64().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

/// Pages by point in time: 1, 2, then 3, then none.
fn point_in_time(request: &Request) -> Reply {
    match (request.method.as_str(), request.path()) {
        ("POST", "/docs-*/_pit") => Reply::json(200, &json!({ "id": "p0" })),
        ("DELETE", "/_pit") => Reply::json(200, &json!({ "succeeded": true })),
        ("POST", "/_search") => match body(request).get("search_after").and_then(|after| after[0].as_i64()) {
            None => page(&[1, 2], &json!({ "pit_id": "p1" })),
            Some(2) => page(&[3], &json!({ "pit_id": "p2" })),
            _ => page(&[], &json!({})),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn pages_follow_the_last_hit_at_a_point_in_time() {
    let server = server("es9", point_in_time);
    let events = read(&server, "size => 2 scroll => \"30s\" query => '{ \"query\": { \"match_all\": {} } }'");
    assert_eq!(numbers(&events), [1, 2, 3]);
    let requests = server.requests();
    let searches: Vec<Json> = requests.iter().filter(|r| r.path() == "/_search").map(body).collect();
    assert_eq!(searches.len(), 3);
    assert_eq!(searches[0]["pit"], json!({ "id": "p0", "keep_alive": "30s" }));
    assert_eq!(searches[0]["sort"], json!([{ "_shard_doc": "asc" }]));
    assert_eq!(searches[1]["pit"]["id"], "p1", "the newest id is used");
    assert_eq!((&searches[1]["search_after"], &searches[2]["search_after"]), (&json!([2]), &json!([3])));
    assert!(requests.iter().any(|r| r.target == "/_search?size=2"));
    let closed = requests.iter().find(|r| r.method == "DELETE").map(body);
    assert_eq!(closed, Some(json!({ "id": "p0" })));
    let agent = requests[0].header("user-agent").unwrap();
    assert!(agent.contains("logstash-input-elasticsearch/"), "{agent}");
    assert_eq!(requests[0].header("x-elastic-product-origin"), Some("logstash-input-elasticsearch"));
}

fn scrolling(request: &Request) -> Reply {
    match (request.method.as_str(), request.path()) {
        ("POST", "/docs-*/_search") => page(&[1, 2], &json!({ "_scroll_id": "s1" })),
        ("POST", "/_search/scroll") if body(request)["scroll_id"] == "s1" => page(&[3], &json!({ "_scroll_id": "s2" })),
        ("POST", "/_search/scroll") => page(&[], &json!({ "_scroll_id": "s3" })),
        ("DELETE", "/_search/scroll") => Reply::json(200, &json!({ "succeeded": true })),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pages_follow_by_scroll_where_that_is_wanted_or_the_server_is_old() {
    for (name, options) in [("es7", ""), ("opensearch2", ""), ("es9", "search_api => scroll")] {
        let server = server(name, scrolling);
        assert_eq!(numbers(&read(&server, &format!("size => 2 {options}"))), [1, 2, 3], "{name}");
        let requests = server.requests();
        let first = requests.iter().find(|r| r.path() == "/docs-*/_search").unwrap();
        assert_eq!(first.target, "/docs-*/_search?scroll=1m&size=2");
        assert_eq!(body(first), json!({ "sort": ["_doc"] }));
        let cleared = requests.iter().find(|r| r.method == "DELETE").map(body);
        assert_eq!(cleared, Some(json!({ "scroll_id": ["s3"] })));
    }
}

#[test]
fn slices_are_asked_for_at_once() {
    let server = server("es9", |request| match (request.method.as_str(), request.path()) {
        ("POST", "/_search") if body(request).get("search_after").is_none() => {
            let id = body(request)["slice"]["id"].as_i64().unwrap();
            page(&[id * 10, id * 10 + 1], &json!({}))
        }
        ("POST", "/_search") => page(&[], &json!({})),
        _ => point_in_time(request),
    });
    assert_eq!(numbers(&read(&server, "slices => 3")), [0, 1, 10, 11, 20, 21]);
    let slices: Vec<Json> = server.requests().iter().filter(|r| r.path() == "/_search").map(body).collect();
    assert!(slices.iter().all(|body| body["slice"]["max"] == 3), "{slices:?}");
}

#[test]
fn docinfo_target_and_common_options_decorate_events() {
    let server = server("es9", point_in_time);
    let options = "docinfo => true docinfo_target => \"[info]\" docinfo_fields => [\"_id\", \"_index\"] target => \"[doc]\" \
                   add_field => { \"of\" => \"%{[info][_id]}\" } tags => [\"t\"]";
    let events = read(&server, options);
    let first = events.iter().find(|event| event["doc"]["n"] == 1).unwrap();
    assert_eq!((&first["info"], &first["of"]), (&json!({ "_id": "1", "_index": "i" }), &json!("1")));
    assert_eq!(first["tags"], json!(["t"]));
}

#[test]
fn aggregations_are_one_event() {
    let server = server("es9", |_| {
        let found = json!({ "by": { "buckets": [{ "key": "a", "doc_count": 2 }] } });
        Reply::json(200, &json!({ "hits": { "hits": [] }, "aggregations": found }))
    });
    let events = read(&server, "response_type => aggregations query => '{ \"aggs\": {} }'");
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["by"]["buckets"][0]["key"], "a");
    assert!(server.requests().iter().any(|r| r.target == "/docs-*/_search?size=0"));
}

#[test]
fn rows_of_esql_are_events() {
    let server = server("es9", |_| {
        let columns = json!([{ "name": "host.name" }, { "name": "n" }]);
        Reply::json(200, &json!({ "columns": columns, "values": [["a", 1], ["b", 2]] }))
    });
    let home = Arc::new(TempDir::new().unwrap());
    let text =
        config(&server, "query_type => esql query => \"FROM docs\"", home.path()).replace("index => \"docs-*\"", "");
    let mut program = Program::start_in(home.clone(), &text, &[]);
    assert!(program.finish(LIMIT).success(), "{}", program.log().join("\n"));
    let events = written(home.path());
    assert_eq!(numbers(&events), [1, 2]);
    assert_eq!(events[0]["host"]["name"], "a");
    let asked = server.requests().into_iter().find(|r| r.path() == "/_query").unwrap();
    assert_eq!(body(&asked), json!({ "query": "FROM docs" }));
}

/// An answer of only some shards, a busy server, and one that hangs up: the page is asked for again.
#[test]
fn a_page_that_fails_is_asked_for_again_and_nothing_comes_twice() {
    let mut failures = vec![
        Reply::Close,
        Reply::status(503),
        Reply::json(200, &json!({ "_shards": { "failed": 1 }, "hits": hits(&[1]) })),
    ];
    let server = server("es9", move |request| match request.path() {
        "/_search" if body(request).get("search_after").is_some() => {
            failures.pop().unwrap_or_else(|| point_in_time(request))
        }
        _ => point_in_time(request),
    });
    assert_eq!(numbers(&read(&server, "retries => 3")), [1, 2, 3]);
}

/// The scroll has moved on when its answer is lost: what it gave is not passed over.
#[test]
fn a_scroll_whose_answer_is_lost_begins_anew() {
    let mut lost = true;
    let server = server("opensearch2", move |request| {
        if request.path() == "/_search/scroll" && request.method == "POST" && std::mem::take(&mut lost) {
            return Reply::Close;
        }
        scrolling(request)
    });
    assert_eq!(numbers(&read(&server, "retries => 5")), [1, 1, 2, 2, 3]);
}

#[test]
fn a_query_that_the_server_refuses_ends_the_input_with_its_words() {
    let server = server("es9", |request| match request.path() {
        "/docs-*/_pit" => Reply::json(404, &json!({ "error": { "type": "index_not_found_exception" } })),
        other => panic!("{other}"),
    });
    let home = Arc::new(TempDir::new().unwrap());
    let mut program = Program::start_in(home.clone(), &config(&server, "retries => 3", home.path()), &[]);
    assert!(program.finish(LIMIT).success());
    assert!(
        program.has_logged("ERROR", &["refused", "index_not_found_exception", "404"]),
        "{}",
        program.log().join("\n")
    );
}

#[test]
fn a_server_that_is_not_there_yet_is_waited_for() {
    let server = server("es9", point_in_time);
    server.down();
    let home = Arc::new(TempDir::new().unwrap());
    let mut program = Program::start_in(home.clone(), &config(&server, "", home.path()), &[]);
    assert!(eventually(LIMIT, || program.has_logged("ERROR", &["begins anew"])), "{}", program.log().join("\n"));
    server.up();
    assert!(program.finish(LIMIT).success());
    assert_eq!(numbers(&written(home.path())), [1, 2, 3]);
}

/// The second run begins behind the last document of the first, also after a restart.
#[test]
fn a_schedule_follows_a_field_and_remembers_it_over_a_restart() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let asked = seen.clone();
    let server = server("es9", move |request| match request.path() {
        "/_search" if body(request).get("search_after").is_none() => {
            let from = body(request)["query"]["range"]["n"]["gt"].as_str().unwrap().to_owned();
            let next = from.parse::<i64>().unwrap() + 1;
            asked.lock().unwrap().push(from);
            page(&[next], &json!({}))
        }
        "/_search" => page(&[], &json!({})),
        _ => point_in_time(request),
    });
    let home = Arc::new(TempDir::new().unwrap());
    let options = "schedule => \"* * * * * * UTC\" tracking_field => \"n\" tracking_field_seed => \"0\" \
                   query => '{ \"query\": { \"range\": { \"n\": { \"gt\": \":last_value\" } } }, \"sort\": [\"n\"] }'";
    let text = config(&server, options, home.path());
    let mut program = Program::start_in(home.clone(), &text, &[]);
    assert!(eventually(LIMIT, || seen.lock().unwrap().len() >= 2), "{}", program.log().join("\n"));
    program.terminate();
    program.wait(LIMIT);
    let before = seen.lock().unwrap().clone();
    assert!(before.starts_with(&["0".to_owned(), "1".to_owned()]), "{before:?}");
    let last = numbers(&written(home.path())).pop().unwrap();
    let mut program = Program::start_in(home, &text, &[]);
    assert!(eventually(LIMIT, || seen.lock().unwrap().len() > before.len()), "{}", program.log().join("\n"));
    program.terminate();
    program.wait(LIMIT);
    assert_eq!(seen.lock().unwrap()[before.len()], last.to_string());
}

#[test]
fn options_that_do_not_fit_are_refused_with_words_that_help() {
    let refused = |plugin: &str, options: &str| {
        let direct = Direct::build_other(&format!("{plugin} {{ elasticsearch {{ {options} }} }}"));
        direct.err().unwrap_or_default()
    };
    for (options, words) in [
        ("query => \"match_all\"", "`query` is not JSON"),
        ("schedule => \"now and then\"", "no schedule"),
        ("slices => 0", "`slices` is at least 1"),
        ("scroll => \"1 m\"", "`scroll` is a time"),
        ("tracking_field => \"n\" slices => 2", "`tracking_field` needs"),
        ("query_type => esql query => \"FROM a\" index => \"a\"", "no meaning with `query_type => esql`"),
        ("query_type => esql", "needs a `query`"),
        ("api_key => \"a:b\"", "requires SSL/TLS"),
        ("cloud_id => \"x:aCRlJGs=\" hosts => \"h\"", "Both cloud_id and hosts"),
        ("user => \"u\" password => \"p\" cloud_auth => \"a:b\"", "Multiple authentication options"),
        ("ssl => true", "Set `ssl_enabled` instead"),
        ("ca_file => \"/x\"", "Set `ssl_certificate_authorities` instead"),
        ("hosts => \"http://my_es\"", "host is not specified"),
    ] {
        let told = refused("input", options);
        assert!(told.contains(words), "{options}: {told}");
    }
    for (options, words) in [
        ("", "give `query` or `query_template`"),
        ("query => \"a\" query_template => \"Cargo.toml\"", "only one of them"),
        ("query_template => \"Cargo.toml\"", "not JSON"),
        ("query => \"a\" query_params => { \"a\" => 1 }", "are for `query_type => esql`"),
        ("query => \"a\" fields => { \"a\" => [\"b\", \"c\"] }", "`fields` is a hash of names"),
        ("query => \"a\" keystore => \"/x\"", "Set `ssl_keystore_path` instead"),
    ] {
        let told = refused("filter", options);
        assert!(told.contains(words), "{options}: {told}");
    }
}

/// Runs events through a filter.
fn enriched(server: &Server, options: &str, events: &[Json]) -> Vec<Json> {
    let home = Arc::new(TempDir::new().unwrap());
    let text = format!(
        "filter {{ elasticsearch {{ hosts => \"{}\" {options} }} mutate {{ copy => {{ \"[@metadata]\" => \"meta\" }} }} }}\n\
         output {{ file {{ path => \"{}/out\" codec => json_lines }} }}",
        server.url(),
        home.path().display()
    );
    let mut program = Program::start_in(home.clone(), &text, &[]);
    program.send(events);
    assert!(program.finish(LIMIT).success(), "{}", program.log().join("\n"));
    written(home.path())
}

#[test]
fn a_filter_takes_what_a_search_finds() {
    let server = server("es9", |request| {
        let is_known = request.target.contains("user%3Aann");
        page(if is_known { &[7] } else { &[] }, &json!({}))
    });
    let options = "index => \"users-%{tenant}\" query => \"user:%{user} AND x\" fields => { \"n\" => \"[user_data][n]\" } \
                   docinfo_fields => { \"_id\" => \"doc_id\" } add_tag => [\"found\"]";
    let events = [json!({ "user": "ann", "tenant": "t1" }), json!({ "user": "bob", "tenant": "t1" })];
    let events = enriched(&server, options, &events);
    assert_eq!((&events[0]["user_data"]["n"], &events[0]["doc_id"]), (&json!(7), &json!("7")));
    assert_eq!((&events[0]["tags"], &events[0]["meta"]["total_hits"]), (&json!(["found"]), &json!(1)));
    assert_eq!((events[1].get("tags"), &events[1]["meta"]["total_hits"]), (None, &json!(0)));
    let asked = server.requests().into_iter().find(|r| r.path() == "/users-t1/_search").unwrap();
    assert_eq!(
        asked.target, "/users-t1/_search?q=user%3Aann%20AND%20x&size=1&sort=%40timestamp%3Adesc",
        "and the order of the hits"
    );
}

#[test]
fn a_filter_sends_the_body_of_a_template_with_values_that_stay_texts() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"{ "query": { "term": { "user": "%{user}" } }, "size": 2 }"#).unwrap();
    let server = server("es9", |_| page(&[1, 2], &json!({ "aggregations": { "most": { "value": 9 } } })));
    let options = format!(
        "query_template => \"{}\" fields => {{ \"n\" => \"all\" }} aggregation_fields => {{ \"most\" => \"most\" }} \
         target => \"[es]\"",
        file.path().display()
    );
    let events = enriched(&server, &options, &[json!({ "user": "a\"}}" })]);
    assert_eq!(events[0]["es"], json!({ "all": [1, 2], "most": { "value": 9 } }));
    let asked = server.requests().into_iter().find(|r| r.path() == "/_search").unwrap();
    assert_eq!(body(&asked), json!({ "query": { "term": { "user": "a\"}}" } }, "size": 2 }));
}

#[test]
fn a_filter_asks_in_esql_with_parameters() {
    let server = server("es9", |_| {
        Reply::json(200, &json!({ "columns": [{ "name": "a.b" }, { "name": "c" }], "values": [[1, 2], [3, 4]] }))
    });
    let options =
        "query_type => esql query => \"FROM u | WHERE id == ?id\" query_params => { \"id\" => \"[user][id]\" }";
    let event = [json!({ "user": { "id": 7 } })];
    let events = enriched(&server, options, &event);
    assert_eq!(
        (&events[0]["a"]["b"], &events[0]["c"], &events[0]["meta"]["total_values"]),
        (&json!(1), &json!(2), &json!(2))
    );
    let events = enriched(&server, &format!("{options} target => \"[rows]\""), &event);
    assert_eq!(events[0]["rows"], json!([{ "a": { "b": 1 }, "c": 2 }, { "a": { "b": 3 }, "c": 4 }]));
    let asked = server.requests().into_iter().find(|r| r.path() == "/_query").unwrap();
    assert_eq!(body(&asked)["params"], json!([{ "id": 7 }]));
}

#[test]
fn a_filter_without_an_answer_tags_and_asks_again_where_that_may_help() {
    for (replies, retries, tagged, asked) in
        [(vec![503, 503], 2, false, 3), (vec![503, 503], 1, true, 2), (vec![400], 5, true, 1), (vec![429], 5, true, 1)]
    {
        let mut left = replies.clone();
        left.reverse();
        let server = server("es9", move |_| match left.pop() {
            Some(status) => Reply::status(status),
            None => page(&[1], &json!({})),
        });
        let options = format!("query => \"a\" retry_on_failure => {retries}");
        let events = enriched(&server, &options, &[json!({})]);
        let tags = json!(["_elasticsearch_lookup_failure"]);
        assert_eq!(events[0].get("tags"), tagged.then_some(&tags), "{replies:?}");
        assert_eq!(server.requests().iter().filter(|r| r.path() == "/_search").count(), asked, "{replies:?}");
    }
    let partly = server("es9", |_| Reply::json(200, &json!({ "_shards": { "failed": 1 }, "hits": hits(&[1]) })));
    let events =
        enriched(&partly, "query => \"a\" fields => { \"n\" => \"n\" } tag_on_failure => [\"no\"]", &[json!({})]);
    assert_eq!((events[0].get("n"), &events[0]["tags"]), (None, &json!(["no"])));
}

#[test]
fn a_filter_whose_server_is_away_keeps_the_pipeline_from_starting() {
    let server = server("es9", |_| page(&[], &json!({})));
    server.down();
    let text = format!(
        "filter {{ elasticsearch {{ hosts => \"{}\" query => \"a\" }} }} output {{ stdout {{ }} }}",
        server.url()
    );
    let mut program = Program::start(&text, &[]);
    let status = program.finish(LIMIT);
    assert!(!status.success());
    assert!(
        program.has_logged("ERROR", &["Could not connect to a compatible version"]),
        "{}",
        program.log().join("\n")
    );
}
