//! Clues: what an event must have for a condition to be anything but false.
//!
//! A pipeline with hundreds of conditions cannot afford to ask every event all of them. From each condition a few
//! clues are derived that can be looked up together; where none of them shows, the answer is false without asking.

use super::evaluate::is_all_metadata;
use super::membership::Membership;
use super::order::{Comparison, OrderOperator, Right};
use super::{Condition, Test};
use crate::event::{FieldRef, Text, Value};

/// One field, and what it must be.
///
/// A value that is neither text nor integer shows every clue on its field, since clues tell nothing of such values.
#[derive(Clone, Debug)]
pub struct Clue {
    /// Where to look.
    pub field: FieldRef,
    /// What to look for.
    pub sign: Sign,
}

/// What a field must be.
#[derive(Clone, Debug)]
pub enum Sign {
    /// There, with any value.
    Present,
    /// This very text or integer.
    Equal(Value),
    /// A text with these bytes somewhere in it.
    Piece(Box<[u8]>),
    /// An integer from the first to the second, or a text, or missing: both are an error.
    Within(i64, i64),
}

/// Shortest piece of a text that is worth looking for.
const SHORTEST_PIECE: usize = 2;

impl Condition {
    /// The clues. When an event shows none of them, the condition is false for it and no error. `None` when there is
    /// no telling without asking.
    pub fn clues(&self) -> Option<Vec<Clue>> {
        self.0.test.clues()
    }
}

impl Test {
    fn clues(&self) -> Option<Vec<Clue>> {
        match self {
            Self::Constant(false) => Some(Vec::new()),
            Self::Truthy(field) if !is_all_metadata(field) => one(field, Sign::Present),
            Self::Equals(field, literal @ (Value::String(_) | Value::Integer(_))) => {
                one(field, Sign::Equal(literal.clone()))
            }
            Self::Equals(field, _) => one(field, Sign::Present),
            Self::Ordered(comparison) => comparison.clue().map(|clue| vec![clue]),
            Self::Matches(field, regexp) if !regexp.may_give_up() => match regexp.literals() {
                Some(literals) => Some(literals.into_iter().map(|piece| piece_in(field, piece)).collect()),
                None => one(field, Sign::Present),
            },
            Self::In(membership) => membership.clues(),
            Self::All(tests) => best_of_all(tests),
            Self::Any(tests) => tests
                .iter()
                .map(Self::clues)
                .collect::<Option<Vec<_>>>()
                .map(|clues| clues.into_iter().flatten().collect()),
            Self::Constant(true)
            | Self::Truthy(_)
            | Self::Not(_)
            | Self::Xor(_)
            | Self::Nand(_)
            | Self::SameValue(..)
            | Self::Matches(..) => None,
        }
    }

    /// Whether there is an event for which this is an error.
    fn may_fail(&self) -> bool {
        match self {
            Self::Ordered(_) => true,
            Self::Matches(_, regexp) => regexp.may_give_up(),
            Self::Not(test) => test.may_fail(),
            Self::All(tests) | Self::Any(tests) => tests.iter().any(Self::may_fail),
            Self::Xor(sides) | Self::Nand(sides) => sides.iter().any(Self::may_fail),
            Self::Constant(_) | Self::Truthy(_) | Self::Equals(..) | Self::SameValue(..) | Self::In(_) => false,
        }
    }
}

/// One false part makes the whole false, so the clues of one part are enough: of the most telling one. It must not
/// stand behind a part that may fail; only further limits of the same range can, since they fail together.
fn best_of_all(tests: &[Test]) -> Option<Vec<Clue>> {
    let mut best: Option<Vec<Clue>> = None;
    let mut failed_before = false;
    for test in tests {
        let clues = test.clues();
        if let (Some([known]), Some([clue])) = (best.as_deref_mut(), clues.as_deref())
            && known.narrow(clue)
        {
            continue;
        }
        if failed_before {
            break;
        }
        failed_before = test.may_fail();
        best = best.into_iter().chain(clues).max_by_key(|clues| weight(clues));
    }
    best
}

/// How telling clues are: as much as the least telling one.
fn weight(clues: &[Clue]) -> u8 {
    let weight = |clue: &Clue| match clue.sign {
        Sign::Present => 1,
        Sign::Within(..) | Sign::Piece(_) => 2,
        Sign::Equal(_) => 3,
    };
    clues.iter().map(weight).min().unwrap_or(u8::MAX)
}

impl Comparison {
    fn clue(&self) -> Option<Clue> {
        let Right::Literal(Value::Integer(n)) = self.right else { return None };
        // No integer is in a range that ends before it starts.
        let nothing = (1, 0);
        let (from, to) = match self.operator {
            OrderOperator::Less => n.checked_sub(1).map_or(nothing, |to| (i64::MIN, to)),
            OrderOperator::LessOrEqual => (i64::MIN, n),
            OrderOperator::Greater => n.checked_add(1).map_or(nothing, |from| (from, i64::MAX)),
            OrderOperator::GreaterOrEqual => (n, i64::MAX),
        };
        Some(Clue { field: self.left.clone(), sign: Sign::Within(from, to) })
    }
}

impl Membership {
    fn clues(&self) -> Option<Vec<Clue>> {
        match self {
            Self::FieldInList(field, set) => {
                let literal = |text: &Text| {
                    // Elements are compared with the text of an integer.
                    let integer = text.parse().ok().map(|n: i64| Value::Integer(n));
                    let signs = integer.into_iter().chain([Value::String(text.clone())]);
                    signs.map(|value| Clue { field: field.clone(), sign: Sign::Equal(value) })
                };
                Some(set.iter().flat_map(literal).collect())
            }
            Self::TextInField(text, _, field) => Some(vec![piece_in(field, text.as_bytes().into())]),
            Self::FieldInText(field, _) | Self::NumberInField(_, field) | Self::FieldInField(field, _) => {
                if is_all_metadata(field) {
                    None
                } else {
                    one(field, Sign::Present)
                }
            }
        }
    }
}

impl Clue {
    /// Makes this range narrower by another one on the same field. An integer outside of either makes one of the two
    /// comparisons false and none fail.
    fn narrow(&mut self, other: &Self) -> bool {
        match (&mut self.sign, &other.sign) {
            (Sign::Within(from, to), Sign::Within(other_from, other_to)) if self.field.is_same(&other.field) => {
                *from = (*from).max(*other_from);
                *to = (*to).min(*other_to);
                true
            }
            _ => false,
        }
    }
}

fn one(field: &FieldRef, sign: Sign) -> Option<Vec<Clue>> {
    Some(vec![Clue { field: field.clone(), sign }])
}

fn piece_in(field: &FieldRef, piece: Box<[u8]>) -> Clue {
    let sign = if piece.len() < SHORTEST_PIECE { Sign::Present } else { Sign::Piece(piece) };
    Clue { field: field.clone(), sign }
}
