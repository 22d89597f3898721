//! Waits between retries.

use std::time::Duration;

/// The waits of one sequence of retries: doubled each time, up to a limit.
pub(super) struct Waits {
    next: Duration,
    longest: Duration,
}

impl Waits {
    /// Starts a sequence.
    pub fn new((first, longest): (Duration, Duration)) -> Self {
        Self { next: first, longest }
    }

    /// How long to wait now.
    pub fn next(&mut self) -> Duration {
        let wait = self.next;
        self.next = wait.saturating_mul(2).min(self.longest);
        wait
    }
}
