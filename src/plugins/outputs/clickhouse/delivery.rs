//! Writers: each takes a job and sends its rows until the last one has an answer.
//!
//! An insert that failed goes again with the same body and token. What follows from a failure says [`Verdict`]; which
//! row is to blame finds [`super::isolation`].

use std::time::Duration;

use super::super::waits::Waits;
use super::LOG;
use super::batch::{Insert, Job};
use super::client::Unreachable;
use super::counters::Counters;
use super::isolation::Refused;
use super::nodes::Lent;
use super::options::{Delivery, Exhausted};
use super::reply::Failure;
use super::sink::Sink;
use super::verdict::{UNKNOWN_SETTING, Verdict};

/// The longest wait before a retry while the pipeline is to stop.
const LAST_WAITS: Duration = Duration::from_secs(1);

/// How a writer left a job.
enum End {
    /// Every row has its answer.
    Done(Box<Job>),
    /// The table rests.
    Rests(Box<Job>),
    /// The pipeline ends; the rows are not acknowledged.
    Abandoned,
}

/// What a try led to.
enum Try {
    Stored,
    Failed(Verdict, Failure),
    /// No answer from the node.
    Lost(Unreachable),
}

/// What a writer does next with an insert.
enum Next {
    /// Goes on with the same or the next insert.
    On,
    /// Waits first.
    Wait,
    /// Puts the job back.
    Rest,
}

impl Sink {
    /// Delivers jobs until there are no more.
    pub async fn write_jobs(&self) {
        while let Some(job) = self.queue.next().await {
            let (table, rows) = (job.batch.table.name.clone(), job.rows.left());
            let ended = tokio::select! {
                ended = self.deliver(job) => ended,
                () = self.queue.abandoned.cancelled() => End::Abandoned,
            };
            match ended {
                End::Done(mut job) => {
                    // Leases that are dropped instead keep their source where it is.
                    if !job.is_lost {
                        std::mem::take(&mut job.batch.leases).into_iter().for_each(crate::plugins::Lease::settle);
                    }
                    self.queue.done(&table, rows);
                }
                End::Rests(job) => {
                    let wait = self.queue.rest(*job, rows);
                    tracing::warn!(target: LOG, table = table.as_str(), will_retry_in_seconds = wait.as_secs_f64(),
                        "Inserts into {table} rest for {} s, those into other tables go on", wait.as_secs_f64());
                }
                End::Abandoned => self.queue.done(&table, rows),
            }
        }
    }

    async fn deliver(&self, mut job: Job) -> End {
        while job.rows.left() > 0 {
            let insert = match self.insert(&mut job).await {
                Some(insert) => insert,
                None => return End::Abandoned,
            };
            let (node, tried) = self.attempt(&mut job, &insert).await;
            match self.settle(&mut job, &insert, &node, tried).await {
                Next::On => {}
                Next::Wait => {
                    drop(node);
                    self.pause(&mut job).await;
                }
                Next::Rest => return End::Rests(Box::new(job)),
            }
        }
        End::Done(Box::new(job))
    }

    /// The insert that is due, packed once.
    async fn insert(&self, job: &mut Job) -> Option<Insert> {
        if let Some(insert) = &job.insert {
            return Some(insert.clone());
        }
        let (bytes, token) = job.cut();
        let (size, rows, compression) = (bytes.len(), job.rows.len(), self.settings.compression);
        // Compressing a large insert takes long enough to hold up other tasks.
        let packed = tokio::task::spawn_blocking(move || compression.pack(bytes)).await;
        let body = packed.ok()?.ok()?;
        let insert = Insert { token, body, size, rows };
        job.insert = Some(insert.clone());
        Some(insert)
    }

    /// Sends an insert to a node, as soon as one is healthy.
    async fn attempt(&self, job: &mut Job, insert: &Insert) -> (Lent, Try) {
        let node = loop {
            match self.nodes.lend(&mut job.progress.tried) {
                Some(node) => break node,
                None => self.nodes.until_one_is_healthy().await,
            }
        };
        let tried = self.post(job, insert, &node).await;
        (node, tried)
    }

    async fn post(&self, job: &Job, insert: &Insert, node: &Lent) -> Try {
        let mut quick_retries = self.settings.automatic_retries;
        // It fails only when it is closed, which it never is.
        let _permit = node.permits.acquire().await;
        loop {
            let query_id = uuid::Uuid::new_v4().to_string();
            let url = self.requests.insert(&node.address.base, &job.batch.table, &insert.token, &query_id);
            let posted = node.http.post(url, self.settings.compression.encoding(), insert.body.clone()).await;
            let tried = match posted.map(|reply| Failure::of(&reply)) {
                Ok(Ok(())) => return Try::Stored,
                Ok(Err(failure)) => Try::Failed(Verdict::on(&failure, &self.settings.exclude_codes), failure),
                Err(_) if quick_retries > 0 => {
                    quick_retries -= 1;
                    continue;
                }
                Err(lost) => Try::Lost(lost),
            };
            log(job, insert, &node.label, &query_id, &tried);
            return tried;
        }
    }

    async fn settle(&self, job: &mut Job, insert: &Insert, node: &Lent, tried: Try) -> Next {
        let counters: &Counters = &self.counters;
        let (verdict, failure) = match tried {
            Try::Stored => (Verdict::Stored, None),
            Try::Failed(verdict, failure) => (verdict, Some(failure)),
            Try::Lost(lost) => {
                if lost.may_have_arrived {
                    self.stay_in_shard(job, node);
                }
                (Verdict::NodeFault, Some(Failure::lost(lost.why)))
            }
        };
        if let Some(code) = failure.as_ref().and_then(|failure| failure.code) {
            counters.code(code);
        }
        let Some(failure) = failure.filter(|_| verdict != Verdict::Stored) else {
            counters.successes.add(1);
            counters.inserted.add(insert.rows as u64);
            counters.bytes.add(insert.size as u64);
            job.rows.answered();
            job.answered();
            return Next::On;
        };
        counters.failures.add(1);
        job.progress.tried.add(node);
        match verdict {
            Verdict::NodeFault => {
                self.nodes.exclude(node, &format!("code {}, {}", failure.shown_code(), failure.message));
                self.again_elsewhere(job, insert, &failure).await
            }
            Verdict::BadData => {
                let refused = job.rows.refused(failure.row);
                self.refused(job, &refused, &failure).await
            }
            Verdict::TooLarge => {
                let refused = job.rows.too_large();
                self.refused(job, &refused, &failure).await
            }
            Verdict::Schema if self.settings.has_many_tables => {
                self.give_up(job, &failure, Exhausted::DeadLetters).await
            }
            Verdict::Access if failure.code == Some(UNKNOWN_SETTING) && self.forgets_setting(&failure) => Next::On,
            Verdict::Access | Verdict::TableDenied if self.settings.delivery == Delivery::AtLeastOnce => {
                // No number of tries helps; somebody has to see the error line.
                counters.retries.add(1);
                if verdict == Verdict::TableDenied { Next::Rest } else { Next::Wait }
            }
            Verdict::TablePauses => match self.counted(job, insert, &failure).await {
                Next::Wait => Next::Rest,
                other => other,
            },
            Verdict::Unclear => {
                self.stay_in_shard(job, node);
                self.counted(job, insert, &failure).await
            }
            _ => self.counted(job, insert, &failure).await,
        }
    }

    /// A retry of what may have been stored goes first to nodes that would know.
    fn stay_in_shard(&self, job: &mut Job, node: &Lent) {
        if self.settings.local_table {
            job.progress.tried.shard = node.address.shard;
        }
    }

    fn forgets_setting(&self, failure: &Failure) -> bool {
        let forgotten = self.requests.forget_setting(&failure.message);
        if let Some(name) = forgotten {
            tracing::warn!(target: LOG, setting = name,
                "The server does not know the setting `{name}`: it is left out from now on");
        }
        forgotten.is_some()
    }

    /// The next node, at once while there is one that was not tried.
    async fn again_elsewhere(&self, job: &mut Job, insert: &Insert, failure: &Failure) -> Next {
        match self.counted(job, insert, failure).await {
            Next::Wait if self.nodes.has_fresh(&job.progress.tried) => Next::On,
            other => other,
        }
    }

    /// Counts a failed try. When there were too many, the options say what becomes of the rows.
    async fn counted(&self, job: &mut Job, insert: &Insert, failure: &Failure) -> Next {
        job.progress.tries += 1;
        let most = self.settings.retries;
        if most.is_none_or(|most| job.progress.tries <= most) {
            self.counters.retries.add(1);
            self.counters.retried.add(insert.rows as u64);
            return Next::Wait;
        }
        self.counters.exhausted.add(1);
        match self.settings.exhausted {
            Exhausted::Keep => {
                job.progress.tries = 0;
                self.counters.retries.add(1);
                self.counters.retried.add(insert.rows as u64);
                tracing::error!(target: LOG, table = job.batch.table.label.as_str(), rows = insert.rows,
                    "All retries of an insert into {} failed, its {} rows are kept and tried again, code {}: {}",
                    job.batch.table.label, insert.rows, failure.shown_code(), failure.message);
                Next::Wait
            }
            other => self.give_up(job, failure, other).await,
        }
    }

    /// Waits before a retry, longer each time; not long once the pipeline is to stop.
    async fn pause(&self, job: &mut Job) {
        let rhythm = self.settings.retry;
        let wait = job.progress.waits.get_or_insert_with(|| Waits::new(rhythm)).next();
        if self.stop.is_cancelled() {
            tokio::time::sleep(wait.min(LAST_WAITS)).await;
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.stop.cancelled() => {}
        }
    }

    async fn refused(&self, job: &mut Job, refused: &Refused, failure: &Failure) -> Next {
        job.answered();
        if let Refused::Bad(row) = refused {
            let is_safe = self.bury(job, &[*row], failure).await;
            job.is_lost |= !is_safe;
        }
        Next::On
    }

    /// Gives up all rows of the current insert.
    async fn give_up(&self, job: &mut Job, failure: &Failure, how: Exhausted) -> Next {
        let rows: Vec<u32> = job.rows.next().collect();
        match how {
            Exhausted::Drop => self.drop_rows(job, rows.len(), failure),
            Exhausted::Save => {
                if !self.save(job, failure).await {
                    job.progress.tries = 0;
                    return Next::Wait;
                }
            }
            Exhausted::DeadLetters | Exhausted::Keep => {
                let is_safe = self.bury(job, &rows, failure).await;
                job.is_lost |= !is_safe;
            }
        }
        job.rows.answered();
        job.answered();
        Next::On
    }
}

fn log(job: &Job, insert: &Insert, node: &str, query_id: &str, tried: &Try) {
    let table = job.batch.table.label.as_str();
    let (code, why) = match tried {
        Try::Stored | Try::Failed(Verdict::Stored, _) => return,
        Try::Failed(_, failure) => (failure.shown_code(), failure.message.as_str()),
        Try::Lost(lost) => ("none".to_owned(), lost.why.as_str()),
    };
    let rows = insert.rows;
    match tried {
        // What becomes of the rows is logged when it is known.
        Try::Failed(Verdict::BadData | Verdict::TooLarge, _) => tracing::debug!(target: LOG, table, node, code,
            query_id, rows, "An insert into {table} was refused: {why}"),
        Try::Failed(Verdict::Schema | Verdict::Access | Verdict::TableDenied, _) => {
            tracing::error!(target: LOG, table, node, code, query_id, rows,
                "An insert into {table} failed, code {code}: {why}");
        }
        _ => tracing::warn!(target: LOG, table, node, code, query_id, rows,
            "An insert into {table} failed, code {code}: {why}"),
    }
}
