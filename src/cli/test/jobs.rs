//! Runs cases one after the other, or several beside each other; what became of them is told in their order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::request::Request;
use crate::testing::coverage::Coverage;
use crate::testing::{Entry, Runner, Verdict};

/// Calls `tell` for each case that was run. Gives what they reached, if that is asked for.
pub(super) fn run<'e>(
    request: &Request,
    entries: &'e [Entry],
    mut tell: impl FnMut(&'e Entry, Verdict, Duration),
) -> Result<Option<Coverage>, String> {
    let jobs = request.jobs.unwrap_or(1).min(entries.len()).max(1);
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut told = 0;
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let workers: Vec<_> = (0..jobs)
            .map(|_| {
                let (sender, next, stop) = (sender.clone(), &next, &stop);
                scope.spawn(move || work(request, entries, next, stop, &sender))
            })
            .collect();
        drop(sender);
        let mut waiting = BTreeMap::new();
        for (at, verdict, took) in receiver {
            waiting.insert(at, (verdict, took));
            while let Some(((verdict, took), entry)) = waiting.remove(&told).zip(entries.get(told)) {
                let failed = matches!(verdict, Verdict::Failed(_));
                // Cases behind the first failed one may have been run already.
                if !stop.load(Ordering::Relaxed) {
                    tell(entry, verdict, took);
                }
                if failed && request.fail_fast {
                    stop.store(true, Ordering::Relaxed);
                }
                told += 1;
            }
        }
        let mut all: Option<Coverage> = None;
        for worker in workers {
            let coverage = worker.join().map_err(|_| "a case broke the program; that is a bug".to_owned())??;
            match (&mut all, coverage) {
                (Some(all), Some(coverage)) => all.join(coverage),
                (all, coverage) => *all = coverage,
            }
        }
        Ok(all)
    })
}

fn work(
    request: &Request,
    entries: &[Entry],
    next: &AtomicUsize,
    stop: &AtomicBool,
    sender: &mpsc::Sender<(usize, Verdict, Duration)>,
) -> Result<Option<Coverage>, String> {
    let mut runner = Runner::new(request.defaults.clone(), request.clock).map_err(|e| e.to_string())?;
    if request.covers() {
        runner.cover();
    }
    while !stop.load(Ordering::Relaxed) {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(entry) = entries.get(at) else { break };
        let begun = Instant::now();
        let verdict = runner.run_entry(entry);
        if sender.send((at, verdict, begun.elapsed())).is_err() {
            break;
        }
    }
    Ok(runner.into_coverage())
}
