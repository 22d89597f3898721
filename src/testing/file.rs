//! Case files: a YAML list of maps, one a case.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{lfv, values};
use crate::event::{Map, Text, Value, json};
use crate::settings::yaml::{self, Data, Node};

/// An entry of a case file, its content not looked at yet.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The `case` key.
    pub name: String,
    /// The file, as the user named it.
    pub file: Arc<Path>,
    /// Line of the entry, from 1.
    pub line: usize,
    /// All its keys.
    pub keys: Map,
}

/// A file that is no list of cases.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {message}")]
pub struct FileError {
    /// The file, and the line if there is one.
    pub place: String,
    /// What is wrong, and what to write instead.
    pub message: String,
}

/// Reads a case file. An empty one has no cases.
pub fn read(path: &Path) -> Result<Vec<Entry>, FileError> {
    let wrong = |message: String| FileError { place: path.display().to_string(), message };
    let bytes = std::fs::read(path).map_err(|e| wrong(format!("cannot be read: {e}")))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("is no UTF-8 text; save it as UTF-8".into()))?;
    parse(path, &text)
}

/// Reads events, one JSON object in a line.
pub fn read_events(path: &Path) -> Result<Vec<Map>, FileError> {
    let told = |place: String, message: &str| FileError { place, message: message.into() };
    let text =
        std::fs::read_to_string(path).map_err(|e| told(path.display().to_string(), &format!("cannot be read: {e}")))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let events =
        lines.map(|(n, line)| match json::Reader::new(&Text::from(line), json::Numbers::Double).next_value() {
            Ok(Some(Value::Map(map))) => Ok(map),
            _ => Err(told(format!("{}:{}", path.display(), n + 1), "a line must be one JSON object")),
        });
    events.collect()
}

/// Reads a YAML or JSON file as one value.
pub fn read_value(path: &Path) -> Result<Value, FileError> {
    let wrong = |message: String| FileError { place: path.display().to_string(), message };
    let text = std::fs::read_to_string(path).map_err(|e| wrong(format!("cannot be read: {e}")))?;
    match yaml::parse(&text).map_err(|e| wrong(format!("is no YAML: {}", e.message)))? {
        Some(root) => values::value(&root).map_err(|bad| wrong(bad.message)),
        None => Ok(Value::Array(Vec::new())),
    }
}

/// Reads the text of a case file.
pub fn parse(path: &Path, text: &str) -> Result<Vec<Entry>, FileError> {
    let file: Arc<Path> = path.into();
    let mut lines = Lines { text, at: 0, line: 1 };
    let mut wrong = |at: usize, message: String| {
        let line = Lines { text, at: 0, line: 1 }.of(at);
        FileError { place: format!("{}:{line}", path.display()), message }
    };
    let root = match yaml::parse(text) {
        Err(error) => return Err(wrong(error.at, format!("is no YAML: {}", error.message))),
        Ok(None) => return Ok(Vec::new()),
        Ok(Some(root)) => root,
    };
    if lfv::is_one(&root) {
        return lfv::entries(&root, path, |at| lines.of(at));
    }
    let Data::List(nodes) = &root.data else {
        return Err(wrong(root.bytes.start, "must be a list of cases: start each with `- case: NAME`".into()));
    };
    let mut seen: HashMap<String, usize> = HashMap::new();
    let entries = nodes.iter().map(|node| {
        let entry = entry(node, &file, &mut lines, &mut wrong)?;
        match seen.insert(entry.name.clone(), entry.line) {
            Some(first) => Err(wrong(node.bytes.start, format!("line {first} has a case `{}` already", entry.name))),
            None => Ok(entry),
        }
    });
    entries.collect()
}

fn entry(
    node: &Node,
    file: &Arc<Path>,
    lines: &mut Lines<'_>,
    wrong: &mut impl FnMut(usize, String) -> FileError,
) -> Result<Entry, FileError> {
    let Data::Map(pairs) = &node.data else {
        return Err(wrong(node.bytes.start, "a case must be a map: `- case: NAME`, then its keys".into()));
    };
    let keys = values::map(pairs).map_err(|bad| wrong(bad.at, bad.message))?;
    let name = match keys.get("case") {
        Some(Value::String(name)) if !name.is_empty() => name.to_string(),
        Some(Value::Integer(n)) => n.to_string(),
        _ => return Err(wrong(node.bytes.start, "a case needs a name: `- case: NAME`".into())),
    };
    Ok(Entry { name, file: file.clone(), line: lines.of(node.bytes.start), keys })
}

/// Counts lines; quick for places in ascending order.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    fn of(&mut self, at: usize) -> usize {
        if at < self.at {
            (self.at, self.line) = (0, 1);
        }
        let between = self.text.as_bytes().get(self.at..at).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', between).count();
        self.at = at;
        self.line
    }
}

/// The case files that a path stands for: itself, or all `.yml` and `.yaml` files of a directory and those below it
/// that look like case files, in order of their names.
pub fn find(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut files = Vec::new();
    if path.is_dir() {
        walk(path, 0, &mut files)?;
        files.sort();
    } else {
        files.push(path.to_owned());
    }
    Ok(files)
}

/// Directories deeper than this are not looked into: links may lead in circles.
const DEEPEST: usize = 16;

fn walk(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), FileError> {
    let wrong = |e: std::io::Error| FileError {
        place: directory.display().to_string(),
        message: format!("cannot be read: {e}"),
    };
    for entry in std::fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            if depth < DEEPEST && !name.starts_with('.') {
                walk(&path, depth + 1, files)?;
            }
        } else if is_case_file(&path, &name, depth) {
            files.push(path);
        }
    }
    Ok(())
}

/// Every YAML file of the named directory; below it `*_test.yml` and the files of directories called `tests`. JSON
/// files are those of logstash-filter-verifier; others are data.
fn is_case_file(path: &Path, name: &str, depth: usize) -> bool {
    if name.ends_with(".json") {
        let in_tests = path.parent().and_then(Path::file_name).is_some_and(|parent| parent == "tests");
        return (depth == 0 || in_tests) && read(path).is_ok();
    }
    let Some(stem) = name.strip_suffix(".yml").or_else(|| name.strip_suffix(".yaml")) else { return false };
    let in_tests = path.parent().and_then(Path::file_name).is_some_and(|parent| parent == "tests");
    !name.starts_with('.') && (depth == 0 || in_tests || stem.ends_with("_test"))
}

/// The case files of a project: `*_test.yml` anywhere below the directory, and the files of directories called
/// `tests`.
pub fn discover(directory: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut files = Vec::new();
    walk(directory, 1, &mut files)?;
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<(String, usize)>, String> {
        let entries = parse(Path::new("t.yml"), text).map_err(|e| e.to_string())?;
        Ok(entries.into_iter().map(|entry| (entry.name, entry.line)).collect())
    }

    #[test]
    fn entries_know_their_line() {
        let text = "# head\n- case: a\n  why: w\n\n- { case: b, events: [ {} ] }\n-\n  case: 3\n";
        assert_eq!(names(text).unwrap(), [("a".into(), 2), ("b".into(), 5), ("3".into(), 7)]);
        assert_eq!(names("").unwrap(), []);
        assert_eq!(names("# nothing\n").unwrap(), []);
    }

    #[test]
    fn files_that_hold_no_cases_are_told_with_their_line() {
        for (text, error) in [
            ("a: 1\n", "t.yml:1: must be a list of cases"),
            ("- case: a\n- case: b\n- case: a\n", "t.yml:3: line 1 has a case `a` already"),
            ("- case: a\n- x\n", "t.yml:2: a case must be a map"),
            ("- case: a\n- why: b\n", "t.yml:2: a case needs a name"),
            ("- case: a\n  why: b\n  why: c\n", "t.yml:3: `why` stands twice"),
            ("- case: a\n  b: [1\n", "is no YAML"),
        ] {
            let found = names(text).unwrap_err();
            assert!(found.contains(error), "{text}: {found}");
        }
        assert!(read(Path::new("/nonexistent/t.yml")).unwrap_err().to_string().contains("cannot be read"));
    }

    #[test]
    fn case_files_are_found_by_their_place_and_name() {
        let root = tempfile::tempdir().unwrap();
        for file in [
            "x.yml",
            "conf.d/20-web.conf",
            "conf.d/web_test.yml",
            "conf.d/pipelines.yml",
            "tests/b.yaml",
            "tests/a.yml",
            ".git/tests/a.yml",
        ] {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let short = |files: Vec<PathBuf>| -> Vec<String> {
            files.iter().map(|f| f.strip_prefix(root.path()).unwrap().display().to_string()).collect()
        };
        assert_eq!(short(discover(root.path()).unwrap()), ["conf.d/web_test.yml", "tests/a.yml", "tests/b.yaml"]);
        assert_eq!(short(find(root.path()).unwrap()), ["conf.d/web_test.yml", "tests/a.yml", "tests/b.yaml", "x.yml"]);
        assert_eq!(short(find(&root.path().join("x.yml")).unwrap()), ["x.yml"]);
    }
}
