//! Opening, reading and closing files.

use std::time::{Duration, Instant};

use super::archive;
use super::identity::{Head, Identity};
use super::reader::{Batch, Chunk, Reader};
use super::settings::{Mode, Order};
use super::watch::{PipelineGone, Watch};
use super::watched::{State, Watched};
use crate::plugins::{InputSink, Stop};

/// How long a file that was renamed away or deleted must be quiet before it is given up: its writer may be at it yet.
const STRAGGLERS: Duration = Duration::from_secs(60);
/// After so long what its decoder holds is given out.
const RENAMED_FLUSH: Duration = Duration::from_secs(5);
/// Longest turn of a file that is tailed: others may be renamed meanwhile.
const LONGEST_TURN: Duration = Duration::from_secs(1);
/// How often to tell that files wait.
const TELL_EVERY: Duration = Duration::from_secs(20);

/// What reading a file came to.
enum Read {
    /// Its end, for now.
    End,
    /// Others have their turn.
    Turn,
    /// It cannot be read.
    Failed,
}

impl Watch {
    /// Opens files that wait, as many as there is room for.
    pub(super) fn open_waiting(&mut self) {
        let mut waiting = self.in_order(|file| file.is_waiting() && file.gone.is_none());
        if waiting.is_empty() {
            return;
        }
        let open = self.files.values().filter(|file| file.is_open()).count();
        let room = self.settings.max_open_files.saturating_sub(open);
        if waiting.len() > room && self.told_of_waiting.is_none_or(|at| at.elapsed() >= TELL_EVERY) {
            tracing::warn!(target: "logstash.inputs.file", count = waiting.len() - room,
                "files wait for others to be closed: max_open_files is {}; raise it, or lower close_older",
                self.settings.max_open_files);
            self.told_of_waiting = Some(Instant::now());
        }
        waiting.truncate(room);
        for identity in waiting {
            self.open_file(identity);
        }
    }

    fn open_file(&mut self, identity: Identity) {
        let names = self.names(identity);
        let Some(file) = self.files.get_mut(&identity) else { return };
        let is_archive = matches!(self.settings.mode, Mode::Read { .. }) && archive::is_archive(&file.path);
        let checks = matches!(self.settings.mode, Mode::Read { check_archives: true, .. });
        let mut opened = match identity.open(&file.path) {
            // The next look tells what it is called now.
            Ok(None) if !matches!(self.settings.mode, Mode::Read { exit: true, .. }) => return,
            Ok(None) => Err(std::io::ErrorKind::NotFound.into()),
            Ok(Some(opened)) => Ok(opened),
            Err(error) => Err(error),
        };
        if is_archive
            && checks
            && let Ok(opened) = &mut opened
            && let Err(error) = archive::test(opened)
        {
            file.warn("an archive is broken and left alone until it changes:", &error);
            file.state = State::Done { size: file.size, modified: Some(file.modified) };
            return;
        }
        let decoder = self.decoders.create();
        let reader = opened.and_then(|opened| {
            Reader::new(opened, file.resume, is_archive, &self.settings.delimiter, decoder, file.origin.clone())
        });
        match reader {
            Ok(mut reader) => {
                if let Some(names) = names {
                    reader.name_events(names);
                }
                self.positions.begin(identity, &file.path, file.resume);
                let is_other = file.head.is_some_and(|head| !reader.begins_with(head));
                if file.resume > file.size || is_other {
                    reader.restart(self.decoders.create());
                    self.positions.rewind(identity);
                }
                self.positions.set_head(identity, reader.head().full());
                file.state = State::Open(Box::new(reader));
            }
            Err(error) => {
                file.warn("failed to open", &error);
                if matches!(self.settings.mode, Mode::Read { exit: true, .. }) {
                    file.state = State::Done { size: file.size, modified: Some(file.modified) };
                }
            }
        }
    }

    /// Reads all open files, those first that were renamed away. Whether there is more to read at once.
    pub(super) fn read_all(&mut self, sink: &InputSink, stop: &Stop) -> Result<bool, PipelineGone> {
        let mut order = self.in_order(|file| file.is_open() && file.gone.is_some());
        order.extend(self.in_order(|file| file.is_open() && file.gone.is_none()));
        let mut has_more = false;
        for identity in order {
            if stop.is_cancelled() {
                break;
            }
            if !self.has_news(identity, sink)? {
                continue;
            }
            match self.read_file(identity, sink, stop)? {
                Read::Turn => has_more = true,
                Read::End if matches!(self.settings.mode, Mode::Read { .. }) => {
                    let end = self.finish(identity, sink)?;
                    self.set_state(identity, State::Finishing { end });
                    // There may be room for one that waits.
                    has_more = true;
                }
                Read::End | Read::Failed => {}
            }
        }
        Ok(has_more)
    }

    /// Whether there may be something to read. A file that was written anew starts at its beginning.
    fn has_news(&mut self, identity: Identity, sink: &InputSink) -> Result<bool, PipelineGone> {
        let is_tail = matches!(self.settings.mode, Mode::Tail { .. });
        let Some(file) = self.files.get_mut(&identity) else { return Ok(false) };
        let (size, is_gone) = (file.size, file.gone.is_some());
        let is_touched = file.compared.replace(file.modified) != Some(file.modified);
        let Some(reader) = file.reader() else { return Ok(false) };
        if !is_tail || is_gone {
            return Ok(true);
        }
        // Of the same size it may still have been written anew.
        if size == reader.offset() && !is_touched {
            return Ok(false);
        }
        let is_new = size < reader.offset() || reader.begins_as_before().is_ok_and(|same| !same);
        if is_new {
            self.restart(identity, sink)?;
        } else {
            let head = reader.head().full();
            self.positions.set_head(identity, head);
        }
        Ok(true)
    }

    fn restart(&mut self, identity: Identity, sink: &InputSink) -> Result<(), PipelineGone> {
        let decoder = self.decoders.create();
        let Some(file) = self.files.get_mut(&identity) else { return Ok(()) };
        let path = file.path.display().to_string();
        let Some(reader) = file.reader() else { return Ok(()) };
        tracing::warn!(target: "logstash.inputs.file", position = reader.offset(), unfinished = reader.offset() - reader.line_start(),
            "{path} was truncated or written anew and is read from its beginning; what was not read before is lost");
        let held = reader.restart(decoder);
        let (position, head) = (reader.offset(), reader.head().full());
        self.push(identity, Batch { events: held, position }, sink)?;
        self.positions.rewind(identity);
        self.positions.set_head(identity, head);
        Ok(())
    }

    /// Reads a file to its end, or as long as it has its turn.
    fn read_file(&mut self, identity: Identity, sink: &InputSink, stop: &Stop) -> Result<Read, PipelineGone> {
        let begun = Instant::now();
        let is_tail = matches!(self.settings.mode, Mode::Tail { .. });
        let mut turn = self.settings.stripe;
        let Some(file) = self.files.get_mut(&identity) else { return Ok(Read::End) };
        let is_gone = file.gone.is_some();
        // What is written meanwhile waits for the next round, so that a busy file does not keep the others waiting.
        let size = file.reader().and_then(|reader| reader.size().ok()).unwrap_or(file.size);
        while let Some(reader) = self.files.get_mut(&identity).and_then(Watched::reader) {
            let before = reader.offset();
            let chunk = match reader.read(size.min(before.saturating_add(turn))) {
                Ok(Chunk::End) => return Ok(Read::End),
                Ok(Chunk::Part) => None,
                Ok(Chunk::Lines(batch)) => Some(batch),
                Err(error) => {
                    self.failed(identity, &error);
                    return Ok(Read::Failed);
                }
            };
            let after = reader.offset();
            if reader.head().full().is_none() && after >= Head::LENGTH as u64 && reader.begins_as_before().is_ok() {
                // No position behind the head is saved without its checksum.
                let head = reader.head().full();
                self.positions.set_head(identity, head);
            }
            turn = turn.saturating_sub(after.saturating_sub(before));
            if let Some(batch) = chunk {
                self.push(identity, batch, sink)?;
            }
            if is_tail && !is_gone && after >= size {
                return Ok(Read::End);
            }
            if turn == 0 || stop.is_cancelled() || (is_tail && begun.elapsed() >= LONGEST_TURN) {
                return Ok(Read::Turn);
            }
        }
        Ok(Read::End)
    }

    /// A file that cannot be read is closed, and tried again; a broken archive when it changes.
    fn failed(&mut self, identity: Identity, error: &std::io::Error) {
        let Some(file) = self.files.get_mut(&identity) else { return };
        file.warn("failed to read", error);
        let Some(reader) = file.reader() else { return };
        let is_archive = reader.is_archive();
        file.resume = if is_archive { 0 } else { reader.line_start() };
        let given_up = is_archive || matches!(self.settings.mode, Mode::Read { exit: true, .. });
        file.state =
            if given_up { State::Done { size: file.size, modified: Some(file.modified) } } else { State::Waiting };
        if is_archive {
            self.positions.forget(identity);
        }
    }

    fn set_state(&mut self, identity: Identity, state: State) {
        if let Some(file) = self.files.get_mut(&identity) {
            file.state = state;
        }
    }

    /// Gives out the rest of a file, to which nothing more comes. The position of its end.
    fn finish(&mut self, identity: Identity, sink: &InputSink) -> Result<u64, PipelineGone> {
        let Some(file) = self.files.get_mut(&identity) else { return Ok(0) };
        let size = file.size;
        let Some(reader) = file.reader() else { return Ok(size) };
        let end = if reader.is_archive() { size } else { reader.offset() };
        for batch in reader.finish() {
            self.push(identity, batch, sink)?;
        }
        self.positions.lend(identity, end).settle();
        Ok(end)
    }

    /// Closes files that were quiet for long, and gives up those that are gone.
    pub(super) fn close_quiet(&mut self, sink: &InputSink) -> Result<(), PipelineGone> {
        if !matches!(self.settings.mode, Mode::Tail { .. }) {
            return Ok(());
        }
        let identities: Vec<Identity> = self.files.keys().copied().collect();
        let crowded = self.files.values().any(|file| file.is_waiting() && file.gone.is_none());
        for identity in identities {
            let Some(file) = self.files.get_mut(&identity) else { continue };
            let (size, gone) = (file.size, file.gone.map(|since| since.elapsed()));
            let Some(reader) = file.reader() else { continue };
            let quiet = reader.fed.elapsed();
            let is_read = || reader.size().is_ok_and(|size| reader.offset() >= size);
            match gone {
                Some(gone) if gone.min(quiet) >= STRAGGLERS || (crowded && is_read()) => {
                    let end = self.finish(identity, sink)?;
                    self.close_file(identity, end, size);
                }
                Some(gone) if gone.min(quiet) >= RENAMED_FLUSH && reader.holds() => {
                    let held = reader.flush();
                    self.push(identity, held, sink)?;
                }
                None if quiet >= self.settings.close_older && size == reader.offset() => {
                    let (held, resume) = (reader.flush(), reader.line_start());
                    self.push(identity, held, sink)?;
                    self.close_file(identity, resume, size);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Closes a file until its size is another one; reading then goes on at `resume`.
    fn close_file(&mut self, identity: Identity, resume: u64, size: u64) {
        let Some(file) = self.files.get_mut(&identity) else { return };
        file.head = file.reader().map(|reader| reader.head());
        file.resume = resume;
        file.state = State::Idle { size };
    }

    /// The files for which `wanted` holds, in the order in which they are read.
    fn in_order(&self, wanted: impl Fn(&Watched) -> bool) -> Vec<Identity> {
        let mut files: Vec<(&Identity, &Watched)> = self.files.iter().filter(|(_, file)| wanted(file)).collect();
        let Order { by_path, descending } = self.settings.order;
        // Equal ones stay in the order in which they were found.
        files.sort_by(|(_, a), (_, b)| {
            let order = if by_path { a.path.cmp(&b.path) } else { a.modified.cmp(&b.modified) };
            if descending { order.reverse() } else { order }
        });
        files.into_iter().map(|(identity, _)| *identity).collect()
    }
}
