//! The end of a transaction: all that was pushed has been dealt with, and is committed with its offsets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rdkafka::consumer::ConsumerGroupMetadata;

use super::partition::{self, Partition};
use crate::plugins::Lease;
use crate::plugins::kafka::transaction::{Account, Outcome, Session};

/// What a consumer has pushed since the last commit, and how to commit it.
pub(super) struct Conclusion {
    account: Account,
    session: Arc<Session>,
    pushed: Mutex<Pushed>,
}

#[derive(Default)]
struct Pushed {
    positions: Vec<(Arc<Partition>, i64)>,
    since: Option<Instant>,
}

impl Conclusion {
    pub fn new(account: Account, session: Arc<Session>) -> Self {
        Self { account, session, pushed: Mutex::default() }
    }

    /// A lease for what is pushed up to these positions.
    pub fn lend(&self, positions: Vec<(Arc<Partition>, i64)>) -> Lease {
        let mut pushed = self.pushed.lock();
        pushed.since.get_or_insert_with(Instant::now);
        for (partition, next) in positions {
            match pushed.positions.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &partition)) {
                Some((_, reached)) => *reached = next,
                None => pushed.positions.push((partition, next)),
            }
        }
        self.account.lend()
    }

    /// Whether it is time to commit.
    pub fn is_due(&self) -> bool {
        let since = self.pushed.lock().since;
        since.is_some_and(|since| self.session.is_large() || since.elapsed() >= self.session.interval())
    }

    /// Waits until the pipeline has done with what was pushed, at most for `limit`. Whether that is so.
    pub fn is_quiet_within(&self, limit: Duration) -> bool {
        self.account.is_quiet_within(limit)
    }

    /// Commits what was pushed, once the pipeline has done with it. `Lost`: its records have to be read again.
    pub fn commit(&self, group: Option<ConsumerGroupMetadata>) -> Outcome {
        let pushed = std::mem::take(&mut *self.pushed.lock());
        if pushed.since.is_none() {
            return Outcome::Committed;
        }
        let Some(group) = group.filter(|_| !self.account.has_failed()) else {
            self.session.discard(&self.account);
            return Outcome::Lost;
        };
        let positions = pushed.positions.iter().map(|(partition, next)| (&**partition, *next));
        let outcome = self.session.commit(&partition::list(positions), &group);
        match outcome {
            Outcome::Committed => pushed.positions.iter().for_each(|(partition, next)| partition.committed(*next)),
            Outcome::Lost | Outcome::GivenUp => self.session.discard(&self.account),
        }
        outcome
    }

    /// Lets go of what was pushed: its partitions belong to somebody else.
    pub fn discard(&self) {
        *self.pushed.lock() = Pushed::default();
        self.session.discard(&self.account);
    }
}
