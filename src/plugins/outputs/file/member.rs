//! The gzip member that a file grows by next.
//!
//! A member is compressed in memory and appended as a whole, so that a reader, or a crash, always finds complete gzip.
//! Until then its batches stay unacknowledged.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::plugins::Lease;

/// A flush completes a member that took more bytes than this …
const BYTES_TO_FLUSH: usize = 64 * 1024;
/// … or that is older than this.
const AGE_TO_FLUSH: Duration = Duration::from_secs(60);
/// Compressed bytes after which a member is completed at once, since it lies in memory.
const MOST_BYTES: usize = 1024 * 1024;

/// A member that still takes bytes.
pub(super) struct Member {
    encoder: GzEncoder<Vec<u8>>,
    taken: usize,
    since: Instant,
    leases: Vec<Lease>,
}

impl Member {
    /// An empty one.
    pub fn new() -> Self {
        let encoder = GzEncoder::new(Vec::new(), Compression::default());
        Self { encoder, taken: 0, since: Instant::now(), leases: Vec::new() }
    }

    /// Adds the bytes of one batch.
    pub fn push(&mut self, bytes: &[u8], lease: Lease) -> std::io::Result<()> {
        self.encoder.write_all(bytes)?;
        self.taken += bytes.len();
        self.leases.push(lease);
        Ok(())
    }

    /// Whether it may lie in memory no longer.
    pub fn is_full(&self) -> bool {
        self.encoder.get_ref().len() >= MOST_BYTES
    }

    /// Whether a flush completes it.
    pub fn is_due(&self) -> bool {
        self.is_full() || self.taken > BYTES_TO_FLUSH || self.since.elapsed() > AGE_TO_FLUSH
    }

    /// The whole member, and the batches that are in it.
    pub fn finish(self) -> std::io::Result<(Vec<u8>, Vec<Lease>)> {
        Ok((self.encoder.finish()?, self.leases))
    }
}
