//! Reading gzip files: several members, and line ends of every system.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

/// Whether a file is taken for an archive, by its name.
pub(super) fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz" || extension == "gzip")
}

/// What is in an archive, with every line end as a line feed.
pub(super) struct Archive {
    content: MultiGzDecoder<io::BufReader<File>>,
    /// The last byte was a carriage return, which was taken for a line end already.
    after_return: bool,
    /// Told once what could be read before it was given out.
    broken: Option<io::Error>,
}

impl Archive {
    /// From the beginning of an open file.
    pub fn new(file: File) -> Self {
        let content = MultiGzDecoder::new(io::BufReader::with_capacity(64 * 1024, file));
        Self { content, after_return: false, broken: None }
    }

    /// Appends up to `most` bytes of the content. 0 at its end.
    pub fn fill(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        let start = out.len();
        // What came may be half of a line end and nothing else.
        while out.len() == start {
            if let Some(error) = self.broken.take() {
                return Err(error);
            }
            self.broken = (&mut self.content).take(most as u64).read_to_end(out).err();
            if out.len() == start && self.broken.is_none() {
                break;
            }
            self.unify_line_ends(out, start);
        }
        Ok(out.len() - start)
    }

    /// Turns `\r\n` and `\r` behind `start` into `\n`.
    fn unify_line_ends(&mut self, out: &mut Vec<u8>, start: usize) {
        let new = out.get(start..).unwrap_or_default();
        let Some(last) = new.last() else { return };
        let ends_in_return = *last == b'\r';
        if self.after_return || memchr::memchr(b'\r', new).is_some() {
            let mut after_return = self.after_return;
            let mut at = start;
            for from in start..out.len() {
                let Some(byte) = out.get(from).copied() else { break };
                let is_second_half = after_return && byte == b'\n';
                after_return = byte == b'\r';
                if !is_second_half && let Some(slot) = out.get_mut(at) {
                    *slot = if after_return { b'\n' } else { byte };
                    at += 1;
                }
            }
            out.truncate(at);
        }
        self.after_return = ends_in_return;
    }
}

/// Reads an archive to its end, to see whether it is whole; the file then stands at its beginning again.
pub(super) fn test(file: &mut File) -> io::Result<()> {
    io::copy(&mut MultiGzDecoder::new(io::BufReader::new(&*file)), &mut io::sink())?;
    file.rewind()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzipped(members: &[&[u8]]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        for member in members {
            let mut encoder = flate2::write::GzEncoder::new(&file, flate2::Compression::fast());
            encoder.write_all(member).unwrap();
            encoder.finish().unwrap();
        }
        file.rewind().unwrap();
        file
    }

    #[test]
    fn members_follow_each_other_and_line_ends_are_one() {
        for most in [1, 2, 3, 1000] {
            let mut archive = Archive::new(gzipped(&[b"a\r\nb\rc\n\r\r\nd", b"\ne\r"]));
            let mut out = Vec::new();
            while archive.fill(&mut out, most).unwrap() > 0 {}
            assert_eq!(String::from_utf8(out).unwrap(), "a\nb\nc\n\n\nd\ne\n", "{most}");
        }
    }

    #[test]
    fn an_archive_that_is_cut_off_is_an_error() {
        let mut file = gzipped(&[b"some text that is long enough"]);
        file.set_len(20).unwrap();
        assert!(test(&mut file).is_err());
        let mut text = tempfile::tempfile().unwrap();
        text.write_all(b"no archive").unwrap();
        text.rewind().unwrap();
        assert!(Archive::new(text).fill(&mut Vec::new(), 100).is_err());
    }
}
