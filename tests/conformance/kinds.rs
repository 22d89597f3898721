//! Which runner judges a case hangs on its keys.

use spillway::event::Value;
use spillway::testing::{Entry, Failure, Finding, Runner, Verdict};

use crate::{codecs, dead_letters, elasticsearch_support, missing, pipeline, program, scenario, startup};

/// What a case is about.
pub enum Kind<'a> {
    /// Given events, a configuration, expected events.
    Pipeline,
    /// One of the kinds of the dead letter queue, by its name.
    DeadLetters(&'a str),
    /// A codec alone.
    Codec,
    /// What a user does at the command line.
    CommandLine,
    /// What a scripted Elasticsearch gets to see.
    Elasticsearch,
    /// What inputs bring and outputs write.
    Program,
    /// Only a person understands it.
    Prose,
}

impl<'a> Kind<'a> {
    /// The kind of a case.
    pub fn of(entry: &'a Entry) -> Self {
        let has = |key: &str| entry.keys.contains_key(key);
        match entry.keys.get("kind").and_then(Value::as_str) {
            Some("scenario") => Self::Prose,
            Some("pipeline") => Self::Pipeline,
            Some(kind) => Self::DeadLetters(kind),
            None if has("codec") => Self::Codec,
            None if is_command_line(entry) => Self::CommandLine,
            None if has("must") => Self::Prose,
            None if matches!(entry.keys.get("expect"), Some(Value::Map(_))) => Self::Elasticsearch,
            None if program::is_for(entry) => Self::Program,
            None => Self::Pipeline,
        }
    }

    /// Whether it takes the program itself, and so its time.
    pub fn starts_a_program(&self) -> bool {
        matches!(self, Self::CommandLine | Self::Elasticsearch | Self::Program)
    }
}

/// Whether all steps are such as a user takes at the command line.
fn is_command_line(entry: &Entry) -> bool {
    let steps = entry.keys.get("steps").and_then(Value::as_array).unwrap_or_default();
    let words = ["run", "start", "stop", "wait", "get", "post", "page"];
    let known = |step: &Value| step.as_map().is_some_and(|step| words.iter().any(|word| step.contains_key(word)));
    let configured = entry.keys.contains_key("pipelines") || entry.keys.contains_key("config");
    !steps.is_empty() && !configured && steps.iter().all(known)
}

/// Judges a case that starts a program.
pub fn judge_program(entry: &Entry) -> Verdict {
    if let Some(reason) = missing::of(entry).filter(|_| matches!(Kind::of(entry), Kind::Program)) {
        return Verdict::Skipped(reason);
    }
    match Kind::of(entry) {
        Kind::CommandLine => scenario::run(entry),
        Kind::Elasticsearch => elasticsearch(entry),
        _ => program::judge(entry),
    }
}

/// Judges a case that needs no program.
pub fn judge(entry: &Entry, runner: &mut Runner) -> Verdict {
    let findings = match Kind::of(entry) {
        // Cases about plugins that nobody has are in other files.
        Kind::Pipeline => match missing::of(entry).filter(|_| waits_for_plugins(entry)) {
            Some(reason) => return Verdict::Skipped(reason),
            None => return pipeline::judge(entry, runner),
        },
        Kind::Codec => match missing::of(entry) {
            Some(reason) => return Verdict::Skipped(reason),
            None => codecs::judge(entry),
        },
        Kind::DeadLetters("encode-segment") => dead_letters::encode_segment(entry),
        Kind::DeadLetters("read-positions") => dead_letters::read_positions(entry),
        Kind::DeadLetters("read-segment") => dead_letters::read_segment(entry),
        Kind::DeadLetters("decode-event") => dead_letters::decode_event(entry),
        Kind::DeadLetters("decode-entry") => dead_letters::decode_entry(entry),
        Kind::DeadLetters("compute") => match dead_letters::compute(entry) {
            Ok(findings) => findings,
            Err(reason) => return Verdict::Skipped(reason),
        },
        Kind::DeadLetters("settings") => startup::settings(entry),
        Kind::DeadLetters("config") => startup::config(entry),
        Kind::DeadLetters(kind) => return Verdict::Skipped(format!("unknown kind {kind}")),
        Kind::Prose => return Verdict::Skipped("told in prose, and no test has its name".into()),
        Kind::CommandLine | Kind::Elasticsearch | Kind::Program => return judge_program(entry),
    };
    if findings.is_empty() { Verdict::Passed } else { failed(findings) }
}

/// Whether the plugins of a case are what it is about, and those of outputs may come later.
fn waits_for_plugins(entry: &Entry) -> bool {
    ["outputs.", "replay."].iter().any(|area| entry.name.starts_with(area))
}

fn failed(findings: Vec<Finding>) -> Verdict {
    Verdict::Failed(Failure { findings, ..Failure::default() })
}

fn elasticsearch(entry: &Entry) -> Verdict {
    let mut json = Vec::new();
    spillway::event::json::write_map(&entry.keys, &mut json);
    let outcome = serde_json::from_slice(&json).map_err(|e| e.to_string()).and_then(|case| {
        // A scenario that is written wrongly panics; that is this case's failure and no other's.
        std::panic::catch_unwind(|| elasticsearch_support::scenario::run(&case))
            .unwrap_or_else(|panic| Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "panicked".into())))
    });
    outcome.map_or_else(|message| failed(vec![Finding::Message(message)]), |()| Verdict::Passed)
}
