//! Sends the records of a batch until each one is stored or refused for good.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::LOG;
use crate::plugins::kafka::failure::{Failure, Kind};
use crate::plugins::kafka::producer::Producer;
use crate::plugins::kafka::record::Record;
use crate::plugins::{GivenBack, PluginError, Stop};

/// How long answers are waited for once the pipeline is to stop.
const PARTING: Duration = Duration::from_secs(5);
/// Longest rest before records are sent again.
const LONGEST_REST: Duration = Duration::from_secs(10);

/// Sends for all workers.
pub(super) struct Sender {
    make: Box<dyn Fn() -> Result<Producer, PluginError> + Send + Sync>,
    producer: Mutex<Arc<Producer>>,
    /// Tries after the first; none for as many as it takes.
    retries: Option<u32>,
    backoff: Duration,
    /// The last complaint that was logged, so that it is logged once.
    last_complaint: Mutex<String>,
}

/// A record that has no answer yet.
struct Due<'r> {
    at: usize,
    record: &'r Record,
    tries: u32,
    /// A record of its batch was refused: alone it is known which.
    alone: bool,
}

impl Sender {
    /// `make` starts a producer, the first one and each that takes the place of one that broke.
    pub fn new(
        make: impl Fn() -> Result<Producer, PluginError> + Send + Sync + 'static,
        retries: Option<u32>,
        backoff: Duration,
    ) -> Result<Self, PluginError> {
        let producer = Mutex::new(Arc::new(make()?));
        Ok(Self { make: Box::new(make), producer, retries, backoff, last_complaint: Mutex::default() })
    }

    /// Gives the records that are refused for good, and why. `waits_for_topics`: a topic that is missing is waited for.
    pub async fn send(
        &self,
        records: &[Record],
        waits_for_topics: bool,
        stop: &Stop,
    ) -> Result<Vec<(usize, Failure)>, GivenBack> {
        let mut refused = Vec::new();
        let due = |(at, record)| Due { at, record, tries: 0, alone: false };
        let mut due: Vec<Due<'_>> = records.iter().enumerate().map(due).collect();
        let mut rest = self.backoff;
        while !due.is_empty() {
            let producer = self.producer.lock().clone();
            let failures = tokio::select! {
                failures = try_all(&producer, &due) => failures,
                () = parting(stop) => return Err(GivenBack),
            };
            if failures.iter().any(|(_, failure)| failure.kind == Kind::Broken) {
                self.replace(&producer);
            }
            let mut again = Vec::new();
            let mut waits = false;
            for (place, failure) in failures {
                let Some(Due { at, record, tries, alone }) = due.get(place) else { continue };
                let (at, record, alone) = (*at, *record, *alone);
                match failure.kind {
                    Kind::Refused => refused.push((at, failure)),
                    Kind::Suspect if alone => refused.push((at, failure)),
                    Kind::Suspect => again.push(Due { at, record, tries: *tries, alone: true }),
                    Kind::Closed if !waits_for_topics => refused.push((at, failure)),
                    Kind::Later | Kind::Closed | Kind::Broken => {
                        if self.retries.is_some_and(|most| *tries >= most) {
                            refused.push((at, failure));
                            continue;
                        }
                        self.complain(&record.topic, &failure);
                        waits = true;
                        again.push(Due { at, record, tries: tries + 1, alone });
                    }
                }
            }
            due = again;
            if waits {
                tokio::select! {
                    () = tokio::time::sleep(rest) => {}
                    () = stop.cancelled() => tokio::time::sleep(self.backoff).await,
                }
                rest = (rest * 2).min(LONGEST_REST.max(self.backoff));
            }
        }
        refused.sort_by_key(|(at, _)| *at);
        Ok(refused)
    }

    /// Puts a new producer in the place of one that broke, unless another worker has done so.
    fn replace(&self, broken: &Arc<Producer>) {
        let mut producer = self.producer.lock();
        if Arc::ptr_eq(&producer, broken) {
            match (self.make)() {
                Ok(made) => *producer = Arc::new(made),
                Err(error) => tracing::error!(target: LOG, "a broken producer cannot be replaced: {error}"),
            }
        }
    }

    fn complain(&self, topic: &str, failure: &Failure) {
        let complaint = format!("{topic}: {}", failure.message);
        let mut last = self.last_complaint.lock();
        if *last == complaint {
            tracing::debug!(target: LOG, "Sending again what was not stored, {complaint}");
        } else {
            tracing::warn!(target: LOG, "Sending again what was not stored, {complaint}");
            *last = complaint;
        }
    }
}

/// One try for each record, in order. Those that go alone are waited for before the next one.
async fn try_all(producer: &Producer, due: &[Due<'_>]) -> Vec<(usize, Failure)> {
    let mut failures = Vec::new();
    let mut rest = due;
    let mut start = 0;
    while let Some(first) = rest.first() {
        let together = if first.alone { 1 } else { rest.iter().take_while(|due| !due.alone).count() };
        let (now, later) = rest.split_at(together);
        let records: Vec<&Record> = now.iter().map(|due| due.record).collect();
        let failed = producer.send(&records).await;
        failures.extend(failed.into_iter().map(|(at, failure)| (start + at, failure)));
        start += together;
        rest = later;
    }
    failures
}

/// Comes when the pipeline was to stop a while ago.
async fn parting(stop: &Stop) {
    stop.cancelled().await;
    tokio::time::sleep(PARTING).await;
}
