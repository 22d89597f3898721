//! The types of settings: what each accepts, and what it says when it does not.
//!
//! Sizes are 1024-based here (`1kb` is 1024 bytes), unlike the sizes in plugin options.

use std::time::Duration;

/// The type of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text; numbers and booleans are taken as they are written.
    Text,
    /// A text that is never printed.
    Password,
    /// `true` or `false`.
    Bool,
    /// An integer of at least 1.
    Count,
    /// A number without a unit, not negative.
    Number,
    /// A size: a YAML integer, or a number with a unit.
    Bytes,
    /// A span of time with a unit; `-1` is never.
    Time,
    /// A directory that exists and is writable, or can be made.
    Directory,
    /// `9600` or `9600-9700`.
    Ports,
    /// One of some words.
    Words(&'static [&'static str]),
    /// A list, or one value of it.
    List,
}

/// A value as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raw {
    /// One value.
    Scalar {
        /// The text.
        text: String,
        /// Whether YAML may read it as a number, boolean or null: it had no quotes.
        plain: bool,
    },
    /// Several values.
    List(Vec<String>),
}

/// A value of the right type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not set, where the default is none.
    None,
    /// [`Kind::Text`], [`Kind::Password`], [`Kind::Directory`].
    Text(String),
    /// [`Kind::Bool`].
    Bool(bool),
    /// [`Kind::Count`], [`Kind::Bytes`].
    Integer(u64),
    /// [`Kind::Number`].
    Number(f64),
    /// [`Kind::Time`]; `None` is never.
    Time(Option<Duration>),
    /// [`Kind::Ports`]: first and last.
    Ports(u16, u16),
    /// [`Kind::Words`].
    Word(&'static str),
    /// [`Kind::List`].
    List(Vec<String>),
}

impl Raw {
    /// A value that was not read from YAML.
    pub fn text(text: impl Into<String>) -> Self {
        Raw::Scalar { text: text.into(), plain: false }
    }

    /// Whether YAML reads it as null.
    pub fn is_null(&self) -> bool {
        matches!(self, Raw::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// How messages show it, cut when long.
    pub fn shown(&self) -> String {
        let text = match self {
            Raw::Scalar { text, .. } => text.clone(),
            Raw::List(items) => format!("[{}]", items.join(", ")),
        };
        if text.chars().count() > 60 { text.chars().take(59).chain(['…']).collect() } else { text }
    }
}

impl Kind {
    /// Reads a value that is not null; the error is what is allowed, fit to follow "must be ".
    pub fn read(self, raw: &Raw) -> Result<Value, String> {
        let (text, plain) = match (self, raw) {
            (Kind::List, Raw::List(items)) => return Ok(Value::List(items.clone())),
            (_, Raw::List(_)) => return Err(format!("{}, not a list", self.allowed())),
            (_, Raw::Scalar { text, plain }) => (text.as_str(), *plain),
        };
        let value = match self {
            Kind::Text | Kind::Password | Kind::Directory => Some(Value::Text(text.to_owned())),
            Kind::List => Some(Value::List(vec![text.to_owned()])),
            Kind::Bool => boolean(text, plain).map(Value::Bool),
            Kind::Count => integer(text, plain).filter(|n| *n >= 1).map(Value::Integer),
            Kind::Number => number(text, plain).map(Value::Number),
            Kind::Bytes => bytes(text, plain).map(Value::Integer),
            Kind::Time => return time(text, plain),
            Kind::Ports => ports(text).map(|(first, last)| Value::Ports(first, last)),
            Kind::Words(words) => {
                // Where `true` is a word, the other ways of YAML to say so mean it too.
                let meant = boolean(text, plain).map_or(text, |b| if b { "true" } else { "false" });
                let word = words.iter().find(|word| **word == text).or(words.iter().find(|word| **word == meant));
                word.map(|word| Value::Word(word))
            }
        };
        value.ok_or_else(|| self.allowed())
    }

    /// What is allowed, fit to follow "must be ".
    pub fn allowed(self) -> String {
        match self {
            Kind::Text | Kind::Password => "a text".into(),
            Kind::Bool => "true or false".into(),
            Kind::Count => "an integer of at least 1".into(),
            Kind::Number => "a number without a unit, 0 or more".into(),
            Kind::Bytes => "a size such as 512kb, 64mb or 1gb (units b, kb, mb, gb, tb, pb, counted in 1024)".into(),
            Kind::Time => TIME_ALLOWED.into(),
            Kind::Directory => "a directory".into(),
            Kind::Ports => "a port such as 9600, or a range such as 9600-9700, from 1 to 65535".into(),
            Kind::Words(words) => format!("one of {}", words.join(", ")),
            Kind::List => "a list".into(),
        }
    }
}

const TIME_ALLOWED: &str = "an integer with a unit, such as 3s or 500ms (units d, h, m, s, ms, micros, nanos), or -1";

/// YAML 1.1, which Logstash reads, also knows the words yes, no, on and off when they have no quotes.
fn boolean(text: &str, plain: bool) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" if plain => Some(true),
        "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" if plain => Some(false),
        _ => None,
    }
}

fn integer(text: &str, plain: bool) -> Option<u64> {
    let text = text.trim();
    let digits = text.strip_prefix('+').unwrap_or(text);
    if digits.starts_with(|c: char| !c.is_ascii_digit()) {
        return None;
    }
    // A plain YAML integer may be written in groups: 1_000.
    if plain { digits.replace('_', "").parse().ok() } else { digits.parse().ok() }
}

fn number(text: &str, plain: bool) -> Option<f64> {
    if let Some(integer) = integer(text, plain) {
        return Some(integer as f64);
    }
    text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)
}

/// Fractions of a byte are cut off.
fn bytes(text: &str, plain: bool) -> Option<u64> {
    let text = text.trim();
    if plain && let Some(bytes) = integer(text, plain) {
        return Some(bytes);
    }
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "b" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        "t" | "tb" => 1 << 40,
        "p" | "pb" => 1 << 50,
        _ => return None,
    };
    let number = number.trim_end();
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let bytes = number.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)? * factor as f64;
    (bytes < i64::MAX as f64).then_some(bytes as u64)
}

fn time(text: &str, plain: bool) -> Result<Value, String> {
    let text = text.trim();
    if text == "-1" {
        return Ok(Value::Time(None));
    }
    match integer(text, plain) {
        Some(nanoseconds) if plain => Ok(Value::Time(Some(Duration::from_nanos(nanoseconds)))),
        Some(_) => Err(format!("{TIME_ALLOWED}; the unit is missing: did you mean {text}s?")),
        None => span(text).map(|span| Value::Time(Some(span))).ok_or_else(|| TIME_ALLOWED.into()),
    }
}

/// Whether a time was written as a bare YAML integer: Logstash counts nanoseconds then, and frowns.
pub fn is_bare_time(kind: Kind, raw: &Raw) -> bool {
    kind == Kind::Time && matches!(raw, Raw::Scalar { text, plain: true } if integer(text, true).is_some())
}

/// An integer and a unit, as in `3s`.
pub fn span(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = text.split_at(unit_at);
    let count: u64 = digits.parse().ok()?;
    let seconds = |each: u64| count.checked_mul(each).map(Duration::from_secs);
    match unit.trim_start().to_ascii_lowercase().as_str() {
        "d" => seconds(86_400),
        "h" => seconds(3_600),
        "m" => seconds(60),
        "s" => seconds(1),
        "ms" => Some(Duration::from_millis(count)),
        "micros" => Some(Duration::from_micros(count)),
        "nanos" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

fn ports(text: &str) -> Option<(u16, u16)> {
    let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port >= 1);
    match text.split_once('-') {
        None => port(text).map(|port| (port, port)),
        Some((first, last)) => Some((port(first)?, port(last)?)).filter(|(first, last)| first <= last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dead_letter::parse_retain_age;

    fn yaml(text: &str) -> Raw {
        Raw::Scalar { text: text.into(), plain: true }
    }

    #[test]
    fn what_each_type_accepts() {
        let time = |d| Value::Time(Some(d));
        let cases: &[(Kind, Raw, Value)] = &[
            (Kind::Text, yaml("5"), Value::Text("5".into())),
            (Kind::Text, yaml("true"), Value::Text("true".into())),
            (Kind::Bool, yaml("true"), Value::Bool(true)),
            (Kind::Bool, Raw::text("false"), Value::Bool(false)),
            (Kind::Bool, yaml("on"), Value::Bool(true)),
            (Kind::Count, yaml("1"), Value::Integer(1)),
            (Kind::Count, Raw::text("12"), Value::Integer(12)),
            (Kind::Count, yaml("1_000"), Value::Integer(1000)),
            (Kind::Number, yaml("5000"), Value::Number(5000.0)),
            (Kind::Number, Raw::text("0.5"), Value::Number(0.5)),
            (Kind::Bytes, yaml("1024"), Value::Integer(1024)),
            (Kind::Bytes, Raw::text("1gb"), Value::Integer(1 << 30)),
            (Kind::Bytes, Raw::text("64 MB"), Value::Integer(64 << 20)),
            (Kind::Bytes, Raw::text("1.5k"), Value::Integer(1536)),
            (Kind::Bytes, Raw::text("0.3b"), Value::Integer(0)),
            (Kind::Bytes, yaml("3gb"), Value::Integer(3 << 30)),
            (Kind::Time, yaml("3s"), time(Duration::from_secs(3))),
            (Kind::Time, Raw::text("100MS"), time(Duration::from_millis(100))),
            (Kind::Time, yaml("2d"), time(Duration::from_secs(172_800))),
            (Kind::Time, yaml("7micros"), time(Duration::from_micros(7))),
            (Kind::Time, yaml("-1"), Value::Time(None)),
            (Kind::Ports, yaml("9600"), Value::Ports(9600, 9600)),
            (Kind::Ports, yaml("9600-9700"), Value::Ports(9600, 9700)),
            (Kind::Words(&["auto", "true", "false"]), yaml("true"), Value::Word("true")),
            (Kind::Words(&["auto", "true", "false"]), yaml("yes"), Value::Word("true")),
            (Kind::Words(&["stderr", "off"]), yaml("off"), Value::Word("off")),
            (Kind::List, yaml("a"), Value::List(vec!["a".into()])),
            (Kind::List, Raw::List(vec!["a".into(), "b".into()]), Value::List(vec!["a".into(), "b".into()])),
        ];
        for (kind, raw, value) in cases {
            assert_eq!(kind.read(raw).as_ref(), Ok(value), "{kind:?} {raw:?}");
        }
    }

    #[test]
    fn what_each_type_refuses() {
        let cases: &[(Kind, Raw)] = &[
            (Kind::Bool, Raw::text("yes")),
            (Kind::Bool, yaml("1")),
            (Kind::Count, yaml("0")),
            (Kind::Count, yaml("-1")),
            (Kind::Count, yaml("1.5")),
            (Kind::Count, yaml("two")),
            (Kind::Count, Raw::List(vec![])),
            (Kind::Number, yaml("5s")),
            (Kind::Number, yaml("-3")),
            (Kind::Number, yaml("nan")),
            (Kind::Bytes, Raw::text("1024")),
            (Kind::Bytes, yaml("1 furlong")),
            (Kind::Bytes, yaml("-1kb")),
            (Kind::Bytes, yaml("99999999999pb")),
            (Kind::Time, Raw::text("60")),
            (Kind::Time, yaml("1.5s")),
            (Kind::Time, yaml("soon")),
            (Kind::Ports, yaml("0")),
            (Kind::Ports, yaml("70000")),
            (Kind::Ports, yaml("9700-9600")),
            (Kind::Words(&["memory", "persisted"]), yaml("Memory")),
        ];
        for (kind, raw) in cases {
            assert!(kind.read(raw).is_err(), "{kind:?} {raw:?}");
        }
    }

    #[test]
    fn a_time_without_unit() {
        assert!(Kind::Time.read(&Raw::text("60")).is_err_and(|e| e.contains("60s")));
        assert_eq!(Kind::Time.read(&yaml("60")), Ok(Value::Time(Some(Duration::from_nanos(60)))));
        assert!(is_bare_time(Kind::Time, &yaml("60")));
        assert!(!is_bare_time(Kind::Time, &yaml("60s")));
        assert!(!is_bare_time(Kind::Time, &yaml("-1")));
    }

    #[test]
    fn ages_have_one_unit() {
        for (text, seconds) in [("5d", 432_000), ("3h", 10_800), ("2m", 120), ("10s", 10), ("5 d", 432_000)] {
            assert_eq!(parse_retain_age(text).ok(), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["5", "1w", "1d12h", "1.5d", "", "d", " 5d", "-1d", "99999999999999999999d"] {
            assert_eq!(parse_retain_age(text).ok(), None, "{text}");
        }
    }
}
