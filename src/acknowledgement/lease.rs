//! Acknowledgement: a source lends its events to the pipeline and hears once when all of them are dealt with.
//!
//! Every batch that holds events of a source batch holds a clone of its lease; the last clone to go tells the source.
//! A clone is given back with [`Lease::settle`] once its events are delivered, dropped by intent, or in the dead letter
//! queue. One that is merely dropped, by an error, a panic or a cancelled task, means the opposite: the source keeps
//! its position, so that the events come again. Nothing is acknowledged by accident.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

type OnReturn = Box<dyn FnOnce(bool) + Send>;

/// A share in a source batch that is on its way. Cheap to clone; each clone has to be settled.
pub struct Lease {
    shared: Arc<Shared>,
    settled: bool,
}

struct Shared {
    failed: AtomicBool,
    on_return: Mutex<Option<OnReturn>>,
}

impl Lease {
    /// `on_return` is called once, from any thread, when the last clone is gone: with `true` when every clone was
    /// settled, with `false` when the source must not move its position. It must not wait for anything but a disk.
    pub fn new(on_return: impl FnOnce(bool) + Send + 'static) -> Self {
        Self::shared(Some(Box::new(on_return)))
    }

    /// A lease of a batch whose sources do not care.
    pub fn unclaimed() -> Self {
        Self::shared(None)
    }

    fn shared(on_return: Option<OnReturn>) -> Self {
        let shared = Shared { failed: AtomicBool::new(false), on_return: Mutex::new(on_return) };
        Self { shared: Arc::new(shared), settled: false }
    }

    /// A lease that settles all of `leases` at once.
    pub fn joined(leases: Vec<Self>) -> Self {
        match <[Self; 1]>::try_from(leases) {
            Ok([only]) => only,
            Err(none) if none.is_empty() => Self::unclaimed(),
            Err(leases) => Self::new(move |ok| {
                if ok {
                    leases.into_iter().for_each(Self::settle);
                }
            }),
        }
    }

    /// The events of this clone are dealt with.
    pub fn settle(mut self) {
        self.settled = true;
    }
}

impl Clone for Lease {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), settled: false }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.settled {
            self.shared.failed.store(true, Ordering::Release);
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
}
