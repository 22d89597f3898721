//! Runs a program on a text.
//!
//! One loop walks through the instructions; where two ways are open, the worse one is put on a stack, and a failure
//! goes on with the newest of them. Going back and long scans are paid for in fuel, and when that is used up the clock
//! (or a count) is asked whether to go on.

use super::groups::{Frame, Groups};
use super::program::{Address, Choice, Instruction, Part, Way};
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
    /// Nothing is tried any more: the limit is reached.
    gave_up: bool,
    search_start: usize,
}

/// Where to go on. Two halves of a word, so that it travels in registers; texts are shorter than four gigabytes.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub pc: Address,
    pub at: u32,
}

impl Position {
    #[inline(always)]
    pub fn new(pc: Address, at: usize) -> Self {
        Self { pc, at: at as u32 }
    }
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
        Ok(Self { code, text, groups, limit, fuel: FUEL, gave_up: false, search_start })
    }

    /// Whether the text matches from exactly this place.
    pub fn matches_at(&mut self, start: usize) -> Result<bool, GaveUp> {
        self.groups.restart();
        self.groups.set_slot(0, start);
        let (code, text) = (self.code, self.text);
        let bytes = text.as_bytes();
        let (mut pc, mut at) = (0, start);
        loop {
            let Some(instruction) = code.get(pc as usize) else { return Ok(false) };
            // How much an instruction takes that the next one follows; `None` when this way ends.
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
                Instruction::Save(slot) => {
                    self.groups.set_slot(*slot as usize, at);
                    Some(0)
                }
                Instruction::Assert(assertion) => assertion.holds(text, at, self.search_start).then_some(0),
                Instruction::Behind(class, negative) => (class.is_before(text, at) != *negative).then_some(0),
                Instruction::Ahead(class, negative) => (class.length_at(text, at).is_some() != *negative).then_some(0),
                Instruction::Jump(to) => {
                    pc = *to;
                    continue;
                }
                Instruction::Match => {
                    self.groups.set_slot(1, at);
                    return Ok(true);
                }
                instruction => {
                    let next = match instruction {
                        Instruction::Run(run) => self.run(run, pc, at),
                        Instruction::Part(part) => self.part(part, pc, at),
                        Instruction::Choice(choice) => self.choose(choice, pc, u64::MAX, at),
                        Instruction::Split(ways) => self.split(ways, at),
                        _ => self.rare(instruction, pc, at),
                    };
                    if let Some(next) = next {
                        (pc, at) = (next.pc, next.at as usize);
                        continue;
                    }
                    None
                }
            };
            if let Some(length) = taken {
                pc += 1;
                at += length;
            } else if let Some(next) = self.go_back() {
                (pc, at) = (next.pc, next.at as usize);
            } else {
                return if self.gave_up { Err(GaveUp) } else { Ok(false) };
            }
        }
    }

    /// The instructions that few patterns have.
    #[inline(never)]
    fn rare(&mut self, instruction: &Instruction, pc: Address, at: usize) -> Option<Position> {
        let next = pc + 1;
        let at = match instruction {
            Instruction::Class(class) => at + class.length_at(self.text, at)?,
            Instruction::SaveInLoop(slot) => {
                let undo = Frame::Slot { slot: *slot, old: self.groups.slot(*slot) };
                self.push(undo)?;
                self.groups.set_slot(*slot as usize, at);
                at
            }
            Instruction::Forget(slots) => {
                slots.iter().for_each(|slot| self.groups.forget_slot(*slot));
                at
            }
            Instruction::Back(count) => {
                self.burn(*count / BYTES_A_STEP as u32)?;
                let mut chars = self.text.get(..at).unwrap_or_default().char_indices().rev();
                (*count as usize).checked_sub(1).map_or(Some(at), |n| chars.nth(n).map(|(at, _)| at))?
            }
            Instruction::Begin(register) => {
                self.groups.begin(*register, at);
                at
            }
            Instruction::Cut(register) => {
                self.groups.cut(*register);
                at
            }
            Instruction::CutAndReturn(register) => self.groups.cut(*register),
            Instruction::BeginNot(register, otherwise) => {
                self.groups.begin(*register, at);
                self.push(Frame::Way { to: *otherwise, at: at as u32 })?;
                at
            }
            Instruction::FailNot(register) => {
                self.groups.undo(*register);
                return None;
            }
            Instruction::Round(register) => {
                let (_, old) = self.groups.register(*register);
                self.push(Frame::Round { register: *register, old })?;
                self.groups.begin(*register, at);
                at
            }
            Instruction::LeaveIfEmpty(register, end) => {
                let is_empty = self.groups.register(*register).1 as usize == at;
                return Some(Position::new(if is_empty { *end } else { next }, at));
            }
            Instruction::BackReference(slot) => {
                let group = self.groups.get(*slot as usize / 2).and_then(|group| self.text.get(group))?;
                if !self.text.get(at..)?.starts_with(group) {
                    return None;
                }
                self.burn((group.len() / BYTES_A_STEP) as u32)?;
                at + group.len()
            }
            _ => return None,
        };
        Some(Position::new(next, at))
    }

    #[inline(always)]
    fn part(&mut self, part: &Part, pc: Address, start: usize) -> Option<Position> {
        let end = part.automaton.end(self.text.as_bytes(), start)?;
        if end - start >= BYTES_A_STEP {
            self.burn(((end - start) / BYTES_A_STEP) as u32)?;
        }
        self.begin_group(part.group, start);
        Some(self.end_group(part.group, pc, end))
    }

    #[inline(always)]
    pub(super) fn begin_group(&mut self, group: Option<u32>, at: usize) {
        if let Some(slot) = group {
            self.groups.set_slot(slot as usize, at);
        }
    }

    /// Goes on behind an instruction, which may be all that a group takes.
    #[inline(always)]
    pub(super) fn end_group(&mut self, group: Option<u32>, pc: Address, at: usize) -> Position {
        if let Some(slot) = group {
            self.groups.set_slot(slot as usize + 1, at);
        }
        Position::new(pc + 1, at)
    }

    #[inline(always)]
    fn split(&mut self, ways: &[Way; 2], at: usize) -> Option<Position> {
        self.burn(1)?;
        let [better, worse] = ways;
        let bytes = self.text.as_bytes();
        let can_be_worse = worse.first.fits(bytes, at);
        if better.first.fits(bytes, at) {
            if can_be_worse {
                self.push(Frame::Way { to: worse.to, at: at as u32 })?;
            }
            return Some(Position::new(better.to, at));
        }
        can_be_worse.then(|| Position::new(worse.to, at))
    }

    /// Takes the first of the ways that are wanted and open, and remembers the others.
    #[inline(always)]
    fn choose(&mut self, choice: &Choice, instruction: Address, wanted: u64, at: usize) -> Option<Position> {
        let open = choice.open(self.text.as_bytes(), at) & wanted;
        let to = choice.to.get(open.trailing_zeros() as usize)?;
        let others = open & (open - 1);
        if others != 0 {
            self.push(Frame::Choice { instruction, at: at as u32, next: others.trailing_zeros() as u8 })?;
        }
        Some(Position::new(*to, at))
    }

    /// Where the newest open way goes on; `None` when there is none.
    fn go_back(&mut self) -> Option<Position> {
        self.burn(1)?;
        while let Some(frame) = self.groups.pop() {
            let next = match frame {
                Frame::Way { to, at } => Some(Position { pc: to, at }),
                Frame::Choice { instruction, at, next } => match self.code.get(instruction as usize) {
                    Some(Instruction::Choice(choice)) => {
                        self.choose(choice, instruction, u64::MAX << next, at as usize)
                    }
                    _ => None,
                },
                Frame::Shorter { instruction, least, at } => match self.code.get(instruction as usize) {
                    Some(Instruction::Run(run)) => {
                        let end = before(self.text.as_bytes(), at as usize);
                        self.shorter(run, instruction, least as usize, end)
                    }
                    _ => None,
                },
                Frame::Longer { instruction, start, at } => match self.code.get(instruction as usize) {
                    Some(Instruction::Run(run)) => self.longer(run, instruction, start as usize, true, at as usize),
                    _ => None,
                },
                Frame::Slot { slot, old } => {
                    self.groups.set_slot(slot as usize, old as usize);
                    None
                }
                Frame::Round { register, old } => {
                    self.groups.set_round(register, old);
                    None
                }
            };
            if next.is_some() || self.gave_up {
                return next;
            }
        }
        None
    }

    /// Puts an open way or a change on the stack; `None` when there is no room.
    #[inline(always)]
    pub(super) fn push(&mut self, frame: Frame) -> Option<()> {
        let pushed = self.groups.push(frame);
        self.gave_up |= pushed.is_none();
        pushed
    }

    /// Pays for steps; `None` when the limit is reached.
    #[inline(always)]
    pub(super) fn burn(&mut self, steps: u32) -> Option<()> {
        match self.fuel.checked_sub(steps) {
            Some(fuel) if !self.gave_up => {
                self.fuel = fuel;
                Some(())
            }
            _ => self.refuel(steps),
        }
    }

    #[cold]
    fn refuel(&mut self, steps: u32) -> Option<()> {
        self.fuel = FUEL;
        self.gave_up |= self.limit.spend(u64::from(FUEL) + u64::from(steps)).is_err();
        (!self.gave_up).then_some(())
    }
}
