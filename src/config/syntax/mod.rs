//! What is wrong with a text that the grammar refuses.

use pest::iterators::Pair;

use super::diagnostic::Diagnostic;
use super::grammar::{self, Rule};
use super::scope::{Scope, offset};
use super::source::Span;

/// Reads a text. What is wrong goes to the scope; what can still be read is handed to `build`.
pub(super) fn read(text: &str, scope: &mut Scope<'_>, build: impl FnOnce(Pair<'_, Rule>, &mut Scope<'_>)) {
    match grammar::parse(text) {
        Ok(pair) => build(pair, scope),
        Err(stuck) => {
            let span = Span { source: scope.source, start: offset(stuck.at), end: offset(stuck.at + 1) };
            let message = if stuck.too_deep { "nested more than 100 levels deep" } else { "unexpected text" };
            scope.diagnostics.push(Diagnostic::error("syntax", span, format!("{message} {:?}", stuck.expected)));
        }
    }
}
