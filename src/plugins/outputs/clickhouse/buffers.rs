//! Rows that wait: in a buffer for each table until it is full or old, in the queue until a writer takes them, and
//! beside it while their table rests. Plain data; the lock and the waiting are in [`super::queue`].

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::batch::{Batch, Group, Job, Rows};
use super::counters::{Counters, Flush};
use super::nodes::random;
use super::rest::Resting;
use super::table::Table;
use crate::event::Text;
use crate::plugins::Lease;

/// More rows than this are no single block on the server, which stores an insert in one step only as one block.
const MOST_ROWS: usize = 1_000_000;
/// After so many times `flush_interval` an empty buffer is given up.
const IDLE_INTERVALS: u32 = 10;

/// When rows leave their buffers, and how much may wait.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub flush_bytes: usize,
    pub flush_interval: Duration,
    /// Share of `flush_interval` that a buffer may wait longer.
    pub flush_jitter: f64,
    /// 0 for no limit.
    pub flush_rows: usize,
    pub buffered_bytes: usize,
    pub tables: usize,
    pub queue_capacity: usize,
    /// One insert at a time for each table.
    pub ordered: bool,
    /// First and longest rest of a table.
    pub rest: (Duration, Duration),
}

/// Everything that waits.
pub(super) struct Buffers {
    limits: Limits,
    /// Where tables are that name no database.
    database: String,
    counters: Arc<Counters>,
    buffers: HashMap<Text, Buffer>,
    queue: VecDeque<Job>,
    resting: Resting,
    /// Tables with an insert on its way; only for `ordered`.
    running: HashSet<Text>,
    /// Bytes in buffers.
    buffered: usize,
    /// Jobs and rows that writers have.
    in_flight: (usize, usize),
    /// A buffer got its first row: the clock has a new time to wait for.
    has_new_time: bool,
    closing: bool,
}

/// Who has to be woken.
pub(super) struct Signals {
    /// There is a job in the queue.
    pub job: bool,
    /// There may be an earlier time.
    pub time: bool,
}

struct Buffer {
    table: Arc<Table>,
    rows: Rows,
    leases: Vec<Lease>,
    /// When the rows leave; counts from the first row.
    due: Instant,
    used: Instant,
    /// How long a row waits here.
    age: Duration,
}

/// What a writer finds.
pub(super) enum Found {
    Job(Box<Job>),
    /// Nothing now; look again at this time, if there is one.
    Nothing(Option<Instant>),
    /// Nothing is left, and nothing comes any more.
    End,
}

impl Buffers {
    /// Nothing waits.
    pub fn new(limits: Limits, database: String, counters: Arc<Counters>) -> Self {
        let resting = Resting::new(limits.rest);
        Self {
            limits,
            database,
            counters,
            buffers: HashMap::new(),
            queue: VecDeque::new(),
            resting,
            running: HashSet::new(),
            buffered: 0,
            in_flight: (0, 0),
            has_new_time: false,
            closing: false,
        }
    }

    /// Takes rows of a group from `next` on, as long as there is room. `true` when all are in.
    pub fn append(&mut self, group: &mut Group, next: &mut usize, lease: Option<&Lease>, now: Instant) -> bool {
        let mut leased = false;
        while *next < group.rows.ends.len() {
            if !self.has_room() {
                return false;
            }
            let row = group.rows.row(*next);
            let size = row.len();
            let Some(buffer) = self.buffers.get_mut(&group.table) else {
                self.open(&group.table, now);
                leased = false;
                continue;
            };
            // A row larger than a batch is a batch of its own.
            if size > self.limits.flush_bytes && !buffer.rows.ends.is_empty() {
                self.cut(&group.table.clone(), Flush::Size);
                leased = false;
                continue;
            }
            if buffer.rows.ends.is_empty() {
                buffer.due = now + buffer.age;
                self.has_new_time = true;
                leased = false;
            }
            if !leased {
                buffer.leases.extend(lease.cloned());
                leased = true;
            }
            buffer.used = now;
            buffer.rows.bytes.extend_from_slice(row);
            buffer.rows.ends.push(buffer.rows.bytes.len());
            buffer.rows.events.extend(group.rows.events.get_mut(*next).map(std::mem::take));
            self.buffered += size;
            *next += 1;
            let rows = buffer.rows.ends.len();
            let many = self.limits.flush_rows > 0 && rows >= self.limits.flush_rows;
            if buffer.rows.bytes.len() >= self.limits.flush_bytes || many || rows >= MOST_ROWS {
                self.cut(&group.table.clone(), Flush::Size);
                leased = false;
            }
        }
        self.note();
        true
    }

    /// Who has to be woken after a change.
    pub fn signals(&mut self) -> Signals {
        Signals { job: !self.queue.is_empty(), time: std::mem::take(&mut self.has_new_time) }
    }

    /// Whether writers that found nothing may find something once a job is done.
    pub fn waits_for_jobs(&self) -> bool {
        self.closing || self.limits.ordered || !self.resting.is_empty()
    }

    /// Whether a row can come in; makes room where that helps.
    fn has_room(&mut self) -> bool {
        if self.queue.len() >= self.limits.queue_capacity {
            return false;
        }
        if self.buffered + self.resting.bytes() >= self.limits.buffered_bytes {
            let resting = |name: &Text| self.resting.has(name);
            let largest = self.buffers.iter().filter(|(name, b)| !b.rows.ends.is_empty() && !resting(name));
            let Some((largest, _)) = largest.max_by_key(|(_, b)| b.rows.bytes.len()) else { return false };
            self.cut(&largest.clone(), Flush::Pressure);
        }
        true
    }

    fn open(&mut self, name: &Text, now: Instant) {
        if self.buffers.len() >= self.limits.tables {
            let oldest = self.buffers.iter().min_by_key(|(_, b)| b.used).map(|(name, _)| name.clone());
            if let Some(oldest) = oldest {
                self.cut(&oldest, Flush::Pressure);
                self.buffers.remove(&oldest);
            }
        }
        let table = Arc::new(Table::new(name.clone(), &self.database));
        let age = self.age();
        let buffer = Buffer { table, rows: Rows::default(), leases: Vec::new(), due: now + age, used: now, age };
        self.buffers.insert(name.clone(), buffer);
    }

    /// `flush_interval` and a random bit more, so that buffers that were made together do not end together.
    fn age(&self) -> Duration {
        let share = (random() >> 11) as f64 / (1_u64 << 53) as f64;
        self.limits.flush_interval.mul_f64(1.0 + share * self.limits.flush_jitter)
    }

    /// Empties a buffer in one step.
    fn cut(&mut self, name: &Text, why: Flush) {
        let age = self.age();
        let Some(buffer) = self.buffers.get_mut(name).filter(|b| !b.rows.ends.is_empty()) else { return };
        buffer.age = age;
        let (rows, leases) = (std::mem::take(&mut buffer.rows), std::mem::take(&mut buffer.leases));
        self.buffered = self.buffered.saturating_sub(rows.bytes.len());
        let job = Job::new(Batch::new(buffer.table.clone(), rows, leases));
        self.counters.flushed(why);
        // Those of a table that rests wait beside the queue.
        self.queue.extend(self.resting.push(job));
    }

    /// Empties buffers whose rows are old enough, and closes those that nobody uses.
    pub fn cut_aged(&mut self, now: Instant) {
        let aged = |b: &Buffer| !b.rows.ends.is_empty() && b.due <= now;
        let names: Vec<Text> = self.buffers.iter().filter(|(_, b)| aged(b)).map(|(name, _)| name.clone()).collect();
        for name in names {
            self.cut(&name, Flush::Age);
        }
        let idle = self.idle();
        self.buffers.retain(|_, b| !b.rows.ends.is_empty() || b.used + idle > now);
        self.note();
    }

    fn idle(&self) -> Duration {
        // With an interval of 0 a buffer would be made anew for each row.
        self.limits.flush_interval.max(Duration::from_secs(1)).saturating_mul(IDLE_INTERVALS)
    }

    /// When [`Buffers::cut_aged`] has something to do.
    pub fn next_due(&self) -> Option<Instant> {
        let idle = self.idle();
        self.buffers.values().map(|b| if b.rows.ends.is_empty() { b.used + idle } else { b.due }).min()
    }

    /// The next job for a writer.
    pub fn next(&mut self, now: Instant) -> Found {
        let (ordered, running) = (self.limits.ordered, &self.running);
        let rested = self.resting.next(now, |table| !(ordered && running.contains(table)));
        let found = rested.or_else(|| self.next_queued());
        self.note();
        if let Some(job) = found {
            if self.limits.ordered {
                self.running.insert(job.batch.table.name.clone());
            }
            self.in_flight.0 += 1;
            self.in_flight.1 += job.rows.left();
            return Found::Job(Box::new(job));
        }
        if self.closing && self.is_empty() {
            return Found::End;
        }
        Found::Nothing(self.resting.next_time(now))
    }

    fn next_queued(&mut self) -> Option<Job> {
        if !self.limits.ordered {
            return self.queue.pop_front();
        }
        let at = self.queue.iter().position(|job| !self.running.contains(&job.batch.table.name))?;
        self.queue.remove(at)
    }

    /// A writer is done with a job that had so many rows left when it took it.
    pub fn done(&mut self, table: &Text, rows: usize) {
        self.release(table, rows);
        self.resting.went_well(table);
        self.note();
    }

    /// The server wants fewer inserts of this table: the job and all others of the table rest for a while. For how
    /// long.
    pub fn rest(&mut self, job: Job, rows: usize, now: Instant) -> Duration {
        let name = job.batch.table.name.clone();
        self.release(&name, rows);
        let is_other = |job: &Job| job.batch.table.name == name;
        let (others, kept): (VecDeque<Job>, VecDeque<Job>) = self.queue.drain(..).partition(is_other);
        self.queue = kept;
        let wait = self.resting.start(job, others, now);
        self.note();
        wait
    }

    fn release(&mut self, table: &Text, rows: usize) {
        self.running.remove(table);
        self.in_flight.0 = self.in_flight.0.saturating_sub(1);
        self.in_flight.1 = self.in_flight.1.saturating_sub(rows);
    }

    /// Nothing comes any more: everything goes now.
    pub fn close(&mut self, now: Instant) {
        self.closing = true;
        let names: Vec<Text> = self.buffers.keys().cloned().collect();
        for name in names {
            self.cut(&name, Flush::Shutdown);
        }
        self.buffers.clear();
        self.resting.hurry(now, Duration::ZERO);
        self.note();
    }

    /// Ends the rest of all tables within a second, because the pipeline is to stop.
    pub fn hurry(&mut self, now: Instant) {
        self.resting.hurry(now, Duration::MAX);
    }

    /// Whether nothing waits or is on its way.
    pub fn is_empty(&self) -> bool {
        self.in_flight.0 == 0 && self.queue.is_empty() && self.resting.has_no_jobs()
    }

    /// Gives up what waits, and says how many rows have no answer.
    pub fn abandon(&mut self) -> usize {
        let rows: usize = self.queue.drain(..).chain(self.resting.drain()).map(|job| job.rows.left()).sum();
        self.buffered = 0;
        self.note();
        rows + self.in_flight.1
    }

    fn note(&self) {
        self.counters.queued.set(self.queue.len() as u64);
        self.counters.tables.set(self.buffers.len() as u64);
        self.counters.buffered.set((self.buffered + self.resting.bytes()) as u64);
    }
}

#[cfg(test)]
mod tests;
