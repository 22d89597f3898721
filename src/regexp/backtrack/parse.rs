//! From the text that [`translate`](crate::regexp::translate) writes for the engines to a tree.
//!
//! That text has few constructs, all spelled one way: Ruby's dialect and its mistakes are dealt with before. What this
//! matcher does not do (recursion, conditions, absence) gives no tree, and the pattern goes to the other engine.

use super::class::CharClass;
use super::node::{Assertion, Node, Repeat};
use crate::regexp::quantifier;

/// The tree of a translated pattern, unless it uses what this matcher lacks.
pub(super) fn parse(text: &str) -> Option<Node> {
    let mut parser = Parser { rest: text, groups: 0, ignore_case: false };
    let node = parser.alternation()?;
    parser.rest.is_empty().then_some(node)
}

struct Parser<'p> {
    rest: &'p str,
    groups: usize,
    ignore_case: bool,
}

impl<'p> Parser<'p> {
    fn eat(&mut self, text: &str) -> bool {
        self.rest.strip_prefix(text).map(|rest| self.rest = rest).is_some()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..)?;
        Some(c)
    }

    fn alternation(&mut self) -> Option<Node> {
        let mut nodes = vec![self.sequence()?];
        while self.eat("|") {
            nodes.push(self.sequence()?);
        }
        if nodes.len() == 1 { nodes.pop() } else { Some(Node::Alternation(nodes)) }
    }

    fn sequence(&mut self) -> Option<Node> {
        let mut nodes = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let atom = self.atom()?;
            let node = self.quantified(atom)?;
            nodes.push(node);
        }
        Some(Node::concat(nodes))
    }

    fn quantified(&mut self, atom: Node) -> Option<Node> {
        let Some((quantifier, rest)) = quantifier::read(self.rest).ok()? else { return Some(atom) };
        self.rest = rest;
        let repeat = Node::Repeat(Box::new(Repeat {
            inside: atom,
            least: quantifier.least,
            most: quantifier.most,
            lazy: quantifier.lazy,
        }));
        Some(if quantifier.possessive { Node::Atomic(Box::new(repeat)) } else { repeat })
    }

    fn atom(&mut self) -> Option<Node> {
        if self.eat("(?s:.)") {
            return Some(Node::Class(CharClass::any(true)));
        }
        if self.rest.starts_with('[') {
            return self.class();
        }
        match self.take()? {
            '(' => self.group(),
            '.' => Some(Node::Class(CharClass::any(false))),
            '^' => Some(Node::Assertion(Assertion::LineStart)),
            '$' => Some(Node::Assertion(Assertion::LineEnd)),
            '\\' => self.escape(),
            c => self.literal(c),
        }
    }

    fn literal(&self, c: char) -> Option<Node> {
        if !self.ignore_case {
            return Some(Node::Literal(c.to_string().into_bytes()));
        }
        CharClass::parse(&regex_syntax::escape(&c.to_string()), true).map(Node::Class)
    }

    /// A bracketed class; every bracket in it that opens or closes none is escaped.
    fn class(&mut self) -> Option<Node> {
        let mut depth = 0_usize;
        let mut escaped = false;
        for (at, c) in self.rest.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '[' => depth += 1,
                ']' if depth > 1 => depth -= 1,
                ']' => {
                    let (class, rest) = self.rest.split_at_checked(at + 1)?;
                    self.rest = rest;
                    return CharClass::parse(class, self.ignore_case).map(Node::Class);
                }
                _ => {}
            }
        }
        None
    }

    fn group(&mut self) -> Option<Node> {
        if !self.eat("?") {
            self.groups += 1;
            let group = self.groups;
            return Some(Node::Group(group, Box::new(self.inside()?)));
        }
        let look = |ahead, negative| move |inside| Node::Look { ahead, negative, inside: Box::new(inside) };
        if self.eat(":") {
            return self.inside();
        }
        if self.eat(">") {
            return Some(Node::Atomic(Box::new(self.inside()?)));
        }
        for (opening, ahead, negative) in
            [("=", true, false), ("!", true, true), ("<=", false, false), ("<!", false, true)]
        {
            if self.eat(opening) {
                return self.inside().map(look(ahead, negative));
            }
        }
        let outside = self.ignore_case;
        self.ignore_case = match (self.eat("i:"), self.eat("-i:")) {
            (true, _) => true,
            (_, true) => false,
            _ => return None,
        };
        let inside = self.inside();
        self.ignore_case = outside;
        inside
    }

    fn inside(&mut self) -> Option<Node> {
        let inside = self.alternation()?;
        self.eat(")").then_some(inside)
    }

    fn escape(&mut self) -> Option<Node> {
        let assertion = |assertion| Some(Node::Assertion(assertion));
        match self.take()? {
            'A' => assertion(Assertion::TextStart),
            'z' => assertion(Assertion::TextEnd),
            'b' => assertion(Assertion::WordBoundary),
            'B' => assertion(Assertion::NoWordBoundary),
            'G' => assertion(Assertion::SearchStart),
            'K' => Some(Node::Keep),
            'x' => {
                let (digits, rest) = self.rest.strip_prefix('{')?.split_once('}')?;
                self.rest = rest;
                self.literal(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?)
            }
            'n' => self.literal('\n'),
            'r' => self.literal('\r'),
            '1'..='9' if self.ignore_case => None,
            digit @ '1'..='9' => {
                let more = self.rest.bytes().take_while(u8::is_ascii_digit).count();
                let (behind, rest) = self.rest.split_at_checked(more)?;
                self.rest = rest;
                format!("{digit}{behind}").parse().ok().map(Node::BackReference)
            }
            c if c.is_ascii_alphanumeric() => None,
            c => self.literal(c),
        }
    }
}
