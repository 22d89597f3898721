//! What happens at start to the `N.log.tmp` of a writer that did not close: every whole entry in it becomes readable.
//!
//! A tail that was being written when the process died is cut off. Real damage is kept apart as `N.err` for a
//! person, and the entries around it are saved. Every step can be repeated after another kill.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::directory::{self, Listing};
use super::record::{self, FIRST_RECORD, Found, ONLY_ZEROS, SegmentReader};

/// Recovers every head that `listing` names. What cannot be recovered stays where it is, with a warning.
pub(super) fn recover_heads(directory: &Path, listing: &mut Listing) {
    for number in std::mem::take(&mut listing.heads) {
        let recovery = Recovery { directory, head: directory::head(directory, number), number };
        match recovery.run(listing) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(
                file = %recovery.head.display(),
                "cannot recover this dead letter queue segment, it is left as it is: {error}"
            ),
        }
    }
}

struct Recovery<'a> {
    directory: &'a Path,
    head: PathBuf,
    number: u32,
}

/// What is in a head that was left behind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Content {
    len: u64,
    wrong_version: bool,
    entries: u64,
    /// Where the last whole entry ends.
    good_end: u64,
    /// Damage that a kill in the middle of a write cannot explain.
    damaged: bool,
}

impl Content {
    fn has_torn_tail(&self) -> bool {
        self.good_end < self.len
    }
}

impl Recovery<'_> {
    fn run(&self, listing: &mut Listing) -> io::Result<()> {
        let content = inspect(&self.head)?;
        if content.len == 0 || (content.len == FIRST_RECORD && !content.wrong_version) {
            return fs::remove_file(&self.head);
        }
        if content.entries == 0 {
            return self.set_aside(listing);
        }
        if !listing.sealed.contains(&self.number) && !directory::sealed(self.directory, self.number).exists() {
            return self.make_readable(&content, self.number, listing);
        }
        if self.is_contained_in(&directory::sealed(self.directory, self.number))? {
            return if content.damaged { self.set_aside(listing) } else { fs::remove_file(&self.head) };
        }
        let Some(free) = listing.free_number() else { return self.set_aside(listing) };
        self.make_readable(&content, free, listing)
    }

    fn make_readable(&self, content: &Content, number: u32, listing: &mut Listing) -> io::Result<()> {
        let sealed = directory::sealed(self.directory, number);
        if content.damaged {
            self.save_entries(&sealed)?;
        } else {
            let file = OpenOptions::new().write(true).open(&self.head)?;
            if content.has_torn_tail() {
                let cut = content.len - content.good_end;
                tracing::warn!(
                    file = %self.head.display(),
                    "the last entry of this dead letter queue segment was not written to its end, {cut} bytes are cut off"
                );
                file.set_len(content.good_end)?;
            }
            file.sync_all()?;
            fs::rename(&self.head, &sealed)?;
        }
        listing.sealed.insert(number);
        listing.taken.insert(number);
        if content.damaged { self.set_aside(listing) } else { Ok(()) }
    }

    /// Copies every whole entry into a new segment.
    fn save_entries(&self, sealed: &Path) -> io::Result<()> {
        let copy = self.head.with_extension("saved");
        let mut to = io::BufWriter::new(File::create(&copy)?);
        to.write_all(&[record::VERSION])?;
        let mut end = FIRST_RECORD;
        let mut framed = Vec::new();
        let mut from = SegmentReader::new(File::open(&self.head)?, FIRST_RECORD)?;
        loop {
            match from.next()? {
                Found::Entry(entry) => {
                    framed.clear();
                    record::frame(entry, end, &mut framed);
                    to.write_all(&framed)?;
                    end += framed.len() as u64;
                }
                Found::Damage(_) => {}
                Found::Torn(_) | Found::End => break,
            }
        }
        to.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&copy, sealed)
    }

    /// Keeps the head as it is under a name that nothing reads or overwrites.
    fn set_aside(&self, listing: &mut Listing) -> io::Result<()> {
        let mut number = self.number;
        if directory::unrecovered(self.directory, number).exists() {
            number = listing.free_number().ok_or(io::ErrorKind::AlreadyExists)?;
        }
        let aside = directory::unrecovered(self.directory, number);
        fs::rename(&self.head, &aside)?;
        listing.taken.insert(number);
        tracing::warn!(
            file = %aside.display(),
            "a dead letter queue segment that was being written holds bytes that are no whole entry; its whole entries, if any, were saved, the file is kept for you to look at"
        );
        Ok(())
    }

    /// Whether every entry of the head is in the segment of the same number too.
    fn is_contained_in(&self, sealed: &Path) -> io::Result<bool> {
        let hasher = RandomState::new();
        let mut there: HashMap<(usize, u64), u32> = HashMap::new();
        for_each_entry(sealed, |entry| *there.entry((entry.len(), hasher.hash_one(entry))).or_default() += 1)?;
        let mut all = true;
        for_each_entry(&self.head, |entry| match there.get_mut(&(entry.len(), hasher.hash_one(entry))) {
            Some(count @ 1..) => *count -= 1,
            _ => all = false,
        })?;
        Ok(all)
    }
}

fn for_each_entry(path: &Path, mut visit: impl FnMut(&[u8])) -> io::Result<()> {
    let mut reader = SegmentReader::new(File::open(path)?, FIRST_RECORD)?;
    loop {
        match reader.next()? {
            Found::Entry(entry) => visit(entry),
            Found::Damage(_) => {}
            Found::Torn(_) | Found::End => return Ok(()),
        }
    }
}

fn inspect(path: &Path) -> io::Result<Content> {
    let mut reader = SegmentReader::new(File::open(path)?, FIRST_RECORD)?;
    let mut content = Content { len: reader.file_len(), good_end: FIRST_RECORD, ..Content::default() };
    if reader.version()?.is_some_and(|v| v != record::VERSION) {
        content.wrong_version = true;
        return Ok(content);
    }
    let mut zeros = false;
    loop {
        match reader.next()? {
            Found::Entry(_) => {
                content.entries += 1;
                content.good_end = reader.end();
                // Zeros with an entry behind them are no tail.
                content.damaged |= zeros;
            }
            Found::Damage(damage) if damage.what == ONLY_ZEROS => zeros = true,
            Found::Damage(_) => content.damaged = true,
            Found::Torn(_) | Found::End => return Ok(content),
        }
    }
}
