//! Tries a pattern on lines and tells how far it gets: for people who write patterns.

use std::ops::Range;
use std::time::Duration;

use super::capture::{self, Storage};
use super::library::Library;
use super::pattern::{PatternError, compile};
use super::pieces::{Piece, PieceKind, pieces};
use crate::event::{Text, Value};
use crate::regexp::{Groups, RubyRegex, TimeLimit};

/// Time for one try; the filter's default.
const LIMIT: Duration = Duration::from_secs(30);
/// Groups of pieces have names that no field can have.
const MARK: &str = "@piece";
/// What is proposed where a pattern stops, the most special first.
const PROPOSED: &[&str] = &[
    "TIMESTAMP_ISO8601",
    "HTTPDATE",
    "SYSLOGTIMESTAMP",
    "UUID",
    "URI",
    "IP",
    "NUMBER",
    "QS",
    "WORD",
    "NOTSPACE",
    "SPACE",
    "DATA",
];

/// A pattern on trial.
pub struct Trial {
    library: Library,
    pieces: Vec<Piece>,
    whole: RubyRegex,
    /// The first one, two, … pieces, each piece a group; `None` when they make no pattern of their own.
    prefixes: Vec<Option<RubyRegex>>,
    groups: Groups,
}

/// What became of a line.
#[derive(Debug, PartialEq)]
pub enum Tried {
    /// It matches; what is captured, in the order of the line.
    Matched(Vec<Captured>),
    /// It does not.
    Stopped(Stop),
    /// It took too long.
    GaveUp,
}

/// A piece of a line.
#[derive(Debug, PartialEq)]
pub struct Captured {
    /// The field, or the pattern that has none.
    pub name: String,
    /// Whether it goes into a field.
    pub is_field: bool,
    /// As it would be stored.
    pub value: Value,
}

/// How far a line was matched.
#[derive(Debug, PartialEq, Eq)]
pub struct Stop {
    /// What the references that matched took.
    pub matched: Vec<Range<usize>>,
    /// The first byte behind the part that matched.
    pub at: usize,
    /// How many references the pattern has.
    pub references: usize,
    /// The piece that does not match.
    pub piece: Piece,
    /// Patterns that would match here.
    pub fitting: Vec<&'static str>,
}

impl Trial {
    /// Compiles a pattern.
    pub fn new(pattern: &str, library: Library) -> Result<Self, PatternError> {
        compile(pattern, &library, false)?;
        let pieces = pieces(pattern);
        let marked = |pieces: &[Piece]| -> String {
            let groups = pieces.iter().enumerate();
            groups.map(|(at, piece)| marked(at, piece)).collect()
        };
        // A pattern that refers to groups by number takes no marks.
        let whole = compile(&marked(&pieces), &library, false).or_else(|_| compile(pattern, &library, false))?;
        let prefix = |count| compile(&marked(pieces.get(..count).unwrap_or_default()), &library, false).ok();
        let prefixes = (1..pieces.len()).map(prefix).collect();
        Ok(Self { library, whole, prefixes, pieces, groups: Groups::default() })
    }

    /// Tries a line.
    pub fn line(&mut self, text: &str) -> Tried {
        match self.whole.captures_within(text, &mut self.groups, &mut TimeLimit::new(Some(LIMIT))) {
            Ok(true) => Tried::Matched(self.captures(text)),
            Ok(false) => self.stop(text),
            Err(_) => Tried::GaveUp,
        }
    }

    fn captures(&self, text: &str) -> Vec<Captured> {
        let text = Text::from(text);
        let all = capture::captures(self.whole.group_names(), &Storage::default());
        let mut found: Vec<(usize, Captured)> = Vec::new();
        for capture in all {
            let Some(range) = self.groups.get(capture.group).filter(|range| !range.is_empty()) else { continue };
            let (name, is_field) = match capture.name.strip_prefix(MARK) {
                Some(piece) => match piece.parse().ok().and_then(|at: usize| self.pieces.get(at)).map(|p| &p.kind) {
                    Some(PieceKind::Reference { unnamed: Some(name) }) => (name.clone(), false),
                    _ => continue,
                },
                None => (capture.name.clone(), true),
            };
            found.push((range.start, Captured { name, is_field, value: capture.value(text.piece(range)) }));
        }
        found.sort_by_key(|(start, _)| *start);
        found.into_iter().map(|(_, captured)| captured).collect()
    }

    /// The largest number of first pieces that match somewhere.
    fn stop(&mut self, text: &str) -> Tried {
        for (count, prefix) in self.prefixes.iter().enumerate().rev() {
            let Some(prefix) = prefix else { continue };
            match prefix.captures_within(text, &mut self.groups, &mut TimeLimit::new(Some(LIMIT))) {
                Ok(true) => {
                    let names = prefix.group_names().iter().enumerate();
                    let references = names.filter(|(_, name)| {
                        let piece = name.as_deref().and_then(|name| name.strip_prefix(MARK)?.parse::<usize>().ok());
                        let piece = piece.and_then(|at| self.pieces.get(at));
                        piece.is_some_and(|piece| matches!(piece.kind, PieceKind::Reference { .. }))
                    });
                    let matched = references.filter_map(|(at, _)| self.groups.get(at + 1)).collect();
                    let end = self.groups.get(0).map_or(0, |range| range.end);
                    return self.stopped(text, count + 1, end, matched);
                }
                Ok(false) => {}
                Err(_) => return Tried::GaveUp,
            }
        }
        self.stopped(text, 0, 0, Vec::new())
    }

    fn stopped(&self, text: &str, pieces: usize, at: usize, matched: Vec<Range<usize>>) -> Tried {
        let is_reference = |piece: &&Piece| matches!(piece.kind, PieceKind::Reference { .. });
        let nothing = || Piece { text: String::new(), kind: PieceKind::Literal };
        Tried::Stopped(Stop {
            matched,
            at,
            references: self.pieces.iter().filter(is_reference).count(),
            piece: self.pieces.get(pieces).cloned().unwrap_or_else(nothing),
            fitting: self.fitting(text.get(at..).unwrap_or_default()),
        })
    }

    fn fitting(&self, rest: &str) -> Vec<&'static str> {
        let mut groups = Groups::default();
        let mut fits = |name: &&&str| {
            let Ok(regex) = compile(&format!("\\A%{{{name}}}"), &self.library, false) else { return false };
            let mut limit = TimeLimit::steps();
            let found = regex.captures_within(rest, &mut groups, &mut limit) == Ok(true);
            found && (**name == "DATA" || groups.get(0).is_some_and(|range| !range.is_empty()))
        };
        if rest.is_empty() { Vec::new() } else { PROPOSED.iter().filter(|name| fits(name)).copied().collect() }
    }
}

/// A piece as a group of its own, so that it can be seen what it took.
fn marked(at: usize, piece: &Piece) -> String {
    match piece.kind {
        PieceKind::Reference { .. } => format!("(?<{MARK}{at}>{})", piece.text),
        _ => piece.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::Ecs;

    fn tried(pattern: &str, line: &str) -> Tried {
        Trial::new(pattern, Library::bundled(Ecs::V8)).unwrap().line(line)
    }

    fn stop(pattern: &str, line: &str) -> Stop {
        match tried(pattern, line) {
            Tried::Stopped(stop) => stop,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn captures_come_in_the_order_of_the_line() {
        let Tried::Matched(found) = tried("%{IP:c} (?<v>%{WORD}) %{WORD} %{NUMBER:ms:int}", "192.0.2.1 GET it 12")
        else {
            panic!("no match");
        };
        let shown: Vec<String> = found.iter().map(|c| format!("{} {} {:?}", c.name, c.is_field, c.value)).collect();
        assert_eq!(
            shown,
            [
                "c true String(\"192.0.2.1\")",
                "v true String(\"GET\")",
                "WORD false String(\"it\")",
                "ms true Integer(12)"
            ]
        );
    }

    #[test]
    fn the_stop_is_behind_the_most_pieces_that_match() {
        let stop = stop("%{IPORHOST:client} %{WORD:verb} %{NUMBER:ms:int}ms", "192.0.2.8 GET slow");
        assert_eq!((stop.at, stop.matched.as_slice(), stop.references), (14, &[0..9, 10..13][..], 3));
        assert_eq!(stop.piece.text, "%{NUMBER:ms:int}");
        assert_eq!(stop.fitting, ["WORD", "NOTSPACE", "DATA"]);
    }

    #[test]
    fn a_literal_can_be_what_fails() {
        let found = stop("%{INT:n} ms$", "12ms");
        assert_eq!((found.at, found.piece.text.as_str()), (2, " ms$"));
        let found = stop("x%{INT}", "");
        assert_eq!((found.at, found.matched.len(), found.fitting.len()), (0, 0, 0));
    }
}
