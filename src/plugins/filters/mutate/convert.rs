//! `convert`: the type of a value, with the quirks that configurations rest on.

use num_bigint::BigInt;
use num_traits::{FromPrimitive, ToPrimitive};

use super::number_text;
use crate::event::{Value, text_form};

/// What a value becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    String,
    Integer,
    Float,
    Boolean,
    IntegerEu,
    FloatEu,
}

/// A value that is no number.
#[derive(Debug, thiserror::Error)]
#[error("cannot convert {shown} to {wanted}")]
pub(super) struct ConversionError {
    shown: String,
    wanted: &'static str,
}

impl Conversion {
    /// All names, for messages.
    pub const NAMES: &str = "string, integer, float, boolean, integer_eu, float_eu";

    /// By its name in a configuration.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "integer" => Self::Integer,
            "float" => Self::Float,
            "boolean" => Self::Boolean,
            "integer_eu" => Self::IntegerEu,
            "float_eu" => Self::FloatEu,
            _ => return None,
        })
    }

    /// The converted value; `None` when it stays as it is. Of a list every element is converted, or none.
    pub fn convert(self, value: &Value) -> Result<Option<Value>, ConversionError> {
        match value {
            Value::Null | Value::Map(_) => Ok(None),
            Value::Array(list) => {
                let element = |value: &Value| match value {
                    Value::Null => Ok(Value::Null),
                    value => Ok(self.single(value)?.unwrap_or_else(|| value.clone())),
                };
                Ok(Some(Value::Array(list.iter().map(element).collect::<Result<_, _>>()?)))
            }
            value => self.single(value),
        }
    }

    fn single(self, value: &Value) -> Result<Option<Value>, ConversionError> {
        let converted = match self {
            Self::String if matches!(value, Value::String(_)) => return Ok(None),
            Self::String => return Ok(Some(Value::from(ruby_text(value)))),
            Self::Boolean => return Ok(boolean(value)),
            Self::Integer => integer(value, number_text::integer),
            Self::IntegerEu => integer(value, |text| number_text::integer(&number_text::exchanged(text))),
            Self::Float => float(value, number_text::float),
            Self::FloatEu => float(value, |text| number_text::float(&number_text::exchanged(text))),
        };
        let wanted = if matches!(self, Self::Integer | Self::IntegerEu) { "an integer" } else { "a float" };
        converted.map(Some).ok_or_else(|| ConversionError { shown: shown(value), wanted })
    }
}

fn integer(value: &Value, parse: impl Fn(&str) -> Option<Value>) -> Option<Value> {
    match value {
        Value::Bool(b) => Some(Value::Integer(i64::from(*b))),
        Value::Integer(_) | Value::BigInteger(_) => Some(value.clone()),
        Value::Float(f) => BigInt::from_f64(f.trunc()).map(Value::from_big),
        Value::Decimal(d) => d.to_integer().map(Value::from_big),
        Value::Timestamp(at) => Some(Value::Integer(at.seconds())),
        Value::String(text) => parse(text),
        Value::Null | Value::Array(_) | Value::Map(_) => None,
    }
}

fn float(value: &Value, parse: impl Fn(&str) -> Option<f64>) -> Option<Value> {
    let float = match value {
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::Integer(n) => *n as f64,
        Value::BigInteger(n) => n.to_f64()?,
        Value::Float(f) => *f,
        Value::Decimal(d) => d.to_f64(),
        Value::Timestamp(at) => at.seconds() as f64 + f64::from(at.nanos()) / 1e9,
        Value::String(text) => parse(text)?,
        Value::Null | Value::Array(_) | Value::Map(_) => return None,
    };
    Some(Value::Float(float))
}

/// Logstash asks a regular expression about the text of the value: the point of `1.0` stands for any character, and one
/// line of several is enough.
fn boolean(value: &Value) -> Option<Value> {
    if let Value::Bool(_) = value {
        return None;
    }
    let text = ruby_text(value);
    let any_line = |words: &[&str], first: char| text.split('\n').any(|line| is_word(line, words, first));
    if any_line(&["true", "t", "yes", "y", "1"], '1') {
        return Some(Value::Bool(true));
    }
    if text.is_empty() || any_line(&["false", "f", "no", "n", "0"], '0') {
        return Some(Value::Bool(false));
    }
    tracing::warn!(target: "logstash.filters.mutate", "Failed to convert {} into boolean.", shown(value));
    None
}

/// Whether a line is one of the words in any case, or `first`, any character, `0`.
fn is_word(line: &str, words: &[&str], first: char) -> bool {
    if words.iter().any(|word| line.eq_ignore_ascii_case(word)) {
        return true;
    }
    let mut chars = line.chars();
    chars.next() == Some(first) && chars.next().is_some() && chars.next() == Some('0') && chars.next().is_none()
}

fn ruby_text(value: &Value) -> String {
    let mut out = Vec::new();
    text_form::write_ruby(value, &mut out);
    text_form::utf8(out)
}

/// The value for a message, cut.
fn shown(value: &Value) -> String {
    let mut out = Vec::new();
    text_form::write_inspect(value, &mut out);
    text_form::utf8(out).chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_have_their_quirks() {
        for (given, expected) in [
            (Value::from("1x0"), Some(true)),
            (Value::from("100"), Some(true)),
            (Value::from("x\nyes"), Some(true)),
            (Value::Integer(110), Some(true)),
            (Value::Float(1.0), Some(true)),
            (Value::from("010"), Some(false)),
            (Value::from(""), Some(false)),
            (Value::Float(0.0), Some(false)),
            (Value::from("on"), None),
            (Value::Integer(2), None),
            (Value::from(" true"), None),
        ] {
            assert_eq!(boolean(&given), expected.map(Value::Bool), "{given:?}");
        }
    }

    #[test]
    fn numbers_of_other_kinds() {
        let infinity = Value::Float(f64::INFINITY);
        assert!(Conversion::Integer.convert(&infinity).is_err());
        assert_eq!(Conversion::Integer.convert(&Value::Float(-3.9)).unwrap(), Some(Value::Integer(-3)));
        assert_eq!(Conversion::IntegerEu.convert(&Value::from("1.234,56")).unwrap(), Some(Value::Integer(1234)));
        assert_eq!(Conversion::FloatEu.convert(&Value::from("1.234,56")).unwrap(), Some(Value::Float(1234.56)));
    }
}
