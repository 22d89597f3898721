//! The frames of the lumberjack protocol, which Beats and Elastic Agent speak, cut out of a stream of bytes.
//!
//! ```text
//! frame   version ('1' | '2')  kind  payload                          numbers are big-endian, of 32 bits
//!   W     events that follow before the client waits
//!   D     sequence number, pairs; for each pair: length, key, length, value
//!   J     sequence number, length, a JSON object
//!   C     length, zlib; inside: whole frames, none of them compressed
//! ```

use std::collections::VecDeque;
use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::event::{Bytes, Map, Text, Value};

/// Longest frame.
const LONGEST_FRAME: usize = 256 << 20;
/// Most bytes that one compressed frame may become.
const MOST_INFLATED: usize = 1 << 30;
/// Most pairs of a frame `D`.
const MOST_PAIRS: u32 = 1 << 16;
/// Memory that a connection keeps while nothing is in it.
const KEPT: usize = 1 << 20;
/// Bytes that are inflated at a time.
const PIECE: usize = 64 << 10;

/// A frame that was read whole.
#[derive(Debug, PartialEq)]
pub struct Frame {
    /// `b'1'` or `b'2'`.
    pub version: u8,
    /// What it says.
    pub content: Content,
}

/// What a frame says.
#[derive(Debug, PartialEq)]
pub enum Content {
    /// So many events follow.
    Window(u32),
    /// An event, and its sequence number.
    Event(u32, Body),
}

/// An event as it came.
#[derive(Debug, PartialEq)]
pub enum Body {
    /// The text of a JSON object.
    Json(Bytes),
    /// Fields, all of them text.
    Pairs(Map),
}

/// Bytes that are no frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The first byte of a frame.
    #[error("version {0:#04x} of the protocol is not known")]
    Version(u8),
    /// The second byte of a frame.
    #[error("a frame of type {0:#04x} is not known")]
    Kind(u8),
    /// A length that is zero where something has to be.
    #[error("the length of {0} is zero")]
    Empty(&'static str),
    /// A length or number beyond what is taken.
    #[error("{what} is {given}, more than the {most} that are taken")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much it is.
        given: usize,
        /// How much it may be.
        most: usize,
    },
    /// A compressed frame inside another.
    #[error("a compressed frame lies in a compressed frame")]
    Nested,
    /// A compressed frame that ends in the middle of a frame.
    #[error("the inflated data ends in the middle of a frame")]
    Truncated,
    /// What is no zlib.
    #[error("a compressed frame cannot be inflated: {0}")]
    Zlib(#[from] std::io::Error),
}

/// Cuts frames out of pieces of a stream.
#[derive(Debug, Default)]
pub struct Frames {
    /// Bytes that are in no frame yet, from `at` on.
    buffer: Vec<u8>,
    at: usize,
    /// Frames that came compressed.
    inflated: VecDeque<Frame>,
    is_inside: bool,
}

impl Frames {
    /// Takes the next bytes of the stream.
    pub fn push(&mut self, piece: &[u8]) {
        self.buffer.drain(..self.at);
        self.at = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT {
            self.buffer = Vec::new();
        }
        self.buffer.extend_from_slice(piece);
    }

    /// The next frame; `None` when its end has not come yet.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        loop {
            if let Some(frame) = self.inflated.pop_front() {
                return Ok(Some(frame));
            }
            let mut cursor = Cursor { rest: self.buffer.get(self.at..).unwrap_or_default() };
            let length = cursor.rest.len();
            let Some(step) = cursor.frame(self.is_inside)? else { return Ok(None) };
            self.at += length - cursor.rest.len();
            match step {
                Step::Frame(frame) => return Ok(Some(frame)),
                Step::Inflated(frames) => self.inflated = frames,
            }
        }
    }
}

/// Key and value.
type Pair<'b> = (&'b [u8], &'b [u8]);

/// What is read at once.
enum Step {
    Frame(Frame),
    Inflated(VecDeque<Frame>),
}

/// Reads from bytes that may end too early: everything is `None` then.
struct Cursor<'b> {
    rest: &'b [u8],
}

impl<'b> Cursor<'b> {
    fn frame(&mut self, is_inside: bool) -> Result<Option<Step>, FrameError> {
        let Some(version) = self.rest.first().copied() else { return Ok(None) };
        if !matches!(version, b'1' | b'2') {
            return Err(FrameError::Version(version));
        }
        let Some(kind) = self.rest.get(1).copied() else { return Ok(None) };
        let mut ahead = Cursor { rest: self.rest.get(2..).unwrap_or_default() };
        let content = match kind {
            b'W' => ahead.number().map(Content::Window),
            b'J' => ahead.json()?,
            b'D' => ahead.pairs()?,
            b'C' if is_inside => return Err(FrameError::Nested),
            b'C' => {
                let Some(length) = ahead.number() else { return Ok(None) };
                let Some(data) = ahead.bytes(length, "a compressed frame")? else { return Ok(None) };
                let frames = inflate(data)?;
                self.rest = ahead.rest;
                return Ok(Some(Step::Inflated(frames)));
            }
            other => return Err(FrameError::Kind(other)),
        };
        let Some(content) = content else { return Ok(None) };
        self.rest = ahead.rest;
        Ok(Some(Step::Frame(Frame { version, content })))
    }

    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_be_bytes(*number))
    }

    /// Bytes of a length that was read.
    fn bytes(&mut self, length: u32, what: &'static str) -> Result<Option<&'b [u8]>, FrameError> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length == 0 {
            return Err(FrameError::Empty(what));
        }
        self.bytes_or_none(length, what)
    }

    fn bytes_or_none(&mut self, length: usize, what: &'static str) -> Result<Option<&'b [u8]>, FrameError> {
        if length > LONGEST_FRAME {
            return Err(FrameError::TooMuch { what, given: length, most: LONGEST_FRAME });
        }
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else { return Ok(None) };
        self.rest = rest;
        Ok(Some(bytes))
    }

    fn json(&mut self) -> Result<Option<Content>, FrameError> {
        let (Some(sequence), Some(length)) = (self.number(), self.number()) else { return Ok(None) };
        let json = self.bytes(length, "a JSON object")?;
        Ok(json.map(|json| Content::Event(sequence, Body::Json(Bytes::from(json)))))
    }

    fn pair(&mut self) -> Result<Option<Pair<'b>>, FrameError> {
        let Some(length) = self.number() else { return Ok(None) };
        let Some(key) = self.bytes(length, "a key")? else { return Ok(None) };
        let Some(length) = self.number() else { return Ok(None) };
        // An empty line is a value too.
        let value = self.bytes_or_none(length as usize, "a value")?;
        Ok(value.map(|value| (key, value)))
    }

    fn pairs(&mut self) -> Result<Option<Content>, FrameError> {
        let whole = self.rest.len();
        let (Some(sequence), Some(count)) = (self.number(), self.number()) else { return Ok(None) };
        if count == 0 {
            return Err(FrameError::Empty("a list of pairs"));
        }
        if count > MOST_PAIRS {
            let (given, most) = (count as usize, MOST_PAIRS as usize);
            return Err(FrameError::TooMuch { what: "the number of pairs", given, most });
        }
        // An unfinished frame is looked at with every piece that comes, so fields are made only when it is whole.
        let mut ahead = Cursor { rest: self.rest };
        for _ in 0..count {
            if ahead.pair()?.is_none() {
                return Ok(None);
            }
            let given = whole - ahead.rest.len();
            if given > LONGEST_FRAME {
                return Err(FrameError::TooMuch { what: "a frame of pairs", given, most: LONGEST_FRAME });
            }
        }
        let mut fields = Map::new();
        for _ in 0..count {
            let Some((key, value)) = self.pair()? else { return Ok(None) };
            fields.insert(text(key), Value::String(text(value)));
        }
        Ok(Some(Content::Event(sequence, Body::Pairs(fields))))
    }
}

fn text(bytes: &[u8]) -> Text {
    Text::from(String::from_utf8_lossy(bytes))
}

/// The frames in a compressed one. It is inflated piece by piece, so that a small frame cannot become a large one in
/// memory all at once.
fn inflate(data: &[u8]) -> Result<VecDeque<Frame>, FrameError> {
    let mut decoder = ZlibDecoder::new(data);
    let mut inside = Frames { is_inside: true, ..Frames::default() };
    let mut found = VecDeque::new();
    let (mut piece, mut total) = (vec![0; PIECE], 0);
    loop {
        let read = decoder.read(&mut piece)?;
        if read == 0 {
            break;
        }
        total += read;
        if total > MOST_INFLATED {
            return Err(FrameError::TooMuch { what: "an inflated frame", given: total, most: MOST_INFLATED });
        }
        inside.push(piece.get(..read).unwrap_or_default());
        while let Some(frame) = inside.next_frame()? {
            found.push_back(frame);
        }
    }
    if inside.buffer.len() > inside.at { Err(FrameError::Truncated) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of bytes that arrive in pieces of a size.
    fn read(bytes: &[u8], size: usize) -> Result<Vec<Frame>, FrameError> {
        let (mut frames, mut found) = (Frames::default(), Vec::new());
        for piece in bytes.chunks(size) {
            frames.push(piece);
            while let Some(frame) = frames.next_frame()? {
                found.push(frame);
            }
        }
        Ok(found)
    }

    #[test]
    fn frames_are_found_wherever_the_stream_is_cut() {
        let bytes = b"2W\0\0\0\x022J\0\0\0\x01\0\0\0\x02{}1D\0\0\0\x02\0\0\0\x01\0\0\0\x01k\0\0\0\0";
        let pairs = Map::from_iter([("k", Value::from(Text::new()))]);
        let expected = [
            Frame { version: b'2', content: Content::Window(2) },
            Frame { version: b'2', content: Content::Event(1, Body::Json(Bytes::from(&b"{}"[..]))) },
            Frame { version: b'1', content: Content::Event(2, Body::Pairs(pairs)) },
        ];
        for size in 1..=bytes.len() {
            assert_eq!(read(bytes, size).unwrap(), expected, "{size}");
        }
    }

    #[test]
    fn what_is_no_frame_is_told() {
        for (bytes, words) in [
            (&b"3W\0\0\0\x01"[..], "version 0x33"),
            (b"2Z\0\0\0\x01", "type 0x5a"),
            (b"2J\0\0\0\x01\0\0\0\0", "JSON object is zero"),
            (b"2J\0\0\0\x01\xff\xff\xff\xff", "more than the"),
            (b"1D\0\0\0\x01\0\0\0\0", "pairs is zero"),
            (b"1D\0\0\0\x01\xff\xff\xff\xff", "number of pairs"),
            (b"2C\0\0\0\x02xx", "inflated"),
        ] {
            let error = read(bytes, bytes.len()).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
