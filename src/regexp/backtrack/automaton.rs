//! Parts of a pattern that are walked through byte by byte in one step.
//!
//! Most of what a log pattern is made of (an address, a date, a number) captures nothing inside and can end in one
//! place only, given what follows: no going back could help. Such a part becomes a table of states, however many
//! alternatives it was written with.

use std::collections::HashMap;

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, Repetition};

use super::node::{Node, Repeat};
use super::set::ByteSet;

/// Longest part, as it is written; longer ones stay instructions.
const LONGEST: usize = 128;
/// States that a table may have.
const MOST_STATES: usize = 128;
/// Bytes of memory for making one.
const MOST_MEMORY: usize = 64 << 10;

/// The states of a part.
#[derive(Debug)]
pub(super) struct Automaton {
    /// The column of each byte.
    column: Box<[u8; 256]>,
    /// The rows of all states. A state is named by where its row starts; no row starts at [`NOWHERE`].
    rows: Box<[u16]>,
    start: u16,
    /// The first state in which the part may end; all behind it are such states.
    first_end: u16,
}

/// The part cannot go on.
const NOWHERE: u16 = u16::MAX;

impl Automaton {
    /// Of nodes behind each other, if they can end in one place only before what can start with `follow`.
    pub fn with_one_end(nodes: &[Node], follow: &ByteSet) -> Option<Self> {
        let is_hopeless = nodes.last().is_some_and(|node| surely_clashes(node, follow));
        if is_hopeless || nodes.iter().map(length).sum::<usize>() > LONGEST {
            return None;
        }
        let states = States::of(&concat(nodes)?)?;
        states.end_once(follow).then(|| states.table())
    }

    /// Of a node of which the first way through it counts, if that is always the longest.
    pub fn of_longest(node: &Node) -> Option<Self> {
        if length(node) > LONGEST || !is_decided_by_next_byte(node, &ByteSet::EMPTY) {
            return None;
        }
        Some(States::of(&hir(node)?)?.table())
    }

    /// Whether a node can be in such a part at all.
    pub fn can_have(node: &Node) -> bool {
        match node {
            Node::Empty | Node::Literal(_) => true,
            Node::Class(class) => class.is_ascii(),
            Node::Concat(nodes) | Node::Alternation(nodes) => nodes.iter().all(Self::can_have),
            // Rounds that take nothing have rules of their own.
            Node::Repeat(repeat) => !repeat.inside.can_be_empty() && Self::can_have(&repeat.inside),
            _ => false,
        }
    }

    /// Where the part that starts at a place ends.
    #[inline]
    pub fn end(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let (mut state, mut at) = (self.start, start);
        let mut end = (state >= self.first_end).then_some(at);
        for byte in bytes.get(start..).unwrap_or_default() {
            let next = self.rows.get(usize::from(state) + usize::from(self.column[usize::from(*byte)]));
            state = next.copied().unwrap_or(NOWHERE);
            if state == NOWHERE {
                break;
            }
            at += 1;
            if state >= self.first_end {
                end = Some(at);
            }
        }
        end
    }
}

/// The states of a part, before they are a table.
struct States {
    states: Vec<State>,
    /// A byte of each column.
    columns: Vec<u8>,
    column: Box<[u8; 256]>,
}

struct State {
    /// Whether the part may end here.
    is_end: bool,
    /// Whether an end can be reached.
    is_live: bool,
    /// Where each column leads.
    next: Vec<usize>,
}

impl States {
    fn of(part: &Hir) -> Option<Self> {
        let nfa = thompson::Compiler::new()
            .configure(
                thompson::Config::new()
                    .utf8(false)
                    .which_captures(WhichCaptures::None)
                    .nfa_size_limit(Some(MOST_MEMORY)),
            )
            .build_from_hir(part)
            .ok()?;
        let config = dense::Config::new()
            .start_kind(StartKind::Anchored)
            .match_kind(MatchKind::All)
            .accelerate(false)
            .dfa_size_limit(Some(MOST_MEMORY))
            .determinize_size_limit(Some(MOST_MEMORY));
        let dfa = dense::Builder::new().configure(config).build_from_nfa(&nfa).ok()?;
        Self::reachable(&dfa)
    }

    /// The states that can be reached. The library tells one byte late that a state is an end.
    fn reachable(dfa: &dense::DFA<Vec<u32>>) -> Option<Self> {
        let classes = dfa.byte_classes();
        let columns: Vec<u8> = classes.representatives(0..=255).filter_map(|unit| unit.as_u8()).collect();
        let column = Box::new(std::array::from_fn(|byte| classes.get(byte as u8)));
        let mut found: Vec<StateID> = vec![dfa.universal_start_state(Anchored::Yes)?];
        let mut places: HashMap<StateID, usize> = found.iter().map(|state| (*state, 0)).collect();
        let mut states = Vec::new();
        while let Some(from) = found.get(states.len()).copied() {
            if found.len() > MOST_STATES {
                return None;
            }
            let next = columns.iter().map(|byte| dfa.next_state(from, *byte)).map(|to| {
                *places.entry(to).or_insert_with(|| {
                    found.push(to);
                    found.len() - 1
                })
            });
            let next = next.collect();
            let is_end = dfa.is_match_state(dfa.next_eoi_state(from));
            states.push(State { is_end, is_live: is_end, next });
        }
        let mut all = Self { states, columns, column };
        all.find_live();
        Some(all)
    }

    fn find_live(&mut self) {
        loop {
            let leads_on = |state: &State| !state.is_live && state.next.iter().any(|to| self.is_live(*to));
            let found: Vec<usize> =
                self.states.iter().enumerate().filter(|(_, state)| leads_on(state)).map(|(at, _)| at).collect();
            if found.is_empty() {
                return;
            }
            for at in found {
                self.states.get_mut(at).into_iter().for_each(|state| state.is_live = true);
            }
        }
    }

    fn is_live(&self, state: usize) -> bool {
        self.states.get(state).is_some_and(|state| state.is_live)
    }

    /// Whether, wherever the part may end and the rest may start, the part could not go on.
    fn end_once(&self, follow: &ByteSet) -> bool {
        let clashes = |state: &State| {
            (0..=255).any(|byte: u8| {
                follow.contains(byte) && {
                    let column = usize::from(self.column[usize::from(byte)]);
                    state.next.get(column).is_some_and(|to| self.is_live(*to))
                }
            })
        };
        !self.states.iter().any(|state| state.is_end && clashes(state))
    }

    fn table(self) -> Automaton {
        let width = self.columns.len();
        let mut order: Vec<usize> = (0..self.states.len()).filter(|at| self.is_live(*at)).collect();
        order.sort_by_key(|at| self.states.get(*at).is_some_and(|state| state.is_end));
        let ends = order.iter().filter(|at| self.states.get(**at).is_some_and(|state| state.is_end)).count();
        // At most 256 states of at most 256 columns: a row starts below the last value of 16 bits.
        let row = |at: usize| u16::try_from(at * width).unwrap_or(NOWHERE);
        let mut names = vec![NOWHERE; self.states.len()];
        for (place, at) in order.iter().enumerate() {
            names.get_mut(*at).into_iter().for_each(|name| *name = row(place));
        }
        let name = |at: usize| names.get(at).copied().unwrap_or(NOWHERE);
        let rows = order.iter().filter_map(|at| self.states.get(*at)).flat_map(|state| &state.next);
        Automaton {
            rows: rows.map(|to| name(*to)).collect(),
            start: name(0),
            first_end: row(order.len() - ends),
            column: self.column,
        }
    }
}

fn concat(nodes: &[Node]) -> Option<Hir> {
    Some(Hir::concat(nodes.iter().map(hir).collect::<Option<_>>()?))
}

/// A node in the library's form; `None` when it captures, looks around, or takes characters of several bytes out of a
/// class.
fn hir(node: &Node) -> Option<Hir> {
    match node {
        Node::Empty => Some(Hir::empty()),
        Node::Literal(bytes) => Some(Hir::literal(bytes.clone())),
        Node::Class(class) if class.is_ascii() => Some(Hir::class(Class::Bytes(ranges(&class.by_bytes()?)))),
        Node::Concat(nodes) => concat(nodes),
        Node::Alternation(nodes) => Some(Hir::alternation(nodes.iter().map(hir).collect::<Option<_>>()?)),
        // Rounds that take nothing have rules of their own.
        Node::Repeat(repeat) if !repeat.inside.can_be_empty() => {
            let Repeat { inside, least, most, .. } = &**repeat;
            let sub = Box::new(hir(inside)?);
            Some(Hir::repetition(Repetition { min: *least, max: *most, greedy: true, sub }))
        }
        _ => None,
    }
}

fn ranges(set: &ByteSet) -> ClassBytes {
    let mut ranges: Vec<ClassBytesRange> = Vec::new();
    for byte in (0..=255).filter(|byte| set.contains(*byte)) {
        match ranges.last_mut() {
            Some(last) if last.end() + 1 == byte => *last = ClassBytesRange::new(last.start(), byte),
            _ => ranges.push(ClassBytesRange::new(byte, byte)),
        }
    }
    ClassBytes::new(ranges)
}

/// Whether the part may end somewhere inside a node and go on with a byte of `follow`: it is seen without making states.
fn surely_clashes(node: &Node, follow: &ByteSet) -> bool {
    match node {
        Node::Concat(nodes) => nodes.last().is_some_and(|node| surely_clashes(node, follow)),
        Node::Alternation(nodes) => nodes.iter().any(|node| surely_clashes(node, follow)),
        Node::Repeat(repeat) => {
            let is_open = repeat.most != Some(repeat.least);
            is_open && repeat.inside.first(&ByteSet::EMPTY).shares_a_byte(follow)
                || surely_clashes(&repeat.inside, follow)
        }
        _ => false,
    }
}

/// How many bytes a node is written with when all counted repeats are written out.
fn length(node: &Node) -> usize {
    match node {
        Node::Literal(bytes) => bytes.len(),
        Node::Class(_) => 1,
        Node::Concat(nodes) | Node::Alternation(nodes) => nodes.iter().map(length).sum(),
        Node::Repeat(repeat) => {
            let times = repeat.most.unwrap_or(repeat.least).max(1);
            length(&repeat.inside).saturating_mul(times as usize)
        }
        _ => 0,
    }
}

/// Whether everywhere in a greedy node the next byte alone says which way to go, so that the first way through it is the
/// longest. `follow` is what can come behind it inside the part.
fn is_decided_by_next_byte(node: &Node, follow: &ByteSet) -> bool {
    match node {
        Node::Empty | Node::Literal(_) | Node::Class(_) => true,
        Node::Concat(nodes) => {
            let mut follow = *follow;
            nodes.iter().rev().all(|node| {
                let decided = is_decided_by_next_byte(node, &follow);
                follow = node.first(&follow);
                decided
            })
        }
        Node::Alternation(nodes) => {
            let mut all = ByteSet::EMPTY;
            nodes.iter().all(|node| {
                let first = node.first(follow);
                let differs = !node.can_be_empty() && !all.shares_a_byte(&first);
                all = all.union(&first);
                differs && is_decided_by_next_byte(node, follow)
            })
        }
        Node::Repeat(repeat) => {
            let first = repeat.inside.first(&ByteSet::EMPTY);
            let again = if repeat.most == Some(1) { *follow } else { first.union(follow) };
            let is_counted = repeat.most == Some(repeat.least);
            !repeat.inside.can_be_empty()
                && (is_counted || !repeat.lazy && !first.shares_a_byte(follow))
                && is_decided_by_next_byte(&repeat.inside, &again)
        }
        _ => false,
    }
}
