//! One Ruby process and the line to it: requests and answers as frames over its standard input and output, each waited for
//! with a deadline. Whatever goes wrong with it ends it: a process that was once out of step is never asked again.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::answer::{event_of, items};
use super::marshal::{Encoder, decode};
use crate::event::{EscapeStyle, Template, Value};
use crate::plugins::Context;

/// The program that Ruby runs, in the order in which its parts need each other.
const RUNTIME: [(&str, &str); 9] = [
    ("spillway/wire.rb", include_str!("runtime/wire.rb")),
    ("spillway/values.rb", include_str!("runtime/values.rb")),
    ("spillway/timestamp.rb", include_str!("runtime/timestamp.rb")),
    ("spillway/event.rb", include_str!("runtime/event.rb")),
    ("spillway/logstash.rb", include_str!("runtime/logstash.rb")),
    ("spillway/scripts.rb", include_str!("runtime/scripts.rb")),
    ("spillway/aggregate.rb", include_str!("runtime/aggregate.rb")),
    ("spillway/analysis.rb", include_str!("runtime/analysis.rb")),
    ("spillway/main.rb", include_str!("runtime/main.rb")),
];
/// Reads the parts from its input, so that no file and no long command line is needed.
const BOOT: &str = "STDIN.binmode; parts = Marshal.load(STDIN.read(STDIN.read(4).unpack1('N'))); \
                    parts.each { |name, text| eval(text, TOPLEVEL_BINDING, name) }";
/// Longest message; a script that makes a larger one is ended.
const LONGEST: usize = 1 << 30;
/// How long an interpreter may take to end when it is no longer needed.
const FAREWELL: Duration = Duration::from_secs(2);
/// How many bytes are read at once.
const CHUNK: usize = 64 << 10;

/// Why an interpreter is gone.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It could not be started.
    #[error("`{command}` could not be started: {error}")]
    Missing {
        /// `spillway.ruby.command`.
        command: String,
        /// What the system says.
        error: io::Error,
    },
    /// It ended.
    #[error("the Ruby interpreter ended ({0})")]
    Died(String),
    /// It gave no sign of life for so long, and was ended.
    #[error("the script did not end within {} seconds", .0.as_secs_f64())]
    Silent(Duration),
    /// What it sent was no answer; it was ended.
    #[error("the Ruby interpreter sent an {0}")]
    Garbled(String),
}

/// A Ruby process. It is ended when this is dropped.
pub struct Interpreter {
    child: Child,
    /// None once it was told to end.
    requests: Option<ChildStdin>,
    answers: ChildStdout,
    timeout: Duration,
    style: EscapeStyle,
    /// Something went wrong with it: nothing is to be expected of it any more.
    broken: bool,
}

/// What an interpreter says on the way to an answer.
enum Said {
    Answer(Value),
    /// The first of the answers to a batch.
    Progress(Value),
}

impl Interpreter {
    /// Starts Ruby and tells it what is to be known of the pipeline.
    pub fn start(context: &Context) -> Result<Self, Failure> {
        let settings = &context.ruby;
        let missing = |error| Failure::Missing { command: settings.command.clone(), error };
        let mut command = Command::new(&settings.command);
        command.args(["-W1", "-EUTF-8:UTF-8", "-e", BOOT]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(missing)?;
        let (Some(requests), Some(answers), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(missing(io::Error::other("it has no standard input and output")));
        };
        log_lines(errors, context).map_err(missing)?;
        let style = context.escape_style;
        let mut interpreter =
            Self { child, requests: Some(requests), answers, timeout: settings.timeout, style, broken: false };
        let nonblocking = interpreter.without_blocking();
        nonblocking.map_err(|error| missing(error.into()))?;
        let mut parts = Encoder::default();
        parts.list(RUNTIME.len());
        for (name, text) in RUNTIME {
            parts.list(2);
            parts.text(name);
            parts.text(text);
        }
        interpreter.send(&parts.finish())?;
        let version = interpreter.ask(&hello(context))?;
        let version = version.as_str().unwrap_or_default();
        if !is_recent(version) {
            return Err(missing(io::Error::other(format!("it is Ruby {version}, and 2.7 is the oldest that will do"))));
        }
        Ok(interpreter)
    }

    fn without_blocking(&self) -> Result<(), Errno> {
        for fd in self.requests.iter().map(AsFd::as_fd).chain([self.answers.as_fd()]) {
            let flags = rustix::fs::fcntl_getfl(fd)?;
            rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)?;
        }
        Ok(())
    }

    /// Sends a request and waits for the answer.
    pub fn ask(&mut self, request: &[u8]) -> Result<Value, Failure> {
        self.ask_for_parts(request, |_| ())
    }

    /// As [`Interpreter::ask`], for an answer of several parts: `take` gets those that come early.
    pub fn ask_for_parts(&mut self, request: &[u8], mut take: impl FnMut(Value)) -> Result<Value, Failure> {
        let mut answer = self.send(request).and_then(|()| self.hear());
        while let Ok(Said::Progress(value)) = answer {
            take(value);
            answer = self.hear();
        }
        self.broken |= answer.is_err();
        answer.map(|(Said::Answer(value) | Said::Progress(value))| value)
    }

    /// Waits for what the interpreter says, and deals with what is no answer.
    fn hear(&mut self) -> Result<Said, Failure> {
        loop {
            let frame = self.receive()?;
            let garbled = |what: &dyn std::fmt::Display| Failure::Garbled(what.to_string());
            let Value::Array(message) = decode(&frame).map_err(|e| garbled(&e))? else {
                return Err(garbled(&"unreadable answer"));
            };
            let mut message = message.into_iter();
            // The kinds are those of runtime/wire.rb.
            match message.next().as_ref().and_then(Value::as_integer) {
                Some(0) => return Ok(Said::Answer(message.next().unwrap_or_default())),
                Some(1) => {
                    let text = self.render(message.collect()).ok_or_else(|| garbled(&"unreadable question"))?;
                    let mut answer = Encoder::default();
                    answer.text(&text);
                    self.send(&answer.finish())?;
                }
                Some(2) => log(&message.collect::<Vec<_>>()),
                Some(3) => return Ok(Said::Progress(message.next().unwrap_or_default())),
                _ => return Err(garbled(&"unknown message")),
            }
        }
    }

    /// A template, rendered for an event as a script sees it.
    fn render(&self, message: Vec<Value>) -> Option<String> {
        let [template, Value::Map(fields), Value::Map(metadata)] = items(Value::Array(message))? else { return None };
        let source = template.as_str()?;
        let Ok(template) = Template::compile(source, self.style) else { return Some(source.to_owned()) };
        Some(template.render(&event_of(fields, metadata)).to_string())
    }

    fn send(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        let deadline = Instant::now() + self.timeout;
        while !bytes.is_empty() {
            let Some(requests) = &mut self.requests else { return Err(self.died("it was told to end")) };
            match requests.write(bytes) {
                Ok(0) => return Err(self.died("it takes no more requests")),
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait(requests, PollFlags::OUT, deadline, self.timeout)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.died(&error.to_string())),
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<u8>, Failure> {
        let deadline = Instant::now() + self.timeout;
        let mut head = [0; 4];
        let mut at = 0;
        while let Some(rest) = head.get_mut(at..).filter(|rest| !rest.is_empty()) {
            at += read_some(&mut self.answers, rest, deadline, self.timeout)?.ok_or_else(|| self.died(""))?;
        }
        let length = u32::from_be_bytes(head) as usize;
        if length > LONGEST {
            return Err(Failure::Garbled(format!("answer of {length} bytes, which is too long")));
        }
        let mut frame = Vec::new();
        while frame.len() < length {
            let at = frame.len();
            frame.resize((at + CHUNK).min(length), 0);
            let room = frame.get_mut(at..).unwrap_or_default();
            let read = read_some(&mut self.answers, room, deadline, self.timeout)?;
            frame.truncate(at + read.ok_or_else(|| self.died(""))?);
        }
        Ok(frame)
    }

    /// How the process ended. One that closed its line and lives on is ended.
    fn died(&mut self, otherwise: &str) -> Failure {
        // A process that was killed closes its line a moment before it can be waited for.
        for _ in 0..50 {
            match self.child.try_wait() {
                Ok(Some(status)) => return Failure::Died(status.to_string()),
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Err(_) => break,
            }
        }
        Failure::Died(if otherwise.is_empty() { "it closed its output".to_owned() } else { otherwise.to_owned() })
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        // Without requests it ends by itself, and what scripts have open is written.
        drop(self.requests.take());
        let deadline = Instant::now() + if self.broken { Duration::ZERO } else { FAREWELL };
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        // An error means that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a version such as `3.1.2` is at least 2.7.
fn is_recent(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    (parts.next(), parts.next()) >= (Some(2), Some(7))
}

/// Reads what there is; `None` at the end.
fn read_some(
    from: &mut ChildStdout,
    into: &mut [u8],
    deadline: Instant,
    timeout: Duration,
) -> Result<Option<usize>, Failure> {
    loop {
        match from.read(into) {
            Ok(0) => return Ok(None),
            Ok(read) => return Ok(Some(read)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(from, PollFlags::IN, deadline, timeout)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::Died(error.to_string())),
        }
    }
}

/// Waits until a line is ready or the deadline is over, which was `timeout` away.
fn wait(line: &impl AsFd, flags: PollFlags, deadline: Instant, timeout: Duration) -> Result<(), Failure> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Failure::Silent(timeout));
    }
    let left = Timespec::try_from(left).ok();
    match poll(&mut [PollFd::new(line, flags)], left.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(Failure::Died(error.to_string())),
    }
}

/// What is to be known before the first script.
fn hello(context: &Context) -> Vec<u8> {
    let mut message = Encoder::default();
    message.list(2);
    message.text("hello");
    message.map(5);
    message.text("escape_style");
    message.text(match context.escape_style {
        EscapeStyle::None => "none",
        EscapeStyle::Percent => "percent",
        EscapeStyle::Ampersand => "ampersand",
    });
    message.text("memory");
    message.value(&Value::Integer(i64::try_from(context.ruby.memory).unwrap_or(i64::MAX)));
    message.text("timeout");
    message.value(&Value::Float(context.ruby.timeout.as_secs_f64()));
    message.text("version");
    message.text(crate::version::LOGSTASH);
    message.text("logstash");
    message.map(3);
    message.text("path.data");
    message.text(&context.path_data.to_string_lossy());
    message.text("pipeline.id");
    message.text(&context.pipeline_id);
    message.text("node.name");
    message.text(&context.host);
    message.finish()
}

/// A line that a script gave to its logger: level and text.
fn log(message: &[Value]) {
    let [level, text] = message else { return };
    let text = text.as_str().unwrap_or_default();
    match level.as_str() {
        Some("trace") => tracing::trace!(target: "logstash.filters.ruby", "{text}"),
        Some("debug") => tracing::debug!(target: "logstash.filters.ruby", "{text}"),
        Some("info") => tracing::info!(target: "logstash.filters.ruby", "{text}"),
        Some("warn") => tracing::warn!(target: "logstash.filters.ruby", "{text}"),
        _ => tracing::error!(target: "logstash.filters.ruby", "{text}"),
    }
}

/// Longest line of a script's output that is logged in one piece, in bytes.
const LONGEST_LINE: u64 = 16 << 10;

/// Logs what scripts and Ruby itself print, until the process ends.
fn log_lines(output: ChildStderr, context: &Context) -> io::Result<()> {
    let span = context.log_span();
    let lines = move || {
        let _entered = span.enter();
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while matches!(output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line), Ok(read) if read > 0) {
            let text = String::from_utf8_lossy(&line);
            tracing::info!(target: "logstash.filters.ruby", "output of a script: {}", text.trim_end());
            line.clear();
        }
    };
    std::thread::Builder::new().name("ruby-output".into()).spawn(lines).map(drop)
}
