//! Stand-in.
use crate::event::Event;
use crate::plugins::Sent;
use std::time::Duration;
/// Stand-in.
#[derive(Debug)]
pub struct Writer;
impl Writer {
    /// Stand-in.
    pub fn open(_: Settings) -> Result<Self, String> {
        Ok(Self)
    }
    /// Stand-in.
    pub fn close(&self) {}
    /// Stand-in.
    pub fn write_until_stored(&self, _: &Event, _: &str, _: &str, _: &str, _: &dyn Fn() -> bool) -> Sent {
        Sent::Stored
    }
}
/// Stand-in.
#[allow(missing_docs)]
pub struct Settings {
    pub directory: std::path::PathBuf,
    pub max_bytes: u64,
    pub flush_interval: Duration,
    pub flush_check_interval: Duration,
    pub storage_policy: StoragePolicy,
    pub retain_age: Option<Duration>,
    pub loop_guard: LoopGuard,
}
impl Settings {
    /// Stand-in.
    pub fn checked(self) -> (Self, Vec<String>) {
        (self, vec![])
    }
}
/// Stand-in.
#[allow(missing_docs)]
pub enum StoragePolicy {
    DropNewer,
    DropOlder,
}
/// Stand-in.
#[allow(missing_docs)]
pub enum LoopGuard {
    Requeue,
    Skip,
}
