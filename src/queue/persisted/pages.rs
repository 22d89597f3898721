//! What is known of the pages while the queue is open: how far each is written, taken and acknowledged.
//!
//! Plain data behind one lock that is never held while a file is touched.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use super::checkpoint::Checkpoint;
use super::page::HEADER;
use super::settings::Settings;

/// Which elements of a page are acknowledged. A checkpoint keeps only `first`; what is behind a gap is forgotten by a
/// restart.
#[derive(Debug, Default)]
pub struct Acked {
    /// The first one that is not; 0 while the page is empty.
    pub first: u64,
    /// Those behind a gap, from and to, the latter excluded.
    later: BTreeMap<u64, u64>,
}

impl Acked {
    /// All before `first`.
    pub fn before(first: u64) -> Self {
        Self { first, later: BTreeMap::new() }
    }

    fn add(&mut self, from: u64, to: u64) {
        self.later.insert(from, to);
        while let Some(entry) = self.later.first_entry() {
            if *entry.key() > self.first {
                break;
            }
            self.first = self.first.max(entry.remove());
        }
    }
}

/// A page.
#[derive(Debug)]
pub struct Page {
    /// Its number.
    pub number: u32,
    /// Open for reading, and for writing while it is the head.
    pub file: Arc<File>,
    /// Bytes that are written.
    pub end: u64,
    /// Number of the first element; 0 while it is empty.
    pub first: u64,
    /// Number of elements.
    pub count: u64,
    /// What of it is dealt with.
    pub acked: Acked,
    /// What `acked.first` was at its last checkpoint.
    pub checkpointed: u64,
}

impl Page {
    /// A page without elements.
    pub fn empty(number: u32, file: Arc<File>) -> Self {
        Self { number, file, end: HEADER, first: 0, count: 0, acked: Acked::default(), checkpointed: 0 }
    }

    /// The number behind its last element.
    pub fn next(&self) -> u64 {
        self.first + self.count
    }

    /// Whether nothing in it is left to deliver.
    pub fn is_fully_acked(&self) -> bool {
        self.count > 0 && self.acked.first >= self.next()
    }

    fn checkpoint(&self, first_unacked_page: u32) -> Checkpoint {
        Checkpoint {
            page: self.number,
            first_unacked_page,
            first_unacked: self.acked.first,
            first: self.first,
            count: u32::try_from(self.count).unwrap_or(u32::MAX),
        }
    }
}

/// What has to happen to files after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing yet.
    Nothing,
    /// The page can go.
    Free,
    /// A checkpoint of this tail page.
    Tail,
    /// A checkpoint of the head, soon.
    Head,
    /// A checkpoint of the head, when there is time: all that was written is dealt with.
    HeadAtRest,
}

/// Elements that a worker may take: those of one page.
#[derive(Debug)]
pub struct Unread {
    /// The page.
    pub number: u32,
    /// Its file.
    pub file: Arc<File>,
    /// Where its data ends now.
    pub end: u64,
    /// Number of the first element of the page.
    pub page_first: u64,
    /// Number of the first element to take.
    pub from: u64,
    /// How many there are.
    pub count: u64,
    /// Whether more may come.
    pub is_head: bool,
}

/// All pages.
#[derive(Debug)]
pub struct Pages {
    /// The page that is written.
    pub head: Page,
    /// Pages before it that are not fully acknowledged.
    pub tails: BTreeMap<u32, Page>,
    /// The last checkpoint of the head.
    pub head_checkpoint: Checkpoint,
    /// Elements that no worker has taken.
    pub unread: u64,
    /// Bytes that are written to all pages.
    pub used: u64,
    /// Whether nothing more comes in.
    pub closed: bool,
    /// Whether workers leave what is there.
    pub leave_rest: bool,
}

impl Pages {
    /// Whether inputs have to wait.
    pub fn is_full(&self, settings: &Settings) -> bool {
        (settings.max_bytes > 0 && self.used > settings.max_bytes)
            || (settings.max_events > 0 && self.unread >= settings.max_events)
    }

    fn page_mut(&mut self, number: u32) -> Option<&mut Page> {
        if number == self.head.number { Some(&mut self.head) } else { self.tails.get_mut(&number) }
    }

    /// What a checkpoint of that page would say now.
    pub fn checkpoint(&self, number: u32) -> Option<Checkpoint> {
        if number == self.head.number {
            let first = self.tails.first_key_value().map_or(self.head.number, |(number, _)| *number);
            return Some(self.head.checkpoint(first));
        }
        self.tails.get(&number).map(|page| page.checkpoint(0))
    }

    /// `count` elements of together `bytes` were written to the head, the first with that number.
    pub fn written(&mut self, first: u64, count: u64, bytes: u64) {
        if self.head.count == 0 {
            self.head.first = first;
            self.head.acked.first = first;
            self.head.checkpointed = first;
        }
        self.head.count += count;
        self.head.end += bytes;
        self.used += bytes;
        self.unread += count;
    }

    /// The head becomes a tail, and `head` takes its place.
    pub fn behead(&mut self, head: Page) {
        self.used += head.end;
        let tail = std::mem::replace(&mut self.head, head);
        self.tails.insert(tail.number, tail);
    }

    /// The next elements to take, for a reader that took all before `next` of the page `at`.
    pub fn unread_after(&self, at: Option<u32>, next: u64) -> Option<Unread> {
        let tails = self.tails.range(at.unwrap_or(0)..).map(|(_, page)| page);
        tails.chain([&self.head]).find_map(|page| {
            let from = if at == Some(page.number) { next } else { page.acked.first };
            let count = page.next().saturating_sub(from);
            (page.count > 0 && count > 0).then(|| Unread {
                number: page.number,
                file: page.file.clone(),
                end: page.end,
                page_first: page.first,
                from,
                count,
                is_head: page.number == self.head.number,
            })
        })
    }

    /// Elements are dealt with; says what that asks for.
    pub fn acknowledge(&mut self, number: u32, first: u64, count: u64, settings: &Settings) -> Due {
        let is_head = number == self.head.number;
        let Some(page) = self.page_mut(number) else { return Due::Nothing };
        page.acked.add(first, first + count);
        let far = settings.checkpoint_acks > 0
            && page.acked.first.saturating_sub(page.checkpointed) >= settings.checkpoint_acks;
        match (page.is_fully_acked(), is_head) {
            (true, true) => Due::HeadAtRest,
            (true, false) => Due::Free,
            (false, true) if far => Due::Head,
            (false, false) if far => Due::Tail,
            (false, _) => Due::Nothing,
        }
    }

    /// Tail pages of which nothing is left to deliver.
    pub fn to_free(&self) -> Vec<u32> {
        self.tails.values().filter(|page| page.is_fully_acked()).map(|page| page.number).collect()
    }

    /// A tail page is gone.
    pub fn freed(&mut self, number: u32) {
        if let Some(page) = self.tails.remove(&number) {
            self.used = self.used.saturating_sub(page.end);
        }
    }

    /// A checkpoint was written.
    pub fn checkpointed(&mut self, checkpoint: Checkpoint) {
        if checkpoint.page == self.head.number {
            self.head_checkpoint = checkpoint;
        }
        if let Some(page) = self.page_mut(checkpoint.page) {
            page.checkpointed = checkpoint.first_unacked;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_in_any_order_move_the_first_gap() {
        let mut acked = Acked::before(1);
        acked.add(6, 9);
        acked.add(4, 6);
        assert_eq!(acked.first, 1);
        acked.add(1, 4);
        assert_eq!((acked.first, acked.later.len()), (9, 0));
    }
}
