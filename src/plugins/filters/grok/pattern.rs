//! A grok pattern that is ready to match: its regexp, and what its groups mean.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::capture::{self, Capture, Storage, StoreError};
use super::expand::{ExpandError, expand};
use super::layout::Layout;
use super::library::Library;
use crate::config::{did_you_mean, nearest};
use crate::event::{Event, Text};
use crate::plugins::Alternative;
use crate::regexp::{GaveUp, Groups, RegexpError, RubyRegex, TimeLimit};

/// A compiled pattern.
#[derive(Debug)]
pub(in crate::plugins) struct Pattern {
    /// As it was written, with its references.
    text: String,
    /// Whether a text has matched.
    matched: AtomicBool,
    regexp: RubyRegex,
    captures: Vec<Capture>,
    layout: Option<Layout>,
}

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Its references.
    #[error(transparent)]
    Expand(#[from] ExpandError),
    /// What they lead to.
    #[error("grok pattern is no regular expression: {0}")]
    Regexp(#[from] RegexpError),
}

impl PatternError {
    /// The stable name of the mistake.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Expand(ExpandError::Unknown { .. }) => "unknown-pattern",
            _ => "bad-regexp",
        }
    }

    /// Where in the pattern it is, if that is known.
    pub fn place(&self) -> Option<Range<usize>> {
        match self {
            Self::Expand(ExpandError::Unknown { place, .. }) => place.clone(),
            _ => None,
        }
    }

    /// The pattern that was likely meant.
    pub fn help(&self, library: &Library) -> Option<String> {
        match self {
            Self::Expand(ExpandError::Unknown { name, .. }) => did_you_mean(&nearest(name, library.names())),
            _ => None,
        }
    }
}

/// Expands and compiles a pattern.
pub fn compile(pattern: &str, library: &Library, name_all: bool) -> Result<RubyRegex, PatternError> {
    Ok(RubyRegex::for_captures(&expand(pattern, library, name_all)?)?)
}

impl Pattern {
    pub fn compile(pattern: &str, library: &Library, name_all: bool, storage: &Storage) -> Result<Self, PatternError> {
        let regexp = compile(pattern, library, name_all)?;
        let captures = capture::captures(regexp.group_names(), storage);
        let layout = Layout::of(&captures);
        Ok(Self { text: pattern.to_owned(), matched: AtomicBool::new(false), regexp, captures, layout })
    }

    /// Whether the text matches; the groups are then set.
    pub fn matches(&self, text: &str, groups: &mut Groups, limit: &mut TimeLimit) -> Result<bool, GaveUp> {
        let matches = self.regexp.captures_within(text, groups, limit)?;
        // Written once: a flag that all workers write would go from core to core with every event.
        if matches && !self.matched.load(Ordering::Relaxed) {
            self.matched.store(true, Ordering::Relaxed);
        }
        Ok(matches)
    }

    /// What test coverage says of it.
    pub fn as_alternative(&self) -> Alternative<'_> {
        Alternative { text: &self.text, matched: self.matched.load(Ordering::Relaxed) }
    }

    /// Stores the groups of a match. At the first one that the event does not take, the rest is left.
    pub fn store(&self, event: &mut Event, text: &Text, groups: &Groups) -> Result<(), StoreError> {
        if let Some(layout) = &self.layout
            && layout.store(&self.captures, event, text, groups)?
        {
            return Ok(());
        }
        for capture in &self.captures {
            capture.store(event, groups.get(capture.group).map(|range| text.piece(range)))?;
        }
        Ok(())
    }
}
