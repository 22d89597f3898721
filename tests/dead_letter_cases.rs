//! The cases of `cases/dead-letter-queue.yml` that are about bytes: segment layout, events, entries, positions.

mod dead_letter_support;

use std::io::Cursor;
use std::path::Path;

use dead_letter_support::{entries, is_map, load_cases, read_all, segment, tests_dir, unhex};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use spillway::dead_letter::entry::{EntryError, RawEntry};
use spillway::dead_letter::record::{self, Found, SegmentReader};
use spillway::dead_letter::{Position, cbor, default_sincedb, parse_retain_age};
use spillway::event::Event;

/// Runs all cases of a kind and names those that fail.
fn run(kind: &str, check: impl Fn(&Json) -> Result<(), String>) {
    let cases = load_cases(&tests_dir().join("cases/dead-letter-queue.yml"));
    let cases: Vec<_> = cases.iter().filter(|case| case["kind"] == kind).collect();
    assert!(!cases.is_empty());
    let failed: Vec<_> =
        cases.iter().filter_map(|case| check(case).err().map(|why| format!("{}: {why}", case["case"]))).collect();
    assert!(failed.is_empty(), "{} of {} failed:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, expected: T, actual: T) -> Result<(), String> {
    if expected == actual { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {actual:?}")) }
}

fn payloads(case: &Json) -> Vec<Vec<u8>> {
    let payload = |p: &Json| match p["hex"].as_str() {
        Some(hex) => unhex(hex),
        None => vec![p["fill"].as_str().unwrap().as_bytes()[0]; p["len"].as_u64().unwrap() as usize],
    };
    case["payloads"].as_array().unwrap().iter().map(payload).collect()
}

/// The records of a segment, written as in the cases.
fn records(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 1;
    while at < bytes.len() {
        let left = record::BLOCK - (at - 1) % record::BLOCK;
        if left < record::HEADER + 1 {
            at += left;
            continue;
        }
        let number = |from: usize| i32::from_be_bytes(bytes[from..from + 4].try_into().unwrap());
        let (kind, size, total) = (bytes[at] as char, number(at + 1), number(at + 5));
        found.push(match kind {
            's' => format!("{kind}@{at} size={size} total={total}"),
            _ => format!("{kind}@{at} size={size}"),
        });
        at += record::HEADER + size as usize;
    }
    found
}

#[test]
fn encode_segment() {
    run("encode-segment", |case| {
        let payloads = payloads(case);
        let bytes = segment(&payloads);
        let expect = &case["expect"];
        equal("length", expect["file_len"].as_u64().unwrap(), bytes.len() as u64)?;
        let wanted: Vec<_> = expect["records"].as_array().unwrap().iter().map(|r| r.as_str().unwrap()).collect();
        equal("records", wanted, records(&bytes).iter().map(String::as_str).collect())?;
        let sha: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
        equal("sha256", expect["sha256"].as_str().unwrap(), &sha)?;
        if let Some(hex) = expect["hex"].as_str() {
            equal("bytes", unhex(hex), bytes.clone())?;
        }
        let read: Vec<_> = entries(&bytes).into_iter().map(|(entry, _)| entry).collect();
        let written: Vec<_> = payloads.into_iter().filter(|p| !p.is_empty()).collect();
        equal("read back", true, read == written)
    });
}

#[test]
fn read_positions() {
    run("read-positions", |case| {
        let bytes = segment(&payloads(case));
        let read: Vec<_> = entries(&bytes).into_iter().map(|(e, offset)| (e.len() as u64, offset)).collect();
        let wanted = case["expect"].as_array().unwrap();
        equal(
            "positions",
            wanted.iter().map(|w| (w["len"].as_u64().unwrap(), w["offset"].as_u64().unwrap())).collect::<Vec<_>>(),
            read.clone(),
        )?;
        // A reader that starts at a position finds the next entry there.
        for (at, (_, offset)) in read.iter().enumerate() {
            let mut reader = SegmentReader::new(Cursor::new(&bytes), *offset).unwrap();
            equal("entry start", true, reader.at_entry_start().unwrap())?;
            let next = match reader.next().unwrap() {
                Found::Entry(entry) => Some(entry.len() as u64),
                _ => None,
            };
            equal("next", read.get(at + 1).map(|(len, _)| *len), next)?;
        }
        Ok(())
    });
}

fn check_event(case: &Json, expected: &Json, decoded: &Event) -> Result<(), String> {
    if !is_map(expected, decoded.fields()) {
        return Err(format!("expected {expected}, got {:?}", decoded.fields()));
    }
    match case.get("metadata").or_else(|| case["expect"].get("metadata")) {
        Some(metadata) if !is_map(metadata, decoded.metadata()) => {
            Err(format!("expected metadata {metadata}, got {:?}", decoded.metadata()))
        }
        _ => Ok(()),
    }
}

#[test]
fn decode_event() {
    run("decode-event", |case| {
        let bytes = unhex(case["hex"].as_str().unwrap());
        match (case.get("error"), cbor::decode(&bytes)) {
            (None, Ok((fields, metadata))) => check_event(case, &case["expect"], &Event::restore(fields, metadata)),
            (None, Err(error)) => Err(error.to_string()),
            (Some(_), Ok(event)) => Err(format!("not refused: {event:?}")),
            (Some(_), Err(_)) => Ok(()),
        }
    });
}

#[test]
fn decode_entry() {
    run("decode-entry", |case| {
        let bytes = unhex(case["hex"].as_str().unwrap());
        let read = |bytes| -> Result<(RawEntry<'_>, Event), EntryError> {
            let raw = RawEntry::parse(bytes)?;
            Ok((raw, raw.event()?))
        };
        let (raw, event) = match (case.get("error"), read(&bytes)) {
            (Some(_), Ok(_)) => return Err("not refused".into()),
            (Some(_), Err(_)) => return Ok(()),
            (None, read) => read.map_err(|error| error.to_string())?,
        };
        let expect = &case["expect"];
        equal("entry_time", expect["entry_time"].as_str().unwrap(), &raw.entry_time.to_string())?;
        equal("plugin_type", expect["plugin_type"].as_str().unwrap(), raw.plugin_type)?;
        equal("plugin_id", expect["plugin_id"].as_str().unwrap(), raw.plugin_id)?;
        equal("reason", expect["reason"].as_str().unwrap(), raw.reason)?;
        check_event(case, &expect["event"], &event)
    });
}

#[test]
fn read_segment() {
    run("read-segment", |case| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("1.log"), unhex(case["hex"].as_str().unwrap())).unwrap();
        let letters = read_all(dir.path());
        let expect = &case["expect"];
        let texts = |key: &str| -> Vec<String> {
            expect[key].as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned()).collect()
        };
        equal("reasons", texts("reasons"), letters.iter().map(|l| l.reason.to_string()).collect())?;
        equal("entry_times", texts("entry_times"), letters.iter().map(|l| l.entry_time.to_string()).collect())?;
        match expect["offsets"].as_array() {
            Some(offsets) => equal(
                "offsets",
                offsets.iter().map(|o| o.as_u64().unwrap()).collect::<Vec<_>>(),
                letters.iter().map(|l| l.position.offset).collect(),
            ),
            None => Ok(()),
        }
    });
}

#[test]
fn compute() {
    run("compute", |case| match case["case"].as_str().unwrap() {
        "dlq.sincedb.name" => {
            let path = default_sincedb(Path::new("/var/lib/spillway"), "main", "/srv/dlq");
            equal("name", case["expect"].as_str().unwrap(), path.to_str().unwrap())
        }
        "dlq.sincedb.bytes" => {
            let bytes = Position { segment: 1, offset: 1316 }.encode(Path::new("/srv/dlq/main")).unwrap();
            equal("bytes", unhex(case["expect_hex"].as_str().unwrap()), bytes)
        }
        other => Err(format!("no check for {other}")),
    });
}

#[test]
fn ages() {
    run("settings", |case| {
        let Some(age) = case["settings"]["dead_letter_queue.retain.age"].as_str() else { return Ok(()) };
        match (case.get("error"), parse_retain_age(age)) {
            (None, Ok(_)) => Ok(()),
            (Some(wanted), Err(error)) if error.to_string().contains(wanted.as_str().unwrap()) => Ok(()),
            (_, got) => Err(format!("got {got:?}")),
        }
    });
}
