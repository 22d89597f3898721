//! Configurations that change while the program runs: by `config.reload.automatic`, and by SIGHUP.

#[path = "support/ports.rs"]
mod ports;
#[path = "support/process.rs"]
mod process;
mod program;

use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use process::{Process, lines, records};
use program::Place;
use rustix::process::Signal;
use serde_json::Value as Json;

const AUTO: &str =
    "path.data: data\nconfig.reload.automatic: true\nconfig.reload.interval: 200ms\nlog.rate_limit: 0s\n";
const MAIN: &str = "--path.settings cfg -f main.conf";

fn place(settings: &str, config: &str) -> Place {
    Place::new().file("cfg/logstash.yml", settings).file("main.conf", config)
}

/// Puts a file in place of another one as editors and package managers do.
fn replace(place: &Place, name: &str, text: &str) {
    fs::write(place.join("new"), text).unwrap();
    fs::rename(place.join("new"), place.join(name)).unwrap();
}

fn listening(port: u16, more: &str) -> String {
    format!(
        "input {{ tcp {{ port => {port} codec => line {more} }} }} \
         output {{ file {{ path => \"out\" flush_interval => 0 codec => json_lines }} }}"
    )
}

/// Sends a line to whoever listens, as soon as somebody does.
fn send(process: &Process, port: u16, line: &str) {
    process.until("somebody who listens", || {
        TcpStream::connect(("127.0.0.1", port)).ok()?.write_all(line.as_bytes()).ok()
    });
}

fn until_reloads(process: &Process, pipeline: &str, what: &str, count: u64) -> Json {
    process.until(&format!("{count} {what} of {pipeline}"), || {
        let reloads = process.stats(pipeline)["reloads"].clone();
        (reloads[what].as_u64()? >= count).then_some(reloads)
    })
}

fn out(place: &Place) -> Vec<Json> {
    records(&place.join("out"))
}

#[test]
fn a_broken_configuration_changes_nothing_but_the_counters() {
    let port = ports::free_port();
    let place = place(AUTO, &listening(port, ""));
    let process = Process::running(place.command(MAIN));
    send(&process, port, "before\n");
    process.until_file(&place.join("out"), 1);
    replace(&place, "main.conf", "input { tcp { port => ");
    let reloads = until_reloads(&process, "main", "failures", 1);
    assert!(reloads["last_error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{reloads}");
    assert!(reloads["last_failure_timestamp"].as_str().unwrap().ends_with('Z'), "{reloads}");
    send(&process, port, "while it is broken\n");
    process.until_file(&place.join("out"), 2);
    assert_eq!(process.stats("main")["events"]["in"], 2, "the running pipeline was not touched");
    replace(&place, "main.conf", &(listening(port, "") + " # a remark"));
    let reloads = until_reloads(&process, "main", "successes", 1);
    assert!(reloads["last_success_timestamp"].is_string(), "{reloads}");
    send(&process, port, "after\n");
    process.until_file(&place.join("out"), 3);
    assert_eq!(process.stop().code, 0);
}

#[test]
fn a_listening_port_goes_over_to_the_new_configuration() {
    let port = ports::free_port();
    let place = place(AUTO, &listening(port, ""));
    let process = Process::running(place.command(MAIN));
    replace(&place, "main.conf", &listening(port, "add_field => { \"v\" => 2 }"));
    until_reloads(&process, "main", "successes", 1);
    send(&process, port, "x\n");
    process.until_file(&place.join("out"), 1);
    assert_eq!(out(&place)[0]["v"], "2");
    let said = process.stop();
    said.fails_with(0, &["Reloading pipeline"]).never_says("in use");
}

#[test]
fn a_new_configuration_that_does_not_start_leaves_the_old_one_running() {
    let (port, other) = (ports::free_port(), TcpListener::bind("127.0.0.1:0").unwrap());
    let taken = other.local_addr().unwrap().port();
    let place = place(AUTO, &listening(port, "add_field => { \"v\" => 1 }"));
    let process = Process::running(place.command(MAIN));
    // It needs a port that somebody else has.
    replace(&place, "main.conf", &listening(taken, "host => '127.0.0.1' add_field => { \"v\" => 2 }"));
    until_reloads(&process, "main", "failures", 1);
    send(&process, port, "the old one\n");
    process.until_file(&place.join("out"), 1);
    drop(other);
    until_reloads(&process, "main", "successes", 1);
    send(&process, taken, "the new one\n");
    process.until_file(&place.join("out"), 2);
    let versions: Vec<String> = out(&place).iter().map(|event| event["v"].as_str().unwrap().to_owned()).collect();
    assert_eq!(versions, ["1", "2"]);
    assert_eq!(process.stop().code, 0);
}

#[test]
fn only_the_pipeline_whose_setting_changed_is_started_anew() {
    let pipelines = |workers: u32| {
        format!(
            "- {{ pipeline.id: a, pipeline.workers: {workers}, path.config: main.conf }}\n\
             - {{ pipeline.id: b, path.config: main.conf }}\n"
        )
    };
    let config = "input { heartbeat { interval => 1 } } output { null {} }";
    let place = place(AUTO, config).file("cfg/pipelines.yml", &pipelines(1));
    let process = Process::running(place.command("--path.settings cfg"));
    let before = (process.stats("a"), process.stats("b"));
    replace(&place, "cfg/pipelines.yml", &pipelines(2));
    until_reloads(&process, "a", "successes", 1);
    let after = (process.stats("a"), process.stats("b"));
    assert_ne!(before.0["ephemeral_id"], after.0["ephemeral_id"]);
    assert_eq!(process.get("/_node/pipelines/a")["pipelines"]["a"]["workers"], 2);
    assert_eq!(before.1["ephemeral_id"], after.1["ephemeral_id"]);
    assert_eq!(after.1["reloads"]["successes"], 0);
    assert_eq!(process.stop().code, 0);
}

#[test]
fn pipelines_come_and_go_with_the_list() {
    let list = |ids: &[&str]| -> String {
        ids.iter().map(|id| format!("- {{ pipeline.id: {id}, path.config: main.conf }}\n")).collect()
    };
    let config = "input { heartbeat { interval => 1 } } output { null {} }";
    let place = place(AUTO, config).file("cfg/pipelines.yml", &list(&["a"]));
    let process = Process::running(place.command("--path.settings cfg"));
    let names = || -> Vec<String> {
        process.get("/_node/pipelines")["pipelines"].as_object().unwrap().keys().cloned().collect()
    };
    let first = process.stats("a")["ephemeral_id"].clone();
    replace(&place, "cfg/pipelines.yml", &list(&["a", "b"]));
    process.until("pipeline b", || (names() == ["a", "b"]).then_some(()));
    assert_eq!(process.stats("a")["ephemeral_id"], first, "it was never restarted");
    replace(&place, "cfg/pipelines.yml", &list(&["b"]));
    process.until("only pipeline b", || (names() == ["b"]).then_some(()));
    assert_eq!(process.stop().code, 0);
}

#[test]
fn a_pipeline_with_standard_input_is_left_alone() {
    let config = |more: &str| {
        format!(
            "input {{ stdin {{ {more} }} }} output {{ file {{ path => \"out\" flush_interval => 0 codec => json_lines }} }}"
        )
    };
    let place = place(AUTO, &config(""));
    let mut process = Process::running(place.command(MAIN));
    replace(&place, "main.conf", &config("add_field => { \"v\" => 2 }"));
    let reloads = until_reloads(&process, "main", "failures", 1);
    assert!(reloads["last_error"]["message"].as_str().unwrap().contains("not reloadable"), "{reloads}");
    process.feed("x\n");
    process.until_file(&place.join("out"), 1);
    assert!(out(&place)[0]["v"].is_null());
    assert_eq!(process.stop().code, 0);
}

#[test]
fn sighup_looks_once_when_nobody_looks_by_itself() {
    let config = |more: &str| {
        format!(
            "input {{ heartbeat {{ interval => 1 {more} }} }} output {{ file {{ path => \"out\" flush_interval => 0 codec => json_lines }} }}"
        )
    };
    let place = place("path.data: data\n", &config(""));
    let process = Process::running(place.command(MAIN));
    process.until_file(&place.join("out"), 1);
    replace(&place, "main.conf", &config("add_field => { \"v\" => 2 }"));
    process.until_file(&place.join("out"), 3);
    assert!(out(&place).iter().all(|event| event["v"].is_null()), "nobody asked for the new one");
    process.signal(Signal::HUP);
    process.until("the new one", || out(&place).iter().any(|event| event["v"] == "2").then_some(()));
    assert_eq!(process.stop().code, 0);
}

#[test]
fn a_pipeline_that_could_not_start_is_tried_again() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = busy.local_addr().unwrap().port();
    let place = place(AUTO, &listening(port, "host => '127.0.0.1'"));
    let process = Process::running(place.command(MAIN));
    process.until_err("Failed to execute action");
    drop(busy);
    send(&process, port, "x\n");
    process.until_file(&place.join("out"), 1);
    assert_eq!(process.stop().code, 0);
}

#[test]
fn the_process_stays_when_all_pipelines_have_finished_and_may_come_back() {
    let config =
        |count: u32| format!("input {{ generator {{ count => {count} }} }} output {{ file {{ path => \"out\" }} }}");
    let place = place(AUTO, &config(1));
    let mut process = Process::running(place.command(MAIN));
    process.until_err("Pipeline terminated");
    process.until_file(&place.join("out"), 1);
    assert!(!process.has_ended());
    replace(&place, "main.conf", &config(2));
    process.until_file(&place.join("out"), 3);
    assert_eq!(process.stop().code, 0);
}

#[test]
fn a_text_on_the_command_line_cannot_change() {
    let place = Place::new().file("cfg/logstash.yml", AUTO);
    place.run("--path.settings cfg -e input{stdin{}}").fails_with(1, &["config.string", "cannot change"]);
}

/// How often the storm changes the configuration: `SPILLWAY_RELOADS` asks for a longer one.
fn storms() -> u64 {
    std::env::var("SPILLWAY_RELOADS").ok().and_then(|count| count.parse().ok()).unwrap_or(20)
}

fn append(path: &Path, from: u64, to: u64) {
    let text: String = (from..to).map(|number| format!("{number}\n")).collect();
    fs::OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Good, broken and not starting configurations, one after the other, of a pipeline in the middle of a chain, while
/// lines flow from one file into another: each arrives, and none twice.
#[test]
fn in_a_storm_of_reloads_nothing_is_lost_and_nothing_comes_twice() {
    const LINES: u64 = 200;
    let place = place(AUTO, "");
    let lines_at = place.join("in").display().to_string();
    let reader = |n: u64| {
        format!(
            "input {{ file {{ path => \"{lines_at}\" start_position => beginning stat_interval => 0.05 }} }} \
             output {{ pipeline {{ send_to => middle id => \"v{n}\" }} }}"
        )
    };
    let somebody = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = somebody.local_addr().unwrap().port();
    let middle = |n: u64| {
        let broken = ["", "", " filter { grok { match => { \"message\" => \"%{NOPE}\" } } }", " filter { nope { } }"];
        // It is well written, and cannot start.
        let starts = if n % 7 == 5 {
            format!(" input {{ tcp {{ port => {taken} host => '127.0.0.1' }} }}")
        } else {
            String::new()
        };
        format!(
            "input {{ pipeline {{ address => middle }} }} output {{ pipeline {{ send_to => last id => \"v{n}\" }} }}{}{starts}",
            broken[n as usize % broken.len()]
        )
    };
    let last = "input { pipeline { address => last } } \
        output { file { path => \"out\" flush_interval => 0 codec => line { format => \"%{message}\" } } }";
    let list = "- { pipeline.id: reader, path.config: reader.conf }\n\
        - { pipeline.id: middle, path.config: middle.conf }\n- { pipeline.id: last, path.config: last.conf }\n";
    let place = place.file("cfg/pipelines.yml", list).file("reader.conf", &reader(0)).file("middle.conf", &middle(0));
    let place = place.file("last.conf", last).file("in", "");
    let process = Process::running(place.command("--path.settings cfg"));
    for n in 1..=storms() {
        append(&place.join("in"), (n - 1) * LINES, n * LINES);
        if n % 3 == 0 {
            replace(&place, "reader.conf", &reader(n));
        }
        replace(&place, "middle.conf", &middle(n));
        process.signal(Signal::HUP);
        // A change comes in the middle of what the last one began, and after it.
        std::thread::sleep(std::time::Duration::from_millis(n * 37 % 300));
    }
    let all = storms() * LINES;
    process.until_file(&place.join("out"), all as usize);
    let said = process.stop();
    assert_eq!(said.code, 0, "{}", said.err);
    let mut counts = vec![0_u32; all as usize];
    lines(&place.join("out")).iter().for_each(|line| counts[line.parse::<usize>().unwrap()] += 1);
    let with =
        |wanted: &dyn Fn(u32) -> bool| -> Vec<usize> { (0..counts.len()).filter(|at| wanted(counts[*at])).collect() };
    let (lost, twice) = (with(&|count| count == 0), with(&|count| count > 1));
    assert!(lost.is_empty() && twice.is_empty(), "lost: {lost:?}; twice: {twice:?}\n{}", said.err);
}
