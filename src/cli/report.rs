//! How mistakes are printed by commands, and in which words they go to the log.

use std::io::IsTerminal;

use serde_json::json;

use crate::config::diagnostic::{Diagnostic, Diagnostics, Level};
use crate::config::render::Renderer;
use crate::config::source::{Sources, Span};

/// Whether standard error shows colours, unless the user said so: a terminal that can, and nobody who minds.
pub(super) fn color_wanted() -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        return false;
    }
    let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    forced || (std::io::stderr().is_terminal() && set("TERM").is_none_or(|term| term != "dumb"))
}

/// As [`text()`], with notes.
pub(super) fn text_with_notes(diagnostics: &Diagnostics, sources: &Sources, color: bool) -> String {
    let mut text = Renderer::new(sources, color).render_all(diagnostics);
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Mistakes for scripts: one object each.
pub(super) fn json(diagnostics: &Diagnostics, sources: &Sources, pipeline: Option<&str>) -> Vec<serde_json::Value> {
    let mut ordered: Vec<&Diagnostic> = diagnostics.0.iter().collect();
    ordered.sort_by_key(|diagnostic| diagnostic.span);
    ordered.into_iter().map(|diagnostic| one_json(diagnostic, sources, pipeline)).collect()
}

fn one_json(diagnostic: &Diagnostic, sources: &Sources, pipeline: Option<&str>) -> serde_json::Value {
    let place = |span: Option<Span>| {
        let (start, end) = (span.map(|span| sources.place(span)), span.map(|span| sources.place(span.end())));
        json!({
            "file": start.as_ref().map(|place| place.file.clone()),
            "line": start.as_ref().map(|place| place.line), "column": start.as_ref().map(|place| place.column),
            "end_line": end.as_ref().map(|place| place.line), "end_column": end.as_ref().map(|place| place.column),
        })
    };
    let related = diagnostic.related.iter().map(|(span, label)| {
        let mut object = place(Some(*span));
        object["label"] = label.as_str().into();
        object
    });
    let level = match diagnostic.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    };
    let mut object = json!({ "level": level, "code": diagnostic.code, "message": diagnostic.message });
    if let (Some(object), serde_json::Value::Object(place)) = (object.as_object_mut(), place(diagnostic.span)) {
        object.extend(place);
    }
    object["pipeline"] = pipeline.into();
    object["help"] = diagnostic.help.as_deref().into();
    object["related"] = related.collect::<Vec<_>>().into();
    object
}

/// Errors and warnings in the order of their places, with a blank line behind, as a text for standard error.
pub(super) fn text(diagnostics: &Diagnostics, sources: &Sources, color: bool) -> String {
    let shown = Diagnostics(diagnostics.0.iter().filter(|d| d.level != Level::Note).cloned().collect());
    text_with_notes(&shown, sources, color)
}

/// `3 errors, 1 warning`
pub(super) fn counts(diagnostics: &Diagnostics) -> String {
    let count = |level| diagnostics.0.iter().filter(|d| d.level == level).count();
    let number = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    match (count(Level::Error), count(Level::Warning)) {
        (errors, 0) => number(errors, "error"),
        (errors, warnings) => format!("{}, {}", number(errors, "error"), number(warnings, "warning")),
    }
}
