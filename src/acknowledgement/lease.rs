//! Acknowledgement: a source lends its events to the pipeline and hears once when all of them are dealt with.
//!
//! Every batch that holds events of a source batch holds a clone of its lease; the last clone to go tells the source.
//! A clone is given back with [`Lease::settle`] once its events are delivered, dropped by intent, or in the dead letter
//! queue. One that is merely dropped, by an error, a panic or a cancelled task, means the opposite: the source keeps
//! its position, so that the events come again. Nothing is acknowledged by accident.
//!
//! Between the two a clone may be [held](Lease::hold): nothing more happens to its events, but whether they are
//! delivered is decided later, with others. That is what a transaction does. A source that takes part in it hears when
//! no clone is on its way any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;

type OnReturn = Box<dyn FnOnce(bool) + Send>;
type OnHeld = Box<dyn Fn(bool) + Send + Sync>;

/// A share in a source batch that is on its way. Cheap to clone; each clone has to be settled.
pub struct Lease {
    shared: Arc<Shared>,
    settled: bool,
    held: bool,
}

/// A share whose events wait for a decision that is made elsewhere. Dropping it is the decision against them.
#[derive(Debug)]
pub struct Held(Lease);

struct Shared {
    failed: AtomicBool,
    /// Clones that are neither held nor gone.
    busy: AtomicUsize,
    on_held: Option<OnHeld>,
    on_return: Mutex<Option<OnReturn>>,
}

/// Leases that share one fate.
#[derive(Default)]
pub(super) struct Bundle(Mutex<Vec<Lease>>);

impl Lease {
    /// `on_return` is called once, from any thread, when the last clone is gone: with `true` when every clone was
    /// settled, with `false` when the source must not move its position. It must not wait for anything but a disk.
    pub fn new(on_return: impl FnOnce(bool) + Send + 'static) -> Self {
        Self::shared(None, Some(Box::new(on_return)))
    }

    /// As [`Lease::new`]. `on_held` is called once before, when no clone is on its way any more: each one is held,
    /// settled, or dropped, and then it is called with `false`.
    pub fn with_hold(
        on_held: impl Fn(bool) + Send + Sync + 'static,
        on_return: impl FnOnce(bool) + Send + 'static,
    ) -> Self {
        Self::shared(Some(Box::new(on_held)), Some(Box::new(on_return)))
    }

    /// A lease of a batch whose sources do not care.
    pub fn unclaimed() -> Self {
        Self::shared(None, None)
    }

    fn shared(on_held: Option<OnHeld>, on_return: Option<OnReturn>) -> Self {
        let (failed, busy) = (AtomicBool::new(false), AtomicUsize::new(1));
        let shared = Shared { failed, busy, on_held, on_return: Mutex::new(on_return) };
        Self { shared: Arc::new(shared), settled: false, held: false }
    }

    /// A lease that settles all of `leases` at once.
    pub fn joined(leases: Vec<Self>) -> Self {
        match <[Self; 1]>::try_from(leases) {
            Ok([only]) => only,
            Err(none) if none.is_empty() => Self::unclaimed(),
            Err(leases) => Bundle::of(leases).bound(|ok| ok),
        }
    }

    /// Nothing more happens to the events of this clone until the decision about them.
    pub fn hold(mut self) -> Held {
        self.held = true;
        self.shared.one_less_busy();
        Held(self)
    }

    /// The events of this clone are dealt with.
    pub fn settle(mut self) {
        self.settled = true;
    }
}

impl Held {
    /// The events are dealt with.
    pub fn settle(self) {
        self.0.settle();
    }
}

impl Bundle {
    pub fn of(leases: Vec<Lease>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(leases)))
    }

    /// One lease for all of them. `end` is called when it comes back, and says whether they are settled.
    pub fn bound(self: Arc<Self>, end: impl FnOnce(bool) -> bool + Send + 'static) -> Lease {
        let bundle = self.clone();
        Lease::with_hold(
            move |ok| bundle.hold(ok),
            move |ok| {
                if end(ok) {
                    self.take().into_iter().for_each(Lease::settle);
                }
            },
        )
    }

    fn take(&self) -> Vec<Lease> {
        std::mem::take(&mut *self.0.lock())
    }

    /// Their sources hear that nothing is on its way; what that means they hear after [`Bundle::bound`]'s `end`.
    fn hold(&self, ok: bool) {
        let held = self.take().into_iter().map(|lease| {
            if !ok {
                lease.shared.failed.store(true, Ordering::Release);
            }
            lease.hold().0
        });
        let held = held.collect();
        *self.0.lock() = held;
    }
}

impl Clone for Lease {
    fn clone(&self) -> Self {
        self.shared.busy.fetch_add(1, Ordering::Relaxed);
        Self { shared: self.shared.clone(), settled: false, held: false }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.settled {
            self.shared.failed.store(true, Ordering::Release);
        }
        if !self.held {
            self.shared.one_less_busy();
        }
    }
}

impl Shared {
    fn one_less_busy(&self) {
        if self.busy.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(on_held) = &self.on_held
        {
            on_held(!self.failed.load(Ordering::Acquire));
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(on_return) = self.on_return.get_mut().take() {
            on_return(!*self.failed.get_mut());
        }
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease").field("failed", &self.shared.failed).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(give_back: impl FnOnce(Lease)) -> bool {
        let (send, receive) = std::sync::mpsc::channel();
        give_back(Lease::new(move |ok| send.send(ok).unwrap()));
        receive.recv().unwrap()
    }

    #[test]
    fn a_source_batch_is_acknowledged_only_when_every_part_of_it_was_dealt_with() {
        assert!(answer(Lease::settle));
        assert!(!answer(drop));
        assert!(answer(|lease| {
            let part = lease.clone();
            lease.settle();
            part.settle();
        }));
        assert!(!answer(|lease| {
            drop(lease.clone());
            lease.settle();
        }));
        assert!(answer(|lease| Lease::joined(vec![lease, Lease::unclaimed()]).settle()));
        assert!(!answer(|lease| drop(Lease::joined(vec![Lease::unclaimed(), lease]))));
    }

    /// What a source hears of a batch whose lease is bound with another one.
    fn notes(give_back: impl FnOnce(Lease)) -> Vec<String> {
        let notes: Arc<Mutex<Vec<String>>> = Arc::default();
        let (held, returned) = (notes.clone(), notes.clone());
        let source = Lease::with_hold(
            move |ok| held.lock().push(format!("held {ok}")),
            move |ok| returned.lock().push(format!("returned {ok}")),
        );
        give_back(Lease::joined(vec![source, Lease::unclaimed()]));
        notes.lock().clone()
    }

    #[test]
    fn a_source_hears_that_nothing_is_on_its_way_before_it_hears_the_end() {
        assert_eq!(
            notes(|lease| {
                let held = lease.clone().hold();
                lease.settle();
                held.settle();
            }),
            ["held true", "returned true"]
        );
        assert_eq!(notes(|lease| drop(lease.hold())), ["held true", "returned false"]);
        assert_eq!(
            notes(|lease| {
                let held = lease.clone().hold();
                drop(lease);
                held.settle();
            }),
            ["held false", "returned false"]
        );
    }
}
