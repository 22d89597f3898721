//! Cases about the bytes of the dead letter queue: what is given, is turned into the shape of what is expected.

use std::io::Cursor;
use std::path::Path;
use std::time::Duration;

use regex::Regex;
use sha2::{Digest, Sha256};
use spillway::dead_letter::entry::RawEntry;
use spillway::dead_letter::record::{self, Found, SegmentReader};
use spillway::dead_letter::{Position, Reader, Start, default_sincedb};
use spillway::event::{Event, Map, Timestamp, Value, cbor};
use spillway::testing::compare::{self, Arrivals, Leniency};
use spillway::testing::expected::Expected;
use spillway::testing::{Entry, Finding, What};

/// What a case gives, or why it cannot be read.
type Given<T> = Result<T, String>;

/// The bytes of a segment with the given payloads as entries.
pub fn encode_segment(entry: &Entry) -> Vec<Finding> {
    judge(entry, || {
        let bytes = segment(&payloads(entry)?);
        let sha: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
        Ok(Value::Map(Map::from_iter([
            ("file_len", Value::Integer(bytes.len() as i64)),
            ("records", Value::from(records(&bytes))),
            ("sha256", Value::from(sha)),
            ("hex", Value::from(hex(&bytes))),
        ])))
    })
}

/// The offset that a reader reports behind each payload, each of which is a place to read on from.
pub fn read_positions(entry: &Entry) -> Vec<Finding> {
    judge(entry, || {
        let bytes = segment(&payloads(entry)?);
        let mut reader = SegmentReader::new(Cursor::new(&bytes), record::FIRST_RECORD).map_err(|e| e.to_string())?;
        let mut found = Vec::new();
        while let Found::Entry(entry) = reader.next().map_err(|e| e.to_string())? {
            let len = Value::Integer(entry.len() as i64);
            let offset = Value::Integer(reader.position() as i64);
            found.push(Value::Map(Map::from_iter([("len", len), ("offset", offset)])));
            reads_on(&bytes, reader.position(), found.len())?;
        }
        Ok(Value::Array(found))
    })
}

/// Whether a reader that starts at this offset finds all entries but the first few.
fn reads_on(bytes: &[u8], offset: u64, behind: usize) -> Given<()> {
    let count = |offset| -> std::io::Result<usize> {
        let mut reader = SegmentReader::new(Cursor::new(bytes), offset)?;
        let mut count = 0;
        while let Found::Entry(_) = reader.next()? {
            count += 1;
        }
        Ok(count)
    };
    let (all, rest) = (count(record::FIRST_RECORD), count(offset));
    match (all, rest) {
        (Ok(all), Ok(rest)) if all == behind + rest => Ok(()),
        (all, rest) => Err(format!("{rest:?} of {all:?} entries are found from offset {offset} on")),
    }
}

/// What a reader delivers of a queue with this one segment.
pub fn read_segment(entry: &Entry) -> Vec<Finding> {
    judge(entry, || {
        let queue = tempfile::tempdir().map_err(|e| e.to_string())?;
        std::fs::write(queue.path().join("1.log"), unhex(entry)?).map_err(|e| e.to_string())?;
        let mut reader = Reader::new(queue.path(), Start::Beginning);
        let letters: Vec<_> = std::iter::from_fn(|| reader.next(Duration::ZERO)).collect();
        let list = |value: &dyn Fn(&spillway::dead_letter::DeadLetter) -> Value| {
            Value::Array(letters.iter().map(value).collect())
        };
        Ok(Value::Map(Map::from_iter([
            ("reasons", list(&|letter| Value::String(letter.reason.clone()))),
            ("entry_times", list(&|letter| Value::Timestamp(letter.entry_time))),
            ("offsets", list(&|letter| Value::Integer(letter.position.offset as i64))),
        ])))
    })
}

/// An event decoded from CBOR.
pub fn decode_event(entry: &Entry) -> Vec<Finding> {
    let decoded = || {
        let (fields, metadata) = cbor::decode(&unhex(entry)?).map_err(|e| e.to_string())?;
        Ok(Event::restore(fields, metadata))
    };
    if entry.keys.contains_key("error") {
        return refused(decoded());
    }
    let begun = Timestamp::now();
    let event: Event = match decoded() {
        Ok(event) => event,
        Err(error) => return unusable(error),
    };
    let mut findings = compared(entry.keys.get("expect"), &Value::Map(event.fields().clone()), &whole(begun));
    if let Some(metadata) = entry.keys.get("metadata") {
        findings.extend(compared(Some(metadata), &Value::Map(event.metadata().clone()), &whole(begun)));
    }
    findings
}

/// An entry with its five parts.
pub fn decode_entry(entry: &Entry) -> Vec<Finding> {
    let decoded = || {
        let bytes = unhex(entry)?;
        let raw = RawEntry::parse(&bytes).map_err(|e| e.to_string())?;
        let event = raw.event().map_err(|e| e.to_string())?;
        Ok(Map::from_iter([
            ("entry_time", Value::Timestamp(raw.entry_time)),
            ("plugin_type", Value::from(raw.plugin_type)),
            ("plugin_id", Value::from(raw.plugin_id)),
            ("reason", Value::from(raw.reason)),
            ("event", Value::Map(event.fields().clone())),
            ("metadata", Value::Map(event.metadata().clone())),
        ]))
    };
    if entry.keys.contains_key("error") {
        return refused(decoded());
    }
    let begun = Timestamp::now();
    match decoded() {
        Ok(parts) => compared(entry.keys.get("expect"), &Value::Map(parts), &whole(begun)),
        Err(error) => unusable(error),
    }
}

/// Names and contents of position files. The error is a case of another kind.
pub fn compute(entry: &Entry) -> Result<Vec<Finding>, String> {
    let given = entry.keys.get("given").and_then(Value::as_str).unwrap_or_default();
    let parts = |pattern: &str| -> Option<Vec<String>> {
        let found = Regex::new(pattern).ok()?.captures(given)?;
        Some(found.iter().skip(1).flatten().map(|part| part.as_str().to_owned()).collect())
    };
    let name = parts(r#"^path => "([^"]*)", pipeline_id => "([^"]*)", path\.data (\S+)$"#);
    if let Some([path, pipeline, data]) = name.as_deref() {
        let file = default_sincedb(Path::new(data), pipeline, path).display().to_string();
        return Ok(compared(entry.keys.get("expect"), &Value::from(file), &Leniency::default()));
    }
    let place = parts(r"^segment (.*)/([0-9]+)\.log, offset ([0-9]+)$");
    if let Some([directory, segment, offset]) = place.as_deref()
        && let (Ok(segment), Ok(offset)) = (segment.parse(), offset.parse())
    {
        let bytes = Position { segment, offset }.encode(Path::new(directory)).map_err(|e| e.to_string())?;
        return Ok(compared(entry.keys.get("expect_hex"), &Value::from(hex(&bytes)), &Leniency::default()));
    }
    Err("nothing known to compute".into())
}

/// Holds what was made against `expect`; parts that are not expected do not count.
fn judge(entry: &Entry, made: impl FnOnce() -> Given<Value>) -> Vec<Finding> {
    let subset = Leniency { subset: true, ..Leniency::default() };
    match made() {
        Ok(value) => compared(entry.keys.get("expect"), &value, &subset),
        Err(error) => unusable(error),
    }
}

/// Every field counts, and `$now` is any instant since `begun`.
fn whole(begun: Timestamp) -> Leniency {
    let arrivals = Arrivals { given: Vec::new(), run: Some((begun, Timestamp::now())) };
    Leniency { arrivals, ..Leniency::default() }
}

fn compared(expected: Option<&Value>, got: &Value, leniency: &Leniency) -> Vec<Finding> {
    let expected = match expected.map(Expected::read) {
        None => return unusable("nothing is expected".into()),
        Some(Err(error)) => return unusable(error),
        Some(Ok(expected)) => expected,
    };
    let differences = compare::value(&expected, got, leniency);
    if differences.is_empty() {
        return Vec::new();
    }
    vec![Finding::Differs { what: What::Event, at: 0, of: 1, differences }]
}

fn refused<T: std::fmt::Debug>(decoded: Given<T>) -> Vec<Finding> {
    match decoded {
        Err(_) => Vec::new(),
        Ok(value) => unusable(format!("was not refused, but read as {value:?}")),
    }
}

fn unusable(message: String) -> Vec<Finding> {
    vec![Finding::Message(message)]
}

fn payloads(entry: &Entry) -> Given<Vec<Vec<u8>>> {
    let payload = |payload: &Value| {
        let payload = payload.as_map()?;
        match (payload.get("hex"), payload.get("fill"), payload.get("len")) {
            (Some(hex), _, _) => bytes(hex),
            (None, Some(Value::String(fill)), Some(Value::Integer(len))) => {
                Some(fill.as_bytes().first().map(|byte| vec![*byte; *len as usize])?)
            }
            _ => None,
        }
    };
    let payloads = entry.keys.get("payloads").and_then(Value::as_array).unwrap_or_default();
    payloads
        .iter()
        .map(payload)
        .collect::<Option<_>>()
        .ok_or_else(|| "a payload needs `hex`, or `fill` and `len`".into())
}

fn segment(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![record::VERSION];
    for payload in payloads {
        record::frame(payload, out.len() as u64, &mut out);
    }
    out
}

/// The records of a segment as the cases write them: `s@1 size=32755 total=40000`.
fn records(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 1;
    while at < bytes.len() {
        let left = record::BLOCK - (at - 1) % record::BLOCK;
        if left < record::HEADER + 1 {
            at += left;
            continue;
        }
        let number = |from: usize| i32::from_be_bytes([bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]]);
        let (kind, size, total) = (char::from(bytes[at]), number(at + 1), number(at + 5));
        let total = if kind == 's' { format!(" total={total}") } else { String::new() };
        found.push(format!("{kind}@{at} size={size}{total}"));
        at += record::HEADER + size as usize;
    }
    found
}

fn unhex(entry: &Entry) -> Given<Vec<u8>> {
    entry.keys.get("hex").and_then(bytes).ok_or_else(|| "`hex` must be pairs of hexadecimal digits".into())
}

/// A hexadecimal text; one of digits only may stand without quotes, and is a number then.
fn bytes(hex: &Value) -> Option<Vec<u8>> {
    let text = match hex {
        Value::String(text) => text.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::BigInteger(number) => number.to_string(),
        _ => return None,
    };
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|p| p.len() == 2)?, 16).ok()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
