//! `line`: one event for each line, one line for each event.

use memchr::memmem::Finder;

use super::lines::{Line, Lines};
use super::message::MessageEvents;
use super::plain_text::PlainText;
use std::sync::Arc;

use crate::event::{Bytes, Event, EventStream, Timestamp};
use crate::plugins::{Codec, CodecPlugin, Decoder, Decoders, EncodeError, Encoder, Options, Records};

/// The plugin.
pub const PLUGIN: CodecPlugin = CodecPlugin { name: "line", summary: "Lines of text.", build };

/// Longest line. Inputs that anybody may connect to hold back less.
const LONGEST_LINE: usize = 512 * 1024 * 1024;
/// Tag of an event that shows the beginning of a line longer than [`LONGEST_LINE`].
pub const TOO_LONG: &str = "_linetoobigfailure";

fn build(options: &mut Options<'_>) -> Codec {
    let messages = MessageEvents::read(options);
    let format = PlainText::read(options);
    let delimiter = delimiter(options);
    let finder = Finder::new(delimiter.as_bytes()).into_owned();
    Codec {
        decoders: Some(Decoders::new(move || LineDecoder {
            lines: Lines::new(finder.clone(), messages.charset(), LONGEST_LINE),
            messages,
        })),
        encoder: Some(Arc::new(LineEncoder { format, delimiter })),
    }
}

/// Declares and reads the option `delimiter`.
pub(super) fn delimiter(options: &mut Options<'_>) -> String {
    let delimiter = options.string("delimiter").doc("What ends a line.").default("\n".to_owned());
    if delimiter.is_empty() {
        options.invalid("delimiter", "the delimiter of lines cannot be empty");
        return "\n".to_owned();
    }
    delimiter
}

struct LineDecoder {
    lines: Lines,
    messages: MessageEvents,
}

fn push_event(messages: MessageEvents, line: Line, now: Timestamp, out: &mut Vec<Event>) {
    match line {
        Line::Whole(text) => messages.push_event(text, now, out),
        Line::TooLong(head) => {
            tracing::warn!(target: "logstash.codecs.line", "a line is longer than {LONGEST_LINE} bytes; \
                its beginning goes on with the tag {TOO_LONG}, the rest is dropped");
            out.push(messages.failure(head, now, TOO_LONG));
        }
    }
}

impl Decoder for LineDecoder {
    fn decode(&mut self, chunk: Bytes, out: &mut Vec<Event>) {
        let now = Timestamp::now();
        let messages = self.messages;
        self.lines.cut(&chunk, |line| push_event(messages, line, now, out));
    }

    fn decode_chunk(&mut self, chunk: Bytes) -> EventStream {
        let now = Timestamp::now();
        let messages = self.messages;
        let (mut first, mut whole) = self.lines.split(&chunk);
        let count = usize::from(first.is_some()) + whole.number();
        EventStream::lazy(count, move |most, out| {
            for line in first.take().into_iter().chain(whole.by_ref()).take(most) {
                push_event(messages, line, now, out);
            }
        })
    }

    fn decode_records(&mut self, records: Records) -> EventStream {
        // They are lines, whatever they were cut at.
        self.messages.of_records(&records)
    }

    fn flush(&mut self, out: &mut Vec<Event>) {
        if let Some(line) = self.lines.rest() {
            push_event(self.messages, line, Timestamp::now(), out);
        }
    }

    fn held(&self) -> usize {
        self.lines.held()
    }
}

struct LineEncoder {
    format: PlainText,
    delimiter: String,
}

impl Encoder for LineEncoder {
    fn encode(&self, event: &Event, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.format.write(event, out);
        out.extend_from_slice(self.delimiter.as_bytes());
        Ok(())
    }

    fn delimiter(&self) -> Option<&[u8]> {
        Some(self.delimiter.as_bytes())
    }
}
