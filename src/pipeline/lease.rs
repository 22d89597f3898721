//! Acknowledgement: a source lends its events to the pipeline and hears once when all of them are dealt with.
//!
//! Every batch that holds events of a source batch holds a clone of its lease; the last clone to be dropped tells the
//! source. Dropping is the common way: delivered, dropped by intent, or in the dead letter queue. A batch that had to
//! be given up calls [`Lease::fail`] first, and the source keeps its position, so that the events come again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

type OnReturn = Box<dyn FnOnce(bool) + Send>;

/// A share in a source batch that is on its way. Cheap to clone.
#[derive(Clone)]
pub struct Lease(Arc<Shared>);

struct Shared {
    failed: AtomicBool,
    on_return: Mutex<Option<OnReturn>>,
}

impl Lease {
    /// `on_return` is called once, from any thread, when the last clone is gone: with `true` when every event of the
    /// source batch was dealt with, with `false` when the source must not move its position. It must not block.
    pub fn new(on_return: impl FnOnce(bool) + Send + 'static) -> Self {
        Self(Arc::new(Shared { failed: AtomicBool::new(false), on_return: Mutex::new(Some(Box::new(on_return))) }))
    }

    /// A lease of a batch whose sources do not care.
    pub fn unclaimed() -> Self {
        Self(Arc::new(Shared { failed: AtomicBool::new(false), on_return: Mutex::new(None) }))
    }

    /// A lease that returns all of `leases` at once.
    pub fn joined(leases: Vec<Self>) -> Self {
        match <[Self; 1]>::try_from(leases) {
            Ok([only]) => only,
            Err(none) if none.is_empty() => Self::unclaimed(),
            Err(leases) => Self::new(move |ok| {
                if !ok {
                    leases.iter().for_each(Self::fail);
                }
            }),
        }
    }

    /// The events were not dealt with: the source must not move its position.
    pub fn fail(&self) {
        self.0.failed.store(true, Ordering::Release);
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
        f.debug_struct("Lease").field("failed", &self.0.failed).finish_non_exhaustive()
    }
}
