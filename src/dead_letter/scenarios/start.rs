//! Start and close: names, recovery of what a dead writer left, the lock, sealing.

use super::super::queue::WhenFull;
use super::*;

#[test]
fn start_empty() {
    let q = Queue::new();
    for _ in 0..10 {
        let writer = q.open();
        assert_eq!(q.names(), [".lock", "1.log.tmp"]);
        assert_eq!((q.bytes(".lock"), q.bytes("1.log.tmp")), (vec![], b"1".to_vec()));
        let stats = writer.stats();
        assert_eq!((stats.queue_size_in_bytes, stats.dropped_events, stats.expired_events), (1, 0, 0));
        assert_eq!((stats.last_error.as_str(), stats.storage_policy), ("no errors", "drop_newer"));
        assert_eq!(stats.max_queue_size_in_bytes, 1_073_741_824);
        writer.close().unwrap();
        assert_eq!(q.names(), ["1.log.tmp"]);
        assert_eq!(q.len("1.log.tmp"), 1);
    }
}

#[test]
fn start_lifecycle() {
    let q = Queue::new();
    let writer = q.open();
    write_sized(&writer, 262);
    assert_eq!((q.len("1.log.tmp"), writer.stats().queue_size_in_bytes, q.has("1.log")), (263, 263, false));
    writer.close().unwrap();
    assert_eq!(q.names(), ["1.log"]);
    assert_eq!(q.len("1.log"), 263);
    let writer = q.open();
    assert_eq!(q.names(), [".lock", "1.log", "2.log.tmp"]);
    assert_eq!(writer.stats().queue_size_in_bytes, 264);
}

#[test]
fn start_recovery_matrix() {
    let q = Queue::new();
    let whole = segment(&[entry("whole", at(T))]);
    for (name, content) in
        [("3.log.tmp", &whole[..]), ("4.log.tmp", b"1"), ("5.log.tmp", b""), ("7.log", &whole), ("7.log.tmp", &whole)]
    {
        q.file(name, content);
    }
    q.file("foo.txt", b"");
    let writer = q.open();
    assert_eq!(q.names(), [".lock", "3.log", "7.log", "8.log.tmp", "foo.txt"]);
    assert_eq!((q.bytes("3.log"), q.bytes("7.log")), (whole.clone(), whole.clone()));
    assert_eq!(writer.stats().queue_size_in_bytes, 2 * whole.len() as u64 + 1);
}

#[test]
fn start_head_with_other_entries_than_the_segment_of_its_number() {
    let q = Queue::new();
    q.file("7.log", &segment(&[entry("a", at(T))]));
    q.file("7.log.tmp", &segment(&[entry("b", at(T))]));
    let _writer = q.open();
    assert_eq!(q.names(), [".lock", "7.log", "8.log", "9.log.tmp"]);
    assert_eq!(q.read(), ["a", "b"]);
}

#[test]
fn start_torn_tail() {
    let q = Queue::new();
    q.file("1.log.tmp", &five()[..700]);
    let (_writer, warnings) = warnings(|| q.open());
    assert_eq!(q.bytes("1.log"), &five()[..527]);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("1.log.tmp") && warnings[0].contains("173 bytes"), "{warnings:?}");
    assert_eq!(q.read(), ["r0", "r1"]);
}

/// A cut at every length of a head, also exactly at a block's end inside a long entry.
#[test]
fn start_torn_anywhere() {
    let long = |reason: char| entry(&reason.to_string().repeat(40_000), at(T));
    let whole = segment(&[entry("a", at(T)), long('b'), long('c'), entry("d", at(T))]);
    let ends = [entry("a", at(T)), long('b'), long('c'), entry("d", at(T))].iter().fold(vec![1_u64], |mut ends, e| {
        let end = *ends.last().unwrap();
        ends.push(end + record::framed_len(e.len(), end));
        ends
    });
    let block_ends = [32769, 65537];
    let cuts = (2..whole.len()).step_by(997).chain(block_ends).chain(ends[1..].iter().map(|e| *e as usize));
    for cut in cuts {
        let q = Queue::new();
        q.file("1.log.tmp", &whole[..cut]);
        q.open().close().unwrap();
        let entries = ends[1..].iter().filter(|end| **end <= cut as u64).count();
        assert_eq!(q.read().len(), entries, "cut at {cut}");
        assert_eq!(q.has("1.err"), entries == 0, "cut at {cut}");
    }
}

#[test]
fn start_torn_first() {
    let q = Queue::new();
    q.file("1.log.tmp", &five()[..100]);
    q.open().close().unwrap();
    assert_eq!(q.names(), ["1.err", "2.log.tmp"]);
    assert_eq!(q.bytes("1.err"), &five()[..100]);
    let writer = q.open();
    write(&writer, "next");
    writer.close().unwrap();
    assert_eq!(q.names(), ["1.err", "2.log"]);
    q.file("1.log.tmp", &five()[..99]);
    q.open().close().unwrap();
    assert_eq!(q.names(), ["1.err", "2.log", "3.err", "4.log.tmp"]);
    assert_eq!((q.len("1.err"), q.len("3.err")), (100, 99));
}

#[test]
fn start_damaged_head() {
    let q = Queue::new();
    let mut damaged = five();
    damaged[314] ^= 1;
    q.file("1.log.tmp", &damaged);
    let (_writer, warnings) = warnings(|| q.open());
    assert_eq!(q.names(), [".lock", "1.err", "1.log", "2.log.tmp"]);
    assert_eq!(q.bytes("1.err"), damaged);
    assert_eq!(q.read(), ["r0", "r2", "r3", "r4"]);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn start_zeros_behind_the_head_are_cut_off() {
    let q = Queue::new();
    q.file("1.log.tmp", &[five(), vec![0; 100_000]].concat());
    let _writer = q.open();
    assert_eq!(q.bytes("1.log"), five());
    assert!(!q.has("1.err"));
}

#[test]
fn start_wrong_version() {
    let q = Queue::new();
    let mut other = five();
    other[0] = b'2';
    q.file("1.log.tmp", &other);
    let _writer = q.open();
    assert_eq!(q.names(), [".lock", "1.err", "2.log.tmp"]);
}

#[test]
fn start_garbage_oldest() {
    let mut q = Queue::new();
    q.settings.retain_age = Some(Duration::from_secs(3600 * 24 * 365 * 100));
    q.file("1.log", b"garbage");
    q.file("2.log", &five());
    let _writer = q.open();
    assert!(q.has("3.log.tmp"));
    let (read, warnings) = warnings(|| q.read());
    assert_eq!(read, FIVE);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("1.log"), "{warnings:?}");
}

#[test]
fn start_zero_filled() {
    let q = Queue::new();
    q.file("1.log", &[b"1".to_vec(), vec![0; 499]].concat());
    q.file("2.log", &five());
    let _writer = q.open();
    assert_eq!(q.read(), FIVE);
}

#[test]
fn start_foreign_names() {
    let q = Queue::new();
    for name in ["foo.log", ".log", "1.log.bak"] {
        q.file(name, b"x");
    }
    fs::create_dir(q.dir.join("9.log")).unwrap();
    q.file("12.log", &five());
    let (_writer, warned) = warnings(|| q.open());
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(q.has("13.log.tmp"));
    let (read, warned) = warnings(|| q.read());
    assert_eq!(read, FIVE);
    assert_eq!(warned.len(), 1, "{warned:?}");
}

#[test]
fn start_makes_the_directory() {
    let mut q = Queue::new();
    q.settings.directory = q.root.path().join("a/b/c");
    q.open().close().unwrap();
    assert!(q.settings.directory.join("1.log.tmp").exists());
}

#[test]
fn start_in_a_place_that_is_a_file_is_refused_with_its_name() {
    let mut q = Queue::new();
    q.file("file", b"");
    q.settings.directory = q.dir.join("file");
    let error = Writer::open_by(q.settings.clone(), q.clock.clone()).unwrap_err().to_string();
    assert!(error.contains(&path_text(&q.settings.directory)), "{error}");
}

#[test]
fn lock_by_this_process() {
    let q = Queue::new();
    let writer = q.open();
    let error = Writer::open_by(q.settings.clone(), q.clock.clone()).unwrap_err().to_string();
    assert!(error.contains(&path_text(&q.dir.join(".lock"))) && error.contains("this process"), "{error}");
    writer.close().unwrap();
    q.open();
}

#[test]
fn lock_stale() {
    let q = Queue::new();
    q.file(".lock", b"");
    q.open().close().unwrap();
    assert!(!q.has(".lock"));
}

#[test]
fn roll_size() {
    let mut q = Queue::new();
    q.settings.segment_bytes = Some(2000);
    let writer = q.open();
    for _ in 0..4 {
        write_sized(&writer, 556);
    }
    assert_eq!(q.names(), [".lock", "1.log", "2.log.tmp"]);
    assert_eq!((q.len("1.log"), q.len("2.log.tmp")), (1669, 557));
}

#[test]
fn roll_big_entry() {
    let mut q = Queue::new();
    q.settings.segment_bytes = Some(2000);
    let writer = q.open();
    write_sized(&writer, 262);
    write_sized(&writer, 100_000);
    write_sized(&writer, 262);
    assert_eq!(q.names(), [".lock", "1.log", "2.log", "3.log.tmp"]);
    assert_eq!((q.len("1.log"), q.len("3.log.tmp")), (263, 263));
    assert_eq!(payloads(&q.bytes("2.log")).len(), 1);
}

/// The segments that Logstash rolled come out the same from the same payloads.
#[test]
fn roll_points_are_those_of_logstash() {
    for (folder, segment_bytes) in [("rolled", None), ("size_limit", None), ("large", None), ("block_edges", None)] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dlq").join(folder);
        let options: serde_json::Value = serde_json::from_slice(&fs::read(from.join("writer.json")).unwrap()).unwrap();
        let mut q = Queue::new();
        q.settings.segment_bytes = options["options"]["max_segment_size"].as_u64().or(segment_bytes);
        let counters = Arc::new(super::super::stats::Counters::new(&q.settings));
        let mut queue = super::super::queue::Queue::open(q.settings.clone(), q.clock.clone(), counters).unwrap();
        let mut theirs = Vec::new();
        for number in 1.. {
            let Ok(bytes) = fs::read(from.join(format!("{number}.log"))) else { break };
            for payload in payloads(&bytes) {
                queue.append(&payload, at(T), WhenFull::Refuse).unwrap();
            }
            theirs.push(bytes);
        }
        queue.close().unwrap();
        let ours: Vec<_> = (1..=theirs.len()).map(|n| q.bytes(&format!("{n}.log"))).collect();
        assert!(ours == theirs, "{folder}");
        assert_eq!(q.names().len(), theirs.len(), "{folder}");
    }
}

#[test]
fn seal_idle() {
    let mut q = Queue::new();
    q.settings.flush_interval = Duration::from_secs(2);
    let writer = q.open();
    write(&writer, "a");
    q.pass(1.5);
    writer.tick();
    assert!(!q.has("1.log"));
    q.pass(2.5);
    writer.tick();
    assert_eq!(q.names(), [".lock", "1.log", "2.log.tmp"]);
    assert_eq!(q.len("2.log.tmp"), 1);
    q.pass(100.0);
    writer.tick();
    assert_eq!(q.names(), [".lock", "1.log", "2.log.tmp"], "a head without entries is never sealed");
}

#[test]
fn seal_trickle() {
    let mut q = Queue::new();
    q.settings.flush_interval = Duration::from_secs(2);
    let writer = q.open();
    let mut reader = Reader::new(&q.dir, Start::Beginning);
    let mut written: Vec<f64> = Vec::new();
    let mut read = 0;
    for half_second in 0..80 {
        let now = f64::from(half_second) / 2.0;
        if half_second % 3 == 0 {
            write(&writer, "x");
            written.push(now);
        }
        if half_second % 2 == 0 {
            writer.tick();
        }
        read += reasons(&mut reader).len();
        let late = written[read..].iter().find(|at| now - **at > 26.0);
        assert_eq!(late, None, "at {now}");
        q.pass(0.5);
    }
    assert!(read > 0);
}

#[test]
fn seal_survives_a_head_that_somebody_removed() {
    let q = Queue::new();
    let writer = q.open();
    write(&writer, "lost");
    fs::remove_file(q.dir.join("1.log.tmp")).unwrap();
    let ((), warned) = warnings(|| writer.tick());
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert_eq!(write(&writer, "next"), Written::Stored);
    writer.close().unwrap();
    assert_eq!(q.read(), ["next"]);
}

#[test]
fn seal_survives_a_directory_that_somebody_removed() {
    let q = Queue::new();
    let writer = q.open();
    write(&writer, "lost");
    fs::remove_dir_all(&q.dir).unwrap();
    writer.tick();
    assert_eq!(write(&writer, "next"), Written::Stored);
    assert!(q.has(".lock"));
    writer.close().unwrap();
    assert_eq!(q.read(), ["next"]);
}

#[test]
fn writes_after_close_store_nothing() {
    let q = Queue::new();
    let writer = q.open();
    writer.close().unwrap();
    writer.close().unwrap();
    assert_eq!(write(&writer, "late"), Written::Closed);
    assert_eq!(q.names(), ["1.log.tmp"]);
}

#[test]
fn kill_between_seal_and_next() {
    let q = Queue::new();
    q.file("1.log", &segment(&[entry("first", at(T))]));
    let writer = q.open();
    write(&writer, "second");
    writer.close().unwrap();
    assert_eq!(q.names(), ["1.log", "2.log"]);
    assert_eq!(q.read(), ["first", "second"]);
}

/// With its own thread and real time: an idle segment becomes readable without another write.
#[test]
fn the_thread_seals_by_itself() {
    let mut q = Queue::new();
    q.settings.flush_interval = Duration::from_millis(50);
    q.settings.flush_check_interval = Duration::from_millis(20);
    let writer = Writer::open(q.settings.clone()).unwrap();
    write(&writer, "a");
    let mut reader = Reader::new(&q.dir, Start::Beginning);
    assert_eq!(reader.next(Duration::from_secs(30)).unwrap().reason, "a");
    writer.close().unwrap();
}
