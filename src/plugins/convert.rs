//! Logstash's coercions from what a `.conf` says to what an option takes.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::ast::{Literal, LiteralKind};
use crate::config::source::Span;
use crate::event::{EscapeStyle, FieldRef, Map, Template, Text, Value, text_form};

/// Why a value does not fit an option.
#[derive(Debug)]
pub struct Invalid {
    /// One sentence.
    pub message: String,
    /// A narrower place than the whole value.
    pub span: Option<Span>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Invalid {
    /// Without a place or help of its own.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None, help: None }
    }

    fn expected(what: &str, got: &Literal) -> Self {
        Self { span: Some(got.span), ..Self::new(format!("Expected {what}, got {}", shown(got))) }
    }
}

/// A value as messages show it.
fn shown(literal: &Literal) -> String {
    let mut out = Vec::new();
    text_form::write_inspect(&value(literal), &mut out);
    text_form::utf8(out)
}

/// The value as data. A plugin (a codec) is its name.
pub fn value(literal: &Literal) -> Value {
    match &literal.kind {
        LiteralKind::String(s) => Value::String(s.clone()),
        LiteralKind::Integer(n) => Value::Integer(*n),
        LiteralKind::Float(f) => Value::Float(*f),
        LiteralKind::Array(list) => Value::Array(list.iter().map(value).collect()),
        LiteralKind::Hash(pairs) => {
            Value::Map(pairs.iter().map(|(k, v)| (Text::from(scalar_text(k)), value(v))).collect::<Map>())
        }
        LiteralKind::Plugin(block) => Value::from(block.name.as_str()),
    }
}

/// Whether the value counts as not given: an empty list where one value is wanted.
pub fn is_null(literal: &Literal) -> bool {
    matches!(&literal.kind, LiteralKind::Array(list) if list.is_empty())
}

/// The elements of a list; a single value is a list of one.
pub fn list(literal: &Literal) -> Vec<&Literal> {
    match &literal.kind {
        LiteralKind::Array(list) => list.iter().collect(),
        _ => vec![literal],
    }
}

fn single<'a>(literal: &'a Literal, what: &str) -> Result<&'a Literal, Invalid> {
    match &literal.kind {
        LiteralKind::Array(list) => match list.as_slice() {
            [only] => single(only, what),
            _ => Err(Invalid::expected(what, literal)),
        },
        LiteralKind::Hash(_) => Err(Invalid::expected(what, literal)),
        _ => Ok(literal),
    }
}

fn scalar_text(literal: &Literal) -> String {
    let mut out = Vec::new();
    text_form::write_template(&value(literal), &mut out);
    text_form::utf8(out)
}

/// Text; a number becomes its text.
pub fn string(literal: &Literal) -> Result<String, Invalid> {
    single(literal, "string").map(scalar_text)
}

/// Text that is not written as a number.
pub fn password(literal: &Literal) -> Result<String, Invalid> {
    match &single(literal, "text")?.kind {
        LiteralKind::String(text) => Ok(text.to_string()),
        _ => Err(Invalid::new("Expected one text")),
    }
}

/// Text with references.
pub fn template(literal: &Literal, style: EscapeStyle) -> Result<Template, Invalid> {
    let text = string(literal)?;
    Template::compile(&text, style).map_err(|e| Invalid { span: Some(literal.span), ..Invalid::new(e.message) })
}

/// A field reference.
pub fn field(literal: &Literal, style: EscapeStyle) -> Result<FieldRef, Invalid> {
    let text = string(literal)?;
    FieldRef::parse(&text, style).map_err(|e| Invalid {
        span: Some(literal.span),
        help: Some("nested fields are written [outer][inner]".to_owned()),
        ..Invalid::new(e.to_string())
    })
}

/// An integer or float, or a text that prints back the same.
pub fn number(literal: &Literal) -> Result<f64, Invalid> {
    let literal = single(literal, "number")?;
    match &literal.kind {
        LiteralKind::Integer(n) => Ok(*n as f64),
        LiteralKind::Float(f) => Ok(*f),
        LiteralKind::String(s) => number_text(s).ok_or_else(|| Invalid::expected("number", literal)),
        _ => Err(Invalid::expected("number", literal)),
    }
}

fn number_text(text: &str) -> Option<f64> {
    if let Ok(n) = text.parse::<i64>() {
        return (n.to_string() == text).then_some(n as f64);
    }
    let f: f64 = text.parse().ok().filter(|f: &f64| f.is_finite())?;
    let mut back = Vec::new();
    text_form::write_ruby_float(f, 16, &mut back);
    (back == text.as_bytes()).then_some(f)
}

/// A whole number, or a text that prints back the same.
pub fn integer(literal: &Literal) -> Result<i64, Invalid> {
    let literal = single(literal, "number")?;
    if let LiteralKind::Integer(n) = literal.kind {
        return Ok(n);
    }
    let n = number(literal)?;
    if n.fract() == 0.0 && n.abs() < 9e15 { Ok(n as i64) } else { Err(Invalid::expected("a whole number", literal)) }
}

/// A whole number that is not written as text.
pub fn bare_integer(literal: &Literal) -> Result<i64, Invalid> {
    match single(literal, "number")?.kind {
        LiteralKind::Integer(n) => Ok(n),
        _ => Err(Invalid::expected("a whole number without quotes", literal)),
    }
}

/// What a longer time is taken for, a hundred years: it can be added to any moment.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86400);

/// Seconds, fractions allowed, not negative.
pub fn seconds(literal: &Literal) -> Result<Duration, Invalid> {
    Duration::try_from_secs_f64(number(literal)?)
        .map(|time| time.min(LONGEST))
        .map_err(|_| Invalid::expected("a number of seconds that is not negative", literal))
}

/// A number, of seconds unless another unit is given with it: `250ms`, `1 hour`, `2.5 d`. `bare` is how many seconds
/// a number without a unit counts.
pub fn duration(literal: &Literal, bare: f64) -> Result<Duration, Invalid> {
    let text = string(literal)?;
    duration_text(text.trim(), bare).ok_or_else(|| Invalid {
        span: Some(literal.span),
        help: Some("write for example 250ms, 60 sec, 18h, 21.5d, 1 day or 2 weeks".to_owned()),
        ..Invalid::new(format!("Value '{text}' is not a valid duration string"))
    })
}

/// As [`duration`], of a text.
pub fn duration_text(text: &str, bare: f64) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    if number.starts_with('.') || number.ends_with('.') {
        return None;
    }
    let seconds = match unit.strip_prefix(' ').unwrap_or(unit) {
        "" if unit.is_empty() => bare,
        "us" | "usec" | "usecs" => 1e-6,
        "ms" | "msec" | "msecs" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86400.0,
        "w" | "week" | "weeks" => 604_800.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok().map(|time| time.min(LONGEST))
}

/// `true`, `false`, or the same words as text.
pub fn boolean(literal: &Literal) -> Result<bool, Invalid> {
    let wrong = || Invalid {
        span: Some(literal.span),
        ..Invalid::new(format!("Expected boolean 'true' or 'false', got {}", shown(literal)))
    };
    match &single(literal, "boolean 'true' or 'false'")?.kind {
        LiteralKind::String(s) if s == "true" => Ok(true),
        LiteralKind::String(s) if s == "false" => Ok(false),
        _ => Err(wrong()),
    }
}

/// An integer, or a number with a unit: `kb` counts 1000, `kib` 1024; blanks and case do not matter.
pub fn bytes(literal: &Literal) -> Result<u64, Invalid> {
    let literal = single(literal, "a number of bytes")?;
    let wrong = || Invalid::expected("a number of bytes such as 1024 or \"5 mb\"", literal);
    match &literal.kind {
        LiteralKind::Integer(n) => u64::try_from(*n).map_err(|_| wrong()),
        LiteralKind::String(s) => bytes_text(s).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

fn bytes_text(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = unit.trim();
    if unit.is_empty() {
        return if number.len() > 1 && number.starts_with('0') {
            u64::from_str_radix(number, 8).ok()
        } else {
            number.parse().ok()
        };
    }
    let (prefix, base) = match unit.strip_suffix("ib") {
        Some(prefix) => (prefix, 1024_u64),
        None => (unit.strip_suffix('b').unwrap_or(unit), 1000),
    };
    let power = ["", "k", "m", "g", "t", "p", "e"].iter().position(|p| *p == prefix)?;
    let factor = base.checked_pow(u32::try_from(power).ok()?)?;
    match number.parse::<u64>() {
        Ok(n) => n.checked_mul(factor),
        Err(_) => number.parse::<f64>().ok().map(|n| (n * factor as f64) as u64),
    }
}

/// A file or directory that is there.
pub fn existing_path(literal: &Literal) -> Result<PathBuf, Invalid> {
    let path = PathBuf::from(string(literal)?);
    if path.exists() {
        return Ok(path);
    }
    Err(Invalid {
        span: Some(literal.span),
        ..Invalid::new(format!("File does not exist or cannot be opened: {}", path.display()))
    })
}

/// What one key of a hash leads to: a flat list of pairs may name the key several times.
pub enum Item<'a> {
    /// One value.
    One(&'a Literal),
    /// The values of a repeated key.
    Many(Vec<&'a Literal>),
}

impl Item<'_> {
    /// The value as data.
    pub fn value(&self) -> Value {
        match self {
            Self::One(one) => value(one),
            Self::Many(many) => Value::Array(many.iter().map(|v| value(v)).collect()),
        }
    }

    fn literals(&self) -> Vec<&Literal> {
        match self {
            Self::One(one) => list(one),
            Self::Many(many) => many.clone(),
        }
    }
}

/// Pairs in the order written, from a hash or a flat list.
pub fn hash(literal: &Literal) -> Result<Vec<(String, Item<'_>)>, Invalid> {
    let pairs: Vec<(&Literal, &Literal)> = match &literal.kind {
        LiteralKind::Hash(pairs) => pairs.iter().map(|(k, v)| (k, v)).collect(),
        LiteralKind::Array(list) if list.len() % 2 == 0 => {
            list.chunks_exact(2).filter_map(|pair| Some((pair.first()?, pair.last()?))).collect()
        }
        LiteralKind::Array(list) => {
            return Err(Invalid::new(format!(
                "This field must contain an even number of items, got {} (key, value, key, value, …)",
                list.len()
            )));
        }
        _ => return Err(Invalid::expected("hash such as { \"key\" => \"value\" }", literal)),
    };
    let mut items: Vec<(String, Item<'_>)> = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        let key = scalar_text(key);
        match items.iter_mut().find(|(k, _)| *k == key) {
            None => items.push((key, Item::One(value))),
            Some((_, Item::Many(many))) => many.push(value),
            Some((_, item)) => {
                if let Item::One(first) = *item {
                    *item = Item::Many(vec![first, value]);
                }
            }
        }
    }
    Ok(items)
}

/// Pairs of templates in the order in which Logstash walks a hash. A list of values gives its key once for each.
pub fn template_hash(literal: &Literal, style: EscapeStyle) -> Result<Vec<(Template, Template)>, Invalid> {
    let mut items = hash(literal)?;
    walk_order(&mut items, |(key, _)| key);
    let mut pairs = Vec::with_capacity(items.len());
    for (key, item) in &items {
        let key = Template::compile(key, style)
            .map_err(|e| Invalid { span: Some(literal.span), ..Invalid::new(e.message) })?;
        for value in item.literals() {
            let text = hash_value_text(value);
            let template = Template::compile(&text, style)
                .map_err(|e| Invalid { span: Some(value.span), ..Invalid::new(e.message) })?;
            pairs.push((key.clone(), template));
        }
    }
    Ok(pairs)
}

/// A map or list as the text of a hash value prints in Ruby's form: an accident that is kept.
fn hash_value_text(literal: &Literal) -> String {
    match &literal.kind {
        LiteralKind::Hash(_) | LiteralKind::Array(_) => shown(literal),
        _ => scalar_text(literal),
    }
}

/// Puts hash entries in the order in which Logstash walks them: that of a Java `HashMap`, which is fixed and shows
/// where one entry reads what another one set. A table of 16 buckets that doubles when it is more than three
/// quarters full; within a bucket the order of insertion.
pub fn walk_order<T>(items: &mut [T], key: impl Fn(&T) -> &String) {
    let mut size = 16_usize;
    while items.len() * 4 > size * 3 {
        size *= 2;
    }
    items.sort_by_key(|item| java_hash(key(item)) as usize & (size - 1));
}

/// `String.hashCode`, spread as `HashMap` does.
fn java_hash(text: &str) -> u32 {
    let hash = text.encode_utf16().fold(0_u32, |h, unit| h.wrapping_mul(31).wrapping_add(u32::from(unit)));
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_entries_are_walked_as_java_does() {
        let order = |keys: &[&str]| {
            let mut keys: Vec<String> = keys.iter().map(|k| (*k).to_owned()).collect();
            walk_order(&mut keys, |k| k);
            keys
        };
        assert_eq!(order(&["message", "rest"]), ["rest", "message"]);
        assert_eq!(order(&["x", "y"]), ["x", "y"]);
        assert_eq!(order(&["c", "a", "b"]), ["a", "b", "c"]);
    }

    #[test]
    fn durations() {
        for (text, milliseconds) in [
            ("5", 5000),
            ("1.5", 1500),
            ("250ms", 250),
            ("250 msec", 250),
            ("2 w", 1_209_600_000),
            ("1 hour", 3_600_000),
        ] {
            assert_eq!(duration_text(text, 1.0), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        assert_eq!(duration_text("2", 86400.0), Some(Duration::from_secs(172_800)));
        assert_eq!(duration_text("9223372036854775807", 1.0), Some(LONGEST));
        for text in ["", "-1", "1 fortnight", "1  s", "s", "1.", ".5", "1.2.3 s", "1e3", "1 ", "99999999999999999999 w"]
        {
            assert_eq!(duration_text(text, 1.0), None, "{text}");
        }
    }

    #[test]
    fn byte_sizes() {
        for (text, size) in
            [("5k", 5000), ("180 mb", 180_000_000), ("1KiB", 1024), ("1.5 kb", 1500), ("010", 8), ("0x10", 16)]
        {
            assert_eq!(bytes_text(text), Some(size), "{text}");
        }
        for text in ["", "mb", "5 x", "-1"] {
            assert_eq!(bytes_text(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_must_print_back_the_same() {
        for text in ["5", "5.0", "-3"] {
            assert!(number_text(text).is_some(), "{text}");
        }
        for text in ["05", "5.50", "1e3", "", " 5", "true"] {
            assert!(number_text(text).is_none(), "{text}");
        }
    }
}
