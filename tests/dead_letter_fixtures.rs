//! Queues that Logstash wrote are read back entry for entry, and Spillway writes the same records around the same
//! payloads.

mod dead_letter_support;

use std::fs;
use std::path::{Path, PathBuf};

use dead_letter_support::{entries, read_all, segment, tests_dir};
use serde_json::Value as Json;
use spillway::dead_letter::{DeadLetter, Settings, Writer};
use spillway::event::json::{Numbers, Reader as JsonReader};
use spillway::event::{EscapeStyle, FieldRef, Map, Text, Value};

const FOLDERS: [&str; 12] = [
    "block_edges",
    "block_exact",
    "block_exact_end",
    "block_leave_one",
    "drop_newer",
    "drop_older",
    "large",
    "rolled",
    "simple",
    "size_limit",
    "types",
    "unsealed",
];

fn folder(name: &str) -> PathBuf {
    tests_dir().join("fixtures/dlq").join(name)
}

/// One expected entry, with numbers as they are written.
struct Expected {
    exact: Map,
    plain: Json,
}

fn expected(path: &Path) -> Vec<Expected> {
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let text = Text::from(line);
        let Some(Value::Map(exact)) = JsonReader::new(&text, Numbers::Decimal).next_value().unwrap() else { panic!() };
        Expected { exact, plain: serde_json::from_str(line).unwrap() }
    };
    text.lines().map(line).collect()
}

/// A map after a way through its JSON form, where every number keeps its digits.
fn through_json(map: &Map) -> Map {
    let mut out = Vec::new();
    spillway::event::json::write_map(map, &mut out);
    let text = Text::from(String::from_utf8(out).unwrap());
    match JsonReader::new(&text, Numbers::Decimal).next_value().unwrap() {
        Some(Value::Map(map)) => map,
        other => panic!("{other:?}"),
    }
}

/// Equal to the last digit: `1.10` is not `1.1`.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Map(a), Value::Map(b)) => same_maps(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        // The smallest doubles have several shortest spellings.
        (Value::Decimal(a), Value::Decimal(b)) if a.to_f64().is_subnormal() => a.to_f64() == b.to_f64(),
        (Value::Decimal(a), Value::Decimal(b)) => a.to_string() == b.to_string(),
        (a, b) => a == b,
    }
}

fn same_maps(a: &Map, b: &Map) -> bool {
    a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
}

fn check(name: &str, letters: &[DeadLetter], expected: &[Expected]) {
    assert_eq!(letters.len(), expected.len(), "{name}");
    for (at, (letter, expected)) in letters.iter().zip(expected).enumerate() {
        let text = |key: &str| expected.plain[key].as_str().unwrap();
        assert_eq!(letter.entry_time.to_string(), text("entry_time"), "{name} {at}");
        assert_eq!(letter.plugin_type, text("plugin_type"), "{name} {at}");
        assert_eq!(letter.plugin_id, text("plugin_id"), "{name} {at}");
        assert_eq!(letter.reason, text("reason"), "{name} {at}");
        for (key, map) in [("event", letter.event.fields()), ("metadata", letter.event.metadata())] {
            let wanted = expected.exact.get(key).unwrap().as_map().unwrap();
            let read = through_json(map);
            for (field, value) in wanted.iter() {
                let got = read.get(field);
                assert!(got.is_some_and(|got| same(got, value)), "{name} {at} {field}: {value:?} is not {got:?}");
            }
            assert_eq!(read.len(), wanted.len(), "{name} {at}: {read:?}");
        }
        if let Some(segment) = expected.plain["segment"].as_str() {
            assert_eq!(format!("{}.log", letter.position.segment), segment, "{name} {at}");
        }
        if let Some(offset) = expected.plain["position_after"].as_u64() {
            assert_eq!(letter.position.offset, offset, "{name} {at}");
        }
        for (field, kind) in expected.plain["types"].as_object().into_iter().flatten() {
            check_type(letter, field, kind.as_str().unwrap());
        }
    }
}

fn check_type(letter: &DeadLetter, field: &str, kind: &str) {
    if field == "[@metadata]" {
        return assert!(letter.event.metadata().is_empty());
    }
    let value = letter.event.get(&FieldRef::parse(field, EscapeStyle::None).unwrap()).unwrap();
    let right = match (kind, value) {
        ("RubyFixnum" | "Long", Value::Integer(_)) => true,
        ("RubyBignum", Value::BigInteger(_)) => true,
        ("RubyFloat" | "Double", Value::Float(_)) => true,
        ("RubyBigDecimal", Value::Decimal(_)) => true,
        ("RubyTimestamp" | "Timestamp", Value::Timestamp(_)) => true,
        ("RubyString", Value::String(_)) => true,
        ("True" | "False" | "Boolean", Value::Bool(_)) => true,
        ("RubyNil", Value::Null) => true,
        ("empty map", Value::Map(map)) => map.is_empty(),
        ("empty array", Value::Array(list)) => list.is_empty(),
        _ => false,
    };
    assert!(right, "{field} should be {kind} and is {value:?}");
}

#[test]
fn every_queue_is_read_back_as_logstash_reads_it() {
    for name in FOLDERS {
        check(name, &read_all(&folder(name)), &expected(&folder(name).join("expected.jsonl")));
    }
}

#[test]
fn a_negative_zero_keeps_its_sign() {
    let letters = read_all(&folder("types"));
    let value = letters.iter().find_map(|l| l.event.fields().get("fneg0")).unwrap();
    assert!(matches!(value, Value::Float(f) if *f == 0.0 && f.is_sign_negative()), "{value:?}");
}

#[test]
fn the_segment_of_a_killed_writer_is_recovered_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let queue = dir.path().join("main");
    fs::create_dir(&queue).unwrap();
    fs::copy(folder("unsealed").join("1.log.tmp"), queue.join("1.log.tmp")).unwrap();
    Writer::open(Settings::new(&queue)).unwrap().close().unwrap();
    check("unsealed", &read_all(&queue), &expected(&folder("unsealed").join("recovered.jsonl")));
    assert_eq!(fs::read(queue.join("1.log")).unwrap(), fs::read(folder("unsealed").join("1.log.tmp")).unwrap());
}

fn segment_files(name: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|e| e == "log")).collect()
}

#[test]
fn the_same_payloads_give_the_same_bytes() {
    for path in FOLDERS.iter().flat_map(|name| segment_files(name)) {
        let bytes = fs::read(&path).unwrap();
        let payloads: Vec<_> = entries(&bytes).into_iter().map(|(entry, _)| entry).collect();
        assert!(segment(&payloads) == bytes, "{}", path.display());
    }
}

#[test]
fn no_event_takes_more_bytes_than_logstash_needs() {
    use spillway::dead_letter::entry::RawEntry;
    use spillway::event::cbor;
    let mut encoder = cbor::Encoder::default();
    for path in FOLDERS.iter().flat_map(|name| segment_files(name)) {
        for (payload, _) in entries(&fs::read(&path).unwrap()) {
            let raw = RawEntry::parse(&payload).unwrap();
            let (fields, metadata) = cbor::decode(raw.cbor).unwrap();
            let mut ours = Vec::new();
            encoder.encode(&fields, &metadata, &mut ours).unwrap();
            assert!(ours.len() <= raw.cbor.len(), "{}: {} > {}", path.display(), ours.len(), raw.cbor.len());
            assert!(same_maps(&through_json(&fields), &through_json(&cbor::decode(&ours).unwrap().0)));
        }
    }
}
