//! Reads settings files into [`Values`], reporting every mistake at its place and going on behind it.

use std::ops::Range;
use std::path::Path;

use super::kind::{self, Kind, Raw, Value};
use super::table::{self, Scope, Setting};
use super::values::{Origin, Values};
use super::variables;
use super::yaml::{self, Data, Node};
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::source::{SourceId, Sources, Span};
use crate::config::{Variables, did_you_mean};

/// Which settings may stand in the map that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `logstash.yml`.
    LogstashYml,
    /// The root of `spillway.yml`.
    SpillwayYml,
    /// An entry of `pipelines.yml`.
    Pipelines,
    /// An entry of `pipelines` in `spillway.yml`.
    SpillwayPipelines,
}

/// The text of a settings file and what it holds.
#[derive(Debug)]
pub struct Document {
    /// The text, for spans.
    pub source: SourceId,
    /// The file as the user named it.
    pub name: String,
    /// Its value; `None` when it is empty.
    pub root: Option<Node>,
}

/// Collects texts and mistakes while settings are read.
#[derive(Debug)]
pub struct Reader<'v> {
    variables: &'v Variables,
    /// All texts read so far.
    pub sources: Sources,
    /// All mistakes, warnings and notes so far.
    pub diagnostics: Diagnostics,
    without_meaning: Vec<&'static str>,
}

impl<'v> Reader<'v> {
    /// A reader that takes variables from there.
    pub fn new(variables: &'v Variables) -> Self {
        let (sources, diagnostics) = (Sources::default(), Diagnostics::default());
        Self { variables, sources, diagnostics, without_meaning: Vec::new() }
    }

    /// Reads a file; `None` when it does not exist, or when it is broken, which is reported.
    pub fn open(&mut self, path: &Path) -> Option<Document> {
        let name = path.display().to_string();
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                let help =
                    "make the file readable for the user that runs this, or name another folder with --path.settings";
                let message = format!("{name}: cannot be read: {error}");
                self.diagnostics.push(Diagnostic::global("not-readable", message).help(help));
                return None;
            }
        };
        let Ok(text) = String::from_utf8(bytes) else {
            let diagnostic = Diagnostic::global("invalid-yaml", format!("{name}: is no UTF-8 text"));
            self.diagnostics.push(diagnostic.help("save the file as UTF-8"));
            return None;
        };
        self.parse(name, &text)
    }

    /// Reads a text as a settings file of that name.
    pub fn parse(&mut self, name: String, text: &str) -> Option<Document> {
        let source = self.sources.add(name.clone(), text);
        match yaml::parse(text) {
            Ok(root) => Some(Document { source, name, root }),
            Err(error) => {
                let span = span_of(source, &(error.at..line_end(text, error.at)));
                let message = format!("Failed to parse YAML file: {}", error.message);
                let diagnostic = Diagnostic::error("invalid-yaml", span, message).label("the parser stopped here");
                self.diagnostics.push(diagnostic.help(yaml_help(text, error.at)));
                None
            }
        }
    }

    /// Reads a map of settings, nested or dotted, into values.
    pub fn settings(&mut self, document: &Document, pairs: &[(Node, Node)], place: Place) -> Values {
        let mut values = Values::default();
        self.flatten(document, pairs, "", place, &mut values);
        values
    }

    /// Counts the settings of the command line among those that were read.
    pub fn remember_without_meaning(&mut self, flags: &Values) {
        let names = flags.iter().map(|(name, _)| name);
        self.without_meaning.extend(names.filter(|name| table::find(name).is_some_and(|s| s.without_meaning)));
    }

    /// One note for all settings that were read and mean nothing here.
    pub fn note_without_meaning(&mut self) {
        if self.without_meaning.is_empty() {
            return;
        }
        self.without_meaning.sort_unstable();
        self.without_meaning.dedup();
        let names = self.without_meaning.join(", ");
        self.diagnostics.push(note("no-meaning", None, format!("accepted, but without a meaning here: {names}")));
    }

    fn flatten(&mut self, document: &Document, pairs: &[(Node, Node)], prefix: &str, place: Place, out: &mut Values) {
        for (key, value) in pairs {
            let Data::Scalar { text, .. } = &key.data else {
                let span = span_of(document.source, &key.bytes);
                self.diagnostics.push(Diagnostic::error("unknown-setting", span, "a list or map cannot be a name"));
                continue;
            };
            let name = if prefix.is_empty() { text.clone() } else { format!("{prefix}.{text}") };
            match &value.data {
                Data::Map(inner) => self.flatten(document, inner, &name, place, out),
                Data::Scalar { .. } | Data::List(_) => self.setting(document, &name, key, value, place, out),
            }
        }
    }

    fn setting(&mut self, document: &Document, name: &str, key: &Node, value: &Node, place: Place, out: &mut Values) {
        let key_span = span_of(document.source, &key.bytes);
        let Some(setting) = table::find(name) else {
            self.diagnostics.push(unknown(name, key_span));
            return;
        };
        if !self.belongs_here(setting, key_span, place) {
            return;
        }
        if setting.without_meaning {
            self.without_meaning.push(setting.name);
        }
        let span = span_of(document.source, if value.bytes.is_empty() { &key.bytes } else { &value.bytes });
        let Some(read) = self.value(setting, value, span, place) else { return };
        let shown = format!("{}:{}", document.name, self.sources.place(key_span).line);
        let origin = Origin::File { shown, span };
        if let Some(before) = out.set(setting, read, origin).and_then(|before| before.origin.span()) {
            let message = format!("`{name}` is set twice; this one wins");
            let twice = Diagnostic::warning("set-twice", key_span, message).related(before, "set before");
            self.diagnostics.push(twice.help("remove one of the two"));
        }
    }

    /// Whether a setting may stand where it does; says so if not.
    fn belongs_here(&mut self, setting: &'static Setting, span: Span, place: Place) -> bool {
        let name = setting.name;
        match (place, setting.scope) {
            (Place::Pipelines | Place::SpillwayPipelines, Scope::Process) => {
                let message = format!(
                    "Only pipeline related settings are expected. Received `{name}`, which is one for the whole process"
                );
                let diagnostic = Diagnostic::error("unknown-setting", span, message).label("not a pipeline setting");
                self.diagnostics.push(diagnostic.help(format!(
                    "move it to logstash.yml; allowed here: {}",
                    pipeline_settings(place).collect::<Vec<_>>().join(", ")
                )));
                return false;
            }
            (Place::Pipelines | Place::SpillwayPipelines, Scope::IgnoredInPipelines) => {
                let message = format!("`{name}` is ignored here, it holds for all pipelines");
                let diagnostic = Diagnostic::warning("ignored-setting", span, message);
                self.diagnostics.push(diagnostic.help("set it in logstash.yml"));
                return false;
            }
            (Place::LogstashYml | Place::Pipelines, _) if !setting.of_logstash => {
                let message = format!("`{name}` is unknown to Logstash, which would not start with this file");
                let mut diagnostic = note("spillway-setting", Some(span), message);
                diagnostic.help = Some("move it to spillway.yml in the same folder".into());
                self.diagnostics.push(diagnostic);
            }
            _ => {}
        }
        true
    }

    /// The value of a setting; `None` when it is wrong, which is reported.
    fn value(&mut self, setting: &'static Setting, node: &Node, span: Span, place: Place) -> Option<Value> {
        let raw = self.raw(setting, node, span, place)?;
        if raw.is_null() {
            if setting.default.is_empty() {
                return Some(Value::None);
            }
            let message = format!("`{}` has no value", setting.name);
            let help =
                format!("remove the line, or give it {}; its default is {}", setting.kind.allowed(), setting.default);
            self.diagnostics.push(Diagnostic::error("invalid-value", span, message).help(help));
            return None;
        }
        match setting.kind.read(&raw) {
            Ok(value) => {
                if kind::is_bare_time(setting.kind, &raw) {
                    let message = format!("`{}` has no unit, which counts nanoseconds and is deprecated", setting.name);
                    let bare = Diagnostic::warning("invalid-value", span, message).label("no unit");
                    self.diagnostics.push(bare.help(format!("did you mean {}s?", raw.shown())));
                }
                Some(value)
            }
            Err(allowed) => {
                let shown = if setting.kind == Kind::Password { "<password>".into() } else { raw.shown() };
                let message = format!("`{}` cannot be `{shown}`: it must be {allowed}", setting.name);
                self.diagnostics.push(Diagnostic::error("invalid-value", span, message).label("wrong value"));
                None
            }
        }
    }

    /// What was written, variables replaced.
    fn raw(&mut self, setting: &'static Setting, node: &Node, span: Span, place: Place) -> Option<Raw> {
        match &node.data {
            Data::Scalar { text, plain } => self.replaced(setting, text, *plain, span, place),
            Data::List(items) => {
                let mut texts = Vec::new();
                for item in items {
                    let Data::Scalar { text, .. } = &item.data else {
                        let message = format!("`{}` must be {}", setting.name, setting.kind.allowed());
                        self.diagnostics.push(Diagnostic::error("invalid-value", span, message));
                        return None;
                    };
                    match self.replaced(setting, text, false, span, place)? {
                        Raw::Scalar { text, .. } => texts.push(text),
                        Raw::List(items) => texts.extend(items),
                    }
                }
                Some(Raw::List(texts))
            }
            Data::Map(_) => None,
        }
    }

    fn replaced(&mut self, setting: &Setting, text: &str, plain: bool, span: Span, place: Place) -> Option<Raw> {
        if setting.name == "config.string" {
            let replaced = variables::replace_in_config(text, self.variables);
            return self.or_undefined(replaced, span).map(Raw::text);
        }
        let replaced = self.or_undefined(variables::replace(text, self.variables), span)?;
        Some(match (replaced == text, place) {
            (true, _) => Raw::Scalar { text: text.to_owned(), plain },
            // A pipeline's own values are not tidied.
            (false, Place::Pipelines) => Raw::text(replaced),
            (false, _) => variables::tidy(&replaced),
        })
    }

    fn or_undefined<T>(&mut self, replaced: Result<T, Vec<String>>, span: Span) -> Option<T> {
        let names = match replaced {
            Ok(replaced) => return Some(replaced),
            Err(names) => names,
        };
        let shown: Vec<_> = names.iter().map(|name| format!("`${{{name}}}`")).collect();
        let message = format!("Cannot evaluate {}: not set in the environment", shown.join(", "));
        let first = names.first().map_or("NAME", String::as_str);
        let help = format!("set the variable, or write a default: ${{{first}:default}}");
        self.diagnostics.push(Diagnostic::error("undefined-variable", span, message).help(help));
        None
    }
}

/// The settings that may stand in an entry for one pipeline.
fn pipeline_settings(place: Place) -> impl Iterator<Item = &'static str> {
    table::all()
        .filter(move |s| s.scope == Scope::Pipeline && (s.of_logstash || place == Place::SpillwayPipelines))
        .map(|setting| setting.name)
}

/// A diagnostic that is no mistake.
pub fn note(code: &'static str, span: Option<Span>, message: String) -> Diagnostic {
    let mut diagnostic = Diagnostic::global(code, message);
    diagnostic.level = crate::config::diagnostic::Level::Note;
    diagnostic.span = span;
    diagnostic
}

/// A warning that has no place in a file.
pub fn warning(code: &'static str, message: String) -> Diagnostic {
    let mut diagnostic = Diagnostic::global(code, message);
    diagnostic.level = crate::config::diagnostic::Level::Warning;
    diagnostic
}

/// The bytes of a source as a span.
pub fn span_of(source: SourceId, bytes: &Range<usize>) -> Span {
    let clamp = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { source, start: clamp(bytes.start), end: clamp(bytes.end) }
}

/// `Setting "x" doesn't exist`, with the right name where it is known.
fn unknown(name: &str, span: Span) -> Diagnostic {
    let message = format!("Setting \"{name}\" doesn't exist. Please check if you haven't made a typo.");
    let diagnostic = Diagnostic::error("unknown-setting", span, message).label("unknown setting");
    if let Some(advice) = table::renamed(name) {
        return diagnostic.help(format!("Logstash 9 no longer knows it: {advice}"));
    }
    if name.starts_with('-') && !name.starts_with("--") {
        return diagnostic.help("a list entry needs a blank after the `-`");
    }
    if table::all().any(|s| s.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))) {
        return diagnostic
            .help(format!("names that start with `{name}.` exist, but none stands under it; remove the line"));
    }
    match did_you_mean(&table::nearest(name)) {
        Some(question) => diagnostic.help(question),
        None => diagnostic,
    }
}

/// The end of the line that holds a byte.
fn line_end(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |length| at + length)
}

/// What is usually wrong when YAML cannot be read.
fn yaml_help(text: &str, at: usize) -> String {
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let line = text.get(start..line_end(text, start)).unwrap_or_default();
    let before = text.get(..start).unwrap_or_default();
    if looks_like_pipeline(text) {
        return "this looks like a pipeline configuration: give it with -f, or as path.config in pipelines.yml".into();
    }
    if line.contains('\t') {
        return "YAML is indented with blanks; there is a tab in this line".into();
    }
    let near = before.lines().rev().take(2).chain([line]);
    if near.into_iter().any(|line| line.trim_start().trim_start_matches("- ").split_once(':').is_some_and(no_blank)) {
        return "a blank is needed after each colon: `pipeline.id: main`".into();
    }
    "keys of one map must start in the same column, and a list entry needs a blank after the `-`".into()
}

fn no_blank((_, value): (&str, &str)) -> bool {
    value.starts_with(|c: char| !c.is_whitespace() && c != '/')
}

/// Whether a text is in the configuration language rather than YAML.
pub fn looks_like_pipeline(text: &str) -> bool {
    text.lines().any(|line| {
        ["input", "filter", "output"].iter().any(|section| {
            line.trim_start().strip_prefix(section).is_some_and(|rest| rest.trim_start().starts_with('{'))
        })
    })
}
