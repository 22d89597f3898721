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
