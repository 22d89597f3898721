//! Ways to the servers: proxies, paths, servers that name each other, stores of certificates, compression.

mod elasticsearch_support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value as Json, json};

use elasticsearch_support::bulk::{self, elasticsearch, product};
use elasticsearch_support::direct::Direct;
use elasticsearch_support::server::{Reply, Request, Server};
use elasticsearch_support::{eventually, tls};

const QUICK: &str = "index => \"a\" manage_template => false retry_initial_interval => 0.05 retry_max_interval => 0.1 \
                     resurrect_delay => 0.1";

fn write_one(options: &str) {
    let output = Direct::start(&format!("{QUICK} {options}"), true);
    assert!(output.dead(&[json!({ "n": 1 })]).is_empty(), "{options}");
}

/// Paths of the requests of a server.
fn paths(server: &Server) -> Vec<String> {
    server.requests().iter().map(|request| format!("{} {}", request.method, request.path())).collect()
}

/// A proxy that answers in the place of the server.
fn proxy() -> Server {
    Server::start(|request: &Request| {
        let path = request.path().strip_prefix("http://es.example.org:9200").unwrap_or("not through a proxy");
        if request.is_bulk() { bulk::accepted(request) } else { product("es9", request, path) }
    })
}

#[test]
fn all_requests_go_through_the_proxy_with_its_own_login() {
    let proxy = proxy();
    let place = format!("127.0.0.1:{}", proxy.port);
    for (given, login) in [
        (format!("http://{place}"), None),
        (place.clone(), None),
        (format!("http://u:p%40%3A@{place}"), Some("Basic dTpwQDo=")),
    ] {
        let before = proxy.requests().len();
        write_one(&format!("hosts => \"es.example.org\" user => \"es\" password => \"x\" proxy => \"{given}\""));
        let requests = proxy.requests().split_off(before);
        assert!(requests.iter().all(|r| r.target.starts_with("http://es.example.org:9200/")), "{requests:?}");
        assert!(requests.iter().all(|r| r.header("proxy-authorization") == login), "{given}");
        assert!(requests.iter().all(|r| r.header("authorization") == Some("Basic ZXM6eA==")), "{given}");
        assert!(requests.last().unwrap().is_bulk());
    }
}

#[test]
fn every_path_has_the_prefix_once() {
    for (url, more) in [("", "path => \"/es\""), ("/es", ""), ("/es/", "path => \"es\"")] {
        let server = Server::start(|request: &Request| match request.path().strip_prefix("/es") {
            Some("/_nodes/http") => Reply::status(500),
            Some(path) if !request.is_bulk() => product("es9", request, path),
            Some("/_bulk") => bulk::accepted(request),
            _ => Reply::status(404),
        });
        let options = format!("hosts => \"{}{url}\" {more} sniffing => true sniffing_delay => 0.1", server.url());
        let output = Direct::start(&format!("{} {options}", QUICK.replace("manage_template => false", "")), true);
        assert!(output.dead(&[json!({ "n": 1 })]).is_empty());
        assert!(eventually(Duration::from_secs(10), || paths(&server).contains(&"GET /es/_nodes/http".to_owned())));
        let seen = paths(&server);
        for path in
            ["HEAD /es/", "GET /es/", "GET /es/_license", "PUT /es/_index_template/ecs-logstash", "POST /es/_bulk"]
        {
            assert!(seen.contains(&path.to_owned()), "{path} {seen:?}");
        }
        assert!(seen.iter().all(|path| path.contains(" /es/") && !path.contains("/es/es")), "{seen:?}");
    }
}

#[test]
fn single_paths_can_be_others() {
    let server = Server::start(|request: &Request| match request.path() {
        "/health" => Reply::status(200),
        "/nodes" => Reply::status(500),
        "/my/_bulk" => bulk::accepted(request),
        path => product("es9", request, path),
    });
    let more = "healthcheck_path => \"/health\" bulk_path => \"/my//_bulk\" sniffing_path => \"/nodes\" sniffing => true \
                sniffing_delay => 0.1 parameters => { \"k\" => [\"1\", \"2\"] }";
    write_one(&format!("hosts => \"{}\" {more}", server.url()));
    let seen = paths(&server);
    assert_eq!((seen[0].as_str(), seen.contains(&"POST /my/_bulk".to_owned())), ("HEAD /health", true), "{seen:?}");
    assert!(server.requests().iter().all(|request| request.target.contains("?k=1&k=2")));
}

/// What `/_nodes/http` answers: nodes at these places.
fn nodes(places: &[String]) -> Reply {
    let nodes: serde_json::Map<String, Json> = places
        .iter()
        .enumerate()
        .map(|(n, place)| (format!("n{n}"), json!({ "roles": ["data"], "http": { "publish_address": place } })))
        .collect();
    Reply::json(200, &json!({ "nodes": nodes }))
}

/// A server that names these servers when it is asked.
fn naming(found: &Arc<Mutex<Vec<String>>>) -> Server {
    let found = found.clone();
    Server::start(move |request: &Request| match request.path() {
        "/_nodes/http" => nodes(&found.lock().unwrap()),
        _ if request.is_bulk() => bulk::accepted(request),
        path => product("es9", request, path),
    })
}

fn place(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port)
}

#[test]
fn servers_that_are_found_take_the_place_of_those_that_are_given() {
    let found = Arc::default();
    let (first, second) = (naming(&found), naming(&found));
    let options = format!(
        "{QUICK} hosts => \"{}\" sniffing => true sniffing_delay => 0.1 user => \"u\" password => \"p\"",
        first.url()
    );
    let output = Direct::start(&options, true);
    assert!(output.dead(&[json!({ "n": 1 })]).is_empty());
    // Nobody is named: the given one stays.
    assert!(eventually(Duration::from_secs(10), || output.count("sniff_requests") > 1));
    assert!(output.dead(&[json!({ "n": 2 })]).is_empty());
    assert_eq!((first.bulks().len(), second.bulks().len()), (2, 0));
    *found.lock().unwrap() = vec![format!("127.0.0.1/{}", place(&second))];
    let looked = || second.requests().iter().any(|request| request.path() == "/_license");
    assert!(eventually(Duration::from_secs(10), looked), "a server that is found is checked at once");
    let goes_there = || output.dead(&[json!({ "n": 3 })]).is_empty() && !second.bulks().is_empty();
    assert!(eventually(Duration::from_secs(10), goes_there));
    let login = second.requests().iter().all(|request| request.header("authorization") == Some("Basic dTpw"));
    assert!(login, "it gets the login of the given one");
}

#[test]
fn a_found_server_that_cannot_be_reached_holds_nothing_up() {
    let found = Arc::default();
    let first = naming(&found);
    // Nothing listens on the discard port of this machine.
    *found.lock().unwrap() = vec![place(&first), "127.0.0.1:9".to_owned()];
    let options = format!("{QUICK} hosts => \"{}\" sniffing => true sniffing_delay => 0.1", first.url());
    let output = Direct::start(&options, true);
    assert!(eventually(Duration::from_secs(10), || output.count("sniff_requests") > 2));
    for n in 0..10 {
        assert!(output.dead(&[json!({ "n": n })]).is_empty());
    }
    assert_eq!(first.bulks().len(), 10);
}

#[test]
fn requests_are_packed_as_the_level_says() {
    let server = elasticsearch(bulk::accepted);
    let mut sizes = Vec::new();
    for level in [0, 1, 9] {
        let output =
            Direct::start(&format!("{QUICK} hosts => \"{}\" compression_level => {level}", server.url()), true);
        let text: String = (0..2000).map(|n| format!("line {} of {} ", n * 7919 % 1000, n % 13)).collect();
        assert!(output.dead(&[json!({ "text": text })]).is_empty());
        let request = server.bulks().pop().unwrap();
        assert_eq!(request.header("content-encoding"), (level > 0).then_some("gzip"));
        let plain = bulk::plain(&request).len();
        assert_eq!(request.header("x-elastic-uncompressed-request-length"), Some(plain.to_string().as_str()));
        sizes.push(request.body.len());
    }
    assert!(sizes[0] > sizes[1] && sizes[1] > sizes[2], "{sizes:?}");
}

#[test]
fn certificates_may_come_in_stores() {
    let server = Server::start_tls(tls::localhost(true), |request: &Request| match request.path() {
        path if path.ends_with("/_bulk") => bulk::accepted(request),
        path => product("es9", request, path),
    });
    let dir = tempfile::tempdir().unwrap();
    let (trust, own) = (tls::truststore(dir.path()), tls::keystore(dir.path()));
    let elastic = format!(
        "ssl_truststore_path => \"{trust}\" ssl_truststore_password => \"secret\" ssl_keystore_path => \"{own}\" \
         ssl_keystore_password => \"secret\" ssl_keystore_type => pkcs12 ssl_cipher_suites => [\"TLS_AES_256_GCM_SHA384\"]"
    );
    let opensearch = format!(
        "truststore => \"{trust}\" truststore_password => \"secret\" keystore => \"{own}\" keystore_password => \"secret\""
    );
    let host = format!("hosts => \"https://localhost:{}\"", server.port);
    write_one(&format!("{host} {elastic}"));
    let output = Direct::start_opensearch(&format!("{QUICK} {host} {opensearch}"), true);
    assert!(output.dead(&[json!({ "n": 1 })]).is_empty());
    assert_eq!(server.bulks().len(), 2);
    let wrong = Direct::build(&format!("{QUICK} {host} {}", elastic.replace("secret", "other")), true);
    assert!(wrong.err().is_some_and(|mistakes| mistakes.contains("opens with this password")));
}

#[test]
fn a_certificate_that_has_run_out_makes_a_server_unreachable() {
    let dir = tempfile::tempdir().unwrap();
    let (config, authority) = tls::expired(dir.path());
    let server = Server::start_tls(config, |request: &Request| product("es9", request, request.path()));
    let host = format!("hosts => \"https://localhost:{}\"", server.port);
    let output = Direct::start(&format!("{QUICK} {host} ssl_certificate_authorities => \"{authority}\""), true);
    output.stop.cancel();
    assert!(output.write(&[json!({ "n": 1 })]).is_err());
    assert!(server.requests().is_empty());
    // The date is what it fails at.
    Direct::start(&format!("{QUICK} {host} ssl_verification_mode => none"), true);
    assert!(!server.requests().is_empty());
}
