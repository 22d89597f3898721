//! The name of a peer by reverse look-up: beside the work, at most a second, and remembered.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::event::Text;

/// How long a name is remembered, and how long that there is none.
const REMEMBERED: (Duration, Duration) = (Duration::from_secs(600), Duration::from_secs(60));
/// Longest wait for a name.
const PATIENCE: Duration = Duration::from_secs(1);
/// Look-ups at a time; one that hangs holds a thread of its own.
const AT_A_TIME: usize = 16;
/// Most addresses remembered.
const LARGEST: usize = 10_000;

/// Looks names up for an input.
pub(in crate::plugins::inputs) struct Names {
    wanted: bool,
    known: Mutex<HashMap<IpAddr, (Instant, Text)>>,
    permits: Arc<Semaphore>,
}

impl Names {
    /// When names are not `wanted` an address is its own name.
    pub fn new(wanted: bool) -> Self {
        Self { wanted, known: Mutex::default(), permits: Arc::new(Semaphore::new(AT_A_TIME)) }
    }

    /// The name of an address, or the address.
    pub async fn of(&self, address: IpAddr) -> Text {
        let itself = Text::from(address.to_string());
        if !self.wanted {
            return itself;
        }
        if let Some((until, name)) = self.known.lock().get(&address)
            && *until > Instant::now()
        {
            return name.clone();
        }
        let found = timeout(PATIENCE, self.look_up(address)).await.ok().flatten();
        let remembered = if found.is_some() { REMEMBERED.0 } else { REMEMBERED.1 };
        let name = found.map_or(itself, Text::from);
        let now = Instant::now();
        let mut known = self.known.lock();
        if known.len() >= LARGEST {
            known.retain(|_, (until, _)| *until > now);
        }
        if known.len() < LARGEST {
            known.insert(address, (now + remembered, name.clone()));
        }
        name
    }

    async fn look_up(&self, address: IpAddr) -> Option<String> {
        let permit = self.permits.clone().acquire_owned().await.ok()?;
        let looked_up = tokio::task::spawn_blocking(move || {
            let _held_to_the_end = permit;
            dns_lookup::lookup_addr(&address).ok()
        });
        looked_up.await.ok().flatten()
    }
}
