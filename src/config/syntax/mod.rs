//! What is wrong with a text that the grammar refuses, in words, and where to go on reading.
//!
//! The grammar only says how far it came. [`explain`] looks at that place with an [`outline::Outline`] and names the
//! mistake; [`recover`] blanks the smallest piece around it, byte for byte, so that the rest can be read again and
//! further mistakes of the same text be reported in the same run.

mod characters;
mod condition;
mod explain;
mod outline;
mod recover;
mod setting;
#[cfg(test)]
mod tests;
mod unclosed;

use pest::iterators::Pair;

use super::diagnostic::Diagnostic;
use super::grammar::{self, Rule, Stuck};
use super::scope::{Scope, offset};
use super::source::Span;
use outline::{Outline, Situation};

/// Syntax errors that are reported of one text. A text with more has one cause that was not understood.
const MOST_ERRORS: usize = 20;
/// Texts longer than this are not read again after their first error: each reading costs the whole text.
const LONGEST_REREAD: usize = 1 << 20;

/// Reads a text. What is wrong goes to the scope; what can still be read is handed to `build`.
pub(super) fn read(text: &str, scope: &mut Scope<'_>, build: impl FnOnce(Pair<'_, Rule>, &mut Scope<'_>)) {
    let first = match grammar::parse(text) {
        Ok(root) => return build(root, scope),
        Err(stuck) => stuck,
    };
    let mut patched = text.to_owned();
    let mut stuck = first;
    for n in 1.. {
        let place = Place::new(&patched, text, &stuck, scope);
        scope.diagnostics.push(explain::explain(&place));
        let patch = recover::patch(&place).filter(|_| n < MOST_ERRORS && text.len() <= LONGEST_REREAD);
        let Some(patch) = patch else { return };
        patched = patch;
        match grammar::parse(&patched) {
            Ok(root) => {
                // What is left is not what the user wrote, so only its errors are worth reporting.
                let before = scope.diagnostics.0.len();
                build(root, scope);
                recover::keep_errors(&mut scope.diagnostics.0, before);
                return;
            }
            Err(next) if next.at <= stuck.at => return,
            Err(next) => stuck = next,
        }
    }
}

/// Where the grammar got stuck, with all that helps to understand it.
struct Place<'t> {
    outline: Outline<'t>,
    situation: Situation,
    stuck: &'t Stuck,
    /// The text before anything was blanked.
    original: &'t str,
    source: super::source::SourceId,
}

impl<'t> Place<'t> {
    fn new(text: &'t str, original: &'t str, stuck: &'t Stuck, scope: &Scope<'_>) -> Self {
        let outline = Outline::new(text);
        let situation = outline.situation(stuck.at);
        Self { outline, situation, stuck, original, source: scope.source }
    }

    fn text(&self) -> &'t str {
        self.outline.text
    }

    /// The text from the place on.
    fn rest(&self) -> &'t str {
        self.text().get(self.stuck.at..).unwrap_or_default()
    }

    /// These bytes, widened to whole characters.
    fn span(&self, start: usize, end: usize) -> Span {
        let start = self.original.floor_char_boundary(start);
        let end = self.original.ceil_char_boundary(end.max(start));
        Span { source: self.source, start: offset(start), end: offset(end) }
    }

    fn token_span(&self, at: usize) -> Span {
        match self.outline.token(at) {
            Some(token) => self.span(token.start, token.end),
            None => self.end_of_text(),
        }
    }

    /// The last character, to point at when the text ends too early.
    fn end_of_text(&self) -> Span {
        let end = self.original.trim_end().len();
        self.span(end.saturating_sub(1), end)
    }

    fn expects(&self, rule: Rule) -> bool {
        self.stuck.expected.contains(&rule)
    }

    fn error(&self, span: Span, message: impl Into<String>, label: &str) -> Diagnostic {
        Diagnostic::error("syntax", span, message).label(label)
    }

    /// The 1-based line of a byte.
    fn line(&self, at: usize) -> usize {
        self.text().get(..at).map_or(1, |before| before.matches('\n').count() + 1)
    }

    /// The run of characters without blanks, quotes, brackets or commas around the place.
    fn unquoted_word(&self) -> (usize, usize) {
        let stops = |c: char| {
            c.is_ascii_whitespace() || matches!(c, '"' | '\'' | '{' | '}' | '[' | ']' | ',' | '#' | '(' | ')')
        };
        let (before, after) = self.text().split_at_checked(self.stuck.at).unwrap_or_default();
        let start = before.rfind(stops).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let end = after.find(stops).unwrap_or(after.len()) + self.stuck.at;
        // `a=>b` is three things.
        let start = self.outline.slice(start..self.stuck.at).rfind("=>").map_or(start, |at| start + at + 2);
        (start, end)
    }
}
