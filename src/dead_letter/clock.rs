//! The two clocks that a queue goes by: the wall clock for entry times and ages, and one that never jumps for
//! intervals. Tests set both by hand.

use std::time::{Duration, Instant};

use crate::event::Timestamp;

/// Where a queue gets its time from.
#[derive(Clone, Debug)]
pub(super) enum Clock {
    /// The machine's.
    System(Instant),
    /// Set by a test: the wall clock at the start, and what has passed since.
    #[cfg(test)]
    Manual(Timestamp, std::sync::Arc<parking_lot::Mutex<Duration>>),
}

impl Clock {
    pub fn system() -> Self {
        Self::System(Instant::now())
    }

    #[cfg(test)]
    pub fn manual(start: Timestamp) -> Self {
        Self::Manual(start, std::sync::Arc::default())
    }

    #[cfg(test)]
    pub fn advance(&self, by: Duration) {
        if let Self::Manual(_, passed) = self {
            *passed.lock() += by;
        }
    }

    /// The wall clock.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System(_) => Timestamp::now(),
            #[cfg(test)]
            Self::Manual(start, passed) => after(*start, *passed.lock()),
        }
    }

    /// Time since some fixed moment.
    pub fn elapsed(&self) -> Duration {
        match self {
            Self::System(start) => start.elapsed(),
            #[cfg(test)]
            Self::Manual(_, passed) => *passed.lock(),
        }
    }
}

/// `at` moved on by `by`.
#[cfg(test)]
pub(super) fn after(at: Timestamp, by: Duration) -> Timestamp {
    let nanos = at.nanos() + by.subsec_nanos();
    let seconds = at.seconds() + by.as_secs() as i64 + i64::from(nanos / 1_000_000_000);
    Timestamp::from_unix(seconds, nanos % 1_000_000_000).unwrap_or(at)
}

/// `at` moved back by `by`; `None` before the first year that exists.
pub(super) fn before(at: Timestamp, by: Duration) -> Option<Timestamp> {
    let borrow = i64::from(at.nanos() < by.subsec_nanos());
    let nanos = (at.nanos() + borrow as u32 * 1_000_000_000) - by.subsec_nanos();
    let seconds = at.seconds().checked_sub(i64::try_from(by.as_secs()).ok()?)?.checked_sub(borrow)?;
    Timestamp::from_unix(seconds, nanos)
}
