//! Cases about what starts and what is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use spillway::config::Variables;
use spillway::config::diagnostic::{Diagnostics, Level};
use spillway::config::render::Renderer;
use spillway::config::source::Sources;
use spillway::event::{Clock, Map, Value};
use spillway::pipeline::{Prepared, Shared, prepare};
use spillway::plugins::Commons;
use spillway::settings::kind::Raw;
use spillway::settings::values::{Origin, Values};
use spillway::settings::{self, LoadError, table};
use spillway::testing::{Entry, Finding};

/// A `logstash.yml` with these settings is accepted or refused.
pub fn settings(entry: &Entry) -> Vec<Finding> {
    judge(entry, "input { stdin { } } output { null { } }")
}

/// A configuration is accepted or refused. `<existing dir>` stands for a directory that exists.
pub fn config(entry: &Entry) -> Vec<Finding> {
    match entry.keys.get("config").and_then(Value::as_str) {
        Some(config) => judge(entry, config),
        None => vec![Finding::Message("needs a `config`".into())],
    }
}

fn judge(entry: &Entry, config: &str) -> Vec<Finding> {
    let refusal = match tempfile::tempdir() {
        Ok(folder) => start(entry, config, folder.path()).err(),
        Err(error) => return vec![Finding::Message(error.to_string())],
    };
    let expected = entry.keys.get("error").and_then(Value::as_str);
    match (expected, refusal) {
        (None, None) => Vec::new(),
        (None, Some(refusal)) => vec![Finding::Refused(refusal)],
        (Some(text), None) => vec![Finding::Started(vec![text.to_owned()])],
        (Some(text), Some(refusal)) if refusal.contains(text) => Vec::new(),
        (Some(text), Some(refusal)) => vec![Finding::OtherRefusal { lacks: vec![text.to_owned()], refusal }],
    }
}

/// Goes as far as a start does before it opens outputs; the error is all that is said.
fn start(entry: &Entry, config: &str, folder: &Path) -> Result<(), String> {
    let existing = folder.join("existing");
    std::fs::create_dir(&existing).map_err(|e| e.to_string())?;
    let config = config.replace("<existing dir>", &existing.display().to_string());
    let mut yaml = String::new();
    if let Some(settings) = entry.keys.get("settings").and_then(Value::as_map) {
        let settings = Map::from_iter(settings.iter().map(|(name, value)| (name.clone(), value.clone())));
        let mut json = Vec::new();
        spillway::event::json::write_map(&settings, &mut json);
        yaml = String::from_utf8_lossy(&json).into_owned();
    }
    std::fs::write(folder.join("logstash.yml"), yaml).map_err(|e| e.to_string())?;
    let mut flags = Values::default();
    for (name, value) in [
        ("path.settings", folder.display().to_string()),
        ("path.data", folder.join("data").display().to_string()),
        ("config.string", config),
    ] {
        let setting = table::find(name).ok_or_else(|| format!("no setting {name}"))?;
        flags.set(setting, setting.kind.read(&Raw::text(value))?, Origin::Flag(format!("--{name}")));
    }
    let loaded = settings::load(&flags, &Variables::default()).map_err(|error| match error {
        LoadError::Usage(message) => message,
        LoadError::Invalid { diagnostics, sources } => said(&diagnostics, &sources),
    })?;
    let pipeline = loaded.pipelines.into_iter().next().ok_or("no pipeline")?;
    let shared = Shared {
        commons: Commons::default(),
        path_data: PathBuf::from(folder),
        path_settings: Some(PathBuf::from(folder)),
        host: Arc::from("localhost"),
        variables: Variables::default(),
        clock: Clock::default(),
    };
    let Prepared { diagnostics, sources, compiled, .. } = prepare(pipeline, &shared);
    if diagnostics.has_errors() {
        return Err(said(&diagnostics, &sources));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    for mut slot in compiled.inputs {
        runtime.block_on(slot.input.register()).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// What the errors say, without the lines of the configuration.
fn said(diagnostics: &Diagnostics, sources: &Sources) -> String {
    let renderer = Renderer::new(sources, false);
    let errors = diagnostics.0.iter().filter(|d| d.level == Level::Error);
    errors.map(|error| renderer.one_line(error)).collect::<Vec<_>>().join("\n")
}
