//! The mistake behind a failed parse. Each function recognises one family of mistakes; the first that does wins.

use super::Place;
use super::characters::impostor;
use super::outline::{Frame, FrameKind, TokenKind, closing_quote};
use super::{condition, setting, unclosed};
use crate::config::diagnostic::Diagnostic;
use crate::config::grammar::Rule;
use crate::config::nearest::nearest;
use crate::config::source::Span;

/// What is wrong, what was expected, and what to do.
pub(super) fn explain(place: &Place<'_>) -> Diagnostic {
    too_deep(place)
        .or_else(|| odd_character(place))
        .or_else(|| unclosed::string(place))
        .or_else(|| unclosed::section(place))
        .or_else(|| unclosed::plugin(place))
        .or_else(|| unclosed::block(place))
        .or_else(|| outside(place))
        .or_else(|| condition::explain(place))
        .or_else(|| setting::explain(place))
        .unwrap_or_else(|| step(place))
}

fn too_deep(place: &Place<'_>) -> Option<Diagnostic> {
    let span = place.span(place.stuck.at, place.stuck.at + 1);
    let message = "brackets are nested more than 100 levels deep, expected a flatter structure";
    place.stuck.too_deep.then(|| place.error(span, message, "level 101").help("split the configuration"))
}

fn odd_character(place: &Place<'_>) -> Option<Diagnostic> {
    let c = place.rest().chars().next()?;
    let (name, instead) = impostor(c)?;
    let span = place.span(place.stuck.at, place.stuck.at + c.len_utf8());
    let shown = if c.is_control() || c.is_whitespace() || name.starts_with("an invisible") {
        format!("{name} (U+{:04X})", u32::from(c))
    } else {
        format!("{name} `{c}` (U+{:04X})", u32::from(c))
    };
    let wanted = match instead {
        "nothing" => "remove it".to_owned(),
        "\"" | "'" | "-" | "=>" | "..." => format!("write `{instead}`"),
        words => format!("write {words}"),
    };
    let message = format!("{shown} is not part of the language, expected plain ASCII here");
    Some(
        place
            .error(span, message, name)
            .help(format!("{wanted}; such characters come with text pasted from web pages")),
    )
}

/// Text that no section holds.
fn outside(place: &Place<'_>) -> Option<Diagnostic> {
    if !place.situation.frames.is_empty() {
        return None;
    }
    let next = place.situation.next;
    // Behind the name of a section the grammar is stuck one token later.
    let (at, word) = match place.situation.statement {
        Some(statement) if statement < next => (statement, place.outline.word(statement)),
        _ => (next, place.outline.word(next)),
    };
    let span = place.token_span(at);
    let expected = "expected `input {`, `filter {` or `output {`";
    if is_section(word) {
        let message = format!("`{word}` is not followed by its brace, expected `{{`");
        return Some(place.error(place.token_span(next), message, "expected `{`"));
    }
    if next == 0
        && let Some(format) = other_format(place.text())
    {
        let message = format!("this looks like {format}, not like a pipeline configuration, {expected}");
        return Some(place.error(span, message, "not a section").help("check which file `path.config` names"));
    }
    let token = place.outline.token(at)?;
    if let TokenKind::Close(bracket) = token.kind {
        let message = format!("there is one `{}` too many, {expected} or the end", char::from(bracket));
        let error = place.error(span, message, "closes nothing");
        return Some(match place.outline.before(at) {
            Some(before) if matches!(before.kind, TokenKind::Close(_)) => {
                error.related(place.span(before.start, before.end), "the section ends here")
            }
            _ => error,
        });
    }
    let opens = place.outline.token(at + 1).is_some_and(|t| t.kind == TokenKind::Open(b'{'));
    if token.kind == TokenKind::Word && word == "if" {
        let message = format!("`if` stands outside of a section, {expected}");
        return Some(
            place.error(span, message, "outside of a section").help("move it into `filter { … }` or `output { … }`"),
        );
    }
    if token.kind == TokenKind::Word && opens {
        let help = match nearest(word, ["input", "filter", "output"]).first() {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("plugins stand in a section: `filter {{ {word} {{ … }} }}`"),
        };
        let message = format!("`{word}` is not a section, {expected}");
        return Some(place.error(span, message, "not a section").help(help));
    }
    Some(place.error(span, format!("there is text outside of a section, {expected}"), "not a section"))
}

fn is_section(word: &str) -> bool {
    matches!(word, "input" | "filter" | "output")
}

/// Whether a text is one of the formats that end up in configuration directories.
fn other_format(text: &str) -> Option<&'static str> {
    let start = text.trim_start();
    let first = start.lines().next()?.trim_end();
    if start.starts_with('{') || start.starts_with("[{") || start.starts_with("[\"") {
        return Some("JSON");
    }
    if first.starts_with("---") {
        return Some("YAML");
    }
    let first_key = first.strip_prefix("- ").unwrap_or(first).split_once(':')?.0;
    let plain = !first_key.is_empty() && first_key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-\"'".contains(&b));
    plain.then_some("YAML")
}

/// A place between plugins.
fn step(place: &Place<'_>) -> Diagnostic {
    let next = place.situation.next;
    let head = place.situation.statement.unwrap_or(next);
    let word = place.outline.word(head);
    let span = place.token_span(next);
    let inside = place.situation.frames.last().map(|frame| place.token_span(frame.open));
    let with_opening = |error: Diagnostic, span: Option<Span>| match span {
        Some(span) => error.related(span, "opened here"),
        None => error,
    };
    if matches!(word, "elsif" | "elif" | "elseif") {
        let message = format!("`{word}` is no keyword, expected `else if`");
        return place.error(place.token_span(head), message, "not a keyword").help("write `else if`");
    }
    if word == "unless" {
        let message = "`unless` is no keyword, expected `if`";
        return place.error(place.token_span(head), message, "not a keyword").help("write `if !( … )`");
    }
    if let Some(orphan) = orphan_else(place) {
        let message = "`else` does not follow the `}` of an `if`, expected a plugin";
        return place.error(place.token_span(orphan.head), message, "no `if` before it");
    }
    let next_kind = place.outline.token(next).map(|token| token.kind);
    if head < next && word == "else" {
        let message = "`else` belongs between the `}` of an `if` and its own block, expected `} else {` or `} else if`";
        return place.error(place.token_span(head), message, "out of place");
    }
    if head < next && next_kind == Some(TokenKind::Arrow) {
        let message =
            format!("the setting `{word}` stands outside of a plugin, expected a plugin such as `{word} {{ … }}`");
        return with_opening(place.error(place.token_span(head), message, "a setting"), inside);
    }
    if head < next {
        let message = format!("`{word}` is not followed by its settings, expected `{{`");
        return place.error(span, message, "expected `{`").help(format!("write `{word} {{ … }}`"));
    }
    match next_kind {
        Some(TokenKind::Close(bracket)) => {
            let message = format!("`{}` closes nothing here, expected a plugin, `if` or `}}`", char::from(bracket));
            with_opening(place.error(span, message, "unexpected"), inside)
        }
        Some(_) => {
            let message = format!("`{}` is no plugin, expected a plugin, `if` or `}}`", place.outline.word(next));
            with_opening(place.error(span, message, "unexpected"), inside)
        }
        None => place.error(place.end_of_text(), "the text ends here, expected `}`", "the end"),
    }
}

/// The `else` without `if` around the place: it reads as a plugin, so that the plugins in it read as settings.
pub(super) fn orphan_else(place: &Place<'_>) -> Option<Frame> {
    let frame = place.situation.frames.last().copied().filter(|frame| frame.kind == FrameKind::Branch)?;
    (place.outline.word(frame.head) == "else" && place.expects(Rule::arrow)).then_some(frame)
}

/// Whether the quote at `open` is never closed.
pub(super) fn never_closed(text: &str, open: usize) -> bool {
    closing_quote(text.as_bytes(), open).is_none()
}

/// Whether the innermost bracket at the place is of this kind.
pub(super) fn innermost(place: &Place<'_>) -> Option<FrameKind> {
    place.situation.frames.last().map(|frame| frame.kind)
}
