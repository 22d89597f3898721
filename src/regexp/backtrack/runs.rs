//! Runs of characters of one class: how far they reach, and where they can end so that the rest can go on.

use super::groups::Frame;
use super::machine::{Machine, Position};
use super::node::is_continuation;
use super::program::{Address, Run, RunKind, Scan};

/// Bytes that are scanned for one step.
pub(super) const BYTES_A_STEP: usize = 64;

impl Machine<'_> {
    #[inline(always)]
    pub(super) fn run(&mut self, run: &Run, pc: Address, start: usize) -> Option<Position> {
        self.begin_group(run.group, start);
        if run.kind == RunKind::Lazy {
            let least = self.least_end(run, start)?;
            return self.longer(run, pc, start, false, least);
        }
        let end = run.scan.end(self.text, start, run.most);
        if end - start >= BYTES_A_STEP {
            self.burn(((end - start) / BYTES_A_STEP) as u32)?;
        }
        if end - start < run.least as usize {
            return None;
        }
        if run.kind == RunKind::Possessive {
            return Some(self.end_group(run.group, pc, end));
        }
        // Characters are counted only where each is one byte; else the least is one or none.
        let least = if run.least == 0 { start } else { self.least_end(run, start).unwrap_or(start) };
        self.shorter(run, pc, least, end)
    }

    /// Where the fewest characters of a run end.
    fn least_end(&self, run: &Run, start: usize) -> Option<usize> {
        let mut at = start;
        for _ in 0..run.least {
            at += self.run_character(&run.scan, at)?;
        }
        Some(at)
    }

    /// The length of the character at a place, if it belongs to the run.
    #[inline]
    fn run_character(&self, scan: &Scan, at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let byte = *bytes.get(at)?;
        let belongs = match scan {
            Scan::All => true,
            Scan::Until(missing) => byte != *missing,
            Scan::Bytes { set, .. } => set[usize::from(byte)],
            Scan::Characters(class) => return class.length_at(self.text, at),
        };
        let more = || bytes.get(at + 1..).unwrap_or_default().iter().take_while(|b| is_continuation(**b)).count();
        belongs.then(|| if byte.is_ascii() { 1 } else { 1 + more() })
    }

    /// Ends a greedy run at the last place, not behind `end`, where the rest can start.
    #[inline(always)]
    pub(super) fn shorter(&mut self, run: &Run, pc: Address, least: usize, end: usize) -> Option<Position> {
        let at = last_stop(self.text.as_bytes(), run, least, end)?;
        if end - at >= BYTES_A_STEP {
            self.burn(((end - at) / BYTES_A_STEP) as u32)?;
        }
        if at > least {
            self.push(Frame::Shorter { instruction: pc, least: least as u32, at: at as u32 })?;
        }
        Some(self.end_group(run.group, pc, at))
    }

    /// Ends a lazy run at the first place from `from` on where the rest can start; behind the next character at the
    /// earliest when one more is to be taken.
    #[inline]
    pub(super) fn longer(
        &mut self,
        run: &Run,
        pc: Address,
        start: usize,
        one_more: bool,
        from: usize,
    ) -> Option<Position> {
        let at = self.next_stop(run, start, one_more, from)?;
        self.burn(1 + ((at - from) / BYTES_A_STEP) as u32)?;
        self.push(Frame::Longer { instruction: pc, start: start as u32, at: at as u32 })?;
        Some(self.end_group(run.group, pc, at))
    }

    fn next_stop(&self, run: &Run, start: usize, one_more: bool, from: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        // Characters are counted only where each is one byte.
        let is_full = |at: usize| run.most.is_some_and(|most| at - start >= most as usize);
        let mut at = from;
        if one_more {
            if is_full(at) {
                return None;
            }
            at += self.run_character(&run.scan, at)?;
        }
        if let (Scan::All, Some(next)) = (&run.scan, run.next_byte) {
            return memchr::memchr(next, bytes.get(at..)?).map(|found| at + found);
        }
        while !run.next.fits(bytes, at) {
            if is_full(at) {
                return None;
            }
            at += self.run_character(&run.scan, at)?;
        }
        Some(at)
    }
}

/// The last place from `least` to `most` where the rest of the pattern can start and a character starts.
#[inline]
fn last_stop(bytes: &[u8], run: &Run, least: usize, most: usize) -> Option<usize> {
    if most < least {
        return None;
    }
    let is_start = |at: usize| bytes.get(at).is_none_or(|byte| !is_continuation(*byte));
    if let Some(next) = run.next_byte {
        let end = bytes.len().min(most + 1);
        // A byte that is looked for starts a character.
        return memchr::memrchr(next, bytes.get(least..end)?).map(|found| least + found);
    }
    (least..=most).rev().find(|at| run.next.fits(bytes, *at) && is_start(*at))
}

/// The start of the character before a place.
pub(super) fn before(bytes: &[u8], at: usize) -> usize {
    let mut at = at.saturating_sub(1);
    while at > 0 && bytes.get(at).is_some_and(|byte| is_continuation(*byte)) {
        at -= 1;
    }
    at
}
