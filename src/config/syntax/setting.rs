//! Mistakes inside a plugin: in its settings, hashes and lists.

use super::Place;
use super::explain::innermost;
use super::outline::{FrameKind, Token, TokenKind};
use crate::config::diagnostic::Diagnostic;
use crate::config::grammar::Rule;

/// The mistake in a plugin's block, when the place is in one.
pub(super) fn explain(place: &Place<'_>) -> Option<Diagnostic> {
    let frame = innermost(place)?;
    if place.situation.statement.is_some() {
        return None;
    }
    if place.expects(Rule::arrow) {
        return Some(arrow(place));
    }
    let before = place.outline.before(place.situation.next);
    let wants_value = before.is_some_and(|b| b.kind == TokenKind::Arrow)
        || frame == FrameKind::List && before.is_some_and(|b| matches!(b.kind, TokenKind::Comma | TokenKind::Open(_)));
    let error = if wants_value { value(place, frame) } else { behind_value(place, frame) };
    Some(error.unwrap_or_else(|| general(place, frame)))
}

/// Where `=>` should stand.
fn arrow(place: &Place<'_>) -> Diagnostic {
    let next = place.situation.next;
    let at = place.stuck.at;
    let rest = place.rest();
    let name = place.outline.before(next).map_or("", |t| place.outline.slice(t.start..t.end)).trim_matches(['"', '\'']);
    // `{ "a" => 10mb }`: between entries no blank is needed, so that `mb` reads as the next key.
    let behind_arrow = next.checked_sub(2).and_then(|at| place.outline.token(at)).map(|t| t.kind);
    if let (Some(TokenKind::Arrow), Some(word)) = (behind_arrow, place.outline.before(next)) {
        return unquoted(place, FrameKind::Hash, (word.start, word.end));
    }
    if matches!(name, "if" | "else") {
        let message = format!("`{name}` stands inside a plugin, expected a setting");
        let span = place.token_span(next.saturating_sub(1));
        return place
            .error(span, message, "not a setting")
            .help("put the whole plugin into the `if`, once for each case");
    }
    let wrong = ["= >", "==>", "=>>", "->", "==", ":=", ": ", ":", "=", ">"].into_iter().find(|w| rest.starts_with(w));
    if let Some(wrong) = wrong.map(str::trim_end) {
        let message = format!("`{name}` is followed by `{wrong}`, expected `=>`");
        return place.error(place.span(at, at + wrong.len()), message, "expected `=>`").help("write `=>`");
    }
    // `add.field => 1`: the name ended earlier than its writer thought.
    let (start, end) = place.unquoted_word();
    if start < at && end > at {
        let word = place.outline.slice(start..end);
        let message = format!("`{word}` is no name, expected letters, digits, `_` and `-`");
        return place.error(place.span(start, end), message, "not a name").help("quote it if it is the key of a hash");
    }
    if rest.starts_with('{') {
        let message = format!("`{name}` is followed by `{{`, expected `=>` before it");
        let error = place.error(place.span(at, at + 1), message, "expected `=>`");
        let error = match place.situation.frames.last() {
            Some(frame) => error.related(place.token_span(frame.open), "inside this block"),
            None => error,
        };
        return error.help(format!(
            "write `{name} => {{` if it is a setting; if it is a plugin, close the block before it with `}}`"
        ));
    }
    let message = format!("`{name}` has no value, expected `=>`");
    let error = place.error(place.token_span(next), message, "expected `=>`");
    error.help(format!("write `{name} => value`"))
}

/// Where a value should stand.
fn value(place: &Place<'_>, frame: FrameKind) -> Option<Diagnostic> {
    let next = place.situation.next;
    let token = place.outline.token(next)?;
    let before = place.outline.before(next)?;
    match token.kind {
        TokenKind::Close(b']') if before.kind == TokenKind::Comma => {
            let message = "a comma stands before `]`, expected another element or no comma";
            Some(place.error(place.span(before.start, before.end), message, "trailing comma").help("remove the comma"))
        }
        TokenKind::Comma => {
            let message = "there is nothing between two commas, expected a value";
            Some(place.error(place.span(token.start, token.end), message, "one comma too many"))
        }
        TokenKind::Close(bracket) => {
            let message = format!("a value is missing before `{}`, expected one", char::from(bracket));
            Some(place.error(place.span(token.start, token.end), message, "expected a value"))
        }
        TokenKind::Arrow => {
            let message = "there are two `=>`, expected a value";
            Some(place.error(place.span(token.start, token.end), message, "expected a value").help("remove one `=>`"))
        }
        TokenKind::Open(b'(') => {
            let message = "parentheses belong into conditions, expected a value";
            Some(place.error(place.span(token.start, token.end), message, "expected a value"))
        }
        _ => Some(unquoted(place, frame, place.unquoted_word())),
    }
}

/// A value that needs quotes.
fn unquoted(place: &Place<'_>, frame: FrameKind, (start, end): (usize, usize)) -> Diagnostic {
    let first = place.outline.slice(start..place.text().len()).chars().next();
    let end = end.max(start + first.map_or(1, char::len_utf8));
    let word = place.outline.slice(start..end);
    let span = place.span(start, end);
    let what = if frame == FrameKind::List { "a quoted element" } else { "a quoted value" };
    if word.len() == 1 && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_') {
        let message = format!("`{word}` is a single letter without quotes, expected {what}");
        return place.error(span, message, "not quoted").help(format!("write `\"{word}\"`"));
    }
    if word.starts_with('/') && word.len() > 1 && word.ends_with('/') {
        let message = format!("a regexp cannot be the value of a setting, expected {what}");
        return place.error(span, message, "not quoted").help(format!("write `\"{}\"`", word.trim_matches('/')));
    }
    let message = format!("`{word}` has no quotes, expected {what}");
    place
        .error(span, message, "not quoted")
        .help(format!("write `\"{word}\"`; only words of letters, digits and `_` go without quotes"))
}

/// Where a value has ended and the next setting, entry or element should follow.
fn behind_value(place: &Place<'_>, frame: FrameKind) -> Option<Diagnostic> {
    let next = place.situation.next;
    let at = place.stuck.at;
    let token = place.outline.token(next)?;
    let before = place.outline.before(next)?;
    let span = place.span(token.start, token.end);
    if token.kind == TokenKind::Comma {
        let (what, fix) = match frame {
            FrameKind::Hash => ("entries of a hash", "remove the comma; a line break or blank is enough"),
            _ => ("settings", "remove the comma; each setting stands on its own line"),
        };
        let message = format!("a comma stands between {what}, expected none");
        return Some(place.error(span, message, "no comma here").help(fix));
    }
    if place.rest().starts_with(';') {
        let message = "`;` ends nothing in this language, expected a blank or line break";
        return Some(place.error(span, message, "no semicolon here").help("remove it"));
    }
    if place.rest().starts_with("//") {
        let message = "`//` starts no comment, expected a setting";
        return Some(place.error(place.span(at, at + 2), message, "not a comment").help("comments start with `#`"));
    }
    if let Some(error) = glued(place, frame, before) {
        return Some(error);
    }
    if token.kind == TokenKind::Open(b'[') && before.kind == TokenKind::Close(b']') {
        let message = "this reads as two lists, expected a quoted field reference";
        return Some(place.error(span, message, "a second list").help("quote the reference: `\"[a][b]\"`"));
    }
    if frame == FrameKind::List && token.kind != TokenKind::Other {
        let open = place.situation.frames.last()?.open;
        let message = match token.kind {
            TokenKind::Close(bracket) => {
                format!("the list is not closed before `{}`, expected `]`", char::from(bracket))
            }
            _ => format!("`{}` follows without a comma, expected `,` or `]`", place.outline.word(next)),
        };
        let error = place.error(span, message, "expected `,` or `]`");
        return Some(error.related(place.token_span(open), "the list is opened here"));
    }
    name(place, frame, token, before)
}

/// Characters right behind a value.
fn glued(place: &Place<'_>, frame: FrameKind, before: Token) -> Option<Diagnostic> {
    let at = place.stuck.at;
    let (start, end) = place.unquoted_word();
    let previous = place.outline.slice(0..at).chars().next_back()?;
    if start < at && end > at && !previous.is_whitespace() {
        return Some(unquoted(place, frame, (start, end)));
    }
    let quote = matches!(before.kind, TokenKind::String { .. }) && before.end == at;
    if quote && frame != FrameKind::Hash {
        let quote = place.outline.slice(before.end - 1..before.end);
        let message = format!("text follows right behind the closing {quote}, expected a blank");
        let error = place.error(place.span(at, end.max(at + 1)), message, "expected a blank");
        let other = if quote == "\"" { "'" } else { "\"" };
        return Some(error.related(place.span(before.start, before.end), "this string is complete").help(format!(
            "put a blank between; if {quote} belongs to the text, put the text in {other} or write \\{quote} inside"
        )));
    }
    None
}

/// Where the name of a setting or the key of an entry should stand.
fn name(place: &Place<'_>, frame: FrameKind, token: Token, before: Token) -> Option<Diagnostic> {
    let span = place.span(token.start, token.end);
    let (what, after) = match frame {
        FrameKind::Hash => ("key", "a key or `}`"),
        _ => ("setting", "a setting or `}`"),
    };
    match token.kind {
        TokenKind::Arrow => {
            let message = format!("`=>` stands without a {what} before it, expected {after}");
            Some(place.error(span, message, "nothing before it"))
        }
        TokenKind::Word if frame == FrameKind::Hash && token.end - token.start == 1 => {
            let word = place.outline.slice(token.start..token.end);
            let message = format!("the key `{word}` is a single letter without quotes, expected a quoted key");
            Some(place.error(span, message, "not quoted").help(format!("write `\"{word}\"`")))
        }
        TokenKind::Word | TokenKind::String { .. } if comment_between(place, before) => {
            let message = "a comment stands right behind a value, expected a blank between the two";
            let error = place.error(place.span(before.end, before.end + 1), message, "expected a blank before `#`");
            Some(error.help("put a blank before `#`"))
        }
        TokenKind::Open(b'[') if frame == FrameKind::Hash => {
            let message = "a field reference stands as a key without quotes, expected a quoted key";
            Some(place.error(span, message, "not quoted").help("write `\"[a][b]\" => …`"))
        }
        TokenKind::Word if frame == FrameKind::Hash => Some(unquoted(place, frame, place.unquoted_word())),
        TokenKind::Close(bracket) => {
            let open = place.situation.frames.last()?.open;
            let message = format!("`{}` does not fit the bracket that is open, expected {after}", char::from(bracket));
            Some(place.error(span, message, "does not fit").related(place.token_span(open), "opened here"))
        }
        _ => None,
    }
}

fn comment_between(place: &Place<'_>, before: Token) -> bool {
    place.outline.slice(before.end..place.stuck.at).starts_with('#')
}

fn general(place: &Place<'_>, frame: FrameKind) -> Diagnostic {
    let next = place.situation.next;
    let expected = match frame {
        FrameKind::Hash => "an entry `key => value` or `}`",
        FrameKind::List => "`,` or `]`",
        _ => "a setting `name => value` or `}`",
    };
    let word = place.outline.word(next);
    let what =
        if word.is_empty() { "the text ends here".to_owned() } else { format!("`{word}` is not understood here") };
    place.error(place.token_span(next), format!("{what}, expected {expected}"), "unexpected")
}
