//! `kafka`: events as records of topics.
//!
//! A batch is encoded ([`encode`]), sent, and waited for. What may go better later is sent again while the batch waits;
//! what brokers refuse for good becomes a dead letter, one record at a time ([`delivery`]). With a `transactional_id`
//! the records enter the transaction of the pipeline instead (`plugins::kafka::transaction`).

mod delivery;
mod encode;
mod options;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;

use self::delivery::Sender;
use self::options::{Partitioning, Settings};
use super::misconfigured::Misconfigured;
use crate::plugins::kafka::failure::Failure;
use crate::plugins::kafka::producer::{Producer, Spread};
use crate::plugins::kafka::record::Record;
use crate::plugins::kafka::transaction::{Session, Transactions};
use crate::plugins::{
    Context, Deliveries, GivenBack, Lease, Options, Output, OutputBatch, OutputPlugin, PluginError, Stop,
};

/// The plugin.
pub const PLUGIN: OutputPlugin = OutputPlugin { name: "kafka", summary: "Writes events to topics of Kafka.", build };

/// Name of the logger.
const LOG: &str = "logstash.outputs.kafka";

struct Kafka {
    settings: Settings,
    context: Context,
    way: OnceLock<Way>,
}

/// How records get to the brokers.
enum Way {
    Alone(Sender),
    InTransaction(Arc<Session>),
}

fn build(options: &mut Options<'_>) -> Box<dyn Output> {
    let Some(settings) = Settings::read(options) else { return Box::new(Misconfigured) };
    let context = options.context().clone();
    if let Some(transaction) = &settings.transaction {
        let joined =
            context.commons.get::<Transactions>().join(&transaction.id, &settings.client, transaction.interval);
        if let Err(why) = joined {
            options.invalid("transactional_id", why);
        }
    }
    Box::new(Kafka { settings, context, way: OnceLock::new() })
}

#[async_trait]
impl Output for Kafka {
    async fn register(&self, stop: &Stop) -> Result<(), PluginError> {
        let way = if self.settings.transaction.is_some() {
            Way::InTransaction(self.context.commons.get::<Transactions>().open(&self.context, stop).await?)
        } else {
            let (client, partitioning) = (self.settings.client.clone(), self.settings.partitioning);
            let span = self.context.log_span();
            let make = move || {
                let spread = match partitioning {
                    Partitioning::ByKey => None,
                    Partitioning::RoundRobin => Some(Spread::round_robin()),
                    Partitioning::Sticky => Some(Spread::in_runs()),
                };
                Producer::new(&client, spread, span.clone()).map_err(PluginError::new)
            };
            Way::Alone(Sender::new(make, self.settings.retries, self.settings.retry_backoff)?)
        };
        // An output is registered once.
        let _ = self.way.set(way);
        Ok(())
    }

    async fn write(&self, batch: &OutputBatch<'_>, stop: &Stop) -> Result<Deliveries, GivenBack> {
        let Some(way) = self.way.get() else { return Err(GivenBack) };
        let mut dead = Vec::new();
        let mut places = Vec::with_capacity(batch.events.len());
        let mut records = Vec::with_capacity(batch.events.len());
        for (at, event) in batch.events.iter().enumerate() {
            match self.settings.form.record(event) {
                Ok(record) => {
                    places.push(at);
                    records.push(record);
                }
                Err(why) => {
                    tracing::warn!(target: LOG, "an event cannot be sent: {why}");
                    dead.push((at, format!("kafka: {why}")));
                }
            }
        }
        for (at, failure) in self.send(way, records, batch.lease, stop).await? {
            tracing::warn!(target: LOG, "a record was refused: {}", failure.message);
            dead.extend(places.get(at).map(|at| (*at, format!("kafka: {}", failure.message))));
        }
        Ok(Deliveries::all_but_dead(batch.events.len(), dead))
    }
}

impl Kafka {
    async fn send(
        &self,
        way: &Way,
        records: Vec<Record>,
        lease: &Lease,
        stop: &Stop,
    ) -> Result<Vec<(usize, Failure)>, GivenBack> {
        // A topic that is always the same will be made by somebody.
        let waits_for_topics = self.settings.form.has_one_topic();
        match way {
            Way::Alone(sender) => sender.send(&records, waits_for_topics, stop).await,
            Way::InTransaction(session) => session.write(records, lease, waits_for_topics, stop).await,
        }
    }
}
