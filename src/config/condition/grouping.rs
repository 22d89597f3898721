//! How `and` and `or` are grouped where no parentheses say so.
//!
//! Logstash keeps operators on a stack and, when a new one arrives, closes only **one** waiting operator of higher
//! precedence. So `a and b and c or d` is `a and ((b and c) or d)`. Configurations in the field depend on it.

use std::collections::VecDeque;

use super::Test;

/// What stands between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boolean {
    And,
    Or,
    Xor,
    Nand,
}

impl Boolean {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "and" => Self::And,
            "or" => Self::Or,
            "xor" => Self::Xor,
            "nand" => Self::Nand,
            _ => return None,
        })
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Nand => "nand",
        }
    }

    fn binds_tighter_than(self, other: Self) -> bool {
        self == Self::And && other == Self::Or
    }
}

/// Operands joined as Logstash joins them, and whether that differs from "`and` before `or`".
pub(super) fn group<T>(
    operands: Vec<T>,
    operators: &[Boolean],
    mut join: impl FnMut(Boolean, T, T) -> T,
) -> (Option<T>, bool) {
    let mut close = |operator, done: &mut Vec<T>| {
        if let (Some(right), Some(left)) = (done.pop(), done.pop()) {
            done.push(join(operator, left, right));
        }
    };
    let mut surprising = false;
    let mut done = Vec::new();
    let mut waiting: Vec<Boolean> = Vec::new();
    let mut operands = operands.into_iter();
    done.extend(operands.next());
    for (&operator, operand) in operators.iter().zip(operands) {
        if let Some(&last) = waiting.last()
            && last.binds_tighter_than(operator)
        {
            waiting.pop();
            close(last, &mut done);
            surprising |= waiting.last().is_some_and(|w| w.binds_tighter_than(operator));
        }
        waiting.push(operator);
        done.push(operand);
    }
    while let Some(operator) = waiting.pop() {
        close(operator, &mut done);
    }
    (done.pop(), surprising)
}

/// A test and how many tests it nests; a flat run of the same operator is one level.
pub(super) enum Joined {
    Leaf(Test, usize),
    Run(Boolean, VecDeque<Joined>, usize),
}

impl Joined {
    fn depth(&self) -> usize {
        match self {
            Self::Leaf(_, depth) | Self::Run(_, _, depth) => *depth,
        }
    }

    /// Joins two, lengthening the right one where it is a run of the same operator: runs are right-nested.
    pub(super) fn join(operator: Boolean, left: Self, right: Self) -> Self {
        match right {
            Self::Run(run, mut tests, depth) if run == operator => {
                let depth = depth.max(left.depth() + 1);
                tests.push_front(left);
                Self::bounded(run, tests, depth)
            }
            right => {
                let depth = left.depth().max(right.depth()) + 1;
                Self::bounded(operator, VecDeque::from([left, right]), depth)
            }
        }
    }

    /// Deeper ones are cut off: they are refused by [`Joined::finish`], and must not be walked.
    fn bounded(operator: Boolean, tests: VecDeque<Self>, depth: usize) -> Self {
        if depth > MAX_DEPTH { Self::Leaf(Test::Constant(false), depth) } else { Self::Run(operator, tests, depth) }
    }

    /// The test with its depth, `None` when it nests too deep to be evaluated safely.
    pub(super) fn finish(self) -> Option<(Test, usize)> {
        let depth = self.depth();
        (depth <= MAX_DEPTH).then(|| (self.into_test(), depth))
    }

    fn into_test(self) -> Test {
        match self {
            Self::Leaf(test, _) => test,
            Self::Run(operator, tests, _) => {
                let mut tests: Vec<Test> = tests.into_iter().map(Self::into_test).collect();
                match operator {
                    Boolean::And => all(tests),
                    Boolean::Or => any(tests),
                    Boolean::Xor | Boolean::Nand => match (tests.pop(), tests.pop()) {
                        (Some(right), Some(left)) if operator == Boolean::Xor => Test::Xor(Box::new([left, right])),
                        (Some(right), Some(left)) => Test::Nand(Box::new([left, right])),
                        _ => Test::Constant(false),
                    },
                }
            }
        }
    }
}

/// Levels of nested tests that are followed by recursion.
const MAX_DEPTH: usize = 250;

fn all(mut tests: Vec<Test>) -> Test {
    // What stands left of a constant may still be an error for the event, so only leading constants decide.
    if matches!(tests.first(), Some(Test::Constant(false))) {
        return Test::Constant(false);
    }
    tests.retain(|test| !matches!(test, Test::Constant(true)));
    match tests.len() {
        0 => Test::Constant(true),
        1 => tests.remove(0),
        _ => Test::All(tests.into()),
    }
}

fn any(mut tests: Vec<Test>) -> Test {
    if matches!(tests.first(), Some(Test::Constant(true))) {
        return Test::Constant(true);
    }
    tests.retain(|test| !matches!(test, Test::Constant(false)));
    match tests.len() {
        0 => Test::Constant(false),
        1 => tests.remove(0),
        _ => Test::Any(tests.into()),
    }
}
