//! Cases that talk over the network: inputs that are sent to, and outputs that are listened to.

mod receivers;
mod senders;

use std::path::Path;

use spillway::event::{Event, Map, Text, Value};
use spillway::testing::{Entry, Finding};

use crate::ports::free_port;
use crate::program;
use crate::scenario::Stopped;
use crate::scenario::program::{Background, Said, command, run_command, until};
use receivers::Receivers;

/// Keys of such cases.
pub const KEYS: &[&str] = &[
    "send",
    "http",
    "expect_present",
    "metadata",
    "metadata_subset",
    "settings",
    "receive_udp",
    "receive_tcp",
    "listen_after_s",
    "replies",
    "requests",
    "request_counts",
    "within_s",
];

/// Where the metadata of delivered events goes.
const METADATA: &str = "metadata.jsonl";

/// Whether the case talks over the network.
pub fn is_for(entry: &Entry) -> bool {
    KEYS.iter().filter(|key| **key != "metadata" && **key != "settings").any(|key| entry.keys.contains_key(key))
}

/// The case with a free port in the place of `${PORT}`.
pub fn with_port(entry: &Entry) -> (Entry, u16) {
    let port = free_port();
    let keys = entry.keys.iter().map(|(key, value)| (key.clone(), filled_in(value, port)));
    let keys = Map::from_iter(keys.collect::<Vec<_>>());
    (Entry { keys, ..entry.clone() }, port)
}

fn filled_in(value: &Value, port: u16) -> Value {
    match value {
        Value::String(text) if text == "${PORT:int}" => Value::Integer(port.into()),
        Value::String(text) => Value::from(text.replace("${PORT}", &port.to_string())),
        Value::Array(items) => Value::Array(items.iter().map(|item| filled_in(item, port)).collect()),
        Value::Map(map) => {
            let pairs = map.iter().map(|(key, item)| (Text::from(key.as_str()), filled_in(item, port)));
            Value::Map(Map::from_iter(pairs.collect::<Vec<_>>()))
        }
        other => other.clone(),
    }
}

/// Runs a case of an output: what the receivers got is held against what is expected.
pub fn run_output(
    entry: &Entry,
    port: u16,
    words: &[String],
    folder: &Path,
    stdin: &str,
) -> Result<(Said, Vec<Finding>), Stopped> {
    let receivers = Receivers::start(entry, port)?;
    let said = run_command(command(words, folder)?, stdin)?;
    let findings = receivers.judge(entry).map_err(Stopped::Failed)?;
    Ok((said, findings))
}

/// Runs a case of an input: sends, waits for as many events as are expected, and stops the program.
pub fn run_input(entry: &Entry, port: u16, words: &[String], folder: &Path) -> Result<(Said, Vec<Finding>), Stopped> {
    let mut program = Background::start(command(words, folder)?)?;
    let running = until(|| program.err.text().contains("Pipelines running").then_some(()));
    let failed = |program: &Background, what: &str| Stopped::Failed(format!("{what}\n{}", program.err.text()));
    running.ok_or_else(|| failed(&program, "the program did not start"))?;
    let findings = senders::send(entry, port)?;
    let delivered = || std::fs::read_to_string(folder.join(program::DELIVERED)).unwrap_or_default().lines().count();
    let expected = expected_count(entry);
    let came = until(|| (delivered() >= expected).then_some(()));
    let status = program.terminate();
    if came.is_none() {
        return Err(failed(&program, &format!("{} events came, not {expected}", delivered())));
    }
    let said = Said { status, out: program.out.text(), err: program.err.text(), took: std::time::Duration::ZERO };
    Ok((said, findings))
}

fn expected_count(entry: &Entry) -> usize {
    let listed = entry.keys.get("expect").and_then(Value::as_array).map_or(0, <[Value]>::len);
    let counted = entry.keys.get("expect_count").and_then(Value::as_integer).unwrap_or(0);
    listed.max(usize::try_from(counted).unwrap_or(0))
}

/// A second output beside the one for events, for cases that look at metadata.
pub fn metadata_output(entry: &Entry, folder: &Path) -> String {
    if expected_metadata(entry).is_none() {
        return String::new();
    }
    let path = folder.join(METADATA);
    format!(
        "output {{ file {{ path => \"{}\" codec => line {{ format => \"%{{[@metadata]}}\" }} flush_interval => 0 }} }}",
        path.display()
    )
}

/// The metadata that each event must have at least.
fn expected_metadata(entry: &Entry) -> Option<&[Value]> {
    ["metadata", "metadata_subset"].iter().find_map(|key| entry.keys.get(key)).and_then(Value::as_array)
}

/// What else the case says of its events.
pub fn judge(entry: &Entry, events: &[Event], folder: &Path) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for name in entry.keys.get("expect_present").and_then(Value::as_array).unwrap_or_default() {
        let name = name.as_str().unwrap_or_default();
        for (at, _) in events.iter().enumerate().filter(|(_, event)| !event.fields().contains_key(name)) {
            findings.push(Finding::Message(format!("event {at} has no `{name}`")));
        }
    }
    if let Some(expected) = expected_metadata(entry) {
        let text = std::fs::read_to_string(folder.join(METADATA)).unwrap_or_default();
        let got = program::documents(&text)?;
        if got.len() != expected.len() {
            findings.push(Finding::Message(format!("metadata of {} events, not {}", got.len(), expected.len())));
        }
        for (expected, got) in expected.iter().zip(&got) {
            findings.extend(program::compared_part(expected, got)?);
        }
    }
    Ok(findings)
}
