//! Rows that go to one table together, from the buffer they are gathered in to their last insert.

use std::ops::Range;
use std::sync::Arc;

use tokio_util::bytes::Bytes;

use super::isolation::Isolation;
use super::nodes::Tried;
use super::table::Table;
use crate::event::{Event, Text};
use crate::plugins::Lease;

/// Rows one after the other, each with its line end.
#[derive(Default)]
pub(super) struct Rows {
    pub bytes: Vec<u8>,
    /// Where each row ends.
    pub ends: Vec<usize>,
    /// What the rows were made of; kept only for a dead letter queue.
    pub events: Vec<Event>,
}

impl Rows {
    /// The bytes of a row.
    pub fn row(&self, at: usize) -> &[u8] {
        self.bytes.get(row_range(&self.ends, at)).unwrap_or_default()
    }
}

/// Where the bytes of a row are, when each row ends at its place in `ends`; nothing for a row that is not there.
fn row_range(ends: &[usize], at: usize) -> Range<usize> {
    let start = at.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    start..ends.get(at).copied().unwrap_or(start)
}

/// Rows of one part of a pipeline's batch, for one table.
pub(super) struct Group {
    /// The name of the table.
    pub table: Text,
    pub rows: Rows,
}

/// Rows cut from a buffer; never changed again.
pub(super) struct Batch {
    pub table: Arc<Table>,
    pub bytes: Bytes,
    ends: Vec<usize>,
    /// As many as rows, or none.
    events: Vec<Event>,
    /// Settled when the last row has its answer.
    pub leases: Vec<Lease>,
    token: String,
}

impl Batch {
    /// Closes a buffer.
    pub fn new(table: Arc<Table>, rows: Rows, leases: Vec<Lease>) -> Self {
        let token = uuid::Uuid::new_v4().simple().to_string();
        Self { table, bytes: rows.bytes.into(), ends: rows.ends, events: rows.events, leases, token }
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of a row; the batch itself when it has only this one.
    pub fn row(&self, at: usize) -> Bytes {
        self.bytes.slice(row_range(&self.ends, at))
    }

    /// What a row was made of, once.
    pub fn take_event(&mut self, at: usize) -> Option<Event> {
        self.events.get_mut(at).map(std::mem::take)
    }
}

/// A batch with what is known about its delivery.
pub(super) struct Job {
    pub batch: Batch,
    pub rows: Isolation,
    pub progress: Progress,
    /// The insert that is on its way: sent again as it is until it has an answer.
    pub insert: Option<Insert>,
    /// How many inserts there were before.
    inserts: u32,
    /// A dead row could not be stored: nothing of the batch may be acknowledged.
    pub is_lost: bool,
}

/// Tries of the current insert.
#[derive(Default)]
pub(super) struct Progress {
    /// Failed tries since the last success or round.
    pub tries: u32,
    /// The wait before the last try, in the doubling sequence.
    pub waits: Option<super::super::waits::Waits>,
    pub tried: Tried,
}

/// An insert, packed.
#[derive(Clone)]
pub(super) struct Insert {
    /// The same for every try, so that the server stores it once.
    pub token: String,
    pub body: Bytes,
    /// Bytes before compression.
    pub size: usize,
    pub rows: usize,
}

impl Job {
    /// Nothing was sent yet.
    pub fn new(batch: Batch) -> Self {
        let rows = Isolation::new(batch.len());
        Self { batch, rows, progress: Progress::default(), insert: None, inserts: 0, is_lost: false }
    }

    /// The rows of the next insert and the token that it gets.
    pub fn cut(&mut self) -> (Bytes, String) {
        self.inserts += 1;
        let token = match self.inserts {
            1 => self.batch.token.clone(),
            n => format!("{}-{n}", self.batch.token),
        };
        if self.rows.len() == self.batch.len() {
            return (self.batch.bytes.clone(), token);
        }
        let mut bytes = Vec::new();
        for row in self.rows.next() {
            bytes.extend_from_slice(&self.batch.row(row as usize));
        }
        (bytes.into(), token)
    }

    /// The current insert has an answer.
    pub fn answered(&mut self) {
        self.insert = None;
        self.progress = Progress::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        let mut rows = Rows::default();
        for row in ["a\n", "bb\n", "ccc\n", "d\n"] {
            rows.bytes.extend_from_slice(row.as_bytes());
            rows.ends.push(rows.bytes.len());
        }
        assert_eq!((rows.row(0), rows.row(2), rows.row(9)), (&b"a\n"[..], &b"ccc\n"[..], &b""[..]));
        Job::new(Batch::new(Arc::new(Table::new(Text::from("t"), "d")), rows, Vec::new()))
    }

    #[test]
    fn each_insert_has_rows_and_a_token_of_its_own() {
        let mut job = job();
        let (all, first) = job.cut();
        assert_eq!(all, "a\nbb\nccc\nd\n");
        job.rows.refused(Some(2));
        let (accused, second) = job.cut();
        assert_eq!(accused, "bb\n");
        job.rows.refused(None);
        let (others, third) = job.cut();
        assert_eq!(others, "a\nccc\nd\n");
        assert!(first != second && second != third && second.starts_with(&first) && third.starts_with(&first));
    }
}
