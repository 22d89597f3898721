//! The only place where workers, writers and the clock meet: [`Buffers`] behind a lock, and who waits for what.

use std::pin::pin;
use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::batch::{Group, Job};
use super::buffers::{Buffers, Found, Signals};
use super::counters::Counters;
use crate::event::Text;
use crate::plugins::{GivenBack, Lease, Stop};

/// Rows on their way from workers to writers.
pub(super) struct Queue {
    buffers: Mutex<Buffers>,
    /// Workers wait for room.
    room: Notify,
    /// Writers wait for jobs.
    jobs: Notify,
    /// The clock waits for the next time.
    times: Notify,
    /// Who closes waits for the end of all jobs.
    empty: Notify,
    /// When the pipeline was asked to stop.
    stopped: OnceLock<Instant>,
    /// How long everything may take from then on.
    patience: Duration,
    /// Writers give up.
    pub abandoned: Stop,
}

impl Queue {
    /// Nothing waits.
    pub fn new(buffers: Buffers, patience: Duration) -> Self {
        Self {
            buffers: Mutex::new(buffers),
            room: Notify::new(),
            jobs: Notify::new(),
            times: Notify::new(),
            empty: Notify::new(),
            stopped: OnceLock::new(),
            patience,
            abandoned: Stop::new(),
        }
    }

    /// Puts rows in; while there is no room, waits.
    pub async fn put(
        &self,
        mut group: Group,
        lease: Option<&Lease>,
        counters: &Counters,
        stop: &Stop,
    ) -> Result<(), GivenBack> {
        let mut next = 0;
        loop {
            let mut room = pin!(self.room.notified());
            room.as_mut().enable();
            let (all, signals) = {
                let mut buffers = self.buffers.lock();
                (buffers.append(&mut group, &mut next, lease, Instant::now()), buffers.signals())
            };
            self.wake(&signals);
            if all {
                return Ok(());
            }
            let since = Instant::now();
            let has_room = tokio::select! {
                () = room => true,
                () = self.until_patience_ends(stop) => false,
            };
            counters.waited(since.elapsed());
            if !has_room {
                return Err(GivenBack);
            }
        }
    }

    /// The next job; `None` when there will be none.
    pub async fn next(&self) -> Option<Job> {
        loop {
            let mut jobs = pin!(self.jobs.notified());
            jobs.as_mut().enable();
            let (found, signals) = {
                let mut buffers = self.buffers.lock();
                (buffers.next(Instant::now()), buffers.signals())
            };
            let until = match found {
                Found::Job(job) => {
                    self.room.notify_waiters();
                    self.wake(&signals);
                    return Some(*job);
                }
                Found::End => return None,
                Found::Nothing(until) => until,
            };
            tokio::select! {
                () = jobs => {}
                () = until_time(until) => {}
                () = self.abandoned.cancelled() => return None,
            }
        }
    }

    /// A writer is done with a job that had so many rows left when it took it.
    pub fn done(&self, table: &Text, rows: usize) {
        let others = {
            let mut buffers = self.buffers.lock();
            buffers.done(table, rows);
            buffers.waits_for_jobs()
        };
        self.released(others);
    }

    /// A job waits with all others of its table. For how long.
    pub fn rest(&self, job: Job, rows: usize) -> Duration {
        let wait = self.buffers.lock().rest(job, rows, Instant::now());
        self.released(true);
        wait
    }

    fn released(&self, others: bool) {
        self.room.notify_waiters();
        self.empty.notify_waiters();
        if others {
            self.jobs.notify_waiters();
        }
    }

    fn wake(&self, signals: &Signals) {
        // Whoever takes a job wakes the next one.
        if signals.job {
            self.jobs.notify_one();
        }
        if signals.time {
            self.times.notify_one();
        }
    }

    /// Empties buffers when their rows are old enough, until `closed`.
    pub async fn watch_the_clock(&self, closed: &Stop) {
        loop {
            let mut times = pin!(self.times.notified());
            times.as_mut().enable();
            let (due, signals) = {
                let mut buffers = self.buffers.lock();
                buffers.cut_aged(Instant::now());
                (buffers.next_due(), buffers.signals())
            };
            if signals.job {
                self.jobs.notify_one();
            }
            self.room.notify_waiters();
            tokio::select! {
                () = until_time(due) => {}
                () = times => {}
                () = closed.cancelled() => return,
            }
        }
    }

    /// Sees that the pipeline is to stop: tables no longer rest, and time runs.
    pub async fn watch_for_stop(&self, stop: &Stop) {
        stop.cancelled().await;
        self.stopped.get_or_init(Instant::now);
        self.buffers.lock().hurry(Instant::now());
        self.jobs.notify_waiters();
    }

    /// Sends everything that waits, and waits for it. Gives the number of rows that were not stored in time.
    pub async fn close(&self) -> usize {
        let end = *self.stopped.get_or_init(Instant::now) + self.patience;
        self.buffers.lock().close(Instant::now());
        self.jobs.notify_waiters();
        loop {
            let mut empty = pin!(self.empty.notified());
            empty.as_mut().enable();
            if self.buffers.lock().is_empty() {
                // Writers that wait for jobs learn that there are none.
                self.abandoned.cancel();
                return 0;
            }
            tokio::select! {
                () = empty => {}
                () = sleep_until(end) => break,
            }
        }
        // Counted first: writers that give up count their rows as gone.
        let lost = self.buffers.lock().abandon();
        self.abandoned.cancel();
        lost
    }

    async fn until_patience_ends(&self, stop: &Stop) {
        stop.cancelled().await;
        let since = *self.stopped.get_or_init(Instant::now);
        sleep_until(since + self.patience).await;
    }
}

async fn until_time(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
