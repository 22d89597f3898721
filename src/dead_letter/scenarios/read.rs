//! Reading: order, waiting, positions, and segments that come and go.

use super::super::{CommitOptions, Committer, Position};
use super::*;

fn reader(q: &Queue, start: Start) -> Reader {
    Reader::new(&q.dir, start)
}

fn five_with_reasons(prefix: &str) -> Vec<u8> {
    segment(&(0..2).map(|n| entry(&format!("{prefix}{n}"), at("2023-11-15T00:00:00Z"))).collect::<Vec<_>>())
}

/// Reads what is there as one run of an input would, from and to a position file.
fn run(q: &Queue, commit_offsets: bool) -> Vec<String> {
    let options = CommitOptions {
        directory: q.dir.clone(),
        sincedb: q.root.path().join("sincedb"),
        commit_offsets,
        clean_consumed: false,
    };
    let mut committer = Committer::open(options).unwrap();
    let start = committer.position().map_or(Start::Beginning, Start::Position);
    let letters = drain(&mut reader(q, start));
    for letter in &letters {
        committer.advance(letter.position).unwrap();
    }
    committer.close().unwrap();
    letters.into_iter().map(|letter| letter.reason.to_string()).collect()
}

#[test]
fn read_numeric_order() {
    let q = Queue::new();
    for number in ["9", "10", "100"] {
        q.file(&format!("{number}.log"), &segment(&[entry(number, at(T))]));
    }
    assert_eq!(q.read(), ["9", "10", "100"]);
}

#[test]
fn read_never_tmp() {
    let q = Queue::new();
    q.file("1.log.tmp", &five());
    let mut reader = reader(&q, Start::Beginning);
    assert!(reasons(&mut reader).is_empty());
    fs::rename(q.dir.join("1.log.tmp"), q.dir.join("1.log")).unwrap();
    assert_eq!(reasons(&mut reader), FIVE);
}

#[test]
fn read_unlinked() {
    let q = Queue::new();
    for number in 1..=3 {
        q.file(&format!("{number}.log"), &five_with_reasons(&format!("{number}.")));
    }
    let mut reader = reader(&q, Start::Beginning);
    assert_eq!(reader.next(Duration::ZERO).unwrap().reason, "1.0");
    for number in 1..=2 {
        fs::remove_file(q.dir.join(format!("{number}.log"))).unwrap();
    }
    assert_eq!(reasons(&mut reader), ["1.1", "3.0", "3.1"]);
}

#[test]
fn read_goes_on_when_the_whole_queue_was_numbered_anew() {
    let q = Queue::new();
    q.file("57.log", &five_with_reasons("old"));
    let mut reader = reader(&q, Start::Beginning);
    assert_eq!(reasons(&mut reader), ["old0", "old1"]);
    fs::remove_file(q.dir.join("57.log")).unwrap();
    q.file("1.log", &five_with_reasons("new"));
    assert_eq!(reasons(&mut reader), ["new0", "new1"]);
}

#[test]
fn read_does_not_start_over_when_the_highest_segment_expires() {
    let q = Queue::new();
    q.file("7.log", &five_with_reasons("a"));
    q.file("8.log", &five_with_reasons("b"));
    q.file("9.log.tmp", b"1");
    let mut reader = reader(&q, Start::Beginning);
    assert_eq!(reasons(&mut reader).len(), 4);
    fs::remove_file(q.dir.join("8.log")).unwrap();
    assert!(reasons(&mut reader).is_empty());
    fs::remove_file(q.dir.join("9.log.tmp")).unwrap();
    q.file("9.log", &five_with_reasons("c"));
    assert_eq!(reasons(&mut reader), ["c0", "c1"]);
}

#[test]
fn read_notices_another_file_of_the_same_number() {
    let q = Queue::new();
    q.file("1.log", &five_with_reasons("old"));
    let mut reader = reader(&q, Start::Beginning);
    assert_eq!(reasons(&mut reader).len(), 2);
    q.file("new", &five_with_reasons("new"));
    fs::rename(q.dir.join("new"), q.dir.join("1.log")).unwrap();
    assert_eq!(reasons(&mut reader), ["new0", "new1"]);
}

/// Somebody copies a segment into the queue, slowly.
#[test]
fn read_waits_for_a_file_that_grows() {
    let q = Queue::new();
    let whole = segment(&[entry(&"a".repeat(40_000), at(T)), entry("b", at(T))]);
    let mut reader = reader(&q, Start::Beginning);
    let (mut read, warned) = warnings(|| {
        let mut read = Vec::new();
        for cut in [0, 1, 9, 500, 32769, 32790, 40_100, whole.len()] {
            q.file("1.log", &whole[..cut]);
            // A write does not change the directory; a name that comes does.
            q.file(&format!("note{cut}"), b"");
            read.extend(reasons(&mut reader));
        }
        read
    });
    assert!(warned.is_empty(), "{warned:?}");
    assert_eq!(read.pop().unwrap(), "b");
    assert_eq!(read.len(), 1);
}

#[test]
fn read_warns_of_a_torn_segment_once_there_is_a_next_one() {
    let q = Queue::new();
    q.file("1.log", &five()[..700]);
    let mut reader = reader(&q, Start::Beginning);
    let (read, warned) = warnings(|| reasons(&mut reader));
    assert_eq!((read.len(), warned.len()), (2, 0));
    q.file("2.log", &five_with_reasons("x"));
    let (read, warned) = warnings(|| reasons(&mut reader));
    assert_eq!((read.len(), warned.len()), (2, 1));
    assert!(warned[0].contains("1.log") && warned[0].contains("offset=527"), "{warned:?}");
}

#[test]
fn read_waits_for_a_directory_that_does_not_exist_yet() {
    let q = Queue::new();
    fs::remove_dir(&q.dir).unwrap();
    let mut reader = reader(&q, Start::Beginning);
    let ((), warned) = warnings(|| {
        for _ in 0..1000 {
            assert!(reader.next(Duration::ZERO).is_none());
        }
    });
    assert_eq!(warned.len(), 1, "{warned:?}");
    fs::create_dir(&q.dir).unwrap();
    q.file("1.log", &five());
    assert_eq!(reasons(&mut reader), FIVE);
}

#[test]
fn read_stops_waiting_when_the_time_is_up() {
    let q = Queue::new();
    let started = std::time::Instant::now();
    assert!(reader(&q, Start::Beginning).next(Duration::from_millis(30)).is_none());
    assert!(started.elapsed() >= Duration::from_millis(30));
}

/// Segments without entries, as old releases left them, of any number and without recursion.
#[test]
fn read_passes_thousands_of_small_segments() {
    let q = Queue::new();
    let one = segment(&[entry("x", at(T))]);
    for number in 1..=3000 {
        q.file(&format!("{number}.log"), if number % 3 == 0 { &one } else { b"1" });
    }
    assert_eq!(q.read().len(), 1000);
}

#[test]
fn start_ts_basic() {
    let q = Queue::new();
    q.file("1.log", &five());
    for text in ["2023-11-14T22:13:22Z", "2023-11-14T22:13:21.500Z", "2023-11-15T00:13:22+02:00"] {
        assert_eq!(reasons(&mut reader(&q, Start::Timestamp(at(text)))), FIVE[2..], "{text}");
    }
}

#[test]
fn start_ts_skips_early_segments_and_delivers_all_behind_the_first_match() {
    let q = Queue::new();
    q.file("1.log", &segment(&[entry("a", at("2024-01-01T00:00:00Z"))]));
    let times = ["2024-01-02T00:00:00Z", "2024-01-04T00:00:00Z", "2024-01-02T00:00:00Z", "2024-01-05T00:00:00Z"];
    q.file("3.log", &segment(&times.map(|time| entry(&time[8..10], at(time)))));
    q.file("4.log", &segment(&[entry("back", at("2024-01-01T00:00:00Z"))]));
    let mut reader = reader(&q, Start::Timestamp(at("2024-01-03T00:00:00Z")));
    assert_eq!(reasons(&mut reader), ["04", "02", "05", "back"]);
}

#[test]
fn start_ts_finds_the_first_of_equal_times() {
    let q = Queue::new();
    let entries: Vec<_> = (0..40).map(|n| entry(&format!("{n}{}", "x".repeat(3000)), at(T))).collect();
    q.file("1.log", &segment(&entries));
    assert_eq!(drain(&mut reader(&q, Start::Timestamp(at(T)))).len(), 40);
}

#[test]
fn start_ts_finds_an_entry_that_is_split_over_blocks() {
    let q = Queue::new();
    let long = |reason: &str, time| entry(&reason.repeat(40_000), at(time));
    q.file("1.log", &segment(&[long("a", "2024-01-01T00:00:00Z"), long("b", "2024-01-02T00:00:00Z")]));
    let read = reasons(&mut reader(&q, Start::Timestamp(at("2024-01-02T00:00:00Z"))));
    assert_eq!((read.len(), &read[0][..1]), (1, "b"));
}

#[test]
fn start_ts_without_a_match_waits_for_newer_entries() {
    let q = Queue::new();
    q.file("1.log", &five());
    let mut reader = reader(&q, Start::Timestamp(at("2025-01-01T00:00:00Z")));
    assert!(reasons(&mut reader).is_empty());
    q.file("2.log", &segment(&[entry("new", at("2025-01-01T00:00:00Z"))]));
    let letters = drain(&mut reader);
    assert_eq!(letters[0].reason, "new");
    assert_eq!(letters[0].position, Position { segment: 2, offset: q.len("2.log") });
}

#[test]
fn sincedb_resume() {
    let q = Queue::new();
    q.file("1.log", &five());
    let sincedb = q.root.path().join("sincedb");
    assert_eq!(run(&q, true), FIVE);
    let saved = fs::read(&sincedb).unwrap();
    assert_eq!(saved, Position { segment: 1, offset: 1316 }.encode(&q.dir).unwrap());
    assert!(run(&q, true).is_empty());
    q.file("2.log", &five_with_reasons("x"));
    assert_eq!(run(&q, false), ["x0", "x1"]);
    assert_eq!(fs::read(&sincedb).unwrap(), saved);
    let all = reasons(&mut reader(&q, Start::Timestamp(at("2023-11-14T22:13:22Z"))));
    assert_eq!(all, ["r2", "r3", "r4", "x0", "x1"]);
}

#[test]
fn sincedb_resume_in_the_middle() {
    let q = Queue::new();
    q.file("1.log", &five());
    let start = Start::Position(Position { segment: 1, offset: 527 });
    assert_eq!(reasons(&mut reader(&q, start)), FIVE[2..]);
}

#[test]
fn sincedb_is_not_written_when_nothing_was_read() {
    let q = Queue::new();
    assert!(run(&q, true).is_empty());
    assert!(!q.root.path().join("sincedb").exists());
}

#[test]
fn sincedb_bad_content() {
    for (content, silent) in [("", true), ("\0\x32", false), ("\0\x31\0\0", false)] {
        let q = Queue::new();
        q.file("1.log", &five());
        let sincedb = q.root.path().join("sincedb");
        fs::write(&sincedb, content).unwrap();
        let (read, warned) = warnings(|| run(&q, true));
        assert_eq!(read, FIVE);
        assert_eq!(warned.is_empty(), silent, "{warned:?}");
        assert_eq!(q.root.path().join("sincedb.bad").exists(), !silent);
    }
}

#[test]
fn sincedb_non_ascii() {
    let mut q = Queue::new();
    q.dir = q.root.path().join("d\u{e9}");
    fs::create_dir(&q.dir).unwrap();
    q.file("1.log", &five());
    assert_eq!(run(&q, true), FIVE);
    assert!(run(&q, true).is_empty());
}

#[test]
fn sincedb_segment_gone() {
    let q = Queue::new();
    q.file("3.log", &five_with_reasons("3."));
    q.file("10.log", &five_with_reasons("10."));
    let start = Start::Position(Position { segment: 1, offset: 264 });
    assert_eq!(reasons(&mut reader(&q, start)), ["3.0", "3.1", "10.0", "10.1"]);
}

#[test]
fn sincedb_cleared_queue() {
    let q = Queue::new();
    q.file("1.log", &five_with_reasons("1."));
    q.file("2.log", &five_with_reasons("2."));
    let start = Start::Position(Position { segment: 57, offset: 264 });
    assert_eq!(reasons(&mut reader(&q, start)), ["1.0", "1.1", "2.0", "2.1"]);
}

#[test]
fn sincedb_eof_on_block() {
    let q = Queue::new();
    let overhead = entry("", at(T)).len();
    q.file("1.log", &segment(&[entry(&"x".repeat(32755 - overhead), at(T))]));
    assert_eq!(q.len("1.log"), 32769);
    let mut reader = reader(&q, Start::Position(Position { segment: 1, offset: 32769 }));
    let (read, warned) = warnings(|| reasons(&mut reader));
    assert!(read.is_empty() && warned.is_empty(), "{warned:?}");
    q.file("2.log", &five_with_reasons("x"));
    assert_eq!(reasons(&mut reader), ["x0", "x1"]);
}

#[test]
fn sincedb_of_another_file_starts_the_segment_over() {
    for offset in [265, 1317, 40_000, u64::MAX / 2] {
        let q = Queue::new();
        q.file("1.log", &five());
        let mut reader = reader(&q, Start::Position(Position { segment: 1, offset }));
        let (read, warned) = warnings(|| reasons(&mut reader));
        assert_eq!(read, FIVE, "{offset}");
        assert_eq!(warned.len(), 1, "{warned:?}");
    }
}

/// Any cut of a reading run in two delivers the same.
#[test]
fn positions_are_true_at_every_entry() {
    let q = Queue::new();
    let sizes = [5, 32_000, 700, 40_000, 32_500, 100, 70_000, 1];
    let entries: Vec<_> = sizes.iter().map(|n| entry(&"x".repeat(*n), at(T))).collect();
    q.file("1.log", &segment(&entries[..5]));
    q.file("4.log", &segment(&entries[5..]));
    let all = drain(&mut reader(&q, Start::Beginning));
    assert_eq!(all.len(), sizes.len());
    for (n, letter) in all.iter().enumerate() {
        let rest = drain(&mut reader(&q, Start::Position(letter.position)));
        assert_eq!(rest, all[n + 1..], "behind {n}");
    }
}
