//! The file input from outside: files that grow, are renamed, cut off and replaced, while the program is killed.
//!
//! `SPILLWAY_VOLUME=1 cargo test --release --test file_input` takes a gigabyte and fifty kills for the rotations.

#[path = "support/process.rs"]
mod process;
mod program;

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use process::{Process, lines, within};
use program::{Place, Said};

/// A folder `logs` that is read, and the file `out` that takes the messages.
struct Site(Place);

impl Site {
    /// With these further options of the input. `D` in them stands for the folder of the site.
    fn new(options: &str) -> Self {
        Self::with_codec(options, "plain { ecs_compatibility => disabled }")
    }

    fn with_codec(options: &str, codec: &str) -> Self {
        let site = Self(Place::new());
        fs::create_dir(site.path("logs")).unwrap();
        let folder = site.0.path().display().to_string();
        let path = if options.contains(" path =>") { "" } else { "path => 'D/logs/*'" };
        let config = format!(
            "input {{ file {{ {path} {options} codec => {codec} sincedb_path => 'D/sincedb' \
             sincedb_write_interval => '100 ms' stat_interval => '50 ms' discover_interval => 2 }} }}\n\
             output {{ file {{ path => 'D/out' codec => line {{ format => '%{{message}}' }} flush_interval => 0 }} }}\n"
        );
        fs::write(site.path("pipeline.conf"), config.replace("D/", &format!("{folder}/"))).unwrap();
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.path("logs").join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.log(name), content).unwrap();
    }

    fn append(&self, name: &str, content: impl AsRef<[u8]>) {
        let file = fs::OpenOptions::new().append(true).create(true).open(self.log(name));
        file.and_then(|mut file| file.write_all(content.as_ref())).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.log(from), self.log(to)).unwrap();
    }

    /// One worker, so that what is read in order comes in order.
    fn command(&self) -> std::process::Command {
        self.command_with("-w 1")
    }

    fn command_with(&self, flags: &str) -> std::process::Command {
        self.0.command(&format!("-f pipeline.conf --path.data data --api.enabled false {flags}"))
    }

    #[track_caller]
    fn start(&self) -> Process {
        Process::running(self.command())
    }

    fn out(&self) -> Vec<String> {
        lines(&self.path("out"))
    }

    /// Waits until so many messages came.
    #[track_caller]
    fn until(&self, process: &Process, count: usize) {
        process.until_file(&self.path("out"), count);
    }

    /// The messages, when the program has ended in order.
    #[track_caller]
    fn stopped(&self, process: Process) -> Vec<String> {
        let said = process.stop();
        assert_eq!(said.code, 0, "{}", said.err);
        self.out()
    }

    /// Writes a position file as Logstash does: a position for each of these files.
    fn write_sincedb(&self, positions: &[(&str, u64)]) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let line = |(name, position): &(&str, u64)| {
            let path = self.log(name);
            let metadata = fs::metadata(&path).unwrap();
            format!("{} 0 {} {position} {now}.852678 {}\n", metadata.ino(), metadata.dev(), path.display())
        };
        fs::write(self.path("sincedb"), positions.iter().map(line).collect::<String>()).unwrap();
    }
}

const BEGINNING: &str = "start_position => beginning";

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

#[test]
fn positions_of_logstash_are_continued() {
    let site = Site::new("");
    site.write("a b.log", "one\ntwo\nthree\n");
    site.write("old.log", "1\n2\n");
    site.write("new.log", "not read: it is there at the start\n");
    site.write_sincedb(&[("a b.log", 4), ("old.log", 4)]);
    let process = site.start();
    site.until(&process, 2);
    site.append("old.log", "3\n");
    site.append("new.log", "appended\n");
    site.until(&process, 4);
    assert_eq!(sorted(site.stopped(process)), ["3", "appended", "three", "two"]);
    let sincedb = fs::read_to_string(site.path("sincedb")).unwrap();
    for (name, position) in [("a b.log", 14), ("old.log", 6), ("new.log", 44)] {
        let metadata = fs::metadata(site.log(name)).unwrap();
        let start = format!("{} 0 {} {position} ", metadata.ino(), metadata.dev());
        let line = sincedb.lines().find(|line| line.starts_with(&start));
        assert!(line.is_some_and(|line| line.ends_with(&format!("logs/{name}"))), "{start} in\n{sincedb}");
    }
}

#[test]
fn positions_go_to_logstash_and_back() {
    let site = Site::new(BEGINNING);
    let text = |word: &str| (0..50).map(|n| format!("{word} line {n:02}\n")).collect::<String>();
    site.write("a.log", text("first"));
    let process = site.start();
    site.until(&process, 50);
    site.stopped(process);
    let sincedb = fs::read_to_string(site.path("sincedb")).unwrap();
    let path = site.log("a.log");
    let metadata = fs::metadata(&path).unwrap();
    let columns: Vec<&str> = sincedb.trim_end_matches('\n').splitn(6, ' ').collect();
    let expected = [metadata.ino(), 0, metadata.dev(), metadata.len()].map(|number| number.to_string());
    assert_eq!((&columns[..4], columns[5]), (&expected.each_ref().map(String::as_str)[..], path.to_str().unwrap()));
    // Logstash goes on: the file is cut off and written anew, and Logstash has read all but the last line.
    let second = text("other");
    site.write("a.log", format!("{second}the last line\n"));
    site.write_sincedb(&[("a.log", second.len() as u64)]);
    let process = site.start();
    site.until(&process, 51);
    assert_eq!(site.stopped(process)[50..], ["the last line"]);
}

#[test]
fn an_inode_that_was_used_before_does_not_hide_the_beginning_of_a_new_file() {
    let site = Site::new("");
    let old: String = (0..50).map(|n| format!("old line {n}\n")).collect();
    site.write("a.log", &old);
    site.write_sincedb(&[("a.log", 0)]);
    let process = site.start();
    site.until(&process, 50);
    site.stopped(process);
    // As after the deletion of the file and the making of a longer one, which got its inode.
    let new: String = (0..100).map(|n| format!("new line {n}\n")).collect();
    site.write("a.log", &new);
    let process = site.start();
    site.until(&process, 150);
    assert_eq!(site.stopped(process)[50..].join("\n") + "\n", new);
}

#[test]
fn a_file_that_is_deleted_and_made_again_is_read_from_its_beginning() {
    let site = Site::new(&format!("{BEGINNING} close_older => '100 ms'"));
    site.write("a.log", "1\n2\n3\n");
    let process = site.start();
    site.until(&process, 3);
    // It is closed by now, so that the inode is free.
    std::thread::sleep(Duration::from_millis(500));
    fs::remove_file(site.log("a.log")).unwrap();
    site.write("a.log", "a\nb\nc\nd\n");
    site.until(&process, 7);
    assert_eq!(site.stopped(process), ["1", "2", "3", "a", "b", "c", "d"]);
}

#[test]
fn a_chain_of_twenty_renames_is_read_once() {
    let site = Site::new(BEGINNING);
    for n in 0..20 {
        site.write(&format!("app.log.{n}"), format!("line of {n}\n"));
    }
    let process = site.start();
    site.until(&process, 20);
    for n in (0..20).rev() {
        site.rename(&format!("app.log.{n}"), &format!("app.log.{}", n + 1));
    }
    site.write("app.log.0", "line of the new one\n");
    site.until(&process, 21);
    site.append("app.log.7", "late line\n");
    site.until(&process, 22);
    std::thread::sleep(Duration::from_millis(300));
    let out = site.stopped(process);
    assert_eq!(out.len(), 22, "{out:?}");
    let process = site.start();
    site.append("app.log.20", "last\n");
    site.until(&process, 23);
    assert_eq!(site.stopped(process).len(), 23);
}

#[test]
fn what_a_writer_still_writes_to_a_renamed_file_is_read() {
    let site = Site::new(&format!("{BEGINNING} path => 'D/logs/app.log'"));
    site.write("app.log", "1\n");
    let process = site.start();
    site.until(&process, 1);
    let mut writer = fs::OpenOptions::new().append(true).open(site.log("app.log")).unwrap();
    site.rename("app.log", "app.log.1");
    site.write("app.log", "new\n");
    site.until(&process, 2);
    writer.write_all(b"late\n").unwrap();
    site.until(&process, 3);
    fs::remove_file(site.log("app.log.1")).unwrap();
    writer.write_all(b"later\nand no end").unwrap();
    site.until(&process, 4);
    assert_eq!(site.stopped(process), ["1", "new", "late", "later"]);
}

#[test]
fn a_file_that_is_cut_off_is_read_from_its_beginning_also_when_it_is_longer_at_once() {
    let site = Site::new(BEGINNING);
    site.write("a.log", "one\ntwo\nunfinished");
    let process = site.start();
    site.until(&process, 2);
    site.write("a.log", "3\n");
    site.until(&process, 3);
    site.write("a.log", "a file that is written anew, and longer than it was\n");
    site.until(&process, 4);
    assert_eq!(site.stopped(process), ["one", "two", "3", "a file that is written anew, and longer than it was"]);
}

#[test]
fn a_file_that_is_there_only_while_the_pipeline_is_full_is_read() {
    let site = Site::new(BEGINNING);
    let config = fs::read_to_string(site.path("pipeline.conf")).unwrap();
    fs::write(site.path("pipeline.conf"), format!("{config} filter {{ sleep {{ time => 0.3 }} }}")).unwrap();
    // A chunk each, and the queue takes one.
    site.write("large.log", format!("{}\n", "x".repeat(300_000)).repeat(10));
    let process = Process::running(site.command_with("-w 1 -b 1"));
    site.until(&process, 1);
    site.write("brief.log", "brief\n");
    std::thread::sleep(Duration::from_millis(800));
    fs::remove_file(site.log("brief.log")).unwrap();
    assert!(site.out().len() < 10, "the pipeline was not full");
    site.until(&process, 11);
    assert!(site.stopped(process).contains(&"brief".to_owned()));
}

#[test]
fn many_files_are_read_although_few_may_be_open() {
    let site = Site::new(&format!("{BEGINNING} max_open_files => 100 close_older => '100 ms'"));
    let count = 1000;
    for n in 0..count {
        site.write(&format!("{n:04}.log"), format!("{n:04} a\n{n:04} b\n"));
    }
    let process = site.start();
    site.until(&process, 2 * count);
    site.append("0500.log", "more\n");
    site.until(&process, 2 * count + 1);
    let said = process.stop();
    said.err_says(&["max_open_files"]);
    let mut out = site.out();
    assert_eq!(out.pop().as_deref(), Some("more"));
    let expected: Vec<String> = (0..count).flat_map(|n| [format!("{n:04} a"), format!("{n:04} b")]).collect();
    assert_eq!(sorted(out), expected);
}

#[test]
fn a_file_that_is_written_anew_while_it_waits_to_be_opened_is_read_from_its_beginning() {
    let site = Site::new(&format!("{BEGINNING} file_sort_by => path max_open_files => 1 close_older => '400 ms'"));
    let text = |word: &str, count| (0..count).map(|n| format!("{word} line {n:02}\n")).collect::<String>();
    site.write("a.log", text("first", 30));
    site.write("b.log", text("other", 30));
    let process = site.start();
    site.until(&process, 60);
    site.stopped(process);
    let process = site.start();
    let new = text("newer", 50);
    site.write("b.log", &new);
    site.until(&process, 110);
    assert_eq!(site.stopped(process)[60..].join("\n") + "\n", new);
}

#[test]
fn old_files_are_left_alone_until_they_grow() {
    let site = Site::new(&format!("{BEGINNING} ignore_older => '1 hour' exclude => ['*.gz', 'not[0-9].log']"));
    site.write("old.log", "before\n");
    site.write("not1.log", "excluded\n");
    site.write("x.gz", "excluded\n");
    site.write("fresh.log", "fresh\n");
    let file = fs::File::options().append(true).open(site.log("old.log")).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
    let process = site.start();
    site.until(&process, 1);
    site.append("old.log", "after\n");
    site.until(&process, 2);
    assert_eq!(site.stopped(process), ["fresh", "after"]);
}

#[test]
fn a_file_that_may_not_be_read_does_not_hold_up_the_others() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let site = Site::new(BEGINNING);
    site.write("secret.log", "secret\n");
    site.write("open.log", "open\n");
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&site.log("secret.log"), 0o000);
    mode(site.0.path(), 0o777);
    let mut command = site.command();
    if rustix::process::getuid().is_root() {
        // Root may read everything.
        let program = site.path("spillway");
        fs::copy(env!("CARGO_BIN_EXE_spillway"), &program).unwrap();
        let mut as_nobody = std::process::Command::new(program);
        as_nobody.args(command.get_args()).current_dir(site.0.path()).uid(NOBODY).gid(NOBODY);
        as_nobody.stdin(std::process::Stdio::piped());
        as_nobody.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command = as_nobody;
    }
    let process = Process::running(command);
    site.until(&process, 1);
    process.until_err("secret.log");
    mode(&site.log("secret.log"), 0o644);
    site.until(&process, 2);
    let said = process.stop();
    assert_eq!(said.err.matches("failed to open").count(), 1, "{}", said.err);
    assert_eq!(site.out(), ["open", "secret"]);
}

#[test]
fn a_line_of_a_hundred_megabytes_and_bytes_that_are_no_text() {
    let site = Site::new(BEGINNING);
    let long = vec![b'x'; 100 * 1024 * 1024];
    site.write("long.log", [b"before\n", &long[..], b"\nafter\n"].concat());
    let garbage: Vec<u8> = (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let count = garbage.iter().filter(|byte| **byte == b'\n').count();
    site.write("garbage.log", &garbage);
    let process = site.start();
    site.until(&process, 3 + count);
    site.append("garbage.log", "\nthe end\n");
    site.until(&process, 3 + count + 2);
    let out = site.stopped(process);
    assert_eq!(out.iter().map(String::len).max(), Some(long.len()));
    assert!(out.iter().any(|line| line == "after") && out.iter().any(|line| line == "the end"));
}

#[test]
fn two_inputs_cannot_keep_their_positions_in_one_file() {
    let place = Place::new();
    let input = |id: &str| {
        format!("file {{ id => {id} path => '/tmp/none' sincedb_path => '{}' }}", place.join("sdb").display())
    };
    let config = format!("input {{ {} {} }} output {{ null {{ }} }}", input("first"), input("second"));
    fs::write(place.join("pipeline.conf"), config).unwrap();
    let said = place.run("-f pipeline.conf --path.data data --api.enabled false");
    said.fails_with(1, &["`first`", "`second`", "sincedb_path"]);
}

/// A read of all files to their end.
fn read_mode(more: &str) -> Site {
    Site::new(&format!("mode => read exit_after_read => true file_sort_by => path {more}"))
}

#[track_caller]
fn run(site: &Site) -> Said {
    let said = Process::start(site.command()).end();
    assert_eq!(said.code, 0, "{}", said.err);
    said
}

fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn files_are_read_to_their_end_and_deleted() {
    let site = read_mode("");
    site.write("a.log", "1\n2");
    site.write("b.log.gz", [gzipped(b"3\r\n4\xff\r"), gzipped(b"5")].concat());
    site.write("c.log", "");
    run(&site);
    assert_eq!(site.out(), ["1", "2", "3", "4\u{fffd}", "5"]);
    assert_eq!(fs::read_dir(site.path("logs")).unwrap().count(), 0);
}

#[test]
fn files_that_are_done_are_not_read_again_but_what_was_added() {
    let site = read_mode("file_completed_action => log file_completed_log_path => 'D/done'");
    site.write("a.log", "1\n");
    site.write("b.gz", gzipped(b"2\n"));
    run(&site);
    run(&site);
    site.append("a.log", "3\n");
    run(&site);
    assert_eq!(site.out(), ["1", "2", "3"]);
    let done: Vec<String> = lines(&site.path("done"));
    let names: Vec<&str> = done.iter().map(|path| path.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["a.log", "b.gz", "a.log"]);
}

#[test]
fn a_broken_archive_is_read_once_and_stays() {
    let site = Site::new("mode => read");
    let whole = gzipped(&(0..5000).map(|n| format!("line {}\n", n * n)).collect::<String>().into_bytes());
    site.write("broken.gz", &whole[..whole.len() / 2]);
    let process = site.start();
    process.until_err("failed to read");
    std::thread::sleep(Duration::from_millis(500));
    let count = site.out().len();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(site.out().len(), count);
    assert!(site.log("broken.gz").exists());
    // It was not complete yet.
    fs::write(site.path("whole"), &whole).unwrap();
    fs::rename(site.path("whole"), site.log("broken.gz")).unwrap();
    process.until("the end", || (!site.log("broken.gz").exists()).then_some(()));
    assert_eq!(site.stopped(process)[count..].len(), 5000);
    let checked = read_mode("check_archive_validity => true");
    checked.write("broken.gz", &whole[..whole.len() / 2]);
    run(&checked).err_says(&["broken.gz"]);
    assert!(checked.out().is_empty() && checked.log("broken.gz").exists());
}

#[test]
fn a_file_is_deleted_only_when_its_events_are_safe() {
    let site = Site::new("mode => read");
    let count = 50_000;
    let line = |n| format!("line number {n:08} with some more text\n");
    site.write("a.log", (0..count).map(line).collect::<String>());
    let mut tally = Tally::new(count, line);
    for _ in 0..4 {
        tally.kill(&site, site.start(), Duration::from_millis(20));
    }
    let process = site.start();
    process.until("the end", || (!site.log("a.log").exists()).then_some(()));
    site.stopped(process);
    tally.assert_complete(&site);
}

#[test]
fn stripes_of_files_are_read_in_turn() {
    let site = read_mode("file_chunk_size => 4 file_chunk_count => 1");
    site.write("a.log", "a 1\na 2\na 3\n");
    site.write("b.log", "b 1\nb 2\n");
    run(&site);
    assert_eq!(site.out(), ["a 1", "b 1", "a 2", "b 2", "a 3"]);
}

/// Which of the numbered lines are in the output, told while it grows.
struct Tally {
    line: fn(usize) -> String,
    times: Vec<u32>,
    /// The run in which each came last.
    run: Vec<usize>,
    /// How many came.
    came: usize,
    /// How much of the output was looked at.
    looked: u64,
    /// How large the output was at each kill.
    kills: Vec<u64>,
}

impl Tally {
    fn new(count: usize, line: fn(usize) -> String) -> Self {
        let (times, run) = (vec![0; count], vec![usize::MAX; count]);
        Self { line, times, run, came: 0, looked: 0, kills: Vec::new() }
    }

    /// Kills a process after a while.
    fn kill(&mut self, site: &Site, process: Process, after: Duration) {
        std::thread::sleep(after);
        process.kill();
        // The next run cuts off what has no line end.
        let out = fs::read(site.path("out")).unwrap_or_default();
        self.kills.push(memchr::memrchr(b'\n', &out).map_or(0, |end| end as u64 + 1));
    }

    /// Whether all lines up to this one came. None comes twice from one run.
    #[track_caller]
    fn has_all(&mut self, site: &Site, count: usize) -> bool {
        const BEFORE: &str = "line number ";
        let Ok(mut file) = fs::File::open(site.path("out")) else { return false };
        file.seek(SeekFrom::Start(self.looked)).unwrap();
        let mut out = Vec::new();
        file.read_to_end(&mut out).unwrap();
        out.truncate(memchr::memrchr(b'\n', &out).map_or(0, |end| end + 1));
        for at in memchr::memmem::find_iter(&out, BEFORE) {
            let digits = out.get(at + BEFORE.len()..at + BEFORE.len() + 8).map(String::from_utf8_lossy);
            let Some(number) = digits.and_then(|digits| digits.parse::<usize>().ok()) else { continue };
            // One that a kill has cut off did not come.
            if !out[at..].starts_with((self.line)(number).as_bytes()) {
                continue;
            }
            let run = self.kills.partition_point(|end| *end <= self.looked + at as u64);
            assert_ne!(self.run[number], run, "line {number} came twice in run {run}");
            self.run[number] = run;
            self.came += usize::from(self.times[number] == 0);
            self.times[number] += 1;
        }
        self.looked += out.len() as u64;
        self.came >= count
    }

    #[track_caller]
    fn until_all(&mut self, site: &Site, count: usize) {
        let limit = Duration::from_secs(300);
        if within(limit, || self.has_all(site, count).then_some(())).is_none() {
            let missing: Vec<usize> = (0..count).filter(|n| self.times[*n] == 0).collect();
            panic!("{} of {count} lines are missing, the first {:?}", missing.len(), missing.first());
        }
    }

    /// To be asked when the program has ended.
    #[track_caller]
    fn assert_complete(&mut self, site: &Site) {
        let count = self.times.len();
        assert!(self.has_all(site, count), "{} of {count} lines came", self.came);
        let repeated = self.times.iter().filter(|times| **times > 1).count();
        println!("{count} lines, {repeated} of them more than once, {} bytes, {} kills", self.looked, self.kills.len());
    }
}

/// A generator of numbers that look like chance and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Lines to write in all, and how often the program is killed meanwhile.
fn volume() -> (usize, usize) {
    if std::env::var_os("SPILLWAY_VOLUME").is_some() { (10_000_000, 50) } else { (30_000, 6) }
}

fn line(n: usize) -> String {
    format!("line number {n:08} of a log file that is rotated while the program is killed, {:032}\n", n * 7)
}

/// Writes bursts of lines while the program runs and is killed at random moments. After each burst `rotate` may do
/// something to the files; it is told how many lines there are, and whether the program runs.
fn killed_while(site: &Site, mut rotate: impl FnMut(&mut Chance, &mut Tally, usize, bool)) {
    let begun = Instant::now();
    let (count, kills) = volume();
    let mut tally = Tally::new(count, line);
    let mut chance = Chance(17);
    let burst = count / 300;
    let start = || Process::running(site.command_with("-w 4"));
    let mut process = Some(start());
    let mut next_kill = count / (kills + 1);
    let mut done = 0;
    while done < count {
        let end = (done + burst).min(count);
        site.append("app.log", (done..end).map(line).collect::<String>());
        done = end;
        if done >= next_kill && done < count {
            next_kill += count / (kills + 1);
            let process = process.take().unwrap_or_else(start);
            tally.kill(site, process, Duration::from_millis(chance.below(60)));
        }
        rotate(&mut chance, &mut tally, done, process.is_some());
        if process.is_none() && chance.below(2) == 0 {
            process = Some(start());
        }
    }
    let process = process.unwrap_or_else(start);
    tally.until_all(site, count);
    let said = process.stop();
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(tally.kills.len(), kills);
    tally.assert_complete(site);
    println!("in {:?}", begun.elapsed());
}

#[test]
fn nothing_is_lost_when_files_are_renamed_and_the_program_is_killed() {
    let site = Site::new(BEGINNING);
    let mut files = 0;
    killed_while(&site, |chance, _, _, _| {
        if chance.below(4) > 0 {
            return;
        }
        for n in (1..=files).rev() {
            site.rename(&format!("app.log.{n}"), &format!("app.log.{}", n + 1));
        }
        site.rename("app.log", "app.log.1");
        files += 1;
    });
    println!("{files} files beside the last");
}

/// What is cut off before its events were delivered is lost by the nature of it, with every program that reads files.
/// So the writer waits for that here; it does not wait for the positions to be saved, nor that the cut is noticed.
#[test]
fn nothing_is_lost_when_files_are_copied_and_cut_off_and_the_program_is_killed() {
    let site = Site::new(BEGINNING);
    let mut cuts = 0;
    killed_while(&site, |chance, tally, done, is_running| {
        if chance.below(4) == 0 && is_running {
            tally.until_all(&site, done);
            fs::write(site.log("app.log"), "").unwrap();
            cuts += 1;
        }
    });
    println!("cut off {cuts} times");
}

#[test]
fn what_a_codec_holds_back_is_given_out_at_the_stop_and_not_lost_by_a_kill() {
    let site = Site::with_codec(BEGINNING, "multiline { pattern => '^ ' what => previous }");
    site.write("a.log", "A\n a\nB\n b\n");
    let process = site.start();
    site.until(&process, 2);
    std::thread::sleep(Duration::from_millis(300));
    process.kill();
    assert_eq!(site.out(), ["A", " a"]);
    let process = site.start();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(site.stopped(process), ["A", " a", "B", " b"]);
}

#[test]
fn the_last_event_comes_after_a_while() {
    let codec = "multiline { pattern => '^ ' what => previous auto_flush_interval => 0.2 }";
    let site = Site::with_codec(BEGINNING, codec);
    site.write("a.log", "A\n a\n");
    let process = site.start();
    site.until(&process, 2);
    site.append("a.log", "B\n");
    site.until(&process, 3);
    assert_eq!(site.stopped(process), ["A", " a", "B"]);
    let stdin = format!(
        "input {{ stdin {{ codec => {codec} }} }} output {{ stdout {{ codec => line {{ format => '%{{message}};' }} }} }}"
    );
    let place = Place::new().file("pipeline.conf", &stdin);
    let mut process = Process::running(place.command("-f pipeline.conf --path.data data --api.enabled false"));
    process.feed("A\n a");
    process.feed("b\n");
    process.until_lines(2);
    assert_eq!(process.end_input().out(), "A\n ab;\n");
}
