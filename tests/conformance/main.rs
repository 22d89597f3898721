//! Runs the case files: each case says what is given and what must come out.
//!
//! `cargo test --test conformance` runs the files of this repository, `SPILLWAY_CASES=DIR_OR_FILE` others instead, and
//! `-- WORD` only the cases with that word in their name. The last line is `N passed, N failed[, N skipped]`; it
//! fails when a case does.

mod codecs;
mod dead_letters;
mod pipeline;
mod prose;
#[path = "../support/scenario/mod.rs"]
mod scenario;
mod startup;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use spillway::event::Value;
use spillway::testing::{Defaults, Entry, Failure, Finding, Route, Runner, Tally, Verdict, file, report};

/// Areas that are built: every case of theirs must pass.
const AREAS: &[&str] = &["config-language.yml", "dead-letter-queue.yml"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if std::env::args().any(|arg| arg == "--list") {
        return ExitCode::SUCCESS;
    }
    let files = match std::env::var_os("SPILLWAY_CASES") {
        Some(path) => given_files(Path::new(&path)),
        None => {
            if let Err(message) = failures_are_seen() {
                eprintln!("{message}");
                return ExitCode::FAILURE;
            }
            Ok(AREAS.iter().map(|area| folder("cases").join(area)).collect())
        }
    };
    let outcome = files.and_then(|files| run(&files, &words));
    match outcome {
        Ok(tally) if tally.failed == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn given_files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.exists() {
        return Err(format!("SPILLWAY_CASES: {} does not exist", path.display()));
    }
    file::find(path).map_err(|e| e.to_string())
}

fn run(files: &[PathBuf], words: &[String]) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let mut skipped: Vec<String> = Vec::new();
    let mut elsewhere: Vec<String> = Vec::new();
    let tests = prose::NamedTests::read();
    let mut failed: Vec<String> = Vec::new();
    for file in files {
        let mut runner = Runner::new(Defaults::default(), None).map_err(|e| e.to_string())?;
        for entry in file::read(file).map_err(|e| e.to_string())? {
            if !words.is_empty() && !words.iter().any(|word| entry.name.contains(word)) {
                continue;
            }
            if is_prose(&entry)
                && let Some(path) = tests.find(&entry.name)
            {
                elsewhere.push(format!("{} in {}", entry.name, path.display()));
                continue;
            }
            let verdict = judge(&entry, &mut runner);
            tally.add(&verdict);
            match verdict {
                Verdict::Passed => {}
                Verdict::Failed(failure) => {
                    print!("{}", report::failure(&entry, &failure, &[]));
                    failed.push(entry.name);
                }
                Verdict::Skipped(reason) => skipped.push(format!("{} ({reason})", entry.name)),
            }
        }
    }
    if !elsewhere.is_empty() {
        println!("{} cases are told in prose and are tests of their own: {}", elsewhere.len(), elsewhere.join(", "));
    }
    if !skipped.is_empty() {
        println!("skipped: {}", skipped.join(", "));
    }
    if !failed.is_empty() {
        println!("failed: {}", failed.join(" "));
    }
    let Tally { passed, failed, skipped } = tally;
    let skips = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    println!("{passed} passed, {failed} failed{skips}");
    Ok(tally)
}

/// Who judges a case hangs on its keys.
fn judge(entry: &Entry, runner: &mut Runner) -> Verdict {
    let kind = entry.keys.get("kind").and_then(Value::as_str);
    match kind {
        Some("encode-segment") => verdict(dead_letters::encode_segment(entry)),
        Some("read-positions") => verdict(dead_letters::read_positions(entry)),
        Some("read-segment") => verdict(dead_letters::read_segment(entry)),
        Some("decode-event") => verdict(dead_letters::decode_event(entry)),
        Some("decode-entry") => verdict(dead_letters::decode_entry(entry)),
        Some("compute") => dead_letters::compute(entry).map_or_else(Verdict::Skipped, verdict),
        Some("settings") => verdict(startup::settings(entry)),
        Some("config") => verdict(startup::config(entry)),
        Some("pipeline") => pipeline::judge(entry, runner),
        _ if is_prose(entry) => Verdict::Skipped("told in prose, and no test has its name".into()),
        Some(kind) => Verdict::Skipped(format!("unknown kind {kind}")),
        None if entry.keys.contains_key("codec") => verdict(codecs::judge(entry)),
        None if is_scenario(entry) => scenario::run(entry),
        None => pipeline::judge(entry, runner),
    }
}

/// Whether a case needs a person, or a test of its own, to be understood.
fn is_prose(entry: &Entry) -> bool {
    let kind = entry.keys.get("kind").and_then(Value::as_str);
    kind == Some("scenario") || (entry.keys.contains_key("must") && !is_scenario(entry))
}

/// Whether all steps are such as a user takes at the command line.
fn is_scenario(entry: &Entry) -> bool {
    let steps = entry.keys.get("steps").and_then(Value::as_array).unwrap_or_default();
    let words = ["run", "start", "stop", "wait", "get", "post", "page"];
    let known = |step: &Value| step.as_map().is_some_and(|step| words.iter().any(|word| step.contains_key(word)));
    let several = entry.keys.contains_key("pipelines") || entry.keys.contains_key("config");
    !steps.is_empty() && !several && steps.iter().all(known)
}

fn verdict(findings: Vec<Finding>) -> Verdict {
    if findings.is_empty() {
        return Verdict::Passed;
    }
    Verdict::Failed(Failure { findings, route: Route::default() })
}

/// A runner that cannot fail proves nothing: cases that are wrong on purpose must all be reported.
fn failures_are_seen() -> Result<(), String> {
    let path = folder("samples").join("deliberate_failures.yml");
    let names: Vec<String> = file::read(&path).map_err(|e| e.to_string())?.into_iter().map(|e| e.name).collect();
    let itself = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new(itself).env("SPILLWAY_CASES", &path).output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = format!("0 passed, {} failed", names.len());
    let all_named = names.iter().all(|name| text.contains(&format!("FAIL {name}  ")));
    if output.status.success() || text.lines().last() != Some(&line) || !all_named {
        return Err(format!("cases that are wrong on purpose were not all reported as failed:\n{text}"));
    }
    Ok(())
}
