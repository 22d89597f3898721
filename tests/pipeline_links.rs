//! Pipelines of one process that send each other events.

#[path = "support/process.rs"]
mod process;
mod program;

use process::{Process, lines, records};
use program::Place;

const RUN: &str = "--path.settings cfg";

/// A place with these pipelines, each an id and its configuration.
fn place(pipelines: &[(&str, &str)]) -> Place {
    let listed: String = pipelines
        .iter()
        .map(|(id, _)| format!("- {{ pipeline.id: {id}, path.config: {id}.conf, pipeline.workers: 1 }}\n"))
        .collect();
    let place = Place::new().file("cfg/logstash.yml", "path.data: data\n").file("cfg/pipelines.yml", &listed);
    pipelines.iter().fold(place, |place, (id, config)| place.file(&format!("{id}.conf"), config))
}

fn to_file(name: &str) -> String {
    format!("output {{ file {{ path => \"{name}\" flush_interval => 0 codec => json_lines }} }}")
}

#[test]
fn receivers_get_copies_of_their_own_with_metadata() {
    let place = place(&[
        (
            "up",
            r#"input { generator { count => 1 } }
               filter { mutate { add_field => { "[o][p]" => "1" "[@metadata][m][n]" => "x" } } }
               output { pipeline { send_to => ["d1", "d2"] } }"#,
        ),
        (
            "d1",
            &(r#"input { pipeline { address => "d1" add_field => { "via" => "d1" } } }
                 filter { mutate { replace => { "[o][p]" => "changed" } } } "#
                .to_owned()
                + &to_file("d1")),
        ),
        (
            "d2",
            &(r#"input { pipeline { address => "d2" } }
                 filter { mutate { add_field => { "meta" => "%{[@metadata][m][n]}" } } } "#
                .to_owned()
                + &to_file("d2")),
        ),
    ]);
    let process = Process::running(place.command(RUN));
    process.until_file(&place.join("d1"), 1);
    process.until_file(&place.join("d2"), 1);
    assert_eq!(process.stats("d1")["events"]["in"], 1);
    assert_eq!(process.stop().code, 0);
    let (first, second) = (&records(&place.join("d1"))[0], &records(&place.join("d2"))[0]);
    assert_eq!((first["o"]["p"].as_str(), first["via"].as_str()), (Some("changed"), Some("d1")));
    assert_eq!((second["o"]["p"].as_str(), second["meta"].as_str()), (Some("1"), Some("x")));
    assert!(second["via"].is_null());
}

#[test]
fn an_address_that_two_pipelines_listen_on_belongs_to_one_of_them() {
    let listener = |name: &str| "input { pipeline { address => \"x\" } } ".to_owned() + &to_file(name);
    let (a, b) = (listener("a"), listener("b"));
    let place = place(&[("a", &a), ("b", &b)]);
    let said = Process::running(place.command(RUN)).stop();
    said.err_says(&["the address `x` is already bound by the pipeline", "started 1 of 2 pipelines"]);
}

#[test]
fn a_receiver_that_is_missing_is_waited_for_unless_the_user_does_not_care() {
    let down = "input { pipeline { address => \"there\" } } ".to_owned() + &to_file("there");
    let place = place(&[
        (
            "careless",
            r#"input { generator { count => 50 } }
               output { pipeline { id => "out" send_to => ["gone", "there"] ensure_delivery => false } }"#,
        ),
        ("patient", r#"input { generator { count => 1 } } output { pipeline { send_to => "gone" } }"#),
        ("down", &down),
    ]);
    let process = Process::running(place.command(RUN));
    process.until_file(&place.join("there"), 50);
    process.until_err("Attempted to send event to 'gone' but that address was unavailable");
    let outputs = process.stats("careless")["plugins"]["outputs"].clone();
    assert_eq!(outputs[0]["discarded"], 50, "{outputs}");
    assert_eq!(process.stats("patient")["events"]["out"], 0);
    assert_eq!(process.stop().code, 0);
    assert_eq!(lines(&place.join("there")).len(), 50);
}

/// A chain whose middle holds many events when the stop is asked for.
#[test]
fn at_the_end_senders_go_first_and_nothing_is_lost_between_pipelines() {
    let last =
        "input { pipeline { address => \"last\" } } filter { sleep { time => 0.001 } } ".to_owned() + &to_file("out");
    let place = place(&[
        ("last", &last),
        ("middle", r#"input { pipeline { address => "middle" } } output { pipeline { send_to => last } }"#),
        ("first", r#"input { stdin { } } output { pipeline { send_to => middle } }"#),
    ]);
    let mut process = Process::running(place.command(RUN));
    let text: String = (0..1500).map(|n| format!("line {n}\n")).collect();
    process.feed(&text);
    process.until("all lines to be read", || (process.stats("first")["events"]["in"] == 1500).then_some(()));
    assert_eq!(process.stop().code, 0);
    let got: Vec<String> =
        records(&place.join("out")).iter().map(|r| r["message"].as_str().unwrap().to_owned()).collect();
    assert_eq!(got, text.lines().collect::<Vec<_>>());
}

#[test]
fn pipelines_that_send_in_a_circle_end_when_they_are_asked_to() {
    let pong =
        r#"input { pipeline { address => "pong" } } output { if [hops] != "xx" { pipeline { send_to => ping } } }"#;
    let ping = r#"input { pipeline { address => "ping" } generator { count => 1 } }
                  filter { mutate { add_field => { "h" => "x" } } mutate { update => { "hops" => "xx" } add_field => { "hops" => "x" } } }
                  output { pipeline { send_to => pong } }"#;
    let place = place(&[("ping", ping), ("pong", pong)]);
    let process = Process::running(place.command(RUN));
    process.until("the first event to go round", || (process.stats("pong")["events"]["in"] != 0).then_some(()));
    assert_eq!(process.stop().code, 0);
}

/// The source reads again what was on its way between pipelines when the program was killed.
#[test]
fn what_lay_between_pipelines_comes_again_after_a_kill() {
    let down =
        "input { pipeline { address => \"down\" } } filter { sleep { time => 0.002 } } ".to_owned() + &to_file("out");
    let up = r#"input { file { path => "${IN}" start_position => beginning sincedb_path => "sincedb" sincedb_write_interval => 0.1 } }
                output { pipeline { send_to => down } }"#;
    let base = place(&[("up", up), ("down", &down)]);
    let input = base.join("in.log");
    std::fs::write(&input, (0..1000).map(|n| format!("line {n}\n")).collect::<String>()).unwrap();
    let base = base.env("IN", &input.display().to_string());
    let out = base.join("out");
    for kill in 1..=3 {
        let process = Process::running(base.command(RUN));
        process.until_file(&out, kill * 100);
        process.kill();
    }
    let process = Process::running(base.command(RUN));
    let last = "line 999".to_owned();
    let messages = || -> Vec<String> {
        let text = std::fs::read_to_string(&out).unwrap_or_default();
        let whole = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        whole.filter_map(|record| Some(record["message"].as_str()?.to_owned())).collect()
    };
    process.until("the last line", || messages().contains(&last).then_some(()));
    assert_eq!(process.stop().code, 0);
    let got: std::collections::BTreeSet<String> = messages().into_iter().collect();
    assert_eq!(got.len(), 1000);
}
