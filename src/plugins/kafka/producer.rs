//! Sends records and waits until each of them has its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{Partitioner, ProducerContext, ThreadedProducer};
use tokio::sync::Notify;

use super::failure::Failure;
use super::log;
use super::record::Record;

/// Rest while the buffer of librdkafka is full.
const FULL: Duration = Duration::from_millis(5);

/// A client that sends. Several may use it at once.
pub struct Producer {
    client: ThreadedProducer<Reports, Spread>,
}

impl Producer {
    /// Starts one; it connects by itself.
    pub fn new(config: &ClientConfig, spread: Option<Spread>, span: tracing::Span) -> Result<Self, KafkaError> {
        let client = config.create_with_context(Reports { spread, span })?;
        Ok(Self { client })
    }

    /// librdkafka's own client.
    pub fn client(&self) -> &ThreadedProducer<Reports, Spread> {
        &self.client
    }

    /// Sends records in order and waits for all answers. Gives those that were not stored, in order.
    pub async fn send(&self, records: &[&Record]) -> Vec<(usize, Failure)> {
        let pending = Arc::new(Pending::new(records.len()));
        for (at, record) in records.iter().enumerate() {
            while let Err(error) = self.hand_over(record, Ticket { pending: pending.clone(), at }) {
                if error.rdkafka_error_code() != Some(RDKafkaErrorCode::QueueFull) {
                    pending.answer(at, Some(refused_here(&error)));
                    break;
                }
                tokio::time::sleep(FULL).await;
            }
        }
        pending.answers().await
    }

    fn hand_over(&self, record: &Record, ticket: Ticket) -> Result<(), KafkaError> {
        self.client.send(record.to_send(Box::new(ticket))).map_err(|(error, _)| error)
    }
}

/// librdkafka looks at one record alone.
fn refused_here(error: &KafkaError) -> Failure {
    let mut failure = Failure::of(error);
    if failure.kind == super::failure::Kind::Suspect {
        failure.kind = super::failure::Kind::Refused;
    }
    failure
}

/// Tells an answer from the others of its batch.
pub struct Ticket {
    pending: Arc<Pending>,
    at: usize,
}

/// The answers of a batch.
struct Pending {
    left: AtomicUsize,
    failures: Mutex<Vec<(usize, Failure)>>,
    done: Notify,
}

impl Pending {
    fn new(count: usize) -> Self {
        Self { left: AtomicUsize::new(count), failures: Mutex::default(), done: Notify::new() }
    }

    fn answer(&self, at: usize, failure: Option<Failure>) {
        self.failures.lock().extend(failure.map(|failure| (at, failure)));
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.notify_one();
        }
    }

    async fn answers(&self) -> Vec<(usize, Failure)> {
        while self.left.load(Ordering::Acquire) > 0 {
            self.done.notified().await;
        }
        let mut failures = std::mem::take(&mut *self.failures.lock());
        failures.sort_by_key(|(at, _)| *at);
        failures
    }
}

/// Takes answers from librdkafka.
pub struct Reports {
    spread: Option<Spread>,
    span: tracing::Span,
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.span.in_scope(|| log::line(level, facility, message));
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.span.in_scope(|| log::trouble(&error, reason));
    }
}

impl ProducerContext<Spread> for Reports {
    type DeliveryOpaque = Box<Ticket>;

    fn delivery(&self, result: &DeliveryResult<'_>, ticket: Box<Ticket>) {
        ticket.pending.answer(ticket.at, result.as_ref().err().map(|(error, _)| Failure::of(error)));
    }

    fn get_custom_partitioner(&self) -> Option<&Spread> {
        self.spread.as_ref()
    }
}

/// Spreads records over all partitions, whatever their keys.
pub struct Spread {
    next: AtomicUsize,
    /// So many records in a row go to the same partition.
    run: usize,
}

impl Spread {
    /// Every record to the next partition.
    pub fn round_robin() -> Self {
        Self { next: AtomicUsize::new(0), run: 1 }
    }

    /// A run of records to each partition, so that they make larger batches.
    pub fn in_runs() -> Self {
        Self { next: AtomicUsize::new(0), run: 128 }
    }
}

impl Partitioner for Spread {
    fn partition(&self, _: &str, _: Option<&[u8]>, count: i32, is_available: impl Fn(i32) -> bool) -> i32 {
        let count = usize::try_from(count).unwrap_or(1).max(1);
        let turn = self.next.fetch_add(1, Ordering::Relaxed) / self.run;
        let partition = |turn: usize| i32::try_from(turn % count).unwrap_or(0);
        (0..count).map(|more| partition(turn + more)).find(|at| is_available(*at)).unwrap_or_else(|| partition(turn))
    }
}
