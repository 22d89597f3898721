//! `elasticsearch`: writes events to Elasticsearch or OpenSearch with bulk requests.
//!
//! The way of a batch: [`action`] turns events into bulk lines, once; [`sender`] posts them ([`body`] cuts and packs,
//! [`cluster`], [`pool`] and [`http`] know the servers) until every action has an answer; [`verdict`] sorts the
//! answers; [`delivery`] sends again what has to be, and makes dead letters of what can never be accepted.

mod action;
mod body;
mod cluster;
mod credentials;
mod delivery;
mod endpoint;
mod hosts;
mod http;
mod options;
mod pairing;
mod pool;
mod reason;
mod reply;
mod sender;
mod startup;
mod unsupported;
mod verdict;

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio_util::sync::DropGuard;
use tracing::Instrument;

use self::action::Actions;
use self::cluster::Cluster;
use self::delivery::Work;
use self::http::Http;
use self::options::Settings;
use self::pool::Pool;
use self::reply::Item;
use self::sender::Sender;
use super::misconfigured::Misconfigured;
use crate::event::Text;
use crate::plugins::{
    Context, DeadLetters, Deliveries, GivenBack, Options, Output, OutputBatch, OutputPlugin, PluginError, Stop,
};

/// The plugin.
pub const PLUGIN: OutputPlugin =
    OutputPlugin { name: "elasticsearch", summary: "Writes events to Elasticsearch or OpenSearch.", build };

/// Name of the logger.
const LOG: &str = "logstash.outputs.elasticsearch";
/// A buffer that grew beyond this is not kept for the next batch.
const KEPT_BUFFER_BYTES: usize = 32 * 1024 * 1024;
/// Indexes whose block is logged, at most.
const BLOCKED_LIMIT: usize = 1000;

struct Elasticsearch {
    actions: Actions,
    sender: Sender,
    dead_letters: DeadLetters,
    /// Indexes whose block was logged.
    blocked: Mutex<HashSet<Text>>,
    /// Buffers of batches that are done, one for each worker at most.
    buffers: Mutex<Vec<Vec<u8>>>,
    /// Names pipeline and plugin in every line of the log.
    span: tracing::Span,
    closed: Stop,
    /// Ends the watch over the servers when the output goes away.
    _guard: DropGuard,
}

fn build(options: &mut Options<'_>) -> Box<dyn Output> {
    let Some(settings) = options::read(options) else { return Box::new(Misconfigured) };
    let http = match Http::new(&settings.http) {
        Ok(http) => http,
        Err(bad) => {
            options.invalid(bad.option, bad.message);
            return Box::new(Misconfigured);
        }
    };
    Box::new(Elasticsearch::new(settings, http, options.context()))
}

impl Elasticsearch {
    fn new(settings: Settings, http: Http, context: &Context) -> Self {
        let pool = Pool::new(settings.endpoints, settings.http.connections_per_host);
        let closed = Stop::new();
        Self {
            actions: settings.actions,
            sender: Sender {
                cluster: Arc::new(Cluster::new(http, pool, settings.resurrect_delay)),
                rules: settings.rules,
                compression: settings.compression,
                retry: settings.retry,
                metrics: context.metrics.clone(),
            },
            dead_letters: context.dead_letters.clone(),
            blocked: Mutex::default(),
            buffers: Mutex::default(),
            span: context.log_span(),
            _guard: closed.clone().drop_guard(),
            closed,
        }
    }
}

#[async_trait]
impl Output for Elasticsearch {
    async fn register(&self, stop: &Stop) -> Result<(), PluginError> {
        self.start(stop).instrument(self.span.clone()).await
    }

    async fn write(&self, batch: &OutputBatch<'_>, stop: &Stop) -> Result<Deliveries, GivenBack> {
        self.deliver(batch, stop).instrument(self.span.clone()).await
    }

    async fn close(&self) {
        self.closed.cancel();
    }
}

impl Elasticsearch {
    async fn start(&self, stop: &Stop) -> Result<(), PluginError> {
        let cluster = &self.sender.cluster;
        let hosts: Vec<&str> = cluster.pool.hosts().iter().map(|host| host.endpoint.label.as_str()).collect();
        tracing::info!(target: LOG, "New Elasticsearch output, hosts: {}", hosts.join(", "));
        tokio::select! {
            looked = cluster.first_look() => looked?,
            () = stop.cancelled() => return Ok(()),
        }
        tokio::spawn(cluster.clone().keep_watch(self.closed.clone()).instrument(self.span.clone()));
        Ok(())
    }

    async fn deliver(&self, batch: &OutputBatch<'_>, stop: &Stop) -> Result<Deliveries, GivenBack> {
        self.sender.cluster.ready(stop).await?;
        let mut work = Work::new(self, batch);
        let delivered = work.run(stop).await;
        if delivered.is_err() {
            work.bury();
        }
        let Work { bytes, dead, .. } = work;
        if bytes.capacity() <= KEPT_BUFFER_BYTES {
            self.buffers.lock().push(bytes);
        }
        delivered?;
        Ok(Deliveries::all_but_dead(batch.events.len(), dead))
    }

    /// Says once for each index that it refuses everything: the retries go on until somebody lifts that.
    fn log_blocked(&self, index: Text, item: &Item) {
        let mut blocked = self.blocked.lock();
        if blocked.len() < BLOCKED_LIMIT && blocked.insert(index.clone()) {
            let error = item.body.get("error").map(reason::inspected).unwrap_or_default();
            tracing::warn!(target: LOG, error = %error,
                "The index `{index}` refuses events with status 403; they are sent again until it takes them. Lift \
                 its block, or add 403 to `dlq_custom_codes`");
        }
    }
}
