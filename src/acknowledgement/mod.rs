//! What a source hears of the events that it read: a [`Lease`] on each read tells it when all of them are dealt with,
//! and [`Progress`] keeps the position up to which that is so. Filters that remember events hear it through
//! [`Promises`]. Knows neither queue nor pipeline; both hand leases on.

mod lease;
mod progress;
mod promises;

pub use lease::{Held, Lease};
pub use progress::Progress;
pub use promises::{BatchId, Promises};
