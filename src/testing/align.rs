//! Which of the events that came out belongs to which of the expected ones.
//!
//! As many as expected are compared one by one. With another number, equal events are paired first (keeping their
//! order), so that one event too many does not make all behind it look wrong.

/// A pairing of expected and received events, by their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pairing {
    /// Expected and received, to be compared, in order of the expected ones.
    pub pairs: Vec<(usize, usize)>,
    /// Expected and not there.
    pub missing: Vec<usize>,
    /// There and not expected.
    pub extra: Vec<usize>,
}

/// Beyond so many comparisons what differs is paired by place alone.
const MOST_COMPARISONS: usize = 250_000;

/// Pairs in order.
pub(super) fn ordered(expected: usize, got: usize, equal: impl Fn(usize, usize) -> bool) -> Pairing {
    let both = expected.min(got);
    let mut pairing = Pairing::default();
    if expected == got {
        pairing.pairs.extend((0..both).map(|at| (at, at)));
        return pairing;
    }
    // Nearly always all but a few are equal, and those stand at the start and at the end.
    let start = (0..both).take_while(|at| equal(*at, *at)).count();
    let end = (1..=both - start).take_while(|back| equal(expected - back, got - back)).count();
    let (middle_expected, middle_got) = (expected - start - end, got - start - end);
    pairing.pairs.extend((0..start).map(|at| (at, at)));
    let common = if middle_expected.saturating_mul(middle_got) > MOST_COMPARISONS {
        Vec::new()
    } else {
        longest_common(middle_expected, middle_got, |e, g| equal(start + e, start + g))
    };
    let common = common.into_iter().map(|(e, g)| (start + e, start + g));
    let tail = (1..=end).rev().map(|back| (expected - back, got - back));
    let (mut e, mut g) = (start, start);
    for (equal_e, equal_g) in common.chain(tail).chain([(expected, got)]) {
        // Between two equal pairs, what is left on both sides is compared in order.
        while e < equal_e && g < equal_g {
            pairing.pairs.push((e, g));
            (e, g) = (e + 1, g + 1);
        }
        pairing.missing.extend(e..equal_e);
        pairing.extra.extend(g..equal_g);
        if equal_e < expected {
            pairing.pairs.push((equal_e, equal_g));
        }
        (e, g) = (equal_e + 1, equal_g + 1);
    }
    pairing
}

/// Pairs each expected event with an equal one wherever it is; what is left is compared in order.
pub(super) fn unordered(expected: usize, got: usize, equal: impl Fn(usize, usize) -> bool) -> Pairing {
    let mut free: Vec<usize> = (0..got).collect();
    let mut pairing = Pairing::default();
    let mut unmatched = Vec::new();
    for e in 0..expected {
        match free.iter().position(|g| equal(e, *g)) {
            Some(at) => pairing.pairs.push((e, free.remove(at))),
            None => unmatched.push(e),
        }
    }
    let mut free = free.into_iter();
    for e in unmatched {
        match free.next() {
            Some(g) => pairing.pairs.push((e, g)),
            None => pairing.missing.push(e),
        }
    }
    pairing.extra.extend(free);
    pairing.pairs.sort_unstable();
    pairing
}

/// The longest run of equal pairs that keeps the order of both sides.
fn longest_common(expected: usize, got: usize, equal: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let width = got + 1;
    let equals: Vec<bool> =
        (0..expected).flat_map(|e| (0..got).map(move |g| (e, g))).map(|(e, g)| equal(e, g)).collect();
    let is_equal = |e: usize, g: usize| equals.get(e * got + g).copied().unwrap_or(false);
    // lengths[e * width + g]: the longest run in what follows place e and g.
    let mut lengths = vec![0_u32; (expected + 1) * width];
    let at = |lengths: &[u32], e: usize, g: usize| lengths.get(e * width + g).copied().unwrap_or(0);
    for e in (0..expected).rev() {
        for g in (0..got).rev() {
            let skip = at(&lengths, e + 1, g).max(at(&lengths, e, g + 1));
            let longest = if is_equal(e, g) { skip.max(1 + at(&lengths, e + 1, g + 1)) } else { skip };
            if let Some(slot) = lengths.get_mut(e * width + g) {
                *slot = longest;
            }
        }
    }
    let (mut e, mut g, mut pairs) = (0, 0, Vec::new());
    while e < expected && g < got {
        if is_equal(e, g) && at(&lengths, e, g) == 1 + at(&lengths, e + 1, g + 1) {
            pairs.push((e, g));
            (e, g) = (e + 1, g + 1);
        } else if at(&lengths, e + 1, g) >= at(&lengths, e, g + 1) {
            e += 1;
        } else {
            g += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs by letters.
    fn in_order(expected: &str, got: &str) -> Pairing {
        let (expected, got) = (expected.as_bytes(), got.as_bytes());
        ordered(expected.len(), got.len(), |e, g| expected[e] == got[g])
    }

    fn in_any_order(expected: &str, got: &str) -> Pairing {
        let (expected, got) = (expected.as_bytes(), got.as_bytes());
        unordered(expected.len(), got.len(), |e, g| expected[e] == got[g])
    }

    #[test]
    fn as_many_are_compared_one_by_one() {
        assert_eq!(in_order("abc", "xab"), Pairing { pairs: vec![(0, 0), (1, 1), (2, 2)], ..Pairing::default() });
        assert_eq!(in_order("", ""), Pairing::default());
    }

    #[test]
    fn one_more_or_less_leaves_the_others_paired() {
        let paired = in_order("abc", "abxc");
        assert_eq!((paired.pairs, paired.extra), (vec![(0, 0), (1, 1), (2, 3)], vec![2]));
        let paired = in_order("abc", "bc");
        assert_eq!((paired.pairs, paired.missing), (vec![(1, 0), (2, 1)], vec![0]));
        let paired = in_order("abc", "");
        assert_eq!(paired.missing, [0, 1, 2]);
        let paired = in_order("", "ab");
        assert_eq!(paired.extra, [0, 1]);
    }

    #[test]
    fn many_events_are_paired_quickly() {
        let paired = ordered(100_000, 99_999, |e, g| if e < 50_000 { e == g } else { e == g + 1 });
        assert_eq!((paired.missing, paired.extra.len(), paired.pairs.len()), (vec![50_000], 0, 99_999));
        let paired = ordered(2_000, 1_999, |_, _| false);
        assert_eq!((paired.missing, paired.pairs.len()), (vec![1_999], 1_999));
    }

    #[test]
    fn a_changed_event_between_equal_ones_is_compared() {
        let paired = in_order("abc", "axcd");
        assert_eq!((paired.pairs, paired.extra), (vec![(0, 0), (1, 1), (2, 2)], vec![3]));
    }

    #[test]
    fn without_order_equal_events_find_each_other() {
        let paired = in_any_order("abc", "cxab");
        assert_eq!(paired, Pairing { pairs: vec![(0, 2), (1, 3), (2, 0)], missing: vec![], extra: vec![1] });
        let paired = in_any_order("ab", "xa");
        assert_eq!(paired.pairs, [(0, 1), (1, 0)]);
    }
}
