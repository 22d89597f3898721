//! The scenarios of `tests/cases/dead-letter-queue.yml` that need only a writer and a reader, with a clock that is set
//! by hand. Each test has the name of its case.

mod clean;
mod crash;
mod damage;
mod guard;
mod read;
mod size_and_age;
mod start;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tempfile::TempDir;

use super::clock::Clock;
use super::entry::NewEntry;
use super::record::{self, Found, SegmentReader};
use super::{DeadLetter, Reader, Settings, Start, Writer, Written};
use crate::event::cbor::Encoder;
use crate::event::{Event, Timestamp};

/// The moment at which manual clocks start: entry times written then have 24 characters.
pub const T: &str = "2024-03-01T12:00:00.000Z";

/// A queue directory, its clock and its settings.
pub struct Queue {
    pub root: TempDir,
    pub dir: PathBuf,
    pub clock: Clock,
    pub settings: Settings,
}

pub fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

impl Queue {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("main");
        fs::create_dir(&dir).unwrap();
        Self { settings: Settings::new(&dir), dir, root, clock: Clock::manual(at(T)) }
    }

    pub fn open(&self) -> Writer {
        Writer::open_by(self.settings.clone(), self.clock.clone()).unwrap()
    }

    pub fn pass(&self, seconds: f64) {
        self.clock.advance(Duration::from_secs_f64(seconds));
    }

    pub fn file(&self, name: &str, content: &[u8]) {
        fs::write(self.dir.join(name), content).unwrap();
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.dir.join(name)).unwrap()
    }

    pub fn len(&self, name: &str) -> u64 {
        fs::metadata(self.dir.join(name)).unwrap().len()
    }

    pub fn has(&self, name: &str) -> bool {
        self.dir.join(name).exists()
    }

    /// Names in the directory, in name order.
    pub fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Bytes in all segment files.
    pub fn size(&self) -> u64 {
        self.names().iter().filter(|n| n.contains(".log")).map(|n| self.len(n)).sum()
    }

    pub fn read(&self) -> Vec<String> {
        reasons(&mut Reader::new(&self.dir, Start::Beginning))
    }
}

/// Writes an event whose entry takes this many bytes in the segment, one record header included.
pub fn write_sized(writer: &Writer, bytes: usize) -> Written {
    let event = Event::at(at(T));
    let mut empty = Vec::new();
    let entry = NewEntry {
        entry_time: at(T),
        fields: event.fields(),
        metadata: event.metadata(),
        plugin_type: "elasticsearch",
        plugin_id: "out",
        reason: "",
    };
    entry.encode(&mut Encoder::default(), &mut empty).unwrap();
    let reason = "r".repeat(bytes - record::HEADER - empty.len());
    writer.write(&event, "elasticsearch", "out", &reason).unwrap()
}

/// Writes a small event with this reason.
pub fn write(writer: &Writer, reason: &str) -> Written {
    writer.write(&Event::at(at(T)), "elasticsearch", "out", reason).unwrap()
}

pub fn drain(reader: &mut Reader) -> Vec<DeadLetter> {
    std::iter::from_fn(|| reader.next(Duration::ZERO)).collect()
}

/// The reasons of what the reader delivers now.
pub fn reasons(reader: &mut Reader) -> Vec<String> {
    drain(reader).into_iter().map(|letter| letter.reason.to_string()).collect()
}

/// A segment written by Logstash: five entries of 263 bytes with the reasons r0 to r4, a second apart.
pub fn five() -> Vec<u8> {
    let cases = include_str!("../../../tests/cases/dead-letter-queue.yml");
    let case = cases.split("dlq.segment.five").nth(1).unwrap();
    let hex = case.split("hex: ").nth(1).unwrap().lines().next().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

pub const FIVE: [&str; 5] = ["r0", "r1", "r2", "r3", "r4"];

/// The payloads of a segment.
pub fn payloads(segment: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = SegmentReader::new(std::io::Cursor::new(segment), record::FIRST_RECORD).unwrap();
    let mut out = Vec::new();
    while let Found::Entry(entry) = reader.next().unwrap() {
        out.push(entry.to_vec());
    }
    out
}

pub fn segment(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![record::VERSION];
    for payload in payloads {
        let end = out.len() as u64;
        record::frame(payload, end, &mut out);
    }
    out
}

/// An encoded entry with this reason and time.
pub fn entry(reason: &str, time: Timestamp) -> Vec<u8> {
    let event = Event::at(at(T));
    let mut out = Vec::new();
    let entry = NewEntry {
        entry_time: time,
        fields: event.fields(),
        metadata: event.metadata(),
        plugin_type: "elasticsearch",
        plugin_id: "out",
        reason,
    };
    entry.encode(&mut Encoder::default(), &mut out).unwrap();
    out
}

/// Runs something and returns the warnings and errors that it logged.
pub fn warnings<T>(run: impl FnOnce() -> T) -> (T, Vec<String>) {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lines = Lines::default();
    let to = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_ansi(false)
        .without_time()
        .with_writer(move || to.clone())
        .finish();
    let out = tracing::subscriber::with_default(subscriber, run);
    let text = String::from_utf8(lines.0.lock().clone()).unwrap();
    (out, text.lines().map(str::to_owned).collect())
}

pub fn path_text(path: &Path) -> String {
    path.display().to_string()
}
