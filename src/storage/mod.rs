//! What the rooms that keep events on disk share: the locks that keep a queue to one program. Knows files only.

mod lock;

pub use lock::{Lock, LockError, has_writer};
