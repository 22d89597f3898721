//! The value of a field.

use num_bigint::BigInt;

use super::{Decimal, Map, Text, Timestamp};

/// Any value that a field can hold; 32 bytes.
///
/// Equality is strict: an integer never equals a float, nor a number a text. It is the equality of `==` in the
/// configuration language between two fields, except that two maps compare by content.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// Ruby's nil.
    #[default]
    Null,
    /// true or false.
    Bool(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A double.
    Float(f64),
    /// An integer that needs more than 64 bits (or was stored as a big one).
    BigInteger(Box<BigInt>),
    /// A decimal number that keeps its digits (`1.10` stays `1.10`).
    Decimal(Decimal),
    /// Text, always valid UTF-8.
    String(Text),
    /// An instant in UTC, nanoseconds.
    Timestamp(Timestamp),
    /// A list.
    Array(Vec<Value>),
    /// A map in insertion order.
    Map(Map),
}

impl Value {
    /// A text that costs nothing to make.
    pub const fn literal(text: &'static str) -> Self {
        Self::String(Text::borrowed(text))
    }

    /// The text, if this is one.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Self::String(s) => Some(s),
            _ => None,
        }
    }

    /// The text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().map(Text::as_str)
    }

    /// The integer, if this is a 64-bit one.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(n) => Some(*n),
            _ => None,
        }
    }

    /// The map, if this is one.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(m) => Some(m),
            _ => None,
        }
    }

    /// The list, if this is one.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(a) => Some(a),
            _ => None,
        }
    }

    /// The instant, if this is one.
    pub fn as_timestamp(&self) -> Option<Timestamp> {
        match self {
            Self::Timestamp(t) => Some(*t),
            _ => None,
        }
    }

    /// A copy in memory of its own, as [`Map::apart`].
    #[must_use]
    pub(crate) fn apart(&self) -> Self {
        match self {
            Self::Map(map) => Self::Map(map.apart()),
            Self::String(text) => Self::String(Text::from(text.as_str())),
            other => other.clone(),
        }
    }

    /// Whether this is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// What an `if [field]` makes of it: false are null, false, the empty text and the text `false`.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(b) => *b,
            Self::String(s) => !matches!(s.as_str(), "" | "false"),
            _ => true,
        }
    }

    /// The kind of value in a user's words, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Integer(_) | Self::BigInteger(_) => "integer",
            Self::Float(_) => "float",
            Self::Decimal(_) => "decimal",
            Self::String(_) => "string",
            Self::Timestamp(_) => "timestamp",
            Self::Array(_) => "list",
            Self::Map(_) => "map",
        }
    }

    /// An integer of any size in its smallest form.
    pub fn from_big(n: BigInt) -> Self {
        match i64::try_from(&n) {
            Ok(n) => Self::Integer(n),
            Err(_) => Self::BigInteger(Box::new(n)),
        }
    }
}

impl From<bool> for Value {
    fn from(v: bool) -> Self {
        Self::Bool(v)
    }
}

impl From<i64> for Value {
    fn from(v: i64) -> Self {
        Self::Integer(v)
    }
}

impl From<f64> for Value {
    fn from(v: f64) -> Self {
        Self::Float(v)
    }
}

impl From<Text> for Value {
    fn from(v: Text) -> Self {
        Self::String(v)
    }
}

impl From<&str> for Value {
    fn from(v: &str) -> Self {
        Self::String(Text::from(v))
    }
}

impl From<String> for Value {
    fn from(v: String) -> Self {
        Self::String(Text::from(v))
    }
}

impl From<Timestamp> for Value {
    fn from(v: Timestamp) -> Self {
        Self::Timestamp(v)
    }
}

impl From<Map> for Value {
    fn from(v: Map) -> Self {
        Self::Map(v)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(v: Vec<T>) -> Self {
        Self::Array(v.into_iter().map(Into::into).collect())
    }
}

const _: () = assert!(size_of::<Value>() == 32);
