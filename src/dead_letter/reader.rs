//! The reading end of a dead letter queue: entries of sealed segments in order, then new ones as they appear.
//!
//! Nothing stops a reader: damaged entries are skipped with one warning each, unreadable segments as a whole, and
//! segments may be deleted at any time. One that is open is read to its end all the same. The highest segment is
//! never done with before a higher one exists.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::directory::{self, ChangeWatch, Listing};
use super::entry::{EntryError, RawEntry};
use super::position::{Position, Resumed};
use super::record::{self, Found, SegmentReader};
use super::unread::is_shortage;
use super::{entry, rounds, summary};
use crate::event::{Bytes, Event, Text, Timestamp};

/// Pause between two looks for something new.
const POLL: Duration = Duration::from_millis(100);
/// After this long the directory is read even if its modification time says that nothing happened.
const RESCAN: Duration = Duration::from_secs(5);

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the oldest entry that exists.
    Beginning,
    /// At a position from an earlier run.
    Position(Position),
    /// At the first entry that is not older than this; when there is none, at the first that comes.
    Timestamp(Timestamp),
}

/// An entry of a dead letter queue.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadLetter {
    /// The event as it was stored, see [`DeadLetter::into_event`].
    pub event: Event,
    /// When it was stored.
    pub entry_time: Timestamp,
    /// Config name of the plugin that could not handle it.
    pub plugin_type: Text,
    /// Id of that plugin.
    pub plugin_id: Text,
    /// What the plugin said.
    pub reason: Text,
    /// The queue it was read from: the directory's name.
    pub source_queue: Text,
    /// The place behind it.
    pub position: Position,
}

impl DeadLetter {
    /// The event, with all that is known about its failure in `[@metadata][dead_letter_queue]`.
    pub fn into_event(mut self) -> Event {
        rounds::mark(&mut self);
        self.event
    }
}

/// Reads one queue. A directory that does not exist yet is waited for.
#[derive(Debug)]
pub struct Reader {
    directory: PathBuf,
    source_queue: Text,
    /// Until the first segment is chosen.
    start: Option<Start>,
    /// Entries older than this are passed over, until the first that is not.
    since: Option<Timestamp>,
    known: Listing,
    current: Option<Current>,
    watch: ChangeWatch,
    last_scan: Option<Instant>,
    missing: bool,
    /// Where to go on once there are descriptors and memory again.
    postponed: Option<Position>,
    passed_over: Vec<u32>,
}

/// The segment that is being read.
#[derive(Debug)]
struct Current {
    number: u32,
    path: PathBuf,
    /// None when nothing (more) can be read from it.
    file: Option<SegmentReader<File>>,
    /// Set at the end of what the file holds now, with the offset of an entry that is not all there.
    end: Option<End>,
}

/// The end of what can be read of a segment.
#[derive(Clone, Copy, Debug)]
struct End {
    torn_at: Option<u64>,
}

enum Step {
    /// The letter is in its place.
    Letter,
    /// Something happened, look again at once.
    Again,
    Wait,
}

impl Reader {
    /// A reader of the queue in `directory`, whose last part is the pipeline id. Nothing is opened yet.
    pub fn new(directory: impl Into<PathBuf>, start: Start) -> Self {
        let directory = directory.into();
        let source_queue = directory.file_name().map(|n| Text::from(n.to_string_lossy().into_owned()));
        Self {
            source_queue: source_queue.unwrap_or_default(),
            directory,
            since: if let Start::Timestamp(since) = start { Some(since) } else { None },
            start: Some(start),
            known: Listing::default(),
            current: None,
            watch: ChangeWatch::default(),
            last_scan: None,
            missing: false,
            postponed: None,
            passed_over: Vec::new(),
        }
    }

    /// The segments that could not be read, or not to their end, since this was last asked for.
    pub fn take_passed_over(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.passed_over)
    }

    /// The next entry; waits for one up to `timeout`.
    pub fn next(&mut self, timeout: Duration) -> Option<DeadLetter> {
        let mut letter = None;
        let mut end = None;
        loop {
            match self.step(&mut letter) {
                Step::Letter => return letter,
                Step::Again => {}
                Step::Wait => {
                    let now = Instant::now();
                    let left = end.get_or_insert(now + timeout).saturating_duration_since(now);
                    if left.is_zero() {
                        return None;
                    }
                    std::thread::sleep(left.min(POLL));
                }
            }
        }
    }

    fn step(&mut self, place: &mut Option<DeadLetter>) -> Step {
        if let Some(at) = self.postponed {
            return self.open(at);
        }
        let Some(current) = &mut self.current else { return self.first_segment() };
        if let Some(End { torn_at }) = current.end {
            return self.leave_segment(torn_at);
        }
        let Some(file) = &mut current.file else { return self.leave_segment(None) };
        let found = match file.next() {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(file = %current.path.display(), "cannot read on in this dead letter queue segment, its rest is passed over: {error}");
                current.file = None;
                self.passed_over.push(current.number);
                return Step::Again;
            }
        };
        let entry = match found {
            Found::Entry(entry) => entry,
            Found::Damage(damage) => {
                skipped(current, damage.offset, damage.what);
                return Step::Again;
            }
            Found::Torn(offset) => {
                current.end = Some(End { torn_at: Some(offset) });
                return Step::Again;
            }
            Found::End => {
                current.end = Some(End { torn_at: None });
                return Step::Again;
            }
        };
        match read_letter(entry, &self.source_queue, &mut self.since, place) {
            Ok(()) => {}
            Err(error) => {
                let offset = file.entry_start();
                skipped(current, offset, &error.to_string());
                return Step::Again;
            }
        }
        let Some(letter) = place else { return Step::Again };
        letter.position = Position { segment: current.number, offset: file.position() };
        Step::Letter
    }

    fn first_segment(&mut self) -> Step {
        if !self.scan() || self.known.sealed.is_empty() {
            return Step::Wait;
        }
        let first = match self.start {
            Some(Start::Position(position)) => Resumed::find(position, &self.directory, &self.known),
            _ => self.known.sealed.first().map(|number| Resumed::Next(*number)),
        };
        let Some(first) = first else { return Step::Wait };
        if let (Resumed::Anew(number), Some(Start::Position(old))) = (&first, self.start) {
            tracing::warn!(
                file = %directory::sealed(&self.directory, *number).display(),
                "the saved position ({}.log, {}) is not in this dead letter queue any more; reading starts at the beginning of this segment",
                old.segment, old.offset
            );
        }
        self.start = None;
        self.open(first.position())
    }

    /// Opens the segment of `at`. When it is gone or cannot be read, the next step goes on to the one behind it.
    fn open(&mut self, at: Position) -> Step {
        let path = directory::sealed(&self.directory, at.segment);
        let file = match self.open_file(&path, at.offset) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) if is_shortage(&error) => {
                if self.postponed.replace(at).is_none() {
                    tracing::warn!(file = %path.display(), "cannot open this dead letter queue segment now, reading waits until it can be: {error}");
                }
                return Step::Wait;
            }
            Err(error) => {
                tracing::warn!(file = %path.display(), "cannot read this dead letter queue segment, it is passed over: {error}");
                self.passed_over.push(at.segment);
                None
            }
        };
        self.postponed = None;
        self.current = Some(Current { number: at.segment, path, file, end: None });
        Step::Again
    }

    fn open_file(&self, path: &std::path::Path, offset: u64) -> io::Result<Option<SegmentReader<File>>> {
        let file = File::open(path)?;
        if let Some(since) = self.since
            && let Some(last) = summary::last_entry_time(&file)?
            && last < since
        {
            let end = file.metadata()?.len();
            return SegmentReader::new(file, end).map(Some);
        }
        let mut reader = SegmentReader::new(file, offset)?;
        match reader.version()? {
            Some(record::VERSION) => Ok(Some(reader)),
            // Nothing in it yet; looked at again when it has grown.
            None => Ok(Some(reader)),
            Some(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "it does not start with the version byte 1")),
        }
    }

    /// The end of what can be read now: goes on to the next segment, or waits for one.
    fn leave_segment(&mut self, torn_at: Option<u64>) -> Step {
        let Some(current) = &mut self.current else { return Step::Again };
        let number = current.number;
        if let Some(next) = self.known.sealed.range(number + 1..).next().copied() {
            if current.has_grown() {
                return Step::Again;
            }
            if let Some(offset) = torn_at {
                skipped(current, offset, "the segment ends in the middle of an entry");
            }
            return self.open(Position::start_of(next));
        }
        if !self.scan() {
            return Step::Wait;
        }
        if self.known.sealed.range(number + 1..).next().is_some() {
            return Step::Again;
        }
        self.look_again()
    }

    /// The highest segment is at its end and the directory was read: the file may have grown, be another one, or the
    /// whole queue may have been numbered anew.
    fn look_again(&mut self) -> Step {
        let Some(current) = &mut self.current else { return Step::Again };
        let number = current.number;
        if !self.known.sealed.contains(&number) {
            let numbered_anew = self.known.heads.range(number + 1..).next().is_none();
            return match self.known.sealed.first() {
                Some(first) if numbered_anew => {
                    let first = Position::start_of(*first);
                    self.open(first)
                }
                _ => Step::Wait,
            };
        }
        let Some(file) = &current.file else { return Step::Wait };
        let same = match (file.source().metadata(), fs::metadata(&current.path)) {
            (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
            _ => true,
        };
        let was_empty = file.file_len() == 0;
        let grown = current.has_grown();
        // The version of a file that was empty has not been looked at.
        if !same || (was_empty && grown) {
            return self.open(Position::start_of(number));
        }
        if grown { Step::Again } else { Step::Wait }
    }

    /// Reads the directory if something may have happened in it; says whether it did.
    fn scan(&mut self) -> bool {
        let overdue = self.last_scan.is_none_or(|at| at.elapsed() >= RESCAN);
        let listing = match self.watch.changed(&self.directory) {
            Ok(changed) if changed || overdue => Listing::read(&self.directory),
            Ok(_) => return false,
            Err(error) => Err(error),
        };
        match listing {
            Ok(listing) => {
                if self.last_scan.is_none() && !listing.foreign.is_empty() {
                    tracing::warn!(
                        directory = %self.directory.display(),
                        "not a dead letter queue segment, ignored: {}", listing.foreign.join(", ")
                    );
                }
                self.last_scan = Some(Instant::now());
                self.missing = false;
                self.known = listing;
                true
            }
            Err(error) => {
                if !std::mem::replace(&mut self.missing, true) {
                    tracing::warn!(
                        directory = %self.directory.display(),
                        "there is no dead letter queue here yet ({error}); reading starts when it appears"
                    );
                }
                self.known = Listing::default();
                false
            }
        }
    }
}

impl Current {
    /// Whether there is more in the file than before; reading then goes on.
    fn has_grown(&mut self) -> bool {
        let Some(file) = &mut self.file else { return false };
        let before = file.file_len();
        let grown = file.refresh().is_ok() && file.file_len() > before;
        if grown {
            self.end = None;
        }
        grown
    }
}

fn skipped(current: &Current, offset: u64, what: &str) {
    tracing::warn!(
        file = %current.path.display(), offset,
        "damage in the dead letter queue, reading goes on behind it: {what}"
    );
}

/// Decodes an entry into its place, which stays empty for one that is older than what is looked for. The position is
/// left to the caller.
fn read_letter(
    bytes: &[u8],
    source_queue: &Text,
    since: &mut Option<Timestamp>,
    place: &mut Option<DeadLetter>,
) -> Result<(), EntryError> {
    if let Some(since) = *since
        && entry::entry_time(bytes)? < since
    {
        return Ok(());
    }
    let shared = Bytes::from(bytes);
    let entry = RawEntry::parse(&shared)?;
    let event = entry.event_in(&shared)?;
    *since = None;
    *place = Some(DeadLetter {
        event,
        entry_time: entry.entry_time,
        plugin_type: Text::part_of(&shared, entry.plugin_type),
        plugin_id: Text::part_of(&shared, entry.plugin_id),
        reason: Text::part_of(&shared, entry.reason),
        source_queue: source_queue.clone(),
        position: Position { segment: 0, offset: 0 },
    });
    Ok(())
}
