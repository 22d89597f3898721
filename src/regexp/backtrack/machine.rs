//! Runs a program on a text.
//!
//! One loop walks through the instructions; where two ways are open, the worse one is put on a stack, and a failure
//! goes on with the newest of them. A step is paid for in fuel, and when that is used up the clock (or a count) is asked whether to go on.

use super::groups::{Frame, Groups};
use super::program::{Address, Choice, Instruction, Way};
use super::runs::{BYTES_A_STEP, before};
use crate::regexp::limit::{GaveUp, TimeLimit};

/// Steps between two looks at the limit.
const FUEL: u32 = 4096;

/// A program at work on a text.
pub(super) struct Machine<'m> {
    code: &'m [Instruction],
    pub(super) text: &'m str,
    pub(super) groups: &'m mut Groups,
    limit: &'m mut TimeLimit,
    fuel: u32,
    search_start: usize,
}

/// Where to go on.
pub(super) struct Position {
    pub pc: Address,
    pub at: usize,
}

impl<'m> Machine<'m> {
    /// Texts of more than four gigabytes are given up.
    pub fn new(
        code: &'m [Instruction],
        sizes: (usize, usize),
        text: &'m str,
        groups: &'m mut Groups,
        limit: &'m mut TimeLimit,
        search_start: usize,
    ) -> Result<Self, GaveUp> {
        let (slots, registers) = sizes;
        if u32::try_from(text.len()).is_err() {
            return Err(GaveUp);
        }
        groups.prepare(slots, registers);
        Ok(Self { code, text, groups, limit, fuel: FUEL, search_start })
    }

    /// Whether the text matches from exactly this place.
    pub fn matches_at(&mut self, start: usize) -> Result<bool, GaveUp> {
        self.groups.restart();
        self.groups.set_slot(0, start);
        let mut here = Position { pc: 0, at: start };
        loop {
            let Some(instruction) = self.code.get(here.pc as usize) else { return Ok(false) };
            if self.step(instruction, &mut here)? {
                continue;
            }
            if let Instruction::Match = instruction {
                self.groups.set_slot(1, here.at);
                return Ok(true);
            }
            if !self.go_back(&mut here)? {
                return Ok(false);
            }
        }
    }

    /// Does one instruction; whether it succeeded and another one follows.
    #[inline(always)]
    fn step(&mut self, instruction: &Instruction, here: &mut Position) -> Result<bool, GaveUp> {
        let bytes = self.text.as_bytes();
        let at = here.at;
        let taken = match instruction {
            Instruction::Byte(byte) => bytes.get(at).is_some_and(|b| b == byte).then_some(1),
            Instruction::OneOf(set) => bytes.get(at).is_some_and(|b| set.contains(*b)).then_some(1),
            Instruction::Literal(literal) => {
                bytes.get(at..).is_some_and(|rest| rest.starts_with(literal)).then_some(literal.len())
            }
            Instruction::Sequence(sets) => {
                let found = bytes.get(at..at + sets.len());
                let fits = |found: &[u8]| found.iter().zip(sets).all(|(byte, set)| set.contains(*byte));
                found.is_some_and(fits).then_some(sets.len())
            }
            Instruction::Class(class) => class.length_at(self.text, at),
            Instruction::Run(run) => return self.run(run, here),
            Instruction::Jump(to) => {
                here.pc = *to;
                return Ok(true);
            }
            Instruction::Split(ways) => return self.split(ways, here),
            Instruction::Choice(choice) => return self.choose(choice, here.pc, u64::MAX, here),
            Instruction::Save(slot) => {
                self.groups.save(*slot, at)?;
                Some(0)
            }
            Instruction::Assert(assertion) => assertion.holds(self.text, at, self.search_start).then_some(0),
            Instruction::Behind(class, negative) => {
                let before = self.text.get(..at).and_then(|before| before.chars().next_back());
                (before.is_some_and(|c| class.contains(c)) != *negative).then_some(0)
            }
            Instruction::Ahead(class, negative) => (class.length_at(self.text, at).is_some() != *negative).then_some(0),
            Instruction::Match => None,
            _ => return self.rare(instruction, here),
        };
        let Some(length) = taken else { return Ok(false) };
        here.pc += 1;
        here.at += length;
        Ok(true)
    }

    /// The instructions that few patterns have.
    fn rare(&mut self, instruction: &Instruction, here: &mut Position) -> Result<bool, GaveUp> {
        match instruction {
            Instruction::Back(count) => {
                self.burn(*count / BYTES_A_STEP as u32)?;
                let before = self.text.get(..here.at).unwrap_or_default();
                let mut chars = before.char_indices().rev();
                let Some(at) =
                    (*count as usize).checked_sub(1).map_or(Some(here.at), |n| chars.nth(n).map(|(at, _)| at))
                else {
                    return Ok(false);
                };
                here.at = at;
            }
            Instruction::Begin(register) => self.groups.begin(*register, here.at),
            Instruction::Cut(register) => {
                self.groups.cut(*register);
            }
            Instruction::CutAndReturn(register) => here.at = self.groups.cut(*register),
            Instruction::BeginNot(register, otherwise) => {
                self.groups.begin(*register, here.at);
                self.groups.push(Frame::Way { to: *otherwise, at: here.at as u32 })?;
            }
            Instruction::FailNot(register) => {
                self.groups.undo(*register);
                return Ok(false);
            }
            Instruction::Round(register) => {
                let (_, old) = self.groups.register(*register);
                self.groups.push(Frame::Round { register: *register, old })?;
                self.groups.begin(*register, here.at);
            }
            Instruction::LeaveIfEmpty(register, end) => {
                if self.groups.register(*register).1 as usize == here.at {
                    here.pc = *end;
                    return Ok(true);
                }
            }
            Instruction::BackReference(slot) => {
                let group = self.groups.get(*slot as usize / 2).and_then(|group| self.text.get(group));
                let rest = self.text.get(here.at..).unwrap_or_default();
                match group {
                    Some(group) if rest.starts_with(group) => {
                        here.at += group.len();
                        self.burn((group.len() / BYTES_A_STEP) as u32)?;
                    }
                    _ => return Ok(false),
                }
            }
            _ => return Ok(false),
        }
        here.pc += 1;
        Ok(true)
    }

    #[inline(always)]
    fn split(&mut self, ways: &[Way; 2], here: &mut Position) -> Result<bool, GaveUp> {
        self.burn(1)?;
        let [better, worse] = ways;
        let bytes = self.text.as_bytes();
        let can_be_worse = worse.first.fits(bytes, here.at);
        if better.first.fits(bytes, here.at) {
            if can_be_worse {
                self.groups.push(Frame::Way { to: worse.to, at: here.at as u32 })?;
            }
            here.pc = better.to;
            return Ok(true);
        }
        here.pc = worse.to;
        Ok(can_be_worse)
    }

    /// Takes the first of the ways that are wanted and open, and remembers the others.
    #[inline(always)]
    fn choose(
        &mut self,
        choice: &Choice,
        instruction: Address,
        wanted: u64,
        here: &mut Position,
    ) -> Result<bool, GaveUp> {
        let open = choice.open(self.text.as_bytes(), here.at) & wanted;
        let Some(to) = choice.to.get(open.trailing_zeros() as usize) else { return Ok(false) };
        let others = open & (open - 1);
        if others != 0 {
            self.groups.push(Frame::Choice { instruction, at: here.at as u32, next: others.trailing_zeros() as u8 })?;
        }
        here.pc = *to;
        Ok(true)
    }

    /// Goes on with the newest open way; `false` when there is none.
    fn go_back(&mut self, here: &mut Position) -> Result<bool, GaveUp> {
        self.burn(1)?;
        while let Some(frame) = self.groups.pop() {
            let goes_on = match frame {
                Frame::Way { to, at } => {
                    *here = Position { pc: to, at: at as usize };
                    true
                }
                Frame::Choice { instruction, at, next } => {
                    here.at = at as usize;
                    match self.code.get(instruction as usize) {
                        Some(Instruction::Choice(choice)) => {
                            self.choose(choice, instruction, u64::MAX << next, here)?
                        }
                        _ => false,
                    }
                }
                Frame::Shorter { instruction, least, at } => {
                    *here = Position { pc: instruction, at: before(self.text.as_bytes(), at as usize) };
                    match self.code.get(instruction as usize) {
                        Some(Instruction::Run(run)) => self.shorter(run, least as usize, here)?,
                        _ => false,
                    }
                }
                Frame::Longer { instruction, start, at } => {
                    *here = Position { pc: instruction, at: at as usize };
                    match self.code.get(instruction as usize) {
                        Some(Instruction::Run(run)) => self.longer(run, start as usize, true, here)?,
                        _ => false,
                    }
                }
                Frame::Slot { slot, old } => {
                    self.groups.set_slot(slot as usize, old as usize);
                    false
                }
                Frame::Round { register, old } => {
                    self.groups.set_round(register, old);
                    false
                }
            };
            if goes_on {
                return Ok(true);
            }
        }
        Ok(false)
    }

    #[inline]
    pub(super) fn burn(&mut self, steps: u32) -> Result<(), GaveUp> {
        match self.fuel.checked_sub(steps) {
            Some(fuel) => {
                self.fuel = fuel;
                Ok(())
            }
            None => {
                self.fuel = FUEL;
                self.limit.spend(u64::from(FUEL) + u64::from(steps))
            }
        }
    }
}
