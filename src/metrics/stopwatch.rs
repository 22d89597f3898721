//! Time spent in calls that many threads make at once, readable while they run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One tick is 2^14 ns (16 µs): 48 bits of ticks last 146 years. Cutting start and end to ticks errs to both sides
/// alike, so that many short calls still add up to their time.
const TICK_BITS: u32 = 14;

/// Bits of the state that count running calls: 65,535 at once.
const RUNNING_BITS: u32 = 16;

const RUNNING_MASK: u64 = (1 << RUNNING_BITS) - 1;
const TICKS_MASK: u64 = u64::MAX >> RUNNING_BITS;

/// Time spent in calls, including those still running, so that it grows while an output hangs.
#[derive(Debug)]
pub struct Stopwatch {
    origin: Instant,
    /// Number of running calls in the low bits; above them the sum of all end times minus the sum of all start
    /// times, modulo 2^48. One word, because a reader that saw a call's end time and not that it ended would count
    /// the whole time since `origin`.
    state: AtomicU64,
}

impl Default for Stopwatch {
    fn default() -> Self {
        Self { origin: Instant::now(), state: AtomicU64::new(0) }
    }
}

impl Stopwatch {
    /// Starts a call; it ends when the guard is dropped.
    pub fn start(&self) -> StopwatchGuard<'_> {
        let begun = 1u64.wrapping_sub(self.ticks() << RUNNING_BITS);
        self.state.fetch_add(begun, Ordering::AcqRel);
        StopwatchGuard { watch: self }
    }

    /// All time so far.
    pub fn total(&self) -> Duration {
        let state = self.state.load(Ordering::Acquire);
        let running = (state & RUNNING_MASK).wrapping_mul(self.ticks());
        let ticks = (state >> RUNNING_BITS).wrapping_add(running) & TICKS_MASK;
        // A clock that runs a tick behind on another core would show as a number just below the modulus.
        let ticks = if ticks > TICKS_MASK / 2 { 0 } else { ticks };
        Duration::from_nanos(ticks << TICK_BITS)
    }

    /// Calls that run now.
    pub fn running(&self) -> u64 {
        self.state.load(Ordering::Acquire) & RUNNING_MASK
    }

    fn ticks(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos() >> TICK_BITS).unwrap_or(TICKS_MASK)
    }
}

/// A running call of a [`Stopwatch`].
#[derive(Debug)]
pub struct StopwatchGuard<'a> {
    watch: &'a Stopwatch,
}

impl Drop for StopwatchGuard<'_> {
    fn drop(&mut self) {
        let ended = (self.watch.ticks() << RUNNING_BITS).wrapping_sub(1);
        self.watch.state.fetch_add(ended, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_calls_count_and_finished_ones_stay() {
        let watch = Stopwatch::default();
        let long = watch.start();
        let other = watch.start();
        std::thread::sleep(Duration::from_millis(3));
        drop(other);
        let both = watch.total();
        assert!(both >= Duration::from_millis(5), "{both:?}");
        std::thread::sleep(Duration::from_millis(2));
        assert!(watch.total() >= both + Duration::from_millis(1));
        drop(long);
        let done = watch.total();
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(watch.total(), done);
    }

    #[test]
    fn readers_never_see_a_jump_while_calls_come_and_go() {
        let watch = Stopwatch { origin: Instant::now() - Duration::from_secs(1_000_000), ..Stopwatch::default() };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..50_000).for_each(|_| drop(watch.start())));
            }
            for _ in 0..50_000 {
                assert!(watch.total() < Duration::from_secs(1000));
            }
        });
    }
}
