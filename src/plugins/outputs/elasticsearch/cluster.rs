//! The servers of one output as a whole: the checks before the start, and the watch over dead servers.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::LOG;
use super::http::Http;
use super::pool::Pool;
use super::startup::{self, When};
use crate::plugins::{GivenBack, PluginError, Stop};

/// All servers and the way to talk to them.
pub(super) struct Cluster {
    /// Talks.
    pub http: Http,
    /// Who is there.
    pub pool: Pool,
    resurrect_delay: Duration,
    ready: watch::Sender<bool>,
}

impl Cluster {
    /// Nothing is contacted yet.
    pub fn new(http: Http, pool: Pool, resurrect_delay: Duration) -> Self {
        Self { http, pool, resurrect_delay, ready: watch::Sender::new(false) }
    }

    /// Asks every server in turn. Servers that cannot be reached do not keep the pipeline from starting; servers that
    /// refuse us do.
    pub async fn first_look(&self) -> Result<(), PluginError> {
        for host in self.pool.hosts() {
            startup::check(&self.http, &self.pool, host, When::Start).await?;
        }
        Ok(())
    }

    /// Gets ready for the first batch, and looks after dead servers until `closed`.
    pub async fn keep_watch(self: Arc<Self>, closed: Stop) {
        tokio::select! {
            () = closed.cancelled() => {}
            () = self.watch() => {}
        }
    }

    async fn watch(&self) {
        self.prepare().await;
        loop {
            tokio::time::sleep(self.resurrect_delay).await;
            for host in self.pool.hosts().iter().filter(|host| !host.is_alive()) {
                // A refusal only counts before the start; it has been logged.
                let _ = startup::check(&self.http, &self.pool, host, When::Later).await;
                self.prepare().await;
            }
        }
    }

    /// Looks at once at servers whose time to be looked at has come; for a sender that finds none alive, so that it
    /// does not depend on which of two timers is first.
    pub async fn look_again(&self) {
        for host in self.pool.hosts().iter().filter(|host| host.is_dead_for(self.resurrect_delay)) {
            // A refusal only counts before the start; it has been logged.
            let _ = startup::check(&self.http, &self.pool, host, When::Later).await;
        }
    }

    /// What has to be known before the first document is sent, as soon as one server is alive.
    async fn prepare(&self) {
        if *self.ready.borrow() {
            return;
        }
        let Some(host) = self.pool.lend() else { return };
        let uuid = startup::cluster_uuid(&self.http, &host).await;
        tracing::debug!(target: LOG, cluster_uuid = uuid.unwrap_or_default(), "Ready for documents");
        self.ready.send_replace(true);
    }

    /// Waits until documents can be sent.
    pub async fn ready(&self, stop: &Stop) -> Result<(), GivenBack> {
        if *self.ready.borrow() {
            return Ok(());
        }
        let mut ready = self.ready.subscribe();
        tokio::select! {
            seen = ready.wait_for(|ready| *ready) => seen.map(|_| ()).map_err(|_| GivenBack),
            () = stop.cancelled() => Err(GivenBack),
        }
    }
}
