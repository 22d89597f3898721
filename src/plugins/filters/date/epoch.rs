//! `UNIX`, `UNIX_MS` and `TAI64N`: instants counted from 1970, in milliseconds.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::event::{Decimal, Value};

/// The last second that `UNIX` takes.
const LAST_SECOND: i64 = 2_147_483_647;

/// Seconds, maybe with a fraction.
pub(super) fn unix(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => unix_text(text),
        Value::Integer(seconds) => (*seconds <= LAST_SECOND).then(|| seconds.checked_mul(1000))?,
        Value::Float(seconds) => (*seconds <= LAST_SECOND as f64).then(|| cut(*seconds * 1000.0))?,
        Value::Decimal(seconds) => {
            let millis = cut_decimal(&Decimal::new(seconds.unscaled(), seconds.scale().checked_sub(3)?))?;
            (millis <= LAST_SECOND * 1000 + 999).then_some(millis)
        }
        _ => None,
    }
}

/// A fraction is added, also to seconds before 1970.
fn unix_text(text: &str) -> Option<i64> {
    let (seconds, fraction) = match text.split_once('.') {
        Some((seconds, fraction)) => (seconds, Some(fraction)),
        None => (text, None),
    };
    let seconds: i64 = seconds.parse().ok().filter(|seconds| *seconds <= LAST_SECOND)?;
    let mut millis = seconds.checked_mul(1000)?;
    if let Some(fraction) = fraction {
        if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = fraction.bytes().map(|byte| i64::from(byte - b'0'));
        millis += digits.zip([100, 10, 1]).map(|(digit, worth)| digit * worth).sum::<i64>();
    }
    Some(millis)
}

/// Milliseconds.
pub(super) fn unix_ms(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Integer(millis) => Some(*millis),
        Value::Float(millis) => cut(*millis),
        Value::Decimal(millis) => cut_decimal(millis).filter(|millis| *millis <= LAST_SECOND * 1000),
        _ => None,
    }
}

fn cut(millis: f64) -> Option<i64> {
    millis.to_i64()
}

fn cut_decimal(millis: &Decimal) -> Option<i64> {
    millis.to_integer().as_ref().and_then(BigInt::to_i64)
}

/// A TAI64N label. Ten seconds are the leap seconds of 1970; later ones do not count.
pub(super) fn tai64n(value: &Value) -> Option<i64> {
    let text = value.as_str()?;
    let text = text.strip_prefix('@').unwrap_or(text);
    let hex = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u64::from_str_radix(digits, 16).ok())?
    };
    let seconds = i64::try_from(hex(0, 16)? & 0x3fff_ffff_ffff_ffff).ok()? - 10;
    let nanos = i64::try_from(hex(16, 24)?).ok().filter(|nanos| *nanos < 0x8000_0000)?;
    seconds.checked_mul(1000)?.checked_add(nanos / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Value {
        Value::Decimal(Decimal::parse(text).unwrap())
    }

    #[test]
    fn seconds_as_text_and_numbers() {
        for (value, expected) in [
            (Value::from("1700000000.1239"), Some(1_700_000_000_123)),
            (Value::from("-1.5"), Some(-500)),
            (Value::from("1.5x"), None),
            (Value::from("1."), None),
            (Value::from(".5"), None),
            (Value::from(""), None),
            (Value::from("99999999999999999999"), None),
            (Value::from(2_147_483_648_i64), None),
            (Value::from(i64::MIN), None),
            (Value::from(1.0625), Some(1062)),
            (Value::from(f64::NAN), None),
            (decimal("1700000000.123999"), Some(1_700_000_000_123)),
            (decimal("2147483648"), None),
            (decimal("1e999999999"), None),
            (Value::Bool(true), None),
        ] {
            assert_eq!(unix(&value), expected, "{value:?}");
        }
    }

    #[test]
    fn milliseconds_as_text_and_numbers() {
        for (value, expected) in [
            (Value::from("-5"), Some(-5)),
            (Value::from("5.5"), None),
            (Value::from(5.9), Some(5)),
            (Value::from(f64::INFINITY), None),
            (decimal("1700000000123.9"), Some(1_700_000_000_123)),
            (decimal("2147483647001"), None),
        ] {
            assert_eq!(unix_ms(&value), expected, "{value:?}");
        }
    }

    #[test]
    fn tai64n_labels_that_are_short_or_no_hex_fail() {
        for (text, expected) in [
            ("@4000000050d506482dbdf024", Some(1_356_138_046_767)),
            ("4000000050d506482dbdf024 more", Some(1_356_138_046_767)),
            ("@4000000050d506482dbdf0", None),
            ("@4000000050d506488dbdf024", None),
            ("@400000005-d506482dbdf024", None),
            ("@é", None),
            ("", None),
        ] {
            assert_eq!(tai64n(&Value::from(text)), expected, "{text}");
        }
    }
}
