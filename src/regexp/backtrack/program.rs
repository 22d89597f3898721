//! The instructions that a tree becomes.

use super::automaton::Automaton;
use super::class::CharClass;
use super::node::Assertion;
use super::set::ByteSet;

/// Place of an instruction.
pub(super) type Address = u32;

/// Place of a register.
pub(super) type Register = u16;

#[derive(Debug)]
pub(super) enum Instruction {
    /// One byte.
    Byte(u8),
    /// These bytes.
    Literal(Box<[u8]>),
    /// One byte of the set.
    OneOf(Box<ByteSet>),
    /// One byte of each set.
    Sequence(Box<[ByteSet]>),
    /// One character of the class.
    Class(Box<CharClass>),
    /// Many characters of a class.
    Run(Box<Run>),
    /// A part that ends in one place.
    Part(Box<Part>),
    Jump(Address),
    /// Two ways, the better one first.
    Split(Box<[Way; 2]>),
    /// Many ways, the best one first.
    Choice(Box<Choice>),
    /// Notes the place for a group whose old place nobody asks for again.
    Save(u32),
    /// Notes the place for a group; going back restores the old one.
    SaveInLoop(u32),
    /// These groups take no part.
    Forget(Box<[u32]>),
    Assert(Assertion),
    /// The character before must be one of the class, or must not.
    Behind(Box<CharClass>, bool),
    /// The next character must be one of the class, or must not.
    Ahead(Box<CharClass>, bool),
    /// Goes back so many characters.
    Back(u32),
    /// A part begins whose other ways are forgotten at its end.
    Begin(Register),
    /// That part ends.
    Cut(Register),
    /// As [`Instruction::Cut`], and goes back to where the part began.
    CutAndReturn(Register),
    /// A part begins that must not match; where to go on when it does not.
    BeginNot(Register, Address),
    /// The part that must not match has matched.
    FailNot(Register),
    /// A round of a loop begins whose inside can be empty.
    Round(Register),
    /// Leaves the loop when the round took nothing.
    LeaveIfEmpty(Register, Address),
    /// What the group took, again.
    BackReference(u32),
    Match,
}

/// A way to go on, and what must stand at the place for it to have a chance.
#[derive(Debug)]
pub(super) struct Way {
    pub first: ByteSet,
    pub to: Address,
}

/// Ways of which the next byte says which have a chance.
#[derive(Debug)]
pub(super) struct Choice {
    pub to: Box<[Address]>,
    /// For each byte and, last, the end of the text: the ways that are open, as bits.
    open: Box<[u64; 257]>,
}

impl Choice {
    /// Ways of one choice.
    pub const MOST: usize = 64;

    pub fn new(ways: &[Way]) -> Self {
        let open_at = |at: usize| {
            let open = |way: &Way| u8::try_from(at).map_or(way.first.has_end(), |byte| way.first.contains(byte));
            ways.iter().rev().fold(0, |bits, way| bits << 1 | u64::from(open(way)))
        };
        Self { to: ways.iter().map(|way| way.to).collect(), open: Box::new(std::array::from_fn(open_at)) }
    }

    /// The ways that are open at a place of the text.
    #[inline]
    pub fn open(&self, bytes: &[u8], at: usize) -> u64 {
        self.open[bytes.get(at).map_or(256, |byte| usize::from(*byte))]
    }

    /// For changing where the ways lead.
    pub fn addresses(&mut self) -> &mut [Address] {
        &mut self.to
    }
}

/// A part that ends in one place.
#[derive(Debug)]
pub(super) struct Part {
    pub automaton: Automaton,
    /// The slot of the group that takes it, for its start; the next one is for its end.
    pub group: Option<u32>,
}

/// Many characters of a class.
#[derive(Debug)]
pub(super) struct Run {
    /// As in [`Part`].
    pub group: Option<u32>,
    pub scan: Scan,
    pub least: u32,
    pub most: Option<u32>,
    pub kind: RunKind,
    /// What can follow.
    pub next: ByteSet,
    /// The one byte that can follow.
    pub next_byte: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunKind {
    /// Gives back one after the other.
    Greedy,
    /// Takes one after the other.
    Lazy,
    /// Giving back could never help, or is forbidden.
    Possessive,
}

/// How the characters of a run are found.
#[derive(Debug)]
pub(super) enum Scan {
    /// Everything.
    All,
    /// Everything but this byte.
    Until(u8),
    /// By bytes: whole characters beyond ASCII all belong to the class, or none does.
    Bytes { set: Box<[bool; 256]>, is_ascii: bool },
    /// By characters.
    Characters(CharClass),
}

impl Scan {
    pub fn of(class: &CharClass) -> Self {
        let Some(set) = class.by_bytes() else { return Self::Characters(class.clone()) };
        let missing: Vec<u8> = (0..=255).filter(|byte| !set.contains(*byte)).collect();
        match missing.as_slice() {
            [] => Self::All,
            [byte] => Self::Until(*byte),
            _ => Self::Bytes {
                set: Box::new(std::array::from_fn(|byte| set.contains(byte as u8))),
                is_ascii: class.is_ascii(),
            },
        }
    }

    /// Whether each of its characters is one byte.
    pub fn is_ascii(&self) -> bool {
        matches!(self, Self::Bytes { is_ascii: true, .. })
    }

    /// Where the run from a place ends, after `most` bytes at the latest.
    #[inline]
    pub fn end(&self, text: &str, from: usize, most: Option<u32>) -> usize {
        let bytes = text.as_bytes();
        let to = most.map_or(bytes.len(), |most| bytes.len().min(from.saturating_add(most as usize)));
        let Some(piece) = bytes.get(from..to) else { return from };
        match self {
            Self::All => to,
            Self::Until(byte) => memchr::memchr(*byte, piece).map_or(to, |at| from + at),
            Self::Bytes { set, .. } => {
                from + piece.iter().position(|byte| !set[usize::from(*byte)]).unwrap_or(piece.len())
            }
            Self::Characters(class) => {
                let mut at = from;
                while let Some(length) = class.length_at(text, at) {
                    at += length;
                }
                at
            }
        }
    }
}
