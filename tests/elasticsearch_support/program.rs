//! The program under test, fed through standard input.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value as Json, json};
use spillway::dead_letter::{DeadLetter, Reader, Start};
use tempfile::TempDir;

/// A running Spillway.
pub struct Program {
    child: Child,
    input: Option<ChildStdin>,
    log: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
    pub home: Arc<TempDir>,
}

impl Program {
    /// Starts it with an output section and settings beyond the defaults of the tests, in a folder of its own.
    pub fn start(output: &str, settings: &[(&str, String)]) -> Self {
        Self::start_in(Arc::new(TempDir::new().unwrap()), output, settings)
    }

    /// As [`Program::start`], in the folder of an earlier run.
    pub fn start_in(home: Arc<TempDir>, output: &str, settings: &[(&str, String)]) -> Self {
        let data = home.path().join("data");
        std::fs::create_dir_all(&data).unwrap();
        let mut yaml = json!({
            "path.data": data, "path.logs": home.path().join("logs"), "pipeline.workers": 1,
            "pipeline.ecs_compatibility": "disabled", "log.rate_limit": "0s",
        });
        for (name, value) in settings {
            yaml[*name] = serde_json::from_str(value).unwrap_or(Json::from(value.as_str()));
        }
        // JSON is YAML.
        std::fs::write(home.path().join("logstash.yml"), yaml.to_string()).unwrap();
        let config = home.path().join("test.conf");
        std::fs::write(&config, format!("input {{ stdin {{ codec => json_lines }} }}\n{output}\n")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_spillway"))
            .arg("--path.settings")
            .arg(home.path())
            .arg("-f")
            .arg(&config)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (lines, errors) = (log.clone(), child.stderr.take().unwrap());
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                lines.lock().unwrap().push(line);
            }
        });
        Self { input: child.stdin.take(), child, log, reader: Some(reader), home }
    }

    /// Sends events, one line each.
    pub fn send(&mut self, events: &[Json]) {
        let mut lines = Vec::new();
        for event in events {
            let mut event = event.clone();
            for (name, value) in [("@timestamp", "2026-03-01T10:00:00.000Z"), ("@version", "1")] {
                event.as_object_mut().unwrap().entry(name).or_insert(value.into());
            }
            lines.extend_from_slice(event.to_string().as_bytes());
            lines.push(b'\n');
        }
        let input = self.input.as_mut().unwrap();
        // It may have refused to start.
        let _ = input.write_all(&lines).and_then(|()| input.flush());
    }

    /// The log so far.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// Whether a line of this level holds all the words.
    pub fn has_logged(&self, level: &str, words: &[&str]) -> bool {
        self.log().iter().any(|line| is_line(line, level, words))
    }

    /// What node stats say about the output.
    pub fn stats(&self) -> Option<Json> {
        let line = self.log().into_iter().find(|line| line.contains("Successfully started Logstash API endpoint"))?;
        let port = line.split("port: ").nth(1)?.split(',').next()?.parse().ok()?;
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.write_all(b"GET /_node/stats/pipelines/main HTTP/1.0\r\nHost: x\r\n\r\n").ok()?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply).ok()?;
        let stats: Json = serde_json::from_str(reply.split_once("\r\n\r\n")?.1).ok()?;
        stats.pointer("/pipelines/main/plugins/outputs/0").cloned()
    }

    /// The most memory that it had so far, in MiB.
    pub fn peak_mib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
    }

    /// Asks it to stop, as an operator does.
    pub fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Ends the input and waits for the end.
    pub fn finish(&mut self, limit: Duration) -> ExitStatus {
        self.input = None;
        self.wait(limit)
    }

    /// Waits for the end.
    pub fn wait(&mut self, limit: Duration) -> ExitStatus {
        let ended = super::eventually(limit, || self.child.try_wait().unwrap().is_some());
        assert!(ended, "did not end within {limit:?}; its log:\n{}", self.log().join("\n"));
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.child.wait().unwrap()
    }

    /// The entries of its dead letter queue, after it has ended.
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        dead_letters(&self.home.path().join("data/dead_letter_queue/main"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a line has this level and holds all the words.
pub fn is_line(line: &str, level: &str, words: &[&str]) -> bool {
    line.contains(&format!("[{:<5}]", level.to_uppercase())) && words.iter().all(|word| line.contains(word))
}

fn dead_letters(directory: &Path) -> Vec<DeadLetter> {
    if !directory.exists() {
        return Vec::new();
    }
    let mut reader = Reader::new(PathBuf::from(directory), Start::Beginning);
    std::iter::from_fn(|| reader.next(Duration::ZERO)).collect()
}
