//! Conditions that always hold, given what stands around them, and so need not be asked.
//!
//! Named patterns guard themselves against their surroundings (`\b`, `(?![0-9])`), which most often a pattern that uses
//! them has settled already: behind `HTTP/` no digit comes before a number.

use super::node::{Assertion, Node, Repeat};
use super::set::ByteSet;

/// A tree without those conditions; it matches the same.
pub(super) fn without_certain(node: Node) -> Node {
    Surroundings { before: ByteSet::ALL, behind: ByteSet::ALL }.reduce(node)
}

/// The bytes that can stand around a node. Never too few.
#[derive(Clone, Copy)]
struct Surroundings {
    before: ByteSet,
    behind: ByteSet,
}

impl Surroundings {
    fn reduce(&self, node: Node) -> Node {
        match node {
            Node::Concat(nodes) => self.concat(nodes),
            Node::Alternation(nodes) => Node::Alternation(nodes.into_iter().map(|node| self.reduce(node)).collect()),
            Node::Repeat(repeat) => {
                let around = Self {
                    before: repeat.inside.last(&self.before).union(&self.before),
                    behind: repeat.inside.first(&self.behind).union(&self.behind),
                };
                let inside = around.reduce(repeat.inside);
                Node::Repeat(Box::new(Repeat { inside, ..*repeat }))
            }
            Node::Group(group, inside) => Node::Group(group, Box::new(self.reduce(*inside))),
            // What it takes does not depend on whether the rest can follow.
            Node::Atomic(inside) => Node::Atomic(Box::new(Self { behind: ByteSet::ALL, ..*self }.reduce(*inside))),
            node if self.always_holds(&node) => Node::Empty,
            node => node,
        }
    }

    fn concat(&self, nodes: Vec<Node>) -> Node {
        let mut behind = Vec::with_capacity(nodes.len());
        let mut follow = self.behind;
        for node in nodes.iter().rev() {
            behind.push(follow);
            follow = node.first(&follow);
        }
        let mut before = self.before;
        let reduced = nodes.into_iter().zip(behind.into_iter().rev()).map(|(node, behind)| {
            let around = Self { before, behind };
            before = node.last(&before);
            around.reduce(node)
        });
        Node::concat(reduced.collect())
    }

    fn always_holds(&self, condition: &Node) -> bool {
        match condition {
            Node::Assertion(Assertion::WordBoundary) => {
                is_word(&self.before).zip(is_word(&self.behind)).is_some_and(|(before, behind)| before != behind)
            }
            Node::Assertion(Assertion::NoWordBoundary) => {
                is_word(&self.before).zip(is_word(&self.behind)).is_some_and(|(before, behind)| before == behind)
            }
            Node::Look { ahead, negative: true, inside } if !inside.can_be_empty() => {
                if *ahead {
                    !inside.first(&ByteSet::EMPTY).shares_a_byte(&self.behind)
                } else {
                    !inside.last(&ByteSet::EMPTY).shares_a_byte(&self.before)
                }
            }
            _ => false,
        }
    }
}

/// Whether all bytes of a set are of words, or none is; `None` when there are both, or bytes beyond ASCII.
fn is_word(set: &ByteSet) -> Option<bool> {
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut bytes = (0..=255_u8).filter(|byte| set.contains(*byte)).peekable();
    let first = bytes.peek().copied().map(is_of_word);
    // The end of the text is no word.
    let kind = if set.has_end() { false } else { first? };
    bytes.all(|byte| byte.is_ascii() && is_of_word(byte) == kind).then_some(kind)
}
