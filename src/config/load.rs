//! From where a pipeline's text comes to a checked tree.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::ast::Config;
use super::diagnostic::{Diagnostic, Diagnostics, Level};
use super::scope::{Language, Scope};
use super::source::Sources;
use super::variables::{Undefined, Variables};
use super::{builder, files, lint, syntax};

/// Where the text of a pipeline is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `config.string`
    String {
        /// What messages call it: `config string`.
        name: String,
        /// The configuration.
        text: String,
    },
    /// `path.config`: a file, a directory, a glob, or several of them with commas between.
    Path(String),
}

/// A configuration and all that was noticed on the way.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// What could be read. Only to be run when there are no errors.
    pub config: Config,
    /// The texts that the spans of the tree point into.
    pub sources: Sources,
    /// Errors and warnings.
    pub diagnostics: Diagnostics,
    /// The files that were read, in their order.
    pub files: Vec<PathBuf>,
}

/// Longest file that is taken for a configuration; a device or log named by mistake must not eat the memory.
const LONGEST_FILE: u64 = 64 << 20;

/// Reads a configuration as a pipeline is given it.
pub fn load(origin: &Origin, language: &Language, variables: &Variables) -> Loaded {
    let mut loaded = Loaded::default();
    match origin {
        Origin::String { name, text } => {
            loaded.sources.add(name.clone(), without_mark(text));
            add_default_sections(text, &mut loaded);
        }
        Origin::Path(path_config) => {
            let files = files::find(path_config, &mut loaded.diagnostics);
            read_files(files, &mut loaded);
        }
    }
    read_sources(&mut loaded, *language, variables);
    if !loaded.diagnostics.has_errors() {
        let from_files = matches!(origin, Origin::Path(_));
        lint::check(&loaded.config, &loaded.sources, from_files, &mut loaded.diagnostics);
    }
    loaded
}

/// The texts of a configuration as they are now, to see whether they changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Texts {
    /// A checksum over the names and contents.
    Read([u8; 32]),
    /// It is a pattern, and no file fits it.
    NoFile,
    /// Something of it cannot be read now.
    Unreadable(String),
}

/// What a configuration consists of now.
pub fn texts(origin: &Origin) -> Texts {
    let path_config = match origin {
        Origin::String { text, .. } => return Texts::Read(Sha256::digest(text).into()),
        Origin::Path(path_config) => path_config,
    };
    let mut diagnostics = Diagnostics::default();
    let files = files::find(path_config, &mut diagnostics);
    if files.is_empty() && path_config.contains(['*', '?', '[', '{']) {
        return Texts::NoFile;
    }
    if let Some(error) = diagnostics.0.iter().find(|diagnostic| diagnostic.level == Level::Error) {
        return Texts::Unreadable(error.message.clone());
    }
    let mut sum = Sha256::new();
    for file in &files {
        match read_file(file) {
            Ok(bytes) => {
                for part in [file.as_os_str().as_encoded_bytes(), &bytes] {
                    sum.update((part.len() as u64).to_be_bytes());
                    sum.update(part);
                }
            }
            Err(problem) => return Texts::Unreadable(format!("cannot read `{}`: {problem}", file.display())),
        }
    }
    Texts::Read(sum.finalize().into())
}

/// Reads a text alone: no variables, no default sections. Never panics, whatever the text.
pub fn parse(text: &str) -> Loaded {
    let mut loaded = Loaded::default();
    loaded.sources.add("config string", without_mark(text));
    read_sources(&mut loaded, Language::default(), &Variables::default());
    loaded
}

/// Reads one more text, a piece that stands in for something in the configuration, into a tree of its own. Its mistakes
/// and its text go where those of the configuration are.
pub fn read_piece(loaded: &mut Loaded, name: &str, text: &str, language: Language, variables: &Variables) -> Config {
    let source = loaded.sources.add(name, without_mark(text));
    let mut config = Config::default();
    let mut undefined = Undefined::default();
    let open_variables = &variables.without_secrets();
    let diagnostics = &mut loaded.diagnostics;
    let mut scope = Scope { source, language, variables, open_variables, undefined: &mut undefined, diagnostics };
    syntax::read(without_mark(text), &mut scope, |root, scope| builder::build(root, &mut config, scope));
    loaded.diagnostics.0.extend(undefined.into_diagnostic());
    config
}

/// The text behind a byte order mark.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A configuration string reads standard input and prints events unless it says otherwise.
fn add_default_sections(text: &str, loaded: &mut Loaded) {
    let defaults = [
        ("input", "no-input", "input { stdin { type => stdin } }", "events are read from standard input"),
        ("output", "no-output", "output { stdout { codec => rubydebug } }", "events are printed to standard output"),
    ];
    for (section, code, default, consequence) in defaults {
        if has_section(text, section) {
            continue;
        }
        loaded.sources.add(format!("default {section}"), default);
        let message = format!("the configuration string has no `{section}` section: {consequence}");
        let help = format!("write `{default}` to say so");
        loaded.diagnostics.push(Diagnostic::global_warning(code, message).help(help));
    }
}

/// Whether the word and a brace occur, be it in a comment.
fn has_section(text: &str, section: &str) -> bool {
    text.match_indices(section).any(|(at, word)| {
        let behind = text.get(at + word.len()..).unwrap_or_default();
        behind.trim_start_matches([' ', '\t', '\r', '\n', '\u{b}', '\u{c}']).starts_with('{')
    })
}

fn read_files(files: Vec<PathBuf>, loaded: &mut Loaded) {
    let mut not_text = Vec::new();
    for file in files {
        match read_file(&file) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => {
                    loaded.sources.add(file.display().to_string(), without_mark(&text));
                    loaded.files.push(file);
                }
                Err(error) => {
                    let line = line_of(error.as_bytes(), error.utf8_error().valid_up_to());
                    not_text.push(format!("`{}` (line {line})", file.display()));
                }
            },
            Err(problem) => {
                let message = format!("cannot read `{}`: {problem}", file.display());
                loaded.diagnostics.push(Diagnostic::global("not-readable", message));
            }
        }
    }
    if !not_text.is_empty() {
        let message = format!("not valid UTF-8: {}", not_text.join(", "));
        let help = "convert them to UTF-8, or keep files that are no configuration elsewhere";
        loaded.diagnostics.push(Diagnostic::global("not-readable", message).help(help));
    }
}

/// The number of the line in which a byte stands.
fn line_of(text: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', text.get(..at).unwrap_or_default()).count() + 1
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(format!("it is longer than {} MiB, which no configuration is", LONGEST_FILE >> 20));
    }
    Ok(bytes)
}

/// Each text by itself; their sections are joined in order.
fn read_sources(loaded: &mut Loaded, language: Language, variables: &Variables) {
    let mut undefined = Undefined::default();
    let open_variables = &variables.without_secrets();
    for (source, text) in loaded.sources.iter() {
        let diagnostics = &mut loaded.diagnostics;
        let mut scope = Scope { source, language, variables, open_variables, undefined: &mut undefined, diagnostics };
        let config = &mut loaded.config;
        syntax::read(&text.text, &mut scope, |root, scope| builder::build(root, config, scope));
    }
    loaded.diagnostics.0.extend(undefined.into_diagnostic());
}

#[cfg(test)]
mod tests;
