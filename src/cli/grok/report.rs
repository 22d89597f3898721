//! What is said of a line.

use std::ops::Range;

use serde_json::json;
use unicode_width::UnicodeWidthChar;

use crate::event::{Value, json as event_json, text_form};
use crate::plugins::filters::grok::pieces::PieceKind;
use crate::plugins::filters::grok::trial::{Captured, Stop, Tried};

/// A line and what is said of it.
pub(super) struct Report<'l> {
    pub number: u64,
    pub text: &'l str,
    /// Which of several patterns, from 1.
    pub pattern: Option<usize>,
    /// The time it took, when that is wanted.
    pub micros: Option<u128>,
}

impl Report<'_> {
    /// For people: with dashes below what matched and a caret where it stopped.
    pub fn text(&self, tried: &Tried) -> String {
        let label = match tried {
            Tried::Matched(_) => "matched",
            Tried::Stopped(_) => "stopped",
            Tried::GaveUp => "gave up",
        };
        let pattern = self.pattern.map(|pattern| format!("pattern {pattern}  ")).unwrap_or_default();
        let time = self.micros.map(|micros| format!("{micros} µs  ")).unwrap_or_default();
        let head = format!("{}  {label}  {pattern}{time}", self.number);
        let indent = " ".repeat(head.chars().count());
        match tried {
            Tried::Matched(captures) => {
                let shown: Vec<String> = captures.iter().map(pair).collect();
                format!("{head}{}\n", shown.join(" "))
            }
            Tried::Stopped(stop) => {
                let lines = [plain(self.text), underline(self.text, stop), explanation(self.text, stop)];
                let mut shown = format!("{head}{}\n", lines.join(&format!("\n{indent}")));
                if !stop.fitting.is_empty() {
                    shown += &format!("{indent}would match here: {}\n", stop.fitting.join(", "));
                }
                shown
            }
            Tried::GaveUp => format!("{head}{}\n{indent}took longer than 30 s\n", plain(self.text)),
        }
    }

    /// For programs: one object on one line.
    pub fn json(&self, tried: &Tried) -> String {
        let mut object = json!({ "line": self.number, "matched": matches!(tried, Tried::Matched(_)) });
        let mut put = |key: &str, value: serde_json::Value| object[key] = value;
        match tried {
            Tried::Matched(captures) => {
                let (fields, unnamed): (Vec<_>, Vec<_>) = captures.iter().partition(|captured| captured.is_field);
                put("fields", fields_of(&fields));
                put("unnamed", unnamed.iter().map(|c| json!({ c.name.as_str(): plain_json(&c.value) })).collect());
            }
            Tried::Stopped(stop) => {
                let before = self.text.get(..stop.at).unwrap_or_default();
                put("column", (before.chars().count() + 1).into());
                put("matched_patterns", stop.matched.len().into());
                put("patterns", stop.references.into());
                put("failed", stop.piece.text.as_str().into());
                put("fitting", stop.fitting.clone().into());
            }
            Tried::GaveUp => put("gave_up", true.into()),
        }
        if let Some(pattern) = self.pattern {
            put("pattern", pattern.into());
        }
        if let Some(micros) = self.micros {
            put("micros", u64::try_from(micros).unwrap_or(u64::MAX).into());
        }
        format!("{object}\n")
    }
}

/// `field="text"`, or `(WORD)="text"` of a pattern without a field.
fn pair(captured: &Captured) -> String {
    let Captured { name, is_field, value } = captured;
    if *is_field { format!("{name}={}", of_json(value)) } else { format!("({name})={}", of_json(value)) }
}

/// Names and values; several values of a name are a list.
fn fields_of(captures: &[&Captured]) -> serde_json::Value {
    let mut object = serde_json::Map::new();
    for captured in captures {
        let value = plain_json(&captured.value);
        match object.get_mut(&captured.name) {
            None => {
                object.insert(captured.name.clone(), value);
            }
            Some(serde_json::Value::Array(list)) => list.push(value),
            Some(first) => *first = serde_json::Value::Array(vec![first.take(), value]),
        }
    }
    object.into()
}

fn plain_json(value: &Value) -> serde_json::Value {
    serde_json::from_str(&of_json(value)).unwrap_or_default()
}

fn of_json(value: &Value) -> String {
    let mut out = Vec::new();
    event_json::write_value(value, &mut out);
    text_form::utf8(out)
}

/// A line as a terminal can show it: tabs and control characters are one blank.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Dashes below what the references took, and a caret at the stop.
fn underline(text: &str, stop: &Stop) -> String {
    let column = |at: usize| -> usize {
        let before = text.get(..at).unwrap_or_default();
        before.chars().map(|c| if c.is_control() { 1 } else { c.width().unwrap_or(0) }).sum()
    };
    let mut out = String::new();
    let mut reach = 0;
    for Range { start, end } in &stop.matched {
        let (start, end) = (column(*start).max(reach), column(*end).max(reach));
        out += &" ".repeat(start - reach);
        out += &"-".repeat(end - start);
        reach = end;
    }
    out += &" ".repeat(column(stop.at).saturating_sub(reach));
    out + "^"
}

fn explanation(text: &str, stop: &Stop) -> String {
    /// Characters of the rest of the line that are shown.
    const SHOWN: usize = 20;
    let piece = match stop.piece.kind {
        PieceKind::Literal => format!("\"{}\"", visible_end(&stop.piece.text)),
        _ => stop.piece.text.clone(),
    };
    let rest = plain(text.get(stop.at..).unwrap_or_default());
    let place = match rest.char_indices().nth(SHOWN) {
        _ if rest.is_empty() => "the end of the line".to_owned(),
        Some((cut, _)) => format!("\"{}…\"", rest.get(..cut).unwrap_or_default()),
        None => format!("\"{rest}\""),
    };
    let (matched, references) = (stop.matched.len(), stop.references);
    let s = if references == 1 { "" } else { "s" };
    format!("{matched} of {references} pattern{s} matched; {piece} does not match {place}")
}

/// Blanks at the end of a text would not be seen.
fn visible_end(text: &str) -> String {
    let end = text.trim_end_matches(' ');
    format!("{end}{}", "·".repeat(text.len() - end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::Ecs;
    use crate::plugins::filters::grok::library::Library;
    use crate::plugins::filters::grok::trial::Trial;

    fn shown(pattern: &str, line: &str) -> String {
        let mut trial = Trial::new(pattern, Library::bundled(Ecs::V8)).unwrap();
        Report { number: 2, text: line, pattern: None, micros: None }.text(&trial.line(line))
    }

    #[test]
    fn a_match_shows_its_captures() {
        let text = shown("%{IPORHOST:client} %{WORD} %{NUMBER:ms:int}ms", "192.0.2.7 GET 12ms");
        assert_eq!(text, "2  matched  client=\"192.0.2.7\" (WORD)=\"GET\" ms=12\n");
    }

    #[test]
    fn a_stop_shows_how_far_the_line_matches() {
        assert_eq!(
            shown("%{IPORHOST:client} %{WORD:verb} %{NUMBER:ms:int}ms", "192.0.2.8 GET slow"),
            "2  stopped  192.0.2.8 GET slow\n            --------- --- ^\n            2 of 3 patterns matched; \
             %{NUMBER:ms:int} does not match \"slow\"\n            would match here: WORD, NOTSPACE, DATA\n"
        );
        assert_eq!(
            shown("%{NOTSPACE:x} at  ", "日本\tat x"),
            "2  stopped  日本 at x\n            ---- ^\n            1 of 1 pattern matched; \" at··\" does not match \
             \" at x\"\n            would match here: SPACE, DATA\n"
                .replace("---- ^", "----^")
        );
        assert!(shown("%{INT:a} b", "1").contains("\" b\" does not match the end of the line\n"));
    }
}
