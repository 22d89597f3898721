//! How values look in the report of a failed case.

use crate::event::{Map, Value, json, text_form};

/// Longer values are cut.
const LONGEST: usize = 120;
/// Characters shown on each side of the place where two long texts part.
const AROUND: usize = 20;

/// A value as compact JSON, cut when long.
pub(super) fn plain(value: &Value) -> String {
    let mut out = Vec::new();
    match value {
        // Quotes would make it look like a text.
        Value::Timestamp(at) => at.write_iso(&mut out),
        Value::Float(f) => text_form::write_java_double(*f, &mut out),
        value => json::write_value(value, &mut out),
    }
    cut(text_form::utf8(out))
}

/// An event's fields as compact JSON, cut when long.
pub(super) fn event(fields: &Map) -> String {
    let mut out = Vec::new();
    json::write_map(fields, &mut out);
    cut(text_form::utf8(out))
}

/// `200 (integer)`, `"200" (string)`, `null`.
pub(super) fn with_kind(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        value => format!("{} ({})", plain(value), value.kind()),
    }
}

/// Two texts that differ: whole when both are short, else the characters round the first difference.
pub(super) fn apart(expected: &str, got: &str) -> (String, String) {
    let is_long = |text: &str| text.chars().nth(2 * AROUND).is_some();
    if !is_long(expected) && !is_long(got) {
        return (format!("{} (string)", quoted(expected)), format!("{} (string)", quoted(got)));
    }
    let same = expected.chars().zip(got.chars()).take_while(|(a, b)| a == b).count();
    let place = format!("(string, character {})", same + 1);
    (format!("{} {place}", excerpt(expected, same)), format!("{} {place}", excerpt(got, same)))
}

fn excerpt(text: &str, at: usize) -> String {
    let start = at.saturating_sub(AROUND);
    let piece: String = text.chars().skip(start).take(at - start + AROUND).collect();
    let left = if start > 0 { "…" } else { "" };
    let right = if text.chars().nth(at + AROUND).is_some() { "…" } else { "" };
    format!("{left}{}{right}", quoted(&piece))
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    json::write_string(text, &mut out);
    text_form::utf8(out)
}

/// A text without what is too much for a line.
pub(super) fn cut(text: String) -> String {
    if text.chars().nth(LONGEST).is_none() {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_shown_whole() {
        assert_eq!(apart("200", "20\"0"), ("\"200\" (string)".into(), "\"20\\\"0\" (string)".into()));
    }

    #[test]
    fn long_texts_are_shown_round_the_first_difference() {
        let common = "0123456789".repeat(5);
        let (expected, got) = apart(&format!("{common}X{common}"), &format!("{common}Y"));
        assert_eq!(expected, "…\"01234567890123456789X0123456789012345678\"… (string, character 51)");
        assert_eq!(got, "…\"01234567890123456789Y\" (string, character 51)");
    }

    #[test]
    fn kinds_are_told() {
        assert_eq!(with_kind(&Value::from(1.0)), "1.0 (float)");
        assert_eq!(with_kind(&Value::from("1.0")), "\"1.0\" (string)");
        assert_eq!(with_kind(&Value::Null), "null");
        assert!(with_kind(&Value::from("x".repeat(500))).ends_with("… (string)"));
    }
}
