//! The end of a transaction: it is committed with the offsets of a consumer, or given up.

use std::sync::atomic::Ordering;
use std::time::Instant;

use rdkafka::TopicPartitionList;
use rdkafka::consumer::ConsumerGroupMetadata;
use rdkafka::producer::Producer as _;
use tokio::task::block_in_place;

use super::super::LOG;
use super::Account;
use super::session::{Open, PARTING, REST, STEP, Session, Trouble, trouble};
use crate::plugins::{GivenBack, Held};

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Records and offsets are committed.
    Committed,
    /// The group does not take our offsets: partitions went elsewhere. The transaction is aborted.
    Lost,
    /// The pipeline ends without it.
    GivenUp,
}

impl Session {
    /// Commits what is in the transaction together with the offsets of a consumer. Nothing may be on its way. Blocks.
    pub fn commit(&self, offsets: &TopicPartitionList, group: &ConsumerGroupMetadata) -> Outcome {
        let mut open = self.open.blocking_lock();
        let outcome = self.runtime.block_on(self.finish(&mut open, offsets, group)).unwrap_or(Outcome::GivenUp);
        let held = std::mem::take(&mut open.held);
        open.sent.clear();
        self.bytes.store(0, Ordering::Relaxed);
        drop(open);
        if outcome == Outcome::Committed {
            held.into_iter().for_each(Held::settle);
        }
        outcome
    }

    async fn finish(
        &self,
        open: &mut Open,
        offsets: &TopicPartitionList,
        group: &ConsumerGroupMetadata,
    ) -> Result<Outcome, GivenBack> {
        let client = self.producer.client();
        let mut has_offsets = false;
        let mut last_try = None;
        loop {
            self.begin(open).await?;
            let mut step = Ok(());
            if !has_offsets {
                step = block_in_place(|| client.send_offsets_to_transaction(offsets, group, STEP));
                has_offsets = step.is_ok();
            }
            let step = step.and_then(|()| block_in_place(|| client.commit_transaction(STEP)));
            match step.map_err(|error| trouble(&error)) {
                Ok(()) => {
                    open.begun = false;
                    return Ok(Outcome::Committed);
                }
                Err(Trouble::Fatal(why)) => {
                    self.give_up(&why);
                    return Err(GivenBack);
                }
                Err(Trouble::Group(why)) => {
                    tracing::info!(target: LOG, "the group does not take the offsets of a transaction, it is aborted: {why}");
                    self.abort(open).await?;
                    return Ok(Outcome::Lost);
                }
                Err(Trouble::Abort(why)) => {
                    tracing::warn!(target: LOG, "a transaction was aborted and is made again: {why}");
                    has_offsets = false;
                    self.again(open, &self.context.stop).await?;
                }
                Err(Trouble::Later(why)) => tracing::warn!(target: LOG, "a transaction cannot be committed yet: {why}"),
            }
            if self.context.stop.is_cancelled() {
                let since = *last_try.get_or_insert_with(Instant::now);
                if since.elapsed() > PARTING {
                    return Err(GivenBack);
                }
            }
            tokio::time::sleep(REST).await;
        }
    }

    /// Gives up what is in the transaction and on its way to it: its partitions are somebody else's now, or its events
    /// were not dealt with. Returns when nothing of it can come any more. Blocks.
    pub fn discard(&self, account: &Account) {
        self.discards.store(true, Ordering::Release);
        while !account.is_quiet_within(STEP) {
            tracing::debug!(target: LOG, "waiting for the pipeline to let go of what it holds of a lost transaction");
            if self.is_broken() {
                break;
            }
        }
        let mut open = self.open.blocking_lock();
        if open.begun && !self.is_broken() {
            // Whether it is aborted now or by the next one who begins, nobody sees it.
            let _ = self.runtime.block_on(self.abort(&mut open));
        }
        *open = Open { begun: open.begun, ..Open::default() };
        self.bytes.store(0, Ordering::Relaxed);
        drop(open);
        account.forgive();
        self.discards.store(false, Ordering::Release);
    }
}
