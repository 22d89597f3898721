//! The line a diagnostic is about, with carets under the exact place.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

use super::RESET;
use super::mask::Line;
use crate::config::source::{Sources, Span};

/// Columns of a line that are shown; longer ones are cut round the place.
const WIDEST: usize = 160;

/// Appends the place, the line before where it helps, the line and its carets.
pub(super) fn write(
    out: &mut String,
    sources: &Sources,
    span: Span,
    label: &str,
    width: usize,
    paint: Option<&'static str>,
) {
    let Some(source) = sources.get(span.source) else { return };
    let place = sources.place(span);
    let text = &*source.text;
    let start = (span.start as usize).min(text.len());
    let line_start = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let line = line_at(text, line_start);
    let _ = writeln!(out, "{:width$} --> {place}", "");
    let _ = writeln!(out, "{:width$}  |", "");
    let before = line_start.checked_sub(1).and_then(|end| text.get(..end)).map(|before| {
        let at = before.rfind('\n').map_or(0, |at| at + 1);
        (at, line_at(text, at))
    });
    if let Some((at, before)) = before.filter(|(_, before)| same_block(before)) {
        let shown = Cut::around(&Line::new(sources, span.source, at, before).text, 0).text;
        let _ = writeln!(out, " {:>width$} | {}", place.line - 1, shown.trim_end());
    }
    let masked = Line::new(sources, span.source, line_start, line);
    let from = masked.shown(start - line_start);
    let to = masked.shown((span.end as usize).min(line_start + line.len()).saturating_sub(line_start));
    let cut = Cut::around(&masked.text, from);
    let _ = writeln!(out, " {:>width$} | {}", place.line, cut.text.trim_end());
    let marked = masked.text.get(from..to).unwrap_or_default();
    let marked: usize = marked.chars().map(columns).sum();
    let carets = "^".repeat(marked.clamp(1, WIDEST));
    let (on, off) = paint.map_or(("", ""), |paint| (paint, RESET));
    let gap = if label.is_empty() { "" } else { " " };
    let _ = writeln!(out, "{:width$}  | {:indent$}{on}{carets}{gap}{label}{off}", "", "", indent = cut.column);
}

fn line_at(text: &str, start: usize) -> &str {
    text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default()
}

/// Whether the line before says something about this one: it does not when it is empty or ends another block.
fn same_block(before: &str) -> bool {
    let before = before.trim();
    !before.is_empty() && !before.starts_with(['}', ']', '#'])
}

/// A line as it is shown, and the column of the place in it.
struct Cut {
    text: String,
    column: usize,
}

impl Cut {
    fn around(line: &str, at: usize) -> Self {
        let total: usize = line.chars().map(columns).sum();
        let column: usize = line.get(..at).unwrap_or(line).chars().map(columns).sum();
        let first = if total <= WIDEST { 0 } else { column.saturating_sub(WIDEST / 2) };
        let mut text = String::new();
        let mut passed = 0;
        let mut skipped = 0;
        for c in line.chars() {
            if passed >= first + WIDEST {
                text.push('…');
                break;
            }
            if passed >= first {
                text.push(if c.is_control() { ' ' } else { c });
            } else {
                skipped = passed + columns(c);
            }
            passed += columns(c);
        }
        if first == 0 {
            return Self { text, column };
        }
        Self { text: format!("…{text}"), column: column + 1 - skipped }
    }
}

/// Columns on a screen. A tab or any other control character is printed as one blank.
fn columns(c: char) -> usize {
    if c.is_control() { 1 } else { c.width().unwrap_or(0) }
}
