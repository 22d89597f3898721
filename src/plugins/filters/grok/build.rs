//! From the options of a `grok` block to compiled patterns.

use std::time::Duration;

use super::capture::Storage;
use super::library::Library;
use super::pattern::Pattern;
use super::{Counters, FieldPatterns, Grok, Scope};
use crate::event::{FieldRef, Value, text_form};
use crate::plugins::{Ecs, Filter, Options, convert};

pub(super) fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let mut matches = options
        .hash("match")
        .doc("The pattern, or list of patterns, of each field whose text is taken apart.")
        .default(Vec::new());
    let library = library(options);
    let name_all = !options
        .boolean("named_captures_only")
        .doc("Whether only patterns with a field name are stored; otherwise the others are, under their own name.")
        .default(true);
    let storage = storage(options);
    convert::walk_order(&mut matches, |(field, _)| field);
    let mut fields = Vec::with_capacity(matches.len());
    for (name, value) in &matches {
        let Some(field) = field(options, name) else { continue };
        let mut patterns = Vec::new();
        for text in texts(value) {
            match Pattern::compile(&text, &library, name_all, &storage) {
                Ok(pattern) => patterns.push(pattern),
                Err(error) => {
                    options.wrong_text("match", &text, error.place(), error.code(), &error, error.help(&library));
                }
            }
        }
        let metrics = &options.context().metrics;
        metrics.counter_at(["patterns_per_field", name.as_str()]).add(patterns.len() as u64);
        fields.push(FieldPatterns { field, patterns });
    }
    let metrics = options.context().metrics.clone();
    Box::new(Grok {
        fields,
        break_on_match: options
            .boolean("break_on_match")
            .doc("Whether the first pattern that matches is the last one tried.")
            .default(true),
        tag_on_failure: options
            .strings("tag_on_failure")
            .doc("Tags of an event that nothing matched.")
            .default(vec!["_grokparsefailure".to_owned()]),
        tag_on_timeout: options
            .string("tag_on_timeout")
            .doc("Tag of an event whose text took too long.")
            .default("_groktimeout".to_owned()),
        timeout: timeout(options),
        scope: scope(options),
        counters: Counters {
            matches: metrics.counter("matches"),
            failures: metrics.counter("failures"),
            timeouts: metrics.counter("timeouts"),
        },
    })
}

/// The patterns of a block, in the order in which they are tried, and those that they may refer to; for people who try
/// them.
pub fn tried(options: &mut Options<'_>) -> (Vec<String>, Library) {
    let mut matches = options.hash("match").default(Vec::new());
    convert::walk_order(&mut matches, |(field, _)| field);
    (matches.iter().flat_map(|(_, value)| texts(value)).collect(), library(options))
}

/// The bundled patterns and those of the options.
fn library(options: &mut Options<'_>) -> Library {
    let mut library = Library::bundled(Ecs::read(options));
    let paths = options.strings("patterns_dir").doc("Directories, files or globs with patterns.").default(Vec::new());
    let files_glob = options
        .string("patterns_files_glob")
        .doc("Which files of the directories in `patterns_dir` are read.")
        .default("*".to_owned());
    for path in &paths {
        if let Err(error) = library.read_path(path, &files_glob) {
            options.wrong_text("patterns_dir", path, None, "not-readable", &error, None);
        }
    }
    let definitions =
        options.hash("pattern_definitions").doc("Patterns by name; they beat all others.").default(Vec::new());
    for (name, pattern) in &definitions {
        match pattern {
            Value::Null => {}
            Value::Array(_) => options.invalid("pattern_definitions", format!("`{name}` is defined more than once")),
            pattern => library.define(name, text(pattern).trim_end_matches('\n')),
        }
    }
    library
}

fn storage(options: &mut Options<'_>) -> Storage {
    Storage {
        target: options.string("target").doc("Field below which all captures are stored.").optional(),
        overwrite: options
            .strings("overwrite")
            .doc("Fields whose old value is replaced; others become a list of old and new.")
            .default(Vec::new()),
        keep_empty: options
            .boolean("keep_empty_captures")
            .doc("Whether empty captures are stored, and null for groups that took no part.")
            .default(false),
        escape_style: options.context().escape_style,
    }
}

fn timeout(options: &mut Options<'_>) -> Option<Duration> {
    let millis = options
        .integer("timeout_millis")
        .doc("Milliseconds after which a try is given up; 0 for never.")
        .default(30_000);
    let Ok(millis) = u64::try_from(millis) else {
        options.invalid("timeout_millis", "`timeout_millis` cannot be negative");
        return None;
    };
    (millis > 0).then(|| Duration::from_millis(millis))
}

fn scope(options: &mut Options<'_>) -> Scope {
    let word = options
        .word("timeout_scope", &["pattern", "event"])
        .doc("Whether `timeout_millis` is for each pattern, or for all patterns of a text together.")
        .default("pattern".to_owned());
    if word == "event" { Scope::Event } else { Scope::Pattern }
}

fn field(options: &mut Options<'_>, name: &str) -> Option<FieldRef> {
    let field = FieldRef::parse(name, options.context().escape_style);
    field.map_err(|error| options.invalid("match", error.to_string())).ok()
}

/// The texts of a value; a list of lists comes from a field that is named twice.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        other => vec![text(other)],
    }
}

fn text(value: &Value) -> String {
    let mut text = Vec::new();
    text_form::write_ruby(value, &mut text);
    text_form::utf8(text)
}
