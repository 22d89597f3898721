//! Checkpoints, new pages and the end of old ones. Each order of writes, syncs and deletions here is one that a process
//! or a machine may die in the middle of.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::time::Instant;

use super::Inner;
use super::disk::{HIGHEST_PAGE, Name};
use super::pages::{Due, Page};
use super::push::WriteEnd;

impl Inner {
    /// Makes a new head, because the next element does not fit into this one. When it fails, nothing has changed.
    pub(super) fn roll(&self, end: &mut WriteEnd) -> io::Result<()> {
        let open = self.files.lock();
        if !*open {
            return Err(io::Error::other("the queue is closed"));
        }
        let (old, new) = (end.number, end.number.saturating_add(1));
        if new > HIGHEST_PAGE {
            return Err(io::Error::other("there are no page numbers left"));
        }
        self.sync_head(old, &end.file, end.next - 1)?;
        let file = Arc::new(self.disk.create_page(new, self.settings.page_capacity)?);
        let page = Page::empty(new, file.clone());
        // IMPORTANT: the checkpoint of the tail is there before the head's names the new page, and both names are on
        // disk before an element is written to that page. Else a power cut could leave a page that nothing names.
        let tail = self.pages.lock().checkpoint(old);
        let first = self.pages.lock().tails.keys().next().copied().unwrap_or(old);
        let head = super::checkpoint::Checkpoint { page: new, first_unacked_page: first, ..Default::default() };
        let named = tail.map_or(Ok(()), |tail| self.disk.write_checkpoint(Name::Tail(old), &tail));
        let named = named.and_then(|()| self.disk.write_checkpoint(Name::Head, &head));
        if let Err(error) = named.and_then(|()| self.disk.sync_directory()) {
            self.undo_roll(old, new);
            return Err(error);
        }
        self.counters.checkpoints.add(2);
        self.disk.trim(&end.file, end.offset);
        let is_fully_acked = {
            let mut pages = self.pages.lock();
            pages.behead(page);
            pages.head_checkpoint = head;
            pages.checkpointed(tail.unwrap_or(head));
            !pages.to_free().is_empty()
        };
        *end = WriteEnd { number: new, file, capacity: self.settings.page_capacity, offset: 1, next: end.next };
        if is_fully_acked {
            self.keeper.ask();
        }
        Ok(())
    }

    /// The old head stays the head.
    fn undo_roll(&self, old: u32, new: u32) {
        let checkpoint = self.pages.lock().head_checkpoint;
        // In this order: a head's checkpoint must never name a page that is gone. Where the disk is too full even for
        // that, the new page stays, empty, and the old one is read beyond what its checkpoint says.
        let undone = self.disk.write_checkpoint(Name::Head, &checkpoint);
        let undone = undone.and_then(|()| self.disk.remove(Name::Page(new)));
        if let Err(error) = undone.and_then(|()| self.disk.remove(Name::Tail(old))) {
            tracing::debug!(target: "logstash.queue", "a new page was not made, and its traces stay: {error}");
        }
    }

    /// Makes the head's data outlive the machine up to the element `last`.
    fn sync_head(&self, number: u32, file: &std::fs::File, last: u64) -> io::Result<()> {
        if self.synced.load(Acquire) >= last {
            return Ok(());
        }
        let begun = Instant::now();
        self.disk.sync(number, file)?;
        self.counters.synced(begun);
        self.synced.fetch_max(last, AcqRel);
        Ok(())
    }

    /// As [`Inner::sync_head`], for a writer: while one asks the disk the others wait, and mostly find it done.
    pub(super) fn sync_through(&self, last: u64) -> io::Result<()> {
        let is_done = || self.synced.load(Acquire) >= last;
        if is_done() {
            return Ok(());
        }
        let _one = self.syncing.lock();
        if is_done() {
            return Ok(());
        }
        let (number, file, newest) = {
            let pages = self.pages.lock();
            (pages.head.number, pages.head.file.clone(), pages.head.next().saturating_sub(1))
        };
        // A head that is empty came after a tail that is synced.
        self.sync_head(number, &file, newest.max(last))
    }

    /// Writes the head's checkpoint, unless it would say what the last one says.
    pub(super) fn checkpoint_head(&self) -> io::Result<()> {
        let open = self.files.lock();
        if *open { self.checkpoint_open_head() } else { Ok(()) }
    }

    fn checkpoint_open_head(&self) -> io::Result<()> {
        let (checkpoint, last_time, file) = {
            let pages = self.pages.lock();
            (pages.checkpoint(pages.head.number), pages.head_checkpoint, pages.head.file.clone())
        };
        let Some(checkpoint) = checkpoint else { return Ok(()) };
        // IMPORTANT: data before its checkpoint, which promises that so many elements are there.
        self.sync_head(checkpoint.page, &file, checkpoint.last())?;
        if checkpoint == last_time {
            return Ok(());
        }
        self.disk.write_checkpoint(Name::Head, &checkpoint)?;
        self.counters.checkpoints.add(1);
        self.pages.lock().checkpointed(checkpoint);
        Ok(())
    }

    fn checkpoint_tail(&self, number: u32) -> io::Result<()> {
        let open = self.files.lock();
        let checkpoint = self.pages.lock().tails.get(&number).map(|_| number);
        if *open && checkpoint.is_some() { self.checkpoint_open_tail(number) } else { Ok(()) }
    }

    fn checkpoint_open_tail(&self, number: u32) -> io::Result<()> {
        let Some(checkpoint) = self.pages.lock().checkpoint(number) else { return Ok(()) };
        self.disk.write_checkpoint(Name::Tail(number), &checkpoint)?;
        self.counters.checkpoints.add(1);
        self.pages.lock().checkpointed(checkpoint);
        Ok(())
    }

    /// Deletes the tail pages that are fully acknowledged.
    pub(super) fn free_acked(&self) -> io::Result<()> {
        let open = self.files.lock();
        if !*open {
            return Ok(());
        }
        let to_free = self.pages.lock().to_free();
        let any = !to_free.is_empty();
        for number in to_free {
            // It says that the page may be gone. A full disk must not keep a page from being deleted, though: a page
            // that is missing is known to have been acknowledged.
            let told = self.checkpoint_open_tail(number);
            self.disk.remove(Name::Page(number))?;
            self.disk.remove(Name::Tail(number))?;
            told.unwrap_or_else(|error| tracing::debug!(target: "logstash.queue", "{error}"));
            let mut pages = self.pages.lock();
            let was_full = pages.is_full(&self.settings);
            pages.freed(number);
            if was_full && !pages.is_full(&self.settings) {
                self.room.notify_waiters();
            }
        }
        // The head's checkpoint names the first page that is left.
        if any { self.checkpoint_open_head() } else { Ok(()) }
    }

    /// Elements of a page are dealt with.
    pub(super) fn acknowledge(&self, number: u32, first: u64, count: u64) {
        let due = self.pages.lock().acknowledge(number, first, count, &self.settings);
        match due {
            Due::Nothing => {}
            Due::HeadAtRest => self.keeper.ask_at_rest(),
            Due::Free | Due::Head => self.keeper.ask(),
            Due::Tail => {
                // The next acknowledgement tries it again.
                if let Err(error) = self.checkpoint_tail(number) {
                    self.tell_failure("write a checkpoint of", &error);
                }
            }
        }
    }

    /// Before the queue is shut: every page says what is acknowledged of it. Nothing touches files after that.
    pub(super) fn last_checkpoints(&self) {
        let write = self.write.lock();
        if let Err(error) = self.free_acked() {
            self.tell_failure("delete a page of", &error);
        }
        let mut open = self.files.lock();
        if !std::mem::replace(&mut *open, false) {
            return;
        }
        let tails: Vec<u32> = {
            let pages = self.pages.lock();
            let changed = pages.tails.values().filter(|page| page.checkpointed != page.acked.first);
            changed.map(|page| page.number).collect()
        };
        let done = tails.into_iter().try_for_each(|number| self.checkpoint_open_tail(number));
        let done = done.and_then(|()| self.checkpoint_open_head()).and_then(|()| self.disk.sync_directory());
        if let Err(error) = done {
            self.tell_failure("write the last checkpoint of", &error);
        }
        drop(write);
    }
}
