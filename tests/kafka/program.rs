//! The program, which reads topics until it is told to stop.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use spillway::dead_letter::{DeadLetter, Reader, Start};
use tempfile::TempDir;

use super::eventually;

const LIMIT: Duration = Duration::from_secs(60);

/// A running Spillway.
pub struct Program {
    child: Child,
    pub home: Arc<TempDir>,
}

/// A folder for the settings, the state and the log of a program.
pub fn home() -> Arc<TempDir> {
    Arc::new(TempDir::new().unwrap())
}

impl Program {
    /// Starts it in a folder of its own, with one worker.
    pub fn start(config: &str) -> Self {
        Self::start_in(&home(), config, "pipeline.workers: 1\n")
    }

    /// As [`Program::start`], in the folder of an earlier run, with lines of `logstash.yml`.
    pub fn start_in(home: &Arc<TempDir>, config: &str, settings: &str) -> Self {
        let conf = home.path().join("main.conf");
        std::fs::write(&conf, config).unwrap();
        Self::start_pipelines(home, &format!("- pipeline.id: main\n  path.config: {}\n", conf.display()), settings)
    }

    /// With a `pipelines.yml`.
    pub fn start_pipelines(home: &Arc<TempDir>, pipelines: &str, settings: &str) -> Self {
        let path = home.path();
        let log = std::fs::OpenOptions::new().create(true).append(true).open(path.join("log")).unwrap();
        std::fs::write(path.join("pipelines.yml"), pipelines).unwrap();
        let api = if settings.contains("api.enabled") { "" } else { "api.enabled: false\n" };
        let yaml = format!(
            "path.data: {0}/data\n{api}log.rate_limit: 0s\ndead_letter_queue.enable: true\n{settings}",
            path.display()
        );
        std::fs::write(path.join("logstash.yml"), yaml).unwrap();
        std::fs::create_dir_all(path.join("data")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_spillway"))
            .args(["--path.settings".as_ref(), path.as_os_str()])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { child, home: home.clone() }
    }

    /// All that it and earlier ones in its folder have said.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    #[track_caller]
    pub fn until(&mut self, what: &str, is_true: impl FnMut() -> bool) {
        self.within(LIMIT, what, is_true);
    }

    #[track_caller]
    pub fn within(&mut self, limit: Duration, what: &str, mut is_true: impl FnMut() -> bool) {
        let came = eventually(limit, &mut is_true);
        assert!(came, "{what} did not come true:\n{}", tail(&self.log()));
    }

    #[track_caller]
    pub fn until_logged(&mut self, words: &str) {
        self.until_logged_times(words, 1);
    }

    #[track_caller]
    pub fn until_logged_times(&mut self, words: &str, times: usize) {
        let log = self.home.path().join("log");
        self.until(words, || std::fs::read_to_string(&log).is_ok_and(|log| log.matches(words).count() >= times));
    }

    /// As `kill -9`.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn terminate(&self) {
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(self.child.id().cast_signed()).unwrap(),
            rustix::process::Signal::TERM,
        )
        .unwrap();
    }

    /// Asks it to stop and waits for that.
    #[track_caller]
    pub fn stop(mut self) -> ExitStatus {
        self.terminate();
        let mut status = None;
        let ended = eventually(LIMIT, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(ended, "it does not stop:\n{}", tail(&self.log()));
        status.unwrap()
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The dead letters of the pipeline `main`, once the program has ended.
pub fn dead_letters(home: &TempDir) -> Vec<DeadLetter> {
    let directory = home.path().join("data/dead_letter_queue/main");
    if !directory.exists() {
        return Vec::new();
    }
    let mut reader = Reader::new(directory, Start::Beginning);
    std::iter::from_fn(|| reader.next(Duration::ZERO)).collect()
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}
