//! Between inputs and workers: the bounded queues, the only place where threads meet. In memory, or on disk
//! ([`persisted`]), where what was taken from a source outlives the process.

mod chunk;
mod lanes;
mod memory;
pub mod persisted;

pub use chunk::{Chunk, Closed, Taken};
pub use lanes::{Consumer, Lanes};
pub use memory::MemoryQueue;
