//! How mistakes are printed by commands, and in which words they go to the log.

use std::io::IsTerminal;

use crate::config::diagnostic::{Diagnostic, Diagnostics, Level};
use crate::config::render::Renderer;
use crate::config::source::Sources;

/// Whether standard error shows colours, unless the user said so: a terminal that can, and nobody who minds.
pub(super) fn color_wanted() -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        return false;
    }
    let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    forced || (std::io::stderr().is_terminal() && set("TERM").is_none_or(|term| term != "dumb"))
}

/// Errors and warnings in the order of their places, with a blank line behind, as a text for standard error.
pub(super) fn text(diagnostics: &Diagnostics, sources: &Sources, color: bool) -> String {
    let shown = Diagnostics(diagnostics.0.iter().filter(|d| d.level != Level::Note).cloned().collect());
    let mut text = Renderer::new(sources, color).render_all(&shown);
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// A mistake in one line, for the log.
pub(super) fn line(diagnostic: &Diagnostic, sources: &Sources) -> String {
    Renderer::new(sources, false).one_line(diagnostic)
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
