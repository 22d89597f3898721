//! `spillway test --update`: cases that failed expect from now on what comes out.

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::super::{FAILED, OK, print, say};
use super::request::Request;
use super::{entries, jobs};
use crate::event::Value;
use crate::testing::update::{self, Update};
use crate::testing::{Entry, Observed, Runner, Verdict, report};

/// Shows what would change, asks, and rewrites the files.
pub(super) fn run(request: &Request) -> Result<u8, String> {
    let is_ci = std::env::var("CI").is_ok_and(|ci| !ci.is_empty() && ci != "false");
    if is_ci && !request.yes {
        return Err("--update rewrites case files; where CI is set it needs --yes".into());
    }
    let can_ask = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !request.yes && !can_ask {
        return Err("--update rewrites case files; without a terminal to ask on it needs --yes".into());
    }
    let entries = entries::read(request)?;
    let mut failed: Vec<&Entry> = Vec::new();
    jobs::run(request, &entries, |entry, verdict, _| {
        if matches!(verdict, Verdict::Failed(_)) {
            failed.push(entry);
        }
    })?;
    rewrite(request, &failed)
}

/// Rewrites what these cases expect, after a question.
pub(super) fn rewrite(request: &Request, failed: &[&Entry]) -> Result<u8, String> {
    let mut runner = Runner::new(request.defaults.clone(), request.clock).map_err(|e| e.to_string())?;
    let mut updates: BTreeMap<PathBuf, Vec<Update>> = BTreeMap::new();
    for entry in failed {
        match observed(&mut runner, entry) {
            Ok(Observed { events, leniency, unordered, .. }) => {
                let update = Update { case: entry.name.clone(), events, leniency, unordered };
                updates.entry(entry.file.to_path_buf()).or_default().push(update);
            }
            // It does not come as far as to have events.
            Err(report) => {
                print(&report);
            }
        }
    }
    let mut rewritten = 0;
    for (path, updates) in updates {
        rewritten += file(&path, &updates, request.yes)?;
    }
    let still = failing(request, failed)?;
    print(&format!("{rewritten} of {} failed cases rewritten, {still} still fail\n", failed.len()));
    Ok(if still > 0 { FAILED } else { OK })
}

/// What came out, where expecting that would let the case pass.
fn observed(runner: &mut Runner, entry: &Entry) -> Result<Observed, String> {
    let told = |verdict: Verdict| match verdict {
        Verdict::Failed(failure) => report::failure(entry, &failure, &report::rerun(entry, &[])),
        _ => String::new(),
    };
    if entry.keys.get("error").is_some_and(|error| *error != Value::Null) {
        return Err(told(runner.run_entry(entry)));
    }
    runner.observe(entry).map_err(told)
}

/// How many cases of a file were rewritten.
fn file(path: &Path, updates: &[Update], yes: bool) -> Result<usize, String> {
    let told = |message: String| format!("{}: {message}", path.display());
    let text = std::fs::read_to_string(path).map_err(|e| told(format!("cannot be read: {e}")))?;
    let new = update::updated(&text, updates).map_err(told)?;
    if new == text {
        return Ok(0);
    }
    print(&format!("{}\n{}", path.display(), update::changes(&text, &new)));
    if !yes && !agreed(path) {
        return Ok(0);
    }
    replace(path, &new).map_err(|e| told(format!("cannot be written: {e}")))?;
    Ok(updates.len())
}

/// Whole, or not at all.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(std::fs::metadata(path)?.permissions())?;
    file.persist(path)?;
    Ok(())
}

fn agreed(path: &Path) -> bool {
    say(&format!("rewrite {}? [y/N] ", path.display()));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// How many of these cases fail now.
fn failing(request: &Request, cases: &[&Entry]) -> Result<usize, String> {
    let is_one = |entry: &Entry| cases.iter().any(|case| case.file == entry.file && case.name == entry.name);
    let now: Vec<Entry> = entries::read(request)?.into_iter().filter(is_one).collect();
    let mut failed = 0;
    jobs::run(request, &now, |_, verdict, _| failed += usize::from(matches!(verdict, Verdict::Failed(_))))?;
    Ok(failed)
}
