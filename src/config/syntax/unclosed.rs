//! Strings and blocks that are opened and not closed. The place that matters is the opening one.

use super::Place;
use super::explain::never_closed;
use super::outline::{Frame, FrameKind, Outline, TokenKind, Walk};
use crate::config::diagnostic::Diagnostic;
use crate::config::grammar::Rule;

/// A string without its end, or one that swallowed the start of the next.
pub(super) fn string(place: &Place<'_>) -> Option<Diagnostic> {
    let at = place.stuck.at;
    if place.rest().starts_with(['"', '\'']) && never_closed(place.text(), at) {
        return Some(endless(place, at));
    }
    // `"a` and on a later line `b => "c"`: the first string ends where the second was meant to start.
    let before = place.outline.before(place.situation.next)?;
    let text = place.outline.slice(before.start..before.end);
    let swallowed =
        matches!(before.kind, TokenKind::String { closed: true }) && text.contains('\n') && before.end == at;
    swallowed.then(|| {
        let quote = text.get(..1).unwrap_or("\"");
        let line = place.line(before.start);
        let message = format!(
            "the string that starts in line {line} reaches up to here, expected a closing {quote} before the end of its line"
        );
        let first_line = text.lines().next().map_or(1, str::len);
        let error = place.error(place.span(before.start, before.start + first_line), message, "starts here");
        let error = error.related(place.span(before.end - 1, before.end), "ends here");
        error.help(backslash_help(text).unwrap_or_else(|| format!("close it with {quote}")))
    })
}

fn endless(place: &Place<'_>, open: usize) -> Diagnostic {
    let text = place.rest();
    let quote = text.get(..1).unwrap_or("\"");
    let first_line = text.lines().next().map_or(1, |line| line.trim_end().len());
    let message = format!("the string that is opened here is never closed, expected a closing {quote}");
    let help = backslash_help(text).unwrap_or_else(|| format!("close it with {quote}"));
    place.error(place.span(open, open + first_line.max(1)), message, "opened here").help(help)
}

/// A backslash before the closing quote is the usual reason.
fn backslash_help(text: &str) -> Option<String> {
    let quote = text.get(..1)?;
    let first_line = text.lines().next()?;
    first_line.contains(&format!("\\{quote}")).then(|| {
        format!("a backslash before {quote} always keeps the string open, so a string cannot end in a backslash; write the path with `/`, or take the value from a variable")
    })
}

/// `output {` that reads as a plugin because the section before it is not closed.
pub(super) fn section(place: &Place<'_>) -> Option<Diagnostic> {
    let outline = &place.outline;
    let frames = &place.situation.frames;
    let depth = frames.iter().skip(1).position(|frame| {
        frame.kind == FrameKind::Plugin
            && matches!(outline.word(frame.head), "input" | "filter" | "output")
            && starts_line(outline, frame.head)
    })? + 1;
    let (open, inner) = (frames.get(depth - 1)?, frames.get(depth)?);
    let missing = misindented(outline, outline.token(inner.head)?.start).unwrap_or(*open);
    Some(unclosed(place, missing, inner.head))
}

/// A plugin that reads as a setting of the plugin before it, because that one is not closed.
pub(super) fn plugin(place: &Place<'_>) -> Option<Diagnostic> {
    let outline = &place.outline;
    let next = place.situation.next;
    let frame = place.situation.frames.last().filter(|frame| frame.kind == FrameKind::Plugin)?;
    let name = next.checked_sub(1)?;
    let is_block = place.expects(Rule::arrow) && outline.token(next)?.kind == TokenKind::Open(b'{');
    let outdented = indentation(outline, name)? <= indentation(outline, frame.head)?;
    (is_block && outdented).then(|| unclosed(place, *frame, name))
}

/// A block that is still open at the end of the text.
pub(super) fn block(place: &Place<'_>) -> Option<Diagnostic> {
    if place.outline.token(place.situation.next).is_some() || place.situation.frames.is_empty() {
        return None;
    }
    let open = place.outline.unclosed().last().copied()?;
    let missing = misindented(&place.outline, place.text().len()).unwrap_or(open);
    Some(unclosed(place, missing, place.outline.tokens.len()))
}

/// The error at the bracket that lacks its partner; `until` is the token that shows it.
fn unclosed(place: &Place<'_>, frame: Frame, until: usize) -> Diagnostic {
    let outline = &place.outline;
    let bracket = outline.token(frame.open).and_then(|t| outline.text.as_bytes().get(t.start)).copied();
    let closing = match bracket {
        Some(b'[') => ']',
        Some(b'(') => ')',
        _ => '}',
    };
    let what = match frame.kind {
        FrameKind::Section => format!("the section `{}`", outline.word(frame.head)),
        FrameKind::Plugin => format!("the block of `{}`", outline.word(frame.head)),
        FrameKind::Branch => format!("the block of this `{}`", outline.word(frame.head)),
        FrameKind::Hash => "this hash".to_owned(),
        FrameKind::List => "this list".to_owned(),
        FrameKind::Group => "this parenthesis".to_owned(),
    };
    let ends = until >= outline.tokens.len();
    let (message, label) = if ends {
        (format!("{what} is not closed before the text ends, expected `{closing}`"), "the text ends here".to_owned())
    } else {
        let next = outline.word(until);
        (format!("{what} is not closed before `{next}` starts, expected `{closing}`"), format!("`{next}` starts here"))
    };
    let second = if ends { place.end_of_text() } else { place.token_span(until) };
    let error = place.error(place.token_span(frame.open), message, "opened here");
    error.related(second, label).help(format!("add the missing `{closing}`"))
}

fn starts_line(outline: &Outline<'_>, token: usize) -> bool {
    indentation(outline, token).is_some()
}

/// The blanks before a token that is the first of its line.
fn indentation(outline: &Outline<'_>, token: usize) -> Option<usize> {
    let start = outline.token(token)?.start;
    let line = outline.slice(0..start);
    let line = line.get(line.rfind('\n').map_or(0, |at| at + 1)..)?;
    line.bytes().all(|b| b.is_ascii_whitespace()).then_some(line.len())
}

/// The block whose closing brace stands further left than its first line: its own brace is missing.
fn misindented(outline: &Outline<'_>, end: usize) -> Option<Frame> {
    let mut walk = Walk::new(outline);
    for (at, token) in outline.tokens.iter().enumerate().take_while(|(_, token)| token.start < end) {
        if let (TokenKind::Close(_), Some(frame)) = (token.kind, walk.frames.last().copied())
            && let (Some(open), Some(close)) = (indentation(outline, frame.head), indentation(outline, at))
            && close < open
        {
            return Some(frame);
        }
        walk.step(at);
    }
    None
}
