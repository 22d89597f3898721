//! Mistakes between `if` and its `{`, most of them habits from other languages.

use super::Place;
use super::explain::{innermost, never_closed};
use super::outline::{FrameKind, TokenKind};
use crate::config::diagnostic::Diagnostic;
use crate::config::grammar::Rule;

/// The mistake in a condition, when the place is in one.
pub(super) fn explain(place: &Place<'_>) -> Option<Diagnostic> {
    let head = place.situation.statement?;
    let next = place.situation.next;
    let after_if = match (place.outline.word(head), place.outline.word(head + 1)) {
        ("if", _) => head + 1,
        ("else", "if") => head + 2,
        _ => return None,
    };
    if next < after_if {
        return None;
    }
    let wants_operand = place.expects(Rule::selector)
        || place.expects(Rule::string)
        || place.expects(Rule::comparison)
        || place.expects(Rule::regexp) && place.expects(Rule::string)
        || place.expects(Rule::condition);
    operator(place)
        .or_else(|| word_operator(place))
        .or_else(|| if wants_operand { operand(place, after_if) } else { None })
        .or_else(|| glued(place))
        .or_else(|| if wants_operand { None } else { behind_operand(place, after_if) })
        .or_else(|| Some(general(place, wants_operand)))
}

/// Operators of other languages.
fn operator(place: &Place<'_>) -> Option<Diagnostic> {
    let rest = place.rest();
    let at = place.stuck.at;
    let before = place.outline.slice(0..at);
    // `===` is stuck behind its `==`.
    if rest.starts_with('=') && (before.ends_with("==") || before.ends_with("!=")) {
        let good = before.get(at - 2..).unwrap_or("==");
        return Some(instead(place, at - 2, at + 1, &format!("{good}="), good));
    }
    if rest.starts_with('>') && before.ends_with('<') {
        return Some(instead(place, at - 1, at + 1, "<>", "!="));
    }
    if rest.starts_with('>') && before.ends_with('=') {
        return Some(instead(place, at - 1, at + 1, "=>", ">="));
    }
    let (bad, good) =
        [("&&", "and"), ("||", "or"), ("=>", ">="), ("=<", "<="), ("=!", "!="), ("~=", "=~"), ("!in", "not in")]
            .into_iter()
            .find(|(bad, _)| rest.starts_with(bad))
            .or_else(|| {
                (rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=~")).then_some(("=", "=="))
            })
            .or_else(|| rest.starts_with('&').then_some(("&", "and")))
            .or_else(|| rest.starts_with('|').then_some(("|", "or")))
            .or_else(|| rest.starts_with('~').then_some(("~", "=~")))?;
    Some(instead(place, at, at + bad.len(), bad, good))
}

fn instead(place: &Place<'_>, start: usize, end: usize, bad: &str, good: &str) -> Diagnostic {
    let message = format!("`{bad}` is no operator, expected `{good}`");
    place.error(place.span(start, end), message, "not an operator").help(format!("write `{good}`"))
}

/// `AND`, `not`, `then` and the like.
fn word_operator(place: &Place<'_>) -> Option<Diagnostic> {
    let next = place.situation.next;
    let token = place.outline.token(next).filter(|t| t.start == place.stuck.at && t.kind == TokenKind::Word)?;
    let word = place.outline.slice(token.start..token.end);
    let lower = word.to_ascii_lowercase();
    let span = place.span(token.start, token.end);
    match lower.as_str() {
        "and" | "or" | "xor" | "nand" | "in" if word != lower => {
            let message = format!("`{word}` is no operator, expected `{lower}`: operators are lower case");
            Some(place.error(span, message, "not an operator").help(format!("write `{lower}`")))
        }
        "not" => {
            let message = "`not` stands only in `not in`, expected a field or comparison";
            let next_word = place.rest().get(3..).unwrap_or_default().trim_start();
            let help = match next_word.chars().next() {
                Some('[') => "write `![field]`, or `!( … )` round a comparison",
                Some('(') => "write `!( … )`",
                _ => "write `!` before a `[field]` or a parenthesis; `not in` needs a blank between its words",
            };
            Some(place.error(span, message, "no operator").help(help))
        }
        "then" => {
            let message = "`then` is no keyword, expected `{`";
            Some(place.error(span, message, "not a keyword").help("remove it"))
        }
        "is" | "eq" | "equals" => Some(instead(place, token.start, token.end, word, "==")),
        "ne" => Some(instead(place, token.start, token.end, word, "!=")),
        "contains" | "matches" | "match" | "like" => {
            let message = format!("`{word}` is no operator, expected one such as `in` or `=~`");
            let help = "write `\"text\" in [field]`, or `[field] =~ /regexp/`";
            Some(place.error(span, message, "not an operator").help(help))
        }
        _ => None,
    }
}

/// Where a field, string, number, list or regexp should stand.
fn operand(place: &Place<'_>, after_if: usize) -> Option<Diagnostic> {
    let next = place.situation.next;
    let at = place.stuck.at;
    let before = place.outline.before(next).filter(|_| next > after_if);
    let before_text = before.map_or("", |t| place.outline.slice(t.start..t.end));
    let rest = place.rest();
    if rest.starts_with('/') && never_closed(place.text(), at) {
        let end = at + rest.lines().next().map_or(1, str::len);
        let message = "the regexp that is opened here is never closed, expected a closing /";
        return Some(place.error(place.span(at, end), message, "opened here"));
    }
    if before_text == "!" {
        let message = "`!` stands before something else, expected `[field]` or `(`";
        let (start, end) = (at.saturating_sub(1), at + 1);
        return Some(place.error(place.span(start, end), message, "cannot be negated").help("write `!( … )`"));
    }
    let token = place.outline.token(next)?;
    let span = place.span(token.start, token.end);
    match token.kind {
        TokenKind::Word => Some(bare_word(place, before_text)),
        TokenKind::Open(b'{') | TokenKind::Close(_) | TokenKind::Arrow | TokenKind::Comma => {
            let message = match before_text {
                "" => "`if` has no condition, expected a field or comparison".to_owned(),
                word => format!("the condition ends behind `{word}`, expected a field, string, number, list or regexp"),
            };
            Some(place.error(span, message, "unexpected"))
        }
        TokenKind::Open(b'[') if before_text == "~" => {
            let message = "the right side of `=~` must be known beforehand, expected a regexp or string";
            Some(place.error(span, message, "not a regexp").help("write `[field] =~ /regexp/`"))
        }
        TokenKind::Open(b'[') => {
            let message = "this is neither a field nor a list, expected `[field]` or `[\"a\", \"b\"]`";
            let help = "fields are written `[a][b]`; strings in a list are quoted and separated by commas";
            Some(place.error(span, message, "not understood").help(help))
        }
        TokenKind::Open(b'(') => {
            let close =
                place.outline.closing(next).and_then(|close| place.outline.token(close)).map_or(token.end, |t| t.end);
            let inside = place.outline.slice(token.end..close).trim_end_matches(')').trim();
            let message = "parentheses group conditions, expected a list in square brackets or one operand";
            let error = place.error(place.span(token.start, close), message, "not an operand");
            Some(error.help(format!("write `[{inside}]` for a list")))
        }
        TokenKind::Other if rest.starts_with(['+', '.']) => {
            let (start, end) = place.unquoted_word();
            let word = place.outline.slice(start..end);
            let message = format!("`{word}` is no number, expected one such as `1` or `0.5`");
            Some(place.error(place.span(start, end), message, "not a number"))
        }
        _ => None,
    }
}

/// A word without brackets or quotes.
fn bare_word(place: &Place<'_>, before: &str) -> Diagnostic {
    let (start, end) = place.unquoted_word();
    let word = place.outline.slice(start..end);
    let span = place.span(start, end);
    if place.outline.slice(end..place.text().len()).trim_start().starts_with('(') {
        let message =
            format!("`{word}( … )` looks like a function, and there are none, expected a `[field]` or comparison");
        return place.error(span, message, "no functions").help("compute the value in a filter and compare the field");
    }
    let after_operator = before.ends_with(['=', '<', '>', '~']) || before == "in";
    match word {
        "true" | "false" => {
            let (positive, negative) = if word == "true" {
                ("[field]", "`\"true\"` for a text")
            } else {
                ("![field]", "`\"false\"` for a text")
            };
            let message = format!("`{word}` is no literal in a condition, expected a field, string or number");
            let help = format!("write `{positive}` for a boolean field, or compare with {negative}");
            place.error(span, message, "not a literal").help(help)
        }
        "nil" | "null" | "none" | "None" => {
            let message = format!("`{word}` is no literal in a condition, expected a field, string or number");
            place.error(span, message, "not a literal").help("write `![field]`, or `[field] == [nonexistent]`")
        }
        _ if after_operator => {
            let message = format!("`{word}` has neither quotes nor brackets, expected a string, number or `[field]`");
            place
                .error(span, message, "not quoted")
                .help(format!("write `\"{word}\"` for a text, `[{word}]` for a field"))
        }
        _ => {
            let message = format!("the field name `{word}` has no brackets, expected `[{word}]`");
            place.error(span, message, "a bare field name").help(format!("write `[{word}]`"))
        }
    }
}

/// `1e3`, `5s`: more characters right behind a number.
fn glued(place: &Place<'_>) -> Option<Diagnostic> {
    let before = place.outline.slice(0..place.stuck.at).chars().next_back()?;
    let (start, end) = place.unquoted_word();
    let word = place.outline.slice(start..end);
    let numeric = word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    (before.is_ascii_digit() && numeric && start < place.stuck.at && end > place.stuck.at).then(|| {
        let message = format!("`{word}` is no number, expected digits with at most one point");
        let help = format!("write all its digits, or quote it as a text: `\"{word}\"`");
        place.error(place.span(start, end), message, "not a number").help(help)
    })
}

/// Where an operator or the end of the condition should stand.
fn behind_operand(place: &Place<'_>, after_if: usize) -> Option<Diagnostic> {
    let next = place.situation.next;
    let token = place.outline.token(next)?;
    let span = place.span(token.start, token.end);
    let before = place.outline.before(next).filter(|_| next > after_if);
    let text = place.rest();
    let comparison = ["==", "!=", "<=", ">=", "<", ">", "=~", "!~", "in ", "in[", "not "];
    if let Some(operator) = comparison.iter().find(|operator| text.starts_with(**operator)) {
        let operator = operator.trim_end_matches(['[', ' ']);
        let message =
            format!("a second comparison follows the first, expected `and`, `or` or `{{` before `{operator}`");
        let help = "comparisons do not chain: write `1 < [a] and [a] < 3`; `!` takes a whole comparison only in parentheses: `!([a] == 1)`";
        return Some(place.error(span, message, "one comparison too many").help(help));
    }
    if token.kind == TokenKind::Word && before.is_some_and(|b| b.kind == TokenKind::Regexp && b.end == token.start) {
        let word = place.outline.slice(token.start..token.end);
        let message = format!("the option `{word}` stands behind the regexp, expected it inside");
        let help = format!("write `(?{word})` at the start of the regexp");
        return Some(place.error(span, message, "not here").help(help));
    }
    match token.kind {
        TokenKind::Open(b'{') if innermost(place) == Some(FrameKind::Group) => {
            let open = place.situation.frames.last()?.open;
            let message = "the parenthesis is not closed before `{`, expected `)`";
            Some(place.error(span, message, "expected `)`").related(place.token_span(open), "opened here"))
        }
        TokenKind::Close(b')') => {
            let message = "there is one `)` too many, expected `and`, `or` or `{`";
            Some(place.error(span, message, "closes nothing"))
        }
        TokenKind::Open(b'[') if before.is_some_and(|b| b.kind == TokenKind::Close(b']')) => {
            let message = "there is a blank between the brackets of a field, expected `[a][b]`";
            Some(
                place
                    .error(span, message, "not joined")
                    .help("write `[a][b]` without a blank, or an operator between two fields"),
            )
        }
        _ => None,
    }
}

fn general(place: &Place<'_>, wants_operand: bool) -> Diagnostic {
    let next = place.situation.next;
    let expected = match (wants_operand, innermost(place)) {
        (true, _) => "a field, string, number, list or regexp",
        (false, Some(FrameKind::Group)) => "an operator or `)`",
        (false, Some(FrameKind::List)) => "`,` or `]`",
        _ => "an operator or `{`",
    };
    let message = format!("`{}` does not belong in a condition, expected {expected}", place.outline.word(next));
    place.error(place.token_span(next), message, "unexpected")
}
