//! The position of a source that reads in order while its events are dealt with in any order.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Lease;

/// Lends positions in reading order, and knows the last one before which everything is dealt with. Cheap to clone.
///
/// A batch that was given up stops the progress for good: what comes after it is read again, too.
#[derive(Clone, Debug)]
pub struct Progress<P>(Arc<Mutex<State<P>>>);

#[derive(Debug)]
struct State<P> {
    /// Positions on their way, in reading order, and whether they came back.
    lent: VecDeque<(P, bool)>,
    /// Number of positions that have left `lent` at the front.
    settled: u64,
    reached: Option<P>,
}

impl<P: Copy + Send + 'static> Progress<P> {
    /// Nothing lent, nothing reached.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State { lent: VecDeque::new(), settled: 0, reached: None })))
    }

    /// A lease for the events that were read up to `position`.
    pub fn lend(&self, position: P) -> Lease {
        let number = {
            let mut state = self.0.lock();
            state.lent.push_back((position, false));
            state.settled + state.lent.len() as u64 - 1
        };
        let progress = self.clone();
        Lease::new(move |ok| progress.returned(number, ok))
    }

    fn returned(&self, number: u64, ok: bool) {
        let mut state = self.0.lock();
        let at = number.checked_sub(state.settled).and_then(|at| usize::try_from(at).ok());
        if let Some((_, back)) = at.and_then(|at| state.lent.get_mut(at)) {
            *back = ok;
        }
        while let Some(&(position, true)) = state.lent.front() {
            state.lent.pop_front();
            state.settled += 1;
            state.reached = Some(position);
        }
    }

    /// Whether nothing is on its way. What was given up is for ever.
    pub fn is_idle(&self) -> bool {
        self.0.lock().lent.is_empty()
    }

    /// The position up to which everything is dealt with, if it moved since it was last asked for.
    pub fn take_reached(&self) -> Option<P> {
        self.0.lock().reached.take()
    }
}

impl<P: Copy + Send + 'static> Default for Progress<P> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_moves_only_past_what_is_dealt_with() {
        let progress = Progress::new();
        let (a, b, c) = (progress.lend(1), progress.lend(2), progress.lend(3));
        b.settle();
        assert_eq!(progress.take_reached(), None);
        a.settle();
        assert_eq!(progress.take_reached(), Some(2));
        assert_eq!(progress.take_reached(), None);
        drop(c);
        progress.lend(4).settle();
        assert_eq!(progress.take_reached(), None);
    }
}
