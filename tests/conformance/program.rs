//! Cases of inputs and outputs: the program runs, and what it delivers is held against what is expected.

use std::io::Read;
use std::path::Path;

use spillway::event::json::{self, Numbers, Reader};
use spillway::event::{Event, Map, Text, Timestamp, Value};
use spillway::testing::compare::{self, Arrivals, Leniency};
use spillway::testing::expected::Expected;
use spillway::testing::{Entry, Expectation, Failure, Finding, Verdict, What, judge_events};

use crate::network;
use crate::pipeline::Folder;
use crate::scenario::Stopped;
use crate::scenario::program::{self, Said};
use crate::steps::Play;

/// Keys that this runner knows.
const KEYS: &[&str] = &[
    "case",
    "why",
    "from",
    "note",
    "config",
    "stdin",
    "events",
    "expect",
    "expect_fields",
    "expect_count",
    "unordered",
    "expect_absent",
    "expect_files",
    "expect_files_match",
    "expect_files_json",
    "expect_gunzip",
    "stdout",
    "log",
    "error",
    "steps",
];

/// Where events go that an input brings.
pub const DELIVERED: &str = "delivered.jsonl";

/// Whether inputs or outputs are what the case is about.
pub fn is_for(entry: &Entry) -> bool {
    let section = |word: &str| {
        let config = entry.keys.get("config").and_then(Value::as_str).unwrap_or_default();
        config.trim_start().strip_prefix(word).is_some_and(|rest| rest.trim_start().starts_with('{'))
    };
    let refused_only = entry.keys.contains_key("error") && entry.keys.contains_key("events");
    (section("input") || section("output")) && !refused_only
}

/// Runs the case.
pub fn judge(entry: &Entry) -> Verdict {
    let is_known = |key: &str| KEYS.contains(&key) || network::KEYS.contains(&key) || key == "files";
    if let Some(key) = entry.keys.keys().find(|key| !is_known(key)) {
        return Verdict::Skipped(format!("`{key}` is not known to this runner"));
    }
    match run(entry) {
        Ok(findings) if findings.is_empty() => Verdict::Passed,
        Ok(findings) => failed(findings),
        Err(Stopped::Failed(message)) => failed(vec![Finding::Message(message)]),
        Err(Stopped::Unknown(reason)) => Verdict::Skipped(reason),
    }
}

fn failed(findings: Vec<Finding>) -> Verdict {
    Verdict::Failed(Failure { findings, ..Failure::default() })
}

fn run(entry: &Entry) -> Result<Vec<Finding>, Stopped> {
    let (entry, port) = network::with_port(entry);
    let Folder { entry, folder } = Folder::new(&entry).map_err(Stopped::Failed)?;
    let begun = Timestamp::now();
    let (config, stdin) = given(&entry, folder.path())?;
    let settings = folder.path().join("settings");
    let data = folder.path().join("data");
    write_settings(&entry, &settings).map_err(|e| Stopped::Failed(e.to_string()))?;
    let mut words = vec!["spillway".to_owned(), "-e".to_owned(), config];
    for (flag, value) in [
        ("--path.settings", settings.display().to_string()),
        ("--path.data", data.display().to_string()),
        ("--api.enabled", "false".to_owned()),
        // One worker, and a batch that is large enough for all: order is part of what is expected.
        ("-w", "1".to_owned()),
    ] {
        words.extend([flag.to_owned(), value]);
    }
    let mut findings = Vec::new();
    let said = match entry.keys.get("steps").and_then(Value::as_array) {
        Some(steps) => Play::new(&words, folder.path(), folder.path().join(DELIVERED)).run(steps)?,
        None if network::is_for(&entry) => {
            let (said, answers) = match entry.keys.contains_key("events") {
                true => network::run_output(&entry, port, &words, folder.path(), &stdin)?,
                false => network::run_input(&entry, port, &words, folder.path())?,
            };
            findings.extend(answers);
            said
        }
        None => program::run_command(program::command(&words, folder.path())?, &stdin)?,
    };
    if let Some(error) = entry.keys.get("error").and_then(Value::as_str) {
        return Ok(judge_refusal(error, &said));
    }
    if said.status != Some(0) {
        return Err(Stopped::Failed(said.shown()));
    }
    findings.extend(judge_delivered(&entry, folder.path(), begun).map_err(Stopped::Failed)?);
    findings.extend(judge_output(&entry, folder.path(), &said).map_err(Stopped::Failed)?);
    Ok(findings)
}

/// The settings file of a case that has one.
fn write_settings(entry: &Entry, folder: &Path) -> std::io::Result<()> {
    let Some(settings) = entry.keys.get("settings").and_then(Value::as_map) else { return Ok(()) };
    let mut text = Vec::new();
    // JSON is YAML.
    json::write_map(settings, &mut text);
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("logstash.yml"), text)
}

/// The whole configuration, and what it reads.
fn given(entry: &Entry, folder: &Path) -> Result<(String, String), Stopped> {
    let config = entry.keys.get("config").and_then(Value::as_str).unwrap_or_default();
    let Some(events) = entry.keys.get("events") else {
        let path = folder.join(DELIVERED);
        let output =
            format!("output {{ file {{ path => \"{}\" codec => json_lines flush_interval => 0 }} }}", path.display());
        let stdin = entry.keys.get("stdin").and_then(Value::as_str).unwrap_or_default();
        let metadata = network::metadata_output(entry, folder);
        return Ok((format!("{config}\n{output}\n{metadata}\n"), stdin.to_owned()));
    };
    let events: Vec<&Map> = events.as_array().unwrap_or_default().iter().filter_map(Value::as_map).collect();
    let mut lines = Vec::new();
    for event in &events {
        json::write_map(event, &mut lines);
        lines.push(b'\n');
    }
    // The input names the host on events that have none; the case's events come from nowhere.
    let named = events.iter().filter(|event| event.contains_key("host")).count();
    let filter = match named {
        0 => "filter { mutate { remove_field => [\"host\"] } }",
        n if n == events.len() => "",
        _ => return Err(Stopped::Unknown("only some of the events have a host".into())),
    };
    let config = format!("input {{ stdin {{ codec => json_lines }} }}\n{filter}\n{config}\n");
    Ok((config, String::from_utf8_lossy(&lines).into_owned()))
}

fn judge_refusal(error: &str, said: &Said) -> Vec<Finding> {
    let log = said.err.to_lowercase();
    match (said.status, log.contains(&error.to_lowercase())) {
        (Some(0), _) => vec![Finding::Started(vec![error.to_owned()])],
        (_, true) => Vec::new(),
        (_, false) => vec![Finding::OtherRefusal { lacks: vec![error.to_owned()], refusal: said.err.clone() }],
    }
}

/// The events that the input of the case brought.
fn judge_delivered(entry: &Entry, folder: &Path, begun: Timestamp) -> Result<Vec<Finding>, String> {
    if entry.keys.contains_key("events") {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(folder.join(DELIVERED)).unwrap_or_default();
    let events: Vec<Event> = documents(&text)?
        .into_iter()
        .filter_map(|value| match value {
            Value::Map(fields) => Some(Event::from_map(fields)),
            _ => None,
        })
        .collect();
    let arrivals = Arrivals { given: Vec::new(), run: Some((begun, Timestamp::now())) };
    let unordered = entry.keys.get("unordered") == Some(&Value::Bool(true));
    let mut compared = only_compared(entry, events.clone());
    // The time of an event counts only where it is written.
    let items = entry.keys.get("expect").and_then(Value::as_array).unwrap_or_default();
    if !items.iter().any(|item| item.as_map().is_some_and(|item| item.contains_key("@timestamp"))) {
        compared.iter_mut().for_each(|event| drop(event.fields_mut().remove("@timestamp")));
    }
    let mut findings = Vec::new();
    for (key, subset) in [("expect", false), ("expect_fields", true)] {
        let Some(items) = entry.keys.get(key).and_then(Value::as_array) else { continue };
        if items.iter().any(|item| item.as_str().is_some()) {
            continue;
        }
        let expected = items.iter().map(Expected::read).collect::<Result<Vec<_>, _>>()?;
        let expectation = Expectation { events: Some(&expected), metadata: None, unordered };
        let leniency = Leniency { subset, arrivals: arrivals.clone(), ..Leniency::default() };
        findings.extend(judge_events(expectation, &compared, &leniency));
    }
    for name in
        entry.keys.get("expect_absent").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        // The name of a file, or of a field.
        if folder.join(name).exists() || events.iter().any(|event| event.fields().contains_key(name)) {
            findings.push(Finding::Message(format!("`{name}` must not be there")));
        }
    }
    findings.extend(network::judge(entry, &events, folder)?);
    if let Some(Value::Integer(count)) = entry.keys.get("expect_count")
        && *count != events.len() as i64
    {
        findings.push(Finding::Message(format!("expected {count} events, got {}", events.len())));
    }
    Ok(findings)
}

/// The events with the fields that are compared: all, or those that the case names.
fn only_compared(entry: &Entry, mut events: Vec<Event>) -> Vec<Event> {
    let names = entry.keys.get("expect_fields").and_then(Value::as_array).unwrap_or_default();
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    if !names.is_empty() {
        for event in &mut events {
            let fields = event.fields_mut();
            let others: Vec<Text> = fields.keys().filter(|name| !names.contains(&name.as_str())).cloned().collect();
            others.iter().for_each(|name| drop(fields.remove(name)));
        }
    }
    events
}

/// What the output of the case wrote, and what the log says.
fn judge_output(entry: &Entry, folder: &Path, said: &Said) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    if let Some(Value::String(stdout)) = entry.keys.get("stdout") {
        let config = entry.keys.get("config").and_then(Value::as_str).unwrap_or_default();
        let is_rubydebug = config.contains("rubydebug") || !config.contains("codec");
        let shape = |text: &str| if is_rubydebug { lines_in_any_order(text) } else { Value::from(text) };
        findings.extend(compared(&shape(stdout), &shape(&said.out))?);
    }
    for (key, read) in [
        ("expect_files", plain as fn(&[u8]) -> Result<Value, String>),
        ("expect_files_json", lines_of_json),
        ("expect_gunzip", gunzipped),
    ] {
        for (name, expected) in entry.keys.get(key).and_then(Value::as_map).into_iter().flat_map(Map::iter) {
            match std::fs::read(folder.join(name.as_str())) {
                Ok(bytes) => findings.extend(compared(expected, &read(&bytes)?)?),
                Err(error) => findings.push(Finding::Message(format!("{name}: {error}"))),
            }
        }
    }
    findings.extend(judge_patterns(entry, folder)?);
    let items: Vec<&Value> = match entry.keys.get("log") {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    };
    let missing = items.into_iter().filter(|item| !is_said(item, &said.err.to_lowercase()));
    findings.extend(missing.map(|item| Finding::Message(format!("the log lacks {item:?}\n{}", said.shown()))));
    Ok(findings)
}

/// Files whose content is described by a regular expression.
fn judge_patterns(entry: &Entry, folder: &Path) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for (name, pattern) in entry.keys.get("expect_files_match").and_then(Value::as_map).into_iter().flat_map(Map::iter)
    {
        let pattern = regex::Regex::new(pattern.as_str().unwrap_or_default()).map_err(|e| e.to_string())?;
        let text = std::fs::read_to_string(folder.join(name.as_str())).map_err(|e| format!("{name}: {e}"))?;
        if !pattern.is_match(&text) {
            findings.push(Finding::Message(format!("{name} does not match {pattern}:\n{text}")));
        }
    }
    Ok(findings)
}

/// Whether a log, in lower case, has a word, or a line of that `level` that `has` all these words.
fn is_said(item: &Value, log: &str) -> bool {
    let is_in = |text: &str, word: &Value| text.contains(&word.as_str().unwrap_or_default().to_lowercase());
    let Some(wanted) = item.as_map() else { return is_in(log, item) };
    let level = wanted.get("level").and_then(Value::as_str).map(|level| format!("[{}", level.to_lowercase()));
    let words = wanted.get("has").and_then(Value::as_array).unwrap_or_default();
    log.lines()
        .any(|line| level.as_ref().is_none_or(|level| line.contains(level)) && words.iter().all(|w| is_in(line, w)))
}

/// The differences of two values.
pub fn compared(expected: &Value, got: &Value) -> Result<Vec<Finding>, String> {
    compared_with(expected, got, &Leniency::default())
}

/// The differences of two values, of which the second may have more fields.
pub fn compared_part(expected: &Value, got: &Value) -> Result<Vec<Finding>, String> {
    compared_with(expected, got, &Leniency { subset: true, ..Leniency::default() })
}

fn compared_with(expected: &Value, got: &Value, leniency: &Leniency) -> Result<Vec<Finding>, String> {
    let differences = compare::value(&Expected::read(expected)?, got, leniency);
    let differs = Finding::Differs { what: What::Event, at: 0, of: 1, differences };
    Ok(match &differs {
        Finding::Differs { differences, .. } if differences.is_empty() => Vec::new(),
        _ => vec![differs],
    })
}

fn plain(bytes: &[u8]) -> Result<Value, String> {
    Ok(Value::from(String::from_utf8_lossy(bytes).into_owned()))
}

fn lines_of_json(bytes: &[u8]) -> Result<Value, String> {
    documents(&String::from_utf8_lossy(bytes)).map(Value::Array)
}

fn gunzipped(bytes: &[u8]) -> Result<Value, String> {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_string(&mut text).map_err(|e| e.to_string())?;
    Ok(Value::from(text))
}

/// All JSON documents of a text.
pub fn documents(text: &str) -> Result<Vec<Value>, String> {
    let text = Text::from(text);
    let mut reader = Reader::new(&text, Numbers::Double);
    let mut found = Vec::new();
    while let Some(value) = reader.next_value().map_err(|e| e.to_string())? {
        found.push(value);
    }
    Ok(found)
}

/// The order of keys is free, so a comma may stand at the end of another line.
pub fn lines_in_any_order(text: &str) -> Value {
    let mut lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches(',')).collect();
    lines.sort_unstable();
    Value::from(lines)
}
