//! kill -9: in a child process a writer and a cleaning reader work on one queue until they die, again and again.
//!
//! The child is this test binary, running [`child`] alone. It notes every write that returned in `acks` and every
//! entry that was delivered in `delivered`, with a line for each start, so that the parent can say afterwards that
//! nothing was lost and that nothing came twice without a kill in between.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::super::{CommitOptions, Committer, kill_point};
use super::*;
use crate::storage::Lock;

const ROLE: &str = "SPILLWAY_CRASH_ROLE";
const PLACE: &str = "SPILLWAY_CRASH_PLACE";

/// A queue and the notes beside it.
struct Place {
    root: PathBuf,
}

impl Place {
    fn queue(&self) -> PathBuf {
        self.root.join("main")
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::new(self.queue());
        settings.segment_bytes = Some(50_000);
        settings.flush_interval = Duration::from_millis(30);
        settings.flush_check_interval = Duration::from_millis(10);
        settings
    }

    fn commit_options(&self) -> CommitOptions {
        CommitOptions {
            directory: self.queue(),
            sincedb: self.root.join("sincedb"),
            commit_offsets: true,
            clean_consumed: true,
        }
    }

    fn note(&self, name: &str) -> fs::File {
        OpenOptions::new().create(true).append(true).open(self.root.join(name)).unwrap()
    }

    /// One write a line, so that a kill cannot cut it.
    fn write_note(file: &mut fs::File, line: &str) {
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.root.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn acks(&self) -> Vec<u64> {
        self.lines("acks").iter().map(|line| line.parse().unwrap()).collect()
    }

    fn spawn(&self, role: &str, kill_at: Option<(&str, u32)>) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "dead_letter::scenarios::crash::child", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(PLACE, &self.root)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some((point, after)) = kill_at {
            command.env(kill_point::POINT, point).env(kill_point::AFTER, after.to_string());
        }
        command.spawn().unwrap()
    }

    /// Starts a writer and a reader once more, and lets them come to rest.
    fn finish(&self) {
        let (_, warned) = warnings(|| {
            let writer = Writer::open(self.settings()).unwrap();
            writer.close().unwrap();
            read(self, &AtomicBool::new(true));
        });
        assert!(!warned.iter().any(|line| line.contains("damage")), "{warned:?}");
    }

    /// Nothing lost, nothing twice but across a kill, nothing set aside but the start of a first entry.
    fn check(&self) {
        let acks = self.acks();
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        let mut runs = 0;
        let mut last = None;
        for line in self.lines("delivered") {
            let Ok(number) = line.parse::<u64>() else {
                runs += 1;
                last = None;
                continue;
            };
            assert!(last.is_none_or(|last| last <= number), "{number} came after {last:?} in one run");
            last = Some(number);
            *counts.entry(number).or_default() += 1;
        }
        let lost: Vec<_> = acks.iter().filter(|number| !counts.contains_key(number)).collect();
        assert!(lost.is_empty(), "lost: {lost:?}");
        assert!(counts.values().all(|count| *count <= runs), "more often than there were runs");
        let names: Vec<_> = fs::read_dir(self.queue()).unwrap().map(|e| e.unwrap().file_name()).collect();
        for name in names.iter().filter(|name| name.to_string_lossy().ends_with(".err")) {
            let set_aside = fs::read(self.queue().join(name)).unwrap();
            assert!(payloads(&set_aside).is_empty(), "{name:?} holds whole entries");
        }
        assert!(names.iter().filter(|name| name.to_string_lossy().ends_with(".tmp")).count() <= 1, "{names:?}");
    }
}

/// What runs in the child; nothing when the tests run.
#[test]
fn child() {
    let (Ok(role), Ok(root)) = (std::env::var(ROLE), std::env::var(PLACE)) else { return };
    let place = Place { root: root.into() };
    match role.as_str() {
        "both" => std::thread::scope(|scope| {
            scope.spawn(|| read(&place, &AtomicBool::new(false)));
            write_until_killed(&place);
        }),
        "lock" => {
            let _lock = Lock::take(&place.queue(), ".lock", true).unwrap();
            Place::write_note(&mut place.note("locked"), "yes");
            std::thread::sleep(Duration::from_secs(60));
        }
        other => panic!("{other}"),
    }
}

fn write_until_killed(place: &Place) {
    let writer = Writer::open(place.settings()).unwrap();
    let mut acks = place.note("acks");
    let mut number = place.acks().last().map_or(0, |last| last + 1);
    loop {
        // Now and then an entry of several blocks.
        let padding =
            if number.is_multiple_of(5) { 40_000 + number as usize % 7 * 11_000 } else { number as usize % 900 };
        let reason = format!("{number} {}", "x".repeat(padding));
        if write(&writer, &reason) == Written::Stored {
            Place::write_note(&mut acks, &number.to_string());
        }
        number += 1;
        if number.is_multiple_of(50) {
            // Long enough for the idle segment to be sealed, too.
            std::thread::sleep(Duration::from_millis(45));
        }
    }
}

/// Delivers and commits; when `once`, only what is there.
fn read(place: &Place, once: &AtomicBool) {
    let mut delivered = place.note("delivered");
    Place::write_note(&mut delivered, "start");
    let mut committer = Committer::open(place.commit_options()).unwrap();
    committer.clean_before_start().unwrap();
    let start = committer.position().map_or(Start::Beginning, Start::Position);
    let mut reader = Reader::new(place.queue(), start);
    loop {
        let Some(letter) = reader.next(Duration::from_millis(10)) else {
            if once.load(Ordering::Relaxed) {
                break;
            }
            committer.tick().unwrap();
            continue;
        };
        let number = letter.reason.as_str().split(' ').next().unwrap();
        Place::write_note(&mut delivered, number);
        committer.advance(letter.position).unwrap();
    }
    committer.close().unwrap();
}

fn in_place(test: impl FnOnce(&Place)) {
    let root = tempfile::tempdir().unwrap();
    let place = Place { root: root.path().to_owned() };
    fs::create_dir(place.queue()).unwrap();
    test(&place);
}

fn is_killed(child: &mut Child) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status.signal() == Some(9),
            None if Instant::now() > end => {
                child.kill().unwrap();
                child.wait().unwrap();
                return false;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

#[test]
fn every_named_point_can_be_the_last() {
    let points = [
        "after-header",
        "mid-data",
        "between-fragments",
        "after-write",
        "before-rename",
        "after-rename",
        "before-sincedb-rename",
        "after-commit",
        "before-note",
    ];
    for point in points {
        in_place(|place| {
            for after in [0, 2, 5] {
                assert!(is_killed(&mut place.spawn("both", Some((point, after)))), "{point} was not reached");
            }
            place.finish();
            place.check();
        });
    }
}

/// 200 kills at any moment, over four queues.
#[test]
fn any_moment_can_be_the_last() {
    std::thread::scope(|scope| {
        for seed in 1..=4_u64 {
            scope.spawn(move || {
                in_place(|place| {
                    let mut random = seed * 7919;
                    for _ in 0..50 {
                        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        let mut child = place.spawn("both", None);
                        std::thread::sleep(Duration::from_millis(10 + (random >> 33) % 140));
                        child.kill().unwrap();
                        child.wait().unwrap();
                    }
                    place.finish();
                    place.check();
                    assert!(place.acks().len() > 500, "{} entries", place.acks().len());
                });
            });
        }
    });
}

#[test]
fn lock_other_process() {
    in_place(|place| {
        let mut child = place.spawn("lock", None);
        let end = Instant::now() + Duration::from_secs(30);
        while place.lines("locked").is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        let error = Writer::open(place.settings()).unwrap_err().to_string();
        assert!(
            error.contains(&path_text(&place.queue().join(".lock"))) && error.contains("another program"),
            "{error}"
        );
        child.kill().unwrap();
        child.wait().unwrap();
        Writer::open(place.settings()).unwrap().close().unwrap();
    });
}
