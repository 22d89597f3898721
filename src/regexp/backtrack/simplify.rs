//! Trees that match the same with less going back.
//!
//! Alternatives that begin alike are tried once for what they share: `ab|ac` is `a(?:b|c)`. That changes nothing only
//! where the shared part can match in one way, so that no order of tries is lost.

use super::node::{Node, Repeat};
use super::set::ByteSet;

/// Repeats of a shared part that are written out.
const MOST_WRITTEN_OUT: u32 = 16;

/// A tree that matches the same.
pub(super) fn simplify(node: Node) -> Node {
    match node {
        Node::Concat(nodes) => Node::Concat(nodes.into_iter().map(simplify).collect()),
        Node::Alternation(nodes) => alternation(nodes.into_iter().map(simplify).map(elements).collect()),
        Node::Repeat(repeat) => Node::Repeat(Box::new(Repeat { inside: simplify(repeat.inside), ..*repeat })),
        Node::Group(group, inside) => Node::Group(group, Box::new(simplify(*inside))),
        Node::Atomic(inside) => match simplify(*inside) {
            // What can match in one way has nothing to forget.
            inside if is_fixed(&inside) => inside,
            inside => Node::Atomic(Box::new(inside)),
        },
        Node::Look { ahead, negative, inside } => Node::Look { ahead, negative, inside: Box::new(simplify(*inside)) },
        node => node,
    }
}

/// Whether it is a row of single characters.
fn is_fixed(node: &Node) -> bool {
    match node {
        Node::Empty | Node::Literal(_) | Node::Class(_) => true,
        Node::Concat(nodes) => nodes.iter().all(is_fixed),
        _ => false,
    }
}

/// What follows each other in a node.
fn elements(node: Node) -> Vec<Node> {
    match node {
        Node::Concat(nodes) => nodes,
        Node::Empty => Vec::new(),
        node => vec![node],
    }
}

/// Joins neighbours that begin alike.
fn alternation(alternatives: Vec<Vec<Node>>) -> Node {
    let mut joined: Vec<Node> = Vec::with_capacity(alternatives.len());
    let mut rest = alternatives.into_iter().peekable();
    while let Some(first) = rest.next() {
        let mut alike = vec![with_head(&first)];
        while let Some(next) = rest.peek() {
            let next = with_head(next);
            if alike.first().is_none_or(|first| shared(first, &next) == 0) {
                break;
            }
            alike.push(next);
            rest.next();
        }
        let length = match alike.split_first() {
            Some((first, others)) if !others.is_empty() => others.iter().map(|other| shared(first, other)).min(),
            _ => None,
        };
        match length {
            Some(length) => joined.push(join(alike, length)),
            None => joined.push(Node::concat(first)),
        }
    }
    if joined.len() == 1 { joined.pop().unwrap_or(Node::Empty) } else { Node::Alternation(joined) }
}

/// The first `length` elements once, then what remains of each alternative.
fn join(alike: Vec<Vec<Node>>, length: usize) -> Node {
    let mut head = Vec::new();
    let mut tails = Vec::with_capacity(alike.len());
    for mut alternative in alike {
        let tail = alternative.split_off(length.min(alternative.len()));
        head = alternative;
        tails.push(tail);
    }
    head.push(alternation(tails));
    Node::concat(head)
}

/// Elements with a counted repeat in the first place written out by one.
fn with_head(alternative: &[Node]) -> Vec<Node> {
    let Some((first, rest)) = alternative.split_first() else { return Vec::new() };
    let mut out = match first {
        Node::Repeat(repeat) if repeat.most == Some(repeat.least) && (2..=MOST_WRITTEN_OUT).contains(&repeat.least) => {
            let mut out = elements(repeat.inside.clone());
            let once_less =
                Repeat { least: repeat.least - 1, most: repeat.most.map(|most| most - 1), ..(**repeat).clone() };
            out.push(Node::Repeat(Box::new(once_less)));
            out
        }
        Node::Repeat(repeat) if repeat.most == Some(1) && repeat.least == 1 => elements(repeat.inside.clone()),
        Node::Concat(nodes) => nodes.clone(),
        node => vec![node.clone()],
    };
    out.extend_from_slice(rest);
    out
}

/// How many first elements two alternatives share that can match in one way only.
fn shared(one: &[Node], other: &[Node]) -> usize {
    let mut count = 0;
    while let (Some(a), Some(b)) = (one.get(count), other.get(count)) {
        let has_one_way = match a {
            Node::Literal(_) | Node::Class(_) | Node::Assertion(_) => true,
            Node::Repeat(repeat) => {
                ends_in_one_place(repeat, one.get(count + 1)) && ends_in_one_place(repeat, other.get(count + 1))
            }
            _ => false,
        };
        if a != b || !has_one_way {
            break;
        }
        count += 1;
    }
    count
}

/// Whether a run of characters can only end where none of them follows.
fn ends_in_one_place(repeat: &Repeat, next: Option<&Node>) -> bool {
    let (Some(class), Some(next)) = (repeat.inside.as_class(), next) else { return false };
    !next.can_be_empty() && !class.first_bytes().shares_a_byte(&next.first(&ByteSet::EMPTY))
}
