//! Ruby (Onigmo) regexps on the engines of this program.
//!
//! A pattern is translated into one dialect, which three engines read. The `regex` crate takes time that is linear in
//! the text. What it cannot do (look-around, back references, atomic groups, …), and patterns that are matched for
//! their groups, go to the matcher in [`backtrack`]; the few constructs that even that one lacks to `fancy-regex`.
//! Those two give up when it takes too long. Ruby's rules hold everywhere: `\w` is ASCII, `\b` and `[[:alpha:]]` are
//! Unicode, `^` and `$` stand at every line, and named groups keep unnamed ones from capturing.

mod backtrack;
mod class;
mod escape;
mod limit;
mod literal;
mod quantifier;
mod set;
mod translate;

use std::ops::Range;
use std::sync::Arc;

pub use backtrack::Groups;
pub use limit::{GaveUp, TimeLimit};
pub use set::RegexpSet;

use backtrack::Program;
use translate::Translation;

/// Steps after which `fancy-regex` gives up.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// A pattern that is no regexp, or uses what is not supported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RegexpError(pub String);

/// A compiled Ruby regexp. Cloning shares it.
#[derive(Clone, Debug)]
pub struct RubyRegex(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    source: String,
    engine: Engine,
    /// The name of each capturing group, the first group first.
    names: Vec<Option<String>>,
}

#[derive(Debug)]
enum Engine {
    Linear(regex::Regex),
    Backtracking(Backtracking),
    /// A `^` that may match nothing: Ruby's does not match behind the last line feed of a text, the linear engine's
    /// does. So texts that end in a line feed go to the other engine.
    ByLastByte {
        linear: regex::Regex,
        behind_line_feed: Backtracking,
    },
}

#[derive(Debug)]
enum Backtracking {
    Own(Box<Program>),
    Fancy(fancy_regex::Regex),
}

impl RubyRegex {
    /// Compiles a pattern in Ruby's syntax, without options.
    pub fn new(pattern: &str) -> Result<Self, RegexpError> {
        Self::compile(pattern, false)
    }

    /// Compiles a pattern with Ruby's option `m`: a dot matches line feeds too.
    pub fn dot_all(pattern: &str) -> Result<Self, RegexpError> {
        Self::compile(pattern, true)
    }

    /// As [`RubyRegex::dot_all`], for a pattern that is matched for its groups: it always backtracks, which finds them
    /// faster, and which is what a time limit is for.
    pub fn for_captures(pattern: &str) -> Result<Self, RegexpError> {
        let translation = translate::translate(pattern, true)?;
        let engine = Engine::Backtracking(backtracking(&translation)?);
        Ok(Self(Arc::new(Compiled { source: pattern.to_owned(), engine, names: translation.names })))
    }

    fn compile(pattern: &str, dot_all: bool) -> Result<Self, RegexpError> {
        let translation = translate::translate(pattern, dot_all)?;
        let engine = match (translation.linear, translation.empty_line_start) {
            (false, _) => Engine::Backtracking(backtracking(&translation)?),
            (true, false) => Engine::Linear(linear(&translation)?),
            (true, true) => {
                let behind_line_feed = backtracking(&translation)?;
                Engine::ByLastByte { linear: linear(&translation)?, behind_line_feed }
            }
        };
        Ok(Self(Arc::new(Compiled { source: pattern.to_owned(), engine, names: translation.names })))
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0.source
    }

    /// Whether the pattern never backtracks.
    pub fn is_linear(&self) -> bool {
        !matches!(self.0.engine, Engine::Backtracking(_))
    }

    /// The name of each capturing group, the first group first. Unnamed groups have none.
    pub fn group_names(&self) -> &[Option<String>] {
        &self.0.names
    }

    /// Whether the pattern matches anywhere in the text. A match that is given up counts as none.
    pub fn is_match(&self, text: &str) -> bool {
        self.try_is_match(text).unwrap_or(false)
    }

    /// As [`RubyRegex::is_match`], telling when the match was given up.
    pub fn try_is_match(&self, text: &str) -> Result<bool, GaveUp> {
        match self.0.engine.choose(text) {
            Choice::Linear(regex) => Ok(regex.is_match(text)),
            Choice::Backtracking(regex) => regex.find(text, 0, &mut Groups::default(), &mut TimeLimit::steps()),
        }
    }

    /// The bytes of the first match at or behind byte `start`.
    pub fn find_at(&self, text: &str, start: usize) -> Result<Option<Range<usize>>, GaveUp> {
        if !text.is_char_boundary(start) {
            return Ok(None);
        }
        match self.0.engine.choose(text) {
            Choice::Linear(regex) => Ok(regex.find_at(text, start).map(|found| found.range())),
            Choice::Backtracking(regex) => {
                let mut groups = Groups::default();
                let found = regex.find(text, start, &mut groups, &mut TimeLimit::steps())?;
                Ok(if found { groups.get(0) } else { None })
            }
        }
    }

    /// The groups of the first match at or behind byte `start`.
    pub fn captures_at(&self, text: &str, start: usize) -> Result<Option<Captures<'_>>, GaveUp> {
        if !text.is_char_boundary(start) {
            return Ok(None);
        }
        let ranges: Option<Vec<_>> = match self.0.engine.choose(text) {
            Choice::Linear(regex) => {
                let captures = regex.captures_at(text, start);
                captures.map(|captures| captures.iter().map(|group| group.map(|group| group.range())).collect())
            }
            Choice::Backtracking(regex) => {
                let mut groups = Groups::default();
                let found = regex.find(text, start, &mut groups, &mut TimeLimit::steps())?;
                found.then(|| (0..=self.0.names.len()).map(|group| groups.get(group)).collect())
            }
        };
        Ok(ranges.map(|ranges| Captures { ranges, names: &self.0.names }))
    }

    /// Whether the pattern matches anywhere in the text, and the groups of the first match.
    pub fn captures_within(&self, text: &str, groups: &mut Groups, limit: &mut TimeLimit) -> Result<bool, GaveUp> {
        match self.0.engine.choose(text) {
            Choice::Linear(regex) => {
                let captures = regex.captures(text);
                if let Some(captures) = &captures {
                    groups.set_all(captures.iter().map(|group| group.map(|group| group.range())));
                }
                Ok(captures.is_some())
            }
            Choice::Backtracking(regex) => regex.find(text, 0, groups, limit),
        }
    }

    /// All matches from the left, none overlapping, as Ruby's `gsub` goes through them.
    pub fn captures_iter<'r, 't>(&'r self, text: &'t str) -> CapturesIter<'r, 't> {
        CapturesIter { regex: self, text, next: Some(0), last_end: None }
    }
}

enum Choice<'r> {
    Linear(&'r regex::Regex),
    Backtracking(&'r Backtracking),
}

impl Backtracking {
    /// Finds the first match at or behind a place, which must lie between characters.
    fn find(&self, text: &str, start: usize, groups: &mut Groups, limit: &mut TimeLimit) -> Result<bool, GaveUp> {
        match self {
            Self::Own(program) => program.find(text, start, groups, limit),
            Self::Fancy(regex) => {
                let captures = regex.captures_from_pos(text, start).map_err(|_| GaveUp)?;
                if let Some(captures) = &captures {
                    groups.set_all(captures.iter().map(|group| group.map(|group| group.range())));
                }
                Ok(captures.is_some())
            }
        }
    }
}

impl Engine {
    fn choose(&self, text: &str) -> Choice<'_> {
        match self {
            Self::Linear(regex) => Choice::Linear(regex),
            Self::Backtracking(regex) => Choice::Backtracking(regex),
            Self::ByLastByte { behind_line_feed, .. } if text.ends_with('\n') => Choice::Backtracking(behind_line_feed),
            Self::ByLastByte { linear, .. } => Choice::Linear(linear),
        }
    }
}

fn linear(translation: &Translation) -> Result<regex::Regex, RegexpError> {
    regex::RegexBuilder::new(&translation.pattern).multi_line(true).build().map_err(|error| match error {
        // The crate repeats the pattern over several lines; its last line says what is wrong.
        regex::Error::Syntax(text) => {
            RegexpError(text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
        }
        other => RegexpError(other.to_string()),
    })
}

fn backtracking(translation: &Translation) -> Result<Backtracking, RegexpError> {
    if let Some(program) = Program::compile(&translation.pattern, translation.names.len()) {
        return Ok(Backtracking::Own(Box::new(program)));
    }
    let mut builder = fancy_regex::RegexBuilder::new(&translation.pattern);
    builder.oniguruma_mode(true).multi_line(true).backtrack_limit(BACKTRACK_LIMIT).max_prog_size(1 << 20);
    builder.build().map(Backtracking::Fancy).map_err(|error| RegexpError(error.to_string()))
}

/// The groups of a match.
#[derive(Clone, Debug)]
pub struct Captures<'r> {
    ranges: Vec<Option<Range<usize>>>,
    names: &'r [Option<String>],
}

impl Captures<'_> {
    /// The bytes of a group; group 0 is the whole match.
    pub fn get(&self, group: usize) -> Option<Range<usize>> {
        self.ranges.get(group).cloned().flatten()
    }

    /// The bytes of the whole match.
    pub fn range(&self) -> Range<usize> {
        self.get(0).unwrap_or_default()
    }

    /// The bytes of the last group of that name that took part in the match.
    pub fn name(&self, name: &str) -> Option<Range<usize>> {
        let groups = self.names.iter().enumerate().rev();
        groups.filter(|(_, n)| n.as_deref() == Some(name)).find_map(|(at, _)| self.get(at + 1))
    }

    /// Number of groups, the whole match included.
    #[allow(clippy::len_without_is_empty, reason = "group 0 is always there")]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }
}

/// See [`RubyRegex::captures_iter`].
#[derive(Debug)]
pub struct CapturesIter<'r, 't> {
    regex: &'r RubyRegex,
    text: &'t str,
    next: Option<usize>,
    last_end: Option<usize>,
}

impl<'r> Iterator for CapturesIter<'r, '_> {
    type Item = Result<Captures<'r>, GaveUp>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = self.next.take()?;
            let captures = match self.regex.captures_at(self.text, start) {
                Ok(captures) => captures?,
                Err(error) => return Some(Err(error)),
            };
            let range = captures.range();
            let step = || self.text.get(range.end..).and_then(|rest| rest.chars().next()).map(char::len_utf8);
            if !range.is_empty() {
                self.next = Some(range.end);
            } else {
                self.next = step().map(|step| range.end + step);
                // An empty match right behind the last match is none.
                if self.last_end == Some(range.end) {
                    continue;
                }
            }
            self.last_end = Some(range.end);
            return Some(Ok(captures));
        }
    }
}

#[cfg(test)]
pub(crate) use backtrack::assert_matches_as_fancy_regex;

#[cfg(test)]
mod tests;
