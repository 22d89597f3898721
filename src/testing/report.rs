//! What is printed: cases that failed, and the summary.

use std::fmt::Write;
use std::time::Duration;

use super::compare::Difference;
use super::file::Entry;
use super::verdict::{Failure, Finding, Tally};
use crate::event::Value;

/// A failed case as text: where it is, what it is about, what differs, and the command that runs it alone.
pub fn failure(entry: &Entry, failure: &Failure, rerun: &str) -> String {
    let mut out = String::new();
    let file = entry.file.display();
    // Writing to a String never fails.
    let _ = write!(out, "FAIL {}  {file}:{}", entry.name, entry.line);
    if let Some(config) = named_config(entry) {
        let _ = write!(out, "   config {config}");
    }
    out.push('\n');
    if let Some(why) = entry.keys.get("why").and_then(Value::as_str) {
        let _ = writeln!(out, "     why: {}", why.trim_end());
    }
    for finding in &failure.findings {
        out.push_str(&self::finding(finding));
    }
    if let Some(route) = route(failure) {
        let _ = writeln!(out, "     {route}");
    }
    let _ = writeln!(out, "     rerun: {rerun}");
    out
}

/// The command that runs a case alone. `flags` are those of the run that this needs too.
pub fn rerun(entry: &Entry, flags: &[String]) -> String {
    let words = ["spillway".into(), "test".into(), entry.file.display().to_string()].into_iter();
    let words = words.chain(flags.iter().cloned()).chain(["--filter".into(), glob::Pattern::escape(&entry.name)]);
    words.map(|word| for_shell(&word)).collect::<Vec<_>>().join(" ")
}

/// A word that a shell takes as it is.
fn for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The summary line: `12 passed, 1 failed, 0 skipped in 18 ms`.
pub fn summary(tally: Tally, took: Duration) -> String {
    let Tally { passed, failed, skipped } = tally;
    format!("{passed} passed, {failed} failed, {skipped} skipped in {} ms", took.as_millis())
}

fn named_config(entry: &Entry) -> Option<&str> {
    ["file", "pipeline"].iter().find_map(|key| entry.keys.get(key).and_then(Value::as_str))
}

fn finding(finding: &Finding) -> String {
    match finding {
        Finding::Message(message) => format!("     {message}\n"),
        Finding::Refused(errors) => format!("     does not start:\n{}", indented(errors)),
        Finding::Started(words) => format!("     starts, but should be refused with {}\n", quoted(words)),
        Finding::OtherRefusal { lacks, refusal } => {
            format!("     is refused, but {} is missing in:\n{}", quoted(lacks), indented(refusal))
        }
        Finding::NothingExpected(events) if events.is_empty() => {
            "     expects nothing; no event came out: write `expect: []` if that is right\n".into()
        }
        Finding::NothingExpected(events) => {
            format!("     expects nothing; add `expect`. What came out:\n{}", indented(&events.join("\n")))
        }
        Finding::Differs { what, at, of, differences } => {
            format!("     {} {} of {of}\n{}", what.name(), at + 1, differences_table(differences))
        }
        Finding::Missing { what, at, shown } => format!("     missing {} {}: {shown}\n", what.name(), at + 1),
        Finding::Extra { what, at, shown } => format!("     extra {} {}: {shown}\n", what.name(), at + 1),
    }
}

/// One line for each value that differs, in columns.
fn differences_table(differences: &[Difference]) -> String {
    let rows: Vec<(String, String)> = differences
        .iter()
        .map(|difference| {
            let path = if difference.path.0.is_empty() { "all".to_owned() } else { difference.path.to_string() };
            let expected = match &difference.expected {
                Some(expected) => format!("expected {expected}"),
                None => "not expected".to_owned(),
            };
            (path, expected)
        })
        .collect();
    let width = |texts: &mut dyn Iterator<Item = &String>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
    let path_width = width(&mut rows.iter().map(|(path, _)| path));
    let expected_width = width(&mut rows.iter().map(|(_, expected)| expected));
    let mut out = String::new();
    for (difference, (path, expected)) in differences.iter().zip(&rows) {
        let sign = if difference.expected.is_some() { '-' } else { '+' };
        let got = difference.got.as_deref().unwrap_or("nothing");
        let _ = writeln!(out, "       {sign} {path:path_width$}  {expected:expected_width$}    got {got}");
    }
    out
}

fn route(failure: &Failure) -> Option<String> {
    let route = &failure.route;
    let mut parts = Vec::new();
    if !route.passed.is_empty() {
        parts.push(format!("passed: {}", route.passed.join(" -> ")));
    }
    if !route.not_taken.is_empty() {
        parts.push(format!("not taken: {}", route.not_taken.join(", ")));
    }
    (!parts.is_empty()).then(|| parts.join(" ; "))
}

fn quoted(texts: &[String]) -> String {
    texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(" and ")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("       {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::file;

    #[test]
    fn the_rerun_line_can_be_pasted_into_a_shell() {
        let entries = file::parse(std::path::Path::new("my tests/a.yml"), "- case: it's [1]*\n").unwrap();
        let rerun = rerun(&entries[0], &["-f".into(), "x.conf".into()]);
        assert_eq!(rerun, r"spillway test 'my tests/a.yml' -f x.conf --filter 'it'\''s [[]1[]][*]'");
    }
}
