//! Finds the rows of a batch that the server refuses, so that the others are stored.
//!
//! A server refuses an insert as a whole and mostly names the row: that row goes alone, which proves its guilt and
//! gets its own error, and the others go again. Not every server counts rows right in large inserts, so a row that was
//! accused and then accepted ends the belief in numbers. After 2·log2(rows) refusals, or without numbers, rows go
//! in groups, half as large after a refusal and twice as large after a success: a batch of nothing but bad rows costs
//! one small request for each of them.

/// The rows of a batch that have no answer yet, and how many of them the next insert takes.
pub(super) struct Isolation {
    /// The next one last.
    unanswered: Vec<u32>,
    size: usize,
    /// One row goes alone, whatever `size` says.
    accused: bool,
    trusts_numbers: bool,
    /// Proofs that are left before rows go in groups.
    proofs: usize,
    group: usize,
}

/// What a refusal led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// This row is a bad one.
    Bad(u32),
    /// It is not known yet which row it is.
    Searching,
}

impl Isolation {
    /// Nothing is known about the `count` rows.
    pub fn new(count: usize) -> Self {
        let rows = u32::try_from(count).unwrap_or(u32::MAX);
        let proofs = 2 * usize::try_from(rows.checked_ilog2().unwrap_or(0)).unwrap_or(0);
        Self {
            unanswered: (0..rows).rev().collect(),
            size: count,
            accused: false,
            trusts_numbers: true,
            proofs,
            group: (count / proofs.max(1)).max(1),
        }
    }

    /// The rows of the next insert in order; the same until it is answered. Empty when all were answered.
    pub fn next(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.unanswered.iter().rev().take(self.len()).copied()
    }

    /// How many rows the next insert has.
    pub fn len(&self) -> usize {
        if self.accused { 1 } else { self.size.min(self.unanswered.len()) }
    }

    /// How many rows have no answer yet.
    pub fn left(&self) -> usize {
        self.unanswered.len()
    }

    /// The insert was stored, or its rows were given up.
    pub fn answered(&mut self) {
        self.take();
        let alone = std::mem::take(&mut self.accused);
        if alone {
            self.trusts_numbers = false;
        }
        self.size = if alone { self.halved() } else { self.size.saturating_mul(2) };
    }

    /// The server does not take the insert for the sake of one of its rows, maybe this one, counted from 1.
    pub fn refused(&mut self, number: Option<usize>) -> Refused {
        let count = self.len();
        if count <= 1 {
            self.accused = false;
            return self.unanswered.pop().map_or(Refused::Searching, Refused::Bad);
        }
        let number = number.filter(|n| self.trusts_numbers && (1..=count).contains(n));
        let Some(place) = number.and_then(|n| self.unanswered.len().checked_sub(n)) else {
            self.size = (count / 2).max(1);
            return Refused::Searching;
        };
        let row = self.unanswered.remove(place);
        if self.proofs > 0 {
            self.proofs -= 1;
            if self.proofs == 0 {
                self.size = self.group;
            }
            self.unanswered.push(row);
            self.accused = true;
            return Refused::Searching;
        }
        self.size = (count / 2).max(1);
        Refused::Bad(row)
    }

    /// The insert is too large: half of it, or the row that is too large alone.
    pub fn too_large(&mut self) -> Refused {
        self.refused(None)
    }

    fn take(&mut self) {
        let count = self.len();
        self.unanswered.truncate(self.unanswered.len() - count);
    }

    fn halved(&self) -> usize {
        (self.unanswered.len().div_ceil(2)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// What a server says about the number of the first bad row of an insert.
    #[derive(Clone, Copy, Debug)]
    enum Counts {
        Right,
        Never,
        /// Always too small, as after parsing in parallel.
        Wrong(usize),
    }

    /// Stored rows, bad rows, requests and rows sent.
    fn run(count: usize, bad: &BTreeSet<u32>, counts: Counts) -> (BTreeSet<u32>, BTreeSet<u32>, usize, usize) {
        let mut isolation = Isolation::new(count);
        let (mut stored, mut dead, mut requests, mut sent) = (BTreeSet::new(), BTreeSet::new(), 0, 0);
        while isolation.left() > 0 {
            let rows: Vec<u32> = isolation.next().collect();
            requests += 1;
            sent += rows.len();
            assert!(requests < 10 * count + 10, "does not end");
            match rows.iter().position(|row| bad.contains(row)) {
                None => {
                    for row in rows {
                        assert!(stored.insert(row), "{row} twice");
                    }
                    isolation.answered();
                }
                Some(at) => {
                    let number = match counts {
                        Counts::Right => Some(at + 1),
                        Counts::Never => None,
                        Counts::Wrong(by) => Some((at + 1).saturating_sub(by)),
                    };
                    if let Refused::Bad(row) = isolation.refused(number) {
                        assert!(dead.insert(row), "{row} twice");
                    }
                }
            }
        }
        (stored, dead, requests, sent)
    }

    #[test]
    fn one_bad_row_of_a_thousand_takes_three_requests() {
        let (stored, dead, requests, _) = run(1000, &BTreeSet::from([16]), Counts::Right);
        assert_eq!((stored.len(), dead, requests), (999, BTreeSet::from([16]), 3));
    }

    #[test]
    fn extra_requests_are_bounded() {
        for (count, every) in [(1000, 100), (10_000, 20), (10_000, 1000), (4096, 2)] {
            let bad: BTreeSet<u32> = (0..count).filter(|n| n % every == 3 % every).collect();
            let size = usize::try_from(count).unwrap();
            let (_, dead, requests, sent) = run(size, &bad, Counts::Right);
            assert_eq!(dead, bad);
            let log = 2 * size.ilog2() as usize;
            // The groups at the end count as well; a bad row makes the next groups smaller.
            assert!(requests <= 1 + 2 * log + 2 * bad.len(), "{count} {every}: {requests}");
            assert!(sent < size * (log + 40), "{count} {every}: {sent} rows sent");
        }
    }

    #[test]
    fn a_batch_of_bad_rows_costs_one_small_request_for_each() {
        let bad: BTreeSet<u32> = (0..1000).collect();
        for counts in [Counts::Right, Counts::Never] {
            let (stored, dead, requests, sent) = run(1000, &bad, counts);
            assert_eq!((stored.len(), dead.len()), (0, 1000));
            assert!(requests <= 1100 && sent <= 30_000, "{counts:?}: {requests} {sent}");
        }
    }

    #[test]
    fn a_row_too_large_is_found_by_halving() {
        let mut isolation = Isolation::new(4);
        assert_eq!(isolation.too_large(), Refused::Searching);
        assert_eq!(isolation.next().collect::<Vec<_>>(), [0, 1]);
        isolation.answered();
        assert_eq!(isolation.too_large(), Refused::Searching);
        assert_eq!(isolation.too_large(), Refused::Bad(2));
        assert_eq!(isolation.next().collect::<Vec<_>>(), [3]);
    }

    proptest! {
        #[test]
        fn every_row_is_stored_or_bad_whatever_the_server_says(
            count in 1_u32..300,
            bad in proptest::collection::btree_set(0_u32..300, 0..60),
            by in 0_usize..50,
        ) {
            let bad: BTreeSet<u32> = bad.into_iter().filter(|row| *row < count).collect();
            let good: BTreeSet<u32> = (0..count).filter(|row| !bad.contains(row)).collect();
            for counts in [Counts::Right, Counts::Never, Counts::Wrong(by)] {
                let (stored, dead, ..) = run(count as usize, &bad, counts);
                // Once proofs are used up, a number is believed: only a server that counts wrong from then on
                // makes a good row suffer.
                if !matches!(counts, Counts::Wrong(1..)) {
                    prop_assert_eq!(&stored, &good);
                    prop_assert_eq!(&dead, &bad);
                }
                prop_assert_eq!(stored.len() + dead.len(), count as usize);
            }
        }
    }
}
