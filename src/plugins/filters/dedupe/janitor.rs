//! Forgets expired keys bit by bit, and syncs what is not synced with its batch, beside the workers.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::store::{SHARDS, Store};

/// Shortest pause between two parts.
const SHORTEST: Duration = Duration::from_millis(1);

/// A thread that cleans up until it is stopped or dropped.
pub(super) struct Janitor(Mutex<Option<(Sender<()>, JoinHandle<()>)>>);

impl Janitor {
    /// Goes through all keys once in `interval`, and syncs every `sync`.
    pub fn start(store: Arc<Store>, interval: Duration, sync: Option<Duration>) -> io::Result<Self> {
        let pause = (interval / SHARDS as u32).max(SHORTEST);
        let (send, receive) = mpsc::channel();
        let work = move || {
            let (mut purge_at, mut sync_at) = (Instant::now() + pause, sync.map(|sync| Instant::now() + sync));
            let mut shard = 0;
            loop {
                let next = sync_at.map_or(purge_at, |at| at.min(purge_at));
                let wait = next.saturating_duration_since(Instant::now());
                if receive.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let now = Instant::now();
                if now >= purge_at {
                    store.purge_shard(shard);
                    shard = (shard + 1) % SHARDS;
                    if shard == 0 {
                        store.purge_log();
                    }
                    purge_at = now + pause;
                }
                if let (Some(at), Some(sync)) = (&mut sync_at, sync)
                    && now >= *at
                {
                    store.sync();
                    *at = now + sync;
                }
            }
        };
        let thread = std::thread::Builder::new().name("dedupe-janitor".to_owned()).spawn(work)?;
        Ok(Self(Mutex::new(Some((send, thread)))))
    }

    /// Waits for its last work.
    pub fn stop(&self) {
        if let Some((send, thread)) = self.0.lock().take() {
            drop(send);
            // What it could break over is logged by then.
            let _ = thread.join();
        }
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        self.stop();
    }
}
