//! Which files are open, for the start after a crash.
//!
//! A kill in the middle of a write leaves half a line at the end of a file. Its batch was not acknowledged, so nothing
//! is lost when the next start cuts it off, and a reader never finds it between whole lines. What the journal says of a
//! file is its size when it was opened: bytes before that are not ours to cut.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use memchr::memmem;
use parking_lot::Mutex;

use crate::event::json::{self, Numbers, Reader};
use crate::event::{Text, Value};

/// Lines after which the journal is written anew with the open files only.
const MOST_LINES: usize = 4096;
/// Bytes read at a time on the search for the last whole line.
const STRIDE: u64 = 64 * 1024;

/// Device and inode of a file.
pub(super) type Identity = (u64, u64);

/// The journal of one output, in the data directory.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    delimiter: Vec<u8>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<Identity, Opened>,
    file: Option<File>,
    lines: usize,
}

/// A file as it was opened.
#[derive(Debug)]
struct Opened {
    size: u64,
    path: PathBuf,
}

impl Journal {
    /// A journal at `path`, for files whose lines end with `delimiter`.
    pub fn new(path: PathBuf, delimiter: &[u8]) -> Self {
        Self { path, delimiter: delimiter.to_vec(), state: Mutex::default() }
    }

    /// Cuts off what a crash left, and starts anew.
    pub fn recover(&self) {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let mut left: HashMap<Identity, Opened> = HashMap::new();
        left.extend(text.lines().filter_map(parse));
        for (identity, opened) in left {
            match self.cut(identity, &opened) {
                Ok(0) => {}
                Ok(bytes) => tracing::warn!(target: "logstash.outputs.file",
                    "cut {bytes} bytes off {}: a line that a crash left unfinished", opened.path.display()),
                Err(error) => tracing::warn!(target: "logstash.outputs.file",
                    "cannot look for an unfinished line in {}: {error}", opened.path.display()),
            }
        }
        self.clear();
    }

    /// Notes a file that was just opened.
    pub fn opened(&self, identity: Identity, size: u64, path: &Path) {
        let mut state = self.state.lock();
        state.open.insert(identity, Opened { size, path: path.to_owned() });
        let noted = if state.file.is_none() || state.lines >= MOST_LINES {
            self.rewrite(&mut state)
        } else {
            let line = state.open.get(&identity).map(|opened| line(identity, opened)).unwrap_or_default();
            state.lines += 1;
            state.file.as_mut().map_or(Ok(()), |file| file.write_all(&line))
        };
        if let Err(error) = noted {
            tracing::warn!(target: "logstash.outputs.file",
                "cannot write {}; a crash may leave half a line in {}: {error}", self.path.display(), path.display());
        }
    }

    /// Forgets a file that holds whole lines and was closed.
    pub fn closed(&self, identity: Identity) {
        self.state.lock().open.remove(&identity);
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.state.lock() = State::default();
        let _ = std::fs::remove_file(&self.path);
    }

    fn rewrite(&self, state: &mut State) -> Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // Beside it and renamed, so that a crash finds the old one or the new one.
        let new = self.path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&state.open.iter().flat_map(|(identity, opened)| line(*identity, opened)).collect::<Vec<_>>())?;
        std::fs::rename(&new, &self.path)?;
        state.lines = state.open.len();
        state.file = Some(file);
        Ok(())
    }

    /// Cuts a file behind its last whole line; the number of bytes cut.
    fn cut(&self, identity: Identity, opened: &Opened) -> Result<u64> {
        let Ok(file) = OpenOptions::new().read(true).write(true).open(&opened.path) else { return Ok(0) };
        let there = file.metadata()?;
        if (there.dev(), there.ino()) != identity || !there.is_file() || there.len() <= opened.size {
            return Ok(0);
        }
        let end = self.end_of_lines(&file, opened.size, there.len())?;
        if end < there.len() {
            file.set_len(end)?;
        }
        Ok(there.len() - end)
    }

    /// Where the last whole line ends, at `start` or behind it.
    fn end_of_lines(&self, file: &File, start: u64, end: u64) -> Result<u64> {
        let overlap = self.delimiter.len() as u64;
        let mut upper = end;
        while upper > start {
            let lower = upper.saturating_sub(STRIDE).max(start);
            let mut bytes = vec![0; usize::try_from(upper.saturating_add(overlap).min(end) - lower).unwrap_or(0)];
            file.read_exact_at(&mut bytes, lower)?;
            if let Some(at) = memmem::rfind(&bytes, &self.delimiter) {
                return Ok(lower + at as u64 + overlap);
            }
            upper = lower;
        }
        Ok(start)
    }
}

/// `device inode size "path"`
fn line((device, inode): Identity, opened: &Opened) -> Vec<u8> {
    let mut line = format!("{device} {inode} {} ", opened.size).into_bytes();
    json::write_string(&opened.path.to_string_lossy(), &mut line);
    line.push(b'\n');
    line
}

fn parse(line: &str) -> Option<(Identity, Opened)> {
    let mut words = line.splitn(4, ' ');
    let identity = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let size = words.next()?.parse().ok()?;
    match Reader::new(&Text::from(words.next()?), Numbers::Double).next_value() {
        Ok(Some(Value::String(path))) => Some((identity, Opened { size, path: PathBuf::from(path.as_str()) })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens a file that holds `before`, appends `after`, crashes, and starts again.
    fn crash(before: &str, after: &str, delimiter: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let (path, journal) = (folder.path().join("a \"file\"\n"), folder.path().join("state/journal"));
        std::fs::write(&path, before).unwrap();
        let there = std::fs::metadata(&path).unwrap();
        let first = Journal::new(journal.clone(), delimiter.as_bytes());
        first.opened((there.dev(), there.ino()), there.len(), &path);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(after.as_bytes()).unwrap();
        drop(first);
        Journal::new(journal.clone(), delimiter.as_bytes()).recover();
        assert!(!journal.exists());
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn half_a_line_is_cut_off() {
        for (before, after, delimiter, expected) in [
            ("", "one\ntwo\nthr", "\n", "one\ntwo\n"),
            ("", "one\n", "\n", "one\n"),
            ("", "on", "\n", ""),
            ("old\nnot ours", "", "\n", "old\nnot ours"),
            ("old\nnot ours", " one", "\n", "old\nnot ours"),
            ("old\nnot ours", " one\ntw", "\n", "old\nnot ours one\n"),
            ("", "one\r\ntwo\r", "\r\n", "one\r\n"),
        ] {
            assert_eq!(crash(before, after, delimiter), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_long_half_line_is_found_whole() {
        let stride = usize::try_from(STRIDE).unwrap();
        for length in [stride - 2, stride - 1, stride, stride * 2 + 1] {
            assert_eq!(crash("", &format!("one\r\n{}", "x".repeat(length)), "\r\n"), "one\r\n", "{length}");
        }
    }

    #[test]
    fn a_file_that_took_the_name_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, journal) = (folder.path().join("o"), folder.path().join("journal"));
        Journal::new(journal.clone(), b"\n").opened((1, 1), 0, &path);
        std::fs::write(&path, "half").unwrap();
        Journal::new(journal, b"\n").recover();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "half");
    }

    #[test]
    fn the_journal_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path().join("journal"), b"\n");
        for inode in 0..10_000 {
            journal.opened((1, inode), 0, Path::new("/some/file"));
            journal.closed((1, inode));
        }
        assert!(std::fs::metadata(&journal.path).unwrap().len() < 1 << 20);
    }
}
