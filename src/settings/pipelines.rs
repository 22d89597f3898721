//! Which pipelines run: `-e`, `-f` or the entries of `pipelines.yml`, each with its own settings.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::build;
use super::pipeline::PipelineSettings;
use super::reader::{self, Document, Place, Reader, span_of};
use super::table;
use super::unsupported;
use super::values::{Origin, Values};
use super::yaml::{Data, Node};
use crate::config::Variables;
use crate::config::diagnostic::{Diagnostic, Diagnostics, Level};
use crate::config::render::Renderer;
use crate::config::source::{Sources, Span};

/// The pipelines as they are listed at one time.
#[derive(Debug)]
pub struct Listed {
    /// Those with faults must not start.
    pub pipelines: Vec<PipelineSettings>,
    /// Warnings and notes.
    pub diagnostics: Diagnostics,
    /// The texts that the places in diagnostics and faults point into.
    pub sources: Sources,
}

/// Lists the pipelines again while they run. The settings of the process stay what they were at the start.
#[derive(Clone, Debug)]
pub struct Lister {
    layers: Layers,
    variables: Variables,
    /// The texts that places in the layers point into.
    sources: Sources,
}

impl Lister {
    /// With what was found at the start.
    pub(super) fn new(layers: Layers, variables: Variables, sources: Sources) -> Self {
        Self { layers, variables, sources }
    }

    /// Where the text of the only pipeline was given, when it was given as such: it can never change.
    pub fn fixed_text(&self) -> Option<String> {
        self.layers.base.explicit("config.string").map(|set| set.origin.to_string())
    }

    /// Reads the list again. The error is why it makes no sense now, for the log.
    pub fn list(&self) -> Result<Listed, String> {
        let mut reader = Reader::new(&self.variables);
        reader.sources = self.sources.clone();
        let listed = pipelines(&self.layers, &mut reader);
        let (diagnostics, sources) = (reader.diagnostics, reader.sources);
        if diagnostics.has_errors() {
            let renderer = Renderer::new(&sources, false);
            let errors = diagnostics.0.iter().filter(|diagnostic| diagnostic.level == Level::Error);
            return Err(errors.map(|error| renderer.one_line(error)).collect::<Vec<_>>().join("; "));
        }
        Ok(Listed { pipelines: listed?, diagnostics, sources })
    }
}

/// The layers that the pipelines are made of.
#[derive(Clone, Debug)]
pub struct Layers {
    /// `logstash.yml`, the root of `spillway.yml` and the command line.
    pub base: Values,
    /// `pipelines` in `spillway.yml`: by pipeline id, with the place of the id.
    pub by_id: BTreeMap<String, (Span, Values)>,
    /// Folder of `pipelines.yml`, if there is one.
    pub directory: Option<PathBuf>,
}

/// The pipelines to run.
///
/// A broken list is in the reader's diagnostics, and nothing must run then. The error is that there is nothing to run
/// at all: one sentence that says what to give.
pub fn pipelines(layers: &Layers, reader: &mut Reader<'_>) -> Result<Vec<PipelineSettings>, String> {
    let (string, path) = (layers.base.explicit("config.string"), layers.base.explicit("path.config"));
    let list = layers.directory.as_deref().map(|directory| directory.join("pipelines.yml"));
    match (string, path) {
        (Some(string), Some(path)) => Err(format!(
            "config.string ({}) and path.config ({}) can't be used simultaneously: remove one of the two",
            string.origin, path.origin
        )),
        (Some(set), None) | (None, Some(set)) => {
            if let Some(list) = list.filter(|list| list.exists()) {
                let name = if string.is_some() { "config.string" } else { "path.config" };
                let message = format!("Ignoring {}, because {name} is set: {}", list.display(), set.origin);
                reader.diagnostics.push(reader::warning("ignored-file", message));
            }
            let pipeline = one(layers, &Values::default(), None, reader);
            Ok(pipeline.into_iter().collect())
        }
        (None, None) => from_list(layers, list.as_deref(), reader),
    }
}

const WAYS: &str =
    "give a pipeline in one of three ways: -f FILE, -e 'CONFIG', or a pipelines.yml in the settings folder";

fn from_list(layers: &Layers, path: Option<&Path>, reader: &mut Reader<'_>) -> Result<Vec<PipelineSettings>, String> {
    let Some(path) = path else {
        return Err(format!(
            "no pipeline to run: {WAYS} (no settings folder was found; name it with --path.settings DIR)"
        ));
    };
    let shown = path.display();
    let Some(document) = reader.open(path) else {
        // A broken file was reported by the reader; then nothing runs for that reason.
        let reported = reader.diagnostics.has_errors();
        return if reported {
            Ok(Vec::new())
        } else {
            Err(format!("no pipeline to run: {shown} does not exist; {WAYS}"))
        };
    };
    match document.root.as_ref().map(|root| &root.data) {
        None => Err(format!("no pipeline to run: {shown} is empty; {WAYS}")),
        Some(Data::List(entries)) if entries.is_empty() => {
            Err(format!("no pipeline to run: {shown} lists none; {WAYS}"))
        }
        Some(Data::List(entries)) => Ok(from_entries(layers, &document, entries, reader)),
        Some(Data::Map(_) | Data::Scalar { .. }) => {
            let text = reader.sources.get(document.source).map(|source| source.text.clone()).unwrap_or_default();
            Err(format!("{shown} is not a list of pipelines; {}", instead_of_list(&document, &text)))
        }
    }
}

fn instead_of_list(document: &Document, text: &str) -> &'static str {
    if reader::looks_like_pipeline(text) {
        return "it looks like a pipeline configuration: give it with -f, or as path.config of an entry";
    }
    match document.root.as_ref().map(|root| &root.data) {
        Some(Data::Map(pairs)) if pairs.iter().any(|(key, _)| is_process_setting(key)) => {
            "it looks like a logstash.yml: each pipeline starts with `- pipeline.id: NAME`"
        }
        _ => "each pipeline starts with `- pipeline.id: NAME`, with a blank after the `-` and after each colon",
    }
}

fn is_process_setting(key: &Node) -> bool {
    let Data::Scalar { text, .. } = &key.data else { return false };
    table::find(text).is_some_and(|setting| setting.scope != table::Scope::Pipeline)
}

fn from_entries(
    layers: &Layers,
    document: &Document,
    entries: &[Node],
    reader: &mut Reader<'_>,
) -> Vec<PipelineSettings> {
    let mut pipelines: Vec<PipelineSettings> = Vec::new();
    let mut places: HashMap<String, Span> = HashMap::new();
    for entry in entries {
        let span = first_line(document, entry, reader);
        let Data::Map(pairs) = &entry.data else {
            let diagnostic = Diagnostic::error("invalid-value", span, "an entry must be a map of pipeline settings");
            reader.diagnostics.push(diagnostic.help("write `- pipeline.id: NAME`, with a blank after each colon"));
            continue;
        };
        let own = reader.settings(document, pairs, Place::Pipelines);
        let Some(pipeline) = one(layers, &own, Some(span), reader) else { continue };
        let id_span = own.origin("pipeline.id").span().unwrap_or(span);
        if let Some(first) = places.insert(pipeline.id.clone(), id_span) {
            let message = format!("Pipelines with duplicate ids: `{}`", pipeline.id);
            let help = if own.explicit("pipeline.id").is_some() {
                "give each pipeline an id of its own"
            } else {
                "an entry without `pipeline.id` is called main; give each pipeline an id of its own"
            };
            let diagnostic = Diagnostic::error("duplicate-id", id_span, message).related(first, "first defined here");
            reader.diagnostics.push(diagnostic.help(help));
            continue;
        }
        pipelines.push(pipeline);
    }
    for (id, (span, _)) in &layers.by_id {
        if !places.contains_key(id) {
            let message = format!("there is no pipeline `{id}` in {}", document.name);
            reader.diagnostics.push(Diagnostic::warning("unknown-pipeline", *span, message));
        }
    }
    pipelines
}

/// The first line of an entry: messages about a whole entry need not show all of it.
fn first_line(document: &Document, entry: &Node, reader: &Reader<'_>) -> Span {
    let text = reader.sources.text(span_of(document.source, &entry.bytes));
    let length = text.lines().next().map_or(0, |line| line.trim_end().len());
    span_of(document.source, &(entry.bytes.start..entry.bytes.start + length))
}

/// One pipeline from all layers; `None` when it cannot be, which is reported, or is no pipeline.
fn one(layers: &Layers, own: &Values, entry: Option<Span>, reader: &mut Reader<'_>) -> Option<PipelineSettings> {
    unsupported::refuse(own, reader);
    unsupported::notice(own, reader);
    let mut values = layers.base.overridden_by(own);
    let id = values.text("pipeline.id").unwrap_or_default();
    check_id(&id, &values.origin("pipeline.id"), entry, reader)?;
    if let Some((_, extra)) = layers.by_id.get(&id) {
        unsupported::refuse(extra, reader);
        values = values.overridden_by(extra);
    }
    if let (Some(string), Some(path)) = (values.explicit("config.string"), values.explicit("path.config")) {
        let message = format!("pipeline `{id}` has both config.string and path.config");
        let mut diagnostic = Diagnostic::global("invalid-value", message).help("remove one of the two");
        diagnostic.span = string.origin.span().or(entry);
        diagnostic.related.extend(path.origin.span().map(|span| (span, "the other one".into())));
        reader.diagnostics.push(diagnostic);
        return None;
    }
    if values.explicit("config.string").is_none() && values.explicit("path.config").is_none() {
        let message = format!("pipeline `{id}` has neither config.string nor path.config, it is left out");
        let mut diagnostic = reader::warning("missing-setting", message);
        diagnostic.span = entry;
        diagnostic.help = Some("name its file: `path.config: FILE`".into());
        reader.diagnostics.push(diagnostic);
        return None;
    }
    Some(build::pipeline(id, &values, reader))
}

/// Ids are names of directories and files.
fn check_id(id: &str, origin: &Origin, entry: Option<Span>, reader: &mut Reader<'_>) -> Option<()> {
    let wrong = if id.is_empty() {
        "is empty"
    } else if id == "." || id == ".." {
        "is no name for a directory"
    } else if id.contains(['/', '\0']) {
        "has a character that no directory name can have"
    } else if id.len() > 200 {
        "is longer than 200 bytes"
    } else {
        return Some(());
    };
    let message = format!("the pipeline id {id:?} {wrong}");
    let mut diagnostic = Diagnostic::global("invalid-value", message);
    diagnostic.span = origin.span().or(entry);
    if let Origin::Flag(_) = origin {
        diagnostic.message = format!("{origin}: {}", diagnostic.message);
    }
    reader.diagnostics.push(diagnostic.help("queues and dead letters live in a directory of this name"));
    None
}
