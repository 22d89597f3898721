//! The servers of one output as a whole: the checks before the start, what is put in place before the first document,
//! and the watch over dead and new servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::super::waits::Waits;
use super::LOG;
use super::pool::Pool;
use super::setup::{Session, Setup, Trouble};
use super::sniffing::Sniffing;
use super::startup::{self, Expected, When};
use crate::metrics::PluginMetrics;
use crate::plugins::elasticsearch::http::Http;
use crate::plugins::{Context, GivenBack, PluginError, Stop};

/// All servers and the way to talk to them.
pub(super) struct Cluster {
    /// Talks.
    pub http: Http,
    /// Who is there.
    pub pool: Pool,
    expected: Expected,
    setup: Setup,
    sniffing: Option<Sniffing>,
    resurrect_delay: Duration,
    retry: (Duration, Duration),
    ready: watch::Sender<bool>,
    pipeline: Arc<str>,
    /// Ends the pipeline when a server refuses what has to be put in place.
    stop: Stop,
    has_failed: AtomicBool,
    metrics: Arc<PluginMetrics>,
}

/// How a cluster is looked after.
pub(super) struct Care {
    /// Whom the output speaks to.
    pub expected: Expected,
    /// What is put in place first.
    pub setup: Setup,
    /// How more servers are found.
    pub sniffing: Option<Sniffing>,
    /// Time between two looks at dead servers.
    pub resurrect_delay: Duration,
    /// First and longest wait before what is put in place is tried again.
    pub retry: (Duration, Duration),
}

/// How far the preparations are.
enum Prepared {
    Ready,
    /// No server is alive.
    Nobody,
    Again,
    Failed,
}

impl Cluster {
    /// Nothing is contacted yet.
    pub fn new(http: Http, pool: Pool, care: Care, context: &Context) -> Self {
        let Care { expected, setup, sniffing, resurrect_delay, retry } = care;
        Self {
            http,
            pool,
            expected,
            setup,
            sniffing,
            resurrect_delay,
            retry,
            ready: watch::Sender::new(false),
            pipeline: context.pipeline_id.clone(),
            stop: context.stop.clone(),
            has_failed: AtomicBool::new(false),
            metrics: context.metrics.clone(),
        }
    }

    /// Asks every server in turn. Servers that cannot be reached do not keep the pipeline from starting; servers that
    /// refuse us do.
    pub async fn first_look(&self) -> Result<(), PluginError> {
        for host in self.pool.hosts().iter() {
            startup::check(self.expected, &self.http, &self.pool, host, When::Start).await?;
        }
        Ok(())
    }

    /// Gets ready for the first batch, and looks after the servers until `closed`.
    pub async fn keep_watch(self: Arc<Self>, closed: Stop) {
        tokio::select! {
            () = closed.cancelled() => {}
            () = async { tokio::join!(self.watch(), self.sniff()); } => {}
        }
    }

    async fn watch(&self) {
        let mut waits = Waits::new(self.retry);
        loop {
            let pause = match self.prepare().await {
                Prepared::Ready | Prepared::Nobody => self.resurrect_delay,
                Prepared::Again => waits.next(),
                Prepared::Failed => return,
            };
            tokio::time::sleep(pause).await;
            for host in self.pool.hosts().iter().filter(|host| !host.is_alive()) {
                // A refusal only counts before the start; it has been logged.
                let _ = startup::check(self.expected, &self.http, &self.pool, host, When::Later).await;
                if host.is_alive() && !self.is_ready() {
                    break;
                }
            }
        }
    }

    /// Looks at once at servers whose time to be looked at has come; for a sender that finds none alive, so that it
    /// does not depend on which of two timers is first.
    pub async fn look_again(&self) {
        for host in self.pool.hosts().iter().filter(|host| host.is_dead_for(self.resurrect_delay)) {
            // A refusal only counts before the start; it has been logged.
            let _ = startup::check(self.expected, &self.http, &self.pool, host, When::Later).await;
        }
    }

    async fn sniff(&self) {
        let Some(sniffing) = &self.sniffing else { return };
        loop {
            tokio::time::sleep(sniffing.delay).await;
            self.metrics.counter("sniff_requests").add(1);
            let Some(host) = self.pool.lend() else {
                tracing::warn!(target: LOG, "Sniffing is put off: no server is alive. The known servers are kept");
                continue;
            };
            match sniffing.ask(&self.http, &host).await {
                Ok(found) if found.is_empty() => {
                    tracing::warn!(target: LOG, "Sniffing returned no nodes. The known servers are kept");
                }
                Ok(found) => {
                    for new in self.pool.replace(found) {
                        if let Err(error) =
                            startup::check(self.expected, &self.http, &self.pool, &new, When::Start).await
                        {
                            tracing::error!(target: LOG, "A server that was found is not used: {error}");
                        }
                    }
                }
                Err(why) => {
                    tracing::warn!(target: LOG, url = host.endpoint.label.as_str(),
                        "Sniffing failed, the known servers are kept: {why}");
                }
            }
        }
    }

    /// Whether a server refused what has to be put in place.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }

    /// Puts in place what has to be there before the first document, as soon as one server is alive.
    async fn prepare(&self) -> Prepared {
        if self.is_ready() {
            return Prepared::Ready;
        }
        let (Some(host), Some(server)) = (self.pool.lend(), self.pool.newest()) else { return Prepared::Nobody };
        let session = Session { http: &self.http, pool: &self.pool, host: &host };
        match self.setup.run(&session, server).await {
            Ok(()) => {
                self.ready.send_replace(true);
                Prepared::Ready
            }
            Err(Trouble::Again(why)) => {
                tracing::warn!(target: LOG, url = host.endpoint.label.as_str(),
                    "The server cannot be prepared for documents yet, it is tried again: {why}");
                Prepared::Again
            }
            Err(Trouble::Refused(why) | Trouble::Wrong(why)) => {
                tracing::error!(target: LOG, "Failed to bootstrap. Pipeline \"{}\" is going to shut down: {why}", self.pipeline);
                self.has_failed.store(true, Ordering::Release);
                self.stop.cancel();
                Prepared::Failed
            }
        }
    }

    /// Waits until documents can be sent.
    pub async fn ready(&self, stop: &Stop) -> Result<(), GivenBack> {
        if self.is_ready() {
            return Ok(());
        }
        let mut ready = self.ready.subscribe();
        tokio::select! {
            seen = ready.wait_for(|ready| *ready) => seen.map(|_| ()).map_err(|_| GivenBack),
            () = stop.cancelled() => Err(GivenBack),
        }
    }
}
