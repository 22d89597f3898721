//! Whatever is wrong with what it is given, the program says what and where, in one message, and goes on or ends with
//! the exit code for it. It never panics, hangs, or loses something in silence.

#[path = "support/process.rs"]
mod process;
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use process::{Process, dead_letters, lines, records};
use program::{Place, Said};
use serde_json::json;
use spillway::dead_letter::record::{self, Found, SegmentReader};
use spillway::dead_letter::{Settings, Writer};

const FLAGS: &str = "--path.data data --api.enabled false -S pipeline.ecs_compatibility=disabled -S log.rate_limit=0s";
const QUEUE: &str = "data/dead_letter_queue/main";

/// What is said when the program itself is wrong.
const BUG: &str = "this is a bug";

/// The lines of the log about something that is wrong.
fn problems(said: &Said) -> Vec<&str> {
    let is_problem = |line: &&str| line.contains("][ERROR]") || line.contains("][WARN ]") || line.contains("][FATAL]");
    said.err.lines().filter(is_problem).filter(|line| !line.contains("superuser")).collect()
}

/// Exactly one problem, with these words.
#[track_caller]
fn says_once(said: &Said, words: &[&str]) {
    let problems = problems(said);
    assert_eq!(problems.len(), 1, "{}", said.err);
    for word in words {
        assert!(problems[0].contains(word), "no `{word}` in {}", problems[0]);
    }
    said.never_says(BUG).never_says("panicked");
}

#[test]
fn a_broken_configuration_is_shown_with_its_place() {
    for (text, words) in [
        (
            "input { stdin { }\noutput { null {} }",
            vec!["bad.conf: line 1, column 7", "before `output` starts", "expected `}`"],
        ),
        ("input { stdin { } } filter { if [a] == { } } output { null {} }", vec!["bad.conf", "line 1", "expected"]),
        (
            "input { stdin { } } filter { mutate { convert => { \"a\" => \"intger\" } } }",
            vec!["bad.conf", "intger", "integer"],
        ),
        ("input { stdin { } } filter { mutate { rename => \"never closed } }", vec!["bad.conf", "line 1"]),
        ("\u{0}\u{1}\u{2}", vec!["bad.conf", "line 1, column 1"]),
    ] {
        let place = Place::new().file("bad.conf", text);
        for run in ["-t -f bad.conf", &format!("-f bad.conf {FLAGS}")] {
            let said = place.run(run);
            assert_eq!(said.code, 1, "{text}: {}", said.err);
            assert!(words.iter().all(|word| said.err.contains(word)), "{words:?}: {}", said.err);
            said.never_says(BUG);
        }
    }
    let place = Place::new();
    fs::write(place.join("bad.conf"), b"input { stdin { id => \"\xff\xfe\" } } output { null {} }").unwrap();
    let said = place.run("-t -f bad.conf");
    said.fails_with(1, &["bad.conf", "UTF-8"]).never_says(BUG);
}

#[test]
fn a_hundred_thousand_open_braces_are_one_error() {
    for open in ["input { stdin { x => [", "filter { if [a] { ", "filter { if ((("] {
        let (start, repeated) = open.split_at(open.len() - 1);
        let text = format!("{start}{}", repeated.repeat(100_000));
        let nested = format!("{}{}", open.repeat(20_000), "}".repeat(20_000));
        for text in [text, nested] {
            let said = Place::new().file("bad.conf", &text).run("-t -f bad.conf");
            said.fails_with(1, &["bad.conf"]).never_says(BUG);
            assert!(said.err.len() < 100_000, "{} bytes of explanation", said.err.len());
        }
    }
}

#[test]
fn settings_that_are_no_yaml_are_shown_with_their_place() {
    for (file, text, words) in [
        ("cfg/logstash.yml", "path.data: [data\n", vec!["logstash.yml", "line"]),
        ("cfg/logstash.yml", "a:\n\t- b\n", vec!["logstash.yml", "line 2"]),
        ("cfg/logstash.yml", "pipeline.wokers: 2\n", vec!["logstash.yml", "line 1", "pipeline.workers"]),
        ("cfg/logstash.yml", "pipeline.workers: many\n", vec!["logstash.yml", "line 1", "pipeline.workers", "many"]),
        ("cfg/pipelines.yml", "pipeline.id: main\n", vec!["pipelines.yml"]),
        ("cfg/pipelines.yml", "- pipeline.id: a\n- pipeline.id: a\n", vec!["pipelines.yml", "a"]),
        ("cfg/pipelines.yml", "- [\n", vec!["pipelines.yml", "line"]),
        ("cfg/pipelines.yml", "", vec!["pipelines.yml"]),
    ] {
        let place = Place::new()
            .file("cfg/logstash.yml", "path.data: data\n")
            .file(
                "cfg/pipelines.yml",
                "- { pipeline.id: main, config.string: \"input { stdin {} } output { null {} }\" }\n",
            )
            .file(file, text);
        let said = place.run("--path.settings cfg");
        assert_eq!(said.code, 1, "{text}: {}", said.err);
        assert!(words.iter().all(|word| said.err.contains(word)), "{words:?} for {text}: {}", said.err);
        said.never_says(BUG);
    }
}

#[test]
fn a_path_that_cannot_be_read_is_named() {
    let place = Place::new().file("folder/below/.keep", "").file("file", "").file("cfg/logstash.yml", "");
    for (arguments, words) in [
        ("-f missing.conf", vec!["missing.conf"]),
        ("-f file/below.conf", vec!["file/below.conf"]),
        ("-f 'none/*.conf'", vec!["none/*.conf"]),
        ("--path.settings nowhere", vec!["nowhere/pipelines.yml"]),
        ("--path.settings cfg", vec!["cfg/pipelines.yml"]),
        ("-f file --path.data file", vec!["file"]),
    ] {
        let said = place.run(&format!("{arguments} --api.enabled false"));
        assert_eq!(said.code, 1, "{arguments}: {}", said.err);
        assert!(words.iter().all(|word| said.err.contains(word)), "{words:?} for {arguments}: {}", said.err);
        said.never_says(BUG);
    }
    let queue = "input { dead_letter_queue { path => \"/nowhere/dlq\" } } output { null {} }";
    let said = place.file("queue.conf", queue).run(&format!("-f queue.conf {FLAGS}"));
    said.fails_with(1, &["queue.conf", "line 1", "/nowhere/dlq"]).never_says(BUG);
}

/// A place with a queue of numbered entries, read by `replay.conf` until there is nothing more.
fn queue(entries: usize) -> (Place, PathBuf) {
    let main = format!(
        "input {{ generator {{ count => {entries} }} }} filter {{ dlq {{ reason => \"because\" }} }} output {{ null {{}} }}"
    );
    let replay = "input { dead_letter_queue { path => \"data/dead_letter_queue\" exit_after_read => true } }
        output { stdout { codec => line { format => \"%{sequence}\" } } }";
    let place = Place::new().file("main.conf", &main).file("replay.conf", replay);
    assert_eq!(place.run(&format!("-f main.conf -w 1 -S dead_letter_queue.enable=true {FLAGS}")).code, 0);
    let segment = place.join(QUEUE).join("1.log");
    assert!(segment.exists());
    (place, segment)
}

fn replay(place: &Place) -> Said {
    place.run(&format!("-f replay.conf --pipeline.id replay -w 1 {FLAGS}"))
}

#[test]
fn a_damaged_entry_is_skipped_with_one_warning() {
    let (place, segment) = queue(20);
    let mut bytes = fs::read(&segment).unwrap();
    let offset = 3 * bytes.len() / 20;
    bytes[offset] ^= 0x55;
    fs::write(&segment, bytes).unwrap();
    let said = replay(&place);
    assert_eq!(said.code, 0, "{}", said.err);
    says_once(&said, &["WARN", "1.log", "offset"]);
    let delivered: Vec<usize> = said.out.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(delivered.len(), 19, "{delivered:?}");
    assert!(delivered.is_sorted());
}

#[test]
fn segments_that_are_none_are_passed_over() {
    for (content, words) in [(&b""[..], ""), (b"1", ""), (b"2 is no version", "1.log"), (&[0; 40_000], "1.log")] {
        let (place, segment) = queue(3);
        fs::rename(&segment, segment.with_file_name("2.log")).unwrap();
        fs::write(&segment, content).unwrap();
        fs::write(segment.with_file_name("foo.log"), "mine").unwrap();
        let said = replay(&place);
        assert_eq!((said.code, said.out.as_str()), (0, "0\n1\n2\n"), "{}", said.err);
        assert!(said.err.contains(words), "{}", said.err);
        said.never_says(BUG);
    }
}

#[test]
fn a_locked_queue_is_named_with_what_holds_it() {
    let (place, segment) = queue(1);
    let folder = segment.parent().unwrap();
    let _writer = Writer::open(Settings::new(folder.to_owned())).unwrap();
    let said = place.run(&format!("-f main.conf -S dead_letter_queue.enable=true {FLAGS}"));
    said.fails_with(1, &["[ERROR]", "[main]", "data/dead_letter_queue/main/.lock", "held by another program"])
        .never_says(BUG);
}

const JSON_FILTER: &str = "input { stdin {} } filter { json { source => \"message\" } }
    output { file { path => \"out\" } }";
const JSON_CODEC: &str = "input { stdin { codec => json } } output { file { path => \"out\" } }";

#[test]
fn json_of_a_hundred_thousand_levels_is_an_event_with_a_tag() {
    let (lists, maps) =
        ("[".repeat(100_000) + &"]".repeat(100_000), "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000));
    let unfinished = "{\"a\":[".repeat(50_000);
    let input = format!("{{\"n\":1}}\n{lists}\n{maps}\n{unfinished}\n{{\"n\":2}}\n");
    for config in [JSON_FILTER, JSON_CODEC] {
        let place = Place::new().file("main.conf", config);
        let said = place.run_with_input(&format!("-f main.conf -w 1 {FLAGS}"), &input);
        assert_eq!(said.code, 0, "{}", said.err);
        let problems = problems(&said);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(
            problems.iter().all(|line| line.contains("[main]") && line.contains("nested too deeply at byte")),
            "{problems:?}"
        );
        said.never_says(BUG);
        let out = records(&place.join("out"));
        assert_eq!(out.len(), 5);
        assert_eq!((&out[0]["n"], &out[4]["n"]), (&json!(1), &json!(2)));
        for (event, line) in out[1..4].iter().zip([&lists, &maps, &unfinished]) {
            assert_eq!(event["tags"], json!(["_jsonparsefailure"]));
            assert!(event["message"] == line.as_str());
        }
    }
}

#[test]
fn the_deepest_json_that_is_read_survives_the_queue() {
    let main = "input { stdin { codec => json } } filter { dlq { reason => \"deep\" } } output { null {} }";
    let replay = "input { dead_letter_queue { path => \"data/dead_letter_queue\" exit_after_read => true } } output { file { path => \"out\" } }";
    let place = Place::new().file("main.conf", main).file("replay.conf", replay);
    let lists = "[".repeat(990) + &"]".repeat(990);
    let maps = "{\"a\":".repeat(990) + "1" + &"}".repeat(990);
    let input = format!("{{\"v\":{lists}}}\n{{\"v\":{maps}}}\n");
    let said = place.run_with_input(&format!("-f main.conf -w 1 -S dead_letter_queue.enable=true {FLAGS}"), &input);
    assert_eq!(said.code, 0, "{}", said.err);
    let said = self::replay(&place);
    assert_eq!((said.code, problems(&said)), (0, vec![]));
    let out = lines(&place.join("out"));
    assert_eq!(out.len(), 2);
    assert!(out[0].contains(&lists) && out[1].contains(&maps));
}

#[test]
fn a_line_of_a_hundred_megabytes_goes_through_and_into_the_queue() {
    let main = "input { stdin {} } filter { if [message] =~ /^q/ { dlq { reason => \"long\" } } }
        output { file { path => \"out\" codec => line { format => \"%{message}\" } } }";
    let place = Place::new().file("main.conf", main);
    let length = 100_000_000;
    let input = format!("{}\nshort\nq{}\n", "x".repeat(length), "y".repeat(length / 10));
    let said = place.run_with_input(&format!("-f main.conf -w 1 -S dead_letter_queue.enable=true {FLAGS}"), &input);
    assert_eq!(said.code, 0, "{}", said.err);
    said.never_says(BUG).never_says("longer than");
    let out = lines(&place.join("out"));
    assert_eq!(out.iter().map(String::len).collect::<Vec<_>>(), [length, 5]);
    let letters = dead_letters(&place.join(QUEUE));
    assert_eq!(letters.len(), 1);
    let message = letters[0].event.fields().get("message").and_then(|value| value.as_str().map(str::len));
    assert_eq!(message, Some(1 + length / 10));
}

/// A small file system of its own, where that is allowed.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(path: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(path).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(path).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(path.to_owned()));
        }
        println!("skipped: a small file system cannot be mounted here");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn disk_full() {
    let main = format!(
        "input {{ generator {{ count => 200 message => \"{}\" }} stdin {{}} }}
        filter {{ dlq {{ reason => \"because\" }} }} output {{ null {{}} }}",
        "x".repeat(200)
    );
    let place = Place::new().file("main.conf", &main);
    let Some(_disk) = SmallDisk::mount(&place.join("small"), "12m") else { return };
    let filler = place.join("small/filler");
    fs::write(&filler, vec![0; 12 * 1024 * 1024 - 60_000]).unwrap();
    let queue = "-S dead_letter_queue.enable=true -S path.dead_letter_queue=small/dlq";
    let flags = FLAGS.replace("--api.enabled false", "");
    let mut process = Process::running(place.command(&format!("-f main.conf -w 1 {queue} {flags}")));
    process.until("the full disk", || {
        let error = process.stats("main")["dead_letter_queue"]["last_error"].as_str()?.to_owned();
        error.contains("No space left on device").then_some(())
    });
    // The event that did not fit is neither acknowledged nor there by half.
    assert!(process.stats("main")["events"]["out"].as_u64().unwrap() < 200);
    let stored = whole_entries(&place.join("small/dlq/main/1.log.tmp"));
    assert!(stored > 0 && stored < 200, "{stored}");
    fs::remove_file(&filler).unwrap();
    process.end_input();
    let said = process.end();
    assert_eq!(said.code, 0, "{}", said.err);
    said.err_says(&["small/dlq/main", "No space left on device"]).never_says(BUG);
    assert_eq!(dead_letters(&place.join("small/dlq/main")).len(), 200);
}

/// How many entries an open segment holds. Panics when something else is in it.
fn whole_entries(segment: &Path) -> usize {
    let mut reader = SegmentReader::new(fs::File::open(segment).unwrap(), record::FIRST_RECORD).unwrap();
    let mut count = 0;
    loop {
        match reader.next().unwrap() {
            Found::Entry(_) => count += 1,
            Found::End => return count,
            Found::Damage(_) | Found::Torn(_) => panic!("a part of an entry behind {count} whole ones"),
        }
    }
}

#[test]
fn a_full_disk_at_the_stop_is_reported_and_a_replay_starts_over() {
    let (place, _) = queue(1000);
    let replay = "input { dead_letter_queue { path => \"data/dead_letter_queue\" } } output { file { path => \"small/out\" codec => line { format => \"%{sequence} %{message}\" } } }";
    let place = place.file("replay.conf", replay);
    let Some(disk) = SmallDisk::mount(&place.join("small"), "4k") else { return };
    let flags = format!("-f replay.conf --pipeline.id replay -w 1 -b 20 {FLAGS}");
    let process = Process::running(place.command(&flags));
    process.until_err("cannot write small/out");
    let said = process.stop();
    said.fails_with(0, &["cannot write small/out", "No space left on device", "not acknowledged"]).never_says(BUG);
    let before: Vec<usize> = sequences(&place.join("small/out"));
    fs::remove_file(place.join("small/out")).unwrap();
    drop(disk);
    let process = Process::running(place.command(&flags));
    process.until("the rest", || {
        let after = sequences(&place.join("small/out"));
        (0..1000).all(|n| before.contains(&n) || after.contains(&n)).then_some(())
    });
    assert_eq!(process.stop().code, 0);
}

fn sequences(path: &Path) -> Vec<usize> {
    lines(path).iter().filter_map(|line| line.split(' ').next()?.parse().ok()).collect()
}
