//! The end that workers take from: one at a time cuts elements out of a page, and decodes them when the next one may.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::time::{Duration, Instant};

use super::element::Reader;
use super::page::{self, HEADER, Slot};
use super::pages::Unread;
use super::{Inner, PersistedQueue};
use crate::acknowledgement::Lease;
use crate::event::Bytes;
use crate::queue::Taken;

/// Bytes that are read at a time.
const PIECE: u64 = 1 << 18;
/// Pause between two tries to read from a disk that refuses.
const RETRY: Duration = Duration::from_secs(1);

/// How far the queue is read. Its lock makes readers one after the other.
#[derive(Default)]
pub struct ReadEnd {
    page: Option<u32>,
    /// Number of the next element, and where it starts.
    next: u64,
    offset: u64,
    /// A piece of the page, and where it starts.
    piece: Bytes,
    piece_at: u64,
}

/// A batch before it is decoded: elements of one page without a gap.
struct Cut {
    page: u32,
    first: u64,
    count: u64,
    elements: Vec<(u64, Bytes, u32)>,
}

/// What a worker finds when it looks for a batch.
enum Found {
    Elements(Unread),
    Flush,
    End,
}

impl PersistedQueue {
    /// Takes up to `most` events of one page. Waits for the first one as long as it takes, then for more at most
    /// `delay` after each that came. `None` when the queue is closed and empty, or what is in it stays there.
    pub fn take(&self, most: usize, delay: Duration) -> Option<Taken> {
        let (cut, flush) = {
            let mut end = self.0.read.lock();
            let cut = self.0.cut(&mut end, most as u64, delay)?;
            let due = &self.0.flush_due;
            (cut, due.load(Relaxed) && due.swap(false, AcqRel))
        };
        let mut taken = Taken { flush, ..Taken::default() };
        if let Some(cut) = cut {
            self.decode(&cut, &mut taken);
            let (queue, Cut { page, first, count, .. }) = (self.0.clone(), cut);
            taken.leases.push(Lease::new(move |ok| {
                if ok {
                    queue.acknowledge(page, first, count);
                }
            }));
        }
        Some(taken)
    }

    /// What cannot be read is lost, and told; it must not stop what comes after it.
    fn decode(&self, cut: &Cut, taken: &mut Taken) {
        let mut reader = Reader::new(self.0.settings.compression);
        taken.events.reserve(cut.elements.len());
        for (number, payload, crc) in &cut.elements {
            match reader.read(payload, *crc, &self.0.counters.decoded) {
                Ok(event) => taken.events.push(event),
                Err(error) => self.0.tell_lost(cut.page, *number, 1, &error.to_string()),
            }
        }
    }
}

impl Inner {
    /// Nothing when only a flush is due.
    #[allow(clippy::option_option, reason = "the end, a flush, or a batch")]
    fn cut(&self, end: &mut ReadEnd, most: u64, delay: Duration) -> Option<Option<Cut>> {
        loop {
            let unread = match self.find(end, most, delay) {
                Found::Elements(unread) => unread,
                Found::Flush => return Some(None),
                Found::End => return None,
            };
            match self.cut_from(end, &unread, most.min(unread.count)) {
                Ok(cut) => {
                    let mut pages = self.pages.lock();
                    let was_full = pages.is_full(&self.settings);
                    pages.unread = pages.unread.saturating_sub(cut.count);
                    if was_full && !pages.is_full(&self.settings) {
                        self.room.notify_waiters();
                    }
                    return Some(Some(cut));
                }
                Err(error) => {
                    self.tell_failure("read from", &error);
                    *end = ReadEnd { page: Some(unread.number), next: unread.from, ..ReadEnd::default() };
                    std::thread::sleep(RETRY);
                }
            }
        }
    }

    fn find(&self, end: &ReadEnd, most: u64, delay: Duration) -> Found {
        let mut pages = self.pages.lock();
        let mut seen = 0;
        let mut deadline = None;
        loop {
            if pages.leave_rest {
                return Found::End;
            }
            let Some(unread) = pages.unread_after(end.page, end.next) else {
                if pages.closed {
                    return Found::End;
                }
                if self.flush_due.load(Acquire) {
                    return Found::Flush;
                }
                self.filled.wait(&mut pages);
                continue;
            };
            let no_more_comes = !unread.is_head || pages.closed || self.flush_due.load(Acquire);
            let is_late = unread.count == seen && deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if no_more_comes || unread.count >= most || is_late {
                return Found::Elements(unread);
            }
            if unread.count > seen {
                seen = unread.count;
                deadline = Instant::now().checked_add(delay);
            }
            match deadline {
                Some(deadline) => drop(self.filled.wait_until(&mut pages, deadline)),
                None => self.filled.wait(&mut pages),
            }
        }
    }

    /// Cuts up to `most` elements out of a page, from where the reader is.
    fn cut_from(&self, end: &mut ReadEnd, unread: &Unread, most: u64) -> io::Result<Cut> {
        // A reader that comes to a page passes over what is acknowledged.
        if end.page != Some(unread.number) || end.offset == 0 {
            *end = ReadEnd { page: Some(unread.number), next: unread.page_first, offset: HEADER, ..ReadEnd::default() };
        }
        let mut cut = Cut { page: unread.number, first: unread.from, count: 0, elements: Vec::new() };
        while cut.count < most {
            let left = unread.end.saturating_sub(end.offset);
            let at = usize::try_from(end.offset - end.piece_at).unwrap_or(usize::MAX);
            match page::slot(&end.piece, at, left, end.next) {
                Slot::Element(element) => {
                    if element.number >= unread.from {
                        let payload = end.piece.slice(element.payload.clone()).unwrap_or_default();
                        cut.elements.push((element.number, payload, element.crc));
                        cut.count += 1;
                    }
                    end.offset += (element.payload.len() + page::OVERHEAD) as u64;
                    end.next += 1;
                }
                Slot::Needs(bytes) => end.load(&unread.file, (bytes as u64).max(PIECE).min(left))?,
                Slot::Nothing => {
                    // Without a length nobody knows where the next one starts.
                    let rest = unread.from + unread.count - end.next;
                    self.tell_lost(unread.number, end.next, rest, "there is no element where one should be");
                    cut.count = unread.from + unread.count - cut.first;
                    end.next += rest;
                    end.offset = unread.end;
                    break;
                }
            }
        }
        Ok(cut)
    }

    fn tell_lost(&self, page: u32, first: u64, count: u64, why: &str) {
        self.counters.corrupt_events.add(count);
        let last = first + count.saturating_sub(1);
        tracing::error!(target: "logstash.queue", "{count} events of the persisted queue {} are damaged and are passed \
            over: page.{page}, numbers {first} to {last}: {why}", self.settings.directory.display());
    }
}

impl ReadEnd {
    fn load(&mut self, file: &Arc<File>, bytes: u64) -> io::Result<()> {
        let mut piece = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut piece, self.offset)?;
        self.piece = Bytes::from(piece);
        self.piece_at = self.offset;
        Ok(())
    }
}
