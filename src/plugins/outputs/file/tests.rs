//! What a user finds on the disk.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use crate::event::Event;
use crate::pipeline::Compiled;
use crate::plugins::testing::{compiled, deliver, event};
use crate::plugins::{Deliveries, Lease, OutputBatch, Stop};

const LINE: &str = r#"codec => line { format => "%{m}" }"#;

/// A folder and an output that writes below it.
struct Fixture {
    folder: TempDir,
    compiled: Compiled,
    stop: Stop,
}

impl Fixture {
    async fn new(path: &str, options: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // What these tests look at is there after each batch.
        let at_once =
            if options.contains("flush_interval") || options.contains("gzip") { "" } else { "flush_interval => 0" };
        let compiled = compiled(&config(&folder, path, &format!("{options} {at_once}"))).unwrap();
        let fixture = Self { folder, compiled, stop: Stop::new() };
        fixture.compiled.plan.outputs[0].output.register(&fixture.stop).await.unwrap();
        fixture
    }

    async fn write(&self, events: &[&str], lease: &Lease) {
        let events: Vec<Event> = events.iter().map(|json| event(json)).collect();
        let events: Vec<&Event> = events.iter().collect();
        let batch = OutputBatch { events: &events, lease };
        let deliveries = self.compiled.plan.outputs[0].output.write(&batch, &self.stop).await.unwrap();
        assert!(matches!(deliveries, Deliveries::All));
    }

    async fn close(&self) {
        self.compiled.plan.outputs[0].output.close().await;
    }

    fn files(&self) -> BTreeMap<String, String> {
        files(self.folder.path())
    }
}

fn config(folder: &TempDir, path: &str, options: &str) -> String {
    format!(r#"output {{ file {{ path => "{}/{path}" {options} }} }}"#, folder.path().display())
}

/// All files below a folder: path and content.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned());
            }
        }
    }
    found
}

fn expected(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect()
}

fn gunzipped(path: &Path) -> String {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn a_path_may_depend_on_the_event_but_not_leave_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let events = [
        r#"{"app":"a","m":1,"@timestamp":"2020-01-02T03:04:05Z"}"#,
        r#"{"app":"../../evil","m":2,"@timestamp":"2020-01-02T03:04:05Z"}"#,
        r#"{"app":"b/c","m":3,"@timestamp":"2021-01-02T03:04:05Z"}"#,
        r#"{"app":"a","m":4,"@timestamp":"2020-01-02T03:04:05Z"}"#,
        r#"{"app":"x/../a","m":5,"@timestamp":"2020-01-02T03:04:05Z"}"#,
        r#"{"m":6,"@timestamp":"2020-01-02T03:04:05Z"}"#,
    ];
    deliver(&config(&folder, "out/%{app}-%{+yyyy}.log", LINE), &events).await;
    assert_eq!(
        files(folder.path()),
        expected(&[
            ("out/_filepath_failures", "2\n"),
            ("out/a-2020.log", "1\n4\n5\n"),
            ("out/b/c-2021.log", "3\n"),
            ("out/%{app}-2020.log", "6\n"),
        ])
    );
}

#[tokio::test]
async fn batches_are_gathered_and_not_acknowledged_before_they_are_written() {
    let output = Fixture::new("out", &format!("{LINE} flush_interval => 60")).await;
    let (returned, mut seen) = tokio::sync::oneshot::channel();
    let lease = Lease::new(move |ok| {
        let _ = returned.send(ok);
    });
    output.write(&[r#"{"m":"first"}"#], &lease).await;
    lease.settle();
    assert_eq!(output.files(), expected(&[]));
    assert!(seen.try_recv().is_err());
    // One that fills the buffer takes the earlier one along.
    output.write(&[&format!(r#"{{"m":"{}"}}"#, "x".repeat(600_000))], &Lease::unclaimed()).await;
    assert_eq!(seen.await, Ok(true));
    assert!(output.files()["out"].starts_with("first\nxxx"));
    output.write(&[r#"{"m":"last"}"#], &Lease::unclaimed()).await;
    output.close().await;
    assert!(output.files()["out"].ends_with("x\nlast\n"));
}

#[tokio::test]
async fn an_event_whose_own_path_cannot_be_written_is_dead() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    let long = format!(r#"{{"p":"{}","m":1}}"#, "x".repeat(300));
    let events = [
        r#"{"p":"file/x","m":1}"#,
        r#"{"p":"folder","m":1}"#,
        r#"{"p":"a\u0000b","m":1}"#,
        &long,
        r#"{"p":"ok","m":1}"#,
    ];
    let dead = deliver(&config(&folder, "%{p}", LINE), &events).await;
    assert_eq!(dead.len(), 4, "{dead:?}");
    assert!(dead.iter().all(|reason| reason.starts_with("file: cannot write ")), "{dead:?}");
    assert_eq!(files(folder.path()).get("ok").map(String::as_str), Some("1\n"));
}

#[tokio::test]
async fn a_file_that_is_there_grows() {
    let fixture = Fixture::new("o.log", LINE).await;
    std::fs::write(fixture.folder.path().join("o.log"), "old\n").unwrap();
    fixture.write(&[r#"{"m":1}"#, r#"{"m":2}"#], &Lease::unclaimed()).await;
    fixture.write(&[r#"{"m":3}"#], &Lease::unclaimed()).await;
    assert_eq!(fixture.files(), expected(&[("o.log", "old\n1\n2\n3\n")]));
}

#[tokio::test]
async fn json_lines_is_the_default() {
    let folder = tempfile::tempdir().unwrap();
    deliver(&config(&folder, "o.json", ""), &[r#"{"@timestamp":"2020-01-02T03:04:05.006Z","a":1}"#]).await;
    let line = "{\"@timestamp\":\"2020-01-02T03:04:05.006Z\",\"a\":1,\"@version\":\"1\"}\n";
    assert_eq!(files(folder.path()), expected(&[("o.json", line)]));
}

#[tokio::test]
async fn a_file_that_was_moved_away_is_made_anew() {
    let fixture = Fixture::new("o.log", LINE).await;
    let path = |name: &str| fixture.folder.path().join(name);
    fixture.write(&[r#"{"m":1}"#], &Lease::unclaimed()).await;
    std::fs::rename(path("o.log"), path("o.log.1")).unwrap();
    fixture.write(&[r#"{"m":2}"#], &Lease::unclaimed()).await;
    std::fs::rename(path("o.log"), path("o.log.2")).unwrap();
    std::fs::write(path("o.log"), "new\n").unwrap();
    fixture.write(&[r#"{"m":3}"#], &Lease::unclaimed()).await;
    assert_eq!(fixture.files(), expected(&[("o.log", "new\n3\n"), ("o.log.1", "1\n"), ("o.log.2", "2\n")]));
}

#[tokio::test]
async fn files_are_not_made_when_that_is_switched_off() {
    let fixture =
        Fixture::new("%{p}.log", &format!("{LINE} create_if_deleted => false filename_failure => lost")).await;
    std::fs::write(fixture.folder.path().join("there.log"), "").unwrap();
    fixture.write(&[r#"{"p":"there","m":1}"#, r#"{"p":"not","m":2}"#], &Lease::unclaimed()).await;
    assert_eq!(fixture.files(), expected(&[("lost", "2\n"), ("there.log", "1\n")]));
}

#[tokio::test]
async fn overwriting_keeps_the_last_event_of_a_batch() {
    let fixture = Fixture::new("%{p}.log", &format!("{LINE} write_behavior => overwrite")).await;
    fixture.write(&[r#"{"p":"a","m":"long"}"#, r#"{"p":"b","m":2}"#, r#"{"p":"a","m":3}"#], &Lease::unclaimed()).await;
    fixture.write(&[r#"{"p":"b","m":4}"#], &Lease::unclaimed()).await;
    assert_eq!(fixture.files(), expected(&[("a.log", "3\n"), ("b.log", "4\n")]));
}

#[tokio::test]
async fn gzip_is_complete_at_any_time_and_acknowledged_when_it_is_on_disk() {
    let fixture = Fixture::new("o.gz", &format!("{LINE} gzip => true flush_interval => 0")).await;
    let path = fixture.folder.path().join("o.gz");
    let (send, returned) = std::sync::mpsc::channel();
    let lease = |name: &'static str| {
        let send = send.clone();
        Lease::new(move |ok| send.send((name, ok)).unwrap())
    };
    let long = format!(r#"{{"m":"{}"}}"#, "x".repeat(70_000));
    let batch = lease("small");
    fixture.write(&[r#"{"m":1}"#], &batch).await;
    batch.settle();
    assert_eq!(gunzipped(&path), "");
    assert!(returned.try_recv().is_err());
    let batch = lease("long");
    fixture.write(&[&long], &batch).await;
    batch.settle();
    assert_eq!(gunzipped(&path).len(), 70_003);
    assert_eq!((returned.recv(), returned.recv()), (Ok(("small", true)), Ok(("long", true))));
    let batch = lease("rest");
    fixture.write(&[r#"{"m":2}"#], &batch).await;
    batch.settle();
    assert!(returned.try_recv().is_err());
    fixture.close().await;
    assert_eq!(returned.recv(), Ok(("rest", true)));
    assert!(gunzipped(&path).ends_with("x\n2\n"));
}

#[tokio::test]
async fn gzip_that_never_reached_the_disk_is_not_acknowledged() {
    let fixture = Fixture::new("o.gz", &format!("{LINE} gzip => true")).await;
    let (send, returned) = std::sync::mpsc::channel();
    fixture.write(&[r#"{"m":1}"#], &Lease::new(move |ok| send.send(ok).unwrap())).await;
    drop(fixture);
    assert_eq!(returned.recv(), Ok(false));
}

#[tokio::test]
async fn a_full_disk_delays_a_batch_and_a_stop_gives_it_back() {
    // The device that is always full.
    let compiled =
        compiled(&format!(r#"output {{ file {{ path => "/dev/full" {LINE} flush_interval => 0 }} }}"#)).unwrap();
    let stop = Stop::new();
    let event = event(r#"{"m":1}"#);
    let events = [&event];
    let lease = Lease::unclaimed();
    let batch = OutputBatch { events: &events, lease: &lease };
    let write = compiled.plan.outputs[0].output.write(&batch, &stop);
    let (given_back, ()) = tokio::join!(write, async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        stop.cancel();
    });
    assert!(given_back.is_err());
}

#[tokio::test]
async fn a_pipeline_that_stops_still_writes_what_it_has() {
    let fixture = Fixture::new("o.log", LINE).await;
    fixture.stop.cancel();
    for _ in 0..20 {
        fixture.write(&[r#"{"m":1}"#], &Lease::unclaimed()).await;
    }
    assert_eq!(fixture.files(), expected(&[("o.log", &"1\n".repeat(20))]));
}

#[tokio::test]
async fn a_named_pipe_gets_every_line() {
    let fixture = Fixture::new("fifo", LINE).await;
    let path = fixture.folder.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    let reader = std::thread::spawn(move || std::fs::read_to_string(path).unwrap());
    fixture.write(&[r#"{"m":1}"#], &Lease::unclaimed()).await;
    fixture.write(&[r#"{"m":2}"#], &Lease::unclaimed()).await;
    fixture.close().await;
    assert_eq!(reader.join().unwrap(), "1\n2\n");
}

#[test]
fn mistakes_are_found_before_the_start() {
    for (options, expected) in [
        (r#"path => "/%{x}/a.log""#, "dynamic"),
        (r#"path => "%{x}.log""#, "dynamic"),
        (r#"path => "/tmp/x" gzip => true write_behavior => overwrite"#, "overwritten"),
        (r#"path => "/tmp/x" file_mode => "0999""#, "no file mode"),
        ("", "`path`"),
        ("path => ''", "empty"),
    ] {
        let errors = compiled(&format!("output {{ file {{ {options} }} }}")).err().unwrap();
        assert!(errors.contains(expected), "{options}: {errors}");
    }
}

#[tokio::test]
async fn modes_are_octal_in_quotes() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new("sub/o.log", &format!(r#"{LINE} file_mode => "0600" dir_mode => 448"#)).await;
    fixture.write(&[r#"{"m":1}"#], &Lease::unclaimed()).await;
    let mode = |name: &str| std::fs::metadata(fixture.folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("sub/o.log"), mode("sub")), (0o600, 0o700));
}
