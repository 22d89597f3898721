//! Running and checking: what is printed where, what is left on disk, exit codes.

mod program;

use std::fs;

use program::{Place, Said};
use spillway::settings::directories::DataDirectory;

const GOOD: &str = "input { stdin {} } output { null {} }";
const BAD: &str = "input { stdn {} } output { null {} }";
const ARGUMENTS: &str = "--path.data data --api.enabled false";

#[test]
fn a_good_configuration_is_ok_on_standard_output_only() {
    let said = Place::new().file("good.conf", GOOD).run("-t -f good.conf");
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "Configuration OK\n", ""));
}

#[test]
fn a_bad_configuration_gives_a_verdict_and_its_mistakes() {
    let said = Place::new().file("bad.conf", BAD).run("-t -f bad.conf");
    said.fails_with(1, &["bad.conf", "line 1, column 9", "stdn", "did you mean `stdin`?"]);
    assert_eq!(said.out, "Configuration INVALID: 1 error\n");
}

#[test]
fn a_check_looks_at_every_pipeline() {
    let place = Place::new()
        .file("cfg/logstash.yml", "")
        .file("cfg/pipelines.yml", "- { pipeline.id: a, path.config: good.conf }\n- { pipeline.id: b, path.config: bad.conf }\n- { pipeline.id: c, path.config: bad2.conf }\n")
        .file("good.conf", GOOD)
        .file("bad.conf", BAD)
        .file("bad2.conf", "input { stdin {} } output { nul {} }");
    let said = place.run("-t --path.settings cfg");
    said.fails_with(1, &["bad.conf", "stdn", "bad2.conf", "nul"]);
    assert_eq!(said.out, "Configuration INVALID: 2 errors\n");
}

#[test]
fn a_check_leaves_nothing_behind_and_needs_no_lock() {
    let place = Place::new().file("good.conf", GOOD);
    let _held = DataDirectory::open(&place.join("data")).unwrap();
    let said = place.run("-t -f good.conf --path.data data --path.logs logs");
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(place.run("-t -f good.conf").code, 0);
    assert!(!place.join("logs").exists());
    let mut names: Vec<_> = fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["data", "good.conf"]);
}

#[test]
fn a_data_directory_in_use_is_told_with_its_holder() {
    let place = Place::new().file("good.conf", GOOD);
    let held = DataDirectory::open(&place.join("data")).unwrap();
    let said = place.run(&format!("-f good.conf {ARGUMENTS}"));
    let holder = format!("data (process {})", std::process::id());
    said.fails_with(1, &["[FATAL][logstash.runner", "already another instance", &holder, "path.data"]);
    drop(held);
    assert_eq!(place.run(&format!("-f good.conf {ARGUMENTS}")).code, 0);
}

#[test]
fn a_lock_file_left_over_by_a_dead_process_does_not_block() {
    let place = Place::new().file("good.conf", GOOD).file("data/.lock", "");
    assert_eq!(place.run(&format!("-f good.conf {ARGUMENTS}")).code, 0);
    assert!(!place.join("data/.lock").exists());
}

#[test]
fn the_id_of_the_node_stays() {
    let place = Place::new().file("good.conf", GOOD);
    let run = || assert_eq!(place.run(&format!("-f good.conf {ARGUMENTS}")).code, 0);
    run();
    let first = fs::read_to_string(place.join("data/uuid")).unwrap();
    run();
    assert_eq!(fs::read_to_string(place.join("data/uuid")).unwrap(), first);
    assert_eq!(first.len(), 36);
}

#[test]
fn a_data_directory_that_cannot_be_is_an_error() {
    let place = Place::new().file("file", "").file("good.conf", GOOD);
    for path in ["file", "file/below"] {
        let said = place.run(&format!("-f good.conf --path.data {path} --api.enabled false"));
        said.fails_with(1, &[path, "path.data"]);
    }
    std::os::unix::fs::symlink(place.path(), place.join("link")).unwrap();
    assert_eq!(place.run("-f good.conf --path.data link --api.enabled false").code, 0);
}

#[test]
fn a_run_says_the_words_that_scripts_wait_for() {
    let said = Place::new().run_with_input(&format!("-e {} {ARGUMENTS}", "input{stdin{}}output{null{}}"), "a\nb\n");
    said.fails_with(
        0,
        &[
            "[INFO ][logstash.runner          ] Starting Logstash",
            "[main] Pipeline started {\"pipeline.id\" => \"main\"}",
            "Pipelines running",
            "running_pipelines: [:main]",
            "Pipeline terminated",
            "Logstash shut down.",
        ],
    );
    assert_eq!(said.out, "");
}

#[test]
fn a_run_without_a_pipeline_that_can_start_fails() {
    let said = Place::new().file("bad.conf", BAD).run(&format!("-f bad.conf {ARGUMENTS}"));
    said.fails_with(
        1,
        &[
            "[ERROR][logstash.agent           ][main] error[unknown-plugin]: bad.conf",
            "did you mean `stdin`?",
            "started 0 of 1",
        ],
    );
}

#[test]
fn a_broken_pipeline_leaves_the_others_running() {
    let place = Place::new()
        .file("cfg/logstash.yml", "")
        .file(
            "cfg/pipelines.yml",
            "- { pipeline.id: a, path.config: good.conf }\n- { pipeline.id: b, path.config: bad.conf }\n",
        )
        .file("good.conf", GOOD)
        .file("bad.conf", BAD);
    let said = place.run(&format!("--path.settings cfg {ARGUMENTS}"));
    said.fails_with(
        0,
        &["[b] error[unknown-plugin]: bad.conf", "started 1 of 2 pipelines", "failed: b", "Logstash shut down."],
    );
    let said = place.run(&format!("--path.settings cfg {ARGUMENTS} -S pipeline.fail_fast=true"));
    assert_eq!(said.code, 1, "{}", said.err);
}

#[test]
fn log_files_are_only_made_when_asked_for() {
    let place = Place::new().file("good.conf", GOOD);
    place.run(&format!("-f good.conf {ARGUMENTS}"));
    assert!(!place.join("logs").exists());
    let said = place.run(&format!("-f good.conf {ARGUMENTS} --path.logs logs -S log.console=off"));
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(fs::read_to_string(place.join("logs/logstash-plain.log")).unwrap().contains("Logstash shut down."));
}

#[test]
fn json_logs_have_one_object_a_line() {
    let place = Place::new().file("good.conf", GOOD);
    let said = place.run(&format!("-f good.conf {ARGUMENTS} --log.format json -S log.console=stdout"));
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    for line in said.out.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        for key in ["level", "loggerName", "timeMillis", "thread", "logEvent"] {
            assert!(object.get(key).is_some(), "{key}: {line}");
        }
        assert!(object["logEvent"]["message"].is_string());
    }
}

#[test]
fn a_level_leaves_out_what_is_below() {
    let said = Place::new().file("good.conf", GOOD).run(&format!("-f good.conf {ARGUMENTS} --log.level fatal"));
    assert_eq!((said.code, said.err.as_str()), (0, ""));
}

#[test]
fn root_is_refused_only_when_that_was_set() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new().file("good.conf", GOOD);
    let run = |more: &str| -> Said { place.run(&format!("-f good.conf {ARGUMENTS} {more}")) };
    run("-S allow_superuser=false").fails_with(1, &["cannot be run as superuser"]);
    run("-S allow_superuser=true").fails_with(0, &["NOTICE: Allowing Spillway to run as superuser"]);
    assert_eq!(run("").err.matches("as superuser").count(), 1);
}

#[test]
fn sigterm_is_an_orderly_end() {
    use std::io::{BufRead, BufReader, Read};
    let place = Place::new().file("good.conf", GOOD);
    let mut child = place.command(&format!("-f good.conf {ARGUMENTS}")).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("started 1 of 1") {
        line.clear();
        assert!(err.read_line(&mut line).unwrap() > 0, "it ended before it started");
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    let mut rest = String::new();
    err.read_to_string(&mut rest).unwrap();
    assert_eq!(status.code(), Some(0), "{rest}");
    assert!(rest.contains("SIGTERM received. Shutting down.") && rest.contains("Logstash shut down."), "{rest}");
    assert!(!place.join("data/.lock").exists());
}

/// logstash#1700
#[test]
fn english_names_of_months_are_read_on_a_german_machine() {
    let config = r#"input { stdin {} } filter { date { match => ["message", "dd MMM yyyy"] timezone => "UTC" } }
        output { stdout { codec => line { format => "%{+yyyy-MM-dd}" } } }"#;
    let place = Place::new().file("d.conf", config);
    let mut command = place.command(&format!("-f d.conf {ARGUMENTS}"));
    command.env("LANG", "de_DE.UTF-8").env("LC_ALL", "de_DE.UTF-8");
    let said = Said::of(command, "05 Dec 2024\n31 May 2023\n");
    assert_eq!(said.out, "2024-12-05\n2023-05-31\n", "{}", said.err);
}
