//! Where in a text a match can start.

use memchr::memmem::{Finder, FinderRev};

use super::node::{Assertion, Node, is_continuation};
use super::set::ByteSet;

/// What is known of a pattern's matches without running it.
#[derive(Debug)]
pub(super) struct Search {
    start: Start,
    /// Bytes that every match contains.
    needed: Option<Needed>,
}

/// Bytes that every match contains: without them there is none, and none starts behind the last of them.
#[derive(Debug)]
struct Needed {
    from_left: Finder<'static>,
    from_right: FinderRev<'static>,
}

/// Where matches start.
#[derive(Debug)]
enum Start {
    /// Only where the search starts: the pattern has a `\A`, or takes whatever comes first.
    Once { only_at_text_start: bool },
    /// At the start of a line.
    Line,
    /// At these bytes.
    Literal(Box<Finder<'static>>),
    /// At this byte.
    Byte(u8),
    /// At one of these bytes, or at any place.
    OneOf(ByteSet),
}

impl Search {
    pub fn of(node: &Node) -> Self {
        let mut needed: &[u8] = &[];
        longest_literal(node, &mut needed);
        let start = start(node);
        // The search for a literal start finds that literal itself.
        let is_start = matches!(&start, Start::Literal(finder) if finder.needle() == needed);
        let finders =
            || Needed { from_left: Finder::new(needed).into_owned(), from_right: FinderRev::new(needed).into_owned() };
        let needed = (!needed.is_empty() && !is_start).then(finders);
        Self { start, needed }
    }

    /// The last place where a match can start.
    fn last(&self, bytes: &[u8]) -> usize {
        let needed = self.needed.as_ref().map(|needed| needed.from_right.rfind(bytes).unwrap_or(0));
        needed.unwrap_or(bytes.len())
    }

    /// The places of a text where a match can start; `None` when there is none.
    pub fn places<'s>(&'s self, text: &'s str, from: usize) -> Option<Places<'s>> {
        let bytes = text.as_bytes();
        if let Some(needed) = &self.needed {
            needed.from_left.find(bytes.get(from..)?)?;
        }
        Some(Places { search: self, bytes, next: Some(from), last: None, from })
    }
}

/// See [`Search::places`].
pub(super) struct Places<'s> {
    search: &'s Search,
    bytes: &'s [u8],
    next: Option<usize>,
    /// Where the last match can start; known from the second place on.
    last: Option<usize>,
    from: usize,
}

impl Places<'_> {
    pub fn next_place(&mut self) -> Option<usize> {
        let from = self.next?;
        let rest = self.bytes.get(from..)?;
        let at = match &self.search.start {
            Start::Once { only_at_text_start } => {
                (from == self.from && !(*only_at_text_start && from > 0)).then_some(from)?
            }
            Start::Line if from == 0 => 0,
            Start::Line => memchr::memchr(b'\n', self.bytes.get(from - 1..)?)? + from,
            Start::Literal(finder) => finder.find(rest)? + from,
            Start::Byte(byte) => memchr::memchr(*byte, rest)? + from,
            Start::OneOf(set) => {
                let fits = |at: &usize| {
                    set.fits(self.bytes, *at) && self.bytes.get(*at).is_none_or(|byte| !is_continuation(*byte))
                };
                (from..=self.bytes.len()).find(fits)?
            }
        };
        self.next = Some(at + 1);
        if from > self.from {
            let last = *self.last.get_or_insert_with(|| self.search.last(self.bytes));
            if at > last {
                return None;
            }
        }
        Some(at)
    }
}

fn start(node: &Node) -> Start {
    match first_part(node) {
        Some(Node::Assertion(Assertion::TextStart)) => return Start::Once { only_at_text_start: true },
        Some(Node::Assertion(Assertion::SearchStart)) => return Start::Once { only_at_text_start: false },
        Some(Node::Assertion(Assertion::LineStart)) => return Start::Line,
        // What such a match takes first, a match from further left takes as well.
        Some(Node::Repeat(repeat)) if repeat.least == 0 && repeat.most.is_none() && is_any(&repeat.inside) => {
            return Start::Once { only_at_text_start: false };
        }
        Some(Node::Literal(bytes)) if bytes.len() > 1 => {
            return Start::Literal(Box::new(Finder::new(bytes).into_owned()));
        }
        _ => {}
    }
    let first = node.first(&ByteSet::ALL);
    first.single().map_or(Start::OneOf(first), Start::Byte)
}

/// The part that every match begins with.
fn first_part(node: &Node) -> Option<&Node> {
    match node {
        Node::Concat(nodes) => first_part(nodes.first()?),
        Node::Group(_, inside) => first_part(inside),
        Node::Alternation(_) => None,
        node => Some(node),
    }
}

fn is_any(node: &Node) -> bool {
    matches!(node, Node::Class(class) if class.by_bytes().is_some_and(|set| (0..=255).all(|byte| set.contains(byte))))
}

/// The longest literal that every match contains.
fn longest_literal<'n>(node: &'n Node, longest: &mut &'n [u8]) {
    match node {
        Node::Literal(bytes) if bytes.len() > longest.len() => *longest = bytes,
        Node::Concat(nodes) => nodes.iter().for_each(|node| longest_literal(node, longest)),
        Node::Group(_, inside) | Node::Atomic(inside) => longest_literal(inside, longest),
        Node::Repeat(repeat) if repeat.least > 0 => longest_literal(&repeat.inside, longest),
        _ => {}
    }
}
