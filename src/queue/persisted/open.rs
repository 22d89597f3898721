//! Opening a queue: its lock, its version, and what became of its files when the last process died.
//!
//! The head is read from its start, whatever its checkpoint says: what was written after the checkpoint is there, too.
//! It becomes a tail unless it is empty, so that each start with something unread begins a new page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checkpoint::{BadCheckpoint, Checkpoint};
use super::disk::{Disk, Name};
use super::page::{self, Found, SMALLEST, VERSION};
use super::pages::{Acked, Page, Pages};
use super::push::WriteEnd;
use super::settings::Settings;
use super::version;
use crate::storage::{Lock, LockError};

/// A queue that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Somebody has it open.
    #[error("The queue failed to obtain exclusive access: {0}")]
    Lock(#[from] LockError),
    /// A file cannot be read or written.
    #[error("cannot open the persisted queue at {}: {source}", path.display())]
    Io {
        /// The file or the directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Made by a program that writes another format.
    #[error("{} says {content:02x?}, and only version 2 is known", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// What is in it.
        content: Vec<u8>,
    },
    /// A checkpoint is damaged, or the head has none.
    #[error("{}: {what}; the pages may be fine: `spillway queue verify {directory}` shows them, and `spillway queue \
        repair {directory}` makes the checkpoint from its page", path.display(), directory = directory.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// The queue.
        directory: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A page is damaged.
    #[error("{}: {what}; `spillway queue verify {directory}` shows what is left (as pqcheck does), and `spillway queue \
        repair {directory}` (as pqrepair does) removes what cannot be read", path.display(), directory = directory.display())]
    Page {
        /// The file.
        path: PathBuf,
        /// The queue.
        directory: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// `queue.max_bytes` is more than there is.
    #[error("Unable to allocate {missing} more bytes for persisted queue on top of its current usage of {present} bytes: \
        {free} bytes are free at {}, and `queue.max_bytes` is {}", directory.display(), missing + present)]
    NoSpace {
        /// The queue.
        directory: PathBuf,
        /// Bytes that it may grow by.
        missing: u64,
        /// Bytes that it has.
        present: u64,
        /// Bytes that are free.
        free: u64,
    },
}

/// A queue that was opened.
pub struct Opened {
    pub lock: Lock,
    pub disk: Disk,
    pub pages: Pages,
    pub write: WriteEnd,
    /// Number of the last element that was ever written, as far as is known.
    pub last: u64,
}

/// Opens a queue, or makes it.
pub fn open(settings: &Settings) -> Result<Opened, OpenError> {
    let directory = &settings.directory;
    let failed = |source| OpenError::Io { path: directory.clone(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    let lock = Lock::take(directory, ".lock", true)?;
    let disk = Disk::new(directory, settings.checkpoint_retry);
    version::settle(&disk)?;
    remove_half_written(directory).map_err(failed)?;
    check_space(&disk, settings)?;
    let mut recovery = Recovery { disk: &disk, settings, tails: BTreeMap::new(), to_remove: Vec::new(), last: 0 };
    let (head, checkpoint, capacity) = recovery.run()?;
    let Recovery { tails, last, .. } = recovery;
    let unread = tails.values().map(|page| page.next() - page.acked.first).sum();
    let used = head.end + tails.values().map(|page| page.end).sum::<u64>();
    let write = WriteEnd::at_start(head.number, head.file.clone(), capacity, last + 1);
    let pages = Pages { head, tails, head_checkpoint: checkpoint, unread, used, closed: false, leave_rest: false };
    Ok(Opened { lock, disk, pages, write, last })
}

/// A process that died while it wrote a checkpoint leaves these.
fn remove_half_written(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("checkpoint.") && name.ends_with(".tmp")) {
            // One that stays does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

fn check_space(disk: &Disk, settings: &Settings) -> Result<(), OpenError> {
    let directory = settings.directory.clone();
    let failed = |source| OpenError::Io { path: directory.clone(), source };
    let (present, free) = (disk.page_bytes().map_err(failed)?, disk.free_bytes().map_err(failed)?);
    if settings.max_bytes > 0 && present > settings.max_bytes {
        tracing::warn!(target: "logstash.queue", "the persisted queue {} has {present} bytes, more than `queue.max_bytes` \
            ({}): inputs wait until it is smaller", directory.display(), settings.max_bytes);
    }
    let missing = settings.max_bytes.saturating_sub(present);
    if missing > free {
        return Err(OpenError::NoSpace { directory, missing, present, free });
    }
    Ok(())
}

struct Recovery<'a> {
    disk: &'a Disk,
    settings: &'a Settings,
    tails: BTreeMap<u32, Page>,
    /// Files that nobody needs once the new head is there.
    to_remove: Vec<Name>,
    last: u64,
}

impl Recovery<'_> {
    /// The head, its checkpoint, and the bytes of its page.
    fn run(&mut self) -> Result<(Page, Checkpoint, u64), OpenError> {
        let names: BTreeSet<Name> = self.disk.list().map_err(|e| self.failed(e))?.into_iter().collect();
        if !names.contains(&Name::Head) {
            self.refuse_pages_without_head(&names)?;
            return self.begin(0);
        }
        let checkpoint = self.read_checkpoint(Name::Head)?;
        self.seen(checkpoint.last());
        for number in numbers(&names).filter(|number| *number < checkpoint.page) {
            self.tail(number, &checkpoint, &names)?;
        }
        // A page that was made when the process died before the head's checkpoint named it.
        self.to_remove
            .extend(names.iter().filter(|name| matches!(name, Name::Page(n) | Name::Tail(n) if *n > checkpoint.page)));
        self.to_remove.extend(names.get(&Name::Tail(checkpoint.page)));
        let Some(head) = self.head(&checkpoint)? else {
            self.to_remove.push(Name::Page(checkpoint.page));
            return self.begin(checkpoint.page + 1);
        };
        if head.count == 0 {
            return self.keep_empty(head);
        }
        self.seen(head.next() - 1);
        let number = head.number;
        if head.is_fully_acked() {
            self.to_remove.extend([Name::Page(number), Name::Tail(number)]);
            return self.begin(number + 1);
        }
        let tail = Checkpoint {
            page: number,
            first_unacked_page: 0,
            first_unacked: head.acked.first,
            first: head.first,
            count: u32::try_from(head.count).unwrap_or(u32::MAX),
        };
        // IMPORTANT: before the head's checkpoint names the next page, as when a page is full.
        self.to_remove.retain(|name| *name != Name::Tail(number));
        self.disk.write_checkpoint(Name::Tail(number), &tail).map_err(|e| self.failed(e))?;
        self.disk.trim(&head.file, head.end);
        self.tails.insert(number, head);
        self.begin(number + 1)
    }

    /// Without a checkpoint of the head nothing says where the queue begins. Pages that a power cut left empty when the
    /// queue was made are not in the way.
    fn refuse_pages_without_head(&mut self, names: &BTreeSet<Name>) -> Result<(), OpenError> {
        for name in names {
            if let Name::Page(number) = *name {
                let file = self.disk.open_page(number).map_err(|e| self.failed(e))?;
                if page::scan(&file, 0, 1).map_err(|e| self.failed(e))?.count > 0 {
                    let what = "it is missing, although there are pages".to_owned();
                    return Err(self.bad_checkpoint(Name::Head, what));
                }
            }
            self.to_remove.push(*name);
        }
        Ok(())
    }

    /// Makes a new head of that number, and deletes what is over.
    fn begin(&mut self, number: u32) -> Result<(Page, Checkpoint, u64), OpenError> {
        let capacity = self.settings.page_capacity;
        let failed = |source| OpenError::Io { path: self.settings.directory.clone(), source };
        let file = Arc::new(self.disk.create_page(number, capacity).map_err(failed)?);
        let first_unacked_page = self.tails.keys().next().copied().unwrap_or(number);
        let checkpoint = Checkpoint { page: number, first_unacked_page, ..Checkpoint::default() };
        let done = self.disk.write_checkpoint(Name::Head, &checkpoint);
        done.and_then(|()| self.disk.sync_directory()).map_err(failed)?;
        self.clean(number)?;
        Ok((Page::empty(number, file), checkpoint, capacity))
    }

    /// Goes on with an empty head, unless something was half written to it: that must not be read after what is written
    /// now.
    fn keep_empty(&mut self, head: Page) -> Result<(Page, Checkpoint, u64), OpenError> {
        let failed = |source| OpenError::Io { path: self.settings.directory.clone(), source };
        let mut start = [0; page::ELEMENT_HEADER + 1];
        let read = std::os::unix::fs::FileExt::read_at(&*head.file, &mut start, 0).map_err(failed)?;
        if read < start.len() || start.iter().skip(1).any(|byte| *byte != 0) || start.first() != Some(&VERSION) {
            return self.begin(head.number);
        }
        let capacity = head.file.metadata().map_err(failed)?.len();
        let first_unacked_page = self.tails.keys().next().copied().unwrap_or(head.number);
        let checkpoint = Checkpoint { page: head.number, first_unacked_page, ..Checkpoint::default() };
        self.disk.write_checkpoint(Name::Head, &checkpoint).map_err(failed)?;
        self.clean(head.number)?;
        Ok((head, checkpoint, capacity))
    }

    fn clean(&mut self, head: u32) -> Result<(), OpenError> {
        let to_remove = std::mem::take(&mut self.to_remove);
        let to_remove = to_remove.into_iter().filter(|name| *name != Name::Head && *name != Name::Page(head));
        to_remove.into_iter().try_for_each(|name| self.disk.remove(name)).map_err(|e| self.failed(e))
    }

    fn tail(&mut self, number: u32, head: &Checkpoint, names: &BTreeSet<Name>) -> Result<(), OpenError> {
        let both = [Name::Page(number), Name::Tail(number)];
        if number < head.first_unacked_page {
            self.to_remove.extend(both);
            return Ok(());
        }
        let has_page = names.contains(&Name::Page(number));
        let checkpoint = match names.contains(&Name::Tail(number)) {
            true => Some(self.read_checkpoint(Name::Tail(number))?),
            false => None,
        };
        self.seen(checkpoint.map_or(0, |checkpoint| checkpoint.last()));
        match checkpoint {
            Some(checkpoint) if checkpoint.is_fully_acked() => self.to_remove.extend(both),
            Some(checkpoint) if !has_page => {
                tracing::warn!(target: "logstash.queue", "page.{number} of the persisted queue {} is gone: its events {} to \
                    {} count as delivered", self.settings.directory.display(), checkpoint.first_unacked, checkpoint.last());
                self.to_remove.extend(both);
            }
            _ if has_page => {
                if let Some(page) = self.tail_page(number, checkpoint)? {
                    self.seen(page.next() - 1);
                    self.tails.insert(number, page);
                } else {
                    self.to_remove.extend(both);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A tail page that has something left. One without a checkpoint counts as not acknowledged at all.
    fn tail_page(&self, number: u32, checkpoint: Option<Checkpoint>) -> Result<Option<Page>, OpenError> {
        let expected = checkpoint.unwrap_or_default();
        let (file, found) = self.scan(number, u64::from(expected.count))?;
        let damage = |what| Err(self.bad_page(number, what));
        if checkpoint.is_some() && file.metadata().map_err(|e| self.failed(e))?.len() < SMALLEST {
            return damage("Page file size is too small to hold elements".to_owned());
        }
        if found.version != VERSION && found.count > 0 {
            return damage(format!("unknown page version {}", found.version));
        }
        if expected.count > 0 && (found.first != expected.first || found.count < u64::from(expected.count)) {
            tracing::error!(target: "logstash.queue", "page.{number} of the persisted queue {} is damaged: its checkpoint \
                says {} events from number {}, and {} from {} can be read", self.settings.directory.display(), expected.count,
                expected.first, found.count, found.first);
        }
        if found.count == 0 {
            return Ok(None);
        }
        let page = page_of(number, file, &found, expected.first_unacked);
        Ok((!page.is_fully_acked()).then_some(page))
    }

    /// The page that was being written; none when it is gone or too short, and nothing in it was left.
    fn head(&self, checkpoint: &Checkpoint) -> Result<Option<Page>, OpenError> {
        let number = checkpoint.page;
        let nothing_left = checkpoint.is_fully_acked() || checkpoint.count == 0;
        let length = match fs::metadata(self.disk.path(Name::Page(number))) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(self.failed(error)),
        };
        if length < SMALLEST {
            return match nothing_left {
                true => Ok(None),
                false => Err(self.bad_page(number, "Page file size is too small to hold elements".to_owned())),
            };
        }
        let (file, found) = self.scan(number, u64::from(checkpoint.count))?;
        if found.version != VERSION {
            let is_zero = found.version == 0 && found.count == 0 && checkpoint.first_unacked == checkpoint.first;
            let nothing_is_lost = is_zero || (nothing_left && found.count == 0);
            if !nothing_is_lost {
                return Err(self.bad_page(number, format!("unknown page version {}", found.version)));
            }
            tracing::warn!(target: "logstash.queue", "page.{number} of the persisted queue {} is empty: what was written to \
                it did not reach the disk", self.settings.directory.display());
        } else if found.count != u64::from(checkpoint.count) || (found.count > 0 && found.first != checkpoint.first) {
            tracing::warn!(target: "logstash.queue", "recovered head data page {number} is different than checkpoint, using \
                recovered page information: {} events from number {}, the checkpoint says {} from {}", found.count,
                found.first, checkpoint.count, checkpoint.first);
        }
        Ok(Some(match found.count {
            0 => Page::empty(number, file),
            _ => page_of(number, file, &found, checkpoint.first_unacked),
        }))
    }

    fn scan(&self, number: u32, trusted: u64) -> Result<(Arc<fs::File>, Found), OpenError> {
        let file = self.disk.open_page(number).map_err(|e| self.failed(e))?;
        let found = page::scan(&file, trusted, u64::MAX).map_err(|e| self.failed(e))?;
        Ok((Arc::new(file), found))
    }

    fn read_checkpoint(&self, name: Name) -> Result<Checkpoint, OpenError> {
        let bytes = self.disk.read(name).map_err(|e| self.failed(e))?;
        Checkpoint::decode(&bytes).map_err(|error: BadCheckpoint| self.bad_checkpoint(name, error.to_string()))
    }

    fn seen(&mut self, last: u64) {
        self.last = self.last.max(last);
    }

    fn failed(&self, source: io::Error) -> OpenError {
        OpenError::Io { path: self.settings.directory.clone(), source }
    }

    fn bad_checkpoint(&self, name: Name, what: String) -> OpenError {
        OpenError::Checkpoint { path: self.disk.path(name), directory: self.settings.directory.clone(), what }
    }

    fn bad_page(&self, number: u32, what: String) -> OpenError {
        let path = self.disk.path(Name::Page(number));
        OpenError::Page { path, directory: self.settings.directory.clone(), what }
    }
}

fn page_of(number: u32, file: Arc<fs::File>, found: &Found, first_unacked: u64) -> Page {
    let first = first_unacked.clamp(found.first, found.first + found.count);
    let acked = Acked::before(first);
    Page { number, file, end: found.end, first: found.first, count: found.count, acked, checkpointed: first_unacked }
}

fn numbers(names: &BTreeSet<Name>) -> impl Iterator<Item = u32> {
    let numbers: BTreeSet<u32> = names
        .iter()
        .filter_map(|name| if let Name::Page(n) | Name::Tail(n) = name { Some(*n) } else { None })
        .collect();
    numbers.into_iter()
}
