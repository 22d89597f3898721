//! Which cases were asked for.

use std::path::Path;
use std::sync::Arc;

use super::super::say;
use super::request::Request;
use crate::event::{Map, Value};
use crate::testing::{Entry, file};

/// All cases that were asked for, in the order of their files.
pub(super) fn read(request: &Request) -> Result<Vec<Entry>, String> {
    let mut entries = match (&request.events, &request.expect) {
        (Some(events), Some(expect)) => vec![pair(events, expect)?],
        _ => from_files(request)?,
    };
    if entries.is_empty() {
        return Err("there are no cases: name case files, or put them into a folder called tests".into());
    }
    if let Some(filter) = &request.filter {
        entries.retain(|entry| filter.matches(&entry.name));
        if entries.is_empty() {
            return Err(format!("no case has a name that matches `{filter}`"));
        }
    }
    Ok(entries)
}

fn from_files(request: &Request) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    if request.cases.is_empty() {
        for path in file::discover(Path::new(".")).map_err(|e| e.to_string())? {
            let path = path.strip_prefix(".").map(Path::to_owned).unwrap_or(path);
            // Nobody said that these are case files.
            match file::read(&path) {
                Ok(found) => entries.extend(found),
                Err(error) => say(&format!("note: passed over: {error}\n")),
            }
        }
    }
    for path in &request.cases {
        for path in file::find(path).map_err(|e| e.to_string())? {
            entries.extend(file::read(&path).map_err(|e| e.to_string())?);
        }
    }
    Ok(entries)
}

/// One case from a file of events, one JSON object in a line, and a file with what they must become.
fn pair(events: &Path, expect: &Path) -> Result<Entry, String> {
    let mut given = file::read_events(events).map_err(|e| e.to_string())?;
    let expected = file::read_value(expect).map_err(|e| e.to_string())?;
    let name = events.display().to_string();
    // The clock stands at `at_ms` when the event comes, and stays there until the next one that has it.
    let instants: Vec<Value> = given.iter_mut().map(|event| event.remove("at_ms").unwrap_or_default()).collect();
    let given = Value::Array(given.into_iter().map(Value::Map).collect());
    let mut keys = vec![("case", Value::from(name.as_str())), ("events", given)];
    if instants.iter().any(|at| !at.is_null()) {
        keys.push(("at_ms", Value::Array(instants)));
    }
    keys.push((if expected.as_map().is_some() { "outputs" } else { "expect" }, expected));
    Ok(Entry { name, file: Arc::from(expect), line: 1, keys: Map::from_iter(keys) })
}
