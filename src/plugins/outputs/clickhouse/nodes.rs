//! The nodes of one output: who is there, who is well, and which one gets the next insert.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::RwLock;
use tokio::sync::Notify;

use super::LOG;
use super::client::Connector;
use super::counters::Counters;
use super::node::{Address, Node, Out};

/// All nodes of one output.
pub(super) struct Nodes {
    connector: Connector,
    requests_per_node: usize,
    /// `exclude_hosts`.
    excluded: Vec<String>,
    list: RwLock<Vec<Arc<Node>>>,
    /// Somebody was let in.
    changed: Notify,
    counters: Arc<Counters>,
}

/// A node that works on an insert while this lives.
pub(super) struct Lent(Arc<Node>);

impl std::ops::Deref for Lent {
    type Target = Arc<Node>;

    fn deref(&self) -> &Arc<Node> {
        &self.0
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.count(false);
    }
}

/// Which nodes an insert was sent to, and where it should go next.
#[derive(Default)]
pub(super) struct Tried {
    nodes: Vec<Arc<Node>>,
    /// The shard that may have the rows already.
    pub shard: Option<u64>,
}

impl Tried {
    /// It was sent there.
    pub fn add(&mut self, node: &Arc<Node>) {
        self.nodes.push(node.clone());
    }

    fn has(&self, node: &Arc<Node>) -> bool {
        self.nodes.iter().any(|tried| Arc::ptr_eq(tried, node))
    }
}

impl Nodes {
    /// Nobody is there yet.
    pub fn new(connector: Connector, requests_per_node: usize, excluded: Vec<String>, counters: Arc<Counters>) -> Self {
        Self { connector, requests_per_node, excluded, list: RwLock::default(), changed: Notify::new(), counters }
    }

    /// Takes over a list: who stays keeps its state, who is new is in at once, who is gone gets nothing more.
    pub fn replace(&self, addresses: Vec<Address>) -> Result<(), String> {
        let old = self.all();
        let mut new: Vec<Arc<Node>> = Vec::with_capacity(addresses.len());
        for address in addresses {
            if self.is_excluded(&address) || new.iter().any(|node| node.address.base == address.base) {
                continue;
            }
            match old.iter().find(|node| node.address == address) {
                Some(known) => new.push(known.clone()),
                None => {
                    let node = Node::new(address, self.connector.client()?, self.requests_per_node);
                    if !old.is_empty() {
                        tracing::info!(target: LOG, node = node.label.as_str(), "New node {}", node.label);
                    }
                    new.push(Arc::new(node));
                }
            }
        }
        for gone in old.iter().filter(|node| !new.iter().any(|new| Arc::ptr_eq(new, node))) {
            tracing::info!(target: LOG, node = gone.label.as_str(), "The node {} is gone from the cluster", gone.label);
        }
        // Not the same order in every instance of the program.
        new.sort_by_cached_key(|_| random());
        *self.list.write() = new;
        self.note();
        Ok(())
    }

    /// A node that is only asked, and never gets rows.
    pub fn seed(&self, address: Address) -> Result<Node, String> {
        Ok(Node::new(address, self.connector.client()?, self.requests_per_node))
    }

    fn is_excluded(&self, address: &Address) -> bool {
        let label = address.label();
        let host = address.base.host_str().unwrap_or_default();
        let is = |name: &String| *name == label || name == host || address.names.contains(name);
        self.excluded.iter().any(is)
    }

    /// Everybody.
    pub fn all(&self) -> Vec<Arc<Node>> {
        self.list.read().clone()
    }

    /// Whether nobody can take an insert.
    pub fn are_all_out(&self) -> bool {
        !self.list.read().iter().any(|node| node.is_healthy())
    }

    /// One of the least busy healthy nodes, at random. Those that were tried come again when all were; but what a shard
    /// may have stored already goes to no other shard while one of its nodes is healthy.
    pub fn lend(&self, tried: &mut Tried) -> Option<Lent> {
        let list = self.list.read();
        let healthy = || list.iter().filter(|node| node.is_healthy());
        if !healthy().any(|node| !tried.has(node)) {
            tried.nodes.clear();
        }
        let is_same = |node: &&Arc<Node>| tried.shard.is_some() && node.address.shard == tried.shard;
        let is_fresh = |node: &&Arc<Node>| !tried.has(node);
        let least = |nodes: Vec<&Arc<Node>>| least_busy(&nodes).cloned();
        let node = least(healthy().filter(is_same).filter(is_fresh).collect())
            .or_else(|| least(healthy().filter(is_same).collect()))
            .or_else(|| least(healthy().filter(is_fresh).collect()))?;
        node.count(true);
        Some(Lent(node))
    }

    /// Whether a healthy node is left that was not tried yet.
    pub fn has_fresh(&self, tried: &Tried) -> bool {
        self.list.read().iter().any(|node| node.is_healthy() && !tried.has(node))
    }

    /// Leaves a node out until it answers again.
    pub fn exclude(&self, node: &Node, why: &str) {
        if node.take_out(Out::Fault(Instant::now())) {
            tracing::warn!(target: LOG, node = node.label.as_str(), "The node {} is left out for now: {why}", node.label);
            self.note();
        }
    }

    /// Leaves a node out until a check finds it well.
    pub fn exclude_by_check(&self, node: &Node, why: &str) {
        if node.is_healthy() && node.take_out(Out::Check) {
            tracing::warn!(target: LOG, node = node.label.as_str(),
                "The node {} is left out until the next check: {why}", node.label);
            self.note();
        }
    }

    /// Lets a node have inserts again.
    pub fn include(&self, node: &Node) {
        if node.let_in() {
            tracing::info!(target: LOG, node = node.label.as_str(), "The node {} is back", node.label);
            self.note();
        }
    }

    /// Waits until a node is healthy.
    pub async fn until_one_is_healthy(&self) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if !self.are_all_out() {
                return;
            }
            changed.await;
        }
    }

    fn note(&self) {
        let list = self.list.read();
        let healthy = list.iter().filter(|node| node.is_healthy()).count();
        self.counters.nodes(list.len(), healthy);
        self.changed.notify_waiters();
    }
}

/// One of those with the fewest inserts, at random.
fn least_busy<'a>(nodes: &[&'a Arc<Node>]) -> Option<&'a Arc<Node>> {
    let least = nodes.iter().map(|node| node.busy()).min()?;
    let idlest: Vec<_> = nodes.iter().filter(|node| node.busy() <= least).collect();
    let at = usize::try_from(random()).unwrap_or(0) % idlest.len().max(1);
    // Another writer may have taken the only one meanwhile: then nobody is a bit too busy.
    idlest.get(at).copied().or(nodes.first()).copied()
}

/// A number that nobody can foresee.
pub(super) fn random() -> u64 {
    // A fresh state is seeded at random.
    RandomState::new().hash_one(())
}
