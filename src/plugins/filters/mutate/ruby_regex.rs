//! Ruby regular expressions for `gsub`.

use std::ops::Range;

/// A compiled Ruby regular expression.
pub(super) struct RubyRegex(fancy_regex::Regex);

/// One match: where it and its groups lie.
pub(super) struct Match {
    groups: Vec<Option<Range<usize>>>,
    names: Vec<(String, usize)>,
}

impl RubyRegex {
    /// Compiles a pattern.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let mut builder = fancy_regex::RegexBuilder::new(pattern);
        builder.oniguruma_mode(true).multi_line(true);
        builder.build().map(Self).map_err(|error| error.to_string())
    }

    /// The leftmost match from a byte position on.
    pub fn find_at(&self, text: &str, from: usize) -> Result<Option<Match>, String> {
        let found = self.0.captures_from_pos(text, from).map_err(|error| error.to_string())?;
        Ok(found.map(|captures| Match {
            groups: (0..captures.len()).map(|i| captures.get(i).map(|group| group.range())).collect(),
            names: self.0.capture_names().enumerate().filter_map(|(at, name)| Some((name?.to_owned(), at))).collect(),
        }))
    }
}

impl Match {
    /// Where the whole match lies.
    pub fn range(&self) -> Range<usize> {
        self.group(0).unwrap_or_default()
    }

    /// Where a group lies, if it took part.
    pub fn group(&self, index: usize) -> Option<Range<usize>> {
        self.groups.get(index).cloned().flatten()
    }

    /// Where a named group lies: `None` when there is no such name.
    pub fn named(&self, name: &str) -> Option<Option<Range<usize>>> {
        let mut found = self.names.iter().filter(|(known, _)| known == name).map(|(_, at)| self.group(*at)).peekable();
        found.peek()?;
        Some(found.flatten().last())
    }
}
