//! The clickhouse output through the program, against nodes that fail as they are told. Real servers are in
//! `clickhouse_servers.rs`.

mod clickhouse_support;
mod elasticsearch_support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clickhouse_support::{Node, exception, text};
use elasticsearch_support::eventually;
use elasticsearch_support::program::Program;
use elasticsearch_support::server::{Reply, Server};
use elasticsearch_support::tls;
use serde_json::{Value as Json, json};

/// Long enough for anything on the slowest machine.
const LIMIT: Duration = Duration::from_secs(60);
const QUICK: &str = "retry_initial_interval => 0.1 retry_max_interval => 0.3";
/// Sends each row at once.
const AT_ONCE: &str = "flush_size => 1";

fn output(nodes: &[&Node], options: &str) -> String {
    let hosts: Vec<String> = nodes.iter().map(|node| format!("'{}'", node.url())).collect();
    let table = if options.contains("table =>") { "" } else { "table => 'logs'" };
    format!("output {{ clickhouse {{ id => 'out' hosts => [{}] {table} {QUICK} {options} }} }}", hosts.join(", "))
}

fn start(nodes: &[&Node], options: &str) -> Program {
    Program::start(&output(nodes, options), &[])
}

fn start_with_dead_letters(nodes: &[&Node], options: &str) -> Program {
    Program::start(&output(nodes, options), &[("dead_letter_queue.enable", "true".to_owned())])
}

fn numbered(numbers: std::ops::Range<i64>) -> Vec<Json> {
    numbers.map(|n| json!({ "n": n })).collect()
}

fn all(count: i64) -> Vec<i64> {
    (0..count).collect()
}

#[track_caller]
fn until(what: &str, program: &Program, is_true: impl FnMut() -> bool) {
    assert!(eventually(LIMIT, is_true), "{what} did not come; the program said:\n{}", program.log().join("\n"));
}

/// Sends rows, a few at a time, until something is true; `sent` counts them.
#[track_caller]
fn feed_until(what: &str, program: &mut Program, sent: &mut i64, step: i64, is_true: impl Fn() -> bool) {
    let fed = eventually(LIMIT, || {
        program.send(&numbered(*sent..*sent + step));
        *sent += step;
        is_true()
    });
    assert!(fed, "{what} did not come; the program said:\n{}", program.log().join("\n"));
}

#[track_caller]
fn ends_well(program: &mut Program) {
    assert!(program.finish(LIMIT).success(), "{}", program.log().join("\n"));
}

/// The numbers of dead letters, and their reasons.
fn dead(program: &Program) -> (Vec<i64>, Vec<String>) {
    let letters = program.dead_letters();
    let numbers = letters.iter().map(|letter| {
        let event: Json = serde_json::from_str(&letter.event.to_json()).unwrap();
        event["n"].as_i64().unwrap_or(-1)
    });
    let mut numbers: Vec<i64> = numbers.collect();
    numbers.sort_unstable();
    (numbers, letters.iter().map(|letter| letter.reason.to_string()).collect())
}

fn counter(stats: &Json, path: &str) -> u64 {
    path.split('.').fold(stats, |at, name| &at[name]).as_u64().unwrap_or_else(|| panic!("no {path} in {stats}"))
}

#[test]
fn each_insert_has_rows_of_one_table_and_no_row_is_lost_or_doubled() {
    let node = Node::start();
    let config = output(&[&node], "table => 'tb_%{app}' flush_bytes => 1000 max_tables => 2");
    let mut program = Program::start(&config, &[("pipeline.workers", "4".to_owned())]);
    let apps = ["Order-Service", "web", "db"];
    let events: Vec<Json> = (0..3000).map(|n| json!({ "n": n, "app": apps[n % 3] })).collect();
    program.send(&events);
    ends_well(&mut program);
    assert_eq!(node.numbers(), all(3000));
    let inserts = node.inserts();
    let longest = inserts.iter().flat_map(|i| i.body.split_inclusive(|b| *b == b'\n')).map(<[u8]>::len).max().unwrap();
    for insert in &inserts {
        let apps: BTreeSet<&str> = insert.rows.iter().map(|row| row["app"].as_str().unwrap()).collect();
        assert_eq!(apps.len(), 1);
        let app = apps.first().unwrap().to_lowercase().replace('-', "_");
        assert_eq!(insert.table, format!("`tb_{app}`"));
        assert!(insert.body.len() < 1000 + longest, "{}", insert.body.len());
    }
    let tokens: BTreeSet<&str> = inserts.iter().map(|insert| insert.token.as_str()).collect();
    assert_eq!(tokens.len(), inserts.len());
}

#[test]
fn a_row_is_sent_when_it_is_old_although_no_other_comes() {
    let node = Node::start();
    let mut program = start(&[&node], "flush_interval => 1");
    program.send(&numbered(0..1));
    until("the row", &program, || node.numbers() == [0]);
    let stats = program.stats().unwrap();
    assert_eq!((counter(&stats, "flush.age"), counter(&stats, "rows.inserted")), (1, 1));
    ends_well(&mut program);
}

#[test]
fn requests_say_what_the_server_has_to_know_and_nothing_secret() {
    let node = Node::start();
    let password = "p&#%: é\"'";
    let options = format!(
        "user => 'writer' password => \"{}\" database => 'my db' headers => {{ 'X-Tenant' => 'a' }} \
         query_settings => {{ 'max_insert_threads' => 2 }} table => 'we`ird' compression => none exclude_fields => host",
        "p&#%: é\\\"'"
    );
    let config = output(&[&node], &options);
    let mut program = Program::start(&config, &[("config.support_escapes", "true".to_owned())]);
    program.send(&[json!({ "n": 1, "@metadata": { "secret": 1 }, "nested": { "a": [1, null] } })]);
    ends_well(&mut program);
    let insert = node.inserts().remove(0);
    assert_eq!(
        String::from_utf8(insert.body.clone()).unwrap(),
        "{\"n\":1,\"nested\":{\"a\":[1,null]},\"timestamp\":\"2026-03-01T10:00:00.000Z\"}\n"
    );
    assert_eq!(insert.table, "`we\\`ird`");
    for (name, value) in [
        ("database", "my db"),
        ("input_format_skip_unknown_fields", "0"),
        ("date_time_input_format", "best_effort"),
        ("input_format_null_as_default", "1"),
        ("input_format_defaults_for_omitted_fields", "1"),
        ("wait_end_of_query", "1"),
        ("max_insert_threads", "2"),
    ] {
        assert_eq!(insert.query.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert!(!insert.query["query_id"].is_empty() && !insert.token.is_empty());
    assert!(!insert.query.contains_key("user") && !insert.query.contains_key("password"));
    let header = |name: &str| insert.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
    assert_eq!(header("x-clickhouse-user").unwrap(), "writer");
    assert_eq!(header("x-clickhouse-key").unwrap(), password);
    assert_eq!(header("x-tenant").unwrap(), "a");
    assert!(!program.log().join("\n").contains("p&#"), "{:?}", program.log());
}

#[test]
fn bodies_are_compressed_as_asked() {
    for compression in ["gzip", "zstd", "lz4", "none"] {
        let node = Node::start();
        let mut program = start(&[&node], &format!("compression => {compression}"));
        program.send(&numbered(0..50));
        ends_well(&mut program);
        assert_eq!(node.numbers(), all(50), "{compression}");
    }
}

#[test]
fn a_node_with_a_named_code_is_left_out_and_comes_back() {
    for code in [210, 1002] {
        let (good, bad) = (Node::start(), Node::start());
        bad.script(move |_| Some(exception(500, code, "Network error")));
        let options = format!("{AT_ONCE} exclude_interval => 5 writers => 1");
        let mut program = start(&[&good, &bad], &options);
        let mut sent = 0;
        // Which of the two gets a batch is chance.
        while bad.inserts().is_empty() {
            program.send(&numbered(sent..sent + 1));
            sent += 1;
            until("the row", &program, || good.numbers().len() == usize::try_from(sent).unwrap());
        }
        let first = bad.inserts().remove(0);
        let again = good.inserts().into_iter().find(|insert| insert.token == first.token).expect("the same batch");
        assert_eq!(again.body, first.body);
        assert!(program.has_logged("WARN", &["left out", &code.to_string()]), "{:?}", program.log());
        // While it is out it gets nothing, then a ping and rows again.
        let pings = bad.pings();
        bad.script(|_| None);
        program.send(&numbered(sent..sent + 20));
        sent += 20;
        until("the rows", &program, || good.numbers().len() == usize::try_from(sent).unwrap());
        assert_eq!((bad.inserts().len(), bad.pings()), (1, pings));
        until("the return", &program, || program.has_logged("INFO", &["is back"]));
        assert!(bad.pings() > pings);
        feed_until("rows at the node that came back", &mut program, &mut sent, 1, || !bad.numbers().is_empty());
        ends_well(&mut program);
        let mut numbers = [good.numbers(), bad.numbers()].concat();
        numbers.sort_unstable();
        assert_eq!(numbers, all(sent));
    }
}

#[test]
fn a_node_that_is_down_costs_nothing() {
    let (good, bad) = (Node::start(), Node::start());
    bad.server.down();
    let mut program = start(&[&bad, &good], AT_ONCE);
    program.send(&numbered(0..50));
    ends_well(&mut program);
    assert_eq!(good.numbers(), all(50));
}

#[test]
fn all_nodes_down_for_a_while_lose_nothing() {
    let nodes = [Node::start(), Node::start(), Node::start()];
    let mut program = start(&nodes.each_ref(), &format!("{AT_ONCE} queue_capacity => 2 writers => 2 retries => 3"));
    program.send(&numbered(0..10));
    let count = || nodes.iter().map(|node| node.numbers().len()).sum::<usize>();
    until("the first rows", &program, || count() == 10);
    nodes.iter().for_each(|node| node.server.down());
    program.send(&numbered(10..200));
    until("the complaint", &program, || program.has_logged("ERROR", &["No ClickHouse server can be reached"]));
    nodes.iter().for_each(|node| node.server.up());
    ends_well(&mut program);
    let numbers: BTreeSet<i64> = nodes.iter().flat_map(Node::numbers).collect();
    assert_eq!(numbers.into_iter().collect::<Vec<_>>(), all(200));
}

#[test]
fn a_slow_node_is_given_up_and_the_same_insert_goes_elsewhere() {
    let (slow, good) = (Node::start(), Node::start());
    slow.script(|_| Some(Reply::Late(Duration::from_secs(8), Box::new(text("")))));
    let mut program = start(&[&slow, &good], &format!("{AT_ONCE} timeout => 2"));
    let mut sent = 0;
    feed_until("a try at the slow node", &mut program, &mut sent, 1, || !slow.inserts().is_empty());
    let first = slow.inserts().remove(0);
    until("the second try", &program, || good.inserts().iter().any(|insert| insert.token == first.token));
    let again = good.inserts().into_iter().find(|insert| insert.token == first.token).unwrap();
    assert_eq!(again.body, first.body);
    assert!(program.has_logged("WARN", &["no answer within 2 s"]), "{:?}", program.log());
    program.terminate();
    program.wait(LIMIT);
}

#[test]
fn a_lost_reply_is_followed_by_the_same_insert_with_the_same_token() {
    let node = Node::start();
    let lost = AtomicBool::new(false);
    node.script(move |_| (!lost.swap(true, Ordering::SeqCst)).then_some(Reply::Reset));
    let mut program = start(&[&node], "");
    program.send(&numbered(0..20));
    ends_well(&mut program);
    let inserts = node.inserts();
    assert_eq!(inserts.len(), 2);
    assert_eq!((&inserts[0].token, &inserts[0].body), (&inserts[1].token, &inserts[1].body));
    assert_ne!(inserts[0].query["query_id"], inserts[1].query["query_id"]);
}

#[test]
fn a_success_that_carries_an_exception_is_a_failure() {
    let node = Node::start();
    let tries = AtomicUsize::new(0);
    node.script(move |_| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => Some(exception(200, 241, "Memory limit exceeded")),
        1 => Some(Reply::Http {
            status: 200,
            headers: vec![("X-Any".to_owned(), "1".to_owned())],
            body: b"Code: 202. DB::Exception: Too many simultaneous queries".to_vec(),
        }),
        _ => None,
    });
    let mut program = start(&[&node], "");
    program.send(&numbered(0..5));
    ends_well(&mut program);
    let tokens: BTreeSet<String> = node.inserts().into_iter().map(|insert| insert.token).collect();
    assert_eq!((node.inserts().len(), tokens.len(), node.numbers()), (3, 1, all(5)));
}

#[test]
fn too_many_parts_stop_one_table_and_no_node() {
    let node = Node::start();
    let is_full = Arc::new(AtomicBool::new(true));
    let full = is_full.clone();
    node.script(move |insert| {
        let refuses = insert.table == "`t_full`" && full.load(Ordering::SeqCst);
        refuses.then(|| exception(500, 252, "Too many parts (300)"))
    });
    let options = format!("table => 't_%{{app}}' {AT_ONCE} writers => 1 queue_capacity => 2");
    let mut program = start(&[&node], &options);
    let events =
        |app: &str, from: i64| -> Vec<Json> { (from..from + 30).map(|n| json!({ "n": n, "app": app })).collect() };
    program.send(&events("full", 0));
    program.send(&events("free", 30));
    until("the rows of the other table", &program, || node.numbers() == (30..60).collect::<Vec<_>>());
    assert!(!program.has_logged("WARN", &["left out"]));
    until("more than one try", &program, || node.inserts().iter().filter(|i| i.table == "`t_full`").count() > 2);
    is_full.store(false, Ordering::SeqCst);
    ends_well(&mut program);
    assert_eq!(node.numbers(), all(60));
}

#[test]
fn a_server_that_holds_its_replies_stops_the_input() {
    let node = Node::start();
    let held = Arc::new(AtomicBool::new(true));
    let hold = held.clone();
    node.script(move |_| {
        let wait = if hold.load(Ordering::SeqCst) { Duration::from_secs(4) } else { Duration::ZERO };
        Some(Reply::Late(wait, Box::new(text(""))))
    });
    let config = output(&[&node], "flush_size => 10 writers => 2 queue_capacity => 3");
    let settings = [("pipeline.workers", "1".to_owned()), ("pipeline.batch.size", "20".to_owned())];
    let mut program = Program::start(&config, &settings);
    let events = numbered(0..5000);
    // The program stops reading, so that this waits as well.
    std::thread::scope(|scope| {
        scope.spawn(|| program.send(&events));
        assert!(eventually(LIMIT, || node.inserts().len() == 2));
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(node.inserts().len(), 2, "one for each writer");
        held.store(false, Ordering::SeqCst);
    });
    ends_well(&mut program);
    assert_eq!(node.numbers(), all(5000));
}

fn refuses_bad_rows(node: &Node, is_bad: impl Fn(i64) -> bool + Send + Clone + 'static, names_row: bool) {
    node.script(move |insert| {
        let row = insert.first(|row| is_bad(row["n"].as_i64().unwrap()))?;
        let n = &insert.rows[row - 1]["n"];
        let place = if names_row { format!(": (at row {row})") } else { String::new() };
        Some(exception(400, 27, &format!("Cannot parse input: n is {n}{place}")))
    });
}

#[test]
fn one_bad_row_is_a_dead_letter_and_the_others_are_stored() {
    let node = Node::start();
    refuses_bad_rows(&node, |n| n == 16, true);
    let mut program = start_with_dead_letters(&[&node], "");
    program.send(&numbered(0..1000));
    ends_well(&mut program);
    assert_eq!(node.numbers(), (0..1000).filter(|n| *n != 16).collect::<Vec<_>>());
    assert_eq!(node.inserts().len(), 3);
    let (numbers, reasons) = dead(&program);
    assert_eq!(numbers, [16]);
    assert_eq!(
        reasons[0],
        "Could not insert event into ClickHouse. table: default.logs, code: 27, message: Code: 27. DB::Exception: \
         Cannot parse input: n is 16: (at row 1)"
    );
    let letters = program.dead_letters();
    assert_eq!((letters[0].plugin_type.as_str(), letters[0].plugin_id.as_str()), ("clickhouse", "out"));
}

#[test]
fn bad_rows_of_ten_thousand_are_dead_letters_one_by_one() {
    for names_row in [true, false] {
        let node = Node::start();
        refuses_bad_rows(&node, |n| n % 250 == 7, names_row);
        let mut program = start_with_dead_letters(&[&node], "");
        program.send(&numbered(0..10_000));
        ends_well(&mut program);
        let (numbers, reasons) = dead(&program);
        assert_eq!(numbers, (0..10_000).filter(|n| n % 250 == 7).collect::<Vec<_>>());
        for (letter, reason) in program.dead_letters().iter().zip(&reasons) {
            let event: Json = serde_json::from_str(&letter.event.to_json()).unwrap();
            let own = format!("n is {}", event["n"]);
            assert!(reason.ends_with(&own) || reason.contains(&format!("{own}:")), "{reason}");
        }
        let mut together = [node.numbers(), numbers].concat();
        together.sort_unstable();
        assert_eq!(together, all(10_000), "delivered + dead = in");
    }
}

#[test]
fn without_a_dead_letter_queue_a_bad_row_is_logged_and_the_others_are_stored() {
    let node = Node::start();
    refuses_bad_rows(&node, |n| n == 3, true);
    let mut program = start(&[&node], "");
    program.send(&numbered(0..10));
    ends_well(&mut program);
    assert_eq!(node.numbers().len(), 9);
    assert!(program.has_logged("WARN", &["event dropped", "table: default.logs, code: 27", "n is 3"]));
}

#[test]
fn an_insert_that_is_too_large_is_halved() {
    let node = Node::start();
    node.script(|insert| {
        (insert.body.len() > 2000).then(|| Reply::Http { status: 413, headers: Vec::new(), body: Vec::new() })
    });
    let mut program = start_with_dead_letters(&[&node], "");
    let mut events = numbered(0..200);
    events[100]["text"] = "x".repeat(3000).into();
    program.send(&events);
    ends_well(&mut program);
    assert_eq!(dead(&program).0, [100]);
    assert_eq!(node.numbers(), (0..200).filter(|n| *n != 100).collect::<Vec<_>>());
}

#[test]
fn a_table_that_is_missing() {
    let node = Node::start();
    let missing = |insert: &clickhouse_support::Insert| {
        (insert.table == "`t_gone`").then(|| exception(404, 60, "Table default.t_gone does not exist"))
    };
    node.script(missing);
    // Where events choose the table, they are dead letters.
    let mut program = start_with_dead_letters(&[&node], "table => 't_%{app}'");
    program.send(&[json!({ "n": 1, "app": "gone" }), json!({ "n": 2, "app": "here" })]);
    ends_well(&mut program);
    assert_eq!((node.numbers(), dead(&program).0), (vec![2], vec![1]));
    // A table that is always the same may still be made.
    let tries = AtomicUsize::new(0);
    node.script(move |insert| if tries.fetch_add(1, Ordering::SeqCst) < 2 { missing(insert) } else { None });
    let mut program = start_with_dead_letters(&[&node], "table => 't_gone'");
    program.send(&numbered(3..4));
    until("the row", &program, || node.numbers() == [2, 3]);
    assert!(program.has_logged("ERROR", &["does not exist"]));
    ends_well(&mut program);
}

#[test]
fn names_of_tables_are_checked_never_guessed() {
    let node = Node::start();
    let mut program = start_with_dead_letters(&[&node], "table => 'tb_logs_%{application}'");
    let long = "x".repeat(300);
    let names = [json!("Order-Service"), Json::Null, json!("x; DROP TABLE y"), json!("a`b"), json!(long), json!("")];
    let events: Vec<Json> = names.iter().enumerate().map(|(n, name)| json!({ "n": n, "application": name })).collect();
    program.send(&events);
    program.send(&[json!({ "n": 6 })]);
    ends_well(&mut program);
    assert_eq!(node.stored("n"), [("`tb_logs_order_service`".to_owned(), json!(0))]);
    let (numbers, reasons) = dead(&program);
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    assert!(reasons.iter().all(|reason| reason.starts_with("Could not map event to a ClickHouse table.")));
}

#[test]
fn full_buffers_are_sent_when_the_program_is_told_to_end() {
    let node = Node::start();
    let mut program = start(&[&node], "table => 't%{t}'");
    let events: Vec<Json> = (0..100).map(|n| json!({ "n": n, "t": n % 5 })).collect();
    program.send(&events);
    until("the rows", &program, || program.stats().is_some_and(|stats| stats["events"]["out"] == 100));
    assert!(node.inserts().is_empty());
    program.terminate();
    assert!(program.wait(LIMIT).success());
    assert_eq!((node.inserts().len(), node.numbers()), (5, all(100)));
}

#[test]
fn an_end_while_the_server_is_busy_waits_for_it() {
    let node = Node::start();
    node.script(|_| Some(exception(500, 202, "Too many simultaneous queries")));
    let config = output(&[&node], "flush_size => 10")
        .replace("retry_max_interval => 0.3", "retry_max_interval => 60")
        .replace("retry_initial_interval => 0.1", "retry_initial_interval => 60");
    let mut program = Program::start(&config, &[]);
    program.send(&numbered(0..95));
    until("a try", &program, || node.inserts().len() >= 9);
    program.terminate();
    until("a second try", &program, || node.inserts().len() >= 12);
    node.script(|_| None);
    assert!(program.wait(LIMIT).success());
    assert_eq!(node.numbers(), all(95));
}

#[test]
fn rows_that_no_server_takes_before_the_end_are_counted_and_not_acknowledged() {
    let node = Node::start();
    node.server.down();
    let home = Arc::new(tempfile::tempdir().unwrap());
    let lines = home.path().join("in.log");
    std::fs::write(&lines, (0..100).map(|n| format!("{{\"n\":{n}}}\n")).collect::<String>()).unwrap();
    let read = format!(
        "input {{ file {{ path => '{}' start_position => beginning codec => json sincedb_path => '{}' }} }}",
        lines.display(),
        home.path().join("position").display()
    );
    // Beside the input that every program here has.
    let config = |options: &str| format!("{read} {}", output(&[&node], options));
    let mut program = Program::start_in(home.clone(), &config("timeout => 1"), &[]);
    until("the rows", &program, || program.stats().is_some_and(|stats| stats["events"]["in"] == 100));
    program.terminate();
    program.wait(LIMIT);
    assert!(program.has_logged("ERROR", &["100 rows were not stored"]), "{:?}", program.log());
    node.server.up();
    let mut program = Program::start_in(home, &config("flush_interval => 1"), &[]);
    until("the rows", &program, || node.numbers() == all(100));
    program.terminate();
    program.wait(LIMIT);
}

#[test]
fn used_up_retries_keep_the_rows_unless_the_user_says_otherwise() {
    let refuse = |_: &clickhouse_support::Insert| Some(exception(500, 999, "Keeper exception"));
    // Set by the user, with a dead letter queue: dead letters.
    let node = Node::with(refuse);
    let mut program = start_with_dead_letters(&[&node], "retries => 2");
    program.send(&numbered(0..3));
    ends_well(&mut program);
    let (numbers, reasons) = dead(&program);
    assert_eq!((numbers, node.inserts().len()), (all(3), 3));
    assert!(reasons[0].contains("code: 999"), "{}", reasons[0]);
    // At most once: dropped.
    let node = Node::with(refuse);
    let mut program = start(&[&node], "retries => 2 delivery => at_most_once");
    program.send(&numbered(0..3));
    ends_well(&mut program);
    assert!(program.has_logged("WARN", &["3 rows for default.logs are dropped"]), "{:?}", program.log());
    // The old plugin's way: a file.
    let node = Node::with(refuse);
    let folder = tempfile::tempdir().unwrap();
    let options = format!(
        "request_tolerance => 1 automatic_retries => 0 save_on_failure => true save_dir => '{}'",
        folder.path().join("new").display()
    );
    let mut program = start(&[&node], &options);
    program.send(&numbered(0..3));
    ends_well(&mut program);
    let file = std::fs::read_dir(folder.path().join("new")).unwrap().next().unwrap().unwrap();
    assert!(file.file_name().to_str().unwrap().starts_with("logs_"));
    assert_eq!(std::fs::read_to_string(file.path()).unwrap().lines().count(), 3);
    // Otherwise they are kept.
    let node = Node::with(refuse);
    let config = output(&[&node], "flush_size => 1").replace("retry_max_interval => 0.3", "retry_max_interval => 0.1");
    let mut program = Program::start(&config, &[("dead_letter_queue.enable", "true".to_owned())]);
    program.send(&numbered(0..1));
    until("a round of retries", &program, || program.has_logged("ERROR", &["All retries", "are kept"]));
    node.script(|_| None);
    ends_well(&mut program);
    assert_eq!((node.numbers(), dead(&program).0.len()), (vec![0], 0));
}

#[test]
fn a_wrong_password_or_setting_keeps_the_pipeline_from_starting() {
    for (code, text) in [(516, "Authentication failed"), (192, "Unknown user"), (115, "Unknown setting 'max_typo'")] {
        let node = Node::start();
        node.answers("SELECT 1", exception(403, code, text));
        let mut program = start(&[&node], "query_settings => { 'max_typo' => 1 }");
        assert!(!program.wait(LIMIT).success());
        assert!(program.has_logged("ERROR", &["refuses us", text]), "{:?}", program.log());
    }
}

#[test]
fn settings_that_an_old_server_does_not_know_are_left_out() {
    let node = Node::with(|insert| {
        ["insert_deduplication_token", "input_format_null_as_default"].iter().find_map(|name| {
            let body = format!("Code: 115, e.displayText() = DB::Exception: Unknown setting {name}, e.what() = x");
            let reply = || Reply::Http { status: 404, headers: Vec::new(), body: body.into_bytes() };
            insert.query.contains_key(*name).then(reply)
        })
    });
    let mut program = start(&[&node], "");
    program.send(&numbered(0..3));
    ends_well(&mut program);
    assert_eq!(node.numbers(), all(3));
    assert!(program.has_logged("WARN", &["does not know the setting `insert_deduplication_token`"]));
}

#[test]
fn a_server_that_is_away_at_the_start_is_waited_for() {
    let node = Node::start();
    node.server.down();
    let mut program = start(&[&node], AT_ONCE);
    program.send(&numbered(0..5));
    until("the wait", &program, || program.has_logged("WARN", &["No ClickHouse server can be reached yet"]));
    node.server.up();
    until("the rows", &program, || node.numbers() == all(5));
    ends_well(&mut program);
}

#[test]
fn connections_can_be_encrypted_both_ways() {
    let node = Node::with_tls(tls::localhost(true));
    let file = |name: &str| tls::file(name).display().to_string();
    let config = format!(
        "output {{ clickhouse {{ hosts => 'https://localhost:{}' table => logs ssl_certificate_authorities => '{}' \
         ssl_certificate => '{}' ssl_key => '{}' }} }}",
        node.server.port,
        file("authority.crt"),
        file("client.crt"),
        file("client.key"),
    );
    let mut program = Program::start(&config, &[]);
    program.send(&numbered(0..5));
    ends_well(&mut program);
    assert_eq!(node.numbers(), all(5));
}

/// Nodes of a cluster have one port, so they need addresses of their own.
struct Cluster {
    nodes: Vec<Node>,
}

const ADDRESSES: [&str; 3] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];

impl Cluster {
    fn start() -> Self {
        let first = Node::start();
        let port = first.server.port;
        let others = ADDRESSES.iter().skip(1).map(|address| Node::at((*address, port), |_| None));
        Self { nodes: std::iter::once(first).chain(others).collect() }
    }

    /// Address and shard of each node that the first one lists.
    fn lists(&self, nodes: &[(&str, u32)]) {
        let lines = nodes.iter().map(|(address, shard)| {
            json!({ "host_name": format!("name-of-{address}"), "host_address": address, "shard_num": shard, "replica_num": 1 })
                .to_string()
                + "\n"
        });
        self.nodes[0].answers("system.clusters", text(&lines.collect::<String>()));
    }

    fn start_program(&self, options: &str) -> Program {
        start(&[&self.nodes[0]], &format!("cluster => 'all' discovery_interval => 1 {AT_ONCE} {options}"))
    }

    fn counts(&self) -> Vec<usize> {
        self.nodes.iter().map(|node| node.numbers().len()).collect()
    }
}

#[test]
fn nodes_of_a_cluster_are_found_added_and_removed() {
    let cluster = Cluster::start();
    cluster.lists(&[("127.0.0.2", 1), ("127.0.0.3", 2)]);
    let mut program = cluster.start_program("exclude_hosts => ['name-of-127.0.0.3']");
    let mut sent = 0;
    let send = |program: &mut Program, sent: &mut i64| {
        program.send(&numbered(*sent..*sent + 1));
        *sent += 1;
    };
    for _ in 0..20 {
        send(&mut program, &mut sent);
    }
    until("the rows", &program, || cluster.counts() == [0, 20, 0]);
    // One joins.
    cluster.lists(&[("127.0.0.2", 1), ("127.0.0.1", 2)]);
    until("the new node", &program, || program.has_logged("INFO", &["New node 127.0.0.1"]));
    for _ in 0..40 {
        send(&mut program, &mut sent);
    }
    until("rows at the new node", &program, || cluster.counts()[0] > 0 && cluster.counts().iter().sum::<usize>() == 60);
    // No answer and an empty one change nothing.
    cluster.nodes[0].answers("system.clusters", exception(500, 241, "Memory limit"));
    until("a warning", &program, || program.has_logged("WARN", &["did not name the nodes", "Memory limit"]));
    cluster.lists(&[]);
    until("a warning", &program, || program.has_logged("WARN", &["knows no such cluster"]));
    for _ in 0..20 {
        send(&mut program, &mut sent);
    }
    until("the rows", &program, || cluster.counts().iter().sum::<usize>() == 80);
    // One goes.
    cluster.lists(&[("127.0.0.1", 2)]);
    until("the end of a node", &program, || program.has_logged("INFO", &["127.0.0.2", "is gone"]));
    let before = cluster.counts();
    for _ in 0..20 {
        send(&mut program, &mut sent);
    }
    ends_well(&mut program);
    assert_eq!(cluster.counts(), [before[0] + 20, before[1], 0]);
}

#[test]
fn what_may_be_stored_goes_to_the_same_shard_again() {
    let cluster = Cluster::start();
    cluster.lists(&[("127.0.0.1", 1), ("127.0.0.2", 2), ("127.0.0.3", 1)]);
    // The first node stores every batch and loses its answer.
    let tokens = Arc::new(Mutex::new(BTreeSet::new()));
    let lost = tokens.clone();
    cluster.nodes[0].script(move |insert| {
        lost.lock().unwrap().insert(insert.token.clone());
        Some(Reply::Reset)
    });
    let mut program = cluster.start_program("exclude_interval => 1");
    let mut sent = 0;
    feed_until("some lost answers", &mut program, &mut sent, 3, || tokens.lock().unwrap().len() >= 3);
    let lost = tokens.lock().unwrap().clone();
    until("the retries", &program, || {
        let third = cluster.nodes[2].inserts();
        lost.iter().all(|token| third.iter().any(|insert| insert.token == *token))
    });
    assert!(cluster.nodes[1].inserts().iter().all(|insert| !lost.contains(&insert.token)));
    program.terminate();
    program.wait(LIMIT);
}

#[test]
fn a_node_with_a_full_disk_is_left_out_until_there_is_room() {
    let cluster = Cluster::start();
    cluster.lists(&[("127.0.0.1", 1), ("127.0.0.2", 2)]);
    for node in &cluster.nodes {
        node.answers("system.disks", text("50\n"));
        node.answers("system.metrics", text("3\n"));
    }
    cluster.nodes[1].answers("system.disks", text("95.5\n"));
    let mut program = cluster.start_program("exclude_interval => 1");
    until("the check", &program, || program.has_logged("WARN", &["127.0.0.2", "95.5 percent of a disk"]));
    let before = cluster.nodes[1].inserts().len();
    program.send(&numbered(0..20));
    until("the rows", &program, || cluster.nodes[0].numbers() == all(20));
    assert_eq!(cluster.nodes[1].inserts().len(), before);
    cluster.nodes[1].answers("system.disks", text("40\n"));
    until("the return", &program, || program.has_logged("INFO", &["127.0.0.2", "is back"]));
    ends_well(&mut program);
}

#[test]
fn counters_tell_what_happened() {
    let node = Node::start();
    let tries = AtomicUsize::new(0);
    node.script(move |_| (tries.fetch_add(1, Ordering::SeqCst) == 0).then(|| exception(500, 202, "Too many")));
    let mut program = start(&[&node], "flush_size => 4");
    program.send(&numbered(0..8));
    until("the rows", &program, || node.numbers() == all(8));
    until("the counters", &program, || program.stats().is_some_and(|stats| counter(&stats, "rows.inserted") == 8));
    let stats = program.stats().unwrap();
    let counts: BTreeMap<&str, u64> = [
        "inserts.successes",
        "inserts.failures",
        "inserts.retries",
        "inserts.codes.202",
        "flush.size",
        "rows.retried",
        "queue.size",
        "nodes.known",
        "nodes.healthy",
        "nodes.excluded",
        "buffers.bytes",
        "buffers.tables",
    ]
    .into_iter()
    .map(|path| (path, counter(&stats, path)))
    .collect();
    let values: Vec<u64> = counts.values().copied().collect();
    assert_eq!(
        counts.into_keys().collect::<Vec<_>>(),
        [
            "buffers.bytes",
            "buffers.tables",
            "flush.size",
            "inserts.codes.202",
            "inserts.failures",
            "inserts.retries",
            "inserts.successes",
            "nodes.excluded",
            "nodes.healthy",
            "nodes.known",
            "queue.size",
            "rows.retried",
        ]
    );
    assert_eq!(values, [0, 1, 2, 1, 1, 1, 2, 0, 1, 1, 0, 4]);
    assert!(counter(&stats, "bytes.inserted") > 0);
    ends_well(&mut program);
}

/// A node that accepts connections and never says a word.
#[test]
fn a_silent_server_holds_up_no_start_for_long() {
    let silent = Server::start(|_| Reply::Late(Duration::from_secs(20), Box::new(Reply::Close)));
    let good = Node::start();
    let config = format!(
        "output {{ clickhouse {{ hosts => ['{}', '{}'] table => logs {QUICK} {AT_ONCE} }} }}",
        silent.url(),
        good.url()
    );
    let mut program = Program::start(&config, &[]);
    program.send(&numbered(0..5));
    until("the rows", &program, || good.numbers() == all(5));
    ends_well(&mut program);
}

#[test]
fn a_kill_loses_nothing_that_a_file_still_holds() {
    let node = Node::with(|_| Some(Reply::Late(Duration::from_millis(300), Box::new(text("")))));
    let home = Arc::new(tempfile::tempdir().unwrap());
    let lines = home.path().join("in.log");
    std::fs::write(&lines, (0..3000).map(|n| format!("{{\"n\":{n}}}\n")).collect::<String>()).unwrap();
    let config = format!(
        "input {{ file {{ path => '{}' start_position => beginning codec => json sincedb_path => '{}' }} }} {}",
        lines.display(),
        home.path().join("position").display(),
        output(&[&node], "flush_size => 100 writers => 2 queue_capacity => 2 flush_interval => 1")
    );
    let program = Program::start_in(home.clone(), &config, &[]);
    until("some rows", &program, || node.numbers().len() >= 500);
    // Kills it.
    drop(program);
    assert!(node.numbers().len() < 3000);
    let program = Program::start_in(home, &config, &[]);
    until("all rows", &program, || node.numbers().into_iter().collect::<BTreeSet<_>>().len() == 3000);
}
