//! The dead letter queue on disk: events that a plugin could not handle, kept with the reason until somebody reads
//! them. The files are those of Logstash, byte for byte where it matters, so that either program can read what the
//! other wrote.
//!
//! A queue is a directory of numbered segment files. [`record`] is the layout of a segment, [`entry`] what one entry
//! holds and [`crate::event::cbor`] how the event in it is encoded. This room knows events and files, no plugin and no
//! pipeline; it uses plain threads and blocking calls.

mod clock;
mod commit;
mod directory;
pub mod entry;
mod head;
pub(crate) mod kill_point;
mod patience;
mod position;
mod queue;
mod reader;
pub mod record;
mod recovery;
mod rounds;
#[cfg(test)]
mod scenarios;
mod settings;
mod stats;
mod summary;
mod unread;
mod writer;

pub use crate::storage::{LockError, has_writer};
pub use commit::{Cleaned, CommitError, CommitOptions, Committer};
pub use position::{BadPosition, Position, default_sincedb};
pub use queue::{OpenError, WriteError};
pub use reader::{DeadLetter, Reader, Start};
pub use rounds::METADATA_KEY;
pub use settings::{Changed, LoopGuard, SEGMENT_BYTES, SettingError, Settings, StoragePolicy, parse_retain_age};
pub use stats::Stats;
pub use writer::{PartlyWritten, Rejected, Writer, Written};
