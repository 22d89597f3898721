//! `json_lines`: one JSON document in each line.

use memchr::memmem::Finder;

use super::json::Documents;
use super::line::delimiter;
use super::lines::{Line, Lines, WholeLines};
use std::sync::Arc;

use crate::event::{Bytes, Event, EventStream, Timestamp};
use crate::plugins::{Codec, CodecPlugin, Decoder, Decoders, Ecs, EncodeError, Encoder, Options, Records};

/// The plugin.
pub const PLUGIN: CodecPlugin = CodecPlugin { name: "json_lines", summary: "One JSON document in each line.", build };

/// Longest line unless the option says otherwise, as in Logstash.
const LONGEST_LINE: usize = 512 * 1024 * 1024;

fn build(options: &mut Options<'_>) -> Codec {
    let documents = Documents::read(options);
    let delimiter = delimiter(options);
    // The names are the same with and without ECS.
    let _ = Ecs::read(options);
    let longest = options
        .integer("decode_size_limit_bytes")
        .doc("Longest line to decode. Of a longer one the first 1,024 bytes become a tagged event.")
        .default(LONGEST_LINE as i64);
    let longest = usize::try_from(longest).ok().filter(|n| *n > 0).unwrap_or_else(|| {
        options.invalid("decode_size_limit_bytes", "the limit must be a positive number of bytes");
        LONGEST_LINE
    });
    let finder = Finder::new(delimiter.as_bytes()).into_owned();
    Codec {
        decoders: Some(Decoders::new(move || JsonLinesDecoder {
            lines: Lines::new(finder.clone(), documents.charset(), longest),
            documents: documents.clone(),
            longest,
        })),
        encoder: Some(Arc::new(JsonLinesEncoder { delimiter })),
    }
}

struct JsonLinesDecoder {
    lines: Lines,
    documents: Documents,
    longest: usize,
}

fn decode(documents: &Documents, line: Line, out: &mut Vec<Event>) {
    match line {
        Line::Whole(text) => {
            documents.decode(&text, out);
        }
        Line::TooLong(head) => {
            tracing::warn!(target: "logstash.codecs.json_lines", "a line is longer than decode_size_limit_bytes; \
                its beginning goes on with the tag _jsonparsetoobigfailure, the rest is dropped");
            let mut event = Event::from_message(head, Timestamp::now());
            event.tag("_jsonparsetoobigfailure");
            out.push(event);
        }
    }
}

impl Decoder for JsonLinesDecoder {
    fn decode(&mut self, chunk: Bytes, out: &mut Vec<Event>) {
        let Self { lines, documents, .. } = self;
        lines.cut(&chunk, |line| decode(documents, line, out));
    }

    fn decode_records(&mut self, records: Records) -> EventStream {
        let mut events = Vec::new();
        let lines = WholeLines::of(&records, self.documents.charset(), self.longest);
        lines.for_each(|line| decode(&self.documents, line, &mut events));
        events.into()
    }

    fn flush(&mut self, out: &mut Vec<Event>) {
        if let Some(line) = self.lines.rest() {
            decode(&self.documents, line, out);
        }
    }

    fn held(&self) -> usize {
        self.lines.held()
    }
}

struct JsonLinesEncoder {
    delimiter: String,
}

impl Encoder for JsonLinesEncoder {
    fn encode(&self, event: &Event, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        event.write_json(out);
        out.extend_from_slice(self.delimiter.as_bytes());
        Ok(())
    }

    fn delimiter(&self) -> Option<&[u8]> {
        Some(self.delimiter.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{codec, decoded, json};

    fn shown(codec: &str, chunks: &[&[u8]]) -> Vec<String> {
        decoded(codec, chunks).iter().map(json).collect()
    }

    #[test]
    fn documents_may_span_chunks() {
        let chunks: [&[u8]; 2] = [b"{\"a\":1}\n{\"a\"", b":2}\n\n[{\"b\":1},{\"b\":2}]\nbad\n{\"c\":3}"];
        assert_eq!(
            shown("json_lines { }", &chunks),
            [
                r#"{"a":1}"#,
                r#"{"a":2}"#,
                r#"{"b":1}"#,
                r#"{"b":2}"#,
                r#"{"message":"bad","tags":["_jsonparsefailure"]}"#,
                r#"{"c":3}"#
            ]
        );
    }

    #[test]
    fn a_line_over_the_limit_is_shown_by_its_beginning() {
        let long = format!("{{\"a\":\"{}\"}}\n", "é".repeat(1000));
        let events = shown("json_lines { decode_size_limit_bytes => 100 }", &[long.as_bytes(), b"{\"a\":1}\n"]);
        assert_eq!(events.len(), 2);
        assert!(events[0].ends_with(r#"é","tags":["_jsonparsetoobigfailure"]}"#), "{}", events[0]);
        assert!(events[0].len() < 1100);
        assert_eq!(events[1], r#"{"a":1}"#);
        assert!(codec("json_lines { decode_size_limit_bytes => 0 }").is_err());
    }
}
