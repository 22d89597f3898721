//! Real ClickHouse: `SPILLWAY_CLICKHOUSE=http://127.0.0.1:18123 cargo test --test clickhouse_servers` after
//! `tests/services/clickhouse.sh start` at 127.0.0.1, 127.0.0.2 and 127.0.0.3 (one cluster, `three`);
//! `SPILLWAY_CLICKHOUSE_ENGINE` names a current engine (`clickhouse-http.sh`). Without them nothing is tested.

mod elasticsearch_support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use elasticsearch_support::eventually;
use elasticsearch_support::program::Program;
use serde_json::{Value as Json, json};

const LIMIT: Duration = Duration::from_secs(120);

/// A server.
struct Server {
    url: String,
}

impl Server {
    /// What it answers to a statement, and the HTTP status.
    fn call(&self, sql: &str) -> (u16, String) {
        let address = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "POST / HTTP/1.0\r\nHost: x\r\nContent-Length: {}\r\n\r\n{sql}", sql.len()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.trim().to_owned())
    }

    fn ask(&self, sql: &str) -> String {
        let (status, body) = self.call(sql);
        assert_eq!(status, 200, "{sql}: {body}");
        body
    }

    /// Makes a table of that name, empty, with columns n, s and timestamp.
    fn table(&self, name: &str, settings: &str) {
        self.ask(&format!("DROP TABLE IF EXISTS {name}"));
        let columns = "n Int32, s String, timestamp DateTime DEFAULT now()";
        self.ask(&format!("CREATE TABLE {name} ({columns}) ENGINE = MergeTree ORDER BY n {settings}"));
    }

    fn count(&self, table: &str) -> usize {
        self.ask(&format!("SELECT count() FROM {table}")).parse().unwrap()
    }

    /// The values of `n`, sorted.
    fn numbers(&self, table: &str) -> Vec<i64> {
        let text = self.ask(&format!("SELECT n FROM {table} ORDER BY n"));
        text.lines().map(|line| line.parse().unwrap()).collect()
    }
}

/// Runs a test on each server that there is; `current` tells a current one from an old one.
fn on_each_server(test: impl Fn(&Server, bool)) {
    let urls = [("SPILLWAY_CLICKHOUSE", false), ("SPILLWAY_CLICKHOUSE_ENGINE", true)];
    let there = urls.map(|(name, current)| (std::env::var(name), current));
    if there.iter().all(|(url, _)| url.is_err()) {
        println!("skipped: neither SPILLWAY_CLICKHOUSE nor SPILLWAY_CLICKHOUSE_ENGINE names a server");
    }
    for (url, current) in there {
        let Ok(url) = url else { continue };
        test(&Server { url }, current);
    }
}

/// The three nodes of the cluster.
fn on_a_cluster(test: impl Fn(&[Server])) {
    let Ok(url) = std::env::var("SPILLWAY_CLICKHOUSE") else {
        return println!("skipped: SPILLWAY_CLICKHOUSE names no server");
    };
    let at = |address: &str| Server { url: url.replace("127.0.0.1", address) };
    test(&["127.0.0.1", "127.0.0.2", "127.0.0.3"].map(at));
}

fn start(server: &Server, options: &str) -> Program {
    let config = format!(
        "output {{ clickhouse {{ id => 'out' hosts => '{}' retry_initial_interval => 0.2 exclude_fields => host {options} }} }}",
        server.url
    );
    Program::start(&config, &[("dead_letter_queue.enable", "true".to_owned())])
}

#[track_caller]
fn ends_well(program: &mut Program) {
    assert!(program.finish(LIMIT).success(), "{}", program.log().join("\n"));
}

fn rows(numbers: std::ops::Range<i64>) -> Vec<Json> {
    numbers.map(|n| json!({ "n": n, "s": format!("text \"{n}\"\n") })).collect()
}

#[test]
fn rows_arrive_with_their_types() {
    on_each_server(|server, _| {
        server.table("typed", "");
        let mut program = start(server, "table => typed");
        program.send(&[
            json!({ "n": -5, "s": "é \"quoted\" \\ \t", "@timestamp": "2026-03-01T10:00:00.123Z" }),
            json!({ "n": 7, "s": "" }),
        ]);
        ends_well(&mut program);
        let rows = server.ask("SELECT n, s, toUnixTimestamp(timestamp) FROM typed ORDER BY n FORMAT JSONCompact");
        let rows: Json = serde_json::from_str(&rows).unwrap();
        assert_eq!(rows["data"], json!([[-5, "é \"quoted\" \\ \t", 1_772_359_200], [7, "", 1_772_359_200]]));
        assert!(program.dead_letters().is_empty());
    });
}

#[test]
fn bad_rows_of_ten_thousand_are_dead_letters_and_the_others_are_stored() {
    on_each_server(|server, _| {
        server.table("mixed", "");
        let mut program = start(server, "table => mixed");
        let mut events = rows(0..10_000);
        let bad: Vec<usize> = (0..10_000).filter(|n| n % 777 == 5).collect();
        for at in &bad {
            events[*at]["n"] = json!(format!("no number {at}"));
        }
        events[1234]["unknown"] = json!(1);
        program.send(&events);
        ends_well(&mut program);
        let dead = program.dead_letters();
        assert_eq!(dead.len(), bad.len() + 1);
        assert_eq!(server.count("mixed") + dead.len(), 10_000);
        for letter in &dead {
            let event: Json = serde_json::from_str(&letter.event.to_json()).unwrap();
            assert!(letter.reason.starts_with("Could not insert event into ClickHouse. table: default.mixed, code: "));
            let word =
                event["n"].as_str().map_or("unknown".to_owned(), |n| n.split(' ').next_back().unwrap().to_owned());
            assert!(letter.reason.contains(&word) || letter.reason.contains("no number"), "{word}: {}", letter.reason);
        }
    });
}

#[test]
fn an_insert_that_comes_twice_is_stored_once() {
    on_each_server(|server, current| {
        if !current {
            return println!("skipped: the old server knows no tokens");
        }
        server.table("once", "SETTINGS non_replicated_deduplication_window = 100");
        let insert = |token: &str| {
            let url = server.url.strip_prefix("http://").unwrap();
            let body = "{\"n\":1}\n";
            let mut stream = TcpStream::connect(url).unwrap();
            let target =
                format!("/?query=INSERT%20INTO%20once%20FORMAT%20JSONEachRow&insert_deduplication_token={token}");
            write!(stream, "POST {target} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
            let mut reply = String::new();
            stream.read_to_string(&mut reply).unwrap();
            assert!(reply.contains(" 200 "), "{reply}");
        };
        insert("a");
        insert("a");
        assert_eq!(server.count("once"), 1, "the table honours tokens");
        let mut program = start(server, "table => once flush_size => 10");
        program.send(&rows(0..100));
        ends_well(&mut program);
        assert_eq!(server.count("once"), 101, "each batch has a token of its own");
    });
}

#[test]
fn tables_by_application_and_a_missing_one() {
    on_each_server(|server, _| {
        server.table("tb_logs_order_service", "");
        server.table("tb_logs_web", "");
        let mut program = start(server, "table => 'tb_logs_%{[@metadata][app]}'");
        let event = |n: i64, app: &str| json!({ "n": n, "s": "", "@metadata": { "app": app } });
        program.send(&[event(1, "Order-Service"), event(2, "web"), event(3, "gone"), event(4, "x; DROP TABLE typed")]);
        ends_well(&mut program);
        assert_eq!(server.numbers("tb_logs_order_service"), [1]);
        assert_eq!(server.numbers("tb_logs_web"), [2]);
        let mut reasons: Vec<String> = program.dead_letters().iter().map(|letter| letter.reason.to_string()).collect();
        reasons.sort();
        assert!(reasons[0].contains("table: default.tb_logs_gone, code: 60"), "{reasons:?}");
        assert!(reasons[1].contains("holds ';'"), "{reasons:?}");
    });
}

#[test]
fn a_password_of_odd_characters_lets_in_and_a_wrong_one_does_not_start() {
    on_each_server(|server, current| {
        if current {
            return println!("skipped: the front of the engine has no users");
        }
        server.table("secret", "");
        let mut program = start(server, "table => secret user => writer password => 'p&#%: é'");
        program.send(&rows(0..1));
        ends_well(&mut program);
        assert_eq!(server.count("secret"), 1);
        let mut program = start(server, "table => secret user => writer password => 'wrong'");
        assert!(!program.wait(LIMIT).success());
        assert!(program.has_logged("ERROR", &["refuses us"]), "{:?}", program.log());
    });
}

#[test]
fn rows_spread_over_the_nodes_of_a_cluster() {
    on_a_cluster(|nodes| {
        nodes.iter().for_each(|node| node.table("spread", ""));
        let mut program = start(&nodes[0], "table => spread cluster => three flush_size => 10");
        program.send(&rows(0..1000));
        ends_well(&mut program);
        let counts: Vec<usize> = nodes.iter().map(|node| node.count("spread")).collect();
        assert_eq!(counts.iter().sum::<usize>(), 1000, "{counts:?}");
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    });
}

#[test]
fn full_buffers_are_stored_when_the_program_is_told_to_end() {
    on_each_server(|server, _| {
        for n in 0..5 {
            server.table(&format!("end{n}"), "");
        }
        let mut program = start(server, "table => 'end%{[@metadata][t]}'");
        let events: Vec<Json> = (0..500).map(|n| json!({ "n": n, "s": "", "@metadata": { "t": n % 5 } })).collect();
        program.send(&events);
        let all_in = || program.stats().is_some_and(|stats| stats["events"]["out"] == 500);
        assert!(eventually(LIMIT, all_in), "{:?}", program.log());
        assert_eq!(server.count("end0"), 0);
        program.terminate();
        assert!(program.wait(LIMIT).success());
        let stored: usize = (0..5).map(|n| server.count(&format!("end{n}"))).sum();
        assert_eq!(stored, 500);
    });
}

/// A node that is started and stopped by the test itself.
struct OwnNode {
    env: [(&'static str, String); 3],
    server: Server,
}

impl OwnNode {
    fn start(number: usize, port: u16) -> Self {
        let host = format!("127.0.0.{number}");
        let node = Self {
            server: Server { url: format!("http://{host}:{port}") },
            env: [
                ("CLICKHOUSE_INSTANCE", format!("own-{}-{number}", std::process::id())),
                ("CLICKHOUSE_HOST", host),
                ("CLICKHOUSE_PORT", port.to_string()),
            ],
        };
        node.call("start");
        node
    }

    fn call(&self, verb: &str) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services/clickhouse.sh");
        let mut command = Command::new(script);
        let status = command.arg(verb).envs(self.env.clone()).stdin(Stdio::null()).stdout(Stdio::null()).status();
        assert!(status.unwrap().success() || verb == "wipe", "{verb}");
    }
}

impl Drop for OwnNode {
    fn drop(&mut self) {
        self.call("wipe");
    }
}

/// A port that is free on all three addresses, with the one behind it.
fn free_port() -> u16 {
    let is_free = |port: u16| (1..=3).all(|n| TcpListener::bind((format!("127.0.0.{n}"), port)).is_ok());
    (29_500..29_900).step_by(2).find(|port| is_free(*port) && is_free(port + 1)).unwrap()
}

#[test]
fn a_node_of_three_that_goes_away_and_comes_back_loses_no_row() {
    if std::env::var_os("SPILLWAY_CLICKHOUSE").is_none() {
        return println!("skipped: SPILLWAY_CLICKHOUSE names no server");
    }
    let port = free_port();
    let nodes: Vec<OwnNode> = (1..=3).map(|number| OwnNode::start(number, port)).collect();
    nodes.iter().for_each(|node| node.server.table("spread", ""));
    let options = "table => spread cluster => three flush_size => 50 writers => 3 exclude_interval => 1";
    let mut program = start(&nodes[0].server, options);
    let stored = |up: &[usize]| up.iter().map(|at| nodes[*at].server.count("spread")).collect::<Vec<_>>();
    program.send(&rows(0..2000));
    assert!(eventually(LIMIT, || stored(&[0, 1, 2]).iter().all(|count| *count > 0)), "{:?}", program.log());
    nodes[1].call("stop");
    program.send(&rows(2000..5000));
    assert!(eventually(LIMIT, || program.has_logged("WARN", &["127.0.0.2", "left out"])), "{:?}", program.log());
    nodes[1].call("start");
    assert!(eventually(LIMIT, || program.has_logged("INFO", &["127.0.0.2", "is back"])), "{:?}", program.log());
    let before = nodes[1].server.count("spread");
    program.send(&rows(5000..8000));
    ends_well(&mut program);
    let mut numbers: Vec<i64> = nodes.iter().flat_map(|node| node.server.numbers("spread")).collect();
    numbers.sort_unstable();
    // An old server knows no tokens, so an insert whose answer was lost may be there twice.
    numbers.dedup();
    assert_eq!(numbers, (0..8000).collect::<Vec<_>>());
    assert!(nodes[1].server.count("spread") > before, "the node that came back gets rows again");
}
