//! `convert_datatype`: text of fields to numbers that keep their digits.

use crate::event::{Decimal, Event, FieldRef, Value, text_form};

/// A field and the number that it becomes.
pub(super) struct Conversion {
    field: FieldRef,
    is_integer: bool,
    /// Tag of an event without a value.
    no_value: String,
    /// Tag of an event whose value is no number.
    no_number: String,
}

impl Conversion {
    /// Takes the type in any case; the error says which there are.
    pub fn new(field: FieldRef, name: &str, wanted: &str) -> Result<Self, String> {
        let is_integer = match wanted.to_ascii_lowercase().as_str() {
            "int" => true,
            "float" => false,
            _ => return Err(format!("datatype not supported: `{wanted}`, expected int or float")),
        };
        let no_value = format!("_dataconversionnullvalue_{name}_{wanted}");
        let no_number = format!("_dataconversionuncoercible_{name}_{wanted}");
        Ok(Self { field, is_integer, no_value, no_number })
    }

    /// Converts the field, or tags the event.
    pub fn run(&self, event: &mut Event) {
        let value = event.get(&self.field).unwrap_or(&Value::Null);
        if value.is_null() {
            return event.tag(&self.no_value);
        }
        let number = decimal(value).and_then(|decimal| {
            if self.is_integer { decimal.to_integer().map(Value::from_big) } else { Some(Value::Decimal(decimal)) }
        });
        if number.and_then(|number| event.set(&self.field, number).ok()).is_none() {
            event.tag(&self.no_number);
        }
    }
}

/// The number in a text or number, as Java's `BigDecimal` reads it.
fn decimal(value: &Value) -> Option<Decimal> {
    let mut text = Vec::new();
    match value {
        Value::String(_) | Value::Integer(_) | Value::BigInteger(_) | Value::Float(_) | Value::Decimal(_) => {
            text_form::write_template(value, &mut text);
        }
        _ => return None,
    }
    let text = String::from_utf8(text).ok()?;
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(&text)),
    };
    // Digits may be missing on one side of the point.
    let is_number = digits.strip_prefix('.').unwrap_or(digits).starts_with(|first: char| first.is_ascii_digit());
    let zero = if digits.starts_with('.') { "0" } else { "" };
    is_number.then(|| Decimal::parse(&format!("{sign}{zero}{digits}")))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        for (text, expected) in [
            ("1.50", Some("1.50")),
            ("1e2", Some("1E+2")),
            ("+5", Some("5")),
            ("-.5", Some("-0.5")),
            ("5.", Some("5")),
            ("123456789012345678901234567890.10", Some("123456789012345678901234567890.10")),
            (".", None),
            ("", None),
            (" 1", None),
            ("--1", None),
            ("0x1", None),
            ("NaN", None),
        ] {
            let number = decimal(&Value::from(text)).map(|decimal| decimal.to_string());
            assert_eq!(number.as_deref(), expected, "{text}");
        }
        assert!(decimal(&Value::Bool(true)).is_none());
    }
}
