//! A reader that deletes what it has read.

use super::super::{Cleaned, CommitOptions, Committer, LockError, Position};
use super::*;

fn options(q: &Queue) -> CommitOptions {
    CommitOptions {
        directory: q.dir.clone(),
        sincedb: q.root.path().join("sincedb"),
        commit_offsets: true,
        clean_consumed: true,
    }
}

fn three_segments() -> Queue {
    let q = Queue::new();
    for number in 1..=3 {
        let entries: Vec<_> = (0..2).map(|n| entry(&format!("{number}.{n}"), at(T))).collect();
        q.file(&format!("{number}.log"), &segment(&entries));
    }
    q
}

#[test]
fn clean_normal() {
    let q = three_segments();
    let mut committer = Committer::open(options(&q)).unwrap();
    for letter in drain(&mut Reader::new(&q.dir, Start::Beginning)) {
        committer.advance(letter.position).unwrap();
    }
    assert_eq!(committer.cleaned(), Cleaned { segments: 2, events: 4 });
    committer.close().unwrap();
    assert_eq!(q.names(), ["..deleted_segment", "3.log", "dlq_reader.lock"].map(|n| n.replacen("..", ".", 1)));
    let saved = Position::load(&q.root.path().join("sincedb")).unwrap().unwrap();
    assert_eq!(saved, Position { segment: 3, offset: q.len("3.log") });
}

#[test]
fn clean_deletes_a_segment_as_soon_as_all_of_it_is_acknowledged() {
    let q = three_segments();
    let mut committer = Committer::open(options(&q)).unwrap();
    let letters = drain(&mut Reader::new(&q.dir, Start::Beginning));
    committer.advance(letters[0].position).unwrap();
    committer.tick().unwrap();
    assert!(q.has("1.log"));
    committer.advance(letters[1].position).unwrap();
    committer.tick().unwrap();
    assert!(!q.has("1.log") && q.has("2.log"));
    assert_eq!(Position::load(&options(&q).sincedb).unwrap(), Some(Position { segment: 2, offset: 1 }));
}

#[test]
fn clean_deletes_the_last_segment_once_there_is_a_next_one() {
    let q = three_segments();
    let mut committer = Committer::open(options(&q)).unwrap();
    for letter in drain(&mut Reader::new(&q.dir, Start::Beginning)) {
        committer.advance(letter.position).unwrap();
    }
    committer.commit().unwrap();
    committer.tick().unwrap();
    assert!(q.has("3.log"));
    q.file("4.log", &five());
    committer.tick().unwrap();
    assert!(!q.has("3.log") && q.has("4.log"));
}

#[test]
fn clean_at_start() {
    let q = three_segments();
    Position { segment: 2, offset: 1 }.save(&options(&q).sincedb, &q.dir).unwrap();
    let mut committer = Committer::open(options(&q)).unwrap();
    committer.clean_before_start().unwrap();
    assert!(!q.has("1.log") && q.has("2.log") && q.has("3.log"));
    assert_eq!(committer.cleaned(), Cleaned { segments: 1, events: 2 });
}

#[test]
fn clean_at_start_spares_a_queue_that_was_numbered_anew() {
    for position in [Position { segment: 57, offset: 264 }, Position { segment: 3, offset: 77 }] {
        let q = three_segments();
        position.save(&options(&q).sincedb, &q.dir).unwrap();
        let mut committer = Committer::open(options(&q)).unwrap();
        committer.clean_before_start().unwrap();
        assert!(q.has("1.log") && q.has("2.log") && q.has("3.log"));
    }
}

#[test]
fn clean_goes_by_number_not_by_time() {
    let q = three_segments();
    let file = fs::File::options().write(true).open(q.dir.join("3.log")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    let mut committer = Committer::open(options(&q)).unwrap();
    let letters = drain(&mut Reader::new(&q.dir, Start::Beginning));
    committer.advance(letters[2].position).unwrap();
    committer.close().unwrap();
    assert!(!q.has("1.log") && q.has("2.log") && q.has("3.log"));
}

#[test]
fn clean_lock() {
    let q = three_segments();
    let _first = Committer::open(options(&q)).unwrap();
    let mut second = options(&q);
    let error = Committer::open(second.clone()).unwrap_err().to_string();
    assert!(error.contains("dlq_reader.lock"), "{error}");
    second.clean_consumed = false;
    Committer::open(second).unwrap();
}

#[test]
fn clean_tells_the_writer() {
    let q = three_segments();
    let writer = q.open();
    let size = writer.stats().queue_size_in_bytes;
    let mut committer = Committer::open(options(&q)).unwrap();
    let letters = drain(&mut Reader::new(&q.dir, Start::Beginning));
    committer.advance(letters[3].position).unwrap();
    committer.close().unwrap();
    writer.tick();
    let smaller = writer.stats().queue_size_in_bytes;
    assert_eq!(smaller, q.size());
    assert!(smaller < size && !q.has(".deleted_segment"));
}

#[test]
fn clean_appends_to_a_note_that_is_still_there() {
    let q = three_segments();
    q.file(".deleted_segment", b"earlier\n");
    let mut committer = Committer::open(options(&q)).unwrap();
    let letters = drain(&mut Reader::new(&q.dir, Start::Beginning));
    committer.advance(letters[2].position).unwrap();
    committer.close().unwrap();
    let note = String::from_utf8(q.bytes(".deleted_segment")).unwrap();
    assert_eq!(note, format!("earlier\n{}\n", q.dir.join("1.log").display()));
}

/// Four writers and a reader that deletes: at rest the metric is the sum of the files.
#[test]
fn the_size_is_right_with_writers_and_a_cleaning_reader() {
    let mut q = Queue::new();
    q.settings.segment_bytes = Some(20_000);
    q.settings.max_bytes = 400_000;
    q.settings.flush_interval = Duration::from_millis(50);
    q.settings.flush_check_interval = Duration::from_millis(10);
    let writer = Writer::open(q.settings.clone()).unwrap();
    let mut reader = Reader::new(&q.dir, Start::Beginning);
    let mut committer = Committer::open(options(&q)).unwrap();
    let mut read = 0;
    let (mut stored, mut over) = (0, false);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let written = (0..500).filter(|_| write(&writer, "x") == Written::Stored).count();
                    (written, writer.stats().queue_size_in_bytes > 400_000)
                })
            })
            .collect();
        while read < 400 {
            if let Some(letter) = reader.next(Duration::from_millis(20)) {
                read += 1;
                committer.advance(letter.position).unwrap();
            }
            committer.tick().unwrap();
        }
        for thread in threads {
            let (written, too_big) = thread.join().unwrap();
            (stored, over) = (stored + written, over || too_big);
        }
    });
    while let Some(letter) = reader.next(Duration::from_millis(300)) {
        read += 1;
        committer.advance(letter.position).unwrap();
    }
    committer.close().unwrap();
    assert_eq!((read, over), (stored, false));
    let end = std::time::Instant::now() + Duration::from_secs(30);
    while writer.stats().queue_size_in_bytes != q.size() && std::time::Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(writer.stats().queue_size_in_bytes, q.size());
}

#[test]
fn a_lock_that_another_reader_has_is_its_own_error() {
    let q = three_segments();
    let _first = Committer::open(options(&q)).unwrap();
    let error = Committer::open(options(&q)).unwrap_err();
    assert!(matches!(error, super::super::CommitError::Lock(LockError::Held { .. })), "{error}");
}

fn read_and_clean(q: &Queue) -> Vec<String> {
    let mut committer = Committer::open(options(q)).unwrap();
    committer.clean_before_start().unwrap();
    let start = committer.position().map_or(Start::Beginning, Start::Position);
    let mut reader = Reader::new(&q.dir, start);
    let letters = drain(&mut reader);
    committer.keep(reader.take_passed_over());
    letters.iter().for_each(|letter| committer.advance(letter.position).unwrap());
    committer.close().unwrap();
    letters.into_iter().map(|letter| letter.reason.to_string()).collect()
}

/// A folder can be opened like a file, and reading from it is an error, as with a disk that fails for a while.
#[test]
fn clean_keeps_a_segment_that_could_not_be_read_although_it_can_be_read_later() {
    let q = three_segments();
    let (second, aside) = (q.dir.join("2.log"), q.root.path().join("aside"));
    let mut committer = Committer::open(options(&q)).unwrap();
    let mut reader = Reader::new(&q.dir, Start::Beginning);
    let first = reader.next(Duration::ZERO).unwrap();
    assert_eq!(first.reason, "1.0");
    fs::rename(&second, &aside).unwrap();
    fs::create_dir(&second).unwrap();
    let (letters, warned) = warnings(|| drain(&mut reader));
    assert_eq!(letters.iter().map(|l| l.reason.as_str()).collect::<Vec<_>>(), ["1.1", "3.0", "3.1"]);
    assert!(warned.len() == 1 && warned[0].contains("2.log"), "{warned:?}");
    fs::remove_dir(&second).unwrap();
    fs::rename(&aside, &second).unwrap();
    committer.keep(reader.take_passed_over());
    letters.iter().for_each(|letter| committer.advance(letter.position).unwrap());
    assert_eq!(committer.cleaned(), Cleaned { segments: 1, events: 2 });
    committer.close().unwrap();
    assert!(!q.has("1.log") && q.has("2.log") && q.has("3.log"));
    let (_, warned) = warnings(|| read_and_clean(&q));
    assert!(q.has("2.log"), "it is kept at the next start as well");
    assert!(warned.len() == 1 && warned[0].contains("2.log"), "{warned:?}");
}

#[test]
fn clean_keeps_a_segment_of_another_format() {
    let q = three_segments();
    q.file("2.log", &[b"2".to_vec(), five()[1..].to_vec()].concat());
    assert_eq!(read_and_clean(&q), ["1.0", "1.1", "3.0", "3.1"]);
    assert!(!q.has("1.log") && q.has("2.log") && q.has("3.log"));
    fs::remove_file(q.dir.join("2.log")).unwrap();
    let (_, warned) = warnings(|| read_and_clean(&q));
    assert!(warned.is_empty(), "what somebody removed is not spoken of: {warned:?}");
}

#[test]
fn clean_deletes_nothing_while_there_are_no_descriptors() {
    const CHILD: &str = "SPILLWAY_NO_DESCRIPTORS";
    let name = "dead_letter::scenarios::clean::clean_deletes_nothing_while_there_are_no_descriptors";
    if std::env::var_os(CHILD).is_none() {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
        return;
    }
    use rustix::process::{Resource, getrlimit, setrlimit};
    let few = rustix::process::Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, few).unwrap();
    let q = three_segments();
    let mut committer = Committer::open(options(&q)).unwrap();
    let mut reader = Reader::new(&q.dir, Start::Beginning);
    let first = reader.next(Duration::ZERO).unwrap();
    committer.advance(first.position).unwrap();
    let hoard: Vec<_> = std::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
    let second = reader.next(Duration::ZERO).unwrap();
    assert!(reader.next(Duration::from_millis(300)).is_none());
    drop(hoard);
    committer.keep(reader.take_passed_over());
    committer.advance(second.position).unwrap();
    let rest = reasons(&mut reader);
    assert_eq!(rest, ["2.0", "2.1", "3.0", "3.1"]);
}
