//! `spillway queue`: looks into a persisted queue from outside, shows its events, and repairs it.
//!
//! `verify` and `repair` write the lines of Logstash's `pqcheck` and `pqrepair`, which scripts read.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{FAILED, OK, USAGE, print, say};
use crate::queue::persisted::{Inspection, PageReport, inspect, peek, repair};

const HELP: &str = "\
Looks into a persisted queue. Only `repair` changes anything, and only when no
pipeline has the queue open.

usage: spillway queue stats  [FOLDER]
       spillway queue verify [FOLDER]
       spillway queue cat    [-n COUNT] [FOLDER]
       spillway queue repair FOLDER

FOLDER is PATH.QUEUE/PIPELINE; without it, data/queue/main.

stats   pages, events and bytes
verify  each checkpoint as `pqcheck` shows it; every event is read
cat     the events that are not acknowledged, as JSON, one a line
repair  as `pqrepair`: removes what is over, makes checkpoints from their pages

Exit code: 0 all well, 1 something is damaged or could not be done, 2 called
wrongly.
";

const USUAL: &str = "data/queue/main";

/// Runs the subcommand with what follows its name.
pub(super) fn run(arguments: &[String]) -> u8 {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["-h" | "--help"] => return print(HELP),
        ["stats"] => stats(Path::new(USUAL)),
        ["stats", folder] => stats(Path::new(folder)),
        ["verify"] => verify(Path::new(USUAL)),
        ["verify", folder] => verify(Path::new(folder)),
        ["repair", folder] => repair_queue(Path::new(folder)),
        ["cat", rest @ ..] => match cat_arguments(rest) {
            Some((most, folder)) => cat(&folder, most),
            None => return called_wrongly(),
        },
        _ => return called_wrongly(),
    };
    match outcome {
        Ok(true) => OK,
        Ok(false) => FAILED,
        Err(message) => {
            say(&format!("ERROR: {message}\n"));
            FAILED
        }
    }
}

fn called_wrongly() -> u8 {
    say("ERROR: say what to do with which queue\nSee: spillway queue --help\n");
    USAGE
}

fn stats(folder: &Path) -> Result<bool, String> {
    let Inspection { pages, .. } = inspect(folder, false).map_err(|e| e.to_string())?;
    let sum = |of: &dyn Fn(&PageReport) -> u64| pages.iter().map(of).sum::<u64>();
    print(&format!(
        "pages {}\nevents {}\nnot acknowledged {}\nbytes of data {}\nbytes of pages {}\n",
        pages.iter().filter(|page| page.size.is_some()).count(),
        sum(&|page| page.events),
        sum(&|page| page.unacked),
        sum(&|page| page.bytes),
        sum(&|page| page.size.unwrap_or(0))
    ));
    Ok(pages.iter().all(PageReport::is_sound))
}

fn verify(folder: &Path) -> Result<bool, String> {
    print(&format!("Checking queue dir: {}\n", folder.display()));
    let Inspection { pages, has_head } = inspect(folder, true).map_err(|e| e.to_string())?;
    pages.iter().for_each(verify_page);
    if !has_head {
        print("checkpoint.head is missing\n");
    }
    Ok(has_head && pages.iter().all(PageReport::is_sound))
}

fn verify_page(report: &PageReport) {
    let PageReport { checkpoint_file, page, .. } = report;
    let size = report.size.map_or_else(|| "NOT FOUND".to_owned(), |bytes| bytes.to_string());
    match &report.checkpoint {
        Some(Ok(checkpoint)) => {
            let done = checkpoint.is_fully_acked();
            print(&format!(
                "{checkpoint_file}, fully-acked: {}, page.{page} size: {size}\n  pageNum={page}, firstUnackedPageNum={}, \
                 firstUnackedSeqNum={}, minSeqNum={}, elementCount={}, isFullyAcked={}\n",
                if done { "YES" } else { "NO" },
                checkpoint.first_unacked_page,
                checkpoint.first_unacked,
                checkpoint.first,
                checkpoint.count,
                if done { "yes" } else { "no" }
            ));
        }
        Some(Err(error)) => {
            print(&format!("{checkpoint_file}, {error}, page.{page} size: {size}\n"));
        }
        None => {
            print(&format!("page.{page} size: {size}\n"));
        }
    }
    if report.damaged > 0 {
        print(&format!("  {} of {} events are damaged\n", report.damaged, report.events));
    }
    if let Some(fault) = &report.fault {
        print(&format!("  {fault}\n"));
    }
}

fn repair_queue(folder: &Path) -> Result<bool, String> {
    let done = repair(folder).map_err(|e| e.to_string())?;
    for line in &done {
        print(&format!("{line}\n"));
    }
    print(&format!("Repair is done: {} changes\n", done.len()));
    Ok(true)
}

/// How many events of which folder; none when it was called wrongly.
fn cat_arguments(words: &[&str]) -> Option<(usize, PathBuf)> {
    let (most, folder) = match words {
        ["-n", count, rest @ ..] => (count.parse().ok()?, rest),
        rest => (usize::MAX, rest),
    };
    match folder {
        [] => Some((most, USUAL.into())),
        [folder] if !folder.starts_with('-') => Some((most, folder.into())),
        _ => None,
    }
}

fn cat(folder: &Path, most: usize) -> Result<bool, String> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut left = most;
    let mut is_sound = true;
    peek(folder, |event| {
        let Some(less) = left.checked_sub(1) else { return false };
        left = less;
        match event {
            Ok(event) => writeln!(out, "{}", event.to_json()).is_ok(),
            Err(problem) => {
                is_sound = false;
                say(&format!("{problem}\n"));
                true
            }
        }
    })
    .map_err(|e| e.to_string())?;
    // A reader that went away is no error.
    let _ = out.flush();
    Ok(is_sound)
}
