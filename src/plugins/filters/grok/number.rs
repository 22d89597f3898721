//! Ruby's `to_i` and `to_f`: the number that a text starts with.

use num_bigint::BigInt;

use crate::event::{Text, Value};

/// Digits up to which a text becomes an integer; converting takes quadratic time.
const MOST_DIGITS: usize = 10_000;

/// The integer that a text starts with; 0 without one. Single underscores may stand between digits.
pub(super) fn integer(text: Text) -> Value {
    if let Some(n) = short_integer(text.as_bytes()) {
        return Value::Integer(n);
    }
    let trimmed = text.trim_start_matches(is_blank);
    let (sign, rest) = signed(trimmed);
    let (digits, _) = digits(rest);
    if digits.len() > MOST_DIGITS {
        return Value::String(text);
    }
    format!("{sign}{digits}").parse::<BigInt>().map_or(Value::Integer(0), Value::from_big)
}

/// Up to 18 digits and nothing else.
fn short_integer(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0_i64, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
}

/// The float that a text starts with; 0 without one.
pub(super) fn float(text: &str) -> f64 {
    let (sign, rest) = signed(text.trim_start_matches(is_blank));
    let (whole, rest) = digits(rest);
    let mut number = format!("{sign}{}", if whole.is_empty() { "0" } else { &whole });
    let mut behind = rest;
    let mut has_digits = !whole.is_empty();
    if let Some((fraction, rest)) = rest.strip_prefix('.').map(digits)
        && !fraction.is_empty()
    {
        number.push('.');
        number.push_str(&fraction);
        (behind, has_digits) = (rest, true);
    }
    if !has_digits {
        return 0.0;
    }
    if let Some(exponent) = behind.strip_prefix(['e', 'E']) {
        let (sign, rest) = signed(exponent);
        let (exponent, _) = digits(rest);
        if !exponent.is_empty() {
            number.push('e');
            number.push_str(sign);
            number.push_str(&exponent);
        }
    }
    number.parse().unwrap_or(0.0)
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

/// `-` or nothing, and what follows the sign.
fn signed(text: &str) -> (&'static str, &str) {
    match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    }
}

/// The digits that a text starts with, without the underscores between them, and what follows.
fn digits(text: &str) -> (String, &str) {
    let mut out = String::new();
    let mut end = 0;
    let bytes = text.as_bytes();
    while let Some(&b) = bytes.get(end) {
        let joins = b == b'_' && !out.is_empty() && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        if b.is_ascii_digit() {
            out.push(char::from(b));
        } else if !joins {
            break;
        }
        end += 1;
    }
    (out, text.get(end..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        for (text, expected) in [
            ("42", 42),
            (" \t+7", 7),
            ("-0042x", -42),
            ("3.99", 3),
            ("0x1f", 0),
            ("1,000", 1),
            ("1_000", 1000),
            ("1__0", 1),
            ("_1", 0),
            ("1_", 1),
            ("abc", 0),
            ("", 0),
            ("-", 0),
            ("9223372036854775807", i64::MAX),
        ] {
            assert_eq!(integer(Text::from(text)), Value::Integer(expected), "{text}");
        }
        assert!(matches!(integer(Text::from("99999999999999999999")), Value::BigInteger(_)));
    }

    #[test]
    fn floats() {
        for (text, expected) in [
            ("5.", 5.0),
            (".5", 0.5),
            ("-.5", -0.5),
            ("1e3", 1000.0),
            ("1.5E-1x", 0.15),
            ("1e", 1.0),
            ("1_0.2_5", 10.25),
            ("abc", 0.0),
            ("NaN", 0.0),
            (".", 0.0),
            ("", 0.0),
            (" 7 8", 7.0),
            ("1e400", f64::INFINITY),
        ] {
            assert_eq!(float(text), expected, "{text}");
        }
    }
}
