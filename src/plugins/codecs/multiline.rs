//! `multiline`: several lines are one event, such as a stack trace.
//!
//! A pattern tells which lines belong to the one before or after them. An event is given out when the line comes that
//! does not belong to it, when it is too long, or when nothing has come for a while.

use std::sync::Arc;
use std::time::Duration;

use super::message::MessageEvents;
use crate::event::{Bytes, Event, EventStream, Text, Timestamp};
use crate::plugins::filters::grok::expand::expand;
use crate::plugins::filters::grok::library::Library;
use crate::plugins::filters::grok::pattern::PatternError;
use crate::plugins::{Codec, CodecPlugin, Decoder, Decoders, Ecs, Options, Records};
use crate::regexp::RubyRegex;

/// The plugin.
pub const PLUGIN: CodecPlugin = CodecPlugin { name: "multiline", summary: "Several lines are one event.", build };

/// What to do with which lines.
struct Rules {
    /// `None` when it could not be compiled; the pipeline then never starts.
    pattern: Option<RubyRegex>,
    negate: bool,
    /// Whether lines belong to the one before, else to the one after.
    previous: bool,
    tag: String,
    most_lines: usize,
    most_bytes: usize,
    flush_after: Option<Duration>,
    messages: MessageEvents,
}

fn build(options: &mut Options<'_>) -> Codec {
    let messages = MessageEvents::read(options);
    let given = options.string("pattern").doc("What tells the lines; grok patterns may be used.").required();
    let what = options
        .word("what", &["previous", "next"])
        .doc("Whether a line that matches belongs to the one before or after it.")
        .required();
    let folders = options.strings("patterns_dir").doc("Folders or files with more grok patterns.").optional();
    let negate = options.boolean("negate").doc("Whether lines count that do not match.").default(false);
    let tag = options
        .string("multiline_tag")
        .doc("Tag of events of several lines; an empty one for none.")
        .default("multiline".to_owned());
    let flush_after = options
        .seconds("auto_flush_interval")
        .doc("Seconds without a line after which an event is given out.")
        .optional();
    let most_lines = options.integer("max_lines").doc("Lines after which an event is cut.").default(500);
    let most_bytes = options.bytes("max_bytes").doc("Bytes after which an event is cut.").default(10 * 1024 * 1024);
    let rules = Arc::new(Rules {
        pattern: compiled(options, &given, &folders.unwrap_or_default()),
        negate,
        previous: what == "previous",
        tag,
        most_lines: usize::try_from(most_lines).unwrap_or_else(|_| {
            options.invalid("max_lines", "max_lines must be a number of lines");
            0
        }),
        most_bytes: usize::try_from(most_bytes).unwrap_or(usize::MAX),
        flush_after,
        messages,
    });
    Codec { decoders: Some(Decoders::new(move || Multiline::new(rules.clone()))), encoder: None }
}

fn compiled(options: &mut Options<'_>, given: &str, folders: &[String]) -> Option<RubyRegex> {
    let mut library = Library::bundled(Ecs::Disabled);
    for folder in folders {
        if let Err(error) = library.read_path(folder, "*") {
            options.invalid("patterns_dir", error.to_string());
        }
    }
    // Its groups set no fields: the pattern is compiled to match only.
    let expanded = expand(given, &library, false).map_err(PatternError::from);
    let regexp = expanded.and_then(|pattern| RubyRegex::dot_all(&pattern).map_err(PatternError::from));
    regexp
        .map_err(|error| {
            let help = error.help(&library).map(|help| format!("; {help}")).unwrap_or_default();
            options.invalid("pattern", format!("{error}{help}"));
        })
        .ok()
}

/// The lines of the open event of one stream.
struct Multiline {
    rules: Arc<Rules>,
    lines: Vec<Text>,
    /// In these lines.
    bytes: usize,
    /// As they were given, with their ends.
    held: usize,
}

impl Multiline {
    fn new(rules: Arc<Rules>) -> Self {
        Self { rules, lines: Vec::new(), bytes: 0, held: 0 }
    }

    /// Takes lines that are separated by line feeds; those at the end of a chunk count for nothing, nor do the empty
    /// lines between them. `given` is how many bytes more than the chunk has were given with it.
    fn take(&mut self, chunk: &Bytes, given: usize, out: &mut Vec<Event>) {
        let end = chunk.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1);
        let mut start = 0;
        while start < end {
            let rest = chunk.get(start..end).unwrap_or_default();
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = chunk.slice(start..start + length).unwrap_or_default();
            start = (start + length + 1).min(end);
            self.add(self.rules.messages.charset().text(line), length + 1, out);
        }
        // What belongs to no line belongs to the one before.
        if !self.lines.is_empty() {
            self.held = self.held.saturating_sub(usize::from(end > 0)) + (chunk.len() - end) + given;
        }
    }

    /// Takes a line, which has `given` bytes in the stream.
    fn add(&mut self, line: Text, given: usize, out: &mut Vec<Event>) {
        let matches = self.rules.pattern.as_ref().is_some_and(|pattern| pattern.is_match(&line)) != self.rules.negate;
        let is_over = self.lines.len() > self.rules.most_lines || self.bytes >= self.rules.most_bytes;
        if self.rules.previous && (!matches || is_over) {
            self.give_out(out);
        }
        self.bytes += line.len();
        self.held += given;
        self.lines.push(line);
        if !self.rules.previous && (!matches || self.is_over()) {
            self.give_out(out);
        }
    }

    fn is_over(&self) -> bool {
        self.has_too_many_lines() || self.has_too_many_bytes()
    }

    fn has_too_many_lines(&self) -> bool {
        self.lines.len() > self.rules.most_lines
    }

    fn has_too_many_bytes(&self) -> bool {
        self.bytes >= self.rules.most_bytes
    }

    fn give_out(&mut self, out: &mut Vec<Event>) {
        let Some(message) = self.message() else { return };
        self.rules.messages.push_event(message, Timestamp::now(), out);
        if let Some(event) = out.last_mut() {
            if self.lines.len() > 1 && !self.rules.tag.is_empty() {
                event.tag(&self.rules.tag);
            }
            if self.has_too_many_bytes() {
                event.tag("multiline_codec_max_bytes_reached");
            }
            if self.has_too_many_lines() {
                event.tag("multiline_codec_max_lines_reached");
            }
        }
        self.lines.clear();
        self.bytes = 0;
        self.held = 0;
    }

    /// The lines as one text.
    fn message(&self) -> Option<Text> {
        let (first, more) = self.lines.split_first()?;
        if more.is_empty() {
            return Some(first.clone());
        }
        let mut message = String::with_capacity(self.bytes + more.len());
        message.push_str(first);
        for line in more {
            message.push('\n');
            message.push_str(line);
        }
        Some(Text::from(message))
    }
}

impl Decoder for Multiline {
    fn decode(&mut self, chunk: Bytes, out: &mut Vec<Event>) {
        self.take(&chunk, 0, out);
    }

    fn decode_records(&mut self, records: Records) -> EventStream {
        let mut events = Vec::new();
        let delimiter = records.delimiter().needle().len();
        records.iter().for_each(|record| self.take(&record, delimiter, &mut events));
        events.into()
    }

    fn flush(&mut self, out: &mut Vec<Event>) {
        self.give_out(out);
    }

    fn flush_after(&self) -> Option<Duration> {
        self.rules.flush_after
    }

    fn held(&self) -> usize {
        self.held
    }

    fn needs_lines(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use memchr::memmem::Finder;

    use super::*;
    use crate::plugins::testing::{codec, decoded, json};

    const PREVIOUS: &str = r#"multiline { ecs_compatibility => disabled pattern => "^\s" what => "previous" }"#;

    fn shown(codec: &str, chunks: &[&[u8]]) -> Vec<String> {
        decoded(codec, chunks).iter().map(json).collect()
    }

    #[test]
    fn lines_belong_to_the_one_before_or_after() {
        assert_eq!(
            shown(PREVIOUS, &[b"a\n b\n\tc\nd\n"]),
            [r#"{"message":"a\n b\n\tc","tags":["multiline"]}"#, r#"{"message":"d"}"#]
        );
        let next = r#"multiline { ecs_compatibility => disabled pattern => "\\$" what => "next" multiline_tag => "" }"#;
        assert_eq!(
            shown(next, &[b"a\\\nb\nc\nd\\"]),
            [r#"{"message":"a\\\nb"}"#, r#"{"message":"c"}"#, r#"{"message":"d\\"}"#]
        );
        let ecs = r#"multiline { pattern => "^\s" what => "previous" }"#;
        assert_eq!(
            shown(ecs, &[b"a\n b"]),
            [r#"{"message":"a\n b","event":{"original":"a\n b"},"tags":["multiline"]}"#]
        );
    }

    #[test]
    fn long_events_are_cut() {
        let bytes = r#"multiline { ecs_compatibility => disabled pattern => "^ " what => "previous" max_bytes => 3 }"#;
        assert_eq!(
            shown(bytes, &[b"ab\n c\n d\n e\nf"]),
            [
                r#"{"message":"ab\n c","tags":["multiline","multiline_codec_max_bytes_reached"]}"#,
                r#"{"message":" d\n e","tags":["multiline","multiline_codec_max_bytes_reached"]}"#,
                r#"{"message":"f"}"#
            ]
        );
    }

    #[test]
    fn a_bad_byte_spoils_its_own_line_only() {
        assert_eq!(
            shown(PREVIOUS, &[b"a\n caf\xe9\n c\n"]),
            [r#"{"message":"a\n caf\\xE9\n c","tags":["multiline"]}"#]
        );
    }

    #[test]
    fn bytes_that_wait_are_counted_as_they_were_given() {
        let mut decoder = codec(PREVIOUS).unwrap().decoders.unwrap().create();
        let mut events = Vec::new();
        let mut held = |chunk: &[u8]| {
            decoder.decode(Bytes::from(chunk), &mut events);
            decoder.held()
        };
        assert_eq!(held(b"one\n two\n"), 9);
        assert_eq!(held(b" three"), 15);
        assert_eq!(held(b"\n\n"), 17);
        assert_eq!(held(b"four\n\n"), 6);
        assert_eq!(held(b"five"), 4);
        assert_eq!(events.len(), 2);
        let lines = Records::new(Bytes::from(&b"a||\n\n|| b||c||"[..]), Finder::new(b"||").into_owned());
        assert_eq!(decoder.decode_records(lines).len(), 2);
        assert_eq!(decoder.held(), 3);
        decoder.flush(&mut events);
        assert_eq!(decoder.held(), 0);
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        let refused = |text: &str| codec(text).err().unwrap();
        assert!(refused(r#"multiline { pattern => "%{NOPE}" what => next }"#).contains("NOPE"));
        assert!(refused(r#"multiline { pattern => "(" what => next }"#).contains("pattern"));
        assert!(refused(r#"multiline { pattern => "x" }"#).contains("what"));
        assert!(codec(r#"multiline { pattern => "%{NUMBER} " what => next auto_flush_interval => 2 }"#).is_ok());
    }
}
