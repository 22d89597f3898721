//! kill -9: in a child process a source and a worker share a queue until they die, again and again.
//!
//! The child is this test binary, running [`child`] alone. It notes every event that its source may forget in `safe`,
//! every one that was delivered in `delivered`, and each start.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use super::*;

const PLACE: &str = "SPILLWAY_QUEUE_CRASH_PLACE";

/// A queue and the notes beside it.
struct Place(PathBuf);

impl Place {
    fn settings(&self) -> Settings {
        Settings { checkpoint_writes: 64, checkpoint_acks: 64, ..settings(&self.0.join("main")) }
    }

    fn note(&self, name: &str) -> File {
        OpenOptions::new().create(true).append(true).open(self.0.join(name)).unwrap()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.0.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn safe(&self) -> Vec<u64> {
        self.lines("safe").iter().map(|line| line.parse().unwrap()).collect()
    }

    /// Nothing is lost, each run has its order, and nothing came more often than there were runs.
    fn check(&self) {
        let (mut counts, mut runs, mut last) = (BTreeMap::<u64, u32>::new(), 0, None);
        for line in self.lines("delivered") {
            let Ok(number) = line.parse::<u64>() else {
                (runs, last) = (runs + 1, None);
                continue;
            };
            assert!(last.is_none_or(|last| last < number), "{number} came after {last:?} in one run");
            last = Some(number);
            *counts.entry(number).or_default() += 1;
        }
        let lost: Vec<_> = self.safe().into_iter().filter(|number| !counts.contains_key(number)).collect();
        assert!(lost.is_empty(), "lost: {lost:?}");
        assert!(counts.values().all(|count| *count <= runs), "more often than there were runs");
        let left: Vec<_> = fs::read_dir(self.0.join("main")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "{left:?}");
    }
}

/// One line a write, so that a kill cannot cut it.
fn write_line(file: &mut File, line: &str) {
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn deliver(queue: &PersistedQueue, delivered: &mut File) {
    write_line(delivered, "start");
    while let Some(taken) = queue.take(7, DELAY) {
        numbers(&taken).iter().for_each(|number| write_line(delivered, &number.to_string()));
        settle(taken);
    }
}

/// What runs in the child; nothing when the tests run.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    let Ok(root) = std::env::var(PLACE) else { return };
    let place = Place(root.into());
    // What was begun and never safe may be in the queue all the same: its numbers are not used again.
    let mut next = place.lines("begun").last().map_or(0, |line| line.parse().unwrap());
    let mut begun = place.note("begun");
    let safe = Arc::new(Mutex::new(place.note("safe")));
    let queue = open(place.settings());
    let worker = queue.clone();
    let mut delivered = place.note("delivered");
    tokio::task::spawn_blocking(move || deliver(&worker, &mut delivered));
    loop {
        let (notes, range) = (safe.clone(), next..next + 1 + next % 13);
        next = range.end;
        write_line(&mut begun, &next.to_string());
        let told = range.clone();
        let lease = Lease::new(move |ok| {
            if ok {
                let mut notes = notes.lock().unwrap();
                told.for_each(|number| write_line(&mut notes, &number.to_string()));
            }
        });
        queue.push(Chunk::new(events(range), Some(lease)), |_| {}).await.unwrap();
    }
}

/// `kills` times over one queue.
fn campaign(seed: u64, kills: u64) {
    let root = tempfile::tempdir().unwrap();
    let place = Place(root.path().to_owned());
    let mut random = Random::new(seed);
    for _ in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "queue::persisted::scenarios::killed::child", "--nocapture", "--test-threads=1"])
            .env(PLACE, &place.0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 + random.below(120)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let queue = open(place.settings());
    queue.close();
    deliver(&queue, &mut place.note("delivered"));
    queue.shut();
    place.check();
    assert!(!place.safe().is_empty(), "it was killed before it began, each time");
}

#[test]
fn any_moment_can_be_the_last() {
    std::thread::scope(|scope| {
        for seed in 1..=2 {
            scope.spawn(move || campaign(seed, repeats(25)));
        }
    });
}
