//! Cutting a TCP stream into messages: at line ends, which stay in the text, or by the length that stands before a
//! message (octet counting, RFC 6587).

use std::collections::VecDeque;
use std::ops::Range;

use crate::event::Bytes;
use crate::plugins::inputs::net::connection::LONGEST_LINE;

/// How much of a message that is too long is shown.
const HEAD: usize = 1024;

/// Messages of a stream.
pub(super) struct Frames {
    /// Whether a message may have its length before it.
    counted: bool,
    /// What has no end yet.
    open: Vec<u8>,
    /// Bytes of a message that is too long are thrown away up to its end.
    skipping: bool,
}

/// Messages that were cut out of one piece, in order.
#[derive(Default)]
pub(super) struct Cut {
    /// One that an earlier piece began.
    pub first: Option<Bytes>,
    /// The beginning of one that is too long.
    pub head: Option<Bytes>,
    /// The memory in which the others lie.
    pub bytes: Bytes,
    pub others: Others,
}

/// Where messages lie.
pub(super) enum Others {
    /// Each ends with a line end, one after the other.
    Lines,
    /// Anywhere.
    At(VecDeque<Range<usize>>),
}

impl Default for Others {
    fn default() -> Self {
        Self::At(VecDeque::new())
    }
}

impl Frames {
    /// `counted` says whether messages may have their length before them.
    pub fn new(counted: bool) -> Self {
        Self { counted, open: Vec::new(), skipping: false }
    }

    /// The messages that end in this piece.
    pub fn cut(&mut self, piece: Bytes) -> Cut {
        if self.counted { self.cut_counted(piece) } else { self.cut_lines(piece) }
    }

    /// What is left at the end of the stream.
    pub fn rest(&mut self) -> Option<Bytes> {
        let open = std::mem::take(&mut self.open);
        (!open.is_empty() && !std::mem::take(&mut self.skipping)).then(|| Bytes::from(open))
    }

    /// Whether a message has begun whose end is still to come.
    pub fn has_rest(&self) -> bool {
        self.skipping || !self.open.is_empty()
    }

    fn cut_lines(&mut self, piece: Bytes) -> Cut {
        let Some(last) = memchr::memrchr(b'\n', &piece) else {
            return Cut { head: self.keep(&piece), ..Cut::default() };
        };
        let mut start = 0;
        let mut first = None;
        if self.skipping || !self.open.is_empty() {
            start = memchr::memchr(b'\n', &piece).map_or(0, |at| at + 1);
            self.open.extend_from_slice(piece.get(..start).unwrap_or_default());
            let open = std::mem::take(&mut self.open);
            first = (!std::mem::take(&mut self.skipping)).then(|| Bytes::from(open));
        }
        let head = self.keep(piece.get(last + 1..).unwrap_or_default());
        let bytes = piece.slice(start..last + 1).unwrap_or_default();
        Cut { first, head, bytes, others: Others::Lines }
    }

    /// Keeps the beginning of a message; gives it back when that is too long already.
    fn keep(&mut self, bytes: &[u8]) -> Option<Bytes> {
        if self.skipping {
            return None;
        }
        self.open.extend_from_slice(bytes);
        if self.open.len() <= LONGEST_LINE {
            return None;
        }
        self.skipping = true;
        let open = std::mem::take(&mut self.open);
        open.get(..HEAD).map(Bytes::from)
    }

    fn cut_counted(&mut self, piece: Bytes) -> Cut {
        let joined = !self.open.is_empty();
        if joined {
            self.open.extend_from_slice(&piece);
        }
        let view: &[u8] = if joined { &self.open } else { &piece };
        let mut ranges = VecDeque::new();
        let mut at = 0;
        while let Some(frame) = view.get(at..).and_then(frame) {
            if !std::mem::take(&mut self.skipping) {
                ranges.push_back(at + frame.start..at + frame.end);
            }
            at += frame.end;
        }
        if joined && at == 0 {
            // Where it lies is where it goes on.
            return Cut { head: self.keep(&[]), ..Cut::default() };
        }
        let bytes = if joined { Bytes::from(std::mem::take(&mut self.open)) } else { piece };
        let head = self.keep(bytes.get(at..).unwrap_or_default());
        Cut { first: None, head, bytes, others: Others::At(ranges) }
    }
}

/// The first whole message of the bytes.
fn frame(bytes: &[u8]) -> Option<Range<usize>> {
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let length = bytes.get(..digits).and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<usize>().ok());
    if let Some(length) = length.filter(|length| *length <= LONGEST_LINE)
        && bytes.first() != Some(&b'0')
    {
        match bytes.get(digits..) {
            Some([b' ', ..]) => {
                let end = digits + 1 + length;
                return (end <= bytes.len()).then_some(digits + 1..end);
            }
            Some([]) => return None,
            _ => {}
        }
    }
    memchr::memchr(b'\n', bytes).map(|at| 0..at + 1)
}

impl Cut {
    /// How many messages there are, besides a head.
    pub fn count(&self) -> usize {
        let others = match &self.others {
            Others::Lines => memchr::memchr_iter(b'\n', &self.bytes).count(),
            Others::At(ranges) => ranges.len(),
        };
        others + usize::from(self.first.is_some())
    }
}

impl Others {
    /// Where the next message lies, behind byte `at`.
    pub fn next(&mut self, bytes: &[u8], at: usize) -> Option<Range<usize>> {
        match self {
            Self::Lines => memchr::memchr(b'\n', bytes.get(at..)?).map(|end| at..at + end + 1),
            Self::At(ranges) => ranges.pop_front(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(counted: bool, pieces: &[&str]) -> Vec<String> {
        let mut frames = Frames::new(counted);
        let mut all = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for piece in pieces {
            let mut cut = frames.cut(Bytes::from(piece.as_bytes()));
            let count = cut.count() + all.len();
            all.extend(cut.first.as_deref().map(text));
            let mut at = 0;
            while let Some(range) = cut.others.next(&cut.bytes, at) {
                at = range.end;
                all.push(text(&cut.bytes[range]));
            }
            assert_eq!(all.len(), count);
            all.extend(cut.head.as_deref().map(|head| format!("!{}", text(head))));
        }
        all.extend(frames.rest().as_deref().map(text));
        all
    }

    #[test]
    fn lines_keep_their_ends_wherever_pieces_are_cut() {
        let text = "<1>one\n\n<2>two\nrest";
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let pieces = [&text[..first], &text[first..second], &text[second..]];
                assert_eq!(messages(false, &pieces), ["<1>one\n", "\n", "<2>two\n", "rest"], "{pieces:?}");
            }
        }
    }

    #[test]
    fn lengths_and_lines_may_be_mixed() {
        let text = "7 <1>a\nbc5 <2>xy<3>line\n01 <4>z\n12 <5>";
        for first in 0..=text.len() {
            let pieces = [&text[..first], &text[first..]];
            assert_eq!(
                messages(true, &pieces),
                ["<1>a\nbc", "<2>xy", "<3>line\n", "01 <4>z\n", "12 <5>"],
                "{pieces:?}"
            );
        }
    }

    #[test]
    fn a_message_that_is_too_long_is_shown_by_its_beginning() {
        let long = "x".repeat(LONGEST_LINE + 1);
        for counted in [false, true] {
            let all = messages(counted, &[&long, "yy", "zz\nok\n"]);
            assert_eq!(all.len(), 2, "{counted}");
            assert!(all[0].starts_with("!xxx") && all[0].len() == 1025);
            assert_eq!(all[1], "ok\n");
        }
    }
}
