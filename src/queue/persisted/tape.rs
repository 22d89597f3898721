//! What a test sees of a queue's writes, and how it makes them fail: a list of everything that was done to the files of
//! a directory, and a switch that refuses.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

use super::disk::Name;

/// One thing that was done.
#[derive(Clone, Debug)]
pub enum Op {
    /// A page of so many bytes was made.
    Create(Name, u64),
    /// Bytes were written at an offset.
    Write(Name, u64, Vec<u8>),
    /// A file was synced.
    Sync(Name),
    /// A file was put in place as a whole, synced before.
    Replace(Name, Vec<u8>),
    /// A file was deleted.
    Remove(Name),
    /// The directory was synced.
    SyncNames,
}

#[derive(Default)]
struct State {
    records: bool,
    ops: Vec<Op>,
    /// Steps that still succeed; none is without limit.
    left: Option<usize>,
}

/// The recorder of one directory.
#[derive(Clone, Default)]
pub struct Tape(Arc<Mutex<State>>);

static TAPES: LazyLock<Mutex<HashMap<PathBuf, Tape>>> = LazyLock::new(Mutex::default);

impl Tape {
    /// The one of that directory, which a test may have put in before.
    pub fn of(directory: &Path) -> Self {
        TAPES.lock().entry(directory.to_owned()).or_default().clone()
    }

    /// Starts to record, with nothing on it.
    pub fn record(&self) {
        let mut state = self.0.lock();
        state.records = true;
        state.ops.clear();
    }

    /// How much was done so far.
    pub fn len(&self) -> usize {
        self.0.lock().ops.len()
    }

    /// What was done so far.
    pub fn ops(&self) -> Vec<Op> {
        self.0.lock().ops.clone()
    }

    /// Refuses everything that needs space after so many more steps; `None` for never.
    pub fn refuse_after(&self, steps: Option<usize>) {
        self.0.lock().left = steps;
    }

    /// Something is about to be done.
    pub fn note(&self, op: Op) -> io::Result<()> {
        let mut state = self.0.lock();
        let needs_space = !matches!(op, Op::Remove(_));
        if needs_space && let Some(left) = &mut state.left {
            if *left == 0 {
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            *left -= 1;
        }
        if state.records {
            state.ops.push(op);
        }
        Ok(())
    }
}
