//! The size and age limits, and files that others delete.

use super::super::{Rejected, StoragePolicy};
use super::*;

#[test]
fn waiting_for_room_in_a_full_queue_drops_nothing_and_counts_nothing() {
    let q = three_full_segments();
    let writer = q.open();
    let event = Event::at(at(T));
    let rejected = Rejected { event: &event, plugin_type: "dlq", plugin_id: "a", reason: "x" };
    let asked = std::cell::Cell::new(0);
    let give_up = || asked.replace(asked.get() + 1) > 2;
    assert_eq!(writer.write_when_there_is_room(&rejected, &give_up).unwrap(), Written::Full);
    assert_eq!((writer.stats().dropped_events, writer.stats().last_error.as_str()), (0, "no errors"));
    // Somebody reads and deletes while it waits.
    let make_room = || {
        let _ = fs::remove_file(q.dir.join("1.log"));
        false
    };
    assert_eq!(writer.write_when_there_is_room(&rejected, &make_room).unwrap(), Written::Stored);
    assert_eq!(writer.stats().dropped_events, 0);
    let long = "x".repeat(4096);
    let too_large = Rejected { reason: &long, ..rejected };
    assert_eq!(writer.write_when_there_is_room(&too_large, &|| false).unwrap(), Written::Refused, "it never fits");
    assert_eq!(writer.stats().dropped_events, 1);
}

/// Three small segments, and no room for anything else.
fn three_full_segments() -> Queue {
    let mut q = Queue::new();
    for number in 1..=3 {
        q.file(&format!("{number}.log"), &segment(&[entry(&"r".repeat(300), at(T))]));
    }
    q.settings.max_bytes = q.size() + 100;
    q
}

#[test]
fn size_drop_newer() {
    let mut q = Queue::new();
    q.settings.max_bytes = 5000;
    let writer = q.open();
    let written: Vec<_> = (0..12).map(|_| write_sized(&writer, 556)).collect();
    assert_eq!(written, [vec![Written::Stored; 8], vec![Written::Refused; 4]].concat());
    let stats = writer.stats();
    assert_eq!(stats.dropped_events, 4);
    for part in ["Cannot write event to DLQ", &path_text(&q.dir), "reached maxQueueSize of 5000"] {
        assert!(stats.last_error.contains(part), "{}", stats.last_error);
    }
    assert!(q.size() <= 5000);
    assert_eq!(q.size(), stats.queue_size_in_bytes);
}

#[test]
fn size_drop_older() {
    let mut q = Queue::new();
    q.settings.max_bytes = 6000;
    q.settings.segment_bytes = Some(2000);
    q.settings.storage_policy = StoragePolicy::DropOlder;
    let writer = q.open();
    for _ in 0..29 {
        write_sized(&writer, 556);
        assert!(q.size() <= 6000);
        assert_eq!(q.size(), writer.stats().queue_size_in_bytes);
    }
    write(&writer, "newest");
    let stats = writer.stats();
    assert_eq!((stats.dropped_events, stats.last_error.as_str(), stats.storage_policy), (0, "no errors", "drop_older"));
    writer.close().unwrap();
    assert_eq!(q.read().last().unwrap(), "newest");
    let mut numbers: Vec<u32> = q.names().iter().map(|n| n.trim_end_matches(".log").parse().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers[0] > 1);
    assert_eq!(numbers, (numbers[0]..numbers[0] + numbers.len() as u32).collect::<Vec<_>>());
}

#[test]
fn size_drop_older_with_nothing_but_the_head() {
    let mut q = Queue::new();
    q.settings.max_bytes = 2000;
    q.settings.storage_policy = StoragePolicy::DropOlder;
    let writer = q.open();
    for _ in 0..10 {
        assert_eq!(write_sized(&writer, 556), Written::Stored);
        assert!(q.size() <= 2000);
    }
    assert_eq!(writer.stats().dropped_events, 0);
}

#[test]
fn size_never_passes_the_limit_by_padding_or_headers() {
    for policy in [StoragePolicy::DropNewer, StoragePolicy::DropOlder] {
        let mut q = Queue::new();
        q.settings.max_bytes = 200_000;
        q.settings.storage_policy = policy;
        let writer = q.open();
        for n in 0..60 {
            write_sized(&writer, 300 + n * 701 % 40_000);
            assert!(q.size() <= 200_000);
            assert_eq!(q.size(), writer.stats().queue_size_in_bytes);
        }
    }
}

#[test]
fn size_bigger_than_max() {
    let mut q = Queue::new();
    q.settings.max_bytes = 1000;
    q.settings.storage_policy = StoragePolicy::DropOlder;
    q.file("1.log", &five()[..264]);
    let writer = q.open();
    assert_eq!(write_sized(&writer, 3000), Written::Refused);
    assert_eq!(writer.stats().dropped_events, 1);
    assert!(writer.stats().last_error.contains("Cannot write event to DLQ"));
    assert!(q.has("1.log"));
}

#[test]
fn size_manual_delete() {
    let mut q = Queue::new();
    q.settings.max_bytes = 4500;
    q.settings.segment_bytes = Some(2000);
    let writer = q.open();
    while write_sized(&writer, 556) == Written::Stored {}
    assert!(q.has("1.log") && q.has("2.log"));
    fs::remove_file(q.dir.join("1.log")).unwrap();
    writer.tick();
    assert_eq!(writer.stats().queue_size_in_bytes, q.size());
    assert_eq!(write_sized(&writer, 556), Written::Stored);
}

#[test]
fn size_freed_by_hand_is_noticed_by_the_next_write() {
    let mut q = Queue::new();
    q.settings.max_bytes = 4500;
    q.settings.segment_bytes = Some(2000);
    let writer = q.open();
    while write_sized(&writer, 556) == Written::Stored {}
    fs::remove_file(q.dir.join("1.log")).unwrap();
    assert_eq!(write_sized(&writer, 556), Written::Stored);
}

#[test]
fn size_notes_of_a_cleaning_reader_are_taken_away() {
    let q = Queue::new();
    q.file("1.log", &five());
    let writer = q.open();
    fs::remove_file(q.dir.join("1.log")).unwrap();
    q.file(".deleted_segment", b"1.log\n");
    writer.tick();
    assert!(!q.has(".deleted_segment"));
    assert_eq!(writer.stats().queue_size_in_bytes, 1);
}

#[test]
fn age_expire() {
    let mut q = Queue::new();
    q.settings.retain_age = Some(Duration::from_secs(120));
    q.file("1.log", &segment(&[entry("a", at("2024-03-01T11:57:00Z")), entry("b", at("2024-03-01T11:59:00Z"))]));
    q.file("2.log", &segment(&[entry("c", at(T))]));
    let writer = q.open();
    writer.tick();
    assert!(q.has("1.log"));
    q.pass(90.0);
    writer.tick();
    assert!(!q.has("1.log") && q.has("2.log"));
    assert_eq!(writer.stats().expired_events, 2);
    assert_eq!(writer.stats().queue_size_in_bytes, q.size());
}

#[test]
fn age_expires_on_a_write_and_what_this_writer_sealed() {
    let mut q = Queue::new();
    q.settings.retain_age = Some(Duration::from_secs(60));
    let writer = q.open();
    write(&writer, "old");
    q.pass(10.0);
    writer.tick();
    assert!(q.has("1.log"));
    q.pass(55.0);
    write(&writer, "new");
    assert!(!q.has("1.log"));
    assert_eq!(writer.stats().expired_events, 1);
}

#[test]
fn age_on_close() {
    let mut q = Queue::new();
    q.settings.retain_age = Some(Duration::from_secs(60));
    q.file("1.log", &segment(&[entry("a", at("2024-03-01T11:59:30Z"))]));
    let writer = q.open();
    assert!(q.has("1.log"));
    q.pass(60.0);
    writer.close().unwrap();
    assert!(!q.has("1.log"));
}

#[test]
fn age_of_a_segment_that_cannot_be_read_is_that_of_its_file() {
    let mut q = Queue::new();
    q.settings.retain_age = Some(Duration::from_secs(60));
    q.file("1.log", b"garbage");
    let file = fs::File::options().write(true).open(q.dir.join("1.log")).unwrap();
    let then = std::time::UNIX_EPOCH + Duration::from_secs(at(T).seconds() as u64 - 61);
    file.set_modified(then).unwrap();
    let _writer = q.open();
    assert!(!q.has("1.log"));
}

#[test]
fn age_finds_the_last_entry_of_a_long_segment() {
    for tail in [0, 10, 30_000, 100_000] {
        let times = ["2024-03-01T11:00:00Z", "2024-03-01T11:30:00Z", "2024-03-01T11:59:00Z"];
        let mut entries: Vec<_> = times.iter().map(|time| entry(&"x".repeat(20_000), at(time))).collect();
        entries.push(entry(&"y".repeat(tail), at("2024-03-01T11:58:00Z")));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1.log");
        fs::write(&path, segment(&entries)).unwrap();
        let found = super::super::summary::last_write(&path).unwrap();
        assert_eq!(found, Some(at("2024-03-01T11:58:00Z")), "{tail}");
    }
}

#[test]
fn nothing_expires_without_an_age() {
    let q = Queue::new();
    q.file("1.log", &five());
    let writer = q.open();
    q.pass(1e9);
    writer.tick();
    assert!(q.has("1.log"));
}

/// Segments vanish while ages are looked at.
#[test]
fn a_segment_may_vanish_at_any_time() {
    let mut q = Queue::new();
    q.settings.retain_age = Some(Duration::from_secs(60));
    q.settings.segment_bytes = Some(300);
    let writer = q.open();
    let ((), warned) = warnings(|| {
        for n in 0..200 {
            write(&writer, "x");
            let _ = fs::remove_file(q.dir.join(format!("{}.log", n - n % 3)));
            q.pass(1.0);
            writer.tick();
        }
    });
    assert!(warned.is_empty(), "{warned:?}");
    assert_eq!(writer.stats().queue_size_in_bytes, q.size());
}
