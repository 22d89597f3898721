//! Between inputs and workers: the bounded queue, the only place where threads meet.

mod memory;

pub use memory::{Chunk, Closed, Consumer, MemoryQueue, Taken};
