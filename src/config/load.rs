//! From where a pipeline's text comes to a checked tree.

use std::path::PathBuf;

use super::ast::Config;
use super::builder;
use super::diagnostic::Diagnostics;
use super::scope::{Language, Scope};
use super::source::Sources;
use super::syntax;
use super::variables::{Undefined, Variables};

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
#[derive(Debug, Default)]
pub struct Loaded {
    /// What could be read. Only to be run when there are no errors.
    pub config: Config,
    /// The texts that the spans of the tree point into.
    pub sources: Sources,
    /// Errors and warnings, in the order of the sources.
    pub diagnostics: Diagnostics,
    /// The files that were read, in their order.
    pub files: Vec<PathBuf>,
}

/// Reads a configuration as a pipeline is given it.
pub fn load(origin: &Origin, language: &Language, variables: &Variables) -> Loaded {
    let mut loaded = Loaded::default();
    match origin {
        Origin::String { name, text } => {
            loaded.sources.add(name.clone(), text.as_str());
        }
        Origin::Path(_) => {}
    }
    read_sources(&mut loaded, *language, variables);
    loaded
}

/// Reads a text alone: no variables, no default sections. Never panics, whatever the text.
pub fn parse(text: &str) -> Loaded {
    let mut loaded = Loaded::default();
    loaded.sources.add("config string", text);
    read_sources(&mut loaded, Language::default(), &Variables::default());
    loaded
}

/// Each text by itself; their sections are joined in order.
fn read_sources(loaded: &mut Loaded, language: Language, variables: &Variables) {
    let mut undefined = Undefined::default();
    for (source, text) in loaded.sources.iter() {
        let diagnostics = &mut loaded.diagnostics;
        let mut scope = Scope { source, language, variables, undefined: &mut undefined, diagnostics };
        let config = &mut loaded.config;
        syntax::read(&text.text, &mut scope, |root, scope| builder::build(root, config, scope));
    }
    loaded.diagnostics.0.extend(undefined.into_diagnostic());
}
