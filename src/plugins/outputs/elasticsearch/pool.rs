//! The servers of one output: which of them are alive, and which one gets the next request.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::endpoint::Endpoint;

/// One server.
pub(super) struct Host {
    /// Where it is.
    pub endpoint: Endpoint,
    alive: AtomicBool,
    /// When it was last taken out.
    dead_since: Mutex<Option<Instant>>,
    busy: AtomicUsize,
    /// Requests that may run at once.
    pub permits: Semaphore,
}

impl Host {
    /// Whether it gets requests.
    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Whether it was taken out so long ago.
    pub fn is_dead_for(&self, delay: Duration) -> bool {
        !self.is_alive() && self.dead_since.lock().is_some_and(|since| since.elapsed() >= delay)
    }
}

/// All servers of one output.
pub(super) struct Pool {
    hosts: Vec<Host>,
    turn: AtomicUsize,
    newest_major: AtomicU32,
}

/// A server that works on a request of ours while this lives.
pub(super) struct Lent<'a>(&'a Host);

impl std::ops::Deref for Lent<'_> {
    type Target = Host;

    fn deref(&self) -> &Host {
        self.0
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Pool {
    /// Nobody is alive yet.
    pub fn new(endpoints: Vec<Endpoint>, requests_per_host: usize) -> Self {
        let host = |endpoint| Host {
            endpoint,
            alive: AtomicBool::new(false),
            dead_since: Mutex::new(None),
            busy: AtomicUsize::new(0),
            permits: Semaphore::new(requests_per_host),
        };
        Self {
            hosts: endpoints.into_iter().map(host).collect(),
            turn: AtomicUsize::new(0),
            newest_major: AtomicU32::new(0),
        }
    }

    /// All servers, in the order of `hosts`.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// One of the least busy servers that are alive.
    pub fn lend(&self) -> Option<Lent<'_>> {
        let busy = |host: &Host| host.busy.load(Ordering::Acquire);
        let least = self.hosts.iter().filter(|h| h.is_alive()).map(busy).min()?;
        let idlest: Vec<&Host> = self.hosts.iter().filter(|h| h.is_alive() && busy(h) <= least).collect();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        // Another worker may have taken or lost one meanwhile: then nobody is a bit too busy.
        let host = idlest.get(turn % idlest.len().max(1)).copied()?;
        host.busy.fetch_add(1, Ordering::AcqRel);
        Some(Lent(host))
    }

    /// Takes a server out until it answers again.
    pub fn mark_dead(&self, host: &Host, why: &str) {
        *host.dead_since.lock() = Some(Instant::now());
        if host.alive.swap(false, Ordering::AcqRel) {
            tracing::warn!(target: super::LOG, url = host.endpoint.label.as_str(), error = why,
                "Marking url as dead. Last error: {why}");
        }
    }

    /// Lets a server have requests.
    pub fn mark_alive(&self, host: &Host) {
        host.alive.store(true, Ordering::Release);
    }

    /// Notes the major version of a server.
    pub fn saw_major(&self, major: u32) {
        self.newest_major.fetch_max(major, Ordering::AcqRel);
    }

    /// The highest major version seen; 0 before any.
    pub fn newest_major(&self) -> u32 {
        self.newest_major.load(Ordering::Acquire)
    }
}
