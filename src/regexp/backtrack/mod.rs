//! A backtracking matcher with Ruby's rules, for patterns whose groups are wanted and for those that no linear engine
//! takes.
//!
//! It tries one way after the other exactly as Ruby does: leftmost start, first alternative, greedy or lazy as
//! written. [`parse`] makes a tree of a pattern, [`certain`] and [`simplify`] improve it, [`compile`] makes instructions
//! of the tree, [`search`] finds places where a match can start, and [`machine`] runs the instructions there. Parts that
//! need no going back are one instruction each, an [`automaton`]. How long a match may take is the caller's choice; how
//! much memory is bounded.

mod assertion;
mod automaton;
mod certain;
mod class;
mod compile;
mod groups;
mod machine;
mod node;
mod parse;
mod program;
mod runs;
mod search;
mod set;
mod simplify;

pub use groups::Groups;

use super::limit::{GaveUp, TimeLimit};
use machine::Machine;
use program::Instruction;
use search::Search;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    code: Vec<Instruction>,
    /// Two for each group, the whole match included.
    slots: usize,
    registers: usize,
    search: Search,
}

impl Program {
    /// Compiles a translated pattern with so many groups; `None` when it uses what this matcher lacks.
    pub fn compile(pattern: &str, groups: usize) -> Option<Self> {
        let node = simplify::simplify(certain::without_certain(parse::parse(pattern)?));
        let (code, registers) = compile::compile(&node)?;
        Some(Self { code, slots: 2 * (groups + 1), registers, search: Search::of(&node) })
    }

    /// Finds the first match at or behind a place, which must lie between characters.
    pub fn find(&self, text: &str, start: usize, groups: &mut Groups, limit: &mut TimeLimit) -> Result<bool, GaveUp> {
        let Some(mut places) = self.search.places(text, start) else { return Ok(false) };
        let mut machine = Machine::new(&self.code, (self.slots, self.registers), text, groups, limit, start)?;
        while let Some(place) = places.next_place() {
            if machine.matches_at(place)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
pub(crate) use tests::assert_matches_as_fancy_regex;

#[cfg(test)]
mod tests;
