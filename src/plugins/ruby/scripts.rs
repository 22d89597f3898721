//! The scripts of a pipeline and the interpreters that run them.
//!
//! Every interpreter holds all scripts of the pipeline, so that they see each other's methods. There is one for each
//! worker that runs a script at the same time; a pipeline with a script that remembers something between events has a
//! single one, which the workers use in turn.

use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::answer::{Answer, References};
use super::interpreter::{Failure, Interpreter};
use super::marshal::Encoder;
use super::projection::{Projection, write_whole};
use crate::event::{Event, Map, Text, Value};
use crate::plugins::Context;
use crate::settings::RubyIsolation;

/// All scripts of one pipeline.
#[derive(Default)]
pub struct Scripts {
    state: Mutex<State>,
    /// An interpreter was given back.
    free: Condvar,
}

#[derive(Default)]
struct State {
    /// What each script is loaded from.
    sources: Vec<Map>,
    idle: Vec<Interpreter>,
    /// How many are in use.
    taken: usize,
    /// Whether one interpreter is all there may be.
    shared: bool,
}

/// Why a script cannot be loaded.
#[derive(Debug)]
pub enum Fault {
    /// There is no interpreter.
    NoInterpreter(Failure),
    /// The script is wrong.
    Script {
        /// The option that holds it.
        option: String,
        /// What is wrong.
        message: String,
        /// In which of its lines, counted from 1.
        line: Option<usize>,
    },
}

/// An event for a script, with the task that an aggregate counts it to.
pub struct Given<'e> {
    /// Is not changed: the answer says what to change.
    pub event: &'e Event,
    /// The task's id.
    pub task: Option<Text>,
}

/// A script that was loaded.
pub struct Script {
    scripts: Arc<Scripts>,
    context: Context,
    number: usize,
    /// What it can read of an event; everything without one.
    projection: Option<Projection>,
    /// What it keeps from event to event, such as `@count`.
    pub state: Option<String>,
    references: Mutex<References>,
}

impl Scripts {
    /// Loads a script: one interpreter checks and starts it.
    pub fn load(self: &Arc<Self>, source: Map, context: &Context) -> Result<Script, Fault> {
        let mut state = self.state.lock();
        let mut interpreter = match state.idle.pop() {
            Some(interpreter) => interpreter,
            None => start(&state.sources, context).map_err(Fault::NoInterpreter)?,
        };
        let number = state.sources.len();
        let answer = match interpreter.ask(&load_request(number, &source, true)) {
            Ok(answer) => answer,
            Err(failure) => {
                let option = if source.contains_key("path") { "path" } else { "code" };
                return Err(Fault::Script { option: option.to_owned(), message: failure.to_string(), line: None });
            }
        };
        if let Some(fault) = fault_of(&answer) {
            // What the script did before it failed must not stay: its interpreter goes with it.
            return Err(fault);
        }
        state.idle.push(interpreter);
        state.sources.push(source);
        let report = answer.as_map();
        let list = report.and_then(|report| report.get("fields")).and_then(Value::as_array);
        let style = context.escape_style;
        let projection = list.map(|list| Projection::new(list.iter().filter_map(Value::as_str), style));
        let kept = report.and_then(|report| report.get("state")).and_then(Value::as_str).map(str::to_owned);
        let must_share = report.and_then(|report| report.get("shared")) == Some(&Value::Bool(true));
        state.shared |= must_share;
        state.shared |= match context.ruby.isolation {
            RubyIsolation::Pipeline => true,
            RubyIsolation::Auto => kept.is_some(),
            RubyIsolation::Worker => false,
        };
        Ok(Script {
            scripts: self.clone(),
            context: context.clone(),
            number,
            projection,
            state: kept,
            references: Mutex::new(References::new(style)),
        })
    }

    /// An interpreter for one batch. Waits for the only one of a pipeline.
    fn take(self: &Arc<Self>, context: &Context) -> Result<Taken, Failure> {
        let mut state = self.state.lock();
        while state.shared && state.taken > 0 {
            self.free.wait(&mut state);
        }
        state.taken += 1;
        let mut taken = Taken { scripts: self.clone(), interpreter: state.idle.pop() };
        if taken.interpreter.is_none() {
            let sources = state.sources.clone();
            drop(state);
            taken.interpreter = Some(start(&sources, context)?);
        }
        Ok(taken)
    }
}

/// An interpreter in use. It is given back when this is dropped, unless it was thrown away.
struct Taken {
    scripts: Arc<Scripts>,
    interpreter: Option<Interpreter>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut state = self.scripts.state.lock();
        state.taken = state.taken.saturating_sub(1);
        state.idle.extend(self.interpreter.take());
        self.scripts.free.notify_one();
    }
}

impl Script {
    /// Runs the script for events, in order; an answer for each. An interpreter that fails is replaced, and the events
    /// without an answer are run again, now so that the one is found that it fails of.
    pub fn run(&self, events: &[Given<'_>]) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(events.len());
        let mut careful = false;
        while let Some(rest) = events.get(answers.len()..).filter(|rest| !rest.is_empty()) {
            if self.attempt(rest, careful, &mut answers).is_break() {
                break;
            }
            careful = true;
        }
        answers
    }

    fn attempt(&self, events: &[Given<'_>], careful: bool, answers: &mut Vec<Answer>) -> ControlFlow<()> {
        let mut taken = match self.scripts.take(&self.context) {
            Ok(taken) => taken,
            Err(failure) => {
                let reason = failure.to_string();
                answers.extend(events.iter().map(|_| Answer::NotRun(reason.clone())));
                return ControlFlow::Break(());
            }
        };
        let Some(interpreter) = taken.interpreter.as_mut() else { return ControlFlow::Break(()) };
        let (request, before) = (self.request(events, careful), answers.len());
        let last = interpreter.ask_for_parts(&request, |part| read_answers(part, answers));
        let failure = match last {
            Ok(part) => {
                read_answers(part, answers);
                if answers.len() == before + events.len() {
                    return ControlFlow::Break(());
                }
                answers.truncate(before);
                Failure::Garbled("incomplete answer".to_owned())
            }
            Err(failure) => failure,
        };
        // Ended before the next one starts.
        drop(taken.interpreter.take());
        tracing::error!(
            target: "logstash.filters.ruby",
            "{failure}. A new one takes its place, and what scripts kept in variables is lost"
        );
        if careful {
            answers.push(Answer::Killed(failure.to_string()));
        }
        ControlFlow::Continue(())
    }

    /// Asks for something else than to run: `verb` is a method of the script's Ruby object.
    pub fn call(&self, verb: &str, argument: &Value) -> Result<Value, Failure> {
        let mut taken = self.scripts.take(&self.context)?;
        let mut request = Encoder::default();
        request.list(3);
        request.text(verb);
        request.value(&Value::Integer(self.number as i64));
        request.value(argument);
        let answer = match taken.interpreter.as_mut() {
            Some(interpreter) => interpreter.ask(&request.finish()),
            None => Ok(Value::Null),
        };
        if answer.is_err() {
            drop(taken.interpreter.take());
        }
        answer
    }

    fn request(&self, events: &[Given<'_>], careful: bool) -> Vec<u8> {
        let mut request = Encoder::default();
        request.list(4);
        request.text("run");
        request.value(&Value::Integer(self.number as i64));
        request.boolean(careful);
        request.list(events.len());
        for given in events {
            request.list(3);
            match &self.projection {
                Some(projection) => projection.write(given.event, &mut request),
                None => write_whole(given.event, &mut request),
            }
            match &given.task {
                Some(task) => request.text(task),
                None => request.value(&Value::Null),
            }
        }
        request.finish()
    }

    /// The references of the script, to do what it did.
    pub fn references(&self) -> MutexGuard<'_, References> {
        self.references.lock()
    }
}

fn read_answers(part: Value, answers: &mut Vec<Answer>) {
    if let Value::Array(list) = part {
        answers.extend(list.into_iter().map_while(Answer::read));
    }
}

/// A new interpreter with all scripts.
fn start(sources: &[Map], context: &Context) -> Result<Interpreter, Failure> {
    let mut interpreter = Interpreter::start(context)?;
    for (number, source) in sources.iter().enumerate() {
        let answer = interpreter.ask(&load_request(number, source, false))?;
        if let Some(Fault::Script { message, .. }) = fault_of(&answer) {
            return Err(Failure::Died(format!("a script that was loaded before cannot be loaded again: {message}")));
        }
    }
    Ok(interpreter)
}

/// With `check` the script's own tests run, and the answer says what it reads and keeps.
fn load_request(number: usize, source: &Map, check: bool) -> Vec<u8> {
    let mut request = Encoder::default();
    request.list(3);
    request.text("load");
    request.value(&Value::Integer(number as i64));
    request.map(source.len() + 1);
    request.text("check");
    request.boolean(check);
    for (name, value) in source.iter() {
        request.text(name);
        request.value(value);
    }
    request.finish()
}

fn fault_of(answer: &Value) -> Option<Fault> {
    let answer = answer.as_map()?;
    let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let line = answer.get("line").and_then(Value::as_integer).and_then(|line| usize::try_from(line).ok());
    answer.contains_key("message").then(|| Fault::Script { option: text("option"), message: text("message"), line })
}
