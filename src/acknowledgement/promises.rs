//! What filters keep of a batch until they hear what became of it.
//!
//! A filter that remembers events must not do so for good while they are on their way: if they come again after a
//! crash, they would be taken for known. So it promises: it notes what it saw under the number of the batch, and hears
//! once whether the events are dealt with, after the outputs and before the sources.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use super::Lease;
use super::lease::Bundle;

/// Tells batches from each other, in all pipelines of the process.
pub type BatchId = u64;

type Keep = Box<dyn FnOnce(bool) -> bool + Send>;

/// What was promised for one batch. Promises that are neither bound nor kept are broken.
pub struct Promises {
    batch: BatchId,
    /// Who promised, and what.
    made: Mutex<Vec<(usize, Keep)>>,
}

impl Promises {
    /// For a new batch.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { batch: NEXT.fetch_add(1, Relaxed), made: Mutex::default() }
    }

    /// The number of the batch.
    pub fn batch(&self) -> BatchId {
        self.batch
    }

    /// `keep` is called once, from any thread, when the last event of the batch is dealt with (`true`), or when the
    /// batch was given up (`false`). Its answer says whether the sources may hear that the events are dealt with. It may
    /// wait for a disk. Only the first promise that a `keeper` makes for a batch counts.
    pub fn make(&self, keeper: usize, keep: impl FnOnce(bool) -> bool + Send + 'static) {
        let mut made = self.made.lock();
        if made.iter().all(|(other, _)| *other != keeper) {
            made.push((keeper, Box::new(keep)));
        }
    }

    /// One lease for the whole batch: when it is settled, the promises are kept and then `leases` are settled.
    pub fn bind(self, leases: Vec<Lease>) -> Lease {
        if self.made.lock().is_empty() {
            return Lease::joined(leases);
        }
        Bundle::of(leases).bound(move |ok| self.end(ok))
    }

    /// All events of the batch are dealt with. Whether everything that was promised was done.
    pub fn keep(self) -> bool {
        self.end(true)
    }

    fn end(&self, ok: bool) -> bool {
        let made = std::mem::take(&mut *self.made.lock());
        made.into_iter().fold(ok, |ok, (_, keep)| keep(ok) && ok)
    }
}

impl Default for Promises {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Promises {
    fn drop(&mut self) {
        self.end(false);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// What two filters and the source hear, in order, when the second filter answers `answer`.
    fn heard(answer: bool, end: impl FnOnce(Lease)) -> Vec<String> {
        let notes: Arc<Mutex<Vec<String>>> = Arc::default();
        let note = |name: &'static str| {
            let notes = notes.clone();
            move |ok| notes.lock().push(format!("{name} {ok}"))
        };
        let promises = Promises::new();
        let (first, again, second) = (note("first"), note("again"), note("second"));
        promises.make(1, move |ok| {
            first(ok);
            true
        });
        promises.make(1, move |ok| {
            again(ok);
            true
        });
        promises.make(2, move |ok| {
            second(ok);
            answer
        });
        end(promises.bind(vec![Lease::new(note("source"))]));
        notes.lock().clone()
    }

    #[test]
    fn filters_hear_before_the_sources_do() {
        assert_eq!(heard(true, Lease::settle), ["first true", "second true", "source true"]);
        assert_eq!(heard(true, drop), ["first false", "second false", "source false"]);
    }

    #[test]
    fn a_promise_that_could_not_be_kept_is_not_acknowledged() {
        assert_eq!(heard(false, Lease::settle), ["first true", "second true", "source false"]);
    }

    #[test]
    fn what_is_forgotten_is_broken() {
        let (send, receive) = std::sync::mpsc::channel();
        let promises = Promises::new();
        promises.make(1, move |ok| send.send(ok).is_ok());
        drop(promises);
        assert!(!receive.recv().unwrap());
        assert_ne!(Promises::new().batch(), Promises::new().batch());
    }
}
