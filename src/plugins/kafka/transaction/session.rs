//! The transactional producer, and the transaction that is open.
//!
//! What was sent is kept until the commit: a transaction that has to be aborted, for the sake of one refused record or
//! because its coordinator went away, is made again without asking the source for anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::producer::Producer as _;
use tokio::sync::Mutex;
use tokio::task::block_in_place;

use super::super::LOG;
use super::super::failure::{Failure, Kind};
use super::super::producer::Producer;
use super::super::record::Record;
use crate::plugins::{Context, GivenBack, Held, Lease, PluginError, Stop};

/// How long librdkafka works on one step before we look around.
pub(super) const STEP: Duration = Duration::from_secs(10);
/// Rest before a step is tried again.
pub(super) const REST: Duration = Duration::from_millis(200);
/// How long is tried on once the pipeline is to stop.
pub(super) const PARTING: Duration = Duration::from_secs(10);
/// A transaction with more than this in memory is due.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// The producer with its transaction.
pub struct Session {
    pub(super) producer: Arc<Producer>,
    interval: Duration,
    pub(super) open: Mutex<Open>,
    pub(super) bytes: AtomicUsize,
    /// Nothing is sent until what is on its way has come to an end.
    pub(super) discards: AtomicBool,
    broken: AtomicBool,
    pub(super) context: Context,
    pub(super) runtime: tokio::runtime::Handle,
}

/// What is in the transaction.
#[derive(Default)]
pub(super) struct Open {
    pub begun: bool,
    pub sent: Vec<Record>,
    pub held: Vec<Held>,
}

/// Why a step cannot be finished.
pub(super) enum Trouble {
    /// Nothing can be done with this producer any more.
    Fatal(String),
    /// The transaction has to be made again.
    Abort(String),
    Group(String),
    Later(String),
}

impl Session {
    /// Starts the producer.
    pub(super) async fn open(
        client: &ClientConfig,
        interval: Option<Duration>,
        context: Context,
        stop: &Stop,
    ) -> Result<Self, PluginError> {
        let producer = Producer::new(client, None, context.log_span()).map_err(PluginError::new)?;
        let session = Self {
            producer: Arc::new(producer),
            interval: interval.unwrap_or_default(),
            open: Mutex::default(),
            bytes: AtomicUsize::new(0),
            discards: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            context,
            runtime: tokio::runtime::Handle::current(),
        };
        while !stop.is_cancelled() {
            let producer = session.producer.clone();
            let begun = tokio::task::spawn_blocking(move || producer.client().init_transactions(STEP)).await;
            match begun.map_err(PluginError::new)?.map_err(|error| trouble(&error)) {
                Ok(()) => break,
                Err(Trouble::Fatal(why)) => return Err(PluginError(format!("the transaction cannot be begun: {why}"))),
                Err(Trouble::Abort(why) | Trouble::Group(why) | Trouble::Later(why)) => {
                    tracing::warn!(target: LOG, "the transaction cannot be begun yet: {why}");
                    tokio::time::sleep(REST).await;
                }
            }
        }
        Ok(session)
    }

    /// How long a transaction may last; nothing for one that ends as soon as it can.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Whether the transaction should end because of its size.
    pub fn is_large(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > MOST_BYTES
    }

    /// Whether the producer is of no use any more.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Puts records into the transaction and holds the lease until it ends. Gives the records that are refused for good,
    /// which are not in it. `waits_for_topics`: a topic that is missing is waited for.
    pub async fn write(
        &self,
        records: Vec<Record>,
        lease: &Lease,
        waits_for_topics: bool,
        stop: &Stop,
    ) -> Result<Vec<(usize, Failure)>, GivenBack> {
        let mut open = self.open.lock().await;
        let mut left: Vec<(usize, Record)> = records.into_iter().enumerate().collect();
        let mut refused = Vec::new();
        let mut alone = false;
        loop {
            if self.is_broken() {
                return Err(GivenBack);
            }
            if self.discards.load(Ordering::Acquire) {
                open.held.push(lease.clone().hold());
                return Ok(Vec::new());
            }
            let sent = async {
                self.begin(&mut open).await?;
                Ok::<_, GivenBack>(self.send(&left, alone).await)
            };
            let failures = tokio::select! {
                sent = sent => sent?,
                () = parting(stop) => return Err(GivenBack),
            };
            if failures.is_empty() {
                self.bytes.fetch_add(left.iter().map(|(_, record)| record.size()).sum(), Ordering::Relaxed);
                open.sent.extend(left.into_iter().map(|(_, record)| record));
                open.held.push(lease.clone().hold());
                return Ok(refused);
            }
            let mut why = String::new();
            let was_alone = alone;
            for (at, failure) in failures {
                let is_refused = match failure.kind {
                    Kind::Refused => true,
                    Kind::Suspect => {
                        alone = true;
                        was_alone
                    }
                    Kind::Closed => !waits_for_topics,
                    Kind::Broken => {
                        self.give_up(&failure.message);
                        return Err(GivenBack);
                    }
                    Kind::Later => false,
                };
                if is_refused {
                    left.retain(|(other, _)| *other != at);
                    refused.push((at, failure));
                } else if failure.kind != Kind::Suspect {
                    why = failure.message;
                }
            }
            if !why.is_empty() {
                tracing::warn!(target: LOG, count = left.len(), "records of a transaction were not stored, it is made again: {why}");
                tokio::time::sleep(REST).await;
            }
            self.again(&mut open, stop).await?;
        }
    }

    /// Sends all at once; or one after the other up to the first that fails, which is to blame itself then.
    async fn send(&self, records: &[(usize, Record)], alone: bool) -> Vec<(usize, Failure)> {
        let number = |at: usize| records.get(at).map_or(at, |(number, _)| *number);
        if !alone {
            let all: Vec<&Record> = records.iter().map(|(_, record)| record).collect();
            return self.producer.send(&all).await.into_iter().map(|(at, failure)| (number(at), failure)).collect();
        }
        for (number, record) in records {
            if let Some((_, failure)) = self.producer.send(&[record]).await.pop() {
                return vec![(*number, failure)];
            }
        }
        Vec::new()
    }

    pub(super) async fn begin(&self, open: &mut Open) -> Result<(), GivenBack> {
        while !open.begun {
            match block_in_place(|| self.producer.client().begin_transaction()).map_err(|error| trouble(&error)) {
                Ok(()) => open.begun = true,
                Err(Trouble::Fatal(why)) => {
                    self.give_up(&why);
                    return Err(GivenBack);
                }
                Err(Trouble::Abort(why) | Trouble::Group(why) | Trouble::Later(why)) => {
                    tracing::warn!(target: LOG, "a transaction cannot be begun: {why}");
                    self.abort(open).await?;
                    tokio::time::sleep(REST).await;
                }
            }
        }
        Ok(())
    }

    /// Makes the transaction again, with all that was in it.
    pub(super) async fn again(&self, open: &mut Open, stop: &Stop) -> Result<(), GivenBack> {
        loop {
            let made = async {
                self.abort(open).await?;
                if open.sent.is_empty() {
                    return Ok::<_, GivenBack>(Vec::new());
                }
                self.begin(open).await?;
                Ok(self.producer.send(&open.sent.iter().collect::<Vec<_>>()).await)
            };
            let failures = tokio::select! {
                made = made => made?,
                () = parting(stop) => return Err(GivenBack),
            };
            let Some((_, failure)) = failures.into_iter().next() else { return Ok(()) };
            if failure.kind == Kind::Broken {
                self.give_up(&failure.message);
                return Err(GivenBack);
            }
            if self.discards.load(Ordering::Acquire) {
                return Ok(());
            }
            tracing::warn!(target: LOG, "a transaction that is made again was not taken: {}", failure.message);
            tokio::time::sleep(REST).await;
        }
    }

    pub(super) async fn abort(&self, open: &mut Open) -> Result<(), GivenBack> {
        loop {
            match block_in_place(|| self.producer.client().abort_transaction(STEP)).map_err(|error| trouble(&error)) {
                Ok(()) => {
                    open.begun = false;
                    return Ok(());
                }
                Err(Trouble::Fatal(why)) => {
                    self.give_up(&why);
                    return Err(GivenBack);
                }
                Err(_) if !open.begun => return Ok(()),
                Err(Trouble::Abort(why) | Trouble::Group(why) | Trouble::Later(why)) => {
                    tracing::warn!(target: LOG, "a transaction cannot be aborted yet: {why}");
                    if self.context.stop.is_cancelled() {
                        return Err(GivenBack);
                    }
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }

    pub(super) fn give_up(&self, why: &str) {
        if !self.broken.swap(true, Ordering::AcqRel) {
            self.context.log_span().in_scope(|| {
                tracing::error!(target: LOG, "the transactional producer cannot go on, the pipeline is stopped: {why}");
            });
            self.context.stop.cancel();
        }
    }
}

pub(super) fn trouble(error: &KafkaError) -> Trouble {
    let KafkaError::Transaction(error) = error else { return Trouble::Later(error.to_string()) };
    let why = error.string();
    let is_of_the_group = matches!(
        error.code(),
        Code::IllegalGeneration | Code::UnknownMemberId | Code::FencedInstanceId | Code::RebalanceInProgress
    );
    match error {
        _ if error.is_fatal() => Trouble::Fatal(why),
        _ if is_of_the_group => Trouble::Group(why),
        error if error.txn_requires_abort() => Trouble::Abort(why),
        _ => Trouble::Later(why),
    }
}

/// Comes when the pipeline was to stop a while ago.
async fn parting(stop: &Stop) {
    stop.cancelled().await;
    tokio::time::sleep(PARTING).await;
}
