//! Power cuts: all that was done to the files of a queue is recorded, and at any moment of it a directory is made that a
//! machine could find after the cut. What was not synced is there, or not, or half; names that came or went since the
//! last sync of the directory as well, each by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::super::Durability;
use super::super::disk::Name;
use super::super::tape::{Op, Tape};
use super::*;

const EVENTS: u64 = 400;

/// What happened to events, and after how many steps on the tape.
#[derive(Default)]
struct Notes {
    /// Their source was told that they are safe.
    safe: Vec<(usize, std::ops::Range<u64>)>,
    /// They were acknowledged, or are about to be.
    acked: Vec<(usize, Vec<u64>)>,
}

/// Fills and empties a queue, and records it.
async fn record(path: &Path, random: &mut Random) -> (Vec<Op>, Notes) {
    let tape = Tape::of(path);
    tape.record();
    let queue = open(Settings {
        durability: Durability::Disk,
        checkpoint_writes: 1 + random.below(40),
        checkpoint_acks: 1 + random.below(40),
        ..settings(path)
    });
    let notes = Arc::new(Mutex::new(Notes::default()));
    let worker = {
        let (queue, notes, tape) = (queue.clone(), notes.clone(), tape.clone());
        tokio::task::spawn_blocking(move || {
            while let Some(taken) = queue.take(7, DELAY) {
                // Before it is acknowledged: from here on it may be forgotten.
                notes.lock().acked.push((tape.len(), numbers(&taken)));
                settle(taken);
            }
        })
    };
    let mut next = 0;
    while next < EVENTS {
        let range = next..next + 1 + random.below(20);
        next = range.end;
        let (noted, tape, safe) = (notes.clone(), tape.clone(), range.clone());
        let lease = Lease::new(move |ok| {
            if ok {
                noted.lock().safe.push((tape.len(), safe));
            }
        });
        queue.push(Chunk::new(events(range), Some(lease)), |_| {}).await.unwrap();
        if random.below(4) == 0 {
            tokio::time::sleep(DELAY).await;
        }
    }
    queue.close();
    worker.await.unwrap();
    queue.shut();
    let notes = std::mem::take(&mut *notes.lock());
    (tape.ops(), notes)
}

/// The content of a file: what is on disk, and what was written since.
#[derive(Clone, Default)]
struct Content {
    bytes: Vec<u8>,
    unsynced: Vec<(u64, Vec<u8>)>,
}

/// A file system that remembers what it has not written to disk.
#[derive(Default)]
struct Volatile {
    files: Vec<Content>,
    /// The names as programs see them, and as the disk has them.
    seen: BTreeMap<Name, usize>,
    on_disk: BTreeMap<Name, usize>,
    /// Names that changed since; what is gone is none.
    unsynced: Vec<(Name, Option<usize>)>,
}

impl Volatile {
    fn put(&mut self, name: Name, bytes: Vec<u8>) {
        self.files.push(Content { bytes, unsynced: Vec::new() });
        let file = self.files.len() - 1;
        self.seen.insert(name, file);
        self.unsynced.push((name, Some(file)));
    }

    fn play(&mut self, op: &Op) {
        match op {
            Op::Create(name, capacity) => {
                let mut bytes = vec![0; *capacity as usize];
                bytes[0] = super::super::page::VERSION;
                self.put(*name, bytes);
            }
            Op::Replace(name, bytes) => self.put(*name, bytes.clone()),
            Op::Write(name, offset, bytes) => {
                let file = self.seen[name];
                self.files[file].unsynced.push((*offset, bytes.clone()));
            }
            Op::Sync(name) => {
                let file = self.seen[name];
                let content = &mut self.files[file];
                for (offset, bytes) in std::mem::take(&mut content.unsynced) {
                    write(&mut content.bytes, offset, &bytes);
                }
            }
            Op::Remove(name) => {
                self.seen.remove(name);
                self.unsynced.push((*name, None));
            }
            Op::SyncNames => {
                self.unsynced.clear();
                self.on_disk = self.seen.clone();
            }
        }
    }

    /// Makes the directory that a machine may find after a cut.
    fn cut(mut self, directory: &Path, random: &mut Random) {
        for (name, file) in std::mem::take(&mut self.unsynced) {
            if random.below(2) == 0 {
                match file {
                    Some(file) => drop(self.on_disk.insert(name, file)),
                    None => drop(self.on_disk.remove(&name)),
                }
            }
        }
        std::fs::create_dir_all(directory).unwrap();
        std::fs::write(directory.join(".queue-version"), 2_u32.to_be_bytes()).unwrap();
        for (name, file) in self.on_disk {
            let Content { mut bytes, unsynced } = self.files[file].clone();
            for (offset, written) in unsynced {
                let kept = match random.below(3) {
                    0 => 0,
                    1 => written.len(),
                    _ => random.below(written.len() as u64) as usize,
                };
                write(&mut bytes, offset, &written[..kept]);
            }
            let made = std::fs::File::create(directory.join(name.to_string())).unwrap();
            made.write_all_at(&bytes, 0).unwrap();
        }
    }
}

fn write(bytes: &mut [u8], offset: u64, written: &[u8]) {
    let offset = offset as usize;
    bytes[offset..offset + written.len()].copy_from_slice(written);
}

/// What was safe and not yet acknowledged before the cut comes out of the queue that is left, and all in order.
fn check(ops: &[Op], notes: &Notes, cut: usize, random: &mut Random) {
    let mut disk = Volatile::default();
    ops.iter().take(cut).for_each(|op| disk.play(op));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("main");
    disk.cut(&path, random);
    let before = |at: &usize| *at <= cut;
    let acked: BTreeSet<u64> =
        notes.acked.iter().filter(|(at, _)| before(at)).flat_map(|(_, events)| events.clone()).collect();
    let safe: BTreeSet<u64> =
        notes.safe.iter().filter(|(at, _)| before(at)).flat_map(|(_, events)| events.clone()).collect();
    let queue = PersistedQueue::open(settings(&path), Box::new(|_, _| false))
        .unwrap_or_else(|error| panic!("after {cut} of {} steps: {error}", ops.len()));
    let came = drain(&queue);
    assert!(came.windows(2).all(|pair| pair[0] < pair[1]), "after {cut} steps: not in order: {came:?}");
    let came: BTreeSet<u64> = came.into_iter().collect();
    let lost: Vec<u64> = safe.difference(&acked).copied().filter(|event| !came.contains(event)).collect();
    assert!(lost.is_empty(), "after {cut} of {} steps these are lost: {lost:?}", ops.len());
    queue.shut();
    let left: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "after {cut} steps: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_power_cut_leaves_has_all_events_that_were_safe() {
    let runs = repeats(10);
    for seed in 1..=runs {
        let mut random = Random::new(seed);
        let dir = tempfile::tempdir().unwrap();
        let (ops, notes) = record(&dir.path().join("main"), &mut random).await;
        for _ in 0..20 {
            let cut = random.below(ops.len() as u64 + 1) as usize;
            check(&ops, &notes, cut, &mut random);
        }
    }
}
