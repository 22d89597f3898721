//! How many requests may wait for room in the queue. More are told to come again later.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::plugins::Options;

/// A request that waits longer shows that the pipeline is stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lets requests in, up to a number. Cheap to clone.
#[derive(Clone)]
pub(super) struct Gate {
    most: usize,
    inside: Arc<Mutex<Inside>>,
}

#[derive(Default)]
struct Inside {
    next: u64,
    /// Since when each one waits, the oldest first.
    since: BTreeMap<u64, Instant>,
}

/// A request that was let in.
pub(super) struct Pass {
    id: u64,
    inside: Arc<Mutex<Inside>>,
}

impl Gate {
    /// Declares and reads `threads` and `max_pending_requests`.
    pub fn read(options: &mut Options<'_>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options
            .integer("threads")
            .doc("Requests that are worked on at a time; as many as the machine has cores unless given.")
            .optional();
        let pending = options.integer("max_pending_requests").doc("Requests that may wait besides those.").default(200);
        let threads = threads.map_or(cores, |threads| {
            usize::try_from(threads).ok().filter(|n| *n > 0).unwrap_or_else(|| {
                options.invalid("threads", "`threads` is at least 1");
                1
            })
        });
        let pending = usize::try_from(pending).unwrap_or_else(|_| {
            options.invalid("max_pending_requests", "`max_pending_requests` is not negative");
            0
        });
        Self::new(threads.saturating_add(pending))
    }

    fn new(most: usize) -> Self {
        Self { most, inside: Arc::default() }
    }

    /// Whether one has been inside for so long that the next would only wait too.
    pub fn is_stuck(&self) -> bool {
        let inside = self.inside.lock();
        inside.since.first_key_value().is_some_and(|(_, since)| since.elapsed() > PATIENCE)
    }

    /// Lets a request in, if there is room.
    pub fn enter(&self) -> Option<Pass> {
        let mut inside = self.inside.lock();
        if inside.since.len() >= self.most {
            return None;
        }
        let id = inside.next;
        inside.next += 1;
        inside.since.insert(id, Instant::now());
        drop(inside);
        Some(Pass { id, inside: self.inside.clone() })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.inside.lock().since.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_goes_in_when_another_comes_out() {
        let gate = Gate::new(2);
        let (first, second) = (gate.enter(), gate.enter());
        assert!(first.is_some() && second.is_some() && gate.enter().is_none());
        drop(first);
        assert!(gate.enter().is_some() && !gate.is_stuck());
    }
}
