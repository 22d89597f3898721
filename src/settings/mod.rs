//! Settings: `logstash.yml`, `spillway.yml`, `pipelines.yml` and the command line become typed structs.
//!
//! [`load`] reads everything once and reports every mistake at its place; what the program then sees is one
//! [`Settings`] for the process and one [`PipelineSettings`] for each pipeline. Names, types and defaults are in
//! [`table`]; what is known and cannot be switched on yet is in [`unsupported`].

mod build;
pub mod directories;
pub mod kind;
mod pipeline;
mod pipelines;
mod process;
mod reader;
mod secret;
pub mod table;
mod table_xpack;
pub mod unsupported;
pub mod values;
mod variables;
pub(crate) mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use build::host_name;
pub use pipeline::{ConfigSource, Ecs, Ordered, PipelineSettings, QueueType, Recoverable, RubyIsolation, RubySettings};
pub use pipelines::{Listed, Lister};
pub use process::{
    ApiSettings, LogConsole, LogFormat, LogLevel, LogSettings, ReloadSettings, Settings, SlowlogSettings,
};
pub use secret::Secret;

use crate::config::Variables;
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::source::{Sources, Span};
use kind::Value;
use pipelines::Layers;
use reader::{Document, Place, Reader, span_of};
use values::Values;
use yaml::Data;

/// What was loaded.
#[derive(Debug)]
pub struct Loaded {
    /// Of the process.
    pub settings: Settings,
    /// The pipelines to run, at least one; those with faults must not start.
    pub pipelines: Vec<PipelineSettings>,
    /// Warnings and notes, to be logged.
    pub diagnostics: Diagnostics,
    /// The texts that the places in diagnostics and faults point into.
    pub sources: Sources,
    /// Lists the pipelines again.
    pub lister: Lister,
}

/// Why nothing can be run.
#[derive(Debug)]
pub enum LoadError {
    /// The command line and the files together make no sense: one sentence.
    Usage(String),
    /// Settings are wrong: all mistakes, and all warnings found on the way.
    Invalid {
        /// The mistakes.
        diagnostics: Diagnostics,
        /// The texts that their places point into.
        sources: Sources,
    },
}

/// Loads the settings and the list of pipelines.
///
/// `flags` are the settings of the command line; they win over all files.
pub fn load(flags: &Values, variables: &Variables) -> Result<Loaded, LoadError> {
    let mut reader = Reader::new(variables);
    let directory = settings_directory(flags, variables, &mut reader);
    let base = process_values(directory.as_deref(), &mut reader);
    let layers = Layers { base: base.values.overridden_by(flags), by_id: base.by_id, directory: directory.clone() };
    check_usage(&layers.base, flags).map_err(LoadError::Usage)?;
    unsupported::refuse(&layers.base, &mut reader);
    unsupported::notice(&layers.base, &mut reader);
    reader.remember_without_meaning(flags);
    warn_of_ruby_plugins(&layers.base.list("path.plugins"), &mut reader).map_err(LoadError::Usage)?;
    warn_of_keystore(directory.as_deref(), &mut reader);
    let settings = build::process(&layers.base, directory, &mut reader);
    let pipelines = pipelines::pipelines(&layers, &mut reader);
    reader.note_without_meaning();
    let (diagnostics, sources) = (reader.diagnostics, reader.sources);
    if diagnostics.has_errors() {
        return Err(LoadError::Invalid { diagnostics, sources });
    }
    match pipelines {
        Ok(pipelines) if pipelines.is_empty() => {
            Err(LoadError::Usage("no pipeline to run: no entry of pipelines.yml has a configuration".into()))
        }
        Ok(pipelines) => {
            let lister = Lister::new(layers, variables.clone(), sources.clone());
            Ok(Loaded { settings, pipelines, diagnostics, sources, lister })
        }
        Err(usage) => Err(LoadError::Usage(usage)),
    }
}

/// Combinations that cannot be meant.
fn check_usage(values: &Values, flags: &Values) -> Result<(), String> {
    let reload = flags.explicit("config.reload.automatic").filter(|set| set.value == Value::Bool(true));
    if let (Some(reload), Some(string)) = (reload, values.explicit("config.string")) {
        return Err(format!(
            "config.reload.automatic ({}) can't be used with 'config.string' ({}): a text cannot change",
            reload.origin, string.origin
        ));
    }
    Ok(())
}

/// Ruby plugins cannot be loaded: each is named, so that an unknown plugin later is no riddle.
fn warn_of_ruby_plugins(directories: &[String], reader: &mut Reader<'_>) -> Result<(), String> {
    for directory in directories {
        if !Path::new(directory).is_dir() {
            return Err(format!("path.plugins: {directory} is no directory"));
        }
        for kind in ["inputs", "filters", "outputs", "codecs"] {
            let entries = std::fs::read_dir(Path::new(directory).join("logstash").join(kind)).into_iter().flatten();
            let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            files.retain(|file| file.extension().is_some_and(|extension| extension == "rb"));
            files.sort();
            for file in files {
                let message = format!("{} is not loaded: Ruby plugins cannot run here", file.display());
                reader.diagnostics.push(reader::warning("unsupported-setting", message));
            }
        }
    }
    Ok(())
}

/// Where the settings files are, if anywhere.
fn settings_directory(flags: &Values, variables: &Variables, reader: &mut Reader<'_>) -> Option<PathBuf> {
    let named = flags.path("path.settings").map(|directory| (directory, "--path.settings"));
    let named = named.or_else(|| {
        ["SPILLWAY_SETTINGS_DIR", "LS_SETTINGS_DIR"]
            .into_iter()
            .find_map(|name| variables.get(name).filter(|v| !v.is_empty()).map(|v| (PathBuf::from(v), name)))
    });
    if let Some((directory, by)) = named {
        if !directory.join("logstash.yml").exists() {
            let path = directory.join("logstash.yml");
            let message = format!("there is no {} (folder named by {by}); continuing with defaults", path.display());
            reader.diagnostics.push(reader::warning("not-readable", message));
        }
        return Some(directory);
    }
    let usual = [PathBuf::from("config"), PathBuf::from("/etc/spillway")];
    usual.into_iter().find(|directory| directory.join("logstash.yml").exists())
}

/// Settings of the process, and those that `spillway.yml` has for single pipelines.
struct ProcessValues {
    values: Values,
    by_id: BTreeMap<String, (Span, Values)>,
}

fn process_values(directory: Option<&Path>, reader: &mut Reader<'_>) -> ProcessValues {
    let mut all = ProcessValues { values: Values::default(), by_id: BTreeMap::new() };
    let Some(directory) = directory else { return all };
    if let Some(document) = reader.open(&directory.join("logstash.yml")) {
        let (pairs, _) = split_pipelines(&document, reader);
        all.values = reader.settings(&document, &pairs, Place::LogstashYml);
    }
    if let Some(document) = reader.open(&directory.join("spillway.yml")) {
        let (pairs, pipelines) = split_pipelines(&document, reader);
        let own = reader.settings(&document, &pairs, Place::SpillwayYml);
        all.values = all.values.overridden_by(&own);
        for (key, node) in pipelines {
            let span = span_of(document.source, &key.bytes);
            match (&key.data, &node.data) {
                (Data::Scalar { text, .. }, Data::Map(pairs)) => {
                    let values = reader.settings(&document, pairs, Place::SpillwayPipelines);
                    all.by_id.insert(text.clone(), (span, values));
                }
                _ => {
                    let diagnostic = Diagnostic::error("invalid-value", span, "an entry of `pipelines` must be a map");
                    reader
                        .diagnostics
                        .push(diagnostic.help("write `pipelines: {<pipeline id>: {<setting>: <value>}}`"));
                }
            }
        }
    }
    all
}

type Pairs = Vec<(yaml::Node, yaml::Node)>;

/// The settings of a file, and the entries under `pipelines`, which only `spillway.yml` has.
fn split_pipelines(document: &Document, reader: &mut Reader<'_>) -> (Pairs, Pairs) {
    match document.root.as_ref().map(|root| &root.data) {
        None => (Vec::new(), Vec::new()),
        Some(Data::Scalar { text, plain: true }) if text.is_empty() || text == "~" || text == "null" => {
            (Vec::new(), Vec::new())
        }
        Some(Data::Map(pairs)) => {
            let (mut own, mut pipelines) = (Vec::new(), Vec::new());
            for (key, value) in pairs {
                match (&key.data, &value.data) {
                    (Data::Scalar { text, .. }, Data::Map(entries)) if text == "pipelines" => {
                        pipelines.extend(entries.iter().cloned());
                    }
                    _ => own.push((key.clone(), value.clone())),
                }
            }
            if document.name.ends_with("spillway.yml") { (own, pipelines) } else { (pairs.clone(), Vec::new()) }
        }
        Some(Data::List(_) | Data::Scalar { .. }) => {
            reader.diagnostics.push(no_map(document, reader));
            (Vec::new(), Vec::new())
        }
    }
}

/// A settings file that is something else.
fn no_map(document: &Document, reader: &Reader<'_>) -> Diagnostic {
    let bytes = document.root.as_ref().map_or(0..0, |root| root.bytes.clone());
    let text = reader.sources.get(document.source).map(|source| source.text.clone()).unwrap_or_default();
    let end = text.get(bytes.start..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| bytes.start + at);
    let span = span_of(document.source, &(bytes.start..end.min(bytes.end).max(bytes.start)));
    let is_list = matches!(document.root.as_ref().map(|root| &root.data), Some(Data::List(_)));
    let help = if reader::looks_like_pipeline(&text) {
        "this looks like a pipeline configuration: give it with -f, or as path.config in pipelines.yml"
    } else if is_list {
        "this looks like a pipelines.yml: save it under that name in the same folder"
    } else {
        "write one `name: value` a line, with a blank after the colon"
    };
    Diagnostic::error("invalid-yaml", span, "a settings file must be a map of names and values").help(help)
}

/// Secrets that a file holds are not looked up yet; say so before a variable is found missing.
fn warn_of_keystore(directory: Option<&Path>, reader: &mut Reader<'_>) {
    let Some(path) = directory.map(|directory| directory.join("logstash.keystore")).filter(|path| path.exists()) else {
        return;
    };
    let message = format!("{} is not read: keystores are not there yet; use environment variables", path.display());
    reader.diagnostics.push(reader::warning("unsupported-setting", message));
}
