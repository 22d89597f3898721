//! How long a match may take.

use std::time::{Duration, Instant};

/// Steps after which a match without a time limit is given up.
pub const MOST_STEPS: u64 = 4_000_000;

/// A match that was given up because it took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the regexp gave up after too many steps; simplify it or anchor it")]
pub struct GaveUp;

/// A limit on one match, or on several together. Its clock starts with the first look at it, which is after some
/// microseconds of matching, so that a quick match asks no clock.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit(Limit);

#[derive(Clone, Copy, Debug)]
enum Limit {
    None,
    Steps(u64),
    Time { length: Duration, since: Option<Instant> },
}

impl TimeLimit {
    /// Time, or none at all.
    pub fn new(length: Option<Duration>) -> Self {
        Self(length.map_or(Limit::None, |length| Limit::Time { length, since: None }))
    }

    /// A fixed number of steps, which is the same on every machine.
    pub fn steps() -> Self {
        Self(Limit::Steps(MOST_STEPS))
    }

    /// Counts steps that were made.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), GaveUp> {
        let goes_on = match &mut self.0 {
            Limit::None => true,
            Limit::Steps(left) => {
                *left = left.saturating_sub(steps);
                *left > 0
            }
            Limit::Time { length, since } => since.get_or_insert_with(Instant::now).elapsed() < *length,
        };
        if goes_on { Ok(()) } else { Err(GaveUp) }
    }
}
