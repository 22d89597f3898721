//! The types that stand in front of values: all that Logstash has ever written, and what each makes of a value.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::class;
use crate::event::{Decimal, Timestamp, Value, text_form};

/// A type name that can stand in front of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A map that the root can be.
    JavaMap,
    Map,
    List,
    String,
    Nil,
    Timestamp,
    Date,
    Integer,
    BigInteger,
    Double,
    Decimal,
}

impl Class {
    pub fn named(name: &[u8]) -> Option<Self> {
        const ROOT: &[u8] = class::ROOT.as_bytes();
        const MAP: &[u8] = class::MAP.as_bytes();
        const LIST: &[u8] = class::LIST.as_bytes();
        const STRING: &[u8] = class::STRING.as_bytes();
        const NIL: &[u8] = class::NIL.as_bytes();
        const TIMESTAMP: &[u8] = class::TIMESTAMP.as_bytes();
        Some(match name {
            STRING | b"java.lang.String" => Self::String,
            MAP | b"java.util.TreeMap" => Self::Map,
            ROOT | b"java.util.LinkedHashMap" => Self::JavaMap,
            LIST | b"java.util.ArrayList" | b"java.util.LinkedList" => Self::List,
            TIMESTAMP => Self::Timestamp,
            NIL => Self::Nil,
            b"java.util.Date" => Self::Date,
            b"java.lang.Long" | b"java.lang.Integer" => Self::Integer,
            b"java.lang.Double" => Self::Double,
            b"java.math.BigInteger" => Self::BigInteger,
            b"java.math.BigDecimal" => Self::Decimal,
            _ => return None,
        })
    }
}

/// Makes the value that its type asks for out of what stands there; `None` when it cannot be.
pub fn convert(class: Class, value: Value) -> Option<Value> {
    match (class, value) {
        (Class::Nil, Value::Null) => Some(Value::Null),
        (Class::String, Value::Integer(n)) => Some(Value::from(n.to_string())),
        (Class::String, Value::BigInteger(n)) => Some(Value::from(n.to_string())),
        (Class::String, Value::Decimal(d)) => Some(Value::from(d.to_string())),
        (Class::String, Value::Float(f)) => {
            let mut text = Vec::new();
            text_form::write_java_double(f, &mut text);
            Some(Value::from(String::from_utf8(text).ok()?))
        }
        (Class::Date, Value::Integer(millis)) => Timestamp::from_millis(millis).map(Value::Timestamp),
        (Class::Integer, value @ Value::Integer(_)) => Some(value),
        (Class::BigInteger, value @ Value::BigInteger(_)) => Some(value),
        (Class::BigInteger, Value::Integer(n)) => Some(Value::BigInteger(Box::new(BigInt::from(n)))),
        (Class::Double, value @ Value::Float(_)) => Some(value),
        (Class::Double, Value::Integer(n)) => Some(Value::Float(n.to_f64()?)),
        (Class::Decimal, value @ Value::Decimal(_)) => Some(value),
        (Class::Decimal, Value::Integer(n)) => Some(Value::Decimal(Decimal::new(BigInt::from(n), 0))),
        (Class::Decimal, Value::BigInteger(n)) => Some(Value::Decimal(Decimal::new(*n, 0))),
        (Class::Decimal, Value::Float(f)) => {
            let mut text = Vec::new();
            text_form::write_java_double(f, &mut text);
            Decimal::parse(std::str::from_utf8(&text).ok()?).map(Value::Decimal)
        }
        _ => None,
    }
}
