//! Cases of filters: given events, a configuration, expected events, as `spillway test` runs them.

use std::path::Path;

use base64::Engine;
use spillway::event::{Map, Value};
use spillway::testing::{Entry, Failure, Finding, Runner, Verdict};

/// Keys of cases whose inputs, outputs or servers are part of what is given; other runners know them.
const OTHERS: &[&str] = &[
    "server",
    "send",
    "http",
    "stdin",
    "setup_sqlite",
    "stdout",
    "receive_udp",
    "receive_tcp",
    "replies",
    "requests",
    "expect_files",
    "expect_files_json",
    "expect_files_match",
    "expect_gunzip",
    "expect_fields",
    "expect_count",
    "expect_present",
    "expect_absent",
    "metadata_subset",
    "stop_after_events",
    "listen_after_s",
    "within_s",
];

/// Runs the case. `files` are made in a folder that `${DIR}` stands for.
pub fn judge(entry: &Entry, runner: &mut Runner) -> Verdict {
    let needs = OTHERS.iter().find(|key| entry.keys.contains_key(key));
    if let Some(key) = needs {
        return Verdict::Skipped(format!("`{key}` needs inputs or outputs that run"));
    }
    if matches!(entry.keys.get("expect"), Some(Value::Map(_))) {
        return Verdict::Skipped("expects what a server receives".into());
    }
    match prepared(entry) {
        Ok((entry, _folder)) => runner.run_entry(&entry),
        Err(message) => Verdict::Failed(Failure { findings: vec![Finding::Unusable(message)], ..Failure::default() }),
    }
}

/// The case with the keys that `spillway test` knows, and the folder with its files.
fn prepared(entry: &Entry) -> Result<(Entry, Option<tempfile::TempDir>), String> {
    let mut entry = entry.clone();
    entry.keys.remove("kind");
    let Some(Value::Map(files)) = entry.keys.remove("files") else { return Ok((entry, None)) };
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    for (name, content) in files.iter() {
        write(&folder.path().join(name.as_str()), content)?;
    }
    let dir = folder.path().display().to_string();
    entry.keys = Map::from_iter(entry.keys.into_iter().map(|(key, value)| (key, filled_in(value, &dir))));
    Ok((entry, Some(folder)))
}

fn write(path: &Path, content: &Value) -> Result<(), String> {
    let bytes = match content {
        Value::String(text) => text.as_bytes().to_vec(),
        Value::Map(map) => {
            let text = map.get("base64").and_then(Value::as_str).unwrap_or_default();
            base64::engine::general_purpose::STANDARD.decode(text).map_err(|e| e.to_string())?
        }
        _ => return Err("a file must be a text or {base64: …}".into()),
    };
    let parent = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent).and_then(|()| std::fs::write(path, bytes)).map_err(|e| e.to_string())
}

fn filled_in(value: Value, dir: &str) -> Value {
    match value {
        Value::String(text) if text.contains("${DIR}") => Value::from(text.replace("${DIR}", dir)),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| filled_in(item, dir)).collect()),
        Value::Map(map) => Value::Map(Map::from_iter(map.into_iter().map(|(key, item)| (key, filled_in(item, dir))))),
        other => other,
    }
}
