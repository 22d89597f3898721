//! Tables that rest, because the server wants fewer inserts of them. Their batches wait here, beside the queue, so that
//! those of other tables go on.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::super::waits::Waits;
use super::batch::Job;
use crate::event::Text;

/// The longest rest while the pipeline is to stop.
const LAST_RESTS: Duration = Duration::from_secs(1);

/// All tables that rest.
pub(super) struct Resting {
    /// First and longest rest.
    rhythm: (Duration, Duration),
    tables: HashMap<Text, Rest>,
    /// Of all batches here.
    bytes: usize,
    /// The pipeline is to stop.
    hurries: bool,
}

struct Rest {
    until: Instant,
    waits: Waits,
    /// The oldest first.
    backlog: VecDeque<Job>,
    /// After a rest one insert goes first.
    trial: bool,
    /// An insert went well: the others may follow.
    open: bool,
}

impl Resting {
    /// No table rests.
    pub fn new(rhythm: (Duration, Duration)) -> Self {
        Self { rhythm, tables: HashMap::new(), bytes: 0, hurries: false }
    }

    /// Whether no table rests.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Whether this one does, or has batches left from a rest.
    pub fn has(&self, table: &Text) -> bool {
        self.tables.contains_key(table)
    }

    /// Bytes of all batches here.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes a new batch, when its table is here.
    pub fn push(&mut self, job: Job) -> Option<Job> {
        let Some(rest) = self.tables.get_mut(&job.batch.table.name) else { return Some(job) };
        self.bytes += job.batch.bytes.len();
        rest.backlog.push_back(job);
        None
    }

    /// A batch whose table has rested enough.
    pub fn next(&mut self, now: Instant, may_go: impl Fn(&Text) -> bool) -> Option<Job> {
        let is_ready = |name: &Text, rest: &Rest| {
            !rest.backlog.is_empty() && rest.until <= now && (rest.open || !rest.trial) && may_go(name)
        };
        let (name, rest) = self.tables.iter_mut().find(|(name, rest)| is_ready(name, rest))?;
        let job = rest.backlog.pop_front()?;
        rest.trial = true;
        self.bytes = self.bytes.saturating_sub(job.batch.bytes.len());
        if rest.open && rest.backlog.is_empty() {
            let name = name.clone();
            self.tables.remove(&name);
        }
        Some(job)
    }

    /// When a rest ends.
    pub fn next_time(&self, now: Instant) -> Option<Instant> {
        let waiting = self.tables.values().filter(|rest| !rest.backlog.is_empty() && rest.until > now);
        waiting.map(|rest| rest.until).min()
    }

    /// An insert into a table went well.
    pub fn went_well(&mut self, table: &Text) {
        if let Some(rest) = self.tables.get_mut(table) {
            rest.open = true;
            if rest.backlog.is_empty() {
                self.tables.remove(table);
            }
        }
    }

    /// Lets a table rest after the failure of this job; `others` of it follow. For how long.
    pub fn start(&mut self, job: Job, others: impl IntoIterator<Item = Job>, now: Instant) -> Duration {
        let rhythm = self.rhythm;
        let rest = self.tables.entry(job.batch.table.name.clone()).or_insert_with(|| Rest {
            until: now,
            waits: Waits::new(rhythm),
            backlog: VecDeque::new(),
            trial: false,
            open: false,
        });
        // Those that were on their way at the same time say the same thing.
        if rest.until <= now {
            let wait = rest.waits.next();
            rest.until = now + if self.hurries { wait.min(LAST_RESTS) } else { wait };
        }
        rest.trial = false;
        rest.open = false;
        self.bytes += job.batch.bytes.len();
        rest.backlog.push_front(job);
        for job in others {
            self.bytes += job.batch.bytes.len();
            rest.backlog.push_back(job);
        }
        rest.until.saturating_duration_since(now)
    }

    /// Ends all rests by this time, and makes later ones short.
    pub fn hurry(&mut self, now: Instant, most: Duration) {
        self.hurries = true;
        self.tables.values_mut().for_each(|rest| rest.until = rest.until.min(now + most.min(LAST_RESTS)));
    }

    /// Whether no batch waits here.
    pub fn has_no_jobs(&self) -> bool {
        self.tables.values().all(|rest| rest.backlog.is_empty())
    }

    /// Gives all batches away.
    pub fn drain(&mut self) -> impl Iterator<Item = Job> + '_ {
        self.bytes = 0;
        self.tables.drain().flat_map(|(_, rest)| rest.backlog)
    }
}
