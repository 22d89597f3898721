//! Pipelines of one process: what befalls one of them leaves the others running.

#[path = "support/process.rs"]
mod process;
mod program;

use std::fs::{self, File};

use process::{Process, lines};
use program::Place;
use spillway::dead_letter::{Settings, Writer};

const GOOD: &str = "input { stdin {} } output { file { flush_interval => 0 path => \"out\" codec => line { format => \"%{message}\" } } }";
const IDLE: &str = "input { heartbeat { interval => 600 } } output { null {} }";
const RUN: &str = "--path.settings cfg";

/// A place whose pipelines are `good` and `other`.
fn beside(other: &str, settings: &str) -> Place {
    Place::new()
        .file("cfg/logstash.yml", &format!("path.data: data\n{settings}"))
        .file(
            "cfg/pipelines.yml",
            "- { pipeline.id: good, path.config: good.conf }\n- { pipeline.id: other, path.config: other.conf }\n",
        )
        .file("good.conf", GOOD)
        .file("other.conf", other)
}

/// `good` takes an event and delivers it.
#[track_caller]
fn good_works(place: &Place, process: &mut Process) {
    process.feed("still here\n");
    process.until_file(&place.join("out"), 1);
    assert_eq!(lines(&place.join("out")), ["still here"]);
}

#[test]
fn a_pipeline_with_a_mistake_does_not_stop_the_others() {
    let place = beside("input { stdin { } } filter { mutat { } } output { null {} }", "");
    let mut process = Process::running(place.command(RUN));
    good_works(&place, &mut process);
    let pipelines = process.get("/_node/pipelines")["pipelines"].clone();
    assert!(pipelines["good"].is_object(), "{pipelines}");
    let said = process.stop();
    said.fails_with(
        0,
        &["[other] error[unknown-plugin]: other.conf", "did you mean `mutate`?", "started 1 of 2 pipelines"],
    );
    said.err_says(&["failed: other (see the errors above)"]);
}

#[test]
fn a_pipeline_whose_queue_is_locked_does_not_start_and_the_others_do() {
    let place = beside(IDLE, "dead_letter_queue.enable: true\n");
    let queue = place.join("data/dead_letter_queue/other");
    let writer = Writer::open(Settings::new(queue.clone())).unwrap();
    let mut process = Process::running(place.command(RUN));
    good_works(&place, &mut process);
    let said = process.stop();
    said.fails_with(0, &["[other]", "the dead letter queue cannot be opened", ".lock", "held by another program"]);
    said.err_says(&["started 1 of 2 pipelines", "failed: other"]);
    // Once the other program is gone it starts.
    writer.close().unwrap();
    drop(writer);
    let process = Process::running(place.command(RUN));
    process.stop().fails_with(0, &["started 2 of 2 pipelines"]);
}

#[test]
fn a_run_in_which_no_pipeline_can_start_fails() {
    let place =
        beside(IDLE, "dead_letter_queue.enable: true\n").file("good.conf", "input { stdin { } } output { nul {} }");
    let _writer = Writer::open(Settings::new(place.join("data/dead_letter_queue/other"))).unwrap();
    let said = place.run(RUN);
    said.fails_with(1, &["did you mean `null`?", "held by another program", "started 0 of 2 pipelines"]);
    assert!(!place.join("data/.lock").exists());
}

#[test]
fn an_input_that_fails_is_run_again_while_the_others_go_on() {
    let other = "input { generator { count => 0 message => \"from good\" } } filter { sleep { time => \"0.1\" every => 100 } } output { file { flush_interval => 0 path => \"out\" } }";
    let place = beside("input { stdin { id => \"broken\" } } output { null {} }", "log.rate_limit: 0s\n")
        .file("good.conf", other);
    // Standard input that cannot be read: a directory.
    let mut command = place.command(RUN);
    command.stdin(File::open(place.path()).unwrap());
    let process = Process::running(command);
    process.until("a second try", || {
        (process.err().matches("A plugin had an unrecoverable error. Will restart this plugin.").count() >= 2)
            .then_some(())
    });
    process.until_file(&place.join("out"), lines(&place.join("out")).len() + 10);
    let said = process.stop();
    said.fails_with(0, &["[other]", "{plugin: stdin, error: cannot read standard input", "Logstash shut down."]);
}

#[test]
fn an_output_that_is_stuck_blocks_only_its_pipeline() {
    let other = "input { generator { count => 5000 } } output { file { flush_interval => 0 path => \"blocked/out\" } }";
    let place = beside(other, "").file("blocked", "a file where a folder should be");
    let mut process = Process::running(place.command(RUN));
    process.until_err("cannot write");
    good_works(&place, &mut process);
    let said = process.stop();
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("Aborting the batch"), "{}", said.err);
}

#[test]
fn a_condition_that_cannot_be_evaluated_costs_one_event() {
    let place = beside(IDLE, "dead_letter_queue.enable: true\n").file(
        "good.conf",
        "input { stdin { codec => json_lines } } filter { if [n] > 1 { mutate { add_tag => [\"big\"] } } }
         output { file { flush_interval => 0 path => \"out\" codec => line { format => \"%{n} %{tags}\" } } }",
    );
    let mut process = Process::running(place.command(RUN));
    process.feed("{\"n\":2}\n{\"n\":\"x\"}\n{\"n\":1}\n");
    process.until_file(&place.join("out"), 2);
    assert_eq!(process.stop().code, 0);
    let mut delivered = lines(&place.join("out"));
    delivered.sort();
    assert_eq!(delivered, ["1 %{tags}", "2 big"]);
    let letters = process::dead_letters(&place.join("data/dead_letter_queue/good"));
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].plugin_type.as_str(), "if-statement");
    assert!(fs::exists(place.join("data/dead_letter_queue/other")).unwrap());
}

/// Writes to `/dev/full` fail like those to a full disk.
#[test]
fn log_lines_from_the_background_of_an_output_name_their_pipeline() {
    let full = "input { stdin {} } output { file { id => out path => \"/dev/full\" flush_interval => 1 \
                codec => line { format => \"%{message}\" } } }";
    let place = Place::new()
        .file("cfg/logstash.yml", "path.data: data\n")
        .file("cfg/pipelines.yml", "- { pipeline.id: mine, path.config: a.conf }\n")
        .file("a.conf", full);
    let mut process = Process::running(place.command(RUN));
    process.feed("x\n");
    process.until_err("cannot write /dev/full");
    let err = process.err();
    let line = err.lines().find(|line| line.contains("cannot write /dev/full")).unwrap();
    assert!(line.contains("[mine][out]"), "{line}");
    process.kill();
}
