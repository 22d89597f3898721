//! Cases of filters: given events, a configuration, expected events, as `spillway test` runs them.

use std::path::Path;

use base64::Engine;
use spillway::config;
use spillway::config::ast::Node;
use spillway::event::{Map, Value};
use spillway::plugins::registry;
use spillway::testing::{Entry, Failure, Finding, Runner, Verdict};

/// Runs the case. `files` are made in a folder that `${DIR}` stands for.
pub fn judge(entry: &Entry, runner: &mut Runner) -> Verdict {
    if let Some(name) = missing_filter(entry) {
        return Verdict::Skipped(format!("needs the {name} filter"));
    }
    match Folder::new(entry) {
        Ok(Folder { entry, .. }) => runner.run_entry(&entry),
        Err(message) => Verdict::Failed(Failure { findings: vec![Finding::Message(message)], ..Failure::default() }),
    }
}

/// Filters of Logstash that a version may not have yet; their cases wait for them.
const LOGSTASH_FILTERS: &[&str] = &[
    "aggregate",
    "cipher",
    "csv",
    "date",
    "dissect",
    "dns",
    "elapsed",
    "elasticsearch",
    "environment",
    "grok",
    "http",
    "jdbc_static",
    "jdbc_streaming",
    "kv",
    "memcached",
    "metrics",
    "ruby",
    "xml",
];

/// The first filter of a case that Logstash has and this version does not.
fn missing_filter(entry: &Entry) -> Option<String> {
    let loaded = config::parse(entry.keys.get("config").and_then(Value::as_str)?);
    first_missing(&loaded.config.filters).map(str::to_owned)
}

fn first_missing(steps: &[Node]) -> Option<&str> {
    steps.iter().find_map(|step| match step {
        Node::Plugin(block) => {
            let name = block.name.as_str();
            (LOGSTASH_FILTERS.contains(&name) && registry::filter(name).is_none()).then_some(name)
        }
        Node::Branch(branch) => {
            let arms = branch.arms.iter().map(|arm| arm.body.as_slice());
            arms.chain([branch.otherwise.as_slice()]).find_map(first_missing)
        }
    })
}

/// A case whose files were made.
pub struct Folder {
    /// The case, without the keys that are dealt with.
    pub entry: Entry,
    /// What `${DIR}` stands for.
    pub folder: tempfile::TempDir,
}

impl Folder {
    /// Makes the files of a case.
    pub fn new(entry: &Entry) -> Result<Self, String> {
        let mut entry = entry.clone();
        entry.keys.remove("kind");
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        if let Some(Value::Map(files)) = entry.keys.remove("files") {
            files.iter().try_for_each(|(name, content)| write(&folder.path().join(name.as_str()), content))?;
        }
        let dir = folder.path().display().to_string();
        entry.keys = Map::from_iter(entry.keys.into_iter().map(|(key, value)| (key, filled_in(value, &dir))));
        Ok(Self { entry, folder })
    }
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
