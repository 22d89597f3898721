//! When a request is tried again.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// Longest pause.
const LONGEST: u64 = 60;

/// Requests of a batch that are not done yet.
pub(super) struct Waiting {
    /// Those that were not tried yet, in order.
    fresh: VecDeque<usize>,
    again: Vec<Due>,
}

/// A request whose turn it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// Its place in the batch.
    pub at: usize,
    /// How often it failed.
    pub tries: u32,
    /// The time to wait for.
    pub when: Option<Instant>,
}

impl Waiting {
    /// None of `count` requests was tried.
    pub fn new(count: usize) -> Self {
        Self { fresh: (0..count).collect(), again: Vec::new() }
    }

    /// The next request: one whose pause is over, else one that was not tried yet, else the one whose pause ends first.
    pub fn next(&mut self) -> Option<Due> {
        let now = Instant::now();
        let first = (0..self.again.len()).min_by_key(|&at| self.again.get(at).and_then(|due| due.when));
        let is_due = |at: &usize| self.again.get(*at).and_then(|due| due.when).is_none_or(|when| when <= now);
        if let Some(at) = first.filter(is_due) {
            return Some(self.again.swap_remove(at));
        }
        if let Some(at) = self.fresh.pop_front() {
            return Some(Due { at, tries: 0, when: None });
        }
        first.map(|at| self.again.swap_remove(at))
    }

    /// Tries a request again after a pause.
    pub fn again(&mut self, at: usize, tries: u32) {
        self.again.push(Due { at, tries, when: Some(Instant::now() + pause(tries)) });
    }
}

/// Grows with the square of the tries; a random part keeps several senders apart.
fn pause(tries: u32) -> Duration {
    let seconds = u64::from(tries).saturating_mul(u64::from(tries)).min(LONGEST);
    let half = seconds * 500;
    // A fresh state is seeded at random.
    Duration::from_millis(half + RandomState::new().hash_one(tries) % (half + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_minute() {
        for (tries, least, most) in [(1, 500, 1000), (2, 2000, 4000), (7, 24_500, 49_000), (100, 30_000, 60_000)] {
            let pause = pause(tries).as_millis();
            assert!((least..=most).contains(&pause), "{tries}: {pause}");
        }
    }

    #[tokio::test]
    async fn those_that_wait_do_not_hold_up_the_others() {
        let mut waiting = Waiting::new(2);
        let first = waiting.next().unwrap();
        waiting.again(first.at, 1);
        assert_eq!(waiting.next().unwrap().at, 1);
        let again = waiting.next().unwrap();
        assert_eq!((again.at, again.tries), (0, 1));
        assert!(waiting.next().is_none());
    }
}
