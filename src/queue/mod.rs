//! Between inputs and workers: the bounded queues, the only place where threads meet.

mod lanes;
mod memory;

pub use lanes::Lanes;

pub use memory::{Chunk, Closed, Consumer, MemoryQueue, Taken};
