//! Errors and warnings about a configuration, each with its code, place and remedy.

pub use super::nearest::nearest;
use super::source::Span;

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
#[derive(Clone, Debug)]
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

    /// Whether the pipeline cannot start.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.level == Level::Error)
    }
}
