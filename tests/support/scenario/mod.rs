//! Runs scenarios: what a user does at the command line, and what must appear.
//!
//! A scenario has an empty directory, its own `path.data` and free ports, and a list of steps; the words are explained
//! at the head of `cases/user-experience.yml`. Steps on a terminal or in a browser, and sentences that nobody taught
//! this runner, make a scenario skipped, never passed.

mod http;
mod output;
pub mod program;
mod sentences;
mod world;

use spillway::event::{Map, Value};
use spillway::testing::{Entry, Failure, Finding, Verdict};

use output::Checks;
use world::World;

/// Why a scenario ended early.
pub enum Stopped {
    /// Something is not as it must be.
    Failed(String),
    /// This runner cannot tell.
    Unknown(String),
}

/// What a step gives, unless the scenario ends.
pub type Outcome<T = ()> = Result<T, Stopped>;

/// Runs a scenario.
pub fn run(entry: &Entry) -> Verdict {
    match play(entry) {
        Ok(()) => Verdict::Passed,
        Err(Stopped::Unknown(reason)) => Verdict::Skipped(reason),
        Err(Stopped::Failed(message)) => {
            Verdict::Failed(Failure { findings: vec![Finding::Message(message)], ..Failure::default() })
        }
    }
}

fn play(entry: &Entry) -> Outcome {
    let mut world = World::new(&entry.keys)?;
    let steps = entry.keys.get("steps").and_then(Value::as_array).unwrap_or_default();
    for (at, step) in steps.iter().enumerate() {
        let step = step.as_map().ok_or_else(|| Stopped::Failed(format!("step {}: must be a map", at + 1)))?;
        self::step(step, &mut world).map_err(|stopped| match stopped {
            Stopped::Failed(message) => Stopped::Failed(format!("step {}: {message}", at + 1)),
            Stopped::Unknown(reason) => Stopped::Unknown(format!("step {}: {reason}", at + 1)),
        })?;
    }
    let sentences = entry.keys.get("must").and_then(Value::as_array).unwrap_or_default();
    sentences.iter().try_for_each(|sentence| sentences::check(sentence.as_str().unwrap_or_default(), &world))
}

fn step(step: &Map, world: &mut World) -> Outcome {
    if step.contains_key("page") || step.contains_key("tty") {
        return Err(Stopped::Unknown("needs a terminal or a browser".into()));
    }
    let text = |key: &str| step.get(key).and_then(Value::as_str);
    if let Some(line) = text("run") {
        return run_program(line, step, world);
    }
    if let Some(arguments) = text("start") {
        return world.start(arguments);
    }
    if let Some(status) = step.get("stop") {
        return world.stop(status.as_integer());
    }
    if let Some(sentence) = text("wait") {
        return world.wait_until(sentence);
    }
    for method in ["get", "post"] {
        if let Some(path) = text(method) {
            let answer = http::request(&method.to_uppercase(), path, world.api_port)?;
            return http::check(&answer, step);
        }
    }
    Err(Stopped::Unknown("has no known word".into()))
}

fn run_program(line: &str, step: &Map, world: &mut World) -> Outcome {
    let said = program::run(
        &world.fill_in(line),
        step.get("stdin").and_then(Value::as_str).unwrap_or_default(),
        step.get("env").and_then(Value::as_map),
        world.directory(),
    )?;
    let checked = Checks::of(step, world).hold(&said);
    let shown = format!("{line}\n{}", said.shown());
    world.said.push(said);
    checked.map_err(|message| Stopped::Failed(format!("{message}\n{shown}")))
}
