//! `pipelines/business` and `pipelines/eventd` as they stand, but for the names of brokers and topics.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::broker::{Broker, Got, Sent, broker};
use crate::number;
use crate::program::{Program, home};

fn design(path: &str, broker: &Broker, names: &[&str]) -> String {
    let text = std::fs::read_to_string(format!("{}/pipelines/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let text = text.replace("localhost:9092", &broker.address).replace("kafka:9092", &broker.address);
    let mut names = names.to_vec();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.iter().fold(text, |text, name| text.replace(&format!("\"{name}\""), &format!("\"{}\"", broker.name(name))))
}

fn json_of(got: &Got) -> Json {
    serde_json::from_str(got.value.as_deref().unwrap()).unwrap()
}

const BUSINESS: [&str; 6] =
    ["business-source", "business-replay", "business-valid", "business-dlq", "business-parked", "business-dlq-job"];

/// A record of the mix, and the code of its dead letter; none for one that is right.
fn order(n: usize) -> (String, Option<&'static str>) {
    let time = r#""event_time":"2026-07-22 13:00:00""#;
    match n % 20 {
        0 => (format!(r#"{{"n":{n},"amount":1,{time}}}"#), Some("USER_ID_MISSING")),
        1 => (format!(r#"{{"user_id":"abc","amount":{n},{time}}}"#), Some("USER_ID_INVALID")),
        2 => (format!(r#"{{"user_id":{n},{time}}}"#), Some("AMOUNT_MISSING")),
        3 => (format!(r#"{{"user_id":{n},"amount":"ten",{time}}}"#), Some("AMOUNT_INVALID")),
        4 => (format!(r#"{{"user_id":{n},"amount":-5,{time}}}"#), Some("AMOUNT_NEGATIVE")),
        5 => (format!(r#"{{"user_id":{n},"amount":1}}"#), Some("EVENT_TIME_MISSING")),
        6 => (format!(r#"{{"user_id":{n},"amount":1,"event_time":"yesterday"}}"#), Some("EVENT_TIME_INVALID")),
        7 => (format!("not json {n}"), Some("USER_ID_MISSING")),
        _ => (format!(r#"{{"user_id":{n},"amount":99.50,{time}}}"#), None),
    }
}

#[test]
fn every_order_is_either_valid_or_a_dead_letter_with_its_reason() {
    let Some(broker) = broker() else { return };
    let [source, _replay, valid, dlq, _parked] =
        ["business-source", "business-replay", "business-valid", "business-dlq", "business-parked"]
            .map(|name| broker.topic(name, 4));
    let count = number("SPILLWAY_KAFKA_RECORDS", 20_000);
    let orders: Vec<_> = (0..count).map(order).collect();
    broker.send(&source, orders.iter().map(|(value, _)| crate::broker::text(value)));
    let mut program =
        Program::start_in(&home(), &design("business/business.conf", &broker, &BUSINESS), "pipeline.workers: 2\n");
    let arrived = || broker.read(&valid).len() + broker.read(&dlq).len();
    program.within(Duration::from_secs(300), "all orders come out", || arrived() >= count);
    program.stop();
    let (valid, dead) = (broker.read(&valid), broker.read(&dlq));
    assert_eq!(valid.len() + dead.len(), count);
    let mut right: Vec<i64> = valid.iter().map(|got| json_of(got)["user_id"].as_i64().unwrap()).collect();
    right.sort_unstable();
    let expected: Vec<i64> = (0..count).filter(|n| order(*n).1.is_none()).map(|n| n as i64).collect();
    assert_eq!(right, expected);
    for got in &valid {
        let id = &json_of(got)["user_id"];
        assert_eq!(got.key.as_deref(), Some(format!("{{\"user_id\":{id}}}").as_str()));
        assert_eq!(got.value, Some(format!(r#"{{"user_id":{id},"amount":99.50,"event_time":"2026-07-22 13:00:00"}}"#)));
    }
    let code_of: BTreeMap<&str, &str> =
        orders.iter().filter_map(|(value, code)| Some((value.as_str(), (*code)?))).collect();
    let mut raw = std::collections::BTreeSet::new();
    for got in &dead {
        let record = json_of(got);
        let text = record["raw_message"].as_str().unwrap();
        assert_eq!(record["error_code"], code_of[text], "{text}");
        let place = format!("{}-{}-{}", source, record["source_partition"], record["source_offset"]);
        assert_eq!(got.key.as_deref(), Some(place.as_str()));
        assert!(got.headers.is_empty() && raw.insert(text.to_owned()), "{got:?}");
    }
    assert_eq!(raw.len(), code_of.len());
}

/// A dead letter is repaired and comes back by the topic for replays; one that stays wrong is parked in the end.
#[test]
fn repaired_orders_come_back_and_hopeless_ones_are_parked() {
    let Some(broker) = broker() else { return };
    let [source, _, valid, dlq, parked] =
        ["business-source", "business-replay", "business-valid", "business-dlq", "business-parked"]
            .map(|name| broker.topic(name, 1));
    let home = home();
    let mut pipelines = String::new();
    for name in ["business", "business-repair"] {
        let mut names = BUSINESS.to_vec();
        names.push("business-repair");
        let text = design(&format!("business/{name}.conf"), &broker, &names);
        // A group that is new would begin at the end.
        let text = text
            .replace(
                "decorate_events => \"extended\" commit",
                "decorate_events => \"extended\" auto_offset_reset => \"earliest\" commit",
            )
            .replace("auto_offset_reset => \"earliest\" codec", "codec");
        let path = home.path().join(format!("{name}.conf"));
        std::fs::write(&path, text).unwrap();
        pipelines += &format!("- pipeline.id: {name}\n  path.config: {}\n", path.display());
    }
    let order = |amount: &str| format!(r#"{{"user_id":7,"amount":"{amount}","event_time":"2026-07-22 13:00:00"}}"#);
    let (comma, hopeless) = (order("12,50"), order("ten"));
    broker.send(&source, [&comma, &hopeless].map(|value| crate::broker::text(value)));
    let mut program = Program::start_pipelines(&home, &pipelines, "");
    program.until("the repaired order is valid", || broker.read(&valid).len() == 1);
    assert_eq!(json_of(&broker.read(&valid)[0])["user_id"], 7);
    program.until("the other one is parked", || broker.read(&parked).len() == 1);
    program.stop();
    assert_eq!(json_of(&broker.read(&parked)[0])["raw_message"], hopeless.as_str());
    let retries: Vec<Option<String>> =
        broker.read(&dlq).iter().map(|got| got.headers.first().map(|(_, value)| value.clone())).collect();
    let mut counted = retries.clone();
    counted.sort();
    let text = |n: &str| Some(n.to_owned());
    assert_eq!(counted, [None, None, text("1"), text("2"), text("3")]);
    assert_eq!(broker.read(&source).len(), 2);
}

const EVENTD: [&str; 4] = ["eventd-raw", "eventd-cleaned", "eventd-dead-letter", "eventd-cleansing"];

fn eventd(broker: &Broker) -> String {
    let text = design("eventd/eventd-cleansing.conf", broker, &EVENTD);
    let reads =
        "commit => \"transaction\" auto_offset_reset => earliest session_timeout_ms => 6000 group_instance_id => one";
    text.replace("commit => \"transaction\"", reads)
        .replace("transaction_interval => \"10s\"", "transaction_interval => \"500ms\"")
}

#[test]
fn events_are_cleansed_as_the_design_says() {
    let Some(broker) = broker() else { return };
    let [raw, cleaned, dead] = ["eventd-raw", "eventd-cleaned", "eventd-dead-letter"].map(|name| broker.topic(name, 1));
    let e1 = r#"{"eventId":"e1","type":"order","userId":"alice","amount":100,"timestamp":1700000000000}"#;
    let records = [("key1", e1), ("key1", e1), ("key2", "not-json"), ("key3", r#"{"type":"order","userId":"bob"}"#)];
    broker.send(&raw, records.map(|(key, value)| Sent { key: Some(key.as_bytes()), ..crate::broker::text(value) }));
    let mut program = Program::start(&eventd(&broker));
    program.until("all is committed", || broker.committed(&broker.name("eventd-cleansing"), &raw, 1)[&0] >= 4);
    let clean = broker.read(&cleaned);
    assert_eq!(clean.len(), 1);
    assert_eq!(clean[0].key.as_deref(), Some("key1"));
    assert_eq!(
        json_of(&clean[0]),
        json!({
            "eventId": "e1", "type": "ORDER", "version": 1, "source": "eventd-v3", "eventTime": 1_700_000_000_000_i64, "userId": "alice",
            "amount": 100.0, "symbol": "UNKNOWN", "status": null, "ipAddress": null, "device": null
        })
    );
    let dead = broker.read(&dead);
    let said: Vec<_> = dead
        .iter()
        .map(|got| (got.key.clone().unwrap(), json_of(got)["reason"].clone(), json_of(got)["errorMessage"].clone()))
        .collect();
    assert_eq!(
        said,
        [
            ("key2".to_owned(), json!("INVALID_JSON"), json!("parse error")),
            ("key3".to_owned(), json!("VALIDATION_FAILED"), json!("required field missing")),
        ]
    );
}

/// Stops and kills: whoever reads what is committed sees each event once.
#[test]
fn each_event_is_cleansed_once_whatever_happens_to_the_program() {
    let Some(broker) = broker() else { return };
    let [raw, cleaned, dead] = ["eventd-raw", "eventd-cleaned", "eventd-dead-letter"].map(|name| broker.topic(name, 3));
    let (home, config) = (home(), eventd(&broker));
    let lives = number("SPILLWAY_KAFKA_KILLS", 6);
    let mut sent = 0;
    for life in 0..lives {
        let events: Vec<String> = (sent..sent + 1000)
            .map(|n| match n % 10 {
                0 => format!("broken {n}"),
                _ => format!(r#"{{"eventId":"e{n}","type":"order","userId":"u","amount":1}}"#),
            })
            .collect();
        sent += events.len();
        let key = |n: usize| ["a", "b", "c", "d"][n % 4].as_bytes();
        // Each event comes twice.
        let both = events.iter().enumerate().flat_map(|(n, value)| {
            let times = if value.starts_with('{') { 2 } else { 1 };
            std::iter::repeat_n(Sent { key: Some(key(n)), ..crate::broker::text(value) }, times)
        });
        broker.send(&raw, both);
        let mut program = Program::start_in(&home, &config, "");
        let before = broker.read(&cleaned).len();
        crate::eventually(Duration::from_secs(15), || broker.read(&cleaned).len() > before);
        std::thread::sleep(Duration::from_millis(53 * (life as u64 * 5 % 13)));
        assert!(!program.has_ended(), "{}", program.log());
        if life % 3 == 2 {
            program.stop();
        } else {
            program.kill();
        }
    }
    let mut program = Program::start_in(&home, &config, "");
    let counts = |topic: &str, member: &str| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for got in broker.read(topic) {
            *counts.entry(json_of(&got)[member].as_str().unwrap().to_owned()).or_default() += 1;
        }
        counts
    };
    let valid = (0..sent).filter(|n| n % 10 != 0).count();
    program.within(Duration::from_secs(90), "all events come out", || {
        counts(&cleaned, "eventId").len() == valid && counts(&dead, "originalJson").len() == sent - valid
    });
    program.stop();
    for counts in [counts(&cleaned, "eventId"), counts(&dead, "originalJson")] {
        let repeated: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 1).collect();
        assert!(repeated.is_empty(), "{repeated:?}");
    }
}
