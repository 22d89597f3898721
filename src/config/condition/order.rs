//! `<`, `<=`, `>`, `>=`.
//!
//! The left operand decides what is possible; when one side is a literal, the field counts as the left one, wherever
//! it stands. Null, booleans and timestamps that cannot be compared count as equal; numbers, texts, lists, maps and
//! missing fields that cannot be compared are an error of this event.

use std::borrow::Cow;
use std::cmp::Ordering;

use bigdecimal::BigDecimal;
use num_bigint::BigInt;

use super::ConditionError;
use super::evaluate::lookup;
use crate::event::{Decimal, Event, FieldRef, Value};

/// Which of the four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderOperator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl OrderOperator {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The operator with its sides swapped.
    pub(super) fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    pub(super) fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// A field and what it is held against.
#[derive(Debug)]
pub(super) struct Comparison {
    pub left: FieldRef,
    pub operator: OrderOperator,
    pub right: Right,
}

/// The other side.
#[derive(Debug)]
pub(super) enum Right {
    Literal(Value),
    Field(FieldRef),
}

impl Comparison {
    pub(super) fn evaluate(&self, event: &Event) -> Result<bool, ConditionError> {
        let left = lookup(event, &self.left);
        let right = match &self.right {
            Right::Literal(value) => Some(Cow::Borrowed(value)),
            Right::Field(field) => lookup(event, field),
        };
        match compare(left.as_deref(), right.as_deref()) {
            Some(order) => Ok(self.operator.holds(order)),
            None => Err(self.error(left.as_deref(), right.as_deref())),
        }
    }

    #[cold]
    fn error(&self, left: Option<&Value>, right: Option<&Value>) -> ConditionError {
        let kind = |value: Option<&Value>| value.map_or("missing", Value::kind);
        let operator = self.operator.as_str();
        let right = match &self.right {
            Right::Literal(value) => format!("the {} behind `{operator}`", value.kind()),
            Right::Field(field) => format!("{} ({})", bracketed(field), kind(right)),
        };
        ConditionError(match left {
            None => format!("{} is missing and cannot be compared with {right}", bracketed(&self.left)),
            Some(left) => {
                format!("{} ({}) cannot be compared by `{operator}` with {right}", bracketed(&self.left), left.kind())
            }
        })
    }
}

fn bracketed(field: &FieldRef) -> String {
    if field.text().starts_with('[') { field.text().to_string() } else { format!("[{}]", field.text()) }
}

/// How two values stand to each other. `None` when that is an error.
fn compare(left: Option<&Value>, right: Option<&Value>) -> Option<Ordering> {
    match (left?, right) {
        (Value::Null | Value::Bool(_), _) => Some(Ordering::Equal),
        (Value::Timestamp(left), Some(Value::Timestamp(right))) => Some(left.cmp(right)),
        (Value::Timestamp(_), _) => Some(Ordering::Equal),
        (Value::String(left), Some(Value::String(right))) => Some(left.as_bytes().cmp(right.as_bytes())),
        (left, Some(right)) => Some(compare_numbers(Number::of(left)?, Number::of(right)?)),
        _ => None,
    }
}

/// Literal against literal; only numbers have an order that the configuration can ask for.
pub(super) fn compare_literals(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        _ => Some(compare_numbers(Number::of(left)?, Number::of(right)?)),
    }
}

enum Number<'a> {
    Integer(i64),
    Float(f64),
    Big(&'a BigInt),
    Decimal(&'a Decimal),
}

impl<'a> Number<'a> {
    fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::Integer(n) => Self::Integer(*n),
            Value::Float(f) => Self::Float(*f),
            Value::BigInteger(n) => Self::Big(n),
            Value::Decimal(d) => Self::Decimal(d),
            _ => return None,
        })
    }

    fn exact(&self) -> BigDecimal {
        match self {
            Self::Integer(n) => BigDecimal::from(*n),
            Self::Big(n) => BigDecimal::from((*n).clone()),
            Self::Decimal(d) => d.to_big(),
            Self::Float(f) => BigDecimal::try_from(*f).unwrap_or_default(),
        }
    }
}

fn compare_numbers(left: Number<'_>, right: Number<'_>) -> Ordering {
    match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => left.cmp(&right),
        (Number::Float(left), Number::Float(right)) => compare_floats(left, right),
        (Number::Integer(left), Number::Float(right)) => compare_integer_float(left, right),
        (Number::Float(left), Number::Integer(right)) => compare_integer_float(right, left).reverse(),
        // A decimal of the event and a double of the configuration that read alike are meant to be equal.
        (Number::Decimal(left), Number::Float(right)) => compare_floats(left.to_f64(), right),
        (Number::Float(left), Number::Decimal(right)) => compare_floats(left, right.to_f64()),
        (_, Number::Float(right)) if !right.is_finite() => not_finite(right).reverse(),
        (Number::Float(left), _) if !left.is_finite() => not_finite(left),
        (left, right) => left.exact().cmp(&right.exact()),
    }
}

/// NaN is greater than every number, as in Java.
fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

fn compare_integer_float(left: i64, right: f64) -> Ordering {
    if !right.is_finite() {
        return not_finite(right).reverse();
    }
    // 2^63: every double at or beyond it is outside the integers.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if right >= LIMIT {
        return Ordering::Less;
    }
    if right < -LIMIT {
        return Ordering::Greater;
    }
    let whole = right.trunc();
    left.cmp(&(whole as i64)).then_with(|| whole.partial_cmp(&right).unwrap_or(Ordering::Equal))
}

fn not_finite(float: f64) -> Ordering {
    if float == f64::NEG_INFINITY { Ordering::Less } else { Ordering::Greater }
}
