//! Numbers of all kinds, compared by their value.

use std::cmp::Ordering;

use bigdecimal::BigDecimal;

use crate::event::{Decimal, Value};

/// Numbers with more digits on either side of the point are compared as doubles: aligning them would take any memory.
const LONGEST: i32 = 2000;

/// Which of two values is more; `None` when they cannot be compared. A text counts as the number that it holds when the
/// other side is a number.
pub(super) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Some(a.as_str().cmp(b.as_str())),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        _ => {
            let (a, b) = (numeric(a)?, numeric(b)?);
            match (exact(&a), exact(&b)) {
                (Some(a), Some(b)) => Some(a.cmp(&b)),
                _ => double(&a).partial_cmp(&double(&b)),
            }
        }
    }
}

/// Whether two values are the same: numbers by value, a boolean and its text, anything else as it is.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Bool(flag), Value::String(text)) | (Value::String(text), Value::Bool(flag)) => {
            text == if *flag { "true" } else { "false" }
        }
        (Value::String(a), Value::String(b)) => a == b,
        _ => a == b || order(a, b) == Some(Ordering::Equal),
    }
}

/// The value as a number.
fn numeric(value: &Value) -> Option<Value> {
    match value {
        Value::Integer(_) | Value::Float(_) | Value::BigInteger(_) | Value::Decimal(_) => Some(value.clone()),
        Value::String(text) => Decimal::parse(text.trim()).map(Value::Decimal),
        _ => None,
    }
}

/// All digits, where there are not too many.
fn exact(value: &Value) -> Option<BigDecimal> {
    match value {
        Value::Integer(n) => Some(BigDecimal::from(*n)),
        Value::BigInteger(n) => Some(BigDecimal::new((**n).clone(), 0)),
        Value::Decimal(d) if d.scale().abs() <= LONGEST => Some(d.to_big()),
        _ => None,
    }
}

fn double(value: &Value) -> f64 {
    match value {
        Value::Integer(n) => *n as f64,
        Value::Float(f) => *f,
        Value::BigInteger(n) => n.to_string().parse().unwrap_or(f64::NAN),
        Value::Decimal(d) => d.to_f64(),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Value {
        Value::Decimal(Decimal::parse(text).unwrap())
    }

    #[test]
    fn numbers_of_all_kinds_are_compared_by_value() {
        let big = Value::from_big("99999999999999999999".parse().unwrap());
        assert_eq!(order(&Value::Integer(5), &decimal("5.00")), Some(Ordering::Equal));
        assert_eq!(order(&decimal("4.99"), &Value::Integer(5)), Some(Ordering::Less));
        assert_eq!(order(&big, &Value::Integer(i64::MAX)), Some(Ordering::Greater));
        assert_eq!(order(&Value::Float(0.5), &decimal("0.5")), Some(Ordering::Equal));
        assert_eq!(order(&decimal("1e2000000000"), &Value::Integer(1)), Some(Ordering::Greater));
        assert_eq!(order(&Value::from("12"), &Value::Integer(5)), Some(Ordering::Greater));
        assert_eq!(order(&Value::from("x"), &Value::Integer(5)), None);
    }

    #[test]
    fn same_values() {
        assert!(same(&Value::Integer(1), &decimal("1.0")));
        assert!(same(&Value::Bool(true), &Value::from("true")));
        assert!(!same(&Value::from("1"), &Value::from("1.0")));
        assert!(!same(&Value::Null, &Value::Integer(0)));
    }
}
