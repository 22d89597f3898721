//! What a decoder is, and how an input gets one.
//!
//! A decoder that panics costs the record it stumbled over, never the input: [`Decoders`] hands out decoders that catch
//! it, log it and go on with a fresh one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use memchr::memmem::Finder;

use super::MessageEvents;
use crate::event::{Bytes, Event, EventStream};

/// Bytes of one stream (a connection, a file) to events.
pub trait Decoder: Send {
    /// Takes the next bytes of the stream, in pieces of any size. Text of the events shares the chunk.
    fn decode(&mut self, chunk: Bytes, out: &mut Vec<Event>);

    /// As [`Decoder::decode`], for inputs that push a chunk as a whole. A decoder that can count its records without
    /// decoding them leaves that to the workers.
    fn decode_chunk(&mut self, chunk: Bytes) -> EventStream {
        let mut events = Vec::new();
        self.decode(chunk, &mut events);
        events.into()
    }

    /// As [`Decoder::decode`] with each of these records, for inputs that know where records end.
    fn decode_records(&mut self, records: Records) -> EventStream {
        let mut events = Vec::new();
        records.iter().for_each(|record| self.decode(record, &mut events));
        events.into()
    }

    /// Gives out what is still buffered at the end of the stream.
    fn flush(&mut self, _out: &mut Vec<Event>) {}

    /// After this long without new bytes the input calls [`Decoder::flush`], if anything is [held](Decoder::held).
    fn flush_after(&self) -> Option<Duration> {
        None
    }

    /// How many of the bytes given so far are in no event yet, delimiters of records included: always the last ones.
    /// An input that can read again must not acknowledge them with the events that came before.
    fn held(&self) -> usize {
        0
    }

    /// Whether each chunk has to be made of whole lines. Inputs that read a stream of bytes get such a decoder from
    /// [`Decoders::for_byte_stream`].
    fn needs_lines(&self) -> bool {
        false
    }
}

/// Records that an input has cut itself, such as the lines of a file. Each is followed by the delimiter.
#[derive(Clone)]
pub struct Records {
    bytes: Bytes,
    delimiter: Finder<'static>,
}

impl Records {
    /// Of bytes that end with `delimiter`, which is not empty.
    pub fn new(bytes: Bytes, delimiter: Finder<'static>) -> Self {
        Self { bytes, delimiter }
    }

    /// All of them, delimiters included.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// What each of them ends with.
    pub fn delimiter(&self) -> &Finder<'static> {
        &self.delimiter
    }

    /// One after the other, each as records of its own.
    pub fn with_delimiters(&self) -> impl Iterator<Item = Self> {
        let mut start = 0;
        self.delimiter.find_iter(&self.bytes).map(move |at| {
            let end = at + self.delimiter.needle().len();
            let bytes = self.bytes.slice(start..end).unwrap_or_default();
            start = end;
            Self { bytes, delimiter: self.delimiter.clone() }
        })
    }

    /// One after the other, without delimiters.
    pub fn iter(&self) -> impl Iterator<Item = Bytes> {
        let mut start = 0;
        self.delimiter.find_iter(&self.bytes).map(move |end| {
            let record = self.bytes.slice(start..end).unwrap_or_default();
            start = end + self.delimiter.needle().len();
            record
        })
    }
}

/// Makes a decoder for each stream of an input.
#[derive(Clone)]
pub struct Decoders {
    make: Arc<dyn Fn() -> Box<dyn Decoder> + Send + Sync>,
    messages: Option<MessageEvents>,
}

impl Decoders {
    /// From a function that makes one.
    pub fn new<D: Decoder + 'static>(make: impl Fn() -> D + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(move || Box::new(make())), messages: None }
    }

    /// The same, of a codec that makes a message of every chunk and remembers nothing.
    pub(crate) fn of_messages(self, messages: MessageEvents) -> Self {
        Self { messages: Some(messages), ..self }
    }

    /// How a chunk becomes an event, if each one does for itself: an input that cuts messages out of what it reads
    /// can leave the rest to the workers then.
    pub(crate) fn messages(&self) -> Option<MessageEvents> {
        self.messages
    }

    /// A decoder for a new source of records: datagrams, messages, the lines of a file.
    pub fn create(&self) -> Box<dyn Decoder> {
        Box::new(Isolated { decoder: (self.make)(), decoders: self.clone() })
    }

    /// A decoder for a new stream of bytes, which is cut anywhere: a connection, a pipe.
    pub fn for_byte_stream(&self) -> Box<dyn Decoder> {
        let decoder = self.create();
        if decoder.needs_lines() { Box::new(LineWise { decoder, unfinished: Vec::new() }) } else { decoder }
    }

    /// The stand-in of a codec that could not be built; its pipeline never starts.
    pub(crate) fn none() -> Self {
        struct Nothing;
        impl Decoder for Nothing {
            fn decode(&mut self, _: Bytes, _: &mut Vec<Event>) {}
        }
        Self::new(|| Nothing)
    }
}

/// A decoder whose panics end here.
struct Isolated {
    decoder: Box<dyn Decoder>,
    decoders: Decoders,
}

impl Isolated {
    /// What `call` gives, unless the decoder breaks: then it is replaced.
    fn guard<T>(&mut self, call: impl FnOnce(&mut dyn Decoder) -> T) -> Option<T> {
        let decoder = &mut self.decoder;
        let outcome = catch_unwind(AssertUnwindSafe(|| call(decoder.as_mut())));
        if outcome.is_err() {
            tracing::error!(target: "logstash.codecs", "a codec broke on what it was given, which is lost; \
                the input goes on with a fresh one");
            self.decoder = (self.decoders.make)();
        }
        outcome.ok()
    }
}

impl Decoder for Isolated {
    fn decode(&mut self, chunk: Bytes, out: &mut Vec<Event>) {
        self.guard(|decoder| decoder.decode(chunk, out));
    }

    fn decode_chunk(&mut self, chunk: Bytes) -> EventStream {
        self.guard(|decoder| decoder.decode_chunk(chunk)).unwrap_or_else(|| Vec::new().into())
    }

    fn decode_records(&mut self, records: Records) -> EventStream {
        if let Some(events) = self.guard(|decoder| decoder.decode_records(records.clone())) {
            return events;
        }
        // One of them is what it breaks on: only that one is lost.
        let mut events = Vec::new();
        records.iter().for_each(|record| self.decode(record, &mut events));
        events.into()
    }

    fn flush(&mut self, out: &mut Vec<Event>) {
        self.guard(|decoder| decoder.flush(out));
    }

    fn flush_after(&self) -> Option<Duration> {
        self.decoder.flush_after()
    }

    fn held(&self) -> usize {
        self.decoder.held()
    }

    fn needs_lines(&self) -> bool {
        self.decoder.needs_lines()
    }
}

/// Longest line that is waited for; what is longer is given to the decoder in pieces.
const LONGEST_LINE: usize = 20 * 1024 * 1024;

/// Cuts a stream of bytes into lines for a decoder that needs them.
struct LineWise {
    decoder: Box<dyn Decoder>,
    unfinished: Vec<u8>,
}

impl Decoder for LineWise {
    fn decode(&mut self, chunk: Bytes, out: &mut Vec<Event>) {
        let mut events = self.decode_chunk(chunk);
        events.take_into(usize::MAX, out);
    }

    fn decode_chunk(&mut self, chunk: Bytes) -> EventStream {
        let searched = self.unfinished.len();
        self.unfinished.extend_from_slice(&chunk);
        let end = memchr::memrchr(b'\n', self.unfinished.get(searched..).unwrap_or_default());
        let Some(end) = end.map(|at| searched + at + 1) else {
            if self.unfinished.len() <= LONGEST_LINE {
                return Vec::new().into();
            }
            let mut events = Vec::new();
            self.decoder.decode(Bytes::from(std::mem::take(&mut self.unfinished)), &mut events);
            return events.into();
        };
        let rest = self.unfinished.split_off(end);
        let lines = std::mem::replace(&mut self.unfinished, rest);
        self.decoder.decode_records(Records::new(Bytes::from(lines), Finder::new(b"\n").into_owned()))
    }

    fn flush(&mut self, out: &mut Vec<Event>) {
        if !self.unfinished.is_empty() {
            self.decoder.decode(Bytes::from(std::mem::take(&mut self.unfinished)), out);
        }
        self.decoder.flush(out);
    }

    fn flush_after(&self) -> Option<Duration> {
        self.decoder.flush_after()
    }

    fn held(&self) -> usize {
        self.unfinished.len() + self.decoder.held()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Text, Timestamp};

    /// An event for each chunk; breaks on "bad".
    struct Touchy;

    impl Decoder for Touchy {
        fn decode(&mut self, chunk: Bytes, out: &mut Vec<Event>) {
            assert!(chunk.as_slice() != b"bad", "this decoder does not like it");
            out.push(Event::from_message(Text::from_utf8(chunk).unwrap(), Timestamp::now()));
        }

        fn needs_lines(&self) -> bool {
            true
        }
    }

    fn messages(events: &[Event]) -> Vec<&str> {
        events.iter().map(|event| event.fields().get("message").unwrap().as_str().unwrap()).collect()
    }

    fn taken(mut stream: EventStream) -> Vec<Event> {
        let mut events = Vec::new();
        stream.take_into(usize::MAX, &mut events);
        events
    }

    #[test]
    fn a_decoder_that_breaks_costs_one_record() {
        let mut decoder = Decoders::new(|| Touchy).create();
        let lines = Records::new(Bytes::from(&b"a\nbad\nb\n"[..]), Finder::new(b"\n").into_owned());
        assert_eq!(messages(&taken(decoder.decode_records(lines))), ["a", "b"]);
        let mut events = Vec::new();
        decoder.decode(Bytes::from(&b"bad"[..]), &mut events);
        decoder.decode(Bytes::from(&b"c"[..]), &mut events);
        assert_eq!(messages(&events), ["c"]);
        assert!(decoder.decode_chunk(Bytes::from(&b"bad"[..])).is_empty());
    }

    #[test]
    fn a_stream_is_cut_into_lines_for_a_decoder_that_needs_them() {
        let mut decoder = Decoders::new(|| Touchy).for_byte_stream();
        let mut events = Vec::new();
        for chunk in ["a\nb", "c", "\n\nd"] {
            decoder.decode(Bytes::from(chunk.as_bytes()), &mut events);
        }
        assert_eq!(messages(&events), ["a", "bc", ""]);
        assert_eq!(decoder.held(), 1);
        decoder.flush(&mut events);
        assert_eq!(messages(&events), ["a", "bc", "", "d"]);
        assert_eq!(decoder.held(), 0);
    }
}
