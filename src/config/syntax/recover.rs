//! Where to go on after a mistake: the smallest piece around it is blanked, so that all other places stay the same.

use std::ops::Range;

use super::Place;
use super::explain::orphan_else;
use super::outline::{FrameKind, TokenKind};
use crate::config::diagnostic::{Diagnostic, Level};
use crate::config::grammar::Rule;

/// The text with the piece around the mistake taken out. `None` when nothing behind it can be trusted: an open
/// string or bracket makes everything after it look wrong.
pub(super) fn patch(place: &Place<'_>) -> Option<String> {
    if place.stuck.too_deep {
        return None;
    }
    let frames = &place.situation.frames;
    if let Some(plugin) = frames.iter().find(|frame| frame.kind == FrameKind::Plugin) {
        if matches!(place.outline.word(plugin.head), "input" | "filter" | "output") {
            return None;
        }
        // `grok {` inside `mutate {`: when the braces do not come out even, this is why.
        let block = place.expects(Rule::arrow) && place.rest().starts_with('{');
        if block && !place.outline.unclosed().is_empty() {
            return None;
        }
        let close = place.outline.closing(plugin.open)?;
        return Some(blank(place, plugin.head..close + 1, ""));
    }
    let next = place.situation.next;
    let head = place.situation.statement?;
    let condition = match (place.outline.word(head), place.outline.word(head + 1)) {
        ("if", _) => Some(head + 1),
        ("else", "if") => Some(head + 2),
        _ => None,
    };
    if let Some(condition) = condition.filter(|condition| next >= *condition && !frames.is_empty()) {
        let body = place.outline.body(condition)?;
        if condition == body {
            return Some(blank(place, head..place.outline.closing(body)? + 1, ""));
        }
        // A literal is a condition too, and short enough for every gap.
        return Some(blank(place, condition..body, "0"));
    }
    if frames.is_empty() {
        return outside(place, head, next);
    }
    if let Some(orphan) = orphan_else(place) {
        return Some(blank(place, orphan.head..place.outline.closing(orphan.open)? + 1, ""));
    }
    step(place, head, next)
}

/// What stands outside of all sections goes, up to the next section.
fn outside(place: &Place<'_>, head: usize, next: usize) -> Option<String> {
    if let Some(TokenKind::Close(_)) = place.outline.token(next).map(|token| token.kind) {
        return Some(blank(place, next..next + 1, ""));
    }
    let head = head.min(next);
    if let Some(close) =
        place.outline.body(head).filter(|body| *body <= head + 1).and_then(|b| place.outline.closing(b))
    {
        return Some(blank(place, head..close + 1, ""));
    }
    let is_section = |at: &usize| {
        matches!(place.outline.word(*at), "input" | "filter" | "output") && place.outline.word(at + 1) == "{"
    };
    let end = (head + 1..place.outline.tokens.len()).find(is_section).unwrap_or(place.outline.tokens.len());
    Some(blank(place, head..end, ""))
}

/// A step that is none: with its block if it has one, else to the end of its line.
fn step(place: &Place<'_>, head: usize, next: usize) -> Option<String> {
    if let Some(TokenKind::Close(_)) = place.outline.token(next).map(|token| token.kind)
        && head == next
    {
        return Some(blank(place, next..next + 1, ""));
    }
    if let Some(TokenKind::Open(b'[' | b'(')) = place.outline.token(next).map(|token| token.kind) {
        // With the block behind it, as in `unless [a] {`.
        let close = place.outline.closing(next)?;
        let block = place.outline.token(close + 1).is_some_and(|token| token.kind == TokenKind::Open(b'{'));
        let end = if block { place.outline.closing(close + 1)? } else { close };
        return Some(blank(place, head..end + 1, ""));
    }
    let start = place.outline.token(head)?.start;
    let line_end = place.text().get(start..)?.find('\n').map_or(place.text().len(), |at| start + at);
    let block = place.outline.body(head).filter(|body| place.outline.token(*body).is_some_and(|t| t.start < line_end));
    let end = match block {
        Some(body) => place.outline.closing(body)? + 1,
        None => place.outline.tokens.partition_point(|token| token.start < line_end),
    };
    (end > head).then(|| blank(place, head..end, ""))
}

/// The text with the tokens of a range replaced by blanks (line breaks stay), starting with `stand_in`.
fn blank(place: &Place<'_>, tokens: Range<usize>, stand_in: &str) -> String {
    let tokens = place.outline.tokens.get(tokens).unwrap_or_default();
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return place.text().to_owned() };
    let text = place.text();
    let mut out = String::with_capacity(text.len());
    out.push_str(text.get(..first.start).unwrap_or_default());
    out.push_str(stand_in);
    let gone = text.get(first.start + stand_in.len()..last.end).unwrap_or_default();
    out.extend(gone.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
    out.push_str(text.get(last.end..).unwrap_or_default());
    out
}

/// Drops the warnings and notes from `start` on.
pub(super) fn keep_errors(diagnostics: &mut Vec<Diagnostic>, start: usize) {
    let mut at = 0;
    diagnostics.retain(|diagnostic| {
        at += 1;
        at <= start || diagnostic.level == Level::Error
    });
}
