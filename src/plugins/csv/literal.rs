//! Numbers as Ruby's own source text writes them, and the dates that its csv library knows.

use jiff::tz::TimeZone;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::event::{Timestamp, Value, calendar};

/// Longest text that is tried as a number; reading one takes quadratic time.
const LONGEST: usize = 10_000;

/// `12`, `-0x1f`, `0b11`, `0o17`, `017` (octal), `1_000`, with blanks around.
pub fn integer(text: &str) -> Option<Value> {
    let (is_negative, digits) = sign(stripped(text)?);
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', b'd' | b'D', ..] => (10, digits.get(2..)?),
        [b'0', b'_', ..] => (8, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    let digits = without_underscores(digits, |byte| char::from(byte).is_digit(radix))?;
    let number = BigInt::parse_bytes(digits.as_bytes(), radix)?;
    Some(Value::from_big(if is_negative { -number } else { number }))
}

/// `1.5`, `.5`, `-1e3`, `0x1f`, `0x1.8p1`, `1_000.0`, with blanks around.
pub fn float(text: &str) -> Option<f64> {
    let (is_negative, digits) = sign(stripped(text)?);
    let size = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => hexadecimal(hex)?,
        None => decimal(digits)?,
    };
    Some(if is_negative { -size } else { size })
}

fn stripped(text: &str) -> Option<&str> {
    let text = text.trim_matches(|c: char| matches!(c, '\t'..='\r' | ' '));
    (text.len() <= LONGEST).then_some(text)
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Digits without the single underscores between them; none when there is anything else.
fn without_underscores(text: &str, is_digit: impl Fn(u8) -> bool) -> Option<String> {
    let is_well_formed = !text.is_empty()
        && !text.starts_with('_')
        && !text.ends_with('_')
        && !text.contains("__")
        && text.bytes().all(|byte| byte == b'_' || is_digit(byte));
    is_well_formed.then(|| text.replace('_', ""))
}

fn decimal(text: &str) -> Option<f64> {
    let digits = |text: &str| without_underscores(text, |byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let (is_negative, exponent) = sign(exponent);
            (mantissa, format!("e{}{}", if is_negative { "-" } else { "" }, digits(exponent)?))
        }
        None => (text, String::new()),
    };
    let plain = match mantissa.split_once('.') {
        Some(("", fraction)) => format!("0.{}", digits(fraction)?),
        Some((whole, fraction)) => format!("{}.{}", digits(whole)?, digits(fraction)?),
        None => digits(mantissa)?,
    };
    (plain + &exponent).parse().ok()
}

fn hexadecimal(text: &str) -> Option<f64> {
    let digits = |text: &str| without_underscores(text, |byte| byte.is_ascii_hexdigit());
    let (mantissa, exponent) = match text.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (digits(whole)?, digits(fraction)?),
        None => (digits(mantissa)?, String::new()),
    };
    let number = BigInt::parse_bytes((whole + &fraction).as_bytes(), 16)?.to_f64()?;
    let places = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    Some(number * 2_f64.powi(exponent.checked_sub(places)?))
}

/// `2024-02-03` or `Sat, Feb 3, 2024`: midnight in the zone of the machine.
pub fn date(text: &str) -> Option<Timestamp> {
    let (year, month, day) = iso_date(text).or_else(|| written_date(text))?;
    let exists = (1..=calendar::days_in_month(year, month)).contains(&day);
    exists.then(|| Timestamp::parse_in(&format!("{year:04}-{month:02}-{day:02}"), &TimeZone::system()))?
}

/// `2024-02-03`, then maybe a time after a blank or `T`, then maybe an offset; UTC without one.
pub fn date_time(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_at_checked(10)?;
    iso_date(date)?;
    match time.strip_prefix(['T', ' ']) {
        Some(time) => Timestamp::parse_in(&format!("{date}T{time}"), &TimeZone::UTC),
        None if time.is_empty() => Timestamp::parse_in(date, &TimeZone::UTC),
        None => None,
    }
}

fn iso_date(text: &str) -> Option<(i64, i64, i64)> {
    let mut parts = text.splitn(3, '-');
    let mut number = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
    };
    Some((number(4)?, number(2)?, number(2)?))
}

/// Maybe a day of the week, the month by name, day and year.
fn written_date(text: &str) -> Option<(i64, i64, i64)> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (month, day, year) = match *words.as_slice() {
        [month, day, year] | [_, month, day, year] => (month, day, year),
        _ => return None,
    };
    let short = month.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().zip(1..).find(|(name, _)| **name == short).map(|(_, number)| number)?;
    let number = |text: &str, most: usize| {
        let is_number = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<i64>().ok())?
    };
    let day = number(day.trim_end_matches(','), 2)?;
    let written = number(year, 4).filter(|_| year.len() >= 2)?;
    let year = match written {
        0..=68 if year.len() == 2 => 2000 + written,
        69..=99 if year.len() == 2 => 1900 + written,
        full => full,
    };
    Some((year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_ruby_literals() {
        for (text, expected) in [
            (" 12 ", Some(12)),
            ("-0x1F", Some(-31)),
            ("0b11", Some(3)),
            ("0o17", Some(15)),
            ("017", Some(15)),
            ("0", Some(0)),
            ("1_000", Some(1000)),
            ("+5", Some(5)),
            ("08", None),
            ("1__0", None),
            ("_1", None),
            ("0x", None),
            ("12.5", None),
            ("", None),
            ("1 2", None),
            ("--5", None),
        ] {
            assert_eq!(integer(text), expected.map(Value::Integer), "{text}");
        }
        let large = "123456789012345678901234567890";
        assert_eq!(integer(large), Some(Value::from_big(large.parse().unwrap())));
    }

    #[test]
    fn floats_are_ruby_literals() {
        for (text, expected) in [
            ("1e3", Some(1000.0)),
            (".5", Some(0.5)),
            ("-1_0.2_5", Some(-10.25)),
            ("0x1f", Some(31.0)),
            ("0x1.8p1", Some(3.0)),
            ("1e400", Some(f64::INFINITY)),
            ("5.", None),
            ("1e", None),
            ("nan", None),
            ("inf", None),
            ("", None),
            (".", None),
        ] {
            assert_eq!(float(text), expected, "{text}");
        }
    }

    #[test]
    fn dates_in_the_forms_of_the_csv_library() {
        let midnight = |text: &str| Timestamp::parse_in(text, &TimeZone::system());
        for text in ["2024-02-03", "Feb 3 2024", "Sat, February 3, 2024", "feb 03 24"] {
            assert_eq!(date(text), midnight("2024-02-03"), "{text}");
        }
        for text in ["2024-02-30", "3 Feb 2024", "2024-2-3", "2024-02-03 10:11", "Feb 3", "Féb 3 2024"] {
            assert_eq!(date(text), None, "{text}");
        }
        for (text, expected) in [
            ("2024-02-03", "2024-02-03T00:00:00Z"),
            ("2024-02-03 10:11:12", "2024-02-03T10:11:12Z"),
            ("2024-02-03T10:11:12.5+02:00", "2024-02-03T08:11:12.5Z"),
        ] {
            assert_eq!(date_time(text), Timestamp::parse(expected), "{text}");
        }
        assert_eq!(date_time("Feb 3 2024"), None);
    }
}
