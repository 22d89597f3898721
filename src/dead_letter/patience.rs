//! Waiting until an event can be stored: for a disk that is full or broken, and for room in a queue that is full.

use std::time::{Duration, Instant};

use super::queue::{WhenFull, WriteError};
use super::writer::{PartlyWritten, Rejected, Writer, Written, one};
use crate::event::Event;

/// First and longest pause between two tries to write.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Pause between two looks for room in a full queue.
const ROOM_CHECK: Duration = Duration::from_secs(1);
/// How often a waiting write asks whether it should give up.
const STOP_CHECK: Duration = Duration::from_millis(100);

impl Writer {
    /// As [`Writer::write`], but when the disk is full or broken it tries again, with growing pauses, until the event
    /// is stored or `stop` says so. The error is then the last one.
    pub fn write_until(
        &self,
        event: &Event,
        plugin_type: &str,
        plugin_id: &str,
        reason: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Written, WriteError> {
        one(self.write_all_until(&[Rejected { event, plugin_type, plugin_id, reason }], stop))
    }

    /// As [`Writer::write_all`], with the patience of [`Writer::write_until`].
    pub fn write_all_until(
        &self,
        rejected: &[Rejected<'_>],
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Written>, PartlyWritten> {
        self.try_until(rejected, WhenFull::Refuse, stop)
    }

    /// As [`Writer::write_until`], and while the queue is full it waits as well. [`Written::Full`] when `stop` came
    /// before there was room: nothing is dropped, and nothing is counted as that.
    pub fn write_when_there_is_room(
        &self,
        rejected: &Rejected<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Written, WriteError> {
        let mut waited = false;
        loop {
            let written = one(self.try_until(&[*rejected], WhenFull::Wait, stop))?;
            if written != Written::Full {
                return Ok(written);
            }
            if !std::mem::replace(&mut waited, true) {
                let directory = self.directory().display();
                tracing::warn!(%directory, "the dead letter queue is full, an event waits for room in it");
            }
            if !pause(ROOM_CHECK, stop) {
                return Ok(Written::Full);
            }
        }
    }

    fn try_until(
        &self,
        rejected: &[Rejected<'_>],
        when_full: WhenFull,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Written>, PartlyWritten> {
        let (mut wait, longest) = BACK_OFF;
        let mut waited = false;
        let mut written = Vec::new();
        loop {
            let failure = match self.try_once(rejected.get(written.len()..).unwrap_or_default(), when_full) {
                Ok(rest) => {
                    if waited {
                        let directory = self.directory().display();
                        tracing::info!(%directory, "the dead letter queue can be written to again");
                    }
                    written.extend(rest);
                    return Ok(written);
                }
                Err(failure) => failure,
            };
            written.extend(failure.written);
            if !std::mem::replace(&mut waited, true) {
                tracing::error!("{}; the event is kept and tried again until that works", failure.error);
            }
            if !pause(wait, stop) {
                return Err(PartlyWritten { written, error: failure.error });
            }
            wait = (wait * 2).min(longest);
        }
    }
}

/// Waits; `false` when `stop` says so before.
fn pause(wait: Duration, stop: &dyn Fn() -> bool) -> bool {
    let end = Instant::now() + wait;
    while Instant::now() < end {
        if stop() {
            return false;
        }
        std::thread::sleep(STOP_CHECK.min(wait));
    }
    true
}
