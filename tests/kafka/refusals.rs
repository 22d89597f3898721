//! What brokers refuse, and brokers that are away.

use crate::broker::{Broker, broker, text};
use crate::own_broker::Own;
use crate::program::{Program, dead_letters};
use crate::records::{input, output};

/// First letters of the dead letters' messages, with their reasons.
fn dead(home: &tempfile::TempDir) -> Vec<(String, String)> {
    let first =
        |event: &spillway::event::Event| event.fields().get("message").unwrap().as_str().unwrap()[..1].to_owned();
    dead_letters(home).iter().map(|letter| (first(&letter.event), letter.reason.to_string())).collect()
}

#[track_caller]
fn until_all_is_dealt_with(broker: &Broker, program: &mut Program, group: &str, from: &str, sent: i64) {
    program.until("everything is dealt with", || broker.committed(group, from, 1)[&0] == sent);
}

#[test]
fn a_record_that_is_too_large_for_the_topic_is_a_dead_letter_and_its_neighbours_are_stored() {
    let Some(broker) = broker() else { return };
    let (from, group) = (broker.topic("from", 1), broker.name("g"));
    let to = broker.topic_with("to", 1, &[("max.message.bytes", "2000")]);
    let config =
        input(&broker.address, &from, &group, "") + &output(&broker.address, &to, "acks => all linger_ms => 50");
    let large = |c: &str| c.repeat(3000);
    let values = ["a".to_owned(), large("b"), "c".to_owned(), "d".to_owned(), large("e"), "f".to_owned()];
    broker.send(&from, values.iter().map(|value| text(value)));
    let mut program = Program::start(&config);
    until_all_is_dealt_with(&broker, &mut program, &group, &from, 6);
    assert_eq!(broker.values(&to), ["a", "c", "d", "f"]);
    let home = program.home.clone();
    program.stop();
    let dead = dead(&home);
    assert_eq!(dead.iter().map(|(value, _)| value.as_str()).collect::<Vec<_>>(), ["b", "e"]);
    assert!(
        dead.iter().all(|(_, reason)| reason.starts_with("kafka: ") && reason.contains("Message size too large")),
        "{dead:?}"
    );
}

#[test]
fn topics_that_events_choose_may_be_forbidden_wrong_or_missing() {
    let Some(broker) = broker() else { return };
    let (from, good, secret, group) =
        (broker.topic("from", 1), broker.topic("good", 1), broker.topic("secret", 1), broker.name("g"));
    let more = format!("forbid_topics => ['{secret}'] max_request_size => 1000 metadata_fetch_timeout_ms => 500");
    let config = input(&broker.address, &from, &group, "auto_create_topics => false")
        + "filter { grok { match => { message => '^\\d %{NOTSPACE:topic}' } } }"
        + &output(&broker.address, "%{topic}", &more);
    let large = format!("4 {good} {}", "x".repeat(1000));
    let values = [format!("1 {good}"), format!("2 {secret}"), "3 /no/topic".to_owned(), large, format!("5 {good}")];
    broker.send(&from, values.iter().map(|value| text(value)));
    let mut program = Program::start(&config);
    until_all_is_dealt_with(&broker, &mut program, &group, &from, 5);
    assert_eq!(broker.values(&good), [values[0].as_str(), values[4].as_str()]);
    assert!(broker.values(&secret).is_empty());
    let home = program.home.clone();
    program.stop();
    let dead = dead(&home);
    let reasons = [("2", "forbid_topics"), ("3", "no name for a topic"), ("4", "Message size too large")];
    assert_eq!(dead.len(), reasons.len(), "{dead:?}");
    for ((value, reason), (place, words)) in dead.iter().zip(reasons) {
        assert!(value == place && reason.contains(words), "{dead:?}");
    }
}

#[test]
fn while_the_broker_is_away_events_wait_and_nothing_is_lost() {
    let Some(broker) = broker() else { return };
    let own = Own::start("away");
    let there = own.broker();
    let (from, to, group) = (broker.topic("from", 2), there.topic("to", 1), broker.name("g"));
    let config = input(&broker.address, &from, &group, "") + &output(&there.address, &to, "acks => all");
    let names: Vec<String> = (0..2000).map(|n| n.to_string()).collect();
    broker.send(&from, names[..500].iter().map(|n| text(n)));
    let mut program = Program::start(&config);
    program.until("the first records arrive", || there.read(&to).len() == 500);
    own.does(&["stop"]);
    broker.send(&from, names[500..].iter().map(|n| text(n)));
    program.until_logged("Connection refused");
    let committed: i64 = broker.committed(&group, &from, 2).values().sum();
    assert!(committed <= 500, "{committed} of 500 were stored");
    own.does(&["start"]);
    program.until("the rest arrives", || there.read(&to).len() >= names.len());
    let mut got = there.values(&to);
    got.sort_by_key(|n| n.parse::<usize>().unwrap());
    assert_eq!(got, names);
    program.until("all is committed", || broker.committed(&group, &from, 2).values().sum::<i64>() == 2000);
}

#[test]
fn a_stop_while_the_broker_is_away_does_not_hang_and_commits_nothing() {
    let Some(broker) = broker() else { return };
    let (from, group) = (broker.topic("from", 1), broker.name("g"));
    broker.send(&from, [text("x")]);
    let config = input(&broker.address, &from, &group, "") + &output("127.0.0.1:1", "t", "");
    let mut program = Program::start(&config);
    program.until_logged("partitions are assigned");
    program.until_logged("Connection refused");
    program.stop();
    assert_eq!(broker.committed(&group, &from, 1)[&0], -1);
}

#[test]
fn with_retries_events_are_given_up_in_the_end() {
    let Some(broker) = broker() else { return };
    let (from, group) = (broker.topic("from", 1), broker.name("g"));
    broker.send(&from, ["1", "2"].map(text));
    let more = "retries => 1 request_timeout_ms => 1000";
    let config = input(&broker.address, &from, &group, "") + &output("127.0.0.1:1", "t", more);
    let mut program = Program::start(&config);
    until_all_is_dealt_with(&broker, &mut program, &group, &from, 2);
    let home = program.home.clone();
    program.stop();
    let dead = dead(&home);
    assert!(dead.len() == 2 && dead.iter().all(|(_, reason)| reason.contains("timed out")), "{dead:?}");
}

#[test]
fn a_stop_while_the_brokers_of_the_input_are_away_does_not_hang() {
    if broker().is_none() {
        return;
    }
    let own = Own::start("gone");
    let there = own.broker();
    let (from, to) = (there.topic("from", 1), there.topic("to", 1));
    let reads = input(&there.address, &from, "g", "session_timeout_ms => 6000");
    let reads = reads.replace("auto_commit_interval_ms => 200", "auto_commit_interval_ms => 600000");
    let config = reads + &output(&there.address, &to, "");
    there.send(&from, [text("x")]);
    let mut program = Program::start(&config);
    program.until("the record arrives", || there.read(&to).len() == 1);
    own.does(&["stop"]);
    program.stop();
}
