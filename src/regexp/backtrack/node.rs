//! What a pattern means, as a tree.

use super::class::CharClass;
use super::set::ByteSet;

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Empty,
    /// These bytes, whole characters.
    Literal(Vec<u8>),
    Class(CharClass),
    Concat(Vec<Node>),
    /// The first that leads to a match wins.
    Alternation(Vec<Node>),
    Repeat(Box<Repeat>),
    /// Captures; the number from 1.
    Group(usize, Box<Node>),
    /// Never gives back what it took.
    Atomic(Box<Node>),
    Look {
        ahead: bool,
        negative: bool,
        inside: Box<Node>,
    },
    Assertion(Assertion),
    /// What the group took, again.
    BackReference(usize),
    /// The match starts here.
    Keep,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Repeat {
    pub inside: Node,
    pub least: u32,
    pub most: Option<u32>,
    pub lazy: bool,
}

/// A condition on a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assertion {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordBoundary,
    NoWordBoundary,
    SearchStart,
}

impl Node {
    /// Nodes behind each other; literals that follow each other are one.
    pub fn concat(nodes: Vec<Self>) -> Self {
        let mut joined = Vec::with_capacity(nodes.len());
        nodes.into_iter().for_each(|node| node.join(&mut joined));
        match joined.len() {
            0 => Self::Empty,
            1 => joined.pop().unwrap_or(Self::Empty),
            _ => Self::Concat(joined),
        }
    }

    fn join(self, joined: &mut Vec<Self>) {
        match (joined.last_mut(), self) {
            (Some(Self::Literal(bytes)), Self::Literal(more)) => bytes.extend(more),
            (_, Self::Empty) => {}
            (_, Self::Concat(inside)) => inside.into_iter().for_each(|node| node.join(joined)),
            (_, node) => joined.push(node),
        }
    }

    /// What can come first when it is followed by what can start with `follow`. Never too little.
    pub fn first(&self, follow: &ByteSet) -> ByteSet {
        match self {
            Self::Empty | Self::Look { .. } | Self::Assertion(_) | Self::Keep => *follow,
            Self::Literal(bytes) => bytes.first().map_or(*follow, |byte| ByteSet::of(*byte)),
            Self::Class(class) => class.first_bytes(),
            Self::Concat(nodes) => nodes.iter().rev().fold(*follow, |follow, node| node.first(&follow)),
            Self::Alternation(nodes) => {
                nodes.iter().fold(ByteSet::EMPTY, |first, node| first.union(&node.first(follow)))
            }
            Self::Repeat(repeat) => {
                let first = repeat.inside.first(follow);
                if repeat.least == 0 { first.union(follow) } else { first }
            }
            Self::Group(_, inside) | Self::Atomic(inside) => inside.first(follow),
            Self::BackReference(_) => ByteSet::ALL,
        }
    }

    /// What can stand last when it stands behind what can end with `before`. Never too little.
    pub fn last(&self, before: &ByteSet) -> ByteSet {
        match self {
            Self::Empty | Self::Look { .. } | Self::Assertion(_) | Self::Keep => *before,
            Self::Literal(bytes) => bytes.last().map_or(*before, |byte| ByteSet::of(*byte)),
            Self::Class(class) => class.by_bytes().filter(|_| class.is_ascii()).unwrap_or(ByteSet::ALL),
            Self::Concat(nodes) => nodes.iter().fold(*before, |before, node| node.last(&before)),
            Self::Alternation(nodes) => nodes.iter().fold(ByteSet::EMPTY, |last, node| last.union(&node.last(before))),
            Self::Repeat(repeat) => {
                let last = repeat.inside.last(before);
                if repeat.least == 0 { last.union(before) } else { last }
            }
            Self::Group(_, inside) | Self::Atomic(inside) => inside.last(before),
            Self::BackReference(_) => ByteSet::ALL,
        }
    }

    /// Whether it can match without taking a character.
    pub fn can_be_empty(&self) -> bool {
        match self {
            Self::Empty | Self::Look { .. } | Self::Assertion(_) | Self::Keep | Self::BackReference(_) => true,
            Self::Literal(bytes) => bytes.is_empty(),
            Self::Class(_) => false,
            Self::Concat(nodes) => nodes.iter().all(Self::can_be_empty),
            Self::Alternation(nodes) => nodes.iter().any(Self::can_be_empty),
            Self::Repeat(repeat) => repeat.least == 0 || repeat.inside.can_be_empty(),
            Self::Group(_, inside) | Self::Atomic(inside) => inside.can_be_empty(),
        }
    }

    /// Adds the numbers of the groups in it; stops and says `false` when it repeats what a group took.
    pub fn groups(&self, found: &mut Vec<usize>) -> bool {
        match self {
            Self::Empty | Self::Literal(_) | Self::Class(_) | Self::Assertion(_) | Self::Keep => true,
            Self::Concat(nodes) | Self::Alternation(nodes) => nodes.iter().all(|node| node.groups(found)),
            Self::Repeat(repeat) => repeat.inside.groups(found),
            Self::Group(group, inside) => {
                found.push(*group);
                inside.groups(found)
            }
            Self::Atomic(inside) | Self::Look { inside, .. } => inside.groups(found),
            Self::BackReference(_) => false,
        }
    }

    /// In how many places of it there is more than one way to go on.
    pub fn forks(&self) -> usize {
        match self {
            Self::Concat(nodes) => nodes.iter().map(Self::forks).sum(),
            Self::Alternation(nodes) => 2 + nodes.iter().map(Self::forks).sum::<usize>(),
            Self::Repeat(repeat) => usize::from(repeat.most != Some(repeat.least)) + repeat.inside.forks(),
            Self::Group(_, inside) | Self::Atomic(inside) | Self::Look { inside, .. } => inside.forks(),
            _ => 0,
        }
    }

    /// How many characters it takes, if that is always the same.
    pub fn width(&self) -> Option<usize> {
        match self {
            Self::Empty | Self::Look { .. } | Self::Assertion(_) | Self::Keep => Some(0),
            Self::Literal(bytes) => Some(bytes.iter().filter(|byte| !is_continuation(**byte)).count()),
            Self::Class(_) => Some(1),
            Self::Concat(nodes) => nodes.iter().try_fold(0_usize, |sum, node| sum.checked_add(node.width()?)),
            Self::Alternation(nodes) => {
                let mut widths = nodes.iter().map(Self::width);
                let first = widths.next()??;
                widths.all(|width| width == Some(first)).then_some(first)
            }
            Self::Repeat(repeat) if repeat.most == Some(repeat.least) => {
                repeat.inside.width()?.checked_mul(usize::try_from(repeat.least).ok()?)
            }
            Self::Repeat(_) | Self::BackReference(_) => None,
            Self::Group(_, inside) | Self::Atomic(inside) => inside.width(),
        }
    }

    /// The class of a node that always takes exactly one character.
    pub fn as_class(&self) -> Option<CharClass> {
        match self {
            Self::Class(class) => Some(class.clone()),
            Self::Literal(bytes) => {
                let mut chars = std::str::from_utf8(bytes).ok()?.chars();
                let class = chars.next().map(CharClass::single);
                class.filter(|_| chars.next().is_none())
            }
            _ => None,
        }
    }
}

/// Whether a byte stands inside a character.
#[inline]
pub(super) fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}
