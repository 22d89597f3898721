//! What keeps the output from starting, and what does not; TLS and logins.

mod elasticsearch_support;

use std::time::Duration;

use serde_json::{Value as Json, json};

use elasticsearch_support::bulk::{self, elasticsearch, product};
use elasticsearch_support::direct::Direct;
use elasticsearch_support::program::Program;
use elasticsearch_support::server::{Reply, Request, Server};
use elasticsearch_support::{eventually, tls};

const QUICK: &str = "retry_initial_interval => 0.05 retry_max_interval => 0.1 resurrect_delay => 0.1";

fn options(server: &Server, more: &str) -> String {
    format!("hosts => [\"{}\"] index => \"logs\" {QUICK} {more}", server.url())
}

/// A server that answers `GET /` like this, and everything else as Elasticsearch does.
fn introducing(root: impl Fn() -> Reply + Send + 'static) -> Server {
    Server::start(move |request| match (request.method.as_str(), request.path()) {
        ("GET", "/") => root(),
        (_, path) if path.ends_with("/_bulk") => bulk::accepted(request),
        (_, path) => product("es9", request, path),
    })
}

fn refusal(server: &Server) -> String {
    Direct::build(&options(server, ""), false).unwrap_or_else(|e| panic!("{e}")).register().unwrap_err().to_string()
}

#[test]
fn servers_that_refuse_us_stop_the_start_and_the_message_names_them() {
    for (status, body, words) in [
        (401, "", "check the credentials"),
        (403, "", "check the privileges"),
        (400, "bad Elastic-Api-Version", "Elastic-Api-Version header is not valid"),
        (200, "<html>", "compatible version"),
        (200, "{}", "compatible version"),
        (200, "{\"version\":{\"number\":\"6.8.0\"}}", "compatible version"),
        (200, "{\"version\":{\"number\":\"8.1.0\",\"build_flavor\":\"default\"}}", "compatible version"),
        (
            200,
            "{\"version\":{\"number\":\"7.10.2\",\"build_flavor\":\"oss\"},\"tagline\":\"You Know, for Search\"}",
            "compatible version",
        ),
    ] {
        let server = introducing(move || Reply::Http { status, headers: vec![], body: body.as_bytes().to_vec() });
        let message = refusal(&server);
        assert!(message.contains(words), "{message}");
        assert!(message.contains(&server.url()), "{message}");
    }
}

#[test]
fn one_bad_host_of_two_stops_the_start() {
    let (good, bad) = (elasticsearch(bulk::accepted), introducing(|| Reply::status(401)));
    let hosts = format!("hosts => [\"{}\", \"{}\"] index => \"logs\"", good.url(), bad.url());
    assert!(Direct::build(&hosts, false).is_ok_and(|output| output.register().is_err()));
}

#[test]
fn servers_that_are_not_there_yet_do_not_stop_the_start() {
    for status in [404, 500, 503] {
        let mut bad = 2;
        let server = Server::start(move |request| match request.path() {
            "/" if request.method == "GET" && bad > 0 => {
                bad -= 1;
                Reply::status(status)
            }
            path if path.ends_with("/_bulk") => bulk::accepted(request),
            path => product("es9", request, path),
        });
        let output = Direct::start(&options(&server, ""), false);
        assert!(output.dead(&[json!({ "n": 1 })]).is_empty());
        assert_eq!(server.bulks().len(), 1);
    }
    let server = elasticsearch(bulk::accepted);
    server.down();
    let output = Direct::start(&options(&server, ""), false);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| output.dead(&[json!({ "n": 1 })]));
        std::thread::sleep(Duration::from_millis(200));
        server.up();
        assert!(writing.join().unwrap().is_empty());
    });
}

#[test]
fn opensearch_is_accepted_without_a_licence() {
    let server = Server::start(|request| match request.path() {
        path if path.ends_with("/_bulk") => bulk::accepted(request),
        path => product("opensearch2", request, path),
    });
    let output = Direct::start(&options(&server, ""), false);
    assert!(output.dead(&[json!({ "n": 1 })]).is_empty());
    let calls: Vec<String> = server.requests().iter().map(|r| format!("{} {}", r.method, r.path())).collect();
    let template = ["HEAD /_index_template/ecs-logstash", "PUT /_index_template/ecs-logstash"];
    assert_eq!(calls, [&["HEAD /", "GET /", "GET /"][..], &template, &["POST /_bulk"]].concat());
}

#[test]
fn serverless_projects_get_their_header() {
    let server = Server::start(|request| match request.path() {
        path if path.ends_with("/_bulk") => bulk::accepted(request),
        path => product("serverless", request, path),
    });
    let output = Direct::start(&options(&server, ""), false);
    output.dead(&[json!({ "n": 1 })]);
    let versions: Vec<Option<String>> =
        server.requests().iter().map(|r| r.header("Elastic-Api-Version").map(str::to_owned)).collect();
    assert_eq!(versions[..2], [None, None]);
    assert!(versions[2..].iter().all(|v| v.as_deref() == Some("2023-10-31")), "{versions:?}");
}

#[test]
fn a_licence_that_cannot_be_read_keeps_the_host_out_until_it_can() {
    let mut bad = 2;
    let server = Server::start(move |request| match request.path() {
        "/_license" if bad > 0 => {
            bad -= 1;
            Reply::status(500)
        }
        path if path.ends_with("/_bulk") => bulk::accepted(request),
        path => product("es9", request, path),
    });
    let output = Direct::start(&options(&server, ""), false);
    assert!(output.dead(&[json!({ "n": 1 })]).is_empty());
    assert_eq!(server.requests().iter().filter(|r| r.path() == "/_license").count(), 3);
}

#[test]
fn logins_are_sent_with_every_request_and_never_in_the_address() {
    for (login, header) in [
        ("user => \"u\" password => \"p@:/#%\"", Some("Basic dTpwQDovIyU=")),
        ("cloud_auth => \"u:p\"", Some("Basic dTpw")),
        ("user => \"u\"", None),
    ] {
        let server = elasticsearch(bulk::accepted);
        let output = Direct::start(&options(&server, login), false);
        output.dead(&[json!({ "n": 1 })]);
        assert!(server.requests().iter().all(|r| r.header("authorization") == header), "{login}");
    }
    let server = elasticsearch(bulk::accepted);
    let host = server.url().replace("//", "//u:p%40@");
    let output = Direct::start(&format!("hosts => \"{host}\" index => \"logs\""), false);
    output.dead(&[json!({ "n": 1 })]);
    assert!(server.requests().iter().all(|r| r.header("authorization") == Some("Basic dTpwQA==")));
    assert!(server.requests().iter().all(|r| !r.target.contains('@') && !r.header("host").unwrap().contains('@')));
}

#[test]
fn headers_of_every_request() {
    let server = elasticsearch(bulk::accepted);
    let own = "custom_headers => { \"X-Team\" => \"ops\" \"User-Agent\" => \"mine\" }";
    let output = Direct::start(&options(&server, own), false);
    output.dead(&[json!({ "n": 1 })]);
    for request in server.requests() {
        for (name, value) in [
            ("content-type", "application/json"),
            ("x-elastic-product-origin", "logstash-output-elasticsearch"),
            ("accept-encoding", "gzip,deflate"),
            ("x-team", "ops"),
            ("user-agent", "mine"),
        ] {
            assert_eq!(request.header(name), Some(value), "{} {}", request.method, request.target);
        }
    }
    let plain = elasticsearch(bulk::accepted);
    Direct::start(&options(&plain, ""), false);
    assert!(plain.requests()[0].header("user-agent").unwrap().starts_with("Spillway/"));
}

fn tls_server(asks_for_client: bool) -> Server {
    Server::start_tls(tls::localhost(asks_for_client), |request: &Request| match request.path() {
        path if path.ends_with("/_bulk") => bulk::accepted(request),
        path => product("es9", request, path),
    })
}

fn tls_options(server: &Server, host: &str, more: &str) -> String {
    format!("hosts => \"https://{host}:{}\" index => \"logs\" {QUICK} {more}", server.port)
}

#[test]
fn tls_trusts_the_given_authority_fingerprint_or_nobody() {
    let server = tls_server(false);
    let ca = format!("ssl_certificate_authorities => \"{}\"", tls::file("authority.crt").display());
    let pinned = format!("ca_trusted_fingerprint => \"{}\"", tls::fingerprint("authority.crt"));
    let unverified = "ssl_verification_mode => none".to_owned();
    let oldest = format!("{ca} ssl_supported_protocols => [\"TLSv1.2\"]");
    for (host, trust) in
        [("localhost", &ca), ("localhost", &pinned), ("127.0.0.1", &unverified), ("localhost", &oldest)]
    {
        let before = server.bulks().len();
        let output = Direct::start(&tls_options(&server, host, trust), false);
        assert!(output.dead(&[json!({ "n": 1 })]).is_empty());
        assert_eq!(server.bulks().len(), before + 1, "{trust}");
    }
    let with_key = Direct::start(&tls_options(&server, "localhost", &format!("{ca} api_key => \"a:b\"")), false);
    with_key.dead(&[json!({ "n": 1 })]);
    assert_eq!(server.bulks().last().unwrap().header("authorization"), Some("ApiKey YTpi"));
}

#[test]
fn a_server_that_is_not_trusted_counts_as_unreachable() {
    let server = tls_server(false);
    let ca = |name: &str| format!("ssl_certificate_authorities => \"{}\"", tls::file(name).display());
    let pinned = format!("ca_trusted_fingerprint => \"{}\"", tls::fingerprint("foreign.crt"));
    for (host, trust) in [
        ("localhost", ca("foreign.crt")),
        ("127.0.0.1", ca("authority.crt")),
        ("localhost", String::new()),
        ("localhost", pinned),
    ] {
        // It starts, and waits.
        let output = Direct::start(&tls_options(&server, host, &trust), false);
        output.stop.cancel();
        assert!(output.write(&[json!({ "n": 1 })]).is_err(), "{host} {trust}");
    }
    assert!(server.requests().is_empty());
}

#[test]
fn tls_shows_our_certificate_to_servers_that_ask() {
    let server = tls_server(true);
    let file = |name: &str| tls::file(name).display().to_string();
    let ca = format!("ssl_certificate_authorities => \"{}\"", file("authority.crt"));
    let identity = format!("ssl_certificate => \"{}\" ssl_key => \"{}\"", file("client.crt"), file("client.key"));
    let pinned = format!("ca_trusted_fingerprint => \"{}\"", tls::fingerprint("authority.crt"));
    for trust in [&ca, &pinned] {
        let output = Direct::start(&tls_options(&server, "localhost", &format!("{trust} {identity}")), false);
        assert!(output.dead(&[json!({ "n": 1 })]).is_empty());
    }
    let nobody = Direct::start(&tls_options(&server, "localhost", &ca), false);
    nobody.stop.cancel();
    assert!(nobody.write(&[json!({ "n": 1 })]).is_err());
}

#[test]
fn wrong_options_are_refused_with_words_that_help() {
    let file = |name: &str| tls::file(name).display().to_string();
    let (ca, key) = (file("authority.crt"), file("client.key"));
    let https = "hosts => \"https://h\" index => \"a\"";
    for (options, words) in [
        ("index => \"a\" hosts => \"http://my_es:9200\"".to_owned(), "host is not specified"),
        ("index => \"a\" hosts => [\"http://a\", \"https://b\"]".to_owned(), "Explicit value for 'scheme'"),
        ("index => \"a\" hosts => \"http://a\" ssl_enabled => true".to_owned(), "Explicit value for 'scheme'"),
        ("index => \"a\" hosts => \"http://u:p@a\" user => \"v\" password => \"p\"".to_owned(), "for 'user'"),
        ("index => \"a\" hosts => \"http://a/es\" path => \"/other\"".to_owned(), "for 'path'"),
        ("index => \"a\" bulk_path => \"/%{x}/_bulk\"".to_owned(), "bulk_path"),
        ("index => \"a\" cloud_auth => \"u\"".to_owned(), "<username>:<password>"),
        ("index => \"a\" action => \"\"".to_owned(), "No action specified!"),
        ("index => \"a\" action => \"upsert\"".to_owned(), "Pick one of"),
        ("index => \"a\" action => \"update\"".to_owned(), "needs a document_id"),
        ("index => \"a\" data_stream => \"true\"".to_owned(), "Invalid data stream configuration"),
        ("manage_template => true data_stream => \"true\"".to_owned(), "say: manage_template"),
        ("ecs_compatibility => disabled data_stream => \"true\"".to_owned(), "ecs_compatibility"),
        ("index => \"a\" data_stream_type => metrics".to_owned(), "Ambiguous configuration"),
        ("data_stream_dataset => \"\"".to_owned(), "Invalid identifier"),
        ("data_stream_namespace => \"a:b\"".to_owned(), "Invalid characters detected"),
        ("index => \"a\" template => \"/no/such/file\"".to_owned(), "does not exist"),
        (format!("index => \"a\" template => \"{ca}\""), "is no index template"),
        ("ilm_rollover_alias => \"%{app}\"".to_owned(), "ilm_rollover_alias"),
        ("sniffing => true hosts => [\"a:1\", \"b:2\"]".to_owned(), "Cannot have multiple values for"),
        ("doc_as_upsert => true scripted_upsert => true script => \"x\"".to_owned(), "mutually exclusive"),
        ("index => \"a\" version_type => external".to_owned(), "requires the presence of a version number"),
        (
            "index => \"a\" version => \"1\" version_type => external action => create".to_owned(),
            "not supported by the create action",
        ),
        ("index => \"a\" proxy => \"ftp://p\"".to_owned(), "URL of an HTTP proxy"),
        ("index => \"a\" cloud_id => \"x\"".to_owned(), "cloud_id"),
        ("cloud_id => \"x:aCRhJGs=\" hosts => \"h\"".to_owned(), "Both cloud_id and hosts"),
        ("index => \"a\" cacert => \"x\"".to_owned(), "ssl_certificate_authorities"),
        ("index => \"a\" flush_size => 1".to_owned(), "flush_size"),
        ("index => \"a\" compression_level => 10".to_owned(), "compression_level"),
        ("index => \"a\" dlq_custom_codes => [201]".to_owned(), "success codes which cannot be redefined"),
        (format!("{https} api_key => \"abc\""), "Invalid api_key format"),
        (format!("{https} ssl_certificate_authorities => [\"{ca}\", \"{ca}\"]"), "Multiple values on"),
        (format!("{https} ssl_certificate_authorities => \"{key}\""), "holds no certificate"),
        (format!("{https} ssl_certificate_authorities => \"/no/such/file\""), "does not exist"),
        (format!("{https} ssl_certificate => \"{ca}\""), "needs `ssl_key`"),
        (format!("{https} ssl_key => \"{key}\""), "needs `ssl_certificate`"),
        (format!("{https} ssl_certificate => \"{key}\" ssl_key => \"{ca}\""), "are not a certificate and its own"),
        (format!("{https} ca_trusted_fingerprint => \"ab\""), "SHA-256"),
        (format!("{https} ssl_truststore_path => \"x\""), "does not exist"),
        (format!("{https} ssl_truststore_path => \"{ca}\""), "is no PKCS#12 file"),
        (format!("{https} ssl_keystore_path => \"{ca}\" ssl_keystore_type => jks"), "keytool -importkeystore"),
        (
            format!("{https} ssl_truststore_path => \"{ca}\" ssl_certificate_authorities => \"{ca}\""),
            "Use either \"ssl_certificate_authorities",
        ),
        (
            format!("{https} ssl_keystore_path => \"{ca}\" ssl_certificate => \"{ca}\" ssl_key => \"{key}\""),
            "Use either \"ssl_certificate\" or",
        ),
        (format!("{https} ssl_cipher_suites => \"TLS_RSA_WITH_RC4_128_MD5\""), "is not built in"),
    ] {
        let mistakes = Direct::build(&options, false).err().unwrap_or_else(|| panic!("accepted: {options}"));
        assert!(mistakes.contains(words), "{options}: {mistakes}");
    }
}

#[test]
fn switched_off_features_and_old_forms_are_accepted() {
    for options in ["data_stream => true dlq_custom_codes => [403]", "cloud_id => \"x:aCRhJGs=\" cloud_auth => \"u:p\""]
    {
        let built = Direct::build(options, true);
        assert!(built.is_ok(), "{options}: {}", built.err().unwrap_or_default());
    }
    for more in [
        "manage_template => false ilm_enabled => false data_stream => false sniffing => false proxy => ''",
        "ilm_enabled => \"false\" data_stream => \"auto\" ecs_compatibility => v1 codec => json",
        "hosts => \"a:9200 b:9200\" user => \"u\" password => \"p\" path => \"/es\" timeout => 5",
        "ssl_certificate_authorities => [] ssl_verification_mode => none pool_max => 5 pool_max_per_route => 2",
        "failure_type_logging_whitelist => [\"x\"] http_compression => true validate_after_inactivity => 0",
        "document_type => \"x\" retry_on_conflict => 3 drop_error_types => \"a\" parameters => { \"a\" => [1, 2] }",
    ] {
        let built = Direct::build(&format!("index => \"a\" {more}"), true);
        assert!(built.is_ok(), "{more}: {}", built.err().unwrap_or_default());
    }
}

#[test]
fn a_dead_host_is_looked_at_again_and_again() {
    let server = elasticsearch(bulk::accepted);
    server.down();
    let output = Direct::start(&options(&server, ""), false);
    server.up();
    let asked = || server.requests().iter().any(|r| r.path() == "/_license");
    assert!(eventually(Duration::from_secs(10), asked));
    assert!(output.write(&[Json::Object(Default::default())]).is_ok());
}

#[test]
fn passwords_never_show_in_the_log() {
    let server = introducing(|| Reply::status(401));
    let host = server.url().replace("//", "//u:s3cret%40@");
    for output in [
        format!("hosts => \"{host}\" index => \"logs\""),
        format!("hosts => \"{}\" user => \"u\" password => \"s3cret@\" index => \"logs\"", server.url()),
        format!("hosts => \"{host}\" password => \"s3cret-other\" index => \"logs\""),
        format!("hosts => [\"{host}\", \"http://u:s3cret@my_es\"] index => \"logs\""),
    ] {
        let mut program = Program::start(&format!("output {{ elasticsearch {{ {output} }} }}"), &[]);
        assert!(!program.wait(Duration::from_secs(30)).success());
        let log = program.log().join("\n");
        assert!(log.contains("ERROR") && !log.contains("s3cret"), "{log}");
    }
}
