//! `elasticsearch` and `opensearch`: write events to those servers with bulk requests.
//!
//! The way of a batch: [`actions`] turns events into bulk lines, once; [`sender`] posts them ([`body`] cuts and packs,
//! [`cluster`] and [`pool`] know the servers) until every action has an answer; [`verdict`] sorts the
//! answers; [`delivery`] sends again what has to be, and makes dead letters of what can never be accepted. Before the
//! first batch, [`setup`] puts in place what the indexes need. The two plugins differ in their [`options`], and in
//! what [`flavor`] says.

mod action;
mod actions;
mod body;
mod cluster;
mod default_template;
mod delivery;
mod flavor;
mod json_text;
mod lifecycle;
mod options;
mod pairing;
mod pool;
mod reason;
mod reply;
mod sender;
mod setup;
mod sniffing;
mod startup;
mod stream;
mod target;
mod template;
mod update;
mod verdict;

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio_util::sync::DropGuard;
use tracing::Instrument;

use self::actions::Actions;
use self::cluster::Cluster;
use self::delivery::Work;
use self::options::Settings;
use self::pool::Pool;
use self::reply::Item;
use self::sender::Sender;
use super::misconfigured::Misconfigured;
use crate::event::Text;
use crate::plugins::elasticsearch::http::Http;
use crate::plugins::{
    Context, DeadLetters, Deliveries, GivenBack, Options, Output, OutputBatch, OutputPlugin, PluginError, Stop,
};

/// The plugin for Elasticsearch.
pub const PLUGIN: OutputPlugin = OutputPlugin {
    name: "elasticsearch",
    summary: "Writes events to Elasticsearch or OpenSearch.",
    build: elasticsearch,
};
/// The plugin for OpenSearch.
pub const OPENSEARCH: OutputPlugin = OutputPlugin {
    name: "opensearch",
    summary: "Writes events to OpenSearch, with the options of its plugin for Logstash.",
    build: opensearch,
};

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
    /// What was decided while the options were read.
    notes: Vec<String>,
    /// Names pipeline and plugin in every line of the log.
    span: tracing::Span,
    closed: Stop,
    /// Ends the watch over the servers when the output goes away.
    _guard: DropGuard,
}

fn elasticsearch(options: &mut Options<'_>) -> Box<dyn Output> {
    let settings = options::elasticsearch(options);
    build(options, settings, |option| option)
}

fn opensearch(options: &mut Options<'_>) -> Box<dyn Output> {
    let settings = options::opensearch(options);
    build(options, settings, options::opensearch_name)
}

/// `named` tells what the plugin calls an option of TLS.
fn build(
    options: &mut Options<'_>,
    settings: Option<Settings>,
    named: fn(&'static str) -> &'static str,
) -> Box<dyn Output> {
    let Some(settings) = settings else { return Box::new(Misconfigured) };
    let http = match Http::new(&settings.http) {
        Ok(http) => http,
        Err(bad) => {
            options.invalid(named(bad.option), bad.message);
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
                cluster: Arc::new(Cluster::new(http, pool, settings.care, context)),
                rules: settings.rules,
                flavor: settings.flavor,
                target_bytes: settings.target_bytes,
                compression: settings.compression,
                retry: settings.retry,
                metrics: context.metrics.clone(),
            },
            dead_letters: context.dead_letters.clone(),
            blocked: Mutex::default(),
            buffers: Mutex::default(),
            notes: settings.notes,
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

    fn has_failed(&self) -> bool {
        self.sender.cluster.has_failed()
    }

    async fn close(&self) {
        self.closed.cancel();
    }
}

impl Elasticsearch {
    async fn start(&self, stop: &Stop) -> Result<(), PluginError> {
        let cluster = &self.sender.cluster;
        let hosts = cluster.pool.hosts();
        let hosts: Vec<&str> = hosts.iter().map(|host| host.endpoint.label.as_str()).collect();
        tracing::info!(target: LOG, "New {} output, hosts: {}", self.sender.flavor.product(), hosts.join(", "));
        self.notes.iter().for_each(|note| tracing::info!(target: LOG, "{note}"));
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
