//! Prints mistakes: a head line that says it all, then the line with carets under the place.

use std::fmt::Write;

use crate::config::diagnostic::{Diagnostic, Diagnostics, Level};
use crate::config::source::{Sources, Span};

/// All mistakes in the order of their places, as a text for standard error.
pub(super) fn text(diagnostics: &Diagnostics, sources: &Sources) -> String {
    let mut sorted: Vec<&Diagnostic> = diagnostics.0.iter().filter(|d| d.level != Level::Note).collect();
    sorted.sort_by_key(|d| d.span.map(|span| (span.source, span.start)));
    let mut out = String::new();
    for diagnostic in sorted {
        one(diagnostic, sources, &mut out);
        out.push('\n');
    }
    out
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

/// A mistake in one line, for the log.
pub(super) fn line(diagnostic: &Diagnostic, sources: &Sources) -> String {
    let place = diagnostic.span.map(|span| format!("{}: ", sources.place(span))).unwrap_or_default();
    let help = diagnostic.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("{place}{}{help}", diagnostic.message)
}

fn one(diagnostic: &Diagnostic, sources: &Sources, out: &mut String) {
    let level = match diagnostic.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    };
    let place = diagnostic.span.map(|span| sources.place(span));
    let place = place.map(|p| format!("{}: line {}, column {}: ", p.file, p.line, p.column)).unwrap_or_default();
    let _infallible = writeln!(out, "{level}[{}]: {place}{}", diagnostic.code, diagnostic.message);
    if let Some(span) = diagnostic.span {
        excerpt(span, &diagnostic.label, sources, out);
    }
    for (span, label) in &diagnostic.related {
        excerpt(*span, label, sources, out);
    }
    if let Some(help) = &diagnostic.help {
        let _infallible = writeln!(out, "    = help: {help}");
    }
}

fn excerpt(span: Span, label: &str, sources: &Sources, out: &mut String) {
    let place = sources.place(span);
    let Some(source) = sources.get(span.source) else { return };
    let Some(line) = source.text.lines().nth(place.line - 1) else { return };
    let length = sources.text(span).lines().next().map_or(1, |text| text.chars().count().max(1));
    let margin = place.line.to_string().len().max(2);
    let blank = " ".repeat(margin);
    let _infallible = write!(
        out,
        " {blank}--> {place}\n {blank} |\n {:>margin$} | {}\n {blank} | {}{}{}{label}\n",
        place.line,
        line.replace('\t', " "),
        " ".repeat(place.column - 1),
        "^".repeat(length),
        if label.is_empty() { "" } else { " " },
    );
}
