//! A disk that fills up at any write, and then has room again: nothing is lost, and nobody has to restart anything.

use std::sync::Arc;

use super::super::tape::Tape;
use super::*;

/// Steps after which the disk refuses: more than the whole run needs.
const STEPS: usize = 60;
const EVENTS: u64 = 300;

/// A queue is filled and emptied on a disk that is full after so many steps, until somebody makes room. Says whether it
/// was full at all.
async fn run(steps: usize) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("main");
    let queue = open(Settings { checkpoint_writes: 10, checkpoint_acks: 10, ..settings(&path) });
    let tape = Tape::of(&path);
    tape.refuse_after(Some(steps));
    let worker = {
        let queue = queue.clone();
        tokio::task::spawn_blocking(move || {
            let mut all = Vec::new();
            while let Some(taken) = queue.take(7, DELAY) {
                all.extend(numbers(&taken));
                settle(taken);
            }
            all
        })
    };
    let pushed = {
        let queue = queue.clone();
        tokio::spawn(async move {
            for from in (0..EVENTS).step_by(10) {
                push(&queue, from..from + 10).await;
            }
        })
    };
    while !pushed.is_finished() && queue.stats().write_errors == 0 {
        tokio::time::sleep(DELAY).await;
    }
    let was_full = queue.stats().write_errors > 0;
    tape.refuse_after(None);
    pushed.await.unwrap();
    queue.close();
    let all = worker.await.unwrap();
    assert_eq!(all, (0..EVENTS).collect::<Vec<_>>(), "after {steps} steps");
    queue.shut();
    let left: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "after {steps} steps: {left:?}");
    assert!(drain(&open(settings(&path))).is_empty(), "after {steps} steps something comes again");
    was_full
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_up_at_any_write_loses_nothing_and_needs_no_restart() {
    let full = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut runs = tokio::task::JoinSet::new();
    for steps in 0..STEPS {
        let full = full.clone();
        runs.spawn(async move {
            let was_full = run(steps).await;
            full.fetch_add(usize::from(was_full), std::sync::atomic::Ordering::Relaxed);
        });
    }
    while let Some(done) = runs.join_next().await {
        done.unwrap();
    }
    let full = full.load(std::sync::atomic::Ordering::Relaxed);
    assert!(full > STEPS / 2, "the disk was full in {full} of {STEPS} runs only");
}
