//! A set of places in a list, that is filled in any order and read in ascending order.

/// One bit for each place.
pub(in crate::pipeline) struct Places(Box<[u64]>);

impl Places {
    /// The empty set of places below `end`.
    pub fn up_to(end: usize) -> Self {
        Self(vec![0; end.div_ceil(64)].into())
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Adds a place.
    #[inline]
    pub fn add(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    /// Adds places.
    #[inline]
    pub fn add_all(&mut self, places: &[usize]) {
        places.iter().for_each(|place| self.add(*place));
    }

    /// The places at `start` and behind it.
    pub fn from(&self, start: usize) -> impl Iterator<Item = usize> {
        let mut word_at = start / 64;
        let mut word = self.0.get(word_at).copied().unwrap_or(0) & (u64::MAX << (start % 64));
        std::iter::from_fn(move || {
            while word == 0 {
                word_at += 1;
                word = *self.0.get(word_at)?;
            }
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            Some(word_at * 64 + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_in_order_from_where_one_asks() {
        let mut places = Places::up_to(130);
        places.add_all(&[129, 0, 64, 63, 500]);
        assert_eq!(places.from(0).collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert_eq!(places.from(64).collect::<Vec<_>>(), [64, 129]);
        assert_eq!(places.from(200).count(), 0);
        places.clear();
        assert_eq!(places.from(0).count(), 0);
    }
}
