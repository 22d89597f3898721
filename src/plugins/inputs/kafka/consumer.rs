//! One member of the group: asks for records, hands them over, commits what is dealt with.
//!
//! The thread waits for the pipeline only for a moment. Then it pauses its partitions and goes on asking, so that the
//! group sees it alive and can rebalance.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::LOG;
use super::conclusion::Conclusion;
use super::options::{Commit, Settings};
use super::partition::Partition;
use super::record::{Decoded, Reading, Record};
use super::watch::Watch;
use crate::plugins::kafka::transaction::Outcome;
use crate::plugins::{Context, InputSink, Lease, PluginError, Stop};
use crate::queue::Closed;

/// How long the pipeline is waited for before the partitions are paused.
const PATIENCE: Duration = Duration::from_millis(250);
/// How often the group is asked while they are.
const LOOK: Duration = Duration::from_millis(100);
/// Records of more than this are not gathered for one push.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// A consumer and its thread's state.
pub(super) struct Consumer {
    settings: Arc<Settings>,
    client: BaseConsumer<Watch>,
    reading: Reading,
    sink: InputSink,
    stop: Stop,
    finish: Stop,
    runtime: tokio::runtime::Handle,
    /// Read and not pushed yet.
    gathered: Vec<Record>,
    /// The partition of the last record: most often that of the next one.
    last: Option<Arc<Partition>>,
    committed_at: Instant,
}

impl Consumer {
    /// Connects by itself, later.
    pub fn new(
        settings: &Arc<Settings>,
        number: usize,
        conclusion: Option<Arc<Conclusion>>,
        context: &Context,
        sink: InputSink,
        stop: Stop,
        finish: Stop,
    ) -> Result<Self, PluginError> {
        let mut config = settings.client.clone();
        config.set("client.id", format!("{}-{number}", settings.client_id));
        if let Some(id) = &settings.instance_id {
            config.set("group.instance.id", if settings.threads > 1 { format!("{id}-{number}") } else { id.clone() });
        }
        config.set("statistics.interval.ms", "5000");
        let watch = Watch::new(conclusion, context.metrics.clone());
        Ok(Self {
            client: config.create_with_context(watch).map_err(PluginError::new)?,
            reading: Reading::new(settings.decoders.create()),
            settings: settings.clone(),
            sink,
            stop,
            finish,
            runtime: tokio::runtime::Handle::current(),
            gathered: Vec::new(),
            last: None,
            committed_at: Instant::now(),
        })
    }

    fn watch(&self) -> &Watch {
        self.client.context()
    }

    /// Reads until the stop, then calls `quiet` and keeps its partitions until the finish.
    pub fn run(mut self, quiet: impl FnOnce()) -> Result<(), PluginError> {
        let topics: Vec<&str> = self.settings.subscription.iter().map(String::as_str).collect();
        self.client.subscribe(&topics).map_err(PluginError::new)?;
        tracing::info!(target: LOG, group_id = %self.settings.group_id, "Subscribed to {}", topics.join(", "));
        while !self.stop.is_cancelled() && !self.finish.is_cancelled() {
            self.gather()?;
            if !self.gathered.is_empty() && !self.hand_over()? {
                break;
            }
            self.commit_when_due()?;
        }
        quiet();
        self.pause();
        while !self.finish.is_cancelled() {
            self.serve()?;
            self.gathered.clear();
            self.commit_when_due()?;
            // A conclusion waits by itself; without one there is nothing but this.
            std::thread::sleep(LOOK);
        }
        self.watch().is_ending.store(true, Ordering::Release);
        match &self.watch().conclusion {
            Some(conclusion) => drop(conclusion.commit(self.client.group_metadata())),
            None => self.watch().commit_all(&self.client, &self.watch().assignment.all()),
        }
        Ok(())
    }

    /// Takes what can be had without waiting, after the first record.
    fn gather(&mut self) -> Result<(), PluginError> {
        let mut bytes = 0;
        let mut wait = self.settings.poll_timeout;
        while self.gathered.len() < self.settings.chunk && bytes < MOST_BYTES {
            let Some(polled) = self.client.poll(wait) else { break };
            wait = Duration::ZERO;
            match polled {
                Ok(message) => {
                    if let Some(record) = record(&message, &self.client, &mut self.last, &self.settings) {
                        bytes += record.size();
                        self.gathered.push(record);
                    }
                }
                Err(error) => look_at(&error)?,
            }
        }
        Ok(())
    }

    /// Asks without taking anything; a record that comes all the same is kept for later.
    fn serve(&mut self) -> Result<(), PluginError> {
        match self.client.poll(Duration::ZERO) {
            None => Ok(()),
            Some(Err(error)) => look_at(&error),
            Some(Ok(message)) => {
                self.gathered.extend(record(&message, &self.client, &mut self.last, &self.settings));
                Ok(())
            }
        }
    }

    /// Pushes what was gathered. `false` when the pipeline takes nothing more.
    fn hand_over(&mut self) -> Result<bool, PluginError> {
        let mut records = std::mem::take(&mut self.gathered);
        // Their new owner reads them, too.
        records.retain(|record| !record.partition.is_gone());
        let mut pushes = Vec::new();
        for (lane, records) in by_lane(records, self.sink.lanes()) {
            let Decoded { events, positions } = self.reading.decode(records, &self.sink);
            let lend = |(partition, next): (Arc<Partition>, i64)| partition.progress.lend(next);
            let lease = match &self.watch().conclusion {
                Some(conclusion) => conclusion.lend(positions),
                None => Lease::joined(positions.into_iter().map(lend).collect()),
            };
            pushes.push((lane, events, lease));
        }
        let (sink, commit) = (self.sink.clone(), self.settings.commit);
        let push = self.runtime.spawn(async move {
            for (lane, events, lease) in pushes {
                let (with, after) = if commit == Commit::Auto { (None, Some(lease)) } else { (Some(lease), None) };
                match lane {
                    Some(lane) => sink.push_to(lane, events, with).await?,
                    None => sink.push_decorated(events, with).await?,
                }
                after.into_iter().for_each(Lease::settle);
            }
            Ok(())
        });
        self.wait_for(push)
    }

    fn wait_for(&mut self, mut push: JoinHandle<Result<(), Closed>>) -> Result<bool, PluginError> {
        let mut patience = PATIENCE;
        let is_taken = loop {
            // The timer belongs to the runtime.
            let pushed = self.runtime.block_on(async { timeout(patience, &mut push).await });
            match pushed {
                Ok(pushed) => break matches!(pushed, Ok(Ok(()))),
                Err(_) if self.finish.is_cancelled() => {
                    // Its lease goes with it, so that it is read again.
                    push.abort();
                    break false;
                }
                Err(_) => {
                    self.pause();
                    patience = LOOK;
                    self.serve()?;
                    if self.watch().conclusion.is_none() {
                        self.commit_when_due()?;
                    }
                }
            }
        };
        self.resume();
        Ok(is_taken)
    }

    fn pause(&self) {
        if !self.watch().is_blocked.swap(true, Ordering::AcqRel) {
            let paused = self.client.assignment().and_then(|all| self.watch().pause(&self.client, &all));
            if let Err(error) = paused {
                tracing::warn!(target: LOG, "partitions could not be paused: {error}");
            }
        }
    }

    fn resume(&self) {
        if self.watch().is_blocked.swap(false, Ordering::AcqRel) {
            let resumed = self.client.assignment().and_then(|all| self.watch().resume(&self.client, &all));
            if let Err(error) = resumed {
                tracing::warn!(target: LOG, "partitions could not be resumed: {error}");
            }
        }
    }

    fn commit_when_due(&mut self) -> Result<(), PluginError> {
        if let Some(conclusion) = self.watch().conclusion.clone() {
            return if conclusion.is_due() { self.conclude(&conclusion) } else { Ok(()) };
        }
        if self.committed_at.elapsed() >= self.settings.commit_interval {
            self.committed_at = Instant::now();
            self.watch().commit_due(&self.client);
        }
        Ok(())
    }

    /// Ends the transaction once everything that was pushed is in it.
    fn conclude(&mut self, conclusion: &Conclusion) -> Result<(), PluginError> {
        let mut patience = PATIENCE;
        while !conclusion.is_quiet_within(patience) {
            if self.finish.is_cancelled() {
                return Ok(());
            }
            self.pause();
            patience = LOOK;
            self.serve()?;
        }
        let outcome = conclusion.commit(self.client.group_metadata());
        if !self.stop.is_cancelled() {
            self.resume();
        }
        match outcome {
            Outcome::Lost if !self.stop.is_cancelled() => {
                Err(PluginError::new("a transaction was not committed; its records are read again"))
            }
            Outcome::Committed | Outcome::Lost | Outcome::GivenUp => Ok(()),
        }
    }
}

/// The records for each worker, where the partition decides about that.
fn by_lane(records: Vec<Record>, lanes: usize) -> Vec<(Option<usize>, Vec<Record>)> {
    if lanes == 1 {
        return vec![(None, records)];
    }
    let mut sorted: Vec<(Option<usize>, Vec<Record>)> = Vec::new();
    for record in records {
        let lane = Some(record.partition.lane(lanes));
        match sorted.iter_mut().find(|(known, _)| *known == lane) {
            Some((_, records)) => records.push(record),
            None => sorted.push((lane, vec![record])),
        }
    }
    sorted
}

/// What is kept of a message; nothing of a partition that was taken away.
fn record(
    message: &BorrowedMessage<'_>,
    client: &BaseConsumer<Watch>,
    last: &mut Option<Arc<Partition>>,
    settings: &Settings,
) -> Option<Record> {
    let is_same =
        |last: &Arc<Partition>| last.number == message.partition() && last.topic == *message.topic() && !last.is_gone();
    if !last.as_ref().is_some_and(is_same) {
        *last = client.context().assignment.find(message.topic(), message.partition());
    }
    let partition = last.clone()?;
    Some(Record::of(message, partition, settings.decorations, &settings.group_id))
}

/// Most errors are told elsewhere, and librdkafka goes on by itself. The rest end the consumer, which begins anew.
fn look_at(error: &KafkaError) -> Result<(), PluginError> {
    let is_final = match error {
        KafkaError::MessageConsumptionFatal(_) => true,
        other => {
            matches!(other.rdkafka_error_code(), Some(RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::NoOffset))
        }
    };
    if is_final { Err(PluginError::new(error)) } else { Ok(()) }
}
