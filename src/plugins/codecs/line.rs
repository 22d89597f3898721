//! `line`: one event for each line, one line for each event.

use hipstr::HipByt;
use memchr::memmem::Finder;

use super::charset::Charset;
use super::plain_text::{PlainText, original_field};
use crate::event::{Event, Map, Text, Timestamp, Value};
use crate::plugins::{Codec, CodecPlugin, Decoder, Decoders, Encoder, Encoders, Options};

/// The plugin.
pub const PLUGIN: CodecPlugin = CodecPlugin { name: "line", summary: "Lines of text.", build };

fn build(options: &mut Options<'_>) -> Codec {
    let charset = Charset::read(options);
    let format = PlainText::read(options);
    let delimiter = options.string("delimiter").doc("What ends a line.").default("\n".to_owned());
    if delimiter.is_empty() {
        options.invalid("delimiter", "the delimiter of lines cannot be empty");
    }
    let keep_original = original_field(options).is_some();
    let finder = Finder::new(delimiter.as_bytes()).into_owned();
    Codec {
        decoders: Some(Decoders::new(move || LineDecoder {
            lines: Lines::new(finder.clone()),
            charset,
            keep_original,
        })),
        encoders: Some(Encoders::new(LineEncoder { format, delimiter })),
    }
}

/// Cuts a stream into lines; what has no end yet is kept for the next chunk.
pub(super) struct Lines {
    delimiter: Finder<'static>,
    unfinished: Vec<u8>,
}

impl Lines {
    /// For lines that end with `delimiter`, which is not empty.
    pub fn new(delimiter: Finder<'static>) -> Self {
        Self { delimiter, unfinished: Vec::new() }
    }

    /// Hands out every line that ends in this chunk, without its delimiter.
    pub fn cut(&mut self, chunk: &HipByt<'static>, mut line: impl FnMut(HipByt<'static>)) {
        let length = self.delimiter.needle().len();
        let mut start = 0;
        if !self.unfinished.is_empty() {
            // A delimiter of several bytes may be split between the chunks.
            let seen = self.unfinished.len().saturating_sub(length - 1);
            self.unfinished.extend_from_slice(chunk);
            let Some(end) = self.delimiter.find(self.unfinished.get(seen..).unwrap_or_default()) else { return };
            let consumed = seen + end + length;
            start = chunk.len() - (self.unfinished.len() - consumed);
            self.unfinished.truncate(seen + end);
            line(HipByt::from(std::mem::take(&mut self.unfinished)));
        }
        let rest = chunk.get(start..).unwrap_or_default();
        let mut from = 0;
        for end in self.delimiter.find_iter(rest) {
            line(chunk.slice(start + from..start + end));
            from = end + length;
        }
        self.unfinished.extend_from_slice(rest.get(from..).unwrap_or_default());
    }

    /// What is left at the end of the stream.
    pub fn rest(&mut self) -> Option<HipByt<'static>> {
        (!self.unfinished.is_empty()).then(|| HipByt::from(std::mem::take(&mut self.unfinished)))
    }
}

struct LineDecoder {
    lines: Lines,
    charset: Charset,
    keep_original: bool,
}

impl LineDecoder {
    fn event(charset: Charset, keep_original: bool, line: HipByt<'static>, now: Timestamp) -> Event {
        let text = charset.text(line);
        let mut event = Event::from_message(text.clone(), now);
        if keep_original {
            event.fields_mut().insert(Text::borrowed("event"), original(text));
        }
        event
    }
}

/// `{"original": text}`
fn original(text: Text) -> Value {
    let mut map = Map::with_capacity(1);
    map.insert(Text::borrowed("original"), text);
    Value::Map(map)
}

impl Decoder for LineDecoder {
    fn decode(&mut self, chunk: HipByt<'static>, out: &mut Vec<Event>) {
        let now = Timestamp::now();
        let (charset, keep_original) = (self.charset, self.keep_original);
        self.lines.cut(&chunk, |line| out.push(Self::event(charset, keep_original, line, now)));
    }

    fn flush(&mut self, out: &mut Vec<Event>) {
        if let Some(line) = self.lines.rest() {
            out.push(Self::event(self.charset, self.keep_original, line, Timestamp::now()));
        }
    }
}

struct LineEncoder {
    format: PlainText,
    delimiter: String,
}

impl Encoder for LineEncoder {
    fn encode(&self, event: &Event, out: &mut Vec<u8>) {
        self.format.write(event, out);
        out.extend_from_slice(self.delimiter.as_bytes());
    }
}
