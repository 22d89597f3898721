//! `spillway queue`: a persisted queue from outside.

mod program;

use std::fs;
use std::path::Path;

use program::{Place, Said};

/// A queue of Logstash with events in two pages and the head.
fn queue() -> Place {
    let place = Place::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/queue/clean");
    fs::create_dir_all(place.join("q")).unwrap();
    for entry in fs::read_dir(fixture).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, place.join("q").join(path.file_name().unwrap())).unwrap();
    }
    place
}

fn events(said: &Said) -> usize {
    said.out.lines().filter(|line| line.starts_with('{')).count()
}

#[test]
fn verify_shows_each_checkpoint_as_pqcheck_does() {
    let place = queue();
    let said = place.run("queue verify q");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines[0], "Checking queue dir: q");
    assert_eq!(lines[1], "checkpoint.2, fully-acked: NO, page.2 size: 4096");
    assert!(lines[2].trim().starts_with("pageNum=2, firstUnackedPageNum=0, firstUnackedSeqNum="), "{}", said.out);
    assert!(lines[2].ends_with(", isFullyAcked=no"), "{}", said.out);
    assert!(said.out.contains("checkpoint.head, fully-acked: "));
}

#[test]
fn cat_shows_what_is_not_acknowledged_and_leaves_it_there() {
    let place = queue();
    let said = place.run("queue cat q");
    assert_eq!((said.code, events(&said)), (0, 99), "{}", said.err);
    assert_eq!(events(&place.run("queue cat -n 3 q")), 3);
    assert_eq!(events(&place.run("queue cat q")), 99);
}

#[test]
fn a_head_without_checkpoint_is_told_and_repaired_from_its_pages() {
    let place = queue();
    let before = events(&place.run("queue cat q"));
    fs::write(place.join("q/checkpoint.head"), [0; 34]).unwrap();
    fs::write(place.join("q/checkpoint.7.tmp"), "half").unwrap();
    let said = place.run("queue verify q");
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(said.out.contains("checksum"), "{}", said.out);
    let said = place.run("queue repair q");
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("removed checkpoint.7.tmp") && said.out.contains("made checkpoint.head"), "{}", said.out);
    assert_eq!(place.run("queue verify q").code, 0);
    assert!(events(&place.run("queue cat q")) >= before);
}

#[test]
fn damage_is_found_by_reading_every_event() {
    let place = queue();
    let page = place.join("q/page.2");
    let mut bytes = fs::read(&page).unwrap();
    bytes[40] ^= 1;
    fs::write(&page, bytes).unwrap();
    let said = place.run("queue verify q");
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(said.out.contains("1 of "), "{}", said.out);
    let said = place.run("queue cat q");
    assert_eq!((said.code, events(&said)), (1, 98), "{}", said.err);
}

#[test]
fn what_is_no_queue_is_said_to_be_none() {
    let place = Place::new().file("file", "x");
    place.run("queue verify nowhere").fails_with(1, &["ERROR: nowhere: "]);
    place.run("queue repair file").fails_with(1, &["ERROR: "]);
    place.run("queue repair").fails_with(2, &["ERROR: say what to do"]);
    place.run("queue cat -n many").fails_with(2, &["ERROR: say what to do"]);
}
