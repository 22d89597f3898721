//! `queue.type: persisted`, from outside: configuration and files in, events and files out.

#[path = "support/process.rs"]
mod process;
mod program;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use process::{Process, lines};
use program::Place;
use serde_json::Value as Json;
use spillway::event::cbor;

const FLAGS: &str =
    "--path.data data -S queue.type=persisted -S log.rate_limit=0s -S pipeline.ecs_compatibility=disabled";
const OUT: &str = "output { file { path => \"out\" flush_interval => 0 codec => line { format => \"%{message}\" } } }";
/// An output that cannot deliver: its folder is a file until the test makes way.
const BLOCKED: &str =
    "output { file { path => \"blocked/out\" flush_interval => 0 codec => line { format => \"%{message}\" } } }";

fn place(config: &str) -> Place {
    Place::new().file("main.conf", config).file("blocked", "a file where a folder should be")
}

fn start(place: &Place, more: &str) -> Process {
    Process::running(place.command(&format!("-f main.conf {FLAGS} {more}")))
}

fn numbered(from: usize, to: usize) -> String {
    (from..to).map(|n| format!("{n}\n")).collect()
}

fn numbers(path: &Path) -> Vec<usize> {
    lines(path).iter().map(|line| line.parse().unwrap()).collect()
}

fn until_in(process: &Process, count: u64) {
    process.until("what was fed", || (process.stats("main")["events"]["in"].as_u64()? >= count).then_some(()));
}

/// The queue is open for its output: what was a file becomes a folder.
fn unblock(place: &Place) {
    fs::remove_file(place.join("blocked")).unwrap();
    fs::create_dir(place.join("blocked")).unwrap();
}

fn files(queue: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(queue).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn checkpoint(queue: &Path, name: &str) -> (u32, u32, u64, u64, u32) {
    let bytes = fs::read(queue.join(name)).unwrap();
    let number = |range: std::ops::Range<usize>| bytes[range].iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
    assert_eq!(bytes.len(), 34);
    assert_eq!(number(30..34), u64::from(crc32fast::hash(&bytes[..30])));
    (number(2..6) as u32, number(6..10) as u32, number(10..18), number(18..26), number(26..30) as u32)
}

/// Numbers and payloads of the elements of a page.
fn elements(page: &Path) -> Vec<(u64, Vec<u8>)> {
    let bytes = fs::read(page).unwrap();
    let (mut at, mut found) = (1, Vec::new());
    loop {
        let number = u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
        let length = u32::from_be_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        if number == 0 {
            return found;
        }
        let payload = bytes[at + 12..at + 12 + length].to_vec();
        let crc = u32::from_be_bytes(bytes[at + 12 + length..at + 16 + length].try_into().unwrap());
        assert_eq!(crc, crc32fast::hash(&payload));
        found.push((number, payload));
        at += 16 + length;
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/queue").join(name)
}

#[test]
fn queues_of_logstash_are_drained_to_what_logstash_delivers() {
    for name in ["clean", "speed"] {
        let config = "input { stdin {} } filter { mutate { copy => { \"[@metadata][k]\" => \"meta_k\" } } }
            output { file { path => \"out\" codec => json_lines } }";
        let place = place(config);
        let queue = place.join("data/queue/main");
        fs::create_dir_all(&queue).unwrap();
        for entry in fs::read_dir(fixture(name)).unwrap() {
            let path = entry.unwrap().path();
            if !path.ends_with("expected.jsonl") {
                fs::copy(&path, queue.join(path.file_name().unwrap())).unwrap();
            }
        }
        let said = place.run_with_input(
            &format!("-f main.conf {FLAGS} -S queue.drain=true -S queue.page_capacity=4kb -w 1 -b 5"),
            "",
        );
        assert_eq!(said.code, 0, "{}", said.err);
        let parsed =
            |path: &Path| -> Vec<Json> { lines(path).iter().map(|line| serde_json::from_str(line).unwrap()).collect() };
        assert_eq!(parsed(&place.join("out")), parsed(&fixture(name).join("expected.jsonl")), "{name}");
        let left = files(&queue);
        assert_eq!(left.len(), 3, "{left:?}");
        assert!(left.contains("checkpoint.head") && left.contains(".queue-version"), "{left:?}");
    }
}

#[test]
fn files_fresh() {
    let place = place(&format!("input {{ stdin {{}} }} {OUT}"));
    let process = start(&place, "-S queue.page_capacity=1mb -S queue.max_bytes=4mb");
    let queue = place.join("data/queue/main");
    let expected = [".lock", ".queue-version", "checkpoint.head", "page.0"].map(str::to_owned);
    assert_eq!(files(&queue), BTreeSet::from(expected));
    assert_eq!(hex(&fs::read(queue.join(".queue-version")).unwrap()), "00000002");
    let page = fs::read(queue.join("page.0")).unwrap();
    assert_eq!(page.len(), 1_048_576);
    assert!(page[0] == 2 && page[1..].iter().all(|byte| *byte == 0));
    assert_eq!(
        hex(&fs::read(queue.join("checkpoint.head")).unwrap()),
        "0001000000000000000000000000000000000000000000000000000000006303e791"
    );
    drop(process);
}

#[test]
fn page_encoding() {
    let place = place(&format!("input {{ stdin {{}} }} {BLOCKED}"));
    let mut process = start(&place, "-S queue.checkpoint.writes=1");
    process.feed("x\ny\nz\n");
    let queue = place.join("data/queue/main");
    process.until("the checkpoint", || (checkpoint(&queue, "checkpoint.head") == (0, 0, 1, 1, 3)).then_some(()));
    let elements = elements(&queue.join("page.0"));
    assert_eq!(elements.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2, 3]);
    for ((_, payload), message) in elements.iter().zip(["x", "y", "z"]) {
        let (fields, _) = cbor::decode(payload).unwrap();
        assert_eq!(fields.get("message").and_then(|value| value.as_str()), Some(message));
    }
}

#[test]
fn kill_keeps_unchecked_writes() {
    let place = place(&format!("input {{ stdin {{}} }} {BLOCKED}"));
    let more = "-S queue.checkpoint.writes=1000000";
    let mut process = start(&place, more);
    process.feed(&numbered(0, 500));
    until_in(&process, 500);
    process.kill();
    unblock(&place);
    let process = start(&place, more);
    process.until_file(&place.join("blocked/out"), 500);
    process.until_err("recovered head data page 0 is different than checkpoint");
    let delivered: BTreeSet<_> = numbers(&place.join("blocked/out")).into_iter().collect();
    assert_eq!(delivered, (0..500).collect());
}

#[test]
fn resume_after_term() {
    let config = format!("input {{ stdin {{}} }} filter {{ sleep {{ time => \"0.01\" }} }} {OUT}");
    let place = place(&config);
    let more = "-w 1 -b 10";
    let mut process = start(&place, more);
    process.feed(&numbered(0, 200));
    until_in(&process, 200);
    process.until_file(&place.join("out"), 20);
    let said = process.stop();
    said.fails_with(0, &["the persisted queue keeps events for the next start"]);
    let before = numbers(&place.join("out")).len();
    assert!(before < 200, "it stopped before everything was delivered");
    let process = start(&place, more);
    process.until_file(&place.join("out"), 200);
    assert_eq!(process.stop().code, 0);
    assert_eq!(numbers(&place.join("out")), (0..200).collect::<Vec<_>>());
}

#[test]
fn drain() {
    let config = format!("input {{ stdin {{}} }} filter {{ sleep {{ time => \"0.005\" }} }} {OUT}");
    let place = place(&config);
    let mut process = start(&place, "-w 1 -b 10 -S queue.drain=true");
    process.feed(&numbered(0, 200));
    until_in(&process, 200);
    assert_eq!(process.stats("main")["queue"]["type"], "persisted");
    let said = process.stop();
    assert_eq!(said.code, 0, "{}", said.err);
    said.never_says("stalled");
    assert_eq!(numbers(&place.join("out")), (0..200).collect::<Vec<_>>());
}

#[test]
fn what_is_left_when_the_sources_end_is_delivered() {
    let place = place(&format!("input {{ stdin {{}} }} {OUT}"));
    let said = place.run_with_input(&format!("-f main.conf {FLAGS}"), &numbered(0, 5000));
    assert_eq!(said.code, 0, "{}", said.err);
    let mut delivered = numbers(&place.join("out"));
    delivered.sort_unstable();
    assert_eq!(delivered, (0..5000).collect::<Vec<_>>());
}

/// A generator that is far quicker than the output, which waits until the test makes way.
fn flooded(message: &str, count: u32) -> String {
    format!("input {{ generator {{ message => \"{message}\" count => {count} }} }} {BLOCKED}")
}

/// Waits until this is true of the node stats, and looks whether it stays so.
fn comes_to_rest(process: &Process, is_full: impl Fn(&Json) -> bool) {
    process.until("a full queue", || is_full(&process.stats("main")).then_some(()));
    let before = process.stats("main")["events"]["in"].clone();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let after = process.stats("main");
    assert!(is_full(&after) && after["events"]["in"] == before, "{before} events, then {after}");
}

#[test]
fn full_blocks_after_write() {
    let place = place(&flooded(&"a".repeat(1000), 2000));
    let process = start(&place, "-S queue.page_capacity=64kb -S queue.max_bytes=128kb");
    // Over the limit by less than an event.
    comes_to_rest(&process, |stats| {
        stats["queue"]["queue_size_in_bytes"].as_u64().is_some_and(|bytes| bytes > 131_072 && bytes < 131_072 + 2000)
    });
    unblock(&place);
    let said = process.end();
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(lines(&place.join("blocked/out")).len(), 2000);
    assert_eq!(files(&place.join("data/queue/main")).len(), 3);
}

#[test]
fn max_events() {
    let place = place(&flooded("x", 0));
    let process = start(&place, "-S queue.max_events=100 -w 1 -b 10");
    // Ten are with the worker.
    comes_to_rest(&process, |stats| stats["queue"]["events"] == 100 && stats["events"]["in"] == 110);
}

#[test]
fn page_capacity_too_big() {
    let list = "- { pipeline.id: a, queue.type: persisted, queue.page_capacity: 10mb, queue.max_bytes: 5mb, \
        config.string: 'input { generator { count => 1 } } output { null {} }' }\n";
    let place = Place::new().file("cfg/logstash.yml", "path.data: data\n").file("cfg/pipelines.yml", list);
    let said = place.run("--path.settings cfg");
    said.fails_with(1, &["[a]", "queue.page_capacity", "queue.max_bytes"]);
}

#[test]
fn page_capacity_may_be_all_of_the_queue() {
    let place = place(&format!("input {{ generator {{ count => 10000 }} }} {OUT}"));
    let said = place.run(&format!("-f main.conf {FLAGS} -S queue.page_capacity=64kb -S queue.max_bytes=64kb -w 2"));
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(lines(&place.join("out")).len(), 10_000);
}

#[test]
fn locked() {
    let place = place(&format!("input {{ stdin {{}} }} {OUT}"));
    let more = format!("-S path.queue={}", place.join("shared").display());
    let first = start(&place, &more);
    let second = place.run(&format!("-f main.conf {FLAGS} {more}").replace("data data", "data other"));
    second.fails_with(1, &["failed to obtain exclusive access", "shared/main/.lock"]);
    first.kill();
    // The file is there, and nobody holds it.
    assert!(place.join("shared/main/.lock").exists());
    assert_eq!(start(&place, &more).stop().code, 0);
}

#[test]
fn tmp_checkpoint_ignored() {
    let place = place(&format!("input {{ stdin {{}} }} {OUT}"));
    let mut process = start(&place, "");
    process.feed(&numbered(0, 5));
    process.until_file(&place.join("out"), 5);
    assert_eq!(process.stop().code, 0);
    let queue = place.join("data/queue/main");
    fs::write(queue.join("checkpoint.head.tmp"), "garbage").unwrap();
    fs::write(queue.join("checkpoint.7.tmp"), "").unwrap();
    assert_eq!(place.run("queue verify data/queue/main").code, 0);
    let mut process = start(&place, "");
    process.feed("5\n");
    process.until_file(&place.join("out"), 6);
    assert_eq!(process.stop().code, 0);
}

#[test]
fn capacity_change() {
    let place = place(&format!("input {{ stdin {{}} }} {BLOCKED}"));
    let mut process = start(&place, "-S queue.page_capacity=1mb -S queue.max_bytes=16mb");
    process.feed(&numbered(0, 100));
    until_in(&process, 100);
    process.kill();
    let process = start(&place, "-S queue.page_capacity=2mb -S queue.max_bytes=16mb");
    let size = |name: &str| fs::metadata(place.join("data/queue/main").join(name)).unwrap().len();
    assert_eq!((size("page.0"), size("page.1")), (1 << 20, 2 << 20));
    unblock(&place);
    process.until_file(&place.join("blocked/out"), 100);
}

#[test]
fn compression_mixed() {
    let place = place(&format!("input {{ stdin {{}} }} {BLOCKED}"));
    let (a, b) = ("a".repeat(5000), "b".repeat(5000));
    let mut process = start(&place, "-S queue.compression=balanced");
    process.feed(&format!("{a}\n"));
    until_in(&process, 1);
    process.kill();
    let mut process = start(&place, "-S queue.compression=none");
    process.feed(&format!("{b}\n"));
    until_in(&process, 1);
    let queue = place.join("data/queue/main");
    let (compressed, plain) = (&elements(&queue.join("page.0"))[0].1, &elements(&queue.join("page.1"))[0].1);
    assert!(compressed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) && compressed.len() < 1000, "{} bytes", compressed.len());
    assert!(cbor::decode(plain).is_ok());
    unblock(&place);
    process.until_file(&place.join("blocked/out"), 2);
    assert_eq!(lines(&place.join("blocked/out")), [a, b]);
}

#[test]
fn restarts_with_a_stalled_output_do_not_add_pages() {
    let place = place(&format!("input {{ stdin {{}} }} {BLOCKED}"));
    let more = "-S queue.page_capacity=64kb -S queue.max_bytes=256kb";
    let mut process = start(&place, more);
    process.feed(&numbered(0, 100));
    until_in(&process, 100);
    process.kill();
    for _ in 0..20 {
        start(&place, more).kill();
    }
    let pages = files(&place.join("data/queue/main")).into_iter().filter(|name| name.starts_with("page.")).count();
    assert!(pages <= 2, "{pages} pages");
    unblock(&place);
    let process = start(&place, more);
    process.until_file(&place.join("blocked/out"), 100);
    assert_eq!(process.stop().code, 0);
}

/// The queue goes from one version of its pipeline to the next.
#[test]
fn what_waits_on_disk_is_delivered_by_the_next_version_of_the_pipeline() {
    let config = |more: &str| format!("input {{ generator {{ count => 200 }} }} filter {{ {more} }} {BLOCKED}");
    let place = place(&config("")).file("cfg/logstash.yml", "path.data: data\nqueue.type: persisted\n");
    let process = Process::running(place.command("--path.settings cfg -f main.conf -S log.rate_limit=0s -w 1 -b 10"));
    until_in(&process, 200);
    let without_source =
        "input { heartbeat { interval => 3600 } } output { file { path => \"out\" flush_interval => 0 } }";
    fs::write(place.join("main.conf"), without_source).unwrap();
    process.signal(rustix::process::Signal::HUP);
    process.until("everything that waited", || {
        let came = lines(&place.join("out")).iter().filter(|line| line.contains("Hello world")).count();
        (came == 200).then_some(())
    });
    assert_eq!(process.stop().code, 0);
}
