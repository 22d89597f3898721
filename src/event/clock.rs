//! The time of day as the filters of a pipeline see it: that of the machine, or one that is set by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use super::Timestamp;

/// Where a pipeline gets the time of day from. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// A clock that stands still until it is set.
    pub fn standing_at(at: Timestamp) -> Self {
        Self(Some(Arc::new(AtomicI64::new(at.millis()))))
    }

    /// Sets a clock that stands still; the machine's goes on as it does.
    pub fn set(&self, at: Timestamp) {
        if let Some(millis) = &self.0 {
            millis.store(at.millis(), Relaxed);
        }
    }

    /// The time of day.
    pub fn now(&self) -> Timestamp {
        let set = self.0.as_ref().and_then(|millis| Timestamp::from_millis(millis.load(Relaxed)));
        set.unwrap_or_else(Timestamp::now)
    }

    /// Milliseconds since 1970.
    pub fn millis(&self) -> i64 {
        self.0.as_ref().map_or_else(|| Timestamp::now().millis(), |millis| millis.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_stands_still_in_all_its_clones() {
        let at = |millis| Timestamp::from_millis(millis).unwrap();
        let clock = Clock::standing_at(at(5));
        let other = clock.clone();
        clock.set(at(-7));
        assert_eq!((other.now(), other.millis()), (at(-7), -7));
        assert!(Clock::default().now() > at(1_700_000_000_000));
    }
}
