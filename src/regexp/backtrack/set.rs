//! Sets of bytes, to decide by one look at the text which way can succeed.

/// The bytes that may come next, and whether the end of the text may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteSet {
    bits: [u64; 4],
    end: bool,
}

impl ByteSet {
    pub const EMPTY: Self = Self { bits: [0; 4], end: false };
    /// Anything, the end included.
    pub const ALL: Self = Self { bits: [u64::MAX; 4], end: true };

    pub fn of(byte: u8) -> Self {
        let mut set = Self::EMPTY;
        set.insert_range(byte, byte);
        set
    }

    pub fn insert_range(&mut self, low: u8, high: u8) {
        for byte in low..=high {
            self.bits[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
    }

    #[inline]
    pub fn contains(&self, byte: u8) -> bool {
        self.bits[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    /// Whether the end of the text is in the set.
    pub fn has_end(&self) -> bool {
        self.end
    }

    /// Whether what stands at a place of the text is in the set.
    #[inline]
    pub fn fits(&self, text: &[u8], at: usize) -> bool {
        text.get(at).map_or(self.end, |byte| self.contains(*byte))
    }

    #[must_use]
    pub fn union(mut self, other: &Self) -> Self {
        self.bits.iter_mut().zip(other.bits).for_each(|(bits, more)| *bits |= more);
        self.end |= other.end;
        self
    }

    /// Whether a byte is in both.
    pub fn shares_a_byte(&self, other: &Self) -> bool {
        self.bits.iter().zip(other.bits).any(|(a, b)| a & b != 0)
    }

    /// The byte, if it is a single one and the end is not there.
    pub fn single(&self) -> Option<u8> {
        let count: u32 = self.bits.iter().map(|bits| bits.count_ones()).sum();
        if count == 1 && !self.end { (0..=255).find(|byte| self.contains(*byte)) } else { None }
    }
}
