//! Ruby (Onigmo) regexps on the engines of this program.

use std::sync::Arc;

/// A pattern that is no regexp, or uses what is not supported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RegexpError(pub String);

/// A compiled Ruby regexp. Cloning shares it.
#[derive(Clone, Debug)]
pub struct RubyRegex(Arc<fancy_regex::Regex>);

impl RubyRegex {
    /// Compiles a pattern in Ruby's syntax.
    pub fn new(pattern: &str) -> Result<Self, RegexpError> {
        let mut builder = fancy_regex::RegexBuilder::new(pattern);
        builder.oniguruma_mode(true).multi_line(true);
        builder.build().map(Arc::new).map(Self).map_err(|error| RegexpError(error.to_string()))
    }

    /// Whether the pattern matches anywhere in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text).unwrap_or(false)
    }
}
