//! What is on its way when the program is asked to stop, or is killed: nothing is lost in silence.

#[path = "support/process.rs"]
mod process;
mod program;

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use process::{DEADLINE, Process, dead_letters, lines, within};
use program::Place;
use rustix::process::{Pid, Signal, kill_process};

const FLAGS: &str = "--path.data data -S pipeline.ecs_compatibility=disabled -S log.rate_limit=0s";
const SLOW: &str = "filter { sleep { time => \"0.004\" } }";

fn numbered(from: usize, to: usize) -> String {
    (from..to).map(|n| format!("{n}\n")).collect()
}

fn numbers(lines: &[String]) -> Vec<usize> {
    lines.iter().map(|line| line.parse().unwrap()).collect()
}

fn until_read(process: &Process, count: usize) {
    process.until("what was fed", || (process.stats("main")["events"]["in"] == count).then_some(()));
}

/// The sum of the numbers behind `count` in log lines with these words.
fn reported(log: &str, words: &str) -> usize {
    let counts = log.lines().filter(|line| line.contains(words)).filter_map(|line| line.rsplit_once("{count: "));
    counts.map(|(_, count)| count.trim_end_matches('}').parse::<usize>().unwrap()).sum()
}

#[test]
fn everything_that_was_read_is_delivered() {
    let config = format!(
        "input {{ stdin {{}} }} {SLOW} output {{ file {{ path => \"out\" codec => line {{ format => \"%{{message}}\" }} }} }}"
    );
    let place = Place::new().file("main.conf", &config);
    let mut process = Process::running(place.command(&format!("-f main.conf -w 2 -b 20 {FLAGS}")));
    // The second chunk does not fit into the queue while the first one is there.
    process.feed(&numbered(0, 100));
    until_read(&process, 100);
    process.feed(&format!("{}200", numbered(100, 200)));
    until_read(&process, 200);
    let said = process.stop();
    said.fails_with(0, &["SIGTERM received. Shutting down.", "Pipeline terminated", "Logstash shut down."]);
    let mut delivered = numbers(&lines(&place.join("out")));
    delivered.sort_unstable();
    // The last one had no end yet.
    assert_eq!(delivered, (0..=200).collect::<Vec<_>>());
}

#[test]
fn an_endless_source_leaves_no_gap() {
    let config = "input { generator { threads => 2 } } filter { sleep { time => \"0.001\" every => 10 } }
        output { file { path => \"out\" codec => line { format => \"%{sequence}\" } } }";
    let place = Place::new().file("main.conf", config);
    let process = Process::running(place.command(&format!("-f main.conf -w 3 {FLAGS}")));
    process.until_file(&place.join("out"), 1000);
    let events = process.stats("main")["events"]["in"].as_u64().unwrap();
    let said = process.stop();
    assert_eq!(said.code, 0, "{}", said.err);
    let mut delivered = numbers(&lines(&place.join("out")));
    delivered.sort_unstable();
    assert!(delivered.len() as u64 >= events, "{} of {events}", delivered.len());
    // Each of the two generators counts from 0.
    let ends: Vec<_> =
        (0..delivered.len()).filter(|&at| delivered.get(at + 1).is_none_or(|next| *next > delivered[at])).collect();
    let single: BTreeSet<_> = delivered.iter().collect();
    assert_eq!(ends.len(), single.len());
    assert_eq!(single.len(), *single.last().unwrap() + 1, "a number is missing");
}

#[test]
fn what_an_output_cannot_deliver_is_reported() {
    let config = "input { stdin {} } output { file { path => \"blocked/out\" flush_interval => 0 } }";
    let place = Place::new().file("main.conf", config).file("blocked", "a file where a folder should be");
    let mut process = Process::running(place.command(&format!("-f main.conf -w 2 -b 20 {FLAGS}")));
    process.feed(&numbered(0, 100));
    until_read(&process, 100);
    process.feed(&numbered(100, 150));
    until_read(&process, 150);
    process.until_err("cannot write");
    let said = process.stop();
    assert_eq!(said.code, 0, "{}", said.err);
    let kinds = ["Aborting the batch", "had not begun with", "still waiting in the memory queue", "takes nothing more"];
    let counts = kinds.map(|words| reported(&said.err, words));
    assert_eq!(counts.iter().sum::<usize>(), 150, "{counts:?}\n{}", said.err);
}

#[test]
fn a_stalled_stop_is_ended_by_force_only_where_that_is_allowed() {
    let config = "input { generator { } } output { stdout { codec => line } }";
    let place = Place::new().file("main.conf", config);
    // Nobody reads its standard output: what writes to it never comes back.
    let mut command = place.command(&format!("-f main.conf -S pipeline.unsafe_shutdown=true {FLAGS}"));
    let log = fs::File::create(place.join("log")).unwrap();
    let mut child = command.stdin(Stdio::null()).stderr(log).spawn().unwrap();
    let said = || fs::read_to_string(place.join("log")).unwrap();
    let until =
        |words: &str| assert!(within(DEADLINE, || said().contains(words).then_some(())).is_some(), "{}", said());
    until("Pipelines running");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let status = within(DEADLINE, || child.try_wait().unwrap()).expect("it ends");
    assert_eq!(status.code(), Some(255), "{}", said());
    until("Forcefully quitting");
    assert_eq!(said().matches("appears to be stalled").count(), 1, "{}", said());
}

/// Events that a queue of several segments holds.
const QUEUED: usize = 1500;

/// A queue full of numbered events, and a slow replay of it.
fn queue() -> Place {
    let main = format!(
        "input {{ generator {{ count => {QUEUED} message => \"{}\" }} }}
        filter {{ dlq {{ reason => \"because\" }} }} output {{ null {{}} }}",
        "x".repeat(200)
    );
    let replay =
        "input { dead_letter_queue { path => \"data/dead_letter_queue\" } } filter { sleep { time => \"0.001\" } }
        output { file { flush_interval => \"${FLUSH:0}\" path => \"out\" codec => line { format => \"%{sequence}\" } } }";
    let place = Place::new().file("main.conf", &main).file("replay.conf", replay);
    let queue = "-S dead_letter_queue.enable=true -S dead_letter_queue.max_bytes=1mb -S dead_letter_queue.storage_policy=drop_older";
    let said = place.run(&format!("-f main.conf -w 1 {queue} {FLAGS}"));
    assert_eq!(said.code, 0, "{}", said.err);
    let letters = dead_letters(&place.join("data/dead_letter_queue/main"));
    assert_eq!(letters.len(), QUEUED);
    assert!(letters[QUEUED - 1].position.segment >= 3, "several segments");
    place
}

fn replaying(place: &Place) -> Process {
    Process::running(place.command(&format!("-f replay.conf --pipeline.id replay -w 2 -b 20 {FLAGS}")))
}

/// Waits until so many lines more than before are written.
fn until_more(process: &Process, place: &Place, more: usize) {
    let out = place.join("out");
    process.until_file(&out, lines(&out).len() + more);
}

#[test]
fn a_killed_replay_repeats_but_never_skips() {
    let place = queue();
    // What an output gathers before it writes dies with it.
    let place = place.env("FLUSH", "60");
    let process = replaying(&place);
    process.until("300 events", || (process.stats("replay")["events"]["out"].as_u64()? >= 300).then_some(()));
    process.kill();
    let place = place.env("FLUSH", "0");
    for _ in 0..3 {
        let process = replaying(&place);
        until_more(&process, &place, 300);
        process.kill();
    }
    let seen = numbers(&lines(&place.join("out"))).into_iter().collect::<BTreeSet<_>>();
    assert!(seen.len() < QUEUED, "it was killed before the end");
    let process = replaying(&place);
    process.until("everything", || {
        let seen: BTreeSet<_> = numbers(&lines(&place.join("out"))).into_iter().collect();
        (seen.len() == QUEUED).then_some(())
    });
    assert_eq!(process.stop().code, 0);
}

#[test]
fn a_stopped_replay_goes_on_without_a_repetition() {
    let place = queue();
    for _ in 0..3 {
        let process = replaying(&place);
        until_more(&process, &place, 200);
        assert_eq!(process.stop().code, 0);
    }
    let process = replaying(&place);
    process.until_file(&place.join("out"), QUEUED);
    assert_eq!(process.stop().code, 0);
    let mut delivered = numbers(&lines(&place.join("out")));
    delivered.sort_unstable();
    assert_eq!(delivered, (0..QUEUED).collect::<Vec<_>>());
}

/// A pipe that nobody reads cannot be opened for writing: the output never ends.
#[test]
fn a_second_interrupt_ends_it_at_once() {
    let place = Place::new().file("main.conf", "input { generator {} } output { file { path => \"pipe\" } }");
    assert!(Command::new("mkfifo").arg(place.join("pipe")).status().unwrap().success());
    let mut process = Process::running(place.command(&format!("-f main.conf -w 1 {FLAGS}")));
    process.signal(Signal::INT);
    process.until_err("SIGINT received. Shutting down.");
    // One that comes at once is the same one.
    while !process.has_ended() {
        std::thread::sleep(Duration::from_millis(100));
        process.signal(Signal::INT);
    }
    process.end().fails_with(1, &["SIGINT received. Terminating immediately.."]);
    // What it held of the data directory does not block the next run.
    assert_eq!(place.run(&format!("-e input{{stdin{{}}}}output{{null{{}}}} {FLAGS}")).code, 0);
    assert!(!fs::exists(place.join("data/.lock")).unwrap());
}

#[test]
fn an_interrupt_that_a_terminal_and_a_parent_both_deliver_is_one() {
    let place = Place::new().file("main.conf", "input { heartbeat { interval => 600 } } output { null {} }");
    let process = Process::running(place.command(&format!("-f main.conf {FLAGS}")));
    for _ in 0..5 {
        process.signal(Signal::INT);
    }
    let said = process.end();
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(!said.err.contains("Terminating immediately"), "{}", said.err);
}
