//! The `opensearch` output: what it does otherwise than `elasticsearch`.

mod elasticsearch_support;

use serde_json::{Value as Json, json};

use elasticsearch_support::bulk::{self, product};
use elasticsearch_support::direct::Direct;
use elasticsearch_support::server::{Reply, Request, Server};

const QUICK: &str = "retry_initial_interval => 0.05 retry_max_interval => 0.1 resurrect_delay => 0.1";

/// A server of OpenSearch that answers some requests in its own way.
fn server(mut own: impl FnMut(&Request, &str) -> Option<Reply> + Send + 'static) -> Server {
    Server::start(move |request| {
        let route = format!("{} {}", request.method, request.path());
        match own(request, &route) {
            Some(reply) => reply,
            None if request.is_bulk() => bulk::accepted(request),
            None => product("opensearch2", request, request.path()),
        }
    })
}

fn start(server: &Server, more: &str, dead_letters: bool) -> Direct {
    Direct::start_opensearch(&format!("hosts => [\"{}\"] {QUICK} {more}", server.url()), dead_letters)
}

fn refused(options: &str) -> String {
    Direct::build_as("opensearch", options, false).err().unwrap_or_else(|| panic!("accepted: {options}"))
}

fn routes(server: &Server) -> Vec<String> {
    server.requests().iter().map(|request| format!("{} {}", request.method, request.path())).collect()
}

fn events(count: usize) -> Vec<Json> {
    (0..count).map(|n| json!({ "n": n })).collect()
}

#[test]
fn logins_of_both_kinds() {
    for (login, header) in [
        ("user => \"u\" password => \"p@\"", Some("Basic dTpwQA==")),
        ("auth_type => { type => basic user => \"u\" password => \"p@\" }", Some("Basic dTpwQA==")),
        ("user => \"u\"", None),
    ] {
        let node = server(|_, _| None);
        start(&node, login, false).dead(&events(1));
        assert!(node.requests().iter().all(|request| request.header("authorization") == header), "{login}");
    }
    let basic = refused("auth_type => { type => basic user => \"u\" }");
    assert!(basic.contains("needs `user` and `password`"), "{basic}");
    let signed = refused("auth_type => { type => aws_iam aws_secret_access_key => \"s3cret\" }");
    assert!(signed.contains("not supported yet") && !signed.contains("s3cret"), "{signed}");
    assert!(refused("auth_type => { user => \"u\" }").contains("needs a `type`"));
}

#[test]
fn requests_are_compressed_only_when_asked_for_and_hold_no_words_for_elasticsearch() {
    for (more, encoding) in [("", None), ("http_compression => true", Some("gzip"))] {
        let node = server(|_, _| None);
        start(&node, &format!("index => \"a\" {more}"), false).dead(&events(2));
        let request = node.bulks().remove(0);
        assert_eq!(request.header("content-encoding"), encoding);
        assert_eq!(bulk::documents(&request).len(), 2);
        assert_eq!(request.target, "/_bulk");
        let elastic = request.headers.iter().find(|(name, _)| name.starts_with("x-elastic"));
        assert!(elastic.is_none(), "{elastic:?}");
    }
}

#[test]
fn requests_are_cut_at_the_wanted_size() {
    let node = server(|_, _| None);
    let output = start(&node, "index => \"a\" target_bulk_bytes => 2500", false);
    let pad = "x".repeat(1000);
    output.dead(&(0..5).map(|n| json!({ "n": n, "pad": pad })).collect::<Vec<_>>());
    assert_eq!(node.bulks().iter().map(|bulk| bulk::docs(bulk).len()).collect::<Vec<_>>(), [2, 2, 1]);
    assert!(refused("target_bulk_bytes => 0").contains("more than 0"));
}

#[test]
fn a_server_that_tells_no_version_needs_one_from_the_options() {
    for silent in [Reply::status(404), Reply::status(200)] {
        let reply = silent.clone();
        let node = server(move |_, route| (route == "GET /").then(|| reply.clone()));
        start(&node, "default_server_major_version => 2", false).dead(&events(1));
        assert_eq!(node.bulks().len(), 1);
        let node = server(move |_, route| (route == "GET /").then(|| silent.clone()));
        let waiting = start(&node, "", false);
        waiting.stop.cancel();
        assert!(waiting.write(&events(1)).is_err() && node.bulks().is_empty());
    }
}

#[test]
fn any_product_will_do_and_none_is_asked_for_its_licence() {
    for name in ["opensearch2", "es9", "es7"] {
        let node = Server::start(move |request| match request.path() {
            path if path.ends_with("/_bulk") => bulk::accepted(request),
            path => product(name, request, path),
        });
        assert!(start(&node, "", false).dead(&events(1)).is_empty());
        assert!(!routes(&node).contains(&"GET /_license".to_owned()));
    }
}

#[test]
fn a_server_that_refuses_us_at_the_start_is_waited_for() {
    let mut locked = 2;
    let node = server(move |_, route| {
        let refuses = route == "GET /" && locked > 0;
        locked -= i32::from(refuses);
        refuses.then(|| Reply::status(401))
    });
    assert!(start(&node, "", false).dead(&events(1)).is_empty());
}

#[test]
fn templates_go_to_either_api_and_a_refused_one_holds_nothing_up() {
    for (more, path) in [
        ("", "/_template/ecs-logstash"),
        ("legacy_template => false", "/_index_template/ecs-logstash"),
        ("ecs_compatibility => disabled template_name => \"mine\"", "/_template/mine"),
    ] {
        let node = server(|_, route| route.starts_with("PUT").then(|| Reply::status(400)));
        let output = start(&node, more, false);
        assert!(output.dead(&events(1)).is_empty() && !output.stop.is_cancelled());
        let seen = routes(&node);
        assert_eq!(seen[3..], [format!("HEAD {path}"), format!("PUT {path}"), "POST /_bulk".to_owned()]);
    }
}

#[test]
fn reasons_hold_the_whole_answer() {
    let node = server(|request, _| {
        let error = json!({ "type": "mapper_parsing_exception", "reason": "no" });
        let item = json!({ "_index": "a", "_id": "x1", "status": 400, "error": error });
        request.is_bulk().then(|| bulk::sorted(request, &[item]))
    });
    let output = start(&node, "index => \"a\"", true);
    let dead = output.dead(&events(1));
    assert!(
        dead[0].1.starts_with("Could not index event to OpenSearch. status: 400, action: [\"index\", {"),
        "{dead:?}"
    );
    assert!(
        dead[0].1.contains("response: {\"index\" => {\"_index\" => \"a\", \"_id\" => \"x1\", \"status\""),
        "{dead:?}"
    );
    assert_eq!(output.count("documents.non_retryable_failures"), 1);
}

#[test]
fn unresolved_names_are_dead_with_a_queue_and_literal_without() {
    let node = server(|_, _| None);
    let dead = start(&node, "index => \"%{app}-logs\"", true).dead(&events(1));
    assert!(dead[0].1.contains("still contains placeholder: [%{app}-logs]"));
    assert!(start(&node, "index => \"%{app}-logs\"", false).dead(&events(1)).is_empty());
    let docs = bulk::docs(&node.bulks()[0]);
    assert_eq!(bulk::action(&docs[0]).1["_index"], "%{app}-logs");
    let dead = start(&node, "index => \"a\" action => \"%{op}\"", true).dead(&events(1));
    assert!(dead[0].1.starts_with("OpenSearch doesn't support [%{op}] action"), "{dead:?}");
}

#[test]
fn what_is_too_large_or_not_found_is_sent_again() {
    let mut troubles = vec![Reply::status(404), Reply::status(413), Reply::status(404)];
    let node = server(move |request, _| if request.is_bulk() { troubles.pop() } else { None });
    let output = start(&node, "index => \"a\"", true);
    assert!(output.dead(&events(2)).is_empty());
    assert_eq!(node.bulks().len(), 4);
    assert_eq!(output.count("documents.successes"), 2);
}

#[test]
fn options_of_the_other_plugin_are_unknown() {
    for option in ["cloud_id => \"x\"", "data_stream => true", "ilm_enabled => true", "dlq_custom_codes => [403]"] {
        let name = option.split(' ').next().unwrap();
        let message = refused(option);
        assert!(message.contains(&format!("the opensearch output has no option `{name}`")), "{message}");
    }
    assert!(refused("hosts => \"https://h\" cacert => \"/no/such/file\"").contains("does not exist"));
    assert!(refused("hosts => \"https://h\" tls_key => \"/dev/null\"").contains("`tls_key` needs `tls_certificate`"));
}
