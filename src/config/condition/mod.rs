//! Conditions: the text behind `if`, type-checked once at load and then evaluated for every event.
//!
//! [`compile()`] turns the parsed text into a [`Test`] in which every field is parsed, every literal typed and every
//! constant folded; [`evaluate`] follows it without allocating. Both keep Logstash's rules, accidents included:
//! nothing is ever converted, `false` is what `false`, null, missing, `""` and `"false"` are.

mod advice;
mod clue;
mod compile;
mod evaluate;
mod grouping;
mod inspect;
mod membership;
mod operand;
mod order;
mod render;

use std::sync::Arc;

use super::source::Span;
use crate::event::{Event, FieldRef, Value};
pub use clue::{Clue, Sign};
pub(super) use compile::compile;
pub use inspect::{Compared, same};
use membership::Membership;
use order::Comparison;

/// A compiled condition. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Condition(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    test: Test,
    span: Span,
    source: String,
    fields: Vec<FieldRef>,
}

/// A condition that has no answer for this event, such as a text that should be less than a number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConditionError(pub String);

/// What is asked of an event.
#[derive(Debug)]
enum Test {
    Constant(bool),
    /// `[field]`
    Truthy(FieldRef),
    Not(Box<Test>),
    /// Every one, from the left, up to the first that is false.
    All(Box<[Test]>),
    /// Any one, from the left, up to the first that is true.
    Any(Box<[Test]>),
    Xor(Box<[Test; 2]>),
    Nand(Box<[Test; 2]>),
    /// `[field] == "literal"`
    Equals(FieldRef, Value),
    /// `[field] == [field]`
    SameValue(FieldRef, FieldRef),
    /// `[field] < 5`
    Ordered(Comparison),
    /// `[field] =~ /regexp/`
    Matches(FieldRef, Box<crate::regexp::RubyRegex>),
    /// `[field] in [list]`
    In(Box<Membership>),
}

impl Condition {
    fn new(test: Test, span: Span, source: String, fields: Vec<FieldRef>) -> Self {
        Self(Arc::new(Compiled { test, span, source, fields }))
    }

    /// A condition that does not look at the event. Stands in where the written one is in error.
    pub fn constant(answer: bool, span: Span) -> Self {
        Self::new(Test::Constant(answer), span, answer.to_string(), Vec::new())
    }

    /// The answer for this event as it is now.
    pub fn evaluate(&self, event: &Event) -> Result<bool, ConditionError> {
        self.0.test.evaluate(event)
    }

    /// The answer, if it is the same for every event.
    pub fn as_constant(&self) -> Option<bool> {
        match self.0.test {
            Test::Constant(answer) => Some(answer),
            _ => None,
        }
    }

    /// Where it stands.
    pub fn span(&self) -> Span {
        self.0.span
    }

    /// Its text on one line, without comments.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The fields that it reads, in the order they are written.
    pub fn fields(&self) -> impl Iterator<Item = &FieldRef> {
        self.0.fields.iter()
    }
}

#[cfg(test)]
mod tests;
