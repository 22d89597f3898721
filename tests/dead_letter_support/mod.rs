//! What the dead letter queue tests share: case files, values as they are written there, segment files by hand.

#![allow(dead_code, reason = "every test binary uses its own part")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::Value as Json;
use spillway::dead_letter::record::{self, Found, SegmentReader};
use spillway::dead_letter::{DeadLetter, Reader, Start};
use spillway::event::{Map, Text, Timestamp, Value};

/// Where the files of the tests are.
pub fn tests_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// All cases of a case file.
pub fn load_cases(path: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(path).unwrap();
    // Texts like 008 stand there without quotes: no octal number for YAML 1.1, but a number for YAML 1.2.
    let digits = Regex::new(r"([\[ ])(0[0-9]+)([,\]])").unwrap();
    let text = digits.replace_all(&text, "$1'$2'$3");
    let documents = Yaml::load_from_str(&text).unwrap();
    documents[0].as_sequence().unwrap().iter().map(json).collect()
}

fn json(yaml: &Yaml) -> Json {
    match yaml {
        Yaml::Sequence(list) => list.iter().map(json).collect(),
        Yaml::Mapping(map) => {
            Json::Object(map.iter().map(|(k, v)| (k.as_str().unwrap().to_owned(), json(v))).collect())
        }
        Yaml::Value(Scalar::Null) => Json::Null,
        Yaml::Value(Scalar::Boolean(b)) => Json::from(*b),
        Yaml::Value(Scalar::Integer(n)) => Json::from(*n),
        Yaml::Value(Scalar::FloatingPoint(f)) => Json::from(f.into_inner()),
        Yaml::Value(Scalar::String(s)) => Json::from(s.as_ref()),
        other => panic!("not expected in a case file: {other:?}"),
    }
}

/// The bytes of a hexadecimal text.
pub fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Whether a decoded value is the one that a case file describes.
pub fn is_value(expected: &Json, actual: &Value) -> bool {
    if let Some((kind, text)) = typed(expected) {
        return match (kind, actual) {
            ("$timestamp", Value::Timestamp(at)) => at.to_string() == text.as_str().unwrap(),
            ("$now", Value::Timestamp(at)) => Timestamp::now().seconds() - at.seconds() < 60,
            ("$bigint", Value::BigInteger(n)) => n.to_string() == text.as_str().unwrap(),
            ("$bigdecimal", Value::Decimal(d)) => d.to_string() == text.as_str().unwrap(),
            ("$float", Value::Float(f)) => text == "NaN" && f.is_nan(),
            _ => false,
        };
    }
    match (expected, actual) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(a), Value::Bool(b)) => a == b,
        (Json::Number(a), Value::Integer(b)) => a.as_i64() == Some(*b),
        (Json::Number(a), Value::Float(b)) => a.as_f64() == Some(*b) && a.is_f64(),
        (Json::String(a), Value::String(b)) => a == b.as_str(),
        (Json::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_value(a, b)),
        (Json::Object(_), Value::Map(b)) => is_map(expected, b),
        _ => false,
    }
}

fn typed(expected: &Json) -> Option<(&str, &Json)> {
    let (key, value) = expected.as_object().filter(|map| map.len() == 1)?.iter().next()?;
    key.starts_with('$').then_some((key.as_str(), value))
}

/// Whether a decoded map is the one that a case file describes.
pub fn is_map(expected: &Json, actual: &Map) -> bool {
    let expected = expected.as_object().unwrap();
    expected.len() == actual.len()
        && expected.iter().all(|(key, value)| actual.get(key).is_some_and(|actual| is_value(value, actual)))
}

/// A segment file that holds these entries.
pub fn segment(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![record::VERSION];
    for entry in entries {
        let end = out.len() as u64;
        record::frame(entry, end, &mut out);
    }
    out
}

/// All whole entries of a segment file, and where reading stands behind each.
pub fn entries(bytes: &[u8]) -> Vec<(Vec<u8>, u64)> {
    let mut reader = SegmentReader::new(std::io::Cursor::new(bytes), record::FIRST_RECORD).unwrap();
    let mut out = Vec::new();
    loop {
        match reader.next().unwrap() {
            Found::Entry(entry) => {
                let entry = entry.to_vec();
                out.push((entry, reader.position()));
            }
            Found::Damage(_) => {}
            Found::Torn(_) | Found::End => return out,
        }
    }
}

/// Everything that a new reader of a queue delivers now.
pub fn read_all(directory: &Path) -> Vec<DeadLetter> {
    drain(&mut Reader::new(directory, Start::Beginning))
}

/// Everything that a reader delivers now.
pub fn drain(reader: &mut Reader) -> Vec<DeadLetter> {
    std::iter::from_fn(|| reader.next(Duration::ZERO)).collect()
}

/// The reasons of all entries.
pub fn reasons(letters: &[DeadLetter]) -> Vec<&str> {
    letters.iter().map(|letter| letter.reason.as_str()).collect()
}

/// The content of the case `dlq.segment.five`: five entries with the reasons r0 to r4.
pub fn five() -> Vec<u8> {
    let cases = load_cases(&tests_dir().join("cases/dead-letter-queue.yml"));
    let case = cases.iter().find(|case| case["case"] == "dlq.segment.five").unwrap();
    unhex(case["hex"].as_str().unwrap())
}

/// A text as it stands in events.
pub fn text(text: &str) -> Text {
    Text::from(text)
}
