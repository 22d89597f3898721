//! What of a record arrives in events, and what of an event in records.

use serde_json::{Value as Json, json};

use crate::broker::{Got, Sent, broker, text};
use crate::program::Program;

/// An input for one topic, from its beginning.
pub fn input(address: &str, topic: &str, group: &str, more: &str) -> String {
    format!(
        "input {{ kafka {{ bootstrap_servers => '{address}' topics => ['{topic}'] group_id => '{group}' auto_offset_reset => earliest \
         codec => plain {{ ecs_compatibility => disabled }} auto_commit_interval_ms => 200 {more} }} }}\n"
    )
}

/// An output that writes `message`.
pub fn output(address: &str, topic: &str, more: &str) -> String {
    format!(
        "output {{ kafka {{ id => out bootstrap_servers => '{address}' topic_id => '{topic}' \
         codec => plain {{ format => '%{{message}}' }} {more} }} }}\n"
    )
}

#[test]
fn a_record_comes_out_as_it_went_in() {
    let Some(broker) = broker() else { return };
    let (from, to) = (broker.topic("from", 1), broker.topic("to", 1));
    let more = "message_key => '%{[@metadata][kafka][key]}' timestamp => event \
                message_headers => { 'kind' => '%{[@metadata][kafka][headers][kind]}' 'none' => '%{[nothing]}' 'plain' => 'x' }";
    let address = &broker.address;
    let config = input(address, &from, &broker.name("g"), "decorate_events => extended")
        + "filter { date { match => ['[@metadata][kafka][timestamp]', UNIX_MS] } }"
        + &output(address, &to, more);
    broker.send(
        &from,
        [Sent {
            key: Some("schlüssel".as_bytes()),
            value: Some("wört\n".as_bytes()),
            headers: &[("kind", b"a"), ("kind", b"b")],
            timestamp: Some(1_784_696_400_123),
            ..Sent::default()
        }],
    );
    let mut program = Program::start(&config);
    program.until("the record arrives", || broker.read(&to).len() == 1);
    let expected = Got {
        partition: 0,
        offset: 0,
        key: Some("schlüssel".to_owned()),
        value: Some("wört\n".to_owned()),
        headers: vec![("kind".to_owned(), "b".to_owned()), ("plain".to_owned(), "x".to_owned())],
        timestamp: Some(1_784_696_400_123),
    };
    let mut got = broker.read(&to);
    got[0].headers.sort();
    assert_eq!(got, [expected]);
    program.until("the offset is committed", || broker.committed(&broker.name("g"), &from, 1)[&0] == 1);
}

/// The metadata of events, as JSON.
fn decorated(group: &str, decorate: &str, records: &[Sent<'_>]) -> Vec<Json> {
    let Some(broker) = broker() else { return Vec::new() };
    let (from, to) = (broker.topic("from", 1), broker.topic("to", 1));
    let config = input(&broker.address, &from, group, decorate)
        + "filter { mutate { copy => { '[@metadata][kafka]' => 'k' } remove_field => ['@timestamp', '@version', 'event'] } }"
        + &output(&broker.address, &to, "codec => json").replacen("codec => plain { format => '%{message}' }", "", 1);
    broker.send(&from, records.iter().cloned());
    let mut program = Program::start(&config);
    program.until("the records arrive", || broker.read(&to).len() == records.len());
    let mut all: Vec<Json> = broker.values(&to).iter().map(|value| serde_json::from_str(value).unwrap()).collect();
    for event in &mut all {
        if let Some(kafka) = event.get_mut("k").and_then(Json::as_object_mut) {
            assert_eq!(kafka.remove("topic"), Some(json!(from)));
            assert_eq!(kafka.remove("consumer_group"), Some(json!(group)));
        }
    }
    all
}

#[test]
fn events_say_where_they_come_from() {
    let headers: &[(&str, &[u8])] = &[("h", b"1"), ("h", b"2"), ("raw", b"\xff")];
    let records = [
        Sent { key: Some(b"k"), headers, timestamp: Some(5), ..text("a") },
        Sent { key: Some(b"\xff\xfe"), timestamp: Some(6), ..Sent::default() },
        Sent { timestamp: Some(7), ..text("") },
        Sent { timestamp: Some(8), value: Some(b"caf\xe8"), ..Sent::default() },
    ];
    let all = decorated("extended", "decorate_events => extended", &records);
    if all.is_empty() {
        return;
    }
    let place =
        |offset: i64| json!({ "partition": 0, "offset": offset, "timestamp": offset + 5, "timestamp_type": "create" });
    let with = |mut place: Json, more: Json| {
        place.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        place
    };
    assert_eq!(all[0], json!({ "message": "a", "k": with(place(0), json!({ "key": "k", "headers": { "h": "2" } })) }));
    let tombstone = json!({ "key": "\u{fffd}\u{fffd}", "key_base64": "//4=", "tombstone": true });
    assert_eq!(without_headers(&all[1]), json!({ "message": "", "k": with(place(1), tombstone) }));
    assert_eq!(without_headers(&all[2]), json!({ "message": "", "k": with(place(2), json!({ "key": null })) }));
    let bytes = json!({ "key": null, "value_base64": "Y2Fm6A==" });
    assert_eq!(without_headers(&all[3]), json!({ "message": "caf\\xE8", "k": with(place(3), bytes) }));
    let basic = decorated("basic", "decorate_events => basic", &records[..1]);
    assert_eq!(basic[0], json!({ "message": "a", "k": with(place(0), json!({ "key": "k" })) }));
    assert_eq!(
        decorated("none", "tags => ['t'] type => 'y'", &records[..1]),
        [json!({ "message": "a", "type": "y", "tags": ["t"] })]
    );
}

fn without_headers(event: &Json) -> Json {
    let mut event = event.clone();
    event["k"].as_object_mut().unwrap().remove("headers");
    event
}

/// A codec may need several records for an event: the last of them is read again after a restart, until it is complete.
#[test]
fn what_a_codec_holds_back_is_not_committed() {
    let Some(broker) = broker() else { return };
    let (from, to, group) = (broker.topic("from", 1), broker.topic("to", 1), broker.name("g"));
    let codec = "multiline { pattern => '^ ' what => previous ecs_compatibility => disabled }";
    let config = input(&broker.address, &from, &group, "").replace("plain { ecs_compatibility => disabled }", codec)
        + &output(&broker.address, &to, "");
    broker.send(&from, ["a", " b", "c"].map(text));
    let mut program = Program::start(&config);
    program.until("the first event arrives", || broker.values(&to) == ["a\n b"]);
    program.until("its offset is committed", || broker.committed(&group, &from, 1)[&0] == 2);
    let home = program.home.clone();
    program.stop();
    assert_eq!(broker.committed(&group, &from, 1)[&0], 2);
    let mut program = Program::start_in(&home, &config, "");
    broker.send(&from, [" d", "e"].map(text));
    program.until("the second event is whole", || broker.values(&to).contains(&"c\n d".to_owned()));
}

#[test]
fn a_pattern_finds_topics_and_threads_share_partitions() {
    let Some(broker) = broker() else { return };
    let (a, b, other) = (broker.topic("pat-1", 3), broker.topic("pat-22", 2), broker.topic("no-pat-1", 1));
    let to = broker.topic("to", 1);
    let run = a.rsplit('-').next().unwrap();
    let more = format!("topics_pattern => 'pat-\\d+-{run}' consumer_threads => 3 client_id => threads");
    let config = input(&broker.address, "unused", &broker.name("g"), &more) + &output(&broker.address, &to, "");
    let names: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    broker.send(&a, names[..200].iter().map(|n| text(n)));
    broker.send(&b, names[200..].iter().map(|n| text(n)));
    broker.send(&other, [text("never")]);
    let mut program = Program::start(&config);
    program.until("all records arrive", || broker.read(&to).len() == names.len());
    let mut got = broker.values(&to);
    got.sort_by_key(|n| n.parse::<usize>().unwrap());
    assert_eq!(got, names);
    program.until_logged_times("partitions are assigned", 3);
}

/// Logstash's own way: what is in the queue counts as read.
#[test]
fn with_auto_an_offset_is_committed_although_the_output_waits() {
    let Some(broker) = broker() else { return };
    let (from, group) = (broker.topic("from", 1), broker.name("g"));
    broker.send(&from, [text("x")]);
    for (commit, expected) in [("auto", 1), ("ack", -1)] {
        let group = format!("{group}-{commit}");
        let config = input(&broker.address, &from, &group, &format!("commit => {commit}"))
            + &output("127.0.0.1:1", "t", "reconnect_backoff_max_ms => 100");
        let mut program = Program::start(&config);
        program.until_logged("partitions are assigned");
        if commit == "auto" {
            program.until("the offset is committed", || broker.committed(&group, &from, 1)[&0] == expected);
        } else {
            std::thread::sleep(std::time::Duration::from_secs(2));
            assert_eq!(broker.committed(&group, &from, 1)[&0], expected);
        }
    }
}

/// The codecs are built in, whatever the machine has.
#[test]
fn batches_may_be_compressed_in_every_way() {
    let Some(broker) = broker() else { return };
    let from = broker.topic("from", 1);
    let kinds = ["none", "gzip", "snappy", "lz4", "zstd"];
    let topics = kinds.map(|kind| broker.topic(kind, 1));
    let outputs = kinds.iter().zip(&topics).map(|(kind, to)| {
        output(&broker.address, to, &format!("compression_type => {kind}"))
            .replace("id => out", &format!("id => {kind}"))
    });
    let config = input(&broker.address, &from, &broker.name("g"), "") + &outputs.collect::<String>();
    let value = "abc ".repeat(500);
    broker.send(&from, (0..10).map(|_| text(&value)));
    let mut program = Program::start(&config);
    for to in &topics {
        program.until("the records arrive", || broker.read(to).len() == 10);
        assert!(broker.values(to).iter().all(|got| *got == value));
    }
}

#[test]
fn records_of_one_key_stay_together_unless_they_are_spread() {
    let Some(broker) = broker() else { return };
    let (from, together, spread) = (broker.topic("from", 1), broker.topic("together", 4), broker.topic("spread", 4));
    let outputs = output(&broker.address, &together, "message_key => same")
        + &output(&broker.address, &spread, "message_key => same partitioner => round_robin")
            .replace("id => out", "id => rr");
    broker.send(&from, (0..40).map(|_| text("x")));
    let mut program = Program::start(&(input(&broker.address, &from, &broker.name("g"), "") + &outputs));
    program.until("the records arrive", || broker.read(&together).len() + broker.read(&spread).len() == 80);
    let partitions = |topic: &str| {
        let mut counts = std::collections::BTreeMap::new();
        broker.read(topic).iter().for_each(|got| *counts.entry(got.partition).or_insert(0) += 1);
        counts.into_values().collect::<Vec<i32>>()
    };
    assert_eq!(partitions(&together), [40]);
    // A partition whose leader is not known yet is passed over.
    let spread = partitions(&spread);
    assert!(spread.len() >= 3 && spread.iter().all(|count| *count <= 20), "{spread:?}");
}

/// What the monitoring API says of an input.
fn stats(port: u16) -> Option<Json> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(stream, "GET /_node/stats/pipelines HTTP/1.0\r\nHost: x\r\n\r\n").ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    let body: Json = serde_json::from_str(reply.split_once("\r\n\r\n")?.1).ok()?;
    Some(body["pipelines"]["main"]["plugins"]["inputs"][0].clone())
}

#[test]
fn the_node_stats_tell_how_far_an_input_is_behind() {
    let Some(broker) = broker() else { return };
    let from = broker.topic("from", 1);
    let port = crate::ports::free_port();
    let config = input(&broker.address, &from, &broker.name("g"), "") + "output { null { } }";
    broker.send(&from, (0..7).map(|_| text("x")));
    let api = format!("api.enabled: true\napi.http.port: {port}\n");
    let mut program = Program::start_in(&crate::program::home(), &config, &api);
    program.until("everything is dealt with", || {
        stats(port).is_some_and(|s| {
            s["lag"][&from]["0"] == 0 && s["offset_committed"][&from]["0"] == 7 && s["commits"].as_u64() > Some(0)
        })
    });
}
