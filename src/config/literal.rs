//! The text of a literal to its value.

use crate::event::{Text, Value};

/// What stands between the quotes (or slashes).
pub(super) fn unquoted(source: &str) -> &str {
    source.get(1..source.len().saturating_sub(1)).unwrap_or_default()
}

/// A quoted string. Without `escapes` every backslash stays, also the one before a quote.
pub(super) fn string(source: &str, escapes: bool) -> Text {
    let inside = unquoted(source);
    if !escapes || !inside.contains('\\') {
        return Text::from(inside);
    }
    let mut out = String::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('0') => out.push('\0'),
            Some(c @ ('"' | '\'' | '\\')) => out.push(c),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    Text::from(out)
}

/// An integer or float as Ruby reads it: a leading zero makes it octal. The error says what is wrong.
pub(super) fn number(source: &str) -> Result<Value, String> {
    if let Some((_, fraction)) = source.split_once('.') {
        if fraction.is_empty() {
            return Err(format!("`{source}` has no digit behind its point"));
        }
        let leading_zero = source.trim_start_matches('-').strip_prefix('0').is_some_and(|r| !r.starts_with('.'));
        if leading_zero {
            return Err(format!("`{source}` has a needless leading zero"));
        }
        return source.parse().map(Value::Float).map_err(|_| format!("`{source}` is not a number"));
    }
    let (sign, digits) = source.strip_prefix('-').map_or(("", source), |digits| ("-", digits));
    let octal = digits.len() > 1 && digits.starts_with('0');
    if octal && digits.contains(['8', '9']) {
        return Err(format!("`{source}` starts with 0 and is therefore octal, which has no digits 8 and 9"));
    }
    let value = i64::from_str_radix(&format!("{sign}{digits}"), if octal { 8 } else { 10 });
    value.map(Value::Integer).map_err(|_| format!("`{source}` does not fit 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_kept_unless_asked_for() {
        assert_eq!(string(r#""a\n\"b\"""#, false), r#"a\n\"b\""#);
        assert_eq!(string(r#""a\n\"b\" \\ \q \0\'""#, true), "a\n\"b\" \\ \\q \0'");
    }

    #[test]
    fn numbers_read_as_ruby_reads_them() {
        for (text, value) in [("0", 0), ("010", 8), ("-010", -8), ("42", 42), ("-3", -3), ("00", 0)] {
            assert_eq!(number(text), Ok(Value::Integer(value)), "{text}");
        }
        assert_eq!(number("9223372036854775807"), Ok(Value::Integer(i64::MAX)));
        assert_eq!(number("-9223372036854775808"), Ok(Value::Integer(i64::MIN)));
        assert_eq!(number("1.50"), Ok(Value::Float(1.5)));
        assert_eq!(number("-0.5"), Ok(Value::Float(-0.5)));
        for text in ["08", "09", "1.", "9223372036854775808", "01.5"] {
            assert!(number(text).is_err(), "{text}");
        }
    }
}
