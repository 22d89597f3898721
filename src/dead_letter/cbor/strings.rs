//! The table of shared strings: who enters it, and finding a string that is in it while writing.

/// Whether a string of `len` bytes enters a table of `entries` strings: only if a reference is shorter.
pub fn enters(len: usize, entries: usize) -> bool {
    len >= match entries {
        0..=23 => 3,
        24..=255 => 4,
        256..=65535 => 5,
        65536..=4294967295 => 7,
        _ => 11,
    }
}

/// Text and byte strings share one table, but are never equal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Bytes,
}

struct Shared {
    kind: Kind,
    start: usize,
    len: usize,
}

/// The strings of one event, kept as places in the encoded bytes, so that nothing is copied or borrowed.
#[derive(Default)]
pub struct WrittenStrings {
    entries: Vec<Shared>,
    /// Index into `entries` plus one, by hash; 0 is free. The length is a power of two.
    slots: Vec<u32>,
}

/// Places that are looked at for one string. Strings that collide beyond that are written out again, so that chosen
/// collisions cannot make an event slow.
const PROBES: usize = 8;
const FEWEST_SLOTS: usize = 128;

impl WrittenStrings {
    /// Forgets all strings.
    pub fn clear(&mut self) {
        self.entries.clear();
        if self.slots.len() > 64 * FEWEST_SLOTS {
            self.slots = Vec::new();
        }
        self.slots.fill(0);
    }

    /// The index of a string that was written before. `encoded` is everything written so far.
    pub fn find(&self, kind: Kind, string: &[u8], encoded: &[u8]) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let hash = hash(string);
        for probe in 0..PROBES {
            let index = (*self.slots.get((hash + probe) & mask)?).checked_sub(1)?;
            let shared = self.entries.get(index as usize)?;
            if shared.kind == kind && encoded.get(shared.start..shared.start + shared.len) == Some(string) {
                return Some(index);
            }
        }
        None
    }

    /// Takes a string that is about to be written at `start` into the table, if it is long enough.
    pub fn add(&mut self, kind: Kind, string: &[u8], start: usize, encoded: &[u8]) {
        if !enters(string.len(), self.entries.len()) {
            return;
        }
        self.entries.push(Shared { kind, start, len: string.len() });
        if self.entries.len() * 2 > self.slots.len() {
            self.grow(encoded);
        }
        self.place(hash(string), self.entries.len() - 1);
    }

    fn place(&mut self, hash: usize, index: usize) {
        let mask = self.slots.len().wrapping_sub(1);
        let Ok(value) = u32::try_from(index + 1) else { return };
        for probe in 0..PROBES {
            if let Some(slot @ 0) = self.slots.get_mut((hash + probe) & mask) {
                *slot = value;
                return;
            }
        }
    }

    fn grow(&mut self, encoded: &[u8]) {
        let size = (self.slots.len() * 2).max(FEWEST_SLOTS);
        self.slots.clear();
        self.slots.resize(size, 0);
        // All but the newest, whose bytes are not there yet.
        for index in 0..self.entries.len().saturating_sub(1) {
            let Some(shared) = self.entries.get(index) else { continue };
            let string = encoded.get(shared.start..shared.start + shared.len).unwrap_or_default();
            self.place(hash(string), index);
        }
    }
}

/// Cheap, and good enough for a table of this size: length, both ends, and everything in between in words of eight.
fn hash(string: &[u8]) -> usize {
    const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = (string.len() as u64).wrapping_mul(SEED);
    let mut words = string.chunks_exact(8);
    for word in &mut words {
        let word = word.first_chunk::<8>().map_or(0, |w| u64::from_le_bytes(*w));
        state = (state.rotate_left(23) ^ word).wrapping_mul(SEED);
    }
    let mut last = [0; 8];
    last.iter_mut().zip(words.remainder()).for_each(|(to, from)| *to = *from);
    state = (state.rotate_left(23) ^ u64::from_le_bytes(last)).wrapping_mul(SEED);
    (state ^ (state >> 32)) as usize
}
