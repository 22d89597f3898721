//! The end that inputs write to: events become elements outside of any lock, get their numbers in the order of writing,
//! and go to the head page many at a time.
//!
//! A full queue lets the first element of a push in and makes its input wait after that, as Logstash does, so that
//! nothing is lost when the process dies while an input waits. A disk that refuses makes it wait as well, and is asked
//! again each second.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::element::Writer;
use super::page::{self, HEADER};
use super::pages::Pages;
use super::settings::{Durability, Settings};
use super::{Inner, PersistedQueue};
use crate::acknowledgement::Lease;
use crate::event::{Event, EventStream};
use crate::queue::{Chunk, Closed};

/// Pause between two tries to write to a disk that refuses.
const RETRY: Duration = Duration::from_secs(1);
/// Events are encoded and written in pieces of about this size, in bytes and in number.
const PIECE_BYTES: usize = 1 << 20;
const PIECE_EVENTS: usize = 4096;
/// Events that are decoded at a time.
const STEP: usize = 64;

/// Where the next element goes. Its lock makes writers one after the other.
pub struct WriteEnd {
    /// The head page.
    pub number: u32,
    /// Open for writing.
    pub file: Arc<File>,
    /// Bytes of the page.
    pub capacity: u64,
    /// Where its data ends.
    pub offset: u64,
    /// Number of the next element.
    pub next: u64,
}

/// Elements without numbers, back to back.
#[derive(Default)]
struct Run {
    bytes: Vec<u8>,
    /// Bytes of each.
    sizes: Vec<usize>,
    /// What is written: elements, and bytes.
    done: (usize, usize),
}

impl Run {
    fn clear(&mut self) {
        self.bytes.clear();
        self.sizes.clear();
        self.done = (0, 0);
    }

    fn left(&self) -> &[usize] {
        self.sizes.get(self.done.0..).unwrap_or_default()
    }

    /// The bytes of the next `count` elements, which get their numbers.
    fn numbered(&mut self, count: usize, first: u64) -> &[u8] {
        let (elements, start) = self.done;
        let mut at = start;
        for (size, number) in self.sizes.iter().skip(elements).take(count).zip(first..) {
            page::set_number(self.bytes.get_mut(at..at + size).unwrap_or_default(), number);
            at += size;
        }
        self.bytes.get(start..at).unwrap_or_default()
    }

    fn advance(&mut self, count: usize, bytes: usize) {
        self.done = (self.done.0 + count, self.done.1 + bytes);
    }
}

/// A push on its way.
struct Push {
    events: EventStream,
    lease: Option<Lease>,
    run: Run,
    writer: Option<Writer>,
    /// Events that are in since somebody was told.
    entered: u64,
    /// Whether its first element is in: from then on it waits for room.
    has_begun: bool,
    /// Number of the last element that was written.
    last: u64,
    /// Whether an event is neither in the queue nor anywhere else.
    has_lost: bool,
}

/// How far a push came.
enum Progress {
    Done,
    /// The queue is full; perhaps everything is in.
    Full,
    Closed,
    Failed(io::Error),
}

impl PersistedQueue {
    /// Writes a chunk, and waits while the queue is full. Its lease is settled once everything is written, or synced,
    /// as [`Durability`] says. `entered` hears of each part that is in.
    pub async fn push(&self, chunk: Chunk, entered: impl Fn(u64)) -> Result<(), Closed> {
        let mut push = Push {
            events: chunk.events,
            lease: chunk.lease,
            run: Run::default(),
            writer: None,
            entered: 0,
            has_begun: false,
            last: 0,
            has_lost: false,
        };
        loop {
            let inner = self.0.clone();
            // Encoding, writing and syncing take long enough to keep others of this thread waiting.
            let progressed = tokio::task::spawn_blocking(move || {
                let progress = inner.advance(&mut push);
                (push, progress)
            });
            let progress;
            (push, progress) = match progressed.await {
                Ok(progressed) => progressed,
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(_) => return Err(Closed),
            };
            entered(std::mem::take(&mut push.entered));
            match progress {
                Progress::Done => return Ok(()),
                Progress::Full => {
                    let is_in = push.is_in();
                    if !self.0.room_came().await {
                        return if is_in { Ok(()) } else { Err(Closed) };
                    }
                    if is_in {
                        return Ok(());
                    }
                }
                Progress::Closed => return Err(Closed),
                Progress::Failed(error) => {
                    self.0.tell_failure("write to", &error);
                    if self.0.pages.lock().closed {
                        return Err(Closed);
                    }
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }
}

impl Push {
    fn is_in(&self) -> bool {
        self.run.left().is_empty() && self.events.is_empty()
    }

    /// Turns the next events into elements. Those that can never be stored go to `refuse`.
    fn encode(&mut self, inner: &Inner) -> io::Result<()> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            slot => slot.insert(Writer::new(inner.settings.compression, inner.settings.page_capacity)?),
        };
        self.run.clear();
        let mut events: Vec<Event> = Vec::with_capacity(STEP.min(self.events.len()));
        while !self.events.is_empty() && self.run.bytes.len() < PIECE_BYTES && self.run.sizes.len() < PIECE_EVENTS {
            events.clear();
            self.events.take_into(STEP, &mut events);
            for event in &events {
                let start = self.run.bytes.len();
                match writer.write(event, &mut self.run.bytes, &inner.counters.encoded) {
                    Ok(()) => self.run.sizes.push(self.run.bytes.len() - start),
                    Err(unfit) => {
                        self.has_lost |= !(inner.refuse)(event, &unfit);
                        self.entered += 1;
                    }
                }
            }
        }
        Ok(())
    }

    /// Everything is safe.
    fn settle(&mut self) {
        if let Some(lease) = self.lease.take().filter(|_| !self.has_lost) {
            lease.settle();
        }
    }
}

impl Inner {
    fn advance(&self, push: &mut Push) -> Progress {
        loop {
            let progress = if push.run.left().is_empty() {
                if push.events.is_empty() {
                    return self.finish(push);
                }
                push.encode(self).map(|()| Progress::Done)
            } else {
                self.write(push)
            };
            match progress {
                Ok(Progress::Done) => {}
                // What is in is safe, and its source may know.
                Ok(Progress::Full) if push.is_in() => {
                    return match self.finish(push) {
                        Progress::Done => Progress::Full,
                        other => other,
                    };
                }
                Ok(other) => return other,
                Err(error) => return Progress::Failed(error),
            }
        }
    }

    fn finish(&self, push: &mut Push) -> Progress {
        if push.lease.is_some()
            && self.settings.durability == Durability::Disk
            && let Err(error) = self.sync_through(push.last)
        {
            return Progress::Failed(error);
        }
        push.settle();
        self.tell_success();
        Progress::Done
    }

    /// Writes what is encoded.
    fn write(&self, push: &mut Push) -> io::Result<Progress> {
        let mut end = self.write.lock();
        while let Some(first) = push.run.left().first() {
            let allowed = {
                let pages = self.pages.lock();
                if pages.closed {
                    return Ok(Progress::Closed);
                }
                elements_until_full(&pages, &self.settings, push.run.left(), !push.has_begun)
            };
            if allowed == 0 {
                return Ok(Progress::Full);
            }
            if end.offset + *first as u64 > end.capacity {
                self.roll(&mut end)?;
                continue;
            }
            self.write_to_head(&mut end, push, allowed)?;
        }
        let is_full = self.pages.lock().is_full(&self.settings);
        drop(end);
        self.mind_checkpoint(push.last)?;
        Ok(if is_full { Progress::Full } else { Progress::Done })
    }

    /// Writes up to `most` elements, as many as fit into the head.
    fn write_to_head(&self, end: &mut WriteEnd, push: &mut Push, most: usize) -> io::Result<()> {
        let room = end.capacity - end.offset;
        let mut size = 0;
        let fits = push.run.left().iter().take(most).take_while(|element| {
            let does = size + **element as u64 <= room;
            size += if does { **element as u64 } else { 0 };
            does
        });
        let count = fits.count();
        let bytes = push.run.numbered(count, end.next);
        let written = bytes.len();
        self.disk.write(end.number, &end.file, end.offset, bytes)?;
        let first = end.next;
        end.offset += written as u64;
        end.next += count as u64;
        self.pages.lock().written(first, count as u64, written as u64);
        self.filled.notify_one();
        push.run.advance(count, written);
        push.entered += count as u64;
        push.last = end.next - 1;
        push.has_begun = true;
        Ok(())
    }

    /// `queue.checkpoint.writes`: no more than so many elements are at the mercy of a power cut. From half of that on
    /// the checkpoint is on its way, so that few writers have to wait for it.
    fn mind_checkpoint(&self, last: u64) -> io::Result<()> {
        let most = self.settings.checkpoint_writes;
        let open = last.saturating_sub(self.synced.load(Relaxed));
        if most == 0 || open < most.div_ceil(2) {
            return Ok(());
        }
        self.keeper.ask();
        if open >= most { self.sync_through(last) } else { Ok(()) }
    }

    /// Waits until there is room; `false` when the queue is closed.
    async fn room_came(&self) -> bool {
        let mut room = std::pin::pin!(self.room.notified());
        loop {
            room.as_mut().enable();
            {
                let pages = self.pages.lock();
                if pages.closed {
                    return false;
                }
                if !pages.is_full(&self.settings) {
                    return true;
                }
            }
            room.as_mut().await;
            room.set(self.room.notified());
        }
    }

    /// Tells of a disk that refuses, once until it works again.
    pub(super) fn tell_failure(&self, what: &str, error: &io::Error) {
        self.counters.write_errors.add(1);
        if !self.is_stalled.swap(true, Relaxed) {
            tracing::error!(target: "logstash.queue", "cannot {what} the persisted queue {}: {error}; it is tried again \
                each second, and nothing is lost", self.settings.directory.display());
        }
    }

    /// What failed works again.
    pub(super) fn tell_success(&self) {
        if self.is_stalled.load(Relaxed) && self.is_stalled.swap(false, Relaxed) {
            let directory = self.settings.directory.display();
            tracing::info!(target: "logstash.queue", "the persisted queue {directory} can be written to again");
        }
    }
}

/// How many of these elements may go in before inputs have to wait. The first of a push may always.
fn elements_until_full(pages: &Pages, settings: &Settings, sizes: &[usize], is_first: bool) -> usize {
    let (mut used, mut unread) = (pages.used, pages.unread);
    let allowed = sizes.iter().enumerate().take_while(|(at, size)| {
        let is_full = (settings.max_bytes > 0 && used > settings.max_bytes)
            || (settings.max_events > 0 && unread >= settings.max_events);
        used += **size as u64;
        unread += 1;
        !is_full || (*at == 0 && is_first)
    });
    allowed.count()
}

impl WriteEnd {
    /// At the start of a page without elements.
    pub fn at_start(number: u32, file: Arc<File>, capacity: u64, next: u64) -> Self {
        Self { number, file, capacity, offset: HEADER, next }
    }
}
