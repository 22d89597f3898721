//! What is known of one file while the input runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::fields::Origin;
use super::identity::Head;
use super::reader::Reader;

/// A file is warned of at most so often.
const WARN_EVERY: Duration = Duration::from_secs(300);

/// A file, whatever it is called at the moment.
pub(super) struct Watched {
    pub path: PathBuf,
    pub origin: Arc<Origin>,
    /// As of the last look.
    pub size: u64,
    pub modified: SystemTime,
    /// What `modified` was when the beginning of the file was last compared.
    pub compared: Option<SystemTime>,
    /// When the inode was made, where the file system knows.
    pub created: Option<SystemTime>,
    /// Where reading starts when the file is opened.
    pub resume: u64,
    /// What it began with when it was found or closed.
    pub head: Option<Head>,
    pub state: State,
    /// Since when it is at none of the watched paths.
    pub gone: Option<Instant>,
    warned: Option<Instant>,
}

/// What is done with a file.
pub(super) enum State {
    /// It is opened as soon as there is room.
    Waiting,
    /// It is read.
    Open(Box<Reader>),
    /// Nothing is to be read until its size is another one.
    Idle { size: u64 },
    /// It was read to its end there, and its events are on their way.
    Finishing { end: u64 },
    /// It is done with, or can never be read, until it is another size or was changed.
    Done { size: u64, modified: Option<SystemTime> },
}

impl Watched {
    /// A file that was found.
    pub fn new(path: PathBuf, origin: Arc<Origin>, size: u64, modified: SystemTime, state: State) -> Self {
        Self {
            path,
            origin,
            size,
            modified,
            compared: None,
            created: None,
            resume: 0,
            head: None,
            state,
            gone: None,
            warned: None,
        }
    }

    /// The open file.
    pub fn reader(&mut self) -> Option<&mut Reader> {
        match &mut self.state {
            State::Open(reader) => Some(reader),
            _ => None,
        }
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Whether it waits to be opened.
    pub fn is_waiting(&self) -> bool {
        matches!(self.state, State::Waiting)
    }

    /// Says what is wrong with the file, unless that was said a short while ago.
    pub fn warn(&mut self, what: &str, error: &std::io::Error) {
        if self.warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            tracing::warn!(target: "logstash.inputs.file", "{what} {}: {error}", self.path.display());
            self.warned = Some(Instant::now());
        }
    }
}
