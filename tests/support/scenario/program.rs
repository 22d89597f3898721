//! Starts programs: `spillway` is the one under test, others are looked up as a shell would.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use spillway::event::{Map, Value};

use super::{Outcome, Stopped};

/// A program that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(10);

/// What a program said.
pub struct Said {
    /// Exit status; `None` when a signal ended it.
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
    pub took: Duration,
}

impl Said {
    /// For the report of a failed step.
    pub fn shown(&self) -> String {
        let part = |name: &str, text: &str| {
            let lines: Vec<_> = text.lines().take(60).map(|line| format!("  {name}| {line}")).collect();
            lines.join("\n")
        };
        format!("  exit {:?}\n{}\n{}", self.status, part("out", &self.out), part("err", &self.err))
    }
}

/// Runs a command line to its end, or ends it after the limit.
pub fn run(line: &str, stdin: &str, env: Option<&Map>, directory: &Path) -> Outcome<Said> {
    let mut command = command(&words(line)?, directory)?;
    for (name, value) in env.into_iter().flat_map(Map::iter) {
        command.env(name.as_str(), value.as_str().unwrap_or_default());
    }
    run_command(command, stdin)
}

/// Runs a command to its end, or ends it after the limit.
pub fn run_command(mut command: Command, stdin: &str) -> Outcome<Said> {
    let begun = Instant::now();
    let mut child = command.spawn().map_err(|e| Stopped::Failed(e.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        // It may end without reading.
        let _ = input.write_all(stdin.as_bytes());
    }
    let (out, err) = (Gathered::from(child.stdout.take()), Gathered::from(child.stderr.take()));
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() < LIMIT => std::thread::sleep(Duration::from_millis(2)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                let message = format!("did not end within {} s\n{}", LIMIT.as_secs(), err.text());
                return Err(Stopped::Failed(message));
            }
            Err(error) => return Err(Stopped::Failed(error.to_string())),
        }
    };
    let took = begun.elapsed();
    Ok(Said { status: status.code(), out: out.finished(), err: err.finished(), took })
}

/// A command in that directory, with nothing of the machine's own settings.
pub fn command(words: &[String], directory: &Path) -> Outcome<Command> {
    let (program, arguments) = words.split_first().ok_or_else(|| Stopped::Failed("an empty command".into()))?;
    let program = if program == "spillway" { env!("CARGO_BIN_EXE_spillway") } else { program };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    for name in ["SPILLWAY_SETTINGS_DIR", "LS_SETTINGS_DIR", "RUST_BACKTRACE", "CI", "NO_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

/// Splits a line into words as a shell does; nothing is expanded.
pub fn words(line: &str) -> Outcome<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(characters.next()),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if quote.is_some() { Err(Stopped::Failed(format!("a quote is not closed: {line}"))) } else { Ok(words) }
}

/// Everything that comes out of a pipe, read by a thread of its own.
pub struct Gathered {
    text: Arc<Mutex<Vec<u8>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Gathered {
    pub fn from(pipe: Option<impl Read + Send + 'static>) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let into = text.clone();
        let thread = pipe.map(|mut pipe| {
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                    into.lock().unwrap().extend_from_slice(&buffer[..count]);
                }
            })
        });
        Self { text, thread }
    }

    /// What came so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }

    /// Everything, once the pipe is closed.
    pub fn finished(mut self) -> String {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.text()
    }
}

/// A process in the background; it does not outlive its scenario.
pub struct Background {
    child: Child,
    pub out: Gathered,
    pub err: Gathered,
}

impl Background {
    pub fn start(mut command: Command) -> Outcome<Self> {
        command.stdin(Stdio::null());
        let mut child = command.spawn().map_err(|e| Stopped::Failed(e.to_string()))?;
        let (out, err) = (Gathered::from(child.stdout.take()), Gathered::from(child.stderr.take()));
        Ok(Self { child, out, err })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, and waits until it did. `None` when it had to be killed.
    pub fn terminate(&mut self) -> Option<i32> {
        let begun = Instant::now();
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        while begun.elapsed() < LIMIT {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Err(_) => break,
            }
        }
        None
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until something holds, up to the limit.
pub fn until<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        match look() {
            Some(found) => return Some(found),
            None if begun.elapsed() < LIMIT => std::thread::sleep(Duration::from_millis(20)),
            None => return None,
        }
    }
}

/// A text that a case writes as a text or a number.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Integer(n) => n.to_string(),
        other => format!("{other:?}"),
    }
}
