//! The servers of one output: which of them are alive, and which one gets the next request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use tokio::sync::Semaphore;

use crate::plugins::elasticsearch::about::Server;
use crate::plugins::elasticsearch::endpoint::Endpoint;

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
    fn new(endpoint: Endpoint, requests: usize) -> Arc<Self> {
        Arc::new(Self {
            endpoint,
            alive: AtomicBool::new(false),
            dead_since: Mutex::new(None),
            busy: AtomicUsize::new(0),
            permits: Semaphore::new(requests),
        })
    }

    /// Whether it gets requests.
    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Whether it was taken out so long ago.
    pub fn is_dead_for(&self, delay: Duration) -> bool {
        !self.is_alive() && self.dead_since.lock().is_some_and(|since| since.elapsed() >= delay)
    }
}

/// Servers at one moment.
type Hosts = Arc<[Arc<Host>]>;

/// All servers of one output.
pub(super) struct Pool {
    hosts: RwLock<Hosts>,
    requests_per_host: usize,
    turn: AtomicUsize,
    newest_major: AtomicU32,
    /// What the server with the highest version is.
    newest: Mutex<Option<Server>>,
}

/// A server that works on a request of ours while this lives.
pub(super) struct Lent(Arc<Host>);

impl std::ops::Deref for Lent {
    type Target = Host;

    fn deref(&self) -> &Host {
        &self.0
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Pool {
    /// Nobody is alive yet.
    pub fn new(endpoints: Vec<Endpoint>, requests_per_host: usize) -> Self {
        let hosts = endpoints.into_iter().map(|endpoint| Host::new(endpoint, requests_per_host));
        Self {
            hosts: RwLock::new(hosts.collect()),
            requests_per_host,
            turn: AtomicUsize::new(0),
            newest_major: AtomicU32::new(0),
            newest: Mutex::new(None),
        }
    }

    /// All servers: those of `hosts` in their order, or those that were found.
    pub fn hosts(&self) -> Hosts {
        self.hosts.read().clone()
    }

    /// From now on these are the servers. Those that stay keep their state; gives those that are new.
    pub fn replace(&self, endpoints: Vec<Endpoint>) -> Vec<Arc<Host>> {
        let old = self.hosts();
        let mut new = Vec::new();
        let hosts = endpoints.into_iter().map(|endpoint| {
            let known = old.iter().find(|host| host.endpoint.bulk == endpoint.bulk).cloned();
            known.unwrap_or_else(|| {
                let host = Host::new(endpoint, self.requests_per_host);
                new.push(host.clone());
                host
            })
        });
        let hosts: Hosts = hosts.collect();
        let gone = old.iter().filter(|old| !hosts.iter().any(|host| Arc::ptr_eq(host, old))).collect::<Vec<_>>();
        if !gone.is_empty() || !new.is_empty() {
            let names = |hosts: &mut dyn Iterator<Item = &Arc<Host>>| {
                hosts.map(|host| host.endpoint.label.as_str()).collect::<Vec<_>>().join(", ")
            };
            tracing::info!(target: super::LOG,
                removed = names(&mut gone.iter().copied()), added = names(&mut new.iter()),
                "Elasticsearch pool URLs updated");
        }
        *self.hosts.write() = hosts;
        new
    }

    /// One of the least busy servers that are alive.
    pub fn lend(&self) -> Option<Lent> {
        let hosts = self.hosts();
        let busy = |host: &Host| host.busy.load(Ordering::Acquire);
        let least = hosts.iter().filter(|h| h.is_alive()).map(|h| busy(h)).min()?;
        let idlest: Vec<&Arc<Host>> = hosts.iter().filter(|h| h.is_alive() && busy(h) <= least).collect();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        // Another worker may have taken or lost one meanwhile: then nobody is a bit too busy.
        let host = idlest.get(turn % idlest.len().max(1)).copied()?;
        host.busy.fetch_add(1, Ordering::AcqRel);
        Some(Lent(host.clone()))
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
    pub fn mark_alive(&self, host: &Host, server: Server) {
        let before = self.newest_major.fetch_max(server.major, Ordering::AcqRel);
        if before != 0 && before < server.major {
            tracing::warn!(target: super::LOG, previous_major = before, new_major = server.major,
                url = host.endpoint.label.as_str(), "Detected a node with a higher major version than previously observed");
        }
        let mut newest = self.newest.lock();
        if newest.is_none_or(|known| (known.major, known.minor) < (server.major, server.minor)) {
            *newest = Some(server);
        }
        drop(newest);
        host.alive.store(true, Ordering::Release);
    }

    /// The highest major version seen; 0 before any.
    pub fn newest_major(&self) -> u32 {
        self.newest_major.load(Ordering::Acquire)
    }

    /// What the server with the highest version is; `None` before any was seen.
    pub fn newest(&self) -> Option<Server> {
        *self.newest.lock()
    }
}
