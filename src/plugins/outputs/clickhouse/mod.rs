//! `clickhouse`: writes events as rows into ClickHouse, over HTTP, to the nodes' own tables.
//!
//! The way of an event: [`row`] and [`table`] make a row of it, which waits in the buffer of its table ([`buffers`],
//! [`queue`]) until there are enough bytes or it is old enough. [`delivery`] sends batches, several at a time, to nodes
//! that [`nodes`] chooses and [`watch`] looks after; [`reply`] and [`verdict`] read the answers, [`isolation`] finds bad
//! rows, [`refusals`] gives them up one by one.
//!
//! The call that brings a batch ends when its rows are buffered, so that workers do not stand still for the sake of
//! large inserts. Until the last row has an answer the rows hold a share in the batch's lease, so that its source
//! hears of it only then.

mod batch;
mod buffers;
mod client;
mod counters;
mod delivery;
mod isolation;
mod node;
mod nodes;
mod options;
mod pack;
mod queue;
mod refusals;
mod reply;
mod request;
mod rest;
mod row;
mod sink;
mod table;
mod verdict;
mod watch;

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::DropGuard;
use tracing::Instrument;

use self::client::Connector;
use self::options::{Delivery, Settings};
use self::sink::Sink;
use self::watch::Watch;
use super::misconfigured::Misconfigured;
use crate::plugins::{Deliveries, GivenBack, Options, Output, OutputBatch, OutputPlugin, PluginError, Stop};

/// The plugin.
pub const PLUGIN: OutputPlugin =
    OutputPlugin { name: "clickhouse", summary: "Writes events as rows to ClickHouse.", build };

/// Name of the logger.
const LOG: &str = "logstash.outputs.clickhouse";

struct ClickHouse {
    sink: Arc<Sink>,
    watch: Watch,
    writers: usize,
    /// Names pipeline and plugin in every line of the log.
    span: tracing::Span,
    closed: Stop,
    /// Ends clock and watch when the output goes away.
    _guard: DropGuard,
}

fn build(options: &mut Options<'_>) -> Box<dyn Output> {
    let Some(settings) = Settings::read(options) else { return Box::new(Misconfigured) };
    let connector = match Connector::new(settings.connections.clone()) {
        Ok(connector) => connector,
        Err(bad) => {
            options.invalid(bad.option, bad.message);
            return Box::new(Misconfigured);
        }
    };
    let context = options.context();
    let (sink, watch, writers) = Sink::new(settings, connector, context);
    let closed = Stop::new();
    Box::new(ClickHouse {
        sink: Arc::new(sink),
        watch,
        writers,
        span: context.log_span(),
        _guard: closed.clone().drop_guard(),
        closed,
    })
}

#[async_trait]
impl Output for ClickHouse {
    async fn register(&self, stop: &Stop) -> Result<(), PluginError> {
        tokio::select! {
            started = self.watch.start(&self.sink).instrument(self.span.clone()) => started?,
            () = stop.cancelled() => {}
        }
        for _ in 0..self.writers {
            self.spawn(|sink, closed| async move {
                tokio::select! {
                    () = sink.write_jobs() => {}
                    () = closed.cancelled() => {}
                }
            });
        }
        self.spawn(|sink, closed| async move { sink.queue.watch_the_clock(&closed).await });
        let stop = stop.clone();
        self.spawn(|sink, closed| async move {
            tokio::select! {
                () = sink.queue.watch_for_stop(&stop) => {}
                () = closed.cancelled() => {}
            }
        });
        let watch = self.watch.clone();
        self.spawn(|sink, closed| async move { watch.run(&sink, &closed).await });
        Ok(())
    }

    async fn write(&self, batch: &OutputBatch<'_>, stop: &Stop) -> Result<Deliveries, GivenBack> {
        let mut dead = Vec::new();
        let groups = self.sink.groups(batch.events, &mut dead);
        let lease = (self.sink.settings.delivery == Delivery::AtLeastOnce).then_some(batch.lease);
        for group in groups {
            self.sink.queue.put(group, lease, &self.sink.counters, stop).await?;
        }
        let counters = &self.sink.counters;
        let given_up = if self.sink.dead_letters.is_enabled() { &counters.dead } else { &counters.dropped };
        given_up.add(dead.len() as u64);
        Ok(Deliveries::all_but_dead(batch.events.len(), dead))
    }

    async fn close(&self) {
        let lost = self.sink.queue.close().await;
        self.closed.cancel();
        if lost > 0 {
            self.span.in_scope(|| {
                tracing::error!(target: LOG, rows = lost,
                    "{lost} rows were not stored before the end and are not acknowledged; sources that can replay send \
                     them again, others have lost them");
            });
        }
    }
}

impl ClickHouse {
    fn spawn<F>(&self, work: impl FnOnce(Arc<Sink>, Stop) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        tokio::spawn(work(self.sink.clone(), self.closed.clone()).instrument(self.span.clone()));
    }
}
