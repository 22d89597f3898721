//! Addresses at which the pipelines of a process send each other events: who listens, and who may still send.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::InputSink;

/// All addresses of a process.
#[derive(Default)]
pub struct Addresses {
    table: Mutex<HashMap<Arc<str>, Address>>,
    /// A listener or sender came or went.
    changed: Notify,
}

#[derive(Default)]
struct Address {
    /// The pipeline to which it belongs.
    owner: Option<Arc<str>>,
    /// Takes events, while that pipeline runs.
    sink: Option<InputSink>,
    /// Whether a pipeline that is about to start listens here soon.
    is_expected: bool,
    /// The pipelines that may send to it, once for each of their outputs.
    senders: Vec<Arc<str>>,
}

/// The right to listen on an address. It ends when this is dropped.
pub struct Binding {
    addresses: Arc<Addresses>,
    address: Arc<str>,
    owner: Arc<str>,
}

/// An output that may send to an address. It has gone when this is dropped.
pub struct Sender {
    addresses: Arc<Addresses>,
    /// Where it sends to.
    pub address: Arc<str>,
    pipeline: Arc<str>,
}

/// The address belongs to another input.
#[derive(Debug, thiserror::Error)]
#[error(
    "the address `{address}` is already bound by the pipeline `{owner}`: addresses must be unique across pipelines"
)]
pub struct AlreadyBound {
    address: Arc<str>,
    owner: Arc<str>,
}

impl Addresses {
    /// Reserves an address for an input of `pipeline`.
    pub fn bind(self: &Arc<Self>, address: &str, pipeline: &Arc<str>) -> Result<Binding, AlreadyBound> {
        let address: Arc<str> = Arc::from(address);
        let mut table = self.table.lock();
        let entry = table.entry(address.clone()).or_default();
        if let Some(owner) = &entry.owner {
            return Err(AlreadyBound { address, owner: owner.clone() });
        }
        entry.owner = Some(pipeline.clone());
        Ok(Binding { addresses: self.clone(), address, owner: pipeline.clone() })
    }

    /// A pipeline that is about to start listens there, and senders wait for it who would not wait for one that is not
    /// there.
    pub fn expect(&self, address: &str) {
        self.table.lock().entry(Arc::from(address)).or_default().is_expected = true;
    }

    /// It did not start.
    pub fn give_up(&self, address: &str) {
        if let Some(entry) = self.table.lock().get_mut(address) {
            entry.is_expected = false;
        }
        self.changed.notify_waiters();
    }

    /// Announces an output of `pipeline` that sends to an address, whether somebody listens there or not.
    pub fn attach(self: &Arc<Self>, address: &str, pipeline: &Arc<str>) -> Sender {
        let address: Arc<str> = Arc::from(address);
        self.table.lock().entry(address.clone()).or_default().senders.push(pipeline.clone());
        Sender { addresses: self.clone(), address, pipeline: pipeline.clone() }
    }

    /// Whether the pipeline `from` leads to the pipeline `to`, over any number of addresses.
    fn leads(table: &HashMap<Arc<str>, Address>, from: &Arc<str>, to: &Arc<str>) -> bool {
        let (mut seen, mut next) = (vec![from.clone()], vec![from.clone()]);
        while let Some(pipeline) = next.pop() {
            let receivers = table.values().filter(|address| address.senders.contains(&pipeline));
            for owner in receivers.filter_map(|address| address.owner.as_ref()) {
                if owner == to {
                    return true;
                }
                if !seen.contains(owner) {
                    seen.push(owner.clone());
                    next.push(owner.clone());
                }
            }
        }
        false
    }

    /// Waits until something changes, at most so long.
    async fn change(&self, most: Duration) {
        // When it takes longer the caller looks again all the same.
        let _ = timeout(most, self.changed.notified()).await;
    }
}

impl Binding {
    /// From now on events that are sent to the address go into `sink`.
    pub fn listen(&self, sink: InputSink) {
        self.with(|entry| (entry.sink, entry.is_expected) = (Some(sink), false));
    }

    /// From now on nobody listens there.
    pub fn unlisten(&self) {
        self.with(|entry| entry.sink = None);
    }

    /// Whether a sender is left that ends before this pipeline does. Of a circle nobody is the first.
    pub fn is_awaited(&self) -> bool {
        let table = self.addresses.table.lock();
        let senders = table.get(&self.address).map(|entry| entry.senders.as_slice()).unwrap_or_default();
        senders.iter().any(|sender| *sender != self.owner && !Addresses::leads(&table, &self.owner, sender))
    }

    /// Waits until senders or listeners come or go, at most so long.
    pub async fn change(&self, most: Duration) {
        self.addresses.change(most).await;
    }

    fn with(&self, change: impl FnOnce(&mut Address)) {
        if let Some(entry) = self.addresses.table.lock().get_mut(&self.address) {
            change(entry);
        }
        self.addresses.changed.notify_waiters();
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        self.with(|entry| (entry.owner, entry.sink) = (None, None));
    }
}

impl Sender {
    /// Takes events for the address, if somebody listens there.
    pub fn listener(&self) -> Option<InputSink> {
        let sink = self.addresses.table.lock().get(&self.address)?.sink.clone()?;
        (!sink.is_closed()).then_some(sink)
    }

    /// Whether somebody listens there soon.
    pub fn is_expected(&self) -> bool {
        self.addresses.table.lock().get(&self.address).is_some_and(|entry| entry.is_expected)
    }

    /// Waits until listeners come or go, at most so long.
    pub async fn change(&self, most: Duration) {
        self.addresses.change(most).await;
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        {
            let mut table = self.addresses.table.lock();
            let senders = table.get_mut(&self.address).map(|entry| &mut entry.senders);
            if let Some(senders) = senders
                && let Some(at) = senders.iter().position(|sender| *sender == self.pipeline)
            {
                senders.swap_remove(at);
            }
        }
        self.addresses.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: [&str; 3]) -> [Arc<str>; 3] {
        names.map(Arc::from)
    }

    #[test]
    fn an_address_has_one_listener_until_it_goes() {
        let (addresses, [a, b, _]) = (Arc::new(Addresses::default()), ids(["a", "b", "c"]));
        let bound = addresses.bind("x", &a).unwrap();
        assert!(
            addresses.bind("x", &b).is_err_and(|error| error.to_string().contains("already bound by the pipeline `a`"))
        );
        drop(bound);
        assert!(addresses.bind("x", &b).is_ok());
    }

    #[test]
    fn senders_are_waited_for_but_in_a_circle() {
        let (addresses, [a, b, c]) = (Arc::new(Addresses::default()), ids(["a", "b", "c"]));
        let (to_a, to_b) = (addresses.bind("a", &a).unwrap(), addresses.bind("b", &b).unwrap());
        assert!(!to_a.is_awaited());
        let (from_c, from_a) = (addresses.attach("a", &c), addresses.attach("b", &a));
        assert!(to_a.is_awaited() && to_b.is_awaited());
        let _from_b = addresses.attach("a", &b);
        assert!(to_a.is_awaited() && !to_b.is_awaited());
        drop(from_c);
        assert!(!to_a.is_awaited());
        drop(from_a);
        assert!(to_a.is_awaited() && !to_b.is_awaited());
        assert!(from_b_is_deaf(&addresses));
    }

    fn from_b_is_deaf(addresses: &Arc<Addresses>) -> bool {
        addresses.attach("nobody", &Arc::from("b")).listener().is_none()
    }
}
