//! What every step of reading one file needs at hand.

use pest::iterators::Pair;

use super::diagnostic::Diagnostics;
use super::grammar::Rule;
use super::source::{SourceId, Span};
use super::variables::{Undefined, Variables};
use crate::event::EscapeStyle;

/// The two settings that change how a configuration is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Language {
    /// `config.support_escapes`: whether `\n` in a string is a line feed.
    pub support_escapes: bool,
    /// `config.field_reference.escape_style`
    pub escape_style: EscapeStyle,
}

/// One file and where its mistakes go.
pub(super) struct Scope<'a> {
    pub source: SourceId,
    pub language: Language,
    pub variables: &'a Variables,
    /// Those that are no secrets.
    pub open_variables: &'a Variables,
    pub undefined: &'a mut Undefined,
    pub diagnostics: &'a mut Diagnostics,
}

impl Scope<'_> {
    pub(super) fn span(&self, pair: &Pair<'_, Rule>) -> Span {
        let span = pair.as_span();
        Span { source: self.source, start: offset(span.start()), end: offset(span.end()) }
    }
}

/// A byte offset as spans store it; sources are never longer than that, see [`super::load()`].
pub(super) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
