//! Damaged and odd files: what is whole is delivered, nothing wrong is, and nothing hangs.

use super::*;

fn read_with_warnings(q: &Queue) -> (Vec<String>, Vec<String>) {
    warnings(|| q.read())
}

#[test]
fn read_damage_data() {
    let q = Queue::new();
    let mut damaged = five();
    damaged[314] ^= 1;
    q.file("1.log", &damaged);
    q.file("2.log", &segment(&[entry("next", at(T))]));
    let (read, warned) = read_with_warnings(&q);
    assert_eq!(read, ["r0", "r2", "r3", "r4", "next"]);
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("1.log") && warned[0].contains("offset=264"), "{warned:?}");
}

#[test]
fn read_damage_size() {
    let q = Queue::new();
    let mut damaged = five();
    damaged[2] = 0x7f;
    q.file("1.log", &damaged);
    q.file("2.log", &segment(&[entry("next", at(T))]));
    let (read, warned) = read_with_warnings(&q);
    assert_eq!(read, ["next"]);
    assert_eq!(warned.len(), 1, "{warned:?}");
}

#[test]
fn read_damage_block() {
    let q = Queue::new();
    let entries: Vec<_> = (0..12).map(|n| entry(&format!("{n:02}{}", "x".repeat(8000)), at(T))).collect();
    let mut damaged = segment(&entries);
    damaged[8300 + 500] ^= 0x40;
    q.file("1.log", &damaged);
    let (read, warned) = read_with_warnings(&q);
    let numbers: Vec<usize> = read.iter().map(|reason| reason[..2].parse().unwrap()).collect();
    assert_eq!(numbers, [0].into_iter().chain(2..12).collect::<Vec<_>>());
    assert_eq!(warned.len(), 1, "{warned:?}");
}

#[test]
fn read_damage_in_the_content_of_an_entry() {
    let q = Queue::new();
    let odd =
        [b"".to_vec(), b"\x7f\xff\xff\xff".to_vec(), vec![0xff; 100], b"\0\0\0\x18not a time at all......".to_vec()];
    for (n, odd) in odd.iter().filter(|odd| !odd.is_empty()).enumerate() {
        let good = entry("good", at(T));
        q.file(&format!("{}.log", n + 1), &segment(&[good.clone(), odd.clone(), good]));
    }
    let (read, warned) = read_with_warnings(&q);
    assert_eq!(read.len(), 6);
    assert_eq!(warned.len(), 3, "{warned:?}");
    let second = segment(&[entry("good", at(T))]).len();
    assert!(warned[0].contains(&format!("offset={second}")), "{warned:?}");
}

/// Every byte of a file of three blocks, every way it can be wrong in one bit and in all: what comes out was there.
#[test]
fn a_flipped_byte_anywhere_never_delivers_a_wrong_entry() {
    let sizes = [300, 20_000, 9_000, 12_000, 40_000, 500, 32_755, 1_000, 2];
    let mut entries: Vec<Vec<u8>> = Vec::new();
    for (n, size) in sizes.iter().enumerate() {
        entries.push((0..*size).map(|at| (at * 31 + n * 7) as u8).collect());
    }
    let whole = segment(&entries);
    assert!(whole.len() > 3 * record::BLOCK);
    let headers: Vec<usize> = header_bytes(&whole);
    // Data bytes all mean the same; headers are tried bit by bit.
    let data = (0..whole.len()).filter(|at| !headers.contains(at));
    let tries = data
        .step_by(97)
        .map(|at| (at, 0xff))
        .chain(headers.iter().flat_map(|at| (0..8).map(|bit| (*at, 1 << bit)).chain([(*at, 0xff)])));
    let mut lost = 0;
    for (at, flip) in tries {
        let mut damaged = whole.clone();
        damaged[at] ^= flip;
        let mut reader = SegmentReader::new(std::io::Cursor::new(&damaged), record::FIRST_RECORD).unwrap();
        let mut expected = entries.iter();
        let mut delivered = 0;
        loop {
            match reader.next().unwrap() {
                Found::Entry(found) => {
                    assert!(expected.any(|entry| entry == found), "flip {flip:#x} at {at} delivered a wrong entry");
                    delivered += 1;
                }
                Found::Damage(_) => {}
                Found::Torn(_) | Found::End => break,
            }
        }
        lost = lost.max(entries.len() - delivered);
        if !headers.contains(&at) {
            assert!(delivered >= entries.len() - 1, "flip at {at} cost more than its entry");
        }
    }
    assert!(lost < entries.len());
}

/// Offsets of all bytes of record headers.
fn header_bytes(whole: &[u8]) -> Vec<usize> {
    let mut at = 1;
    let mut out = vec![];
    while at < whole.len() {
        let left = record::BLOCK - (at - 1) % record::BLOCK;
        if left < record::HEADER + 1 {
            at += left;
            continue;
        }
        out.extend(at..at + record::HEADER);
        at += record::HEADER + i32::from_be_bytes(whole[at + 1..at + 5].try_into().unwrap()) as usize;
    }
    out
}

/// Bytes that look like records, right where a careless reader would look for one.
#[test]
fn payloads_that_look_like_records_are_read() {
    for left in 1..=14 {
        for letter in *b"csme" {
            let first = vec![letter; record::BLOCK - record::HEADER - left];
            let entries = [first, vec![letter; 40_000], vec![letter; 20], vec![letter; 32_755]];
            assert_eq!(payloads(&segment(&entries)), entries, "{left} {letter}");
        }
    }
}

#[test]
fn odd_files_stop_neither_writer_nor_reader() {
    let mut q = Queue::new();
    q.settings.retain_age = Some(Duration::from_secs(3600 * 24 * 365 * 100));
    q.file("1.log", b"");
    q.file("2.log", b"1");
    q.file("3.log", &[b"1".to_vec(), vec![0; 70_000]].concat());
    q.file("4.log", &[b"2".to_vec(), five()[1..].to_vec()].concat());
    q.file("foo.log", b"1");
    fs::create_dir(q.dir.join("7.log")).unwrap();
    std::os::unix::fs::symlink("nowhere", q.dir.join("5.log")).unwrap();
    q.file("8.log", &five());
    let writer = q.open();
    write(&writer, "new");
    writer.tick();
    writer.close().unwrap();
    assert!(q.has("9.log"));
    assert_eq!(q.read(), [&FIVE[..], &["new"]].concat());
}

#[test]
fn an_unreadable_segment_is_passed_over() {
    use std::os::unix::fs::PermissionsExt;
    let q = Queue::new();
    q.file("1.log", &five());
    q.file("2.log", &segment(&[entry("next", at(T))]));
    fs::set_permissions(q.dir.join("1.log"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(q.dir.join("1.log")).is_ok() {
        eprintln!("skipped: this user may read every file");
        return;
    }
    q.open().close().unwrap();
    let (read, warned) = read_with_warnings(&q);
    assert_eq!((read, warned.len()), (vec!["next".to_owned()], 1));
}
