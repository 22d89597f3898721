//! YAML to event values.
//!
//! Plain words are read by the core schema of YAML 1.2, so `yes` and `on` are texts, and a number with leading zeros
//! (`007`) is a text as well, as readers of YAML 1.1 and 1.2 would not agree on it. Integers keep all their digits.
//! What YAML has no word for is written as a map with one key: `{$timestamp: …}`, `{$bigint: …}`, `{$bigdecimal: …}`,
//! `{$float: NaN}`.

use num_bigint::BigInt;

use crate::event::{Decimal, Event, Map, Timestamp, Value};
use crate::settings::yaml::{Data, Node};

/// A YAML value that cannot stand for an event value: what is wrong, and the byte where.
#[derive(Debug)]
pub(super) struct BadValue {
    pub at: usize,
    pub message: String,
}

/// The value that a YAML node stands for; `$` keys are left as they are.
pub(super) fn value(node: &Node) -> Result<Value, BadValue> {
    Ok(match &node.data {
        Data::Scalar { text, plain: false } => Value::from(text.as_str()),
        Data::Scalar { text, plain: true } => plain(text),
        Data::List(items) => Value::Array(items.iter().map(value).collect::<Result<_, _>>()?),
        Data::Map(pairs) => Value::Map(map(pairs)?),
    })
}

/// The fields of a YAML map.
pub(super) fn map(pairs: &[(Node, Node)]) -> Result<Map, BadValue> {
    let mut fields = Map::with_capacity(pairs.len());
    for (key, node) in pairs {
        let Data::Scalar { text, .. } = &key.data else {
            return Err(BadValue { at: key.bytes.start, message: "a list or map cannot be a field name".into() });
        };
        if fields.insert(text.as_str(), value(node)?).is_some() {
            return Err(BadValue { at: key.bytes.start, message: format!("`{text}` stands twice in one map") });
        }
    }
    Ok(fields)
}

fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    integer(text).or_else(|| float(text)).unwrap_or_else(|| Value::from(text))
}

fn integer(text: &str) -> Option<Value> {
    let based = |digits: &str, base| BigInt::parse_bytes(digits.as_bytes(), base).map(Value::from_big);
    if let Some(digits) = text.strip_prefix("0x") {
        return based(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return based(digits, 8);
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let leading_zero = digits.len() > 1 && digits.starts_with('0');
    if digits.is_empty() || leading_zero || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().map(Value::from_big)
}

fn float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" => {
            let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
            return Some(Value::Float(sign * f64::INFINITY));
        }
        ".nan" | ".NaN" | ".NAN" if unsigned == text => return Some(Value::Float(f64::NAN)),
        _ => {}
    }
    // Rust also takes words (`inf`), which are texts here.
    let leading_zero = unsigned.starts_with('0') && unsigned.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    let numeric = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !numeric || leading_zero { None } else { text.parse().ok().map(Value::Float) }
}

/// Puts the values in that `$timestamp`, `$bigint`, `$bigdecimal` and `$float` stand for, at every depth.
pub(super) fn typed(value: Value) -> Result<Value, String> {
    Ok(match value {
        Value::Map(map) => match typed_scalar(&map) {
            Some(scalar) => scalar?,
            None => Value::Map(typed_map(map)?),
        },
        Value::Array(items) => Value::Array(items.into_iter().map(typed).collect::<Result<_, _>>()?),
        scalar => scalar,
    })
}

/// As [`typed`], for the fields of an event.
pub(super) fn typed_map(map: Map) -> Result<Map, String> {
    map.into_iter().map(|(key, value)| Ok((key, typed(value)?))).collect::<Result<Vec<_>, String>>().map(Map::from_iter)
}

/// The event that a case file gives by its fields; `$` values are put in.
pub fn typed_event(fields: Map) -> Result<Event, String> {
    typed_map(fields).map(Event::from_map)
}

/// The value that a map with a single `$` key stands for; `None` when it is an ordinary map.
pub(super) fn typed_scalar(map: &Map) -> Option<Result<Value, String>> {
    let (key, value) = map.iter().next().filter(|_| map.len() == 1)?;
    let text = plain_text(value);
    let made = match key.as_str() {
        "$timestamp" => timestamp(&text).map(Value::Timestamp),
        "$bigint" => text.parse().ok().map(|n| Value::BigInteger(Box::new(n))),
        "$bigdecimal" => Decimal::parse(&text).map(Value::Decimal),
        "$float" => match text.as_str() {
            "NaN" => Some(Value::Float(f64::NAN)),
            "Infinity" => Some(Value::Float(f64::INFINITY)),
            "-Infinity" => Some(Value::Float(f64::NEG_INFINITY)),
            text => text.parse().ok().map(Value::Float),
        },
        _ => return None,
    };
    Some(made.ok_or_else(|| format!("`{text}` cannot be read as {key}")))
}

/// An instant in any ISO 8601 form; UTC when it names no zone.
pub fn timestamp(text: &str) -> Option<Timestamp> {
    Timestamp::parse_in(text, &jiff::tz::TimeZone::UTC)
}

/// A scalar as a text, for keys that take texts and may be written without quotes.
pub(super) fn plain_text(value: &Value) -> String {
    let mut text = Vec::new();
    crate::event::text_form::write_template(value, &mut text);
    crate::event::text_form::utf8(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::yaml;

    fn read(text: &str) -> Value {
        value(&yaml::parse(text).unwrap().unwrap()).unwrap()
    }

    #[test]
    fn plain_words_follow_the_core_schema() {
        for (text, expected) in [
            ("5", Value::Integer(5)),
            ("-7", Value::Integer(-7)),
            ("0", Value::Integer(0)),
            ("0x1F", Value::Integer(31)),
            ("1.0", Value::Float(1.0)),
            ("1e3", Value::Float(1000.0)),
            ("-.5", Value::Float(-0.5)),
            (".inf", Value::Float(f64::INFINITY)),
            ("-.inf", Value::Float(f64::NEG_INFINITY)),
            ("true", Value::Bool(true)),
            ("~", Value::Null),
            ("null", Value::Null),
            ("yes", Value::from("yes")),
            ("no", Value::from("no")),
            ("inf", Value::from("inf")),
            ("007", Value::from("007")),
            ("008", Value::from("008")),
            ("01.5", Value::from("01.5")),
            ("1_000", Value::from("1_000")),
            ("12:30", Value::from("12:30")),
            ("2024-01-02", Value::from("2024-01-02")),
            ("1.2.3", Value::from("1.2.3")),
            ("'5'", Value::from("5")),
            ("\"y\"", Value::from("y")),
            ("!!str 5", Value::from("5")),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert!(matches!(read(".nan"), Value::Float(f) if f.is_nan()));
    }

    #[test]
    fn integers_keep_all_their_digits() {
        assert_eq!(read("9223372036854775807"), Value::Integer(i64::MAX));
        let big = read("18446744073709551616");
        assert_eq!(big, Value::BigInteger(Box::new("18446744073709551616".parse().unwrap())));
    }

    #[test]
    fn a_name_that_stands_twice_is_a_mistake() {
        let error = value(&yaml::parse("{a: 1, a: 2}").unwrap().unwrap()).unwrap_err();
        assert!(error.message.contains("`a` stands twice"));
    }

    #[test]
    fn typed_values_are_read_at_every_depth() {
        let read = |text: &str| typed(read(text)).unwrap();
        assert_eq!(
            read("[{$timestamp: '2024-05-06T07:08:09.5+02:00'}]"),
            Value::Array(vec![Value::Timestamp(timestamp("2024-05-06T05:08:09.500Z").unwrap())])
        );
        assert!(matches!(read("{$float: NaN}"), Value::Float(f) if f.is_nan()));
        assert!(matches!(read("{$bigint: '5'}"), Value::BigInteger(n) if *n == 5.into()));
        assert_eq!(read("{$bigdecimal: '1.50'}"), Value::Decimal(Decimal::parse("1.50").unwrap()));
        assert!(matches!(read("{a: {$set: 1}}"), Value::Map(_)), "other names are data");
        assert!(typed(super::tests::read("{$timestamp: yesterday}")).unwrap_err().contains("yesterday"));
    }
}
