//! The keys that are known, in memory: 24 bytes a slot, at least two of three slots used, so at most 36 bytes a key.
//!
//! A shard is an open-addressed table with linear probing. It grows by a quarter and not by a factor of two, since the
//! usual tables are half empty after growing, which doubles what a key costs.

/// The hash of a key. 128 bits: two keys do not share one in practice.
pub(super) type Hash = u128;

/// A key that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// When it was seen first, or with `refresh` last; milliseconds since 1970.
    pub seen: i64,
    /// How often it was seen again.
    pub count: u32,
    /// Whether the event with it is still on its way.
    pub pending: bool,
}

/// Bits of [`Slot::word`]: 44 of time, one for `pending`, 19 of count.
const COUNT_BITS: u32 = 19;
const MOST_COUNT: u64 = (1 << COUNT_BITS) - 1;
const PENDING: u64 = 1 << COUNT_BITS;
const TIME_SHIFT: u32 = COUNT_BITS + 1;
/// Moves 278 years before 1970 to zero.
const TIME_OFFSET: i64 = 1 << 43;

#[derive(Clone, Copy)]
struct Slot {
    low: u64,
    high: u64,
    word: u64,
}

const EMPTY: Slot = Slot { low: 0, high: 0, word: 0 };
const _: () = assert!(size_of::<Slot>() == 24);

impl Slot {
    fn new(hash: Hash, known: Known) -> Self {
        let time = known.seen.saturating_add(TIME_OFFSET).clamp(0, (1 << 44) - 1) as u64;
        let count = u64::from(known.count).min(MOST_COUNT);
        let word = (time << TIME_SHIFT) | (u64::from(known.pending) * PENDING) | count;
        // A hash of zero stands for an empty slot.
        Self { low: (hash as u64).max(1), high: (hash >> 64) as u64, word }
    }

    fn is_empty(&self) -> bool {
        self.low == 0
    }

    fn has(&self, hash: Hash) -> bool {
        self.low == (hash as u64).max(1) && self.high == (hash >> 64) as u64
    }

    fn hash(&self) -> Hash {
        (Hash::from(self.high) << 64) | Hash::from(self.low)
    }

    fn known(&self) -> Known {
        Known {
            seen: (self.word >> TIME_SHIFT) as i64 - TIME_OFFSET,
            count: (self.word & MOST_COUNT) as u32,
            pending: self.word & PENDING != 0,
        }
    }
}

/// A part of all keys.
#[derive(Default)]
pub(super) struct Shard {
    slots: Vec<Slot>,
    used: usize,
}

impl Shard {
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Bytes of memory.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    /// What is known of a key.
    pub fn get(&self, hash: Hash) -> Option<Known> {
        let at = self.find(hash).ok()?;
        self.slots.get(at).map(Slot::known)
    }

    /// Sets what is known of a key. Whether it is new.
    pub fn set(&mut self, hash: Hash, known: Known) -> bool {
        if (self.used + 1) * 20 > self.slots.len() * 17 {
            self.rebuild(self.slots.len() + self.slots.len() / 4 + 8, |_, _| true);
        }
        let (at, is_new) = match self.find(hash) {
            Ok(at) => (at, false),
            Err(at) => (at, true),
        };
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = Slot::new(hash, known);
            self.used += usize::from(is_new);
        }
        is_new
    }

    /// Forgets a key. Whether it was known.
    pub fn remove(&mut self, hash: Hash) -> bool {
        let Ok(mut hole) = self.find(hash) else { return false };
        let length = self.slots.len();
        let behind = |from: usize, to: usize| (to + length - from) % length;
        let mut at = hole;
        // What stands behind moves up, unless that is before the place where its search begins.
        loop {
            at = (at + 1) % length;
            let Some(slot) = self.slots.get(at).copied().filter(|slot| !slot.is_empty()) else { break };
            if behind(self.home(slot.low), at) >= behind(hole, at) {
                self.put(hole, slot);
                hole = at;
            }
        }
        self.put(hole, EMPTY);
        self.used -= 1;
        true
    }

    /// Forgets all keys but those that `keep` wants, and gives their memory back. How many went.
    pub fn retain(&mut self, mut keep: impl FnMut(Hash, Known) -> bool) -> usize {
        let kept = self.iter().filter(|(hash, known)| keep(*hash, *known)).count();
        let gone = self.used - kept;
        if gone > 0 {
            self.rebuild(kept + kept / 2 + 8, keep);
        }
        gone
    }

    /// All keys.
    pub fn iter(&self) -> impl Iterator<Item = (Hash, Known)> {
        self.slots.iter().filter(|slot| !slot.is_empty()).map(|slot| (slot.hash(), slot.known()))
    }

    fn rebuild(&mut self, length: usize, mut keep: impl FnMut(Hash, Known) -> bool) {
        let mut slots = Vec::new();
        slots.reserve_exact(length);
        slots.resize(length, EMPTY);
        let old = std::mem::replace(&mut self.slots, slots);
        self.used = 0;
        for slot in old.into_iter().filter(|slot| !slot.is_empty()) {
            if keep(slot.hash(), slot.known())
                && let Err(at) = self.find(slot.hash())
            {
                self.put(at, slot);
                self.used += 1;
            }
        }
    }

    fn put(&mut self, at: usize, new: Slot) {
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = new;
        }
    }

    /// Where the search for a hash begins: its lower half, spread over the table.
    fn home(&self, low: u64) -> usize {
        ((u128::from(low) * self.slots.len() as u128) >> 64) as usize
    }

    /// The place of a hash, or the one where it belongs. There is always an empty slot.
    fn find(&self, hash: Hash) -> Result<usize, usize> {
        let mut at = self.home((hash as u64).max(1));
        while let Some(slot) = self.slots.get(at) {
            if slot.is_empty() {
                return Err(at);
            }
            if slot.has(hash) {
                return Ok(at);
            }
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
        Err(0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn known(seen: i64) -> Known {
        Known { seen, count: 3, pending: seen % 2 == 0 }
    }

    #[test]
    fn everything_that_is_known_reads_back() {
        for seen in [0, -1, 1_784_696_400_123, -5_000_000_000_000, 8_000_000_000_000] {
            assert_eq!(Slot::new(7, known(seen)).known(), known(seen));
        }
        let many = Known { seen: 0, count: u32::MAX, pending: false };
        assert_eq!(Slot::new(0, many).known().count, (1 << 19) - 1);
        assert!(Slot::new(0, many).has(0) && !Slot::new(0, many).is_empty());
    }

    #[test]
    fn a_key_takes_at_most_forty_bytes() {
        let mut shard = Shard::default();
        let mut state = 1_u128;
        for n in 1..200_000_usize {
            state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
            shard.set(state ^ (state >> 64), known(0));
            assert!(n < 1000 || shard.bytes() <= n * 40, "{n} keys in {} bytes", shard.bytes());
        }
        shard.retain(|hash, _| hash % 10 == 0);
        assert!(shard.bytes() <= shard.len() * 40, "{} keys in {} bytes", shard.len(), shard.bytes());
    }

    proptest! {
        /// Few different hashes that lie close together, so that they stand in each other's way.
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0_u8..4, 0_u64..40), 0..400)) {
            let mut shard = Shard::default();
            let mut model: HashMap<Hash, Known> = HashMap::new();
            for (at, (step, key)) in steps.into_iter().enumerate() {
                let hash = Hash::from(key / 4 * (u64::MAX / 10)) | (Hash::from(key) << 64);
                match step {
                    0 | 1 => prop_assert_eq!(shard.set(hash, known(at as i64)), model.insert(hash, known(at as i64)).is_none()),
                    2 => prop_assert_eq!(shard.remove(hash), model.remove(&hash).is_some()),
                    _ => {
                        let before = model.len();
                        model.retain(|_, known| known.seen % 3 > 0);
                        prop_assert_eq!(shard.retain(|_, known| known.seen % 3 > 0), before - model.len());
                    }
                }
                prop_assert_eq!(shard.len(), model.len());
                for (hash, known) in &model {
                    prop_assert_eq!(shard.get(*hash), Some(*known));
                }
            }
        }
    }
}
