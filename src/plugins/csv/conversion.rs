//! `convert`: the type of a column.

use super::literal;
use crate::event::{Text, Value};
use crate::plugins::Options;

/// What the values of a column become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// As Ruby writes it in source text.
    Integer,
    /// As Ruby writes it in source text.
    Float,
    /// `true` or `false` in any case.
    Boolean,
    /// Midnight of this machine's zone.
    Date,
    /// A day and a time.
    DateTime,
}

impl Conversion {
    /// Declares and reads the option `convert`: types by the name of their column.
    pub fn from_options(options: &mut Options<'_>) -> Vec<(String, Self)> {
        let pairs = options.hash("convert").doc("Types of columns; what does not fit stays text.").default(Vec::new());
        let mut conversions = Vec::with_capacity(pairs.len());
        for (column, wanted) in pairs {
            match wanted.as_str().and_then(Self::named) {
                Some(conversion) => conversions.push((column, conversion)),
                None => {
                    let shown = wanted.as_str().unwrap_or(wanted.kind());
                    let message = format!(
                        "Invalid conversion types: `{shown}` for the column `{column}`, \
                        expected integer, float, boolean, date or date_time"
                    );
                    options.invalid("convert", message);
                }
            }
        }
        conversions
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "integer" => Self::Integer,
            "float" => Self::Float,
            "boolean" => Self::Boolean,
            "date" => Self::Date,
            "date_time" => Self::DateTime,
            _ => return None,
        })
    }

    /// The text as a value of this type, if it is one.
    pub fn convert(self, text: &Text) -> Option<Value> {
        match self {
            Self::Integer => literal::integer(text),
            Self::Float => literal::float(text).map(Value::Float),
            Self::Boolean => match text.trim().to_ascii_lowercase().as_str() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => None,
            },
            Self::Date => literal::date(text).map(Value::Timestamp),
            Self::DateTime => literal::date_time(text).map(Value::Timestamp),
        }
    }
}
