//! Numbers in text, as Logstash's `convert` reads them: commas are dropped, hexadecimal digits, exponents and single
//! underscores between digits are understood.

use num_bigint::BigInt;
use num_traits::FromPrimitive;

use crate::event::{Decimal, Value};
use crate::plugins::filters::text::is_blank;

/// Longest text and largest exponent that is worked on; converting takes quadratic time.
const LONGEST: usize = 10_000;

/// The whole part of the number in a text.
pub(super) fn integer(text: &str) -> Option<Value> {
    if let Ok(n) = text.parse() {
        return Some(Value::Integer(n));
    }
    let text = cleaned(text)?;
    // What follows a blank is not looked at: an accident that is kept.
    let text = text.split(is_blank).next()?;
    if let Some(hex) = Hex::parse(text) {
        return if hex.is_whole { hex.integer() } else { BigInt::from_f64(hex.float()?.trunc()).map(Value::from_big) };
    }
    let plain = decimal(text, true)?;
    Some(Value::from_big(Decimal::parse(&plain)?.to_integer()?))
}

/// The number in a text as a double; too large ones are infinite.
pub(super) fn float(text: &str) -> Option<f64> {
    let text = cleaned(text)?;
    match Hex::parse(&text) {
        Some(hex) => hex.float(),
        None => decimal(&text, false)?.parse().ok(),
    }
}

/// With comma and point exchanged, as numbers are written in much of Europe.
pub(super) fn exchanged(text: &str) -> String {
    let exchange = |c| match c {
        ',' => '.',
        '.' => ',',
        other => other,
    };
    text.chars().map(exchange).collect()
}

fn cleaned(text: &str) -> Option<String> {
    let text = text.trim_matches(is_blank);
    (text.len() <= LONGEST).then(|| text.chars().filter(|c| *c != ',').map(|c| c.to_ascii_lowercase()).collect())
}

/// A number without underscores, with at least one digit before the point, its exponent bounded. `None` when the text
/// is none. A point at the end is only fine when `bare_point` says so.
fn decimal(text: &str, bare_point: bool) -> Option<String> {
    let (sign, rest) = signed(text);
    let (mantissa, exponent) = match rest.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (rest, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    if whole.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    let mut out = String::with_capacity(text.len() + 1);
    out.push_str(sign);
    if whole.is_empty() {
        out.push('0');
    }
    push_digits(whole, 10, &mut out)?;
    match fraction {
        None => {}
        Some("") if bare_point => {}
        Some("") => return None,
        Some(fraction) => {
            out.push('.');
            push_digits(fraction, 10, &mut out)?;
        }
    }
    if let Some(exponent) = exponent {
        let (sign, digits) = signed(exponent);
        let mut plain = String::new();
        push_digits(digits, 10, &mut plain)?;
        let size: usize = plain.parse().ok().filter(|size| *size <= LONGEST)?;
        out.push_str(&format!("e{sign}{size}"));
    }
    Some(out)
}

/// `-` or nothing, and what follows the sign.
fn signed(text: &str) -> (&'static str, &str) {
    match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Digits with single underscores between them; `None` for anything else. No digits at all are fine.
fn push_digits(text: &str, radix: u32, out: &mut String) -> Option<()> {
    if text.is_empty() {
        return Some(());
    }
    for group in text.split('_') {
        if group.is_empty() || !group.chars().all(|c| c.is_digit(radix)) {
            return None;
        }
        out.push_str(group);
    }
    Some(())
}

/// `0x1f`, `-0x1.8p1`
struct Hex {
    negative: bool,
    digits: String,
    /// The power of two that the digits as a whole number are multiplied by.
    power: i64,
    is_whole: bool,
}

impl Hex {
    fn parse(text: &str) -> Option<Self> {
        let (sign, rest) = signed(text);
        let rest = rest.strip_prefix("0x")?;
        let (mantissa, power) = match rest.split_once('p') {
            Some((mantissa, power)) => (mantissa, Some(power.parse::<i64>().ok()?)),
            None => (rest, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return None,
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        if whole.is_empty() {
            return None;
        }
        let mut digits = String::with_capacity(rest.len());
        push_digits(whole, 16, &mut digits)?;
        let before = digits.len();
        push_digits(fraction.unwrap_or_default(), 16, &mut digits)?;
        let behind = i64::try_from(digits.len() - before).ok()?;
        Some(Self {
            negative: sign == "-",
            power: power.unwrap_or(0).saturating_sub(behind * 4),
            is_whole: fraction.is_none() && power.is_none(),
            digits,
        })
    }

    fn integer(&self) -> Option<Value> {
        let size = BigInt::parse_bytes(self.digits.as_bytes(), 16)?;
        Some(Value::from_big(if self.negative { -size } else { size }))
    }

    fn float(&self) -> Option<f64> {
        let digits = self.digits.trim_start_matches('0');
        // 15 digits are exact in a double's range of exponents; what follows only moves the exponent.
        let kept = digits.get(..15).unwrap_or(digits);
        let dropped = i64::try_from(digits.len() - kept.len()).ok()? * 4;
        let mantissa = if kept.is_empty() { 0 } else { u64::from_str_radix(kept, 16).ok()? };
        let power = self.power.saturating_add(dropped).clamp(-2000, 2000) as i32;
        // In two steps, since the power alone may be outside of what a double can hold.
        let size = mantissa as f64 * 2_f64.powi(power / 2) * 2_f64.powi(power - power / 2);
        Some(if self.negative { -size } else { size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        for (text, expected) in [
            ("1,000", 1000),
            ("1,2,3", 123),
            (" 12 ", 12),
            ("12.7", 12),
            ("-12.7", -12),
            (".5", 0),
            ("5.", 5),
            ("1e3", 1000),
            ("1E3", 1000),
            ("1e-3", 0),
            ("0x1f", 31),
            ("-0x1F", -31),
            ("0x1.8p1", 3),
            ("017", 17),
            ("1_000", 1000),
            ("+5", 5),
            ("1 2", 1),
        ] {
            assert_eq!(integer(text), Some(Value::Integer(expected)), "{text}");
        }
        assert_eq!(integer("9223372036854775808").map(|v| v.kind()), Some("integer"));
        let digits = |text: &str| match integer(text) {
            Some(Value::BigInteger(n)) => n.to_string().len(),
            other => panic!("{other:?}"),
        };
        assert_eq!(digits("1e400"), 401);
        for text in ["0x", "0b11", "abc", "12abc", "", "nan", "1e", "--5", ".", "1__0", "_1", "1_", "1e99999999999"] {
            assert_eq!(integer(text), None, "{text}");
        }
        assert_eq!(integer(&"9".repeat(100_000)), None);
    }

    #[test]
    fn doubles() {
        for (text, expected) in [
            ("1,000.5", 1000.5),
            (" 12 ", 12.0),
            ("12.7", 12.7),
            (".5", 0.5),
            ("-.5", -0.5),
            ("1e3", 1000.0),
            ("1e-3", 0.001),
            ("1e400", f64::INFINITY),
            ("0x10", 16.0),
            ("-0x1f", -31.0),
            ("0x1.8p1", 3.0),
            ("017", 17.0),
            ("1_000", 1000.0),
            ("9223372036854775808", 9.223372036854776e18),
        ] {
            assert_eq!(float(text), Some(expected), "{text}");
        }
        for text in ["5.", "0x", "0b11", "abc", "12abc", "", "nan", "inf", "1e", "--5", "1 2"] {
            assert_eq!(float(text), None, "{text}");
        }
    }
}
