//! Servers and networks that break in every way: nothing is lost, nothing is stored twice, and a pipeline can always stop.

mod elasticsearch_support;

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use elasticsearch_support::bulk::{self, elasticsearch, product};
use elasticsearch_support::direct::Direct;
use elasticsearch_support::eventually;
use elasticsearch_support::server::{Reply, Request, Server};

const QUICK: &str = "index => \"a\" manage_template => false document_id => \"%{id}\" timeout => 1 \
                     retry_initial_interval => 0.05 retry_max_interval => 0.1 resurrect_delay => 0.1";
/// Documents of a batch.
const COUNT: usize = 20;

/// A name, and how a server answers a bulk request.
type Fault = (&'static str, fn(&Request) -> Reply);

const FAULTS: &[Fault] = &[
    ("hangs up before the answer", |_| Reply::Close),
    ("hangs up in the middle of the body", |_| Reply::Reset),
    ("hangs up in the status line", |_| Reply::Raw(b"HTTP/1.1 2".to_vec())),
    ("hangs up in the headers", |_| Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec())),
    ("hangs up before the body", |_| Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n".to_vec())),
    ("speaks no HTTP", |_| Reply::Raw(b"* OK IMAP4rev1 ready\r\n".to_vec())),
    ("breaks its chunks", |_| Reply::Raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n".to_vec())),
    ("answers too late", |request| Reply::Late(Duration::from_millis(1500), Box::new(bulk::accepted(request)))),
    ("truncates its JSON", |_| page("{\"errors\":true,\"items\":[{\"index\":{\"status\":4")),
    ("answers what is no JSON", |_| page("<html>Welcome</html>")),
    ("answers nothing", |_| page("")),
    ("answers a list", |_| page("[]")),
    ("says that it is packed and is not", |_| packed(b"{\"errors\":false}".to_vec())),
    ("unpacks to more than anybody can hold", |_| packed(bomb())),
    ("answers for fewer than were sent", |request| items(request, COUNT - 1)),
    ("answers for more than were sent", |request| items(request, COUNT + 1)),
    ("answers for none", |request| items(request, 0)),
    ("has too much to do", |_| Reply::status(429)),
    ("is not there behind its proxy", |_| Reply::status(502)),
    ("is in maintenance", |_| Reply::status(503)),
    ("takes no request that large", |_| Reply::status(413)),
    ("wants a login", |_| Reply::status(401)),
    ("sends us elsewhere", |_| Reply::Http {
        status: 302,
        headers: vec![("location".into(), "/".into())],
        body: vec![],
    }),
];

fn page(text: &str) -> Reply {
    Reply::Http { status: 200, headers: vec![], body: text.as_bytes().to_vec() }
}

fn packed(body: Vec<u8>) -> Reply {
    Reply::Http { status: 200, headers: vec![("content-encoding".to_owned(), "gzip".to_owned())], body }
}

/// 300 MiB of nothing in a few hundred kilobytes.
fn bomb() -> Vec<u8> {
    static BOMB: OnceLock<Vec<u8>> = OnceLock::new();
    let made = || {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let piece = vec![b' '; 1024 * 1024];
        (0..300).for_each(|_| encoder.write_all(&piece).unwrap());
        encoder.finish().unwrap()
    };
    BOMB.get_or_init(made).clone()
}

/// So many items, the first of them refused.
fn items(_: &Request, count: usize) -> Reply {
    let item = |n| json!({ "index": bulk::item(if n == 0 { 400 } else { 201 }, "t", "r") });
    Reply::json(200, &json!({ "errors": true, "items": (0..count).map(item).collect::<Vec<_>>() }))
}

fn events() -> Vec<Json> {
    (0..COUNT).map(|n| json!({ "id": format!("{n:03}") })).collect()
}

/// How often each id was accepted.
type Stored = Arc<Mutex<HashMap<String, usize>>>;

/// A server with a fault that lasts for so many bulk requests.
fn faulty(fault: fn(&Request) -> Reply, mut times: usize, stored: &Stored) -> Server {
    let stored = stored.clone();
    elasticsearch(move |request| {
        if times > 0 {
            times -= 1;
            return fault(request);
        }
        for id in bulk::ids(request) {
            *stored.lock().unwrap().entry(id.as_str().unwrap().to_owned()).or_default() += 1;
        }
        bulk::accepted(request)
    })
}

#[test]
fn whatever_a_server_does_every_document_is_stored_once_afterwards() {
    for (name, fault) in FAULTS {
        let stored = Stored::default();
        let server = faulty(*fault, 2, &stored);
        let output = Direct::start(&format!("hosts => \"{}\" {QUICK}", server.url()), true);
        let dead = output.dead(&events());
        assert!(dead.is_empty(), "{name}: {dead:?}");
        let stored = stored.lock().unwrap();
        assert_eq!(stored.len(), COUNT, "{name}");
        assert!(stored.values().all(|times| *times == 1), "{name}: {stored:?}");
        assert_eq!(server.bulks().len(), 3, "{name}");
    }
}

#[test]
fn a_pipeline_can_stop_whatever_a_server_does() {
    for (name, fault) in FAULTS {
        let server = faulty(*fault, usize::MAX, &Stored::default());
        let output = Direct::start(&format!("hosts => \"{}\" {QUICK}", server.url()), true);
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| output.write(&events()));
            assert!(eventually(Duration::from_secs(20), || server.bulks().len() > 1), "{name}");
            let asked = Instant::now();
            output.stop.cancel();
            assert!(writing.join().unwrap().is_err(), "{name}");
            // An answer that is under way is waited for, at most for the timeout.
            assert!(asked.elapsed() < Duration::from_secs(20), "{name}");
        });
    }
}

#[test]
fn one_good_server_of_three_is_enough() {
    let stored = Stored::default();
    let good = faulty(bulk::accepted, 0, &stored);
    let silent = Server::start(|_| Reply::Close);
    let hosts = format!("hosts => [\"http://nowhere.invalid:9200\", \"{}\", \"{}\"]", silent.url(), good.url());
    let output = Direct::start(&format!("{hosts} {QUICK}"), true);
    for _ in 0..5 {
        assert!(output.dead(&events()).is_empty());
    }
    assert!(stored.lock().unwrap().values().all(|times| *times == 5));
    assert_eq!(good.bulks().len(), 5);
}

#[test]
fn names_that_nobody_knows_are_waited_for() {
    let output = Direct::start(&format!("hosts => \"http://nowhere.invalid:9200\" {QUICK}"), true);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| output.write(&events()));
        std::thread::sleep(Duration::from_millis(300));
        output.stop.cancel();
        assert!(writing.join().unwrap().is_err());
    });
}

/// Every fifth request breaks, health checks included.
#[test]
fn a_flapping_cluster_loses_and_doubles_nothing() {
    let stored = Stored::default();
    let server = |seed: usize| {
        let (stored, mut turn) = (stored.clone(), seed);
        Server::start(move |request: &Request| {
            turn += 1;
            if turn % 5 == 0 {
                return Reply::Close;
            }
            if !request.is_bulk() {
                return product("es9", request, request.path());
            }
            for id in bulk::ids(request) {
                *stored.lock().unwrap().entry(id.as_str().unwrap().to_owned()).or_default() += 1;
            }
            bulk::accepted(request)
        })
    };
    let servers = [server(0), server(1), server(2)];
    let hosts = servers.iter().map(|server| format!("\"{}\"", server.url())).collect::<Vec<_>>().join(", ");
    let output = Direct::start(&format!("hosts => [{hosts}] {QUICK}"), true);
    for batch in 0..30 {
        let events: Vec<Json> = (0..COUNT).map(|n| json!({ "id": format!("{batch}-{n}") })).collect();
        assert!(output.dead(&events).is_empty());
    }
    let stored = stored.lock().unwrap();
    assert_eq!(stored.len(), 30 * COUNT);
    assert!(stored.values().all(|times| *times == 1));
}

/// Balancers cut connections that nobody uses for a while.
#[test]
fn a_connection_that_was_cut_while_idle_is_replaced_without_a_word() {
    let cutting = |request: &Request| {
        let Reply::Http { body, .. } = bulk::accepted(request) else { panic!("a plain reply") };
        let mut answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
        answer.extend_from_slice(&body);
        Reply::Raw(answer)
    };
    let server = elasticsearch(cutting);
    let output = Direct::start(&format!("hosts => \"{}\" {QUICK}", server.url()), true);
    for _ in 0..5 {
        assert!(output.dead(&events()).is_empty());
        // The end of the connection has to arrive.
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(output.count("bulk_requests.failures"), 0);
    assert_eq!(server.bulks().len(), 5);
}
