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

    /// The index of an equal string that was written before. If there is none, the string, which is about to be
    /// written at `start`, enters the table if it is long enough. `encoded` is everything written so far.
    pub fn find_or_add(&mut self, kind: Kind, string: &[u8], start: usize, encoded: &[u8]) -> Option<u32> {
        if !enters(string.len(), 0) {
            return None;
        }
        let hash = hash(string);
        let mask = self.slots.len().wrapping_sub(1);
        for probe in 0..PROBES {
            let Some(index) = self.slots.get((hash + probe) & mask).and_then(|slot| slot.checked_sub(1)) else { break };
            let Some(shared) = self.entries.get(index as usize) else { break };
            if shared.kind == kind && encoded.get(shared.start..shared.start + shared.len) == Some(string) {
                return Some(index);
            }
        }
        if enters(string.len(), self.entries.len()) {
            self.entries.push(Shared { kind, start, len: string.len() });
            if self.entries.len() * 2 > self.slots.len() {
                self.grow(encoded);
            }
            self.place(hash, self.entries.len() - 1);
        }
        None
    }

    /// Number of strings in the table; the index of the next one that enters.
    pub fn len(&self) -> usize {
        self.entries.len()
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

/// Bytes at the start of a string that its hash depends on.
const HASHED: usize = 48;

/// Cheap, and good enough for a table of this size: the length, the start and the last eight bytes.
fn hash(string: &[u8]) -> usize {
    const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = (string.len() as u64).wrapping_mul(SEED);
    let start = string.get(..HASHED).unwrap_or(string);
    let mut words = start.chunks_exact(8);
    for word in &mut words {
        let word = word.first_chunk::<8>().map_or(0, |w| u64::from_le_bytes(*w));
        state = (state.rotate_left(23) ^ word).wrapping_mul(SEED);
    }
    let last = match string.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => words.remainder().iter().fold(0, |last, byte| last << 8 | u64::from(*byte)),
    };
    state = (state.rotate_left(23) ^ last).wrapping_mul(SEED);
    // The upper bits of a product are the well mixed ones.
    ((state ^ (state >> 32)).wrapping_mul(SEED) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_strings_enter_only_while_a_reference_is_shorter() {
        for (entries, shortest) in [(0, 3), (23, 3), (24, 4), (255, 4), (256, 5), (65535, 5), (65536, 7), (1 << 32, 11)]
        {
            assert!(enters(shortest, entries) && !enters(shortest - 1, entries), "{entries}");
        }
    }

    #[test]
    fn strings_are_found_again_up_to_any_number_of_them() {
        let mut table = WrittenStrings::default();
        let mut encoded = Vec::new();
        let strings: Vec<_> = (0..2000).map(|n| format!("string number {n}")).collect();
        for string in &strings {
            assert_eq!(table.find_or_add(Kind::Text, string.as_bytes(), encoded.len(), &encoded), None);
            encoded.extend_from_slice(string.as_bytes());
        }
        let found: Vec<_> =
            strings.iter().map(|s| table.find_or_add(Kind::Text, s.as_bytes(), encoded.len(), &encoded)).collect();
        let right = found.iter().enumerate().filter(|(n, found)| **found == Some(*n as u32)).count();
        assert!(right > 1990, "{right}");
        assert_eq!(table.find_or_add(Kind::Bytes, b"string number 7", 0, &encoded), None, "bytes are no text");
        table.clear();
        assert_eq!(table.find_or_add(Kind::Text, b"string number 7", 0, &encoded), None);
    }
}
