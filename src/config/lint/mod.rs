//! Mistakes that a configuration can hold although every part of it is right.
//!
//! [`flow::Flow`] says once which fields and tags are set and read, and where; each lint is one file that looks at it
//! and at the tree. A lint warns only about what is wrong whatever the events are like: a field that nothing here sets
//! may come with the data.

mod allow;
mod conversions;
mod dead_letter_prefix;
mod fields;
mod files;
mod flow;
pub mod links;
mod mixed_transaction;
mod patterns;
mod reachable;
mod secrets;
mod types;

pub use allow::apply as apply_allowed;
pub(crate) use flow::plugins;

use super::ast::Config;
use super::diagnostic::Diagnostics;
use super::source::{Sources, Span};

/// The fields that conditions ask for and that nothing in the configuration sets, with the places of the conditions.
pub fn fields_of_conditions(config: &Config) -> Vec<(String, Span)> {
    let flow = flow::Flow::of(config);
    let asked = flow
        .conditions
        .iter()
        .flat_map(|(condition, _)| condition.fields().map(|field| (flow::written(field), condition.span())));
    asked.filter(|(field, _)| flow.setters(field).next().is_none()).collect()
}

/// Looks through a configuration that has no errors.
pub fn check(config: &Config, sources: &Sources, from_files: bool, diagnostics: &mut Diagnostics) {
    let flow = flow::Flow::of(config);
    dead_letter_prefix::check(config, diagnostics);
    fields::check(config, &flow, diagnostics);
    types::check(&flow, sources, diagnostics);
    reachable::check(config, diagnostics);
    conversions::check(config, &flow, diagnostics);
    mixed_transaction::check(config, diagnostics);
    patterns::check(config, diagnostics);
    secrets::check(config, sources, diagnostics);
    if from_files {
        files::check(config, diagnostics);
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use crate::config::parse;

    /// The codes of what is found in a configuration, with the text they point at.
    pub fn found(config: &str) -> Vec<(&'static str, String)> {
        all(config).into_iter().map(|(code, text, _)| (code, text)).collect()
    }

    /// As [`found`], with help.
    pub fn all(config: &str) -> Vec<(&'static str, String, String)> {
        let loaded = parse(config);
        assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
        let mut diagnostics = Diagnostics::default();
        check(&loaded.config, &loaded.sources, true, &mut diagnostics);
        let text = |d: &crate::config::diagnostic::Diagnostic| {
            d.span.map(|span| loaded.sources.text(span).to_owned()).unwrap_or_default()
        };
        diagnostics.0.iter().map(|d| (d.code, text(d), d.help.clone().unwrap_or_default())).collect()
    }

    /// The texts that findings of one kind point at.
    pub fn places(code: &str, config: &str) -> Vec<String> {
        found(config).into_iter().filter(|(found, _)| *found == code).map(|(_, text)| text).collect()
    }
}
