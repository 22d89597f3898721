//! Many entries, written and read at the same time: each is delivered once, in order, and memory stays flat.
//!
//! Runs with `SPILLWAY_VOLUME` entries, by default a million in an optimised build and fewer in a debug build.

mod dead_letter_support;

use std::time::{Duration, Instant};

use spillway::dead_letter::{Reader, Rejected, Settings, Start, Writer};
use spillway::event::{Event, Text};

fn wanted() -> u64 {
    let default = if cfg!(debug_assertions) { 200_000 } else { 1_000_000 };
    std::env::var("SPILLWAY_VOLUME").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Resident memory in bytes; `None` where the system does not tell.
fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split(' ').nth(1)?.parse::<u64>().ok()? * 4096)
}

/// A reader at the heels of a writer.
#[test]
fn volume_million() {
    let count = wanted();
    let root = tempfile::tempdir().unwrap();
    let queue = root.path().join("main");
    let writer = Writer::open(Settings::new(&queue)).unwrap();
    let base = resident();
    let peak = std::thread::scope(|scope| {
        let writer = &writer;
        scope.spawn(move || {
            let mut event = Event::new();
            event.fields_mut().insert("message", "a".repeat(30));
            let mut number = 0;
            while number < count {
                // One by one and in batches, so that segments end in both.
                let batch = if number % 1000 < 100 { 1 } else { 50 };
                let reasons: Vec<_> = (number..(number + batch).min(count)).map(|n| n.to_string()).collect();
                let rejected: Vec<_> = reasons
                    .iter()
                    .map(|reason| Rejected { event: &event, plugin_type: "elasticsearch", plugin_id: "out", reason })
                    .collect();
                writer.write_all(&rejected).unwrap();
                number += reasons.len() as u64;
            }
            writer.close().unwrap();
        });
        let mut reader = Reader::new(&queue, Start::Beginning);
        let mut peak = 0;
        for number in 0..count {
            let letter = reader.next(Duration::from_secs(60)).unwrap();
            assert_eq!(letter.reason, Text::from(number.to_string()));
            if number % 10_000 == 0 {
                peak = peak.max(resident().unwrap_or(0));
            }
        }
        assert!(reader.next(Duration::from_millis(200)).is_none());
        peak
    });
    if let Some(base) = base {
        let above = peak.saturating_sub(base);
        println!(
            "{count} entries: {} KiB resident before, {} KiB at most, {} KiB more",
            base >> 10,
            peak >> 10,
            above >> 10
        );
        assert!(above < 32 * 1024 * 1024, "{} MiB above the base", above >> 20);
    }
    let segments = std::fs::read_dir(&queue).unwrap().count();
    let bytes = writer.stats().queue_size_in_bytes;
    assert_eq!(segments as u64, bytes.div_ceil(10 * 1024 * 1024), "{bytes} bytes");
}

/// Ten thousand segments are listed, not read, before the first entry comes.
#[test]
fn ten_thousand_segments_are_no_trouble() {
    let root = tempfile::tempdir().unwrap();
    let queue = root.path().join("main");
    let five = dead_letter_support::five();
    std::fs::create_dir(&queue).unwrap();
    for number in 1..=10_000 {
        std::fs::write(queue.join(format!("{number}.log")), &five).unwrap();
    }
    let started = Instant::now();
    let writer = Writer::open(Settings::new(&queue)).unwrap();
    let mut reader = Reader::new(&queue, Start::Beginning);
    assert_eq!(reader.next(Duration::ZERO).unwrap().reason, "r0");
    let took = started.elapsed();
    assert_eq!(writer.stats().queue_size_in_bytes, 10_000 * five.len() as u64 + 1);
    // Far above what it takes, far below what reading all of them takes.
    assert!(took < Duration::from_secs(10), "{took:?}");
    let read = 1 + std::iter::from_fn(|| reader.next(Duration::ZERO)).count();
    assert_eq!(read, 50_000);
}

/// Large entries, written while they are read.
#[test]
fn entries_of_megabytes_are_no_trouble() {
    let root = tempfile::tempdir().unwrap();
    let queue = root.path().join("main");
    let mut settings = Settings::new(&queue);
    settings.flush_interval = Duration::from_millis(20);
    settings.flush_check_interval = Duration::from_millis(10);
    let writer = Writer::open(settings).unwrap();
    let sizes: Vec<usize> = (0..40).map(|n| 1024 << (n % 13)).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for size in &sizes {
                writer.write(&Event::new(), "elasticsearch", "out", &"x".repeat(*size)).unwrap();
            }
            writer.close().unwrap();
        });
        let mut reader = Reader::new(&queue, Start::Beginning);
        for size in &sizes {
            assert_eq!(reader.next(Duration::from_secs(60)).unwrap().reason.len(), *size);
        }
    });
}
