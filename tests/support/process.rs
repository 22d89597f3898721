//! The program in the background: fed, asked through its API, waited for with a deadline, and stopped.

#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
pub use spillway::dead_letter::DeadLetter;
use spillway::dead_letter::{Reader, Start};

use crate::program::Said;

/// Nothing that a test waits for takes so long, on the slowest machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A running Spillway. Killed when it is dropped.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    out: Output,
    err: Output,
}

/// One of its output streams, read as it comes.
struct Output {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Process {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let (out, err) = (Output::read(child.stdout.take().unwrap()), Output::read(child.stderr.take().unwrap()));
        Self { child, input, out, err }
    }

    /// Starts it and waits until its pipelines run.
    pub fn running(command: Command) -> Self {
        let process = Self::start(command);
        process.until_err("Pipelines running");
        process
    }

    /// Writes to its standard input.
    pub fn feed(&mut self, text: &str) -> &mut Self {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        self
    }

    /// Ends its standard input.
    pub fn end_input(&mut self) -> &mut Self {
        self.input = None;
        self
    }

    /// Standard output so far.
    pub fn out(&self) -> String {
        self.out.text.lock().unwrap().clone()
    }

    /// Standard error so far.
    pub fn err(&self) -> String {
        self.err.text.lock().unwrap().clone()
    }

    /// Waits until there is something; `what` says in a failure what did not come.
    #[track_caller]
    pub fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        match within(DEADLINE, &mut look) {
            Some(found) => found,
            None => panic!("{what} did not come; the program said:\n{}{}", self.out(), self.err()),
        }
    }

    /// Waits until standard error holds a text.
    #[track_caller]
    pub fn until_err(&self, text: &str) {
        self.until(&format!("`{text}`"), || self.err().contains(text).then_some(()));
    }

    /// Waits until standard output has so many lines.
    #[track_caller]
    pub fn until_lines(&self, count: usize) {
        self.until(&format!("line {count}"), || (self.out().lines().count() >= count).then_some(()));
    }

    /// Waits until a file has so many lines.
    #[track_caller]
    pub fn until_file(&self, path: &Path, count: usize) {
        self.until(&format!("line {count} of {}", path.display()), || (lines(path).len() >= count).then_some(()));
    }

    /// What the API answers to a GET.
    #[track_caller]
    pub fn get(&self, path: &str) -> Json {
        let port = self.until("the API", || {
            let err = self.err();
            let (_, rest) = err.split_once("Logstash API endpoint {port: ")?;
            rest.split(',').next()?.parse::<u16>().ok()
        });
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1)
            .unwrap_or_else(|e| panic!("{path}: {e}: {answer}"))
    }

    /// What node stats say about a pipeline.
    #[track_caller]
    pub fn stats(&self, pipeline: &str) -> Json {
        self.get(&format!("/_node/stats/pipelines/{pipeline}"))["pipelines"][pipeline].clone()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Asks it to stop as a service manager does, and waits for the end.
    #[track_caller]
    pub fn stop(self) -> Said {
        self.signal(Signal::TERM);
        self.end()
    }

    /// Ends it without warning.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end; what it said on the way. Standard input is left as it is.
    #[track_caller]
    pub fn end(mut self) -> Said {
        let Some(status) = within(DEADLINE, || self.child.try_wait().unwrap()) else {
            panic!("it did not end; it said:\n{}{}", self.out(), self.err());
        };
        self.out.join();
        self.err.join();
        Said { code: status.code().unwrap_or(-1), out: self.out(), err: self.err() }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Output {
    fn read(stream: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let kept = text.clone();
        let reader = std::thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        Self { text, reader: Some(reader) }
    }

    fn join(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }
}

/// Looks again and again, up to so long.
pub fn within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() > end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The complete lines of a file; none when there is no file.
pub fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(str::to_owned).collect()
}

/// The lines of a file, each a JSON value.
pub fn records(path: &Path) -> Vec<Json> {
    lines(path).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The sealed entries of a dead letter queue.
pub fn dead_letters(directory: &Path) -> Vec<DeadLetter> {
    if !directory.exists() {
        return Vec::new();
    }
    let mut reader = Reader::new(directory, Start::Beginning);
    std::iter::from_fn(|| reader.next(Duration::ZERO)).collect()
}

/// The size of a queue's segments, the open one included.
pub fn queue_bytes(directory: &Path) -> u64 {
    let segment = |name: &str| name.ends_with(".log") || name.ends_with(".log.tmp");
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries.filter(|e| segment(&e.file_name().to_string_lossy())).map(|e| e.metadata().unwrap().len()).sum()
}
