//! Rows that are given up: to the dead letter queue, to a file, or dropped with a line in the log.

use std::path::Path;

use super::LOG;
use super::batch::Job;
use super::reply::Failure;
use super::sink::Sink;
use crate::event::Event;
use crate::plugins::Sent;

impl Sink {
    /// Sends events of rows to the dead letter queue, each with what the server said; without a queue they are
    /// dropped. `false` when one of them is neither stored nor dropped on purpose.
    pub async fn bury(&self, job: &mut Job, rows: &[u32], failure: &Failure) -> bool {
        let reason = format!(
            "Could not insert event into ClickHouse. table: {}, code: {}, message: {}",
            job.batch.table.label,
            failure.shown_code(),
            failure.message
        );
        if !self.dead_letters.is_enabled() {
            self.counters.dropped.add(rows.len() as u64);
            tracing::warn!(target: LOG, rows = rows.len(), "event dropped, there is no dead letter queue: {reason}");
            return true;
        }
        let events: Vec<Event> = rows.iter().filter_map(|row| job.batch.take_event(*row as usize)).collect();
        let (dead_letters, shown) = (self.dead_letters.clone(), reason.clone());
        let span = tracing::Span::current();
        // A full disk makes it wait.
        let sent = tokio::task::spawn_blocking(move || {
            span.in_scope(|| {
                let entries: Vec<(&Event, &str)> = events.iter().map(|event| (event, reason.as_str())).collect();
                dead_letters.send_all(&entries)
            })
        });
        let sent = sent.await.unwrap_or_else(|_| vec![Sent::NotStored]);
        let skipped = sent.iter().filter(|sent| **sent == Sent::Skipped).count();
        if skipped > 0 {
            self.counters.dropped.add(skipped as u64);
            tracing::warn!(target: LOG, "event dropped, the dead letter queue did not take it: {shown}");
        }
        self.counters.dead.add(sent.len().saturating_sub(skipped) as u64);
        !sent.contains(&Sent::NotStored)
    }

    /// Drops rows because the user prefers that to waiting.
    pub fn drop_rows(&self, job: &Job, rows: usize, failure: &Failure) {
        self.counters.dropped.add(rows as u64);
        tracing::warn!(target: LOG, table = job.batch.table.label.as_str(), rows, code = failure.shown_code(),
            "{rows} rows for {} are dropped after all retries: {}", job.batch.table.label, failure.message);
    }

    /// Writes the current insert to a file of its own in `save_dir`. `false` when that failed.
    pub async fn save(&self, job: &mut Job, failure: &Failure) -> bool {
        let name = format!("{}_{}.json", job.batch.table.name.replace('/', "_"), uuid::Uuid::new_v4().simple());
        let path = self.settings.save_dir.join(name);
        let rows: Vec<u8> = job.rows.next().flat_map(|row| job.batch.row(row as usize)).collect();
        let (count, table) = (job.rows.len(), job.batch.table.label.clone());
        match write(&path, rows).await {
            Ok(()) => {
                self.counters.dropped.add(count as u64);
                tracing::warn!(target: LOG, table, rows = count, path = %path.display(),
                    "{count} rows for {} were saved to {} after all retries, code {}: {}",
                    job.batch.table.label, path.display(), failure.shown_code(), failure.message);
                true
            }
            Err(error) => {
                tracing::error!(target: LOG, table, rows = count, path = %path.display(),
                    "{count} rows cannot be saved to {} and are tried again: {error}", path.display());
                false
            }
        }
    }
}

async fn write(path: &Path, rows: Vec<u8>) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        tokio::fs::create_dir_all(folder).await?;
    }
    tokio::fs::write(path, rows).await
}
