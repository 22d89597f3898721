//! What librdkafka tells a consumer: log lines, errors, outcomes of commits, and which partitions come and go.
//!
//! All of it is called on the consumer's thread, from within a poll.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rdkafka::TopicPartitionList;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::statistics::Statistics;

use super::LOG;
use super::conclusion::Conclusion;
use super::partition::{self, Assignment, Partition};
use crate::metrics::{Counter, PluginMetrics};
use crate::plugins::kafka::log;

/// How long others wait for what of a partition is on its way, before they may read it a second time.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(5);

/// The ear of a consumer.
pub(super) struct Watch {
    pub assignment: Assignment,
    pub conclusion: Option<Arc<Conclusion>>,
    /// The pipeline takes nothing, so that partitions which come are to be silent.
    pub is_blocked: AtomicBool,
    /// What librdkafka knows to be paused, be it ours or not.
    paused: Mutex<HashSet<(String, i32)>>,
    /// Nothing comes back any more.
    pub is_ending: AtomicBool,
    commits: Arc<Counter>,
    rebalances: Arc<Counter>,
    metrics: Arc<PluginMetrics>,
}

impl Watch {
    pub fn new(conclusion: Option<Arc<Conclusion>>, metrics: Arc<PluginMetrics>) -> Self {
        Self {
            assignment: Assignment::default(),
            conclusion,
            is_blocked: AtomicBool::new(false),
            paused: Mutex::default(),
            is_ending: AtomicBool::new(false),
            commits: metrics.counter("commits"),
            rebalances: metrics.counter("rebalances"),
            metrics,
        }
    }

    /// Nothing is read of these partitions for now.
    pub fn pause(&self, consumer: &BaseConsumer<Self>, list: &TopicPartitionList) -> KafkaResult<()> {
        self.paused.lock().extend(list.elements().iter().map(|e| (e.topic().to_owned(), e.partition())));
        consumer.pause(list)
    }

    /// Goes on with those that were paused.
    pub fn resume(&self, consumer: &BaseConsumer<Self>, list: &TopicPartitionList) -> KafkaResult<()> {
        let mut known = self.paused.lock();
        let mut paused = TopicPartitionList::new();
        for element in list.elements() {
            if known.remove(&(element.topic().to_owned(), element.partition())) {
                paused.add_partition(element.topic(), element.partition());
            }
        }
        if paused.count() == 0 { Ok(()) } else { consumer.resume(&paused) }
    }

    /// Tells the group what it does not know yet. Nothing says how that ended, but the statistics do: they make due
    /// again what was not committed.
    pub fn commit_due(&self, consumer: &BaseConsumer<Self>) {
        let due = partition::due(&self.assignment.all());
        self.commit(consumer, due, CommitMode::Async);
    }

    /// Tells the group all that is dealt with of these partitions. Waits for its answer, unless the brokers may be
    /// away for long: closing the consumer waits as long as it should then.
    pub fn commit_all(&self, consumer: &BaseConsumer<Self>, partitions: &[Arc<Partition>]) {
        let mode = if self.is_ending.load(Ordering::Acquire) { CommitMode::Async } else { CommitMode::Sync };
        self.commit(consumer, partition::reached(partitions), mode);
    }

    fn commit(&self, consumer: &BaseConsumer<Self>, offsets: Option<TopicPartitionList>, mode: CommitMode) {
        let Some(offsets) = offsets else { return };
        match consumer.commit(&offsets, mode) {
            Ok(()) => self.commits.add(self.assignment.committed(&offsets)),
            Err(error) => tracing::warn!(target: LOG, "offsets were not committed yet: {error}"),
        }
    }

    /// Partitions are to go to other members.
    fn give_away(&self, consumer: &BaseConsumer<Self>, list: &TopicPartitionList) {
        tracing::info!(target: LOG, count = list.count(), "partitions are taken away: {}", shown(list));
        let is_lost = consumer.assignment_lost();
        match &self.conclusion {
            Some(conclusion) if is_lost => conclusion.discard(),
            Some(conclusion) => {
                while !conclusion.is_quiet_within(PATIENCE) {
                    tracing::warn!(target: LOG, "partitions are held until what was read of them is dealt with");
                }
                conclusion.commit(consumer.group_metadata());
            }
            None if is_lost => {
                tracing::warn!(target: LOG, "the group gave our partitions to others; records are read again there")
            }
            None => {
                let partitions = self.assignment.of(list);
                let start = Instant::now();
                let is_idle = || partitions.iter().all(|partition| partition.progress.is_idle());
                while !is_idle() && start.elapsed() < PATIENCE && !self.is_ending.load(Ordering::Acquire) {
                    std::thread::sleep(LOOK);
                }
                self.commit_all(consumer, &partitions);
            }
        }
        self.assignment.remove(list);
    }
}

fn shown(list: &TopicPartitionList) -> String {
    let shown = |(topic, number): (String, i32)| format!("{topic}-{number}");
    let mut all: Vec<String> = list.elements().iter().map(|e| shown((e.topic().to_owned(), e.partition()))).collect();
    all.sort();
    all.join(", ")
}

impl ClientContext for Watch {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log::line(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        log::trouble(&error, reason);
    }

    fn stats(&self, statistics: Statistics) {
        for partition in self.assignment.all() {
            let known = statistics.topics.get(partition.topic.as_str());
            let Some(known) = known.and_then(|topic| topic.partitions.get(&partition.number)) else { continue };
            if self.conclusion.is_none() && known.committed_offset >= 0 {
                partition.committed(known.committed_offset);
            }
            let position = partition.position().unwrap_or(known.committed_offset);
            if known.hi_offset >= 0 && position >= 0 {
                let number = partition.number.to_string();
                let shown = |name| self.metrics.counter_at([name, partition.topic.as_str(), &number]);
                shown("lag").set(u64::try_from(known.hi_offset - position).unwrap_or(0));
                shown("offset_committed").set(u64::try_from(known.committed_offset).unwrap_or(0));
            }
        }
    }
}

impl ConsumerContext for Watch {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Revoke(list) => self.give_away(consumer, list),
            Rebalance::Assign(list) => {
                tracing::info!(target: LOG, count = list.count(), "partitions are assigned: {}", shown(list));
                self.rebalances.add(1);
                self.assignment.add(list);
            }
            Rebalance::Error(error) => {
                tracing::error!(target: LOG, "the group could not share its partitions: {error}")
            }
        }
    }

    /// librdkafka remembers that a partition was paused, even when it comes back. Resuming one that was not paused would
    /// make it forget that it is asking for its offset, and nothing would ever be read of it.
    fn post_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let Rebalance::Assign(list) = rebalance else { return };
        let is_blocked = self.is_blocked.load(Ordering::Acquire);
        let done = if is_blocked { self.pause(consumer, list) } else { self.resume(consumer, list) };
        if let Err(error) = done {
            tracing::warn!(target: LOG, "new partitions could not be paused or resumed: {error}");
        }
    }
}
