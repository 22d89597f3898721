//! Runs the case files: each case says what is given and what must come out.
//!
//! `cargo test --test conformance` runs the files of this repository, `SPILLWAY_CASES=DIR_OR_FILE` others instead, and
//! `-- WORD` only the cases with that word in their name. The last line is `N passed, N failed[, N skipped]`; it
//! fails when a case does.

mod codecs;
mod dead_letters;
#[path = "../elasticsearch_support/mod.rs"]
mod elasticsearch_support;
mod kinds;
mod missing;
mod network;
mod pipeline;
#[path = "../support/ports.rs"]
mod ports;
mod program;
mod prose;
#[path = "../support/scenario/mod.rs"]
mod scenario;
mod startup;
mod steps;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use kinds::Kind;
use spillway::testing::{Defaults, Entry, Runner, Tally, Verdict, file, report};

/// Areas that are built: every case of theirs must pass.
const AREAS: &[&str] = &[
    "bug-reports.yml",
    "codecs.yml",
    "config-language.yml",
    "csv.yml",
    "data-quality.yml",
    "date.yml",
    "dead-letter-queue.yml",
    "dissect.yml",
    "filters-more.yml",
    "grok.yml",
    "inputs.yml",
    "json.yml",
    "kv.yml",
    "mutate.yml",
    "outputs-more.yml",
    "ruby.yml",
];
/// Programs at a time; they wait most of their time.
const AT_A_TIME: usize = 12;

fn main() -> ExitCode {
    if std::env::args().any(|arg| arg == "--list") {
        return ExitCode::SUCCESS;
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let files = match std::env::var_os("SPILLWAY_CASES") {
        Some(path) => given_files(Path::new(&path)),
        None => failures_are_seen().map(|()| AREAS.iter().map(|area| folder("cases").join(area)).collect()),
    };
    match files.and_then(|files| run(&files, &words)) {
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
    let is_wanted = |entry: &Entry| words.is_empty() || words.iter().any(|word| entry.name.contains(word));
    let mut results = Results::default();
    let tests = prose::NamedTests::read();
    for path in files {
        let mut entries = file::read(path).map_err(|e| e.to_string())?;
        entries.retain(is_wanted);
        let (named, entries): (Vec<Entry>, Vec<Entry>) = entries
            .into_iter()
            .partition(|entry| matches!(Kind::of(entry), Kind::Prose) && tests.find(&entry.name).is_some());
        results.elsewhere.extend(named.into_iter().map(|entry| entry.name));
        for (entry, verdict) in entries.iter().zip(judge_all(&entries)?) {
            results.add(entry, verdict);
        }
    }
    results.print();
    Ok(results.tally)
}

/// Cases that start a program run beside each other, the others one after the other.
fn judge_all(entries: &[Entry]) -> Result<Vec<Verdict>, String> {
    let slow: Vec<usize> = (0..entries.len()).filter(|at| Kind::of(&entries[*at]).starts_a_program()).collect();
    let mut verdicts: Vec<Option<Verdict>> = vec![None; entries.len()];
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(slow.len()) {
            scope.spawn(|| {
                while let Some(at) = slow.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = kinds::judge_program(&entries[*at]);
                    done.lock().unwrap().push((*at, verdict));
                }
            });
        }
    });
    for (at, verdict) in done.into_inner().unwrap() {
        verdicts[at] = Some(verdict);
    }
    let mut runner =
        Runner::new(Defaults { may_reach_out: true, ..Defaults::default() }, None).map_err(|e| e.to_string())?;
    let judged = entries.iter().zip(verdicts);
    Ok(judged.map(|(entry, verdict)| verdict.unwrap_or_else(|| kinds::judge(entry, &mut runner))).collect())
}

/// What became of all cases.
#[derive(Default)]
struct Results {
    tally: Tally,
    failed: Vec<String>,
    skipped: Vec<String>,
    /// Shown by a test of their own.
    elsewhere: Vec<String>,
}

impl Results {
    fn add(&mut self, entry: &Entry, verdict: Verdict) {
        self.tally.add(&verdict);
        match verdict {
            Verdict::Passed => {}
            Verdict::Skipped(reason) => self.skipped.push(format!("{} ({reason})", entry.name)),
            Verdict::Failed(failure) => {
                let file = entry.file.display();
                let rerun = format!("SPILLWAY_CASES={file} cargo test --test conformance -- {}", entry.name);
                print!("{}", report::failure(entry, &failure, &rerun));
                self.failed.push(entry.name.clone());
            }
        }
    }

    fn print(&self) {
        for (title, names) in [
            ("told in prose, each a test of its own", &self.elsewhere),
            ("skipped", &self.skipped),
            ("failed", &self.failed),
        ] {
            if !names.is_empty() {
                println!("{title}: {}", names.join(", "));
            }
        }
        let Tally { passed, failed, skipped } = self.tally;
        let skips = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
        println!("{passed} passed, {failed} failed{skips}");
    }
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
