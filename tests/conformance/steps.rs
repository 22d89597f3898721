//! Cases with steps: the program runs in the background while files are written, renamed and cut off.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use spillway::event::{Map, Value};

use crate::scenario::Stopped;
use crate::scenario::program::{self, Background, Said, until};

/// A program that is started and stopped by steps.
pub struct Play<'a> {
    words: &'a [String],
    folder: &'a Path,
    /// Where the events go, one in a line.
    delivered: PathBuf,
    running: Option<Background>,
    said: String,
}

impl<'a> Play<'a> {
    /// With the command line to run in `folder`.
    pub fn new(words: &'a [String], folder: &'a Path, delivered: PathBuf) -> Self {
        Self { words, folder, delivered, running: None, said: String::new() }
    }

    /// Starts the program, takes all steps and stops it. What it said.
    pub fn run(mut self, steps: &[Value]) -> Result<Said, Stopped> {
        self.start()?;
        for (at, step) in steps.iter().enumerate() {
            let Some(step) = step.as_map() else { return Err(Stopped::Failed("a step must be a map".into())) };
            for (word, what) in step.iter() {
                self.step(word, what).map_err(|stopped| match stopped {
                    Stopped::Failed(message) => {
                        Stopped::Failed(format!("step {}: {message}\n{}", at + 1, self.shown()))
                    }
                    unknown => unknown,
                })?;
            }
        }
        self.stop()?;
        Ok(Said { status: Some(0), out: String::new(), err: self.said, took: Duration::ZERO })
    }

    fn step(&mut self, word: &str, what: &Value) -> Result<(), Stopped> {
        match (word, what) {
            ("wait_events", Value::Integer(count)) => self.wait_for(*count),
            ("wait_s", Value::Integer(seconds)) => {
                std::thread::sleep(Duration::from_secs(u64::try_from(*seconds).unwrap_or(0)));
                Ok(())
            }
            ("append", Value::Map(step)) => {
                let file = std::fs::OpenOptions::new().append(true).create(true).open(self.path(step)?);
                done(file.and_then(|mut file| file.write_all(text(step).as_bytes())))
            }
            ("write", Value::Map(step)) => done(std::fs::write(self.path(step)?, text(step))),
            ("rename", Value::Array(names)) => match names.as_slice() {
                [Value::String(from), Value::String(to)] => {
                    done(std::fs::rename(self.folder.join(from.as_str()), self.folder.join(to.as_str())))
                }
                _ => Err(Stopped::Failed("`rename` needs two names".into())),
            },
            ("remove", Value::String(name)) => done(std::fs::remove_file(self.folder.join(name.as_str()))),
            ("truncate", Value::String(name)) => self.truncate(name, 0),
            ("truncate", Value::Map(step)) => {
                let size = step.get("size").and_then(Value::as_integer).unwrap_or(0);
                let path = step.get("path").and_then(Value::as_str).unwrap_or_default();
                self.truncate(path, u64::try_from(size).unwrap_or(0))
            }
            ("write_sincedb", Value::Map(step)) => self.write_sincedb(step),
            ("stop", _) => self.stop(),
            ("start", _) => self.start(),
            _ => Err(Stopped::Unknown(format!("the step `{word}` is not known to this runner"))),
        }
    }

    fn path(&self, step: &Map) -> Result<PathBuf, Stopped> {
        let name = step.get("path").and_then(Value::as_str).ok_or_else(|| Stopped::Failed("needs a `path`".into()))?;
        let path = self.folder.join(name);
        done(path.parent().map_or(Ok(()), std::fs::create_dir_all))?;
        Ok(path)
    }

    fn truncate(&self, name: &str, size: u64) -> Result<(), Stopped> {
        let file = std::fs::OpenOptions::new().write(true).open(self.folder.join(name));
        done(file.and_then(|file| file.set_len(size)))
    }

    /// A line as Logstash writes it, for a file that is there.
    fn write_sincedb(&self, step: &Map) -> Result<(), Stopped> {
        use std::os::unix::fs::MetadataExt;
        let text = |key: &str| step.get(key).and_then(Value::as_str);
        let (Some(sincedb), Some(name), Some(position)) =
            (text("path"), text("file"), step.get("position").and_then(Value::as_integer))
        else {
            return Err(Stopped::Unknown("`write_sincedb` has other words than this runner knows".into()));
        };
        let file = self.folder.join(name);
        let metadata = std::fs::metadata(&file).map_err(|error| Stopped::Failed(error.to_string()))?;
        let (major, minor) = ((metadata.dev() >> 24) & 0xff, metadata.dev() & 0xff_ffff);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let line = format!("{} {major} {minor} {position} {now}.5 {}\n", metadata.ino(), file.display());
        done(std::fs::write(self.folder.join(sincedb), line))
    }

    fn wait_for(&self, count: i64) -> Result<(), Stopped> {
        let count = usize::try_from(count).unwrap_or(0);
        let lines = || std::fs::read(&self.delivered).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
        until(|| (lines() >= count).then_some(()))
            .ok_or_else(|| Stopped::Failed(format!("{} of {count} events came", lines())))
    }

    fn start(&mut self) -> Result<(), Stopped> {
        let started = Background::start(program::command(self.words, self.folder)?)?;
        let running = until(|| started.err.text().contains("Pipelines running").then_some(()));
        self.running = Some(started);
        running.ok_or_else(|| Stopped::Failed(format!("it did not start\n{}", self.shown())))
    }

    fn stop(&mut self) -> Result<(), Stopped> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        let status = running.terminate();
        self.said.push_str(&running.err.text());
        if status == Some(0) { Ok(()) } else { Err(Stopped::Failed(format!("it ended with {status:?}"))) }
    }

    fn shown(&self) -> String {
        let now = self.running.as_ref().map(|running| running.err.text()).unwrap_or_default();
        format!("{}{now}", self.said)
    }
}

fn text(step: &Map) -> &str {
    step.get("text").and_then(Value::as_str).unwrap_or_default()
}

fn done<T>(outcome: std::io::Result<T>) -> Result<(), Stopped> {
    outcome.map(drop).map_err(|error| Stopped::Failed(error.to_string()))
}
