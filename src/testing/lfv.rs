//! Case files of logstash-filter-verifier, JSON or YAML, as cases of our own.
//!
//! Both layouts are known: a list `testcases`, and the older one with `input` and `expected` for the whole file. Names
//! in brackets stand for nested fields. Nothing is lost on the way, so that a converted file says the same.

use std::path::Path;
use std::sync::Arc;

use super::file::{Entry, FileError};
use super::values;
use crate::event::{Map, Text, Value, json};
use crate::settings::yaml::{Data, Node};

/// Whether a document looks like such a file.
pub(super) fn is_one(root: &Node) -> bool {
    let Data::Map(pairs) = &root.data else { return false };
    let has = |word: &str| pairs.iter().any(|(key, _)| matches!(&key.data, Data::Scalar { text, .. } if text == word));
    has("testcases") || has("input") && has("expected")
}

/// The cases of a document; `line_of` tells the line of a byte.
pub(super) fn entries(
    root: &Node,
    file: &Path,
    mut line_of: impl FnMut(usize) -> usize,
) -> Result<Vec<Entry>, FileError> {
    let told = |line: usize, message: String| FileError { place: format!("{}:{line}", file.display()), message };
    let whole = match &root.data {
        Data::Map(pairs) => values::map(pairs).map_err(|bad| told(line_of(bad.at), bad.message))?,
        _ => Map::default(),
    };
    let cases: Vec<(usize, Map)> = match child(root, "testcases") {
        None => vec![(1, whole.clone())],
        Some(Node { data: Data::List(items), .. }) => {
            let read = |item: &Node| {
                let line = line_of(item.bytes.start);
                match values::value(item) {
                    Ok(Value::Map(map)) => Ok((line, map)),
                    _ => Err(told(line, "a test case must be a map with `input` and `expected`".into())),
                }
            };
            items.iter().map(read).collect::<Result<_, _>>()?
        }
        Some(other) => return Err(told(line_of(other.bytes.start), "`testcases` must be a list".into())),
    };
    let path: Arc<Path> = file.into();
    let mut names: Vec<String> = Vec::new();
    let convert = |(n, (line, case)): (usize, (usize, Map))| {
        let name = free_name(name(&case, n + 1), &mut names);
        let keys = keys(&name, &whole, &case).map_err(|message| told(line, message))?;
        Ok(Entry { name, file: path.clone(), line, keys })
    };
    cases.into_iter().enumerate().map(convert).collect()
}

fn child<'n>(root: &'n Node, name: &str) -> Option<&'n Node> {
    let Data::Map(pairs) = &root.data else { return None };
    let is_it = |key: &Node| matches!(&key.data, Data::Scalar { text, .. } if text == name);
    pairs.iter().find(|(key, _)| is_it(key)).map(|(_, value)| value)
}

fn name(case: &Map, number: usize) -> String {
    match case.get("description").and_then(Value::as_str) {
        Some(text) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => format!("test case {number}"),
    }
}

fn free_name(wanted: String, taken: &mut Vec<String>) -> String {
    let numbered = (2..).map(|n| format!("{wanted} ({n})"));
    let name = std::iter::once(wanted.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(wanted);
    taken.push(name.clone());
    name
}

/// A test case in our words.
fn keys(name: &str, whole: &Map, case: &Map) -> Result<Map, String> {
    let mut keys = Map::from_iter([("case", Value::from(name))]);
    if let Some(id) = whole.get("input_plugin") {
        keys.insert("input", id.clone());
    }
    let codec = whole.get("codec").map_or("line".to_owned(), values::plain_text);
    let is_json = codec.starts_with("json");
    keys.insert("codec", codec);
    let lines = texts(case, "input")?.into_iter().map(|line| if is_json { nested_json(&line) } else { line });
    keys.insert("lines", Value::Array(lines.map(Value::from).collect()));
    let mut fields = nested_map(whole.get("fields"))?;
    merge(&mut fields, nested_map(case.get("fields"))?);
    if !fields.is_empty() {
        keys.insert("fields", Value::Map(fields));
    }
    if let Some(ignore) = whole.get("ignore") {
        keys.insert("ignore", ignore.clone());
    }
    expectations(whole, case, &mut keys)?;
    Ok(keys)
}

fn texts(case: &Map, key: &str) -> Result<Vec<String>, String> {
    match case.get(key) {
        Some(Value::Array(items)) => Ok(items.iter().map(values::plain_text).collect()),
        Some(Value::String(text)) => Ok(vec![text.to_string()]),
        _ => Err(format!("`{key}` must be a list of texts")),
    }
}

fn expectations(whole: &Map, case: &Map, keys: &mut Map) -> Result<(), String> {
    let Some(Value::Array(expected)) = case.get("expected") else { return Err("`expected` must be a list".into()) };
    let is_on = |key: &str| matches!(whole.get(key), Some(Value::Bool(true)));
    let (mut events, mut metadata) = (Vec::new(), Vec::new());
    let mut outputs: Vec<(Text, Vec<Value>)> = Vec::new();
    for event in expected {
        let mut event = nested_map(Some(event))?;
        let of_event = event.remove("@metadata").unwrap_or_else(|| Value::Map(Map::default()));
        metadata.push(of_event);
        let passed = event.remove("_lfv_out_passed");
        if let Some(id) = passed.filter(|_| is_on("export_outputs")) {
            let (id, value) = (Text::from(values::plain_text(&id)), Value::Map(event.clone()));
            match outputs.iter_mut().find(|(other, _)| *other == id) {
                Some((_, events)) => events.push(value),
                None => outputs.push((id, vec![value])),
            }
        }
        events.push(Value::Map(event));
    }
    // An event that reached several outputs stands there once for each of them.
    if outputs.is_empty() {
        keys.insert("expect", Value::Array(events));
    } else {
        let lists = outputs.into_iter().map(|(id, events)| (id, Value::Array(events)));
        keys.insert("outputs", Value::Map(Map::from_iter(lists)));
    }
    if is_on("export_metadata") {
        keys.insert("metadata", Value::Array(metadata));
    }
    Ok(())
}

/// A JSON object whose names in brackets were made nested; any other text as it is.
fn nested_json(line: &str) -> String {
    let text = Text::from(line);
    let read = json::Reader::new(&text, json::Numbers::Double).next_value();
    let Ok(Some(value @ Value::Map(_))) = read else { return line.to_owned() };
    let mut out = Vec::new();
    match nested_map(Some(&value)) {
        Ok(map) => json::write_map(&map, &mut out),
        Err(_) => return line.to_owned(),
    }
    crate::event::text_form::utf8(out)
}

fn nested_map(value: Option<&Value>) -> Result<Map, String> {
    let mut out = Map::default();
    match value {
        None | Some(Value::Null) => {}
        Some(Value::Map(map)) => {
            for (name, value) in map.iter() {
                put(&mut out, &path(name), nested(value)?);
            }
        }
        Some(_) => return Err("events and `fields` must be maps".into()),
    }
    Ok(out)
}

fn nested(value: &Value) -> Result<Value, String> {
    Ok(match value {
        Value::Map(_) => Value::Map(nested_map(Some(value))?),
        Value::Array(items) => Value::Array(items.iter().map(nested).collect::<Result<_, _>>()?),
        scalar => scalar.clone(),
    })
}

/// `[a][b]` is two names; anything else is one.
fn path(name: &str) -> Vec<Text> {
    let inside = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inside {
        Some(inside) => inside.split("][").map(Text::from).collect(),
        None => vec![Text::from(name)],
    }
}

fn put(map: &mut Map, path: &[Text], value: Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        match (map.get_mut(first), value) {
            (Some(Value::Map(there)), Value::Map(more)) => merge(there, more),
            (_, value) => {
                map.insert(first.clone(), value);
            }
        }
        return;
    }
    if !matches!(map.get(first), Some(Value::Map(_))) {
        map.insert(first.clone(), Value::Map(Map::default()));
    }
    if let Some(Value::Map(inner)) = map.get_mut(first) {
        put(inner, rest, value);
    }
}

fn merge(map: &mut Map, more: Map) {
    for (name, value) in more {
        put(map, &[name], value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::file;

    fn read(text: &str) -> Vec<(String, usize, String)> {
        let entries = file::parse(Path::new("t.json"), text).unwrap();
        let json = |map: &Map| {
            let mut out = Vec::new();
            json::write_map(map, &mut out);
            String::from_utf8(out).unwrap()
        };
        entries.iter().map(|entry| (entry.name.clone(), entry.line, json(&entry.keys))).collect()
    }

    #[test]
    fn test_cases_become_cases() {
        let text = r#"{ "fields": { "type": "web", "[log][kind]": "web" }, "ignore": ["host"],
  "testcases": [
    { "description": "plain", "input": ["GET 200"], "expected": [ { "[log][kind]": "web", "n": 1 } ] },
    { "fields": { "type": "x", "[log][n]": 1 }, "input": [], "expected": [] },
    { "description": "plain", "input": [], "expected": [] } ] }"#;
        let found = read(text);
        assert_eq!(
            found.iter().map(|(name, line, _)| (name.as_str(), *line)).collect::<Vec<_>>(),
            [("plain", 3), ("test case 2", 4), ("plain (2)", 5)]
        );
        assert_eq!(
            found[0].2,
            r#"{"case":"plain","codec":"line","lines":["GET 200"],"fields":{"type":"web","log":{"kind":"web"}},"ignore":["host"],"expect":[{"log":{"kind":"web"},"n":1}]}"#
        );
        assert!(found[1].2.contains(r#""fields":{"type":"x","log":{"kind":"web","n":1}}"#), "{}", found[1].2);
    }

    #[test]
    fn the_older_layout_is_one_case() {
        let found = read("codec: json_lines\ninput: ['{\"[a][b]\": 1}']\nexpected: [{a: {b: 1}}]\n");
        assert_eq!(
            found[0].2,
            r#"{"case":"test case 1","codec":"json_lines","lines":["{\"a\":{\"b\":1}}"],"expect":[{"a":{"b":1}}]}"#
        );
    }

    #[test]
    fn metadata_and_outputs_are_expected_when_they_are_exported() {
        let found = read(
            r#"{"input_plugin": "in", "export_metadata": true, "export_outputs": true, "testcases": [
              {"input": ["x"], "expected": [{"m": 1, "@metadata": {"k": 2}, "_lfv_out_passed": "es"}]}]}"#,
        );
        assert!(found[0].2.contains(r#""outputs":{"es":[{"m":1}]},"metadata":[{"k":2}]"#), "{}", found[0].2);
        assert!(found[0].2.contains(r#""input":"in""#));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, part) in [
            ("{\"testcases\": {}}", "t.json:1: `testcases` must be a list"),
            ("{\"testcases\": [\n1]}", "t.json:2: a test case must be a map"),
            ("{\"testcases\": [\n{\"input\": [\"x\"]}]}", "t.json:2: `expected` must be a list"),
            ("{\"testcases\": [\n{\"input\": 1, \"expected\": []}]}", "t.json:2: `input` must be a list of texts"),
        ] {
            let error = file::parse(Path::new("t.json"), text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
