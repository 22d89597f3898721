//! One batch on its way: sent, sorted, and sent again in part until nothing is left to decide.

use std::collections::BTreeMap;

use super::super::waits::Waits;
use super::action::{Action, Unmapped};
use super::reply::Item;
use super::sender::{Answered, pause};
use super::verdict::Verdict;
use super::{Elasticsearch, LOG, reason};
use crate::plugins::{GivenBack, OutputBatch, Stop};

/// One batch on its way.
pub(super) struct Work<'a> {
    output: &'a Elasticsearch,
    batch: &'a OutputBatch<'a>,
    /// The lines of all actions, as they are sent and sent again.
    pub bytes: Vec<u8>,
    /// What is not settled yet.
    actions: Vec<Action>,
    unmapped: Vec<(usize, Unmapped)>,
    /// Events that can never be delivered, with the reason.
    pub dead: Vec<(usize, String)>,
}

impl<'a> Work<'a> {
    /// Makes actions of the events.
    pub fn new(output: &'a Elasticsearch, batch: &'a OutputBatch<'a>) -> Self {
        let mut bytes = output.buffers.lock().pop().unwrap_or_default();
        bytes.clear();
        let server = output.sender.cluster.pool.newest_major();
        let mut actions = Vec::with_capacity(batch.events.len());
        let mut unmapped = Vec::new();
        for (at, event) in batch.events.iter().enumerate() {
            match output.actions.write(at, event, server, &mut bytes) {
                Ok(action) => actions.push(action),
                Err(why) => unmapped.push((at, why)),
            }
        }
        Self { output, batch, bytes, actions, unmapped, dead: Vec::new() }
    }

    /// Sends until every action is settled. Events that could not be mapped follow when the others are through.
    pub async fn run(&mut self, stop: &Stop) -> Result<(), GivenBack> {
        let sender = &self.output.sender;
        let mut waits = Waits::new(sender.retry);
        while !self.actions.is_empty() {
            let mut answered = Answered::default();
            let sent = sender.send(&self.bytes, &self.actions, stop, &mut answered).await;
            self.settle(answered);
            sent?;
            if !self.actions.is_empty() {
                tracing::info!(target: LOG, count = self.actions.len(),
                    "Retrying individual bulk actions that failed or were rejected by the previous bulk request ({})",
                    self.actions.len());
                pause(waits.next(), stop).await?;
            }
        }
        for (at, why) in std::mem::take(&mut self.unmapped) {
            sender.count("documents.non_retryable_failures", 1);
            let Some(event) = self.batch.events.get(at) else { continue };
            let reason = reason::unmapped(sender.flavor, &why, event);
            if sender.rules.dead_letters {
                self.dead.push((at, reason));
            } else {
                tracing::warn!(target: LOG, "{reason}. The event is dropped, the dead letter queue is off");
            }
        }
        Ok(())
    }

    /// Takes out what is settled; what stays has to be sent again, in its old order.
    fn settle(&mut self, answered: Answered) {
        let sender = &self.output.sender;
        let mut done = answered.accepted;
        let (mut dropped, mut again) = (0, Vec::new());
        let mut refused: Vec<(usize, Item, Verdict)> = Vec::new();
        for (at, item, verdict) in answered.judged {
            let Some(action) = self.actions.get(at) else { continue };
            match verdict {
                Verdict::Done => done += 1,
                Verdict::Drop => {
                    dropped += 1;
                    self.log_dropped(action, &item);
                }
                Verdict::Retry => {
                    self.log_retried(action, &item);
                    again.push(action.clone());
                }
                Verdict::Dead | Verdict::Ambiguous => refused.push((at, item, verdict)),
            }
        }
        sender.count("documents.successes", done);
        sender.count("documents.non_retryable_failures", dropped);
        sender.count("documents.retryable_failures", again.len());
        let path = if sender.flavor.is_elastic() { "documents.dlq_routed" } else { "documents.non_retryable_failures" };
        sender.count(path, refused.len());
        self.give_up(&refused);
        self.actions = again;
    }

    fn give_up(&mut self, refused: &[(usize, Item, Verdict)]) {
        let (enabled, flavor) = (self.output.sender.rules.dead_letters, self.output.sender.flavor);
        for (at, item, verdict) in refused {
            let Some(action) = self.actions.get(*at) else { continue };
            let Some(event) = self.batch.events.get(action.event) else { continue };
            if *verdict == Verdict::Ambiguous {
                self.output.actions.generate_ids_for(reason::index(&self.bytes, action));
            }
            if enabled {
                let reason = match verdict {
                    Verdict::Ambiguous => reason::ambiguous(flavor, &self.bytes, action, event),
                    _ => reason::refused(flavor, &self.bytes, action, event, item),
                };
                self.dead.push((action.event, reason));
            } else {
                self.log_lost(action, item);
            }
        }
        if enabled && !refused.is_empty() {
            tracing::warn!(target: LOG, count = refused.len(),
                "Events could not be indexed and routing to DLQ, {} in all: {}", refused.len(), by_status(refused));
        }
    }

    fn log_dropped(&self, action: &Action, item: &Item) {
        if !self.output.sender.rules.is_silent(item.error_type()) {
            tracing::warn!(target: LOG, status = item.status, action = %self.shown(action),
                response = %reason::response(item), "Failed action, the event is dropped");
        }
    }

    fn log_retried(&self, action: &Action, item: &Item) {
        if item.status == 403 {
            self.output.log_blocked(reason::index(&self.bytes, action), item);
        }
        if !self.output.sender.rules.is_silent(item.error_type()) {
            let error = item.body.get("error").map(reason::inspected).unwrap_or_default();
            tracing::info!(target: LOG, status = item.status, action = %reason::action(&self.bytes, action),
                error = %error, "Retrying failed action");
        }
    }

    fn log_lost(&self, action: &Action, item: &Item) {
        let (action_text, response) = (self.shown(action), reason::response(item));
        let product = self.output.sender.flavor.product();
        if item.error_type() == "invalid_index_name_exception" && item.action == "index" {
            tracing::error!(target: LOG, status = item.status, action = %action_text, response = %response,
                "Could not index event to {product}.");
        } else {
            tracing::warn!(target: LOG, status = item.status, action = %action_text, response = %response,
                "Could not index event to {product}.");
        }
    }

    fn shown(&self, action: &Action) -> String {
        let event = self.batch.events.get(action.event);
        event.map(|event| reason::shown(&self.bytes, action, event)).unwrap_or_default()
    }

    /// Stores what is known to be dead although the batch is given back: a source that cannot replay would lose it.
    pub fn bury(&self) {
        let dead = self.dead.iter().filter_map(|(at, reason)| Some((*self.batch.events.get(*at)?, reason)));
        let _ = self.output.dead_letters.send_all(&dead.collect::<Vec<_>>());
    }
}

/// A count and a sample for each status.
fn by_status(refused: &[(usize, Item, Verdict)]) -> String {
    let mut statuses: BTreeMap<i64, (usize, &Item)> = BTreeMap::new();
    for (_, item, _) in refused {
        statuses.entry(item.status).or_insert((0, item)).0 += 1;
    }
    let lines = statuses.iter().map(|(status, (count, sample))| {
        format!("{count} with status {status}, such as {}", reason::cut(&reason::response(sample), 500))
    });
    lines.collect::<Vec<_>>().join("; ")
}
