//! Proposes a pattern for lines that are alike.
//!
//! All lines are walked through together. Where each of them stands at something that one pattern of the library
//! takes, and goes on alike behind it, that pattern becomes a piece; where all have the same text, that text does. The
//! result counts only when it matches every line from end to end.

use std::collections::HashMap;

use super::library::Library;
use super::pattern::compile;
use crate::regexp::{Groups, RubyRegex, TimeLimit};

/// Patterns that are told apart by what they look like, the most special first, and the field that each fills.
const SPECIAL: &[(&str, &str)] = &[
    ("TIMESTAMP_ISO8601", "timestamp"),
    ("HTTPDATE", "timestamp"),
    ("SYSLOGTIMESTAMP", "timestamp"),
    ("UUID", "uuid"),
    ("URI", "uri"),
    ("IP", "ip"),
    ("NUMBER", "number"),
    ("QS", "text"),
];
/// Patterns that take nearly anything: only where lines differ.
const GENERAL: &[(&str, &str)] = &[("WORD", "word"), ("NOTSPACE", "value")];

/// A pattern that is tried at a place.
struct Candidate {
    name: &'static str,
    field: &'static str,
    regexp: RubyRegex,
}

/// The pattern as far as it is made, and where each line stands.
struct Walk<'l> {
    lines: &'l [String],
    places: Vec<usize>,
    pattern: String,
    fields: HashMap<&'static str, usize>,
    groups: Groups,
}

/// A pattern that matches each of the lines as a whole; `None` when there is none but `%{GREEDYDATA}`, or no line.
pub fn suggest(lines: &[String], library: &Library) -> Option<String> {
    let candidates = |list: &[(&'static str, &'static str)]| -> Vec<Candidate> {
        let candidate = |&(name, field): &(&'static str, &'static str)| {
            let regexp = compile(&format!("\\A%{{{name}}}"), library, false).ok()?;
            Some(Candidate { name, field, regexp })
        };
        list.iter().filter_map(candidate).collect()
    };
    let (special, general) = (candidates(SPECIAL), candidates(GENERAL));
    let mut walk = Walk {
        lines,
        places: vec![0; lines.len()],
        pattern: String::new(),
        fields: HashMap::new(),
        groups: Groups::default(),
    };
    while !walk.is_at_end() {
        if walk.take_blanks() || walk.take_one_of(&special) || walk.take_common_text() || walk.take_one_of(&general) {
            continue;
        }
        walk.take_rest();
    }
    let pattern = walk.pattern;
    let is_telling = pattern != "%{GREEDYDATA:rest}" && !pattern.is_empty();
    (is_telling && matches_all(&pattern, lines, library)).then_some(pattern)
}

fn matches_all(pattern: &str, lines: &[String], library: &Library) -> bool {
    let Ok(regexp) = compile(&format!("\\A{pattern}\\z"), library, false) else { return false };
    let mut groups = Groups::default();
    lines.iter().all(|line| regexp.captures_within(line, &mut groups, &mut TimeLimit::steps()) == Ok(true))
}

impl Walk<'_> {
    fn rests(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().zip(&self.places).map(|(line, at)| line.get(*at..).unwrap_or_default())
    }

    fn is_at_end(&self) -> bool {
        self.rests().all(str::is_empty)
    }

    /// Goes on in each line by so many bytes.
    fn advance(&mut self, lengths: &[usize]) {
        self.places.iter_mut().zip(lengths).for_each(|(at, length)| *at += length);
    }

    /// Blanks, of which lines may have different numbers.
    fn take_blanks(&mut self) -> bool {
        let lengths: Vec<usize> = self.rests().map(|rest| rest.len() - rest.trim_start_matches(' ').len()).collect();
        if lengths.contains(&0) {
            return false;
        }
        self.pattern += if lengths.iter().all(|length| *length == 1) { " " } else { "%{SPACE}" };
        self.advance(&lengths);
        true
    }

    /// The first pattern that takes something in all lines, behind which all go on alike.
    fn take_one_of(&mut self, candidates: &[Candidate]) -> bool {
        let taken = candidates.iter().find_map(|candidate| Some((candidate, self.lengths(candidate)?)));
        let Some((candidate, lengths)) = taken else { return false };
        let count = self.fields.entry(candidate.field).or_default();
        *count += 1;
        let number = if *count > 1 { count.to_string() } else { String::new() };
        self.pattern += &format!("%{{{}:{}{number}}}", candidate.name, candidate.field);
        self.advance(&lengths);
        true
    }

    fn lengths(&mut self, candidate: &Candidate) -> Option<Vec<usize>> {
        let mut lengths = Vec::with_capacity(self.lines.len());
        let mut behind = None;
        for (line, at) in self.lines.iter().zip(&self.places) {
            let rest = line.get(*at..)?;
            let found = candidate.regexp.captures_within(rest, &mut self.groups, &mut TimeLimit::steps());
            let length = self.groups.get(0).filter(|range| found == Ok(true) && !range.is_empty())?.end;
            let next = rest.get(length..)?.chars().next();
            if *behind.get_or_insert(next) != next {
                return None;
            }
            lengths.push(length);
        }
        Some(lengths)
    }

    /// A word, or one other character, that all lines have here. A word of a single line is no common one.
    fn take_common_text(&mut self) -> bool {
        let Some(first) = self.rests().next() else { return false };
        let word = first.len() - first.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        let length = match word {
            0 => first.chars().next().map_or(0, char::len_utf8),
            _ if self.lines.len() == 1 => return false,
            word => word,
        };
        let Some(text) = first.get(..length).filter(|text| !text.is_empty()).map(str::to_owned) else { return false };
        let continues = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let has_text = |rest: &str| rest.strip_prefix(&*text).is_some_and(|rest| word == 0 || !continues(rest));
        if !self.rests().all(has_text) {
            return false;
        }
        self.pattern += &escaped(&text);
        self.advance(&vec![length; self.lines.len()]);
        true
    }

    fn take_rest(&mut self) {
        self.pattern += "%{GREEDYDATA:rest}";
        let lengths: Vec<usize> = self.rests().map(str::len).collect();
        self.advance(&lengths);
    }
}

/// As the pattern of itself.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::Ecs;

    fn suggested(lines: &[&str]) -> Option<String> {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        suggest(&lines, &Library::bundled(Ecs::V8))
    }

    #[test]
    fn what_differs_becomes_a_field_and_what_all_have_stays() {
        for (lines, pattern) in [
            (
                &["192.0.2.7 GET took 12ms", "192.0.2.80 POST took 7ms"][..],
                "%{IP:ip} %{WORD:word} took %{NUMBER:number}ms",
            ),
            (
                &["2026-01-02T03:04:05Z [main] (3) a.b", "2026-01-02T03:04:06Z [work] (4)  a.c"],
                r"%{TIMESTAMP_ISO8601:timestamp} \[%{WORD:word}\] \(%{NUMBER:number}\)%{SPACE}a\.%{WORD:word2}",
            ),
            (&["a b", "a"], "a%{GREEDYDATA:rest}"),
            (&["up since 3"], "%{WORD:word} %{WORD:word2} %{NUMBER:number}"),
        ] {
            assert_eq!(suggested(lines).as_deref(), Some(pattern), "{lines:?}");
        }
    }

    #[test]
    fn nothing_is_proposed_that_says_nothing() {
        assert_eq!(suggested(&[]), None);
        assert_eq!(suggested(&["", ""]), None);
        assert_eq!(suggested(&["a b", "-"]), None);
    }
}
