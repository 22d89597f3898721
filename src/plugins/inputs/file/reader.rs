//! Reading one open file: chunks of whole lines to events, and where the file stands afterwards.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memmem::Finder;

use super::archive::Archive;
use super::fields::Origin;
use super::identity::Head;
use crate::event::{Bytes, Event, EventStream, Text, Timestamp};
use crate::plugins::codecs::line::TOO_LONG;
use crate::plugins::{Decoder, Records, lasting_ids};

/// Bytes asked for at a time.
const CHUNK: usize = 256 * 1024;
/// Longest line. Of a longer one the beginning becomes an event with a tag.
const LONGEST_LINE: usize = 256 * 1024 * 1024;
/// How much of a line that is too long is shown.
const SHOWN: usize = 1024;

/// An open file.
pub(super) struct Reader {
    source: Source,
    delimiter: Finder<'static>,
    /// Where the next read starts.
    offset: u64,
    /// What was read and has no end yet.
    unfinished: Vec<u8>,
    /// The rest of the line is thrown away.
    skipping: bool,
    longest: usize,
    decoder: Box<dyn Decoder>,
    origin: Arc<Origin>,
    /// Names events by where they stand, when they are to have lasting ids.
    names: Option<lasting_ids::Source>,
    head: Head,
    /// When something was last read.
    pub fed: Instant,
}

enum Source {
    Plain(File),
    Archive { content: Box<Archive>, file: File },
}

/// Events, and the position before which everything is in them or in earlier ones.
pub(super) struct Batch {
    pub events: EventStream,
    pub position: u64,
}

/// What a read gave.
pub(super) enum Chunk {
    /// Whole lines.
    Lines(Batch),
    /// A part of a line that goes on.
    Part,
    /// The file has no more at present.
    End,
}

impl Reader {
    /// Reads an open file on from `offset`, an archive from its beginning.
    pub fn new(
        file: File,
        offset: u64,
        is_archive: bool,
        delimiter: &Finder<'static>,
        decoder: Box<dyn Decoder>,
        origin: Arc<Origin>,
    ) -> io::Result<Self> {
        let head = Head::read(&file)?;
        let source = if is_archive {
            Source::Archive { content: Box::new(Archive::new(file.try_clone()?)), file }
        } else {
            Source::Plain(file)
        };
        let delimiter = if is_archive { Finder::new(b"\n").into_owned() } else { delimiter.clone() };
        Ok(Self {
            source,
            delimiter,
            offset: if is_archive { 0 } else { offset },
            unfinished: Vec::new(),
            skipping: false,
            longest: LONGEST_LINE,
            decoder,
            origin,
            names: None,
            head,
            fed: Instant::now(),
        })
    }

    /// From now on events get lasting ids.
    pub fn name_events(&mut self, names: lasting_ids::Source) {
        self.names = Some(names);
    }

    fn file(&self) -> &File {
        match &self.source {
            Source::Plain(file) | Source::Archive { file, .. } => file,
        }
    }

    /// The size of the file now.
    pub fn size(&self) -> io::Result<u64> {
        Ok(self.file().metadata()?.len())
    }

    /// Where the next read starts.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Where the line starts that has no end yet.
    pub fn line_start(&self) -> u64 {
        self.offset.saturating_sub(self.unfinished.len() as u64)
    }

    /// Whether the file begins as it did. What it begins with is kept up to date.
    pub fn begins_as_before(&mut self) -> io::Result<bool> {
        let head = self.head.check(self.file())?;
        self.head = head.unwrap_or(self.head);
        Ok(head.is_some())
    }

    /// What the file begins with.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Whether the file begins with what another one began with.
    pub fn begins_with(&self, head: Head) -> bool {
        head.check(self.file()).is_ok_and(|same| same.is_some())
    }

    /// Whether it is unpacked.
    pub fn is_archive(&self) -> bool {
        matches!(self.source, Source::Archive { .. })
    }

    /// The file has another name now.
    pub fn set_origin(&mut self, origin: Arc<Origin>) {
        self.origin = origin;
    }

    /// Reads from the beginning, as another file. Returns what the decoder still held of the old one.
    pub fn restart(&mut self, decoder: Box<dyn Decoder>) -> EventStream {
        let held = self.flush().events;
        self.decoder = decoder;
        self.offset = 0;
        self.unfinished.clear();
        self.skipping = false;
        if let Ok(head) = Head::read(self.file()) {
            self.head = head;
        }
        held
    }

    /// The next piece of the file. `size` is what the file is known to have.
    pub fn read(&mut self, size: u64) -> io::Result<Chunk> {
        let searched = self.unfinished.len();
        let read = self.fill(size)?;
        if read == 0 {
            return Ok(Chunk::End);
        }
        self.fed = Instant::now();
        match self.end_of_lines(searched) {
            Some(end) => Ok(Chunk::Lines(self.take(end))),
            None => Ok(self.bound().map_or(Chunk::Part, Chunk::Lines)),
        }
    }

    /// Appends what comes next to the unfinished line; how many bytes of the file that was.
    fn fill(&mut self, size: u64) -> io::Result<usize> {
        match &mut self.source {
            Source::Archive { content, .. } => {
                self.unfinished.reserve(CHUNK);
                let read = content.fill(&mut self.unfinished, CHUNK)?;
                self.offset += read as u64;
                Ok(read)
            }
            Source::Plain(file) => {
                let begun = self.unfinished.len();
                let is_short = begun < CHUNK / 2;
                // With the begun line not more than a chunk, which is a size that allocators like.
                let most = if is_short { CHUNK - begun } else { CHUNK };
                let known = size.saturating_sub(self.offset);
                let wanted = usize::try_from(known).unwrap_or(CHUNK).clamp(1, most);
                if is_short {
                    // Not a byte more: a file may have its turn for so many only.
                    self.unfinished.reserve_exact(wanted);
                } else {
                    self.unfinished.reserve(wanted);
                }
                let read = loop {
                    let spare = rustix::buffer::spare_capacity(&mut self.unfinished);
                    match rustix::io::pread(&*file, spare, self.offset) {
                        Err(rustix::io::Errno::INTR) => {}
                        read => break read?,
                    }
                };
                self.offset += read as u64;
                Ok(read)
            }
        }
    }

    /// Where the last whole line ends. Up to `searched` there is none.
    fn end_of_lines(&self, searched: usize) -> Option<usize> {
        let length = self.delimiter.needle().len();
        // The delimiter may have come in two pieces.
        let from = searched.saturating_sub(length - 1);
        let new = self.unfinished.get(from..)?;
        let last = match self.delimiter.needle() {
            [only] => memchr::memrchr(*only, new),
            // From the left, as lines are cut: a longer one may overlap itself.
            _ => self.delimiter.find_iter(new).last(),
        };
        last.map(|at| from + at + length)
    }

    /// The whole lines up to `end` as events.
    fn take(&mut self, end: usize) -> Batch {
        let rest = self.unfinished.get(end..).unwrap_or_default().to_vec();
        let mut lines = std::mem::replace(&mut self.unfinished, rest);
        lines.truncate(end);
        if std::mem::take(&mut self.skipping) {
            let first = self.delimiter.find(&lines).unwrap_or(lines.len());
            lines.drain(..(first + self.delimiter.needle().len()).min(lines.len()));
        }
        self.decoded(lines, self.line_start())
    }

    fn decoded(&mut self, lines: Vec<u8>, end: u64) -> Batch {
        let start = end.saturating_sub(lines.len() as u64);
        let lines = match &self.source {
            // As Java reads text: what is none becomes U+FFFD.
            Source::Archive { .. } => match String::from_utf8_lossy(&lines) {
                std::borrow::Cow::Borrowed(_) => lines,
                std::borrow::Cow::Owned(text) => text.into_bytes(),
            },
            Source::Plain(_) => lines,
        };
        let lines = Records::new(Bytes::from(lines), self.delimiter.clone());
        let events = match self.names.clone() {
            None => self.decoder.decode_records(lines),
            Some(names) => self.named(&lines, start, &names),
        };
        let events = self.marked(events);
        Batch { events, position: self.position_before(end) }
    }

    /// Lines from `start` on, one after the other, so that each event is named by the place where it starts: that of
    /// what the decoder holds.
    fn named(&mut self, lines: &Records, start: u64, names: &lasting_ids::Source) -> EventStream {
        let mut events = Vec::new();
        let mut at = start;
        for line in lines.with_delimiters() {
            let before = events.len();
            let place = at.saturating_sub(self.decoder.held() as u64);
            at += line.bytes().len() as u64;
            self.decoder.decode_records(line).take_into(usize::MAX, &mut events);
            names.name(place, events.get_mut(before..).unwrap_or_default());
        }
        events.into()
    }

    /// Everything up to `end` was given to the decoder; it may hold some of it back. An archive has no position before
    /// its end.
    fn position_before(&self, end: u64) -> u64 {
        match self.source {
            Source::Plain(_) => end.saturating_sub(self.decoder.held() as u64),
            Source::Archive { .. } => 0,
        }
    }

    fn marked(&self, events: EventStream) -> EventStream {
        let origin = self.origin.apart();
        events.each(move |event| origin.put_on(event))
    }

    /// Throws the open line away when it is too long, but for its beginning.
    fn bound(&mut self) -> Option<Batch> {
        if self.unfinished.len() <= self.longest {
            return None;
        }
        // After a restart all of the line is read again.
        let position = self.position_before(self.line_start());
        let line = std::mem::take(&mut self.unfinished);
        // What may be the first part of a delimiter is kept.
        let kept = line.len().saturating_sub(self.delimiter.needle().len() - 1);
        self.unfinished = line.get(kept..).unwrap_or_default().to_vec();
        if std::mem::replace(&mut self.skipping, true) {
            return None;
        }
        tracing::warn!(target: "logstash.inputs.file", "a line is longer than {} bytes; its beginning \
            goes on with the tag {TOO_LONG}, the rest is dropped", self.longest);
        let shown = line.get(..SHOWN).unwrap_or(&line);
        let mut event = Event::from_message(Text::from(String::from_utf8_lossy(shown)), Timestamp::now());
        event.tag(TOO_LONG);
        if let Some(names) = &self.names {
            names.name(position, std::slice::from_mut(&mut event));
        }
        Some(Batch { events: self.marked(vec![event].into()), position })
    }

    /// What the decoder holds back.
    pub fn flush(&mut self) -> Batch {
        let mut events = Vec::new();
        let start = self.line_start().saturating_sub(self.decoder.held() as u64);
        self.decoder.flush(&mut events);
        if let Some(names) = &self.names {
            names.name(start, &mut events);
        }
        Batch { events: self.marked(events.into()), position: self.position_before(self.line_start()) }
    }

    /// The line without an end, and all that is held back: nothing more comes.
    pub fn finish(&mut self) -> [Batch; 2] {
        let mut last = std::mem::take(&mut self.unfinished);
        if std::mem::take(&mut self.skipping) {
            last.clear();
        }
        let line = if last.is_empty() {
            Batch { events: Vec::new().into(), position: self.position_before(self.offset) }
        } else {
            last.extend_from_slice(self.delimiter.needle());
            let end = self.offset + self.delimiter.needle().len() as u64;
            self.decoded(last, end)
        };
        [line, self.flush()].map(|batch| Batch { position: batch.position.min(self.offset), ..batch })
    }

    /// How long to wait yet before the decoder is flushed, if it holds anything and is to be.
    pub fn flush_due(&self) -> Option<Duration> {
        let after = self.decoder.flush_after().filter(|_| self.decoder.held() > 0)?;
        Some(after.saturating_sub(self.fed.elapsed()))
    }

    /// Whether the decoder holds anything back.
    pub fn holds(&self) -> bool {
        self.decoder.held() > 0
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::plugins::Ecs;
    use crate::plugins::testing::codec;

    struct Fixture {
        file: tempfile::NamedTempFile,
        reader: Reader,
    }

    impl Fixture {
        fn new(delimiter: &str, codec_text: &str) -> Self {
            let file = tempfile::NamedTempFile::new().unwrap();
            let decoder = codec(codec_text).unwrap().decoders.unwrap().create();
            let origin = Arc::new(Origin::new("h", Ecs::Disabled, "/a".as_ref()));
            let delimiter = Finder::new(delimiter).into_owned();
            let reader = Reader::new(file.reopen().unwrap(), 0, false, &delimiter, decoder, origin).unwrap();
            Self { file, reader }
        }

        /// What reading gives once this was written: messages, and the position behind them.
        fn written(&mut self, text: &str) -> Vec<(Vec<String>, u64)> {
            self.file.write_all(text.as_bytes()).unwrap();
            let mut read = Vec::new();
            loop {
                match self.reader.read(self.reader.size().unwrap()).unwrap() {
                    Chunk::Lines(batch) => read.push(shown(batch)),
                    Chunk::Part => {}
                    Chunk::End => return read,
                }
            }
        }
    }

    fn shown(mut batch: Batch) -> (Vec<String>, u64) {
        let mut events = Vec::new();
        batch.events.take_into(usize::MAX, &mut events);
        let message = |event: &Event| event.fields().get("message").unwrap().as_str().unwrap().to_owned();
        (events.iter().map(message).collect(), batch.position)
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn whole_lines_are_given_out_and_the_position_is_behind_the_last_one() {
        let mut fixture = Fixture::new("||", "plain { }");
        assert_eq!(fixture.written("a||b|"), [(texts(&["a"]), 3)]);
        assert_eq!(fixture.written("|c"), [(texts(&["b"]), 6)]);
        assert_eq!(fixture.written("d"), []);
        assert_eq!(fixture.reader.line_start(), 6);
        let [line, rest] = fixture.reader.finish().map(shown);
        assert_eq!((line, rest), ((texts(&["cd"]), 8), (texts(&[]), 8)));
    }

    #[test]
    fn the_position_is_before_what_the_decoder_holds() {
        let codec = r#"multiline { pattern => "^ " what => "previous" }"#;
        let mut fixture = Fixture::new("\n", codec);
        assert_eq!(fixture.written("a\n b\n"), [(texts(&[]), 0)]);
        assert_eq!(fixture.written("c\n d\n"), [(texts(&["a\n b"]), 5)]);
        assert_eq!(fixture.written(" e"), []);
        let [line, rest] = fixture.reader.finish().map(shown);
        assert_eq!((line, rest), ((texts(&[]), 5), (texts(&["c\n d\n e"]), 12)));
    }

    #[test]
    fn a_line_that_is_too_long_is_shown_by_its_beginning_and_the_file_goes_on() {
        let mut fixture = Fixture::new("\n", "plain { }");
        fixture.reader.longest = 10;
        assert_eq!(fixture.written("ok\n"), [(texts(&["ok"]), 3)]);
        assert_eq!(fixture.written("0123456789a"), [(texts(&["0123456789a"]), 3)]);
        assert_eq!(fixture.written("bcdefghijklmnop"), []);
        assert_eq!(fixture.written("q\nlast\n"), [(texts(&["last"]), 36)]);
    }
}
