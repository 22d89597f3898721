//! What a match has found so far, and how to go back to what it was.

use std::ops::Range;

use super::program::{Address, Register};

/// A place that was never reached.
const NOWHERE: u32 = u32::MAX;
/// Open ways and changes that are remembered: 32 MiB.
const MOST_FRAMES: usize = 1 << 21;
/// Frames whose memory is kept for the next text.
const KEPT_FRAMES: usize = 1 << 14;

/// The groups of a match, and the memory of the matcher; to be used again for the next text.
#[derive(Debug, Default)]
pub struct Groups {
    slots: Vec<u32>,
    stack: Vec<Frame>,
    /// Height of the stack and place in the text where a part began.
    registers: Vec<(u32, u32)>,
}

impl Groups {
    /// The bytes of a group of the last match; group 0 is the whole match.
    #[inline]
    pub fn get(&self, group: usize) -> Option<Range<usize>> {
        let (start, end) = (*self.slots.get(group * 2)?, *self.slots.get(group * 2 + 1)?);
        (end != NOWHERE && start <= end).then_some(start as usize..end as usize)
    }

    /// Takes over the groups that another engine found.
    pub(in crate::regexp) fn set_all(&mut self, groups: impl Iterator<Item = Option<Range<usize>>>) {
        self.slots.clear();
        for group in groups {
            let place = |at: usize| u32::try_from(at).unwrap_or(NOWHERE);
            self.slots.extend(group.map_or([NOWHERE; 2], |range| [place(range.start), place(range.end)]));
        }
    }

    /// Makes room for a program.
    pub(super) fn prepare(&mut self, slots: usize, registers: usize) {
        self.slots.clear();
        self.slots.resize(slots, NOWHERE);
        self.registers.clear();
        self.registers.resize(registers, (0, 0));
        self.stack.clear();
        self.stack.shrink_to(KEPT_FRAMES);
    }

    /// Forgets everything, to start at another place.
    pub(super) fn restart(&mut self) {
        self.stack.clear();
        self.slots.fill(NOWHERE);
    }

    /// The newest open way or change.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Frame> {
        self.stack.pop()
    }

    /// Undoes all changes since a part began, and forgets its ways.
    pub(super) fn undo(&mut self, register: Register) {
        let (height, _) = self.register(register);
        while self.stack.len() > height as usize {
            self.undo_newest();
        }
    }

    pub(super) fn undo_newest(&mut self) {
        match self.stack.pop() {
            Some(Frame::Slot { slot, old }) => self.set_slot(slot as usize, old as usize),
            Some(Frame::Round { register, old }) => self.set_round(register, old),
            _ => {}
        }
    }

    /// `None` when there are too many.
    #[inline(always)]
    pub(super) fn push(&mut self, frame: Frame) -> Option<()> {
        if self.stack.len() >= MOST_FRAMES {
            return None;
        }
        self.stack.push(frame);
        Some(())
    }

    pub(super) fn slot(&self, slot: u32) -> u32 {
        self.slots.get(slot as usize).copied().unwrap_or(NOWHERE)
    }

    /// Its group takes no part.
    pub(super) fn forget_slot(&mut self, slot: u32) {
        if let Some(place) = self.slots.get_mut(slot as usize) {
            *place = NOWHERE;
        }
    }

    #[inline]
    pub(super) fn set_slot(&mut self, slot: usize, at: usize) {
        if let Some(place) = self.slots.get_mut(slot) {
            *place = at as u32;
        }
    }

    pub(super) fn set_round(&mut self, register: Register, at: u32) {
        if let Some(value) = self.registers.get_mut(usize::from(register)) {
            value.1 = at;
        }
    }

    pub(super) fn register(&self, register: Register) -> (u32, u32) {
        self.registers.get(usize::from(register)).copied().unwrap_or_default()
    }

    pub(super) fn begin(&mut self, register: Register, at: usize) {
        let height = self.stack.len() as u32;
        if let Some(value) = self.registers.get_mut(usize::from(register)) {
            *value = (height, at as u32);
        }
    }

    /// Forgets the open ways since a part began, but not what has to be undone. Where it began.
    pub(super) fn cut(&mut self, register: Register) -> usize {
        let (height, at) = self.register(register);
        let height = height as usize;
        let is_undo = |frame: &Frame| matches!(frame, Frame::Slot { .. } | Frame::Round { .. });
        let stack = &mut self.stack;
        if stack.len() > height {
            let mut kept = height;
            for from in height..stack.len() {
                if stack.get(from).is_some_and(is_undo) {
                    stack.swap(kept, from);
                    kept += 1;
                }
            }
            stack.truncate(if height == 0 { 0 } else { kept });
        }
        at as usize
    }
}

/// What going back does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Frame {
    /// Another way.
    Way { to: Address, at: u32 },
    /// The ways of a choice from `next` on.
    Choice { instruction: Address, at: u32, next: u8 },
    /// A greedy run that can end earlier, not before `least`.
    Shorter { instruction: Address, least: u32, at: u32 },
    /// A lazy run that can take more.
    Longer { instruction: Address, start: u32, at: u32 },
    /// The old place of a group.
    Slot { slot: u32, old: u32 },
    /// The old place of a loop's round.
    Round { register: Register, old: u32 },
}
