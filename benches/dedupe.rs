//! `dedupe` with many live keys: what a key costs in memory and on disk, how many events a second one worker asks about,
//! how long the start with all keys takes.
//!
//! `SPILLWAY_DEDUPE_KEYS=10000000 cargo bench --bench dedupe`; without the variable a million. Memory is that of the
//! process, so it counts what the table leaves unused and what the allocator does not give back. The keys go through the
//! filter as events of a pipeline do, in batches of 1000.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;
use std::time::Instant;

use spillway::event::{Event, Map, Text, Value};
use spillway::metrics::PipelineMetrics;
use spillway::pipeline::{Compiled, Environment, Filtering, compile};
use spillway::plugins::{DeadLetterQueue, Promises};

#[global_allocator]
static ALLOCATOR: spillway::Allocator = spillway::Allocator;

/// Events in a batch.
const BATCH: usize = 1000;
/// Most that is asked for again.
const LOOKUPS: usize = 2_000_000;

fn main() {
    let keys = std::env::var("SPILLWAY_DEDUPE_KEYS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let before = resident();
    let filter = start(folder.path());
    // What the first batches cost has nothing to do with keys.
    ask(&filter, 0..10 * BATCH, 0);
    let first = resident();
    let start_of_fill = Instant::now();
    ask(&filter, 10 * BATCH..keys, 0);
    let filled = start_of_fill.elapsed().as_secs_f64();
    let per_key = |bytes: u64| bytes as f64 / (keys - 10 * BATCH) as f64;
    println!("{keys} keys, first seen at {:.0} k/s with their way to the disk", keys as f64 / filled / 1e3);
    println!(
        "memory: {:.1} bytes a key ({} MB resident, {} MB before)",
        per_key(resident() - first),
        resident() >> 20,
        before >> 20
    );
    println!("disk: {:.1} bytes a key", size_of(folder.path()) as f64 / keys as f64);
    let asked = keys.min(LOOKUPS);
    let stride = keys / asked;
    for (name, offset) in [("known", 0), ("new", keys)] {
        let all: Vec<_> =
            (0..asked / BATCH).map(|batch| events(batch * BATCH..(batch + 1) * BATCH, stride, offset)).collect();
        let start_of_round = Instant::now();
        let passed: usize = all.into_iter().map(|events| run(&filter, events, name == "new")).sum();
        assert_eq!(passed, if name == "new" { asked / BATCH * BATCH } else { 0 });
        println!("lookups of {name} keys: {:.0} k/s", asked as f64 / start_of_round.elapsed().as_secs_f64() / 1e3);
    }
    filter.plan.filters[0].filter.close();
    drop(filter);
    let start_again = Instant::now();
    let filter = start(folder.path());
    println!("start with {} keys: {:.2} s", keys + asked, start_again.elapsed().as_secs_f64());
    assert_eq!(run(&filter, events(0..BATCH, stride, 0), true), 0);
}

/// The filter, with its keys in a folder.
fn start(folder: &Path) -> Compiled {
    let config = r#"filter { dedupe { key => "%{k}" name => "bench" sync => "interval(1s)" } }"#;
    let mut loaded = spillway::config::parse(config);
    let environment = Environment { path_data: folder.to_owned(), ..Environment::alone() };
    let compiled = compile(&loaded.config, &loaded.sources, &environment, &mut loaded.diagnostics);
    assert!(!loaded.diagnostics.has_errors());
    compiled.plan.filters[0].filter.register().unwrap();
    compiled
}

fn events(numbers: std::ops::Range<usize>, stride: usize, offset: usize) -> Vec<Event> {
    let event = |number: usize| {
        let mut fields = Map::with_capacity(1);
        fields.insert(Text::borrowed("k"), Value::from(format!("event-{:012}", number * stride + offset)));
        Event::from_map(fields)
    };
    numbers.map(event).collect()
}

fn ask(filter: &Compiled, numbers: std::ops::Range<usize>, offset: usize) {
    for from in numbers.clone().step_by(BATCH) {
        let events = events(from..(from + BATCH).min(numbers.end), 1, offset);
        let count = events.len();
        assert_eq!(run(filter, events, true), count);
    }
}

/// How many of a batch pass; what the filter promised is kept then.
fn run(filter: &Compiled, events: Vec<Event>, keep: bool) -> usize {
    let (metrics, dead_letters) = (PipelineMetrics::default(), DeadLetterQueue::default());
    let promises = Promises::new();
    let filtering = Filtering {
        plan: &filter.plan,
        dead_letters: &dead_letters,
        metrics: &metrics,
        decisions: None,
        promises: &promises,
    };
    let passed = filtering.run(events, None, false).len();
    assert!(!keep || promises.keep());
    passed
}

/// Bytes of memory that the process has.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn size_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| if entry.path().is_dir() { size_of(&entry.path()) } else { entry.metadata().unwrap().len() })
        .sum()
}
