//! Cutting a stream of bytes into lines of text.

use memchr::memmem::Finder;

use super::charset::Charset;
use crate::event::{Bytes, Text};
use crate::plugins::Records;

/// How much of a line that is too long is shown.
const HEAD: usize = 1024;

/// A line of a stream, without its delimiter.
pub(super) enum Line {
    /// All of it.
    Whole(Text),
    /// The beginning of a line that was longer than the limit; the rest is gone.
    TooLong(Text),
}

/// Cuts a stream into lines; what has no end yet is kept for the next chunk.
pub(super) struct Lines {
    delimiter: Finder<'static>,
    charset: Charset,
    longest: usize,
    unfinished: Vec<u8>,
    /// The beginning of the open line once it is too long. `unfinished` then holds only what may be the first part of
    /// its delimiter.
    head: Option<Bytes>,
}

impl Lines {
    /// For lines that end with `delimiter`, which is not empty, and are not longer than `longest` bytes.
    pub fn new(delimiter: Finder<'static>, charset: Charset, longest: usize) -> Self {
        Self { delimiter, charset, longest, unfinished: Vec::new(), head: None }
    }

    /// Hands out every line that ends in this chunk.
    pub fn cut(&mut self, chunk: &Bytes, mut line: impl FnMut(Line)) {
        let (first, whole) = self.split(chunk);
        first.into_iter().chain(whole).for_each(&mut line);
    }

    /// The line that a former chunk began, if this one ends it, and all whole lines of this chunk, which are cut when
    /// they are asked for.
    pub fn split(&mut self, chunk: &Bytes) -> (Option<Line>, WholeLines) {
        let length = self.delimiter.needle().len();
        let mut start = 0;
        let mut first = None;
        if !self.unfinished.is_empty() || self.head.is_some() {
            let Some(end) = self.end_of_open_line(chunk) else {
                self.keep(chunk);
                return (None, self.whole(Bytes::new()));
            };
            self.unfinished.extend_from_slice(chunk.get(..end).unwrap_or_default());
            self.unfinished.truncate(self.unfinished.len() - length);
            self.bound();
            first = Some(self.take());
            start = end;
        }
        let end = self.delimiter_rfind(chunk.get(start..).unwrap_or_default()).map_or(start, |at| start + at + length);
        self.keep(chunk.get(end..).unwrap_or_default());
        (first, self.whole(chunk.slice(start..end).unwrap_or_default()))
    }

    fn whole(&self, bytes: Bytes) -> WholeLines {
        WholeLines::new(bytes, self.delimiter.clone(), self.charset, self.longest)
    }

    /// How many bytes wait for the end of their line.
    pub fn held(&self) -> usize {
        self.unfinished.len()
    }

    /// Where the last delimiter starts.
    fn delimiter_rfind(&self, bytes: &[u8]) -> Option<usize> {
        match self.delimiter.needle() {
            [only] => memchr::memrchr(*only, bytes),
            // From the left, as lines are cut: a longer one may overlap itself.
            _ => self.delimiter.find_iter(bytes).last(),
        }
    }

    /// What is left at the end of the stream.
    pub fn rest(&mut self) -> Option<Line> {
        (!self.unfinished.is_empty() || self.head.is_some()).then(|| self.take())
    }

    /// How many bytes of the chunk belong to the open line, its delimiter included.
    fn end_of_open_line(&self, chunk: &[u8]) -> Option<usize> {
        let length = self.delimiter.needle().len();
        if length > 1 {
            // The delimiter may be split between the chunks.
            let tail = last(&self.unfinished, length - 1);
            let border = [tail, chunk.get(..length - 1).unwrap_or(chunk)].concat();
            if let Some(at) = self.delimiter.find(&border) {
                return Some(at + length - tail.len());
            }
        }
        self.delimiter.find(chunk).map(|at| at + length)
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.unfinished.extend_from_slice(bytes);
        self.bound();
    }

    /// Throws the open line away when it is too long, but for its beginning.
    fn bound(&mut self) {
        if self.head.is_none() && self.unfinished.len() > self.longest {
            self.head = Some(head_of(&self.unfinished));
        }
        if self.head.is_some() {
            self.unfinished = last(&self.unfinished, self.delimiter.needle().len() - 1).to_vec();
        }
    }

    fn take(&mut self) -> Line {
        let unfinished = std::mem::take(&mut self.unfinished);
        match self.head.take() {
            Some(head) => Line::TooLong(self.charset.text(head)),
            None => Line::Whole(self.charset.text(Bytes::from(unfinished))),
        }
    }
}

/// Lines of a piece that ends with a delimiter. Its UTF-8 is checked all at once; only when it is not whole, each line
/// is looked at alone.
pub(super) struct WholeLines {
    bytes: Bytes,
    text: Option<Text>,
    at: usize,
    delimiter: Finder<'static>,
    charset: Charset,
    longest: usize,
}

impl WholeLines {
    fn new(bytes: Bytes, delimiter: Finder<'static>, charset: Charset, longest: usize) -> Self {
        let text = charset.is_utf8().then(|| Text::from_utf8(bytes.clone()).ok()).flatten();
        Self { bytes, text, at: 0, delimiter, charset, longest }
    }

    /// The records of an input that has cut them itself.
    pub fn of(records: &Records, charset: Charset, longest: usize) -> Self {
        Self::new(records.bytes().clone(), records.delimiter().clone(), charset, longest)
    }

    /// How many lines there are.
    pub fn number(&self) -> usize {
        match self.delimiter.needle() {
            [only] => memchr::memchr_iter(*only, &self.bytes).count(),
            _ => self.delimiter.find_iter(&self.bytes).count(),
        }
    }
}

impl Iterator for WholeLines {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        let start = self.at;
        let rest = self.bytes.get(start..)?;
        let length = match self.delimiter.needle() {
            [only] => memchr::memchr(*only, rest)?,
            _ => self.delimiter.find(rest)?,
        };
        self.at = start + length + self.delimiter.needle().len();
        let range = start..start + length;
        Some(match &self.text {
            _ if length > self.longest => {
                Line::TooLong(self.charset.text(head_of(rest.get(..length).unwrap_or_default())))
            }
            Some(text) => Line::Whole(text.piece(range)),
            None => Line::Whole(self.charset.text(self.bytes.slice(range).unwrap_or_default())),
        })
    }
}

fn last(bytes: &[u8], count: usize) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(count)..).unwrap_or_default()
}

/// The first bytes of a line, up to a character border.
fn head_of(line: &[u8]) -> Bytes {
    let head = line.get(..HEAD).unwrap_or(line);
    let end = match std::str::from_utf8(head) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => head.len(),
    };
    Bytes::from(head.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(delimiter: &str, longest: usize, chunks: &[&str]) -> Vec<String> {
        let mut lines = Lines::new(Finder::new(delimiter).into_owned(), Charset::Utf8, longest);
        let mut out = Vec::new();
        let mut push = |line: Line| {
            out.push(match line {
                Line::Whole(text) => text.to_string(),
                Line::TooLong(head) => format!("!{head}"),
            });
        };
        for chunk in chunks {
            lines.cut(&Bytes::from(chunk.as_bytes()), &mut push);
        }
        lines.rest().into_iter().for_each(&mut push);
        out
    }

    #[test]
    fn a_stream_is_cut_wherever_its_chunks_end() {
        let text = "one\r\n\r\ntwo\rx\nthree\r\nrest";
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let chunks = [&text[..first], &text[first..second], &text[second..]];
                assert_eq!(cut("\r\n", 100, &chunks), ["one", "", "two\rx\nthree", "rest"], "{chunks:?}");
            }
        }
        assert_eq!(cut("aab", 100, &["xa", "a", "aby"]), ["xa", "y"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_shown_by_its_beginning_and_the_stream_goes_on() {
        for chunks in
            [&["1234567\nok\n"][..], &["1234", "567\nok\n"], &["12345", "67", "8\nok"], &["123456", "\n", "ok"]]
        {
            let lines = cut("\n", 5, chunks);
            assert!(lines[0].starts_with("!12345"), "{lines:?}");
            assert_eq!(lines[1..], ["ok"]);
        }
        assert_eq!(cut("\r\n", 5, &["1234567", "\r", "\nok"]), ["!1234567", "ok"]);
        assert_eq!(cut("\n", 5, &["1234567"]), ["!1234567"]);
    }
}
