use super::Reader;
use crate::event::{Bytes, EventStream, Text};
use crate::plugins::testing::{configured, json};

/// The events of one connection that brings these pieces.
fn read(options: &str, pieces: &[&[u8]]) -> Vec<String> {
    let reader = configured(&format!("input {{ syslog {{ {options} }} }}"), Reader::read).unwrap();
    let mut decoder = reader.decoder();
    let mut events = Vec::new();
    let mut take = |stream: EventStream| {
        let mut stream = reader.on(stream, Text::borrowed("10.0.0.9"));
        stream.take_into(1, &mut events);
        stream.take_into(usize::MAX, &mut events);
    };
    for piece in pieces {
        take(decoder.decode_chunk(Bytes::from(piece.to_vec())));
    }
    let mut rest = Vec::new();
    decoder.flush(&mut rest);
    take(rest.into());
    events.iter().map(json).collect()
}

const FLAT: &str = "ecs_compatibility => disabled timezone => UTC codec => plain { ecs_compatibility => disabled }";

#[test]
fn a_line_becomes_flat_fields() {
    let lines = read(FLAT, &[b"<134>Oct 11 22:14:15 web1 sshd[42]: login ac", b"cepted\n<13>nothing\n"]);
    assert_eq!(
        lines,
        [
            r#"{"message":"login accepted","host":"10.0.0.9","logsource":"web1","program":"sshd","pid":"42","timestamp":"Oct 11 22:14:15","priority":134,"facility":16,"severity":6,"facility_label":"local0","severity_label":"Informational"}"#,
            "{\"message\":\"<13>nothing\\n\",\"host\":\"10.0.0.9\",\"tags\":[\"_grokparsefailure_sysloginput\"],\"priority\":13,\"facility\":1,\"severity\":5,\"facility_label\":\"user-level\",\"severity_label\":\"Notice\"}",
        ]
    );
}

#[test]
fn a_line_becomes_fields_of_ecs() {
    let lines = read("timezone => UTC", &[b"<13>2020-01-02T03:04:05Z web1 sshd[42]: text\n"]);
    assert_eq!(
        lines,
        [concat!(
            r#"{"message":"text","event":{"original":"<13>2020-01-02T03:04:05Z web1 sshd[42]: text\n"},"#,
            r#""host":{"ip":"10.0.0.9","hostname":"web1"},"process":{"name":"sshd","pid":42},"#,
            r#""log":{"syslog":{"priority":13,"facility":{"code":1,"name":"user-level"},"severity":{"code":5,"name":"Notice"}}},"#,
            r#""service":{"type":"system"}}"#
        )]
    );
}

#[test]
fn an_iso_time_stands_twice_in_flat_fields_and_a_bad_one_is_tagged() {
    let lines = read(FLAT, &[b"<13>2020-01-02T03:04:05Z h a: t\n<13>Oct 11 22:14:60 h a: t\n"]);
    assert!(lines[0].contains(r#""timestamp8601":"2020-01-02T03:04:05Z","timestamp":"2020-01-02T03:04:05Z""#));
    assert!(lines[1].contains(r#""tags":["_dateparsefailure"]"#), "{}", lines[1]);
}

#[test]
fn lines_of_rfc_5424_are_understood_when_asked_for() {
    let line = b"<165>1 2003-10-11T22:14:15.003Z web1 app 42 ID47 [a b=\"c\"] text\n";
    assert!(read(FLAT, &[line])[0].contains("_grokparsefailure_sysloginput"));
    let counted = [format!("{} ", line.len()).as_bytes(), line].concat();
    let lines = read(&format!("{FLAT} rfc => auto"), &[&counted]);
    assert_eq!(
        lines,
        [concat!(
            r#"{"message":"text","host":"10.0.0.9","msgid":"ID47","structured_data":"[a b=\"c\"]","logsource":"web1","#,
            r#""program":"app","pid":"42","timestamp8601":"2003-10-11T22:14:15.003Z","timestamp":"2003-10-11T22:14:15.003Z","#,
            r#""priority":165,"facility":20,"severity":5,"facility_label":"local4","severity_label":"Notice"}"#
        )]
    );
}

#[test]
fn a_codec_that_gives_fields_keeps_them_beside_those_of_the_line() {
    let text = br#"{"message":"<13>Oct 11 22:14:15 h a[1]: t","program":"mine"}"#;
    let lines = read("ecs_compatibility => disabled codec => json { ecs_compatibility => disabled }", &[text]);
    assert!(lines[0].contains(r#""program":["mine","a"]"#), "{}", lines[0]);
}

#[test]
fn bytes_that_are_no_text_and_zeros_are_kept() {
    let lines = read(FLAT, &[b"<13>Oct 11 22:14:15 h a: \xff\x00\n\x00\x00\n"]);
    assert_eq!(lines.len(), 2);
    assert!(lines[0].contains(r#"\\xFF"#), "{}", lines[0]);
}

#[test]
fn months_are_read_in_the_language_that_was_chosen() {
    let line: &[&[u8]] = &[b"<13>Mai  3 10:00:00 h a: t\n"];
    assert!(read(FLAT, line)[0].contains(r#""tags":["_dateparsefailure"]"#));
    assert!(!read(&format!("{FLAT} locale => de"), line)[0].contains("tags"));
}

#[test]
fn a_pattern_of_ones_own_names_the_fields() {
    let pattern =
        r#"grok_pattern => "<%{POSINT:priority}>%{SYSLOGTIMESTAMP:timestamp} \[%{WORD:zone}\] %{GREEDYDATA:message}""#;
    let lines = read(&format!("{FLAT} {pattern}"), &[b"<134>Oct 11 22:14:15 [dmz] went well\n<13>Oct 11 x\n"]);
    assert_eq!(
        lines,
        [
            r#"{"message":"went well","host":"10.0.0.9","priority":134,"timestamp":"Oct 11 22:14:15","zone":"dmz","facility":16,"severity":6,"facility_label":"local0","severity_label":"Informational"}"#,
            "{\"message\":\"<13>Oct 11 x\\n\",\"host\":\"10.0.0.9\",\"tags\":[\"_grokparsefailure_sysloginput\"],\"priority\":13,\"facility\":1,\"severity\":5,\"facility_label\":\"user-level\",\"severity_label\":\"Notice\"}",
        ]
    );
}

#[test]
fn a_pattern_without_a_priority_means_the_usual_one() {
    let lines = read(
        r#"timezone => UTC grok_pattern => "%{TIMESTAMP_ISO8601:timestamp} %{GREEDYDATA:message}""#,
        &[b"2020-01-02T03:04:05Z up\n"],
    );
    assert!(!lines[0].contains("timestamp\":") && !lines[0].contains("tags"), "{}", lines[0]);
    assert!(lines[0].contains(r#""priority":13"#) && lines[0].contains(r#""message":"up""#), "{}", lines[0]);
}

#[test]
fn lines_of_one_message_are_joined_and_given_out_after_a_silence() {
    let options = r#"ecs_compatibility => disabled
        codec => multiline { pattern => "^ " what => previous auto_flush_interval => 1 ecs_compatibility => disabled }"#;
    let reader = configured(&format!("input {{ syslog {{ {options} }} }}"), Reader::read).unwrap();
    let mut decoder = reader.decoder();
    let mut events = Vec::new();
    decoder.decode(Bytes::from(&b"<13>Oct 11 22:14:15 h a: one\n two\n"[..]), &mut events);
    assert!(events.is_empty() && decoder.held() > 0);
    assert_eq!(decoder.flush_after(), Some(std::time::Duration::from_secs(1)));
    decoder.decode(Bytes::from(&b" thr"[..]), &mut events);
    assert_eq!(decoder.held(), 0, "a line whose end is still to come is not cut in two");
    decoder.decode(Bytes::from(&b"ee\n"[..]), &mut events);
    decoder.flush(&mut events);
    assert_eq!(events.len(), 1);
    let message = json(&events[0]);
    assert!(message.contains("one") && message.contains("two") && message.contains("three"), "{message}");
}

#[test]
fn options_that_are_wrong() {
    for (options, words) in [
        ("timezone => PST", "not recognised"),
        ("grok_pattern => \"%{SYSLOGLIN}\"", "pattern %{SYSLOGLIN} not defined"),
        ("grok_pattern => \"a(\"", "regular expression"),
        ("rfc => \"5424\"", "expected one of 3164, auto"),
    ] {
        let error = configured(&format!("input {{ syslog {{ {options} }} }}"), Reader::read).err().unwrap();
        assert!(error.contains(words), "{options}: {error}");
    }
}
