//! Asking an event: no allocation, the fields looked up where they are needed, the rest skipped.

use std::borrow::Cow;

use super::{ConditionError, Test};
use crate::event::{Event, FieldRef, Root, Value};

impl Test {
    pub(super) fn evaluate(&self, event: &Event) -> Result<bool, ConditionError> {
        Ok(match self {
            Self::Constant(answer) => *answer,
            Self::Truthy(field) => is_all_metadata(field) || event.get(field).is_some_and(Value::is_truthy),
            Self::Not(test) => !test.evaluate(event)?,
            Self::All(tests) => {
                for test in tests {
                    if !test.evaluate(event)? {
                        return Ok(false);
                    }
                }
                true
            }
            Self::Any(tests) => {
                for test in tests {
                    if test.evaluate(event)? {
                        return Ok(true);
                    }
                }
                false
            }
            // Logstash builds these from and, or and not: the right side is asked in both cases of xor, and only
            // when the left is true in nand.
            Self::Xor(sides) => sides[0].evaluate(event)? != sides[1].evaluate(event)?,
            Self::Nand(sides) => !(sides[0].evaluate(event)? && sides[1].evaluate(event)?),
            Self::Equals(field, literal) => event.get(field).is_some_and(|value| equals(value, literal)),
            Self::SameValue(left, right) => lookup(event, left) == lookup(event, right),
            Self::Ordered(comparison) => comparison.evaluate(event)?,
            Self::Matches(field, regexp) => match event.get(field).and_then(Value::as_str) {
                Some(text) => regexp.try_is_match(text).map_err(|gave_up| {
                    ConditionError(format!("{} =~ /{}/: {gave_up}", field.text(), regexp.as_str()))
                })?,
                None => false,
            },
            Self::In(membership) => membership.evaluate(event),
        })
    }
}

/// A field against a literal: same type, same value. A decimal counts as the double that a literal can only be.
fn equals(value: &Value, literal: &Value) -> bool {
    match (value, literal) {
        (Value::Decimal(value), Value::Float(literal)) => value.to_f64() == *literal,
        (value, literal) => value == literal,
    }
}

/// The value of a field; all of `@metadata` as a map of its own.
pub(super) fn lookup<'e>(event: &'e Event, field: &FieldRef) -> Option<Cow<'e, Value>> {
    if is_all_metadata(field) {
        return event.value_of(field).map(Cow::Owned);
    }
    event.get(field).map(Cow::Borrowed)
}

/// Whether this is `[@metadata]` itself.
pub(super) fn is_all_metadata(field: &FieldRef) -> bool {
    field.root() == Root::Metadata && field.path().is_empty()
}
