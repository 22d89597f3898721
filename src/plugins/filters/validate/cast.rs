//! Casts: a value of a type, or no value. They never fail in any other way.
//!
//! `strict` takes what is of the type already, or is its plain text; `sql` takes what `TRY_CAST` takes.

use bigdecimal::{BigDecimal, RoundingMode};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::text_of;
use crate::event::{Decimal, Text, Timestamp, Value, calendar};

/// How willing a cast is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cast {
    Strict,
    Sql,
}

/// What a value should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Bigint,
    Int,
    Decimal {
        precision: u32,
        scale: u32,
    },
    Double,
    Boolean,
    /// Digits of the second's fraction that are kept.
    Timestamp(usize),
    TimestampLtz(usize),
    /// Milliseconds since 1970.
    EpochMillis,
    Date,
    String,
    Uuid,
    Ip,
    Object,
    Array,
}

/// Most digits of a decimal.
const MOST_DIGITS: u32 = 38;
/// Digits of a fraction that a timestamp keeps unless it says how many.
const USUAL_FRACTION: usize = 6;

impl Type {
    /// Reads `bigint`, `decimal(18,2)`, `timestamp(3)`, …
    pub fn parse(text: &str) -> Option<Self> {
        let (name, arguments) = match text.split_once('(') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(')')?)),
            None => (text, None),
        };
        let fraction = || match arguments {
            None => Some(USUAL_FRACTION),
            Some(digits) => digits.trim().parse().ok().filter(|n| *n <= 9),
        };
        let plain = |kind| arguments.is_none().then_some(kind);
        match name.trim() {
            "bigint" => plain(Self::Bigint),
            "int" => plain(Self::Int),
            "decimal" => {
                let (precision, scale) = arguments?.split_once(',').unwrap_or((arguments?, "0"));
                let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
                let fits = (1..=MOST_DIGITS).contains(&precision) && scale <= precision;
                fits.then_some(Self::Decimal { precision, scale })
            }
            "double" => plain(Self::Double),
            "boolean" => plain(Self::Boolean),
            "timestamp" => fraction().map(Self::Timestamp),
            "timestamp_ltz" => fraction().map(Self::TimestampLtz),
            "date" => plain(Self::Date),
            "string" => plain(Self::String),
            "uuid" => plain(Self::Uuid),
            "ip" => plain(Self::Ip),
            "object" => plain(Self::Object),
            "array" => plain(Self::Array),
            _ => None,
        }
    }

    /// As messages say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bigint => "BIGINT",
            Self::Int => "INT",
            Self::Decimal { .. } => "DECIMAL",
            Self::Double => "DOUBLE",
            Self::Boolean => "BOOLEAN",
            Self::Timestamp(_) | Self::TimestampLtz(_) | Self::EpochMillis => "TIMESTAMP",
            Self::Date => "DATE",
            Self::String => "STRING",
            Self::Uuid => "UUID",
            Self::Ip => "IP",
            Self::Object => "OBJECT",
            Self::Array => "ARRAY",
        }
    }

    /// Whether it is neither list nor map.
    pub fn is_scalar(self) -> bool {
        !matches!(self, Self::Object | Self::Array)
    }

    /// Whether it is a number, which can be clamped.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Bigint | Self::Int | Self::Decimal { .. } | Self::Double)
    }

    /// The value as this type, or none.
    pub fn cast(self, value: &Value, cast: Cast) -> Option<Value> {
        let text = value.as_str();
        match self {
            Self::Bigint => integer(value, cast).map(Value::Integer),
            Self::Int => integer(value, cast).filter(|n| i32::try_from(*n).is_ok()).map(Value::Integer),
            Self::Decimal { precision, scale } => decimal(value, cast, precision, scale),
            Self::Double => double(value, cast),
            Self::Boolean => boolean(value, cast).map(Value::Bool),
            Self::Timestamp(digits) => {
                let at = match value {
                    Value::Timestamp(at) => *at,
                    _ => civil(text?, cast == Cast::Sql)?,
                };
                let mut out = String::new();
                write_civil(at, digits, &mut out);
                Some(Value::from(out))
            }
            Self::TimestampLtz(digits) => {
                let at = match value {
                    Value::Timestamp(at) => *at,
                    _ => instant(text?)?,
                };
                Timestamp::from_unix(at.seconds(), cut_nanos(at.nanos(), digits)).map(Value::Timestamp)
            }
            Self::EpochMillis => Timestamp::from_millis(integer(value, cast)?).map(Value::Timestamp),
            Self::Date => date(text?).map(|_| value.clone()),
            Self::String => match value {
                Value::Array(_) | Value::Map(_) | Value::Null => None,
                Value::String(_) => Some(value.clone()),
                scalar => Some(Value::String(text_of(scalar))),
            },
            Self::Uuid => (text?.len() == 36 && uuid::Uuid::try_parse(text?).is_ok()).then(|| value.clone()),
            Self::Ip => text?.parse::<std::net::IpAddr>().is_ok().then(|| value.clone()),
            Self::Object => matches!(value, Value::Map(_)).then(|| value.clone()),
            Self::Array => matches!(value, Value::Array(_)).then(|| value.clone()),
        }
    }
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii_whitespace())
}

/// Digits behind an optional sign.
fn plain_digits(text: &str) -> Option<&str> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(digits)
}

fn integer(value: &Value, cast: Cast) -> Option<i64> {
    match (value, cast) {
        (Value::Integer(n), _) => Some(*n),
        (Value::String(text), Cast::Strict) => plain_digits(text).and_then(|_| text.parse().ok()),
        (Value::String(text), Cast::Sql) => {
            let text = trimmed(text);
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let (sign, digits) = whole.split_at(whole.len() - whole.trim_start_matches(['+', '-']).len());
            let all_digits = digits.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
            if sign.len() > 1 || !all_digits || (digits.is_empty() && fraction.is_empty()) {
                return None;
            }
            if digits.is_empty() { Some(0) } else { whole.parse().ok() }
        }
        // A scale below zero comes from an exponent.
        (Value::Decimal(d), Cast::Sql) => (d.scale() >= 0).then(|| d.to_i64())?,
        (Value::Float(f), Cast::Sql) => {
            let whole = f.trunc();
            (-9.3e18..=9.3e18).contains(&whole).then(|| BigDecimal::try_from(whole).ok()?.to_i64())?
        }
        _ => None,
    }
}

fn decimal(value: &Value, cast: Cast, precision: u32, scale: u32) -> Option<Value> {
    let number = match (value, cast) {
        (Value::Integer(n), _) => Decimal::new(BigInt::from(*n), 0),
        (Value::BigInteger(n), _) => Decimal::new((**n).clone(), 0),
        (Value::Decimal(d), _) => d.clone(),
        (Value::Float(f), _) => Decimal::parse(ryu::Buffer::new().format_finite(f.is_finite().then_some(*f)?))?,
        (Value::String(text), Cast::Strict) => plain_decimal(text)?,
        (Value::String(text), Cast::Sql) => sql_decimal(trimmed(text))?,
        _ => return None,
    };
    match cast {
        Cast::Strict => fits(&number, precision, scale).then(|| match value {
            Value::Integer(_) => value.clone(),
            _ => Value::Decimal(number),
        }),
        Cast::Sql => rounded(&number, precision, scale).map(Value::Decimal),
    }
}

/// `[+-]?d+(.d+)?`
fn plain_decimal(text: &str) -> Option<Decimal> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let only_digits = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    plain_digits(whole).filter(|_| only_digits)?;
    Decimal::parse(text.strip_prefix('+').unwrap_or(text))
}

/// As [`plain_decimal`], with an exponent, and with nothing on one side of the point.
fn sql_decimal(text: &str) -> Option<Decimal> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at..)?),
        None => (text, ""),
    };
    if !exponent.is_empty() {
        plain_digits(exponent.get(1..)?)?;
    }
    let unsigned = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let minus = if mantissa.starts_with('-') { "-" } else { "" };
    let whole = if whole.is_empty() { "0" } else { whole };
    Decimal::parse(&format!("{minus}{whole}.{fraction}{exponent}"))
}

/// Digits of the whole number that all digits of a decimal make.
fn digit_count(unscaled: &BigInt) -> i64 {
    if unscaled.bits() == 0 {
        return 0;
    }
    let digits = unscaled.magnitude().to_string().len();
    i64::try_from(digits).unwrap_or(i64::MAX)
}

/// Whether there are no more digits on either side of the point than allowed.
fn fits(number: &Decimal, precision: u32, scale: u32) -> bool {
    let count = digit_count(&number.unscaled());
    let before = count - i64::from(number.scale());
    i64::from(number.scale()) <= i64::from(scale) && (count == 0 || before <= i64::from(precision - scale))
}

/// Rounded half up to so many digits behind the point. None when too many are left before it.
fn rounded(number: &Decimal, precision: u32, scale: u32) -> Option<Decimal> {
    let count = digit_count(&number.unscaled());
    let before = count - i64::from(number.scale());
    if count > 0 && before > i64::from(precision) {
        return None;
    }
    // Far below the last digit that counts, nothing is left. Aligning such a number would take any memory.
    let rounded = if before < -i64::from(scale) {
        BigDecimal::new(BigInt::ZERO, i64::from(scale))
    } else {
        number.to_big().with_scale_round(i64::from(scale), RoundingMode::HalfUp)
    };
    let unscaled = rounded.as_bigint_and_exponent().0;
    let scale = i32::try_from(scale).ok()?;
    (digit_count(&unscaled) <= i64::from(precision)).then(|| Decimal::new(unscaled, scale))
}

fn double(value: &Value, cast: Cast) -> Option<Value> {
    let double = match value {
        Value::Integer(n) => *n as f64,
        Value::Float(f) => *f,
        Value::BigInteger(n) => n.to_string().parse().ok()?,
        Value::Decimal(d) => d.to_f64(),
        Value::String(text) => {
            let text = if cast == Cast::Sql { trimmed(text) } else { text };
            // Words such as `NaN` and `inf` are no numbers here.
            if !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) {
                return None;
            }
            text.parse().ok()?
        }
        _ => return None,
    };
    double.is_finite().then_some(Value::Float(double))
}

fn boolean(value: &Value, cast: Cast) -> Option<bool> {
    match (value, cast) {
        (Value::Bool(flag), _) => Some(*flag),
        (Value::String(text), Cast::Strict) => match text.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        },
        (Value::String(text), Cast::Sql) => match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "0" => Some(false),
            _ => None,
        },
        (Value::Integer(1), Cast::Sql) => Some(true),
        (Value::Integer(0), Cast::Sql) => Some(false),
        _ => None,
    }
}

fn digits(text: &str, count: usize) -> Option<i64> {
    (text.len() == count && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Days since 1970 of `yyyy-MM-dd`.
fn date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = (digits(year, 4)?, digits(month, 2)?, digits(day, 2)?);
    let exists = parts.next().is_none() && (1..=calendar::days_in_month(year, month)).contains(&day);
    exists.then(|| calendar::days_since_1970(year, month, day))
}

/// `yyyy-MM-dd HH:mm:ss[.fraction]`, as if it were in UTC.
fn civil(text: &str, may_be_date: bool) -> Option<Timestamp> {
    let Some(at) = text.find(['T', ' ']) else {
        return Timestamp::from_unix(date(text).filter(|_| may_be_date)? * 86_400, 0);
    };
    let (day, time) = (date(text.get(..at)?)?, text.get(at + 1..)?);
    let (clock, fraction) = time.split_once('.').map_or((time, None), |(clock, fraction)| (clock, Some(fraction)));
    let mut parts = clock.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let (hour, minute, second) = (digits(hour, 2)?, digits(minute, 2)?, digits(second, 2)?);
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let nanos = match fraction {
        None => 0,
        Some(part) if (1..=9).contains(&part.len()) => {
            u32::try_from(digits(part, part.len())?).ok()? * 10_u32.pow(9 - u32::try_from(part.len()).ok()?)
        }
        Some(_) => return None,
    };
    Timestamp::from_unix(day * 86_400 + hour * 3600 + minute * 60 + second, nanos)
}

/// As [`civil`], with `Z` or an offset.
fn instant(text: &str) -> Option<Timestamp> {
    if let Some(text) = text.strip_suffix(['Z', 'z']) {
        return civil(text, false);
    }
    let at = text.rfind(['+', '-']).filter(|at| *at > 10)?;
    let (text, offset) = (text.get(..at)?, text.get(at..)?);
    let parts: String = offset.get(1..)?.chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = match (offset.len(), parts.len()) {
        (3, 2) => (digits(&parts, 2)?, 0),
        (5 | 6, 4) => (digits(parts.get(..2)?, 2)?, digits(parts.get(2..)?, 2)?),
        _ => return None,
    };
    if hours > 18 || minutes > 59 {
        return None;
    }
    let seconds = (hours * 3600 + minutes * 60) * if offset.starts_with('-') { -1 } else { 1 };
    let local = civil(text, false)?;
    Timestamp::from_unix(local.seconds() - seconds, local.nanos())
}

/// Digits behind the first `digits` become zero.
fn cut_nanos(nanos: u32, digits: usize) -> u32 {
    let step = 10_u32.pow(9 - digits.min(9) as u32);
    nanos - nanos % step
}

/// `yyyy-MM-dd HH:mm:ss[.fraction]`, without zeros at the end.
fn write_civil(at: Timestamp, digits: usize, out: &mut String) {
    use std::fmt::Write;
    let (year, month, day) = calendar::date_of(at.seconds().div_euclid(86_400));
    let second = at.seconds().rem_euclid(86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let _infallible = write!(out, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
    let nanos = cut_nanos(at.nanos(), digits);
    if nanos > 0 {
        let fraction = format!("{nanos:09}");
        out.push('.');
        out.push_str(fraction.trim_end_matches('0'));
    }
}

/// The text of a timestamp in a list of fields that should have a `type`, for limits.
pub(super) fn as_limit(kind: Option<Type>, text: &Text) -> Option<Value> {
    let value = Value::String(text.clone());
    match kind {
        Some(Type::Timestamp(_) | Type::TimestampLtz(_) | Type::EpochMillis | Type::Date) => {
            let kind = kind.map(|kind| if kind == Type::EpochMillis { Type::TimestampLtz(9) } else { kind });
            kind?.cast(&value, Cast::Sql)
        }
        _ => Decimal::parse(text.trim()).map(Value::Decimal),
    }
}
