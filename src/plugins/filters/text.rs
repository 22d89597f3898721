//! Operations on text that several filters have, with Ruby's notions of letter case and white space.

use crate::event::{Text, Value};

/// A change of a text; `None` when it stays as it is.
pub(super) type Change = fn(&Text) -> Option<Text>;

/// Changes a text, or every text of a list; `None` when nothing changes.
pub(super) fn each(value: &Value, change: Change) -> Option<Value> {
    match value {
        Value::String(whole) => change(whole).map(Value::String),
        Value::Array(list) => {
            let changed = list.iter().map(|element| match element {
                Value::String(whole) => change(whole).map_or_else(|| element.clone(), Value::String),
                other => other.clone(),
            });
            Some(Value::Array(changed.collect()))
        }
        _ => None,
    }
}

/// Capitals, by the rules of Unicode: `ß` becomes `SS`.
pub(super) fn uppercase(text: &Text) -> Option<Text> {
    if !text.is_ascii() {
        return Some(Text::from(text.as_str().to_uppercase()));
    }
    text.bytes().any(|b| b.is_ascii_lowercase()).then(|| Text::from(text.to_ascii_uppercase()))
}

/// Lower case, letter by letter: a sigma at the end of a word is none of its own, unlike in Rust.
pub(super) fn lowercase(text: &Text) -> Option<Text> {
    if !text.is_ascii() {
        return Some(Text::from(text.chars().flat_map(char::to_lowercase).collect::<String>()));
    }
    text.bytes().any(|b| b.is_ascii_uppercase()).then(|| Text::from(text.to_ascii_lowercase()))
}

/// Title case for the first letter, lower case for the others.
pub(super) fn capitalize(text: &Text) -> Option<Text> {
    let mut chars = text.chars();
    let mut out = String::with_capacity(text.len());
    push_title_case(chars.next()?, &mut out);
    out.extend(chars.flat_map(char::to_lowercase));
    Some(Text::from(out))
}

/// Title case differs from upper case for letters that look like two, and for Georgian.
fn push_title_case(c: char, out: &mut String) {
    let title = match c {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => c,
        _ => {
            let mut upper = c.to_uppercase();
            out.extend(upper.next());
            return out.extend(upper.flat_map(char::to_lowercase));
        }
    };
    out.push(title);
}

/// What Ruby's `strip` takes off: NUL and ASCII white space, but no other blanks.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, '\0' | '\t'..='\r' | ' ')
}

/// Without white space at both ends.
pub(super) fn strip(text: &Text) -> Text {
    text.part(text.trim_matches(is_blank))
}

/// Ruby's `split` with a text: empty parts at the end are dropped. A blank stands for any run of white space, the
/// empty text for the border between characters.
pub(super) fn split(text: &Text, separator: &str) -> Vec<Value> {
    let shared = |part: &str| Value::String(text.part(part));
    match separator {
        "" => text.char_indices().filter_map(|(at, c)| text.get(at..at + c.len_utf8())).map(shared).collect(),
        " " => text.as_str().split(is_blank).filter(|part| !part.is_empty()).map(shared).collect(),
        separator => {
            let mut parts: Vec<&str> = text.as_str().split(separator).collect();
            while parts.last().is_some_and(|part| part.is_empty()) {
                parts.pop();
            }
            parts.into_iter().map(shared).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letter_case_follows_ruby() {
        let text = |text: &str| Text::from(text);
        assert_eq!(uppercase(&text("straße é")), Some(text("STRASSE É")));
        assert_eq!(uppercase(&text("ABC 1")), None);
        assert_eq!(lowercase(&text("ΑΣ ΑΣ")), Some(text("ασ ασ")));
        assert_eq!(lowercase(&text("abc")), None);
        for (given, expected) in [("éCOLE abc", "École abc"), ("ßA", "Ssa"), ("ǆX", "ǅx"), ("აბ", "აბ"), ("1A", "1a")]
        {
            assert_eq!(capitalize(&text(given)), Some(text(expected)));
        }
    }

    #[test]
    fn strip_and_split() {
        assert_eq!(strip(&Text::from("\0 \t\u{b}x y\n\r\u{c}\0")), "x y");
        assert_eq!(strip(&Text::from("\u{a0}x\u{a0}")), "\u{a0}x\u{a0}");
        let parts = |text: &str, separator: &str| -> Vec<String> {
            let parts = split(&Text::from(text), separator);
            parts.iter().map(|part| part.as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(parts(",x,,y,,", ","), ["", "x", "", "y"]);
        assert_eq!(parts("  a  b ", " "), ["a", "b"]);
        assert_eq!(parts("aé", ""), ["a", "é"]);
        assert!(parts("", ",").is_empty());
        assert_eq!(parts("a::b::", "::"), ["a", "b"]);
    }
}
