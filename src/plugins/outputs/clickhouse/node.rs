//! One server that rows are written to.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use reqwest::Url;
use tokio::sync::Semaphore;

use super::client::HttpClient;

/// Where a node is, and its place in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// `http://h:8123/`, with a path in front when a proxy asks for one.
    pub base: Url,
    /// Its number of the shard; all hosts that were given one by one have none.
    pub shard: Option<u64>,
    /// Other names that `exclude_hosts` may call it by.
    pub names: Vec<String>,
}

impl Address {
    /// For logs.
    pub fn label(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        format!("{host}:{}", self.base.port_or_known_default().unwrap_or_default())
    }
}

/// Why a node gets nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Out {
    /// It failed: a ping lets it in again.
    Fault(Instant),
    /// A check found too little room or too many connections: the next check lets it in again.
    Check,
}

/// One server.
pub(super) struct Node {
    /// Where it is.
    pub address: Address,
    /// For logs.
    pub label: String,
    /// Talks to it.
    pub http: HttpClient,
    out: Mutex<Option<Out>>,
    busy: AtomicUsize,
    /// Requests that may run at once.
    pub permits: Semaphore,
}

impl Node {
    /// One that is well until it is known to be otherwise.
    pub fn new(address: Address, http: HttpClient, requests: usize) -> Self {
        let label = address.label();
        Self {
            address,
            label,
            http,
            out: Mutex::new(None),
            busy: AtomicUsize::new(0),
            permits: Semaphore::new(requests),
        }
    }

    /// Whether it gets inserts.
    pub fn is_healthy(&self) -> bool {
        self.out.lock().is_none()
    }

    /// Why it gets none.
    pub fn out(&self) -> Option<Out> {
        *self.out.lock()
    }

    /// Whether it failed at least so long ago.
    pub fn failed_for(&self, time: Duration) -> bool {
        matches!(self.out(), Some(Out::Fault(since)) if since.elapsed() >= time)
    }

    /// Takes it out; `false` when it was out before.
    pub fn take_out(&self, why: Out) -> bool {
        self.out.lock().replace(why).is_none()
    }

    /// Lets it in again; `false` when it was in.
    pub fn let_in(&self) -> bool {
        self.out.lock().take().is_some()
    }

    /// Inserts that run now.
    pub fn busy(&self) -> usize {
        self.busy.load(Ordering::Acquire)
    }

    /// Counts an insert as running, or as done.
    pub fn count(&self, starts: bool) {
        if starts {
            self.busy.fetch_add(1, Ordering::AcqRel);
        } else {
            self.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }
}
