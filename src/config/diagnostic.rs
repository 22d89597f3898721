//! Errors and warnings about a configuration, each with its code, place and remedy.

use super::source::Span;

/// The code of a `${NAME}` that nothing defines.
pub const UNDEFINED_VARIABLE: &str = "undefined-variable";

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The pipeline cannot start.
    Error,
    /// It starts, and is likely wrong.
    Warning,
    /// Worth knowing.
    Note,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub level: Level,
    /// A stable name for this kind of mistake, such as `unknown-option`.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// Where, if it has a place in a source.
    pub span: Option<Span>,
    /// A few words under the caret.
    pub label: String,
    /// Second places: `opened here`, `first defined here`.
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Level::Error, code, Some(span), message.into())
    }

    /// A warning at a place.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Level::Warning, code, Some(span), message.into())
    }

    /// Something worth knowing at a place.
    pub fn note(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Level::Note, code, Some(span), message.into())
    }

    /// An error that has no place in a source (a missing file, …).
    pub fn global(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Level::Error, code, None, message.into())
    }

    /// A warning that has no place in a source.
    pub fn global_warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Level::Warning, code, None, message.into())
    }

    fn new(level: Level, code: &'static str, span: Option<Span>, message: String) -> Self {
        Self { level, code, message, span, label: String::new(), related: Vec::new(), help: None }
    }

    /// With a few words under the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With a second place.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }
}

/// All mistakes found so far.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Takes out what was said about values that hold an undefined variable: that is the variable's fault, and it is
    /// reported.
    pub fn forget_consequences(&mut self) {
        let undefined = self.0.iter().filter(|d| d.code == UNDEFINED_VARIABLE);
        let places: Vec<Span> =
            undefined.flat_map(|d| d.span.into_iter().chain(d.related.iter().map(|(span, _)| *span))).collect();
        let is_consequence = |d: &Diagnostic| {
            d.span.is_some_and(|span| places.iter().any(|place| span.touches(*place))) && d.code != UNDEFINED_VARIABLE
        };
        self.0.retain(|diagnostic| !is_consequence(diagnostic));
    }

    /// Whether the pipeline cannot start.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.level == Level::Error)
    }
}
