//! What an input pushed and is still on its way: neither held by the transaction nor at its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::plugins::Lease;

/// Counts leases. Cheap to clone.
#[derive(Clone, Default)]
pub struct Account(Arc<(Mutex<Open>, Condvar)>);

#[derive(Default)]
struct Open {
    on_their_way: usize,
    failed: bool,
}

impl Account {
    /// A lease for what is pushed next.
    pub fn lend(&self) -> Lease {
        self.0.0.lock().on_their_way += 1;
        let (held, returned) = (self.clone(), self.clone());
        let is_counted = Arc::new(AtomicBool::new(true));
        let still_counted = is_counted.clone();
        Lease::with_hold(move |ok| held.one_less(&is_counted, ok), move |ok| returned.one_less(&still_counted, ok))
    }

    fn one_less(&self, is_counted: &AtomicBool, ok: bool) {
        let mut open = self.0.0.lock();
        if is_counted.swap(false, Ordering::Relaxed) {
            open.on_their_way -= 1;
        }
        open.failed |= !ok;
        self.0.1.notify_all();
    }

    /// Waits until nothing is on its way, at most for `limit`. Whether that is so.
    pub fn is_quiet_within(&self, limit: Duration) -> bool {
        let (open, changed) = &*self.0;
        let mut open = open.lock();
        changed.wait_while_for(&mut open, |open| open.on_their_way > 0, limit);
        open.on_their_way == 0
    }

    /// Whether something that was pushed since was given up.
    pub fn has_failed(&self) -> bool {
        self.0.0.lock().failed
    }

    /// Starts anew, once what failed is out of the way.
    pub fn forgive(&self) {
        self.0.0.lock().failed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_or_dropped_is_not_on_its_way() {
        let account = Account::default();
        let (a, b) = (account.lend(), account.lend());
        assert!(!account.is_quiet_within(Duration::ZERO));
        let held = a.hold();
        b.settle();
        assert!(account.is_quiet_within(Duration::ZERO) && !account.has_failed());
        drop(held);
        assert!(account.is_quiet_within(Duration::ZERO) && account.has_failed());
    }
}
