//! A disk that takes no more: nothing half stays in the queue, the event is kept and stored once there is room.

mod dead_letter_support;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dead_letter_support::{read_all, reasons};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use spillway::dead_letter::{Rejected, Settings, Writer, Written};
use spillway::event::Event;

const ROLE: &str = "SPILLWAY_FULL_DISK_CHILD";

/// Fills the queue until it fails; returns the reasons that were stored.
fn fill(writer: &Writer, size: usize) -> Vec<String> {
    let mut stored = Vec::new();
    loop {
        let reason = format!("{} {}", stored.len(), "x".repeat(size));
        match writer.write(&Event::new(), "elasticsearch", "out", &reason) {
            Ok(written) => assert_eq!(written, Written::Stored),
            Err(error) => {
                let directory = error.directory.display().to_string();
                assert!(error.to_string().contains(&directory));
                assert!(writer.stats().last_error.contains(&error.source.to_string()));
                return stored;
            }
        }
        stored.push(reason);
    }
}

/// What happens on a full disk, with a way to make room.
fn survives_a_full_disk(queue: &Path, make_room: impl FnOnce() + Send) {
    let writer = Writer::open(Settings::new(queue)).unwrap();
    let mut stored = fill(&writer, 30_000);
    stored.extend(fill(&writer, 700).into_iter().map(|reason| format!("small {reason}")));
    let late = "stored when there was room".to_owned();
    let is_waiting = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_waiting.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
            }
            make_room();
        });
        let stop = || {
            is_waiting.store(true, Ordering::Relaxed);
            false
        };
        let written = writer.write_until(&Event::new(), "elasticsearch", "out", &late.repeat(1000), &stop);
        assert_eq!(written.unwrap(), Written::Stored);
    });
    writer.close().unwrap();
    let letters = read_all(queue);
    let read = reasons(&letters);
    assert_eq!(read.len(), stored.len() + 1);
    assert_eq!(*read.last().unwrap(), late.repeat(1000));
    let numbers = |texts: &mut dyn Iterator<Item = &str>| -> Vec<String> {
        texts.map(|text| text.trim_start_matches("small ").split(' ').next().unwrap().to_owned()).collect()
    };
    let kept = numbers(&mut read[..stored.len()].iter().copied());
    assert_eq!(kept, numbers(&mut stored.iter().map(String::as_str)));
}

/// A real file system of 12 MiB, where that can be mounted.
#[test]
fn a_full_file_system() {
    let root = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=12m", "tmpfs"]).arg(root.path()).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: a small file system cannot be mounted by this user; the file size limit is tested instead");
        return;
    }
    let ballast = root.path().join("ballast");
    std::fs::write(&ballast, vec![0; 8 << 20]).unwrap();
    let result = std::panic::catch_unwind(|| {
        survives_a_full_disk(&root.path().join("main"), || std::fs::remove_file(&ballast).unwrap());
    });
    let _ = Command::new("umount").arg(root.path()).status();
    result.unwrap();
}

/// The largest size that a file may have, in a child process that may lift it. Works for every user, and cuts a write
/// in its middle.
#[test]
fn a_file_that_may_not_grow() {
    let root = tempfile::tempdir().unwrap();
    // The signal that comes with it has to be ignored, which a program inherits.
    let status = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" --exact child --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env(ROLE, root.path())
        .status()
        .unwrap();
    assert!(status.success());
}

/// What runs in the child; nothing when the tests run.
#[test]
fn child() {
    let Ok(root) = std::env::var(ROLE) else { return };
    let unlimited = getrlimit(Resource::Fsize);
    let limit = |current| setrlimit(Resource::Fsize, Rlimit { current, maximum: unlimited.maximum }).unwrap();
    limit(Some(200_000));
    survives_a_full_disk(&Path::new(&root).join("main"), || limit(unlimited.current));
    limit(Some(300_000));
    batches_are_stored_in_part(&Path::new(&root).join("batches"), || limit(unlimited.current));
}

/// Of a batch that does not fit, what is reported as stored is stored, and the rest can be tried again.
fn batches_are_stored_in_part(queue: &Path, make_room: impl FnOnce()) {
    let mut settings = Settings::new(queue);
    settings.segment_bytes = Some(250_000);
    let writer = Writer::open(settings).unwrap();
    let event = Event::new();
    let texts: Vec<_> = (0..200).map(|n| format!("{n} {}", "y".repeat(n * 131 % 9000))).collect();
    let rejected: Vec<_> = texts
        .iter()
        .map(|reason| Rejected { event: &event, plugin_type: "elasticsearch", plugin_id: "out", reason })
        .collect();
    // An entry larger than the limit in the middle, so that something before it is stored.
    let huge = "z".repeat(400_000);
    let mut with_huge = rejected.clone();
    with_huge.insert(120, Rejected { reason: &huge, ..rejected[0] });
    let failure = writer.write_all(&with_huge).unwrap_err();
    assert!(failure.written.len() <= 120);
    assert!(failure.written.iter().all(|written| *written == Written::Stored));
    make_room();
    let done = failure.written.len();
    assert_eq!(writer.write_all(&with_huge[done..]).unwrap().len(), with_huge.len() - done);
    writer.close().unwrap();
    let letters = read_all(queue);
    let expected: Vec<_> = with_huge.iter().map(|r| r.reason).collect();
    assert!(reasons(&letters) == expected);
}
