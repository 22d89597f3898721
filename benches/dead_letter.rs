//! How fast the dead letter queue is written and read, beside a plain buffered file with the same bytes.
//!
//! Both sides end with all bytes in the kernel; the group `synced` ends with all bytes on the disk.

#![allow(clippy::unwrap_used, missing_docs)]

use std::fs::File;
use std::hint::black_box;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use spillway::dead_letter::{Reader, Rejected, Settings, Start, Writer};
use spillway::event::json::{Numbers, Reader as JsonReader};
use spillway::event::{Event, Text, Value};
use tempfile::TempDir;

#[global_allocator]
static ALLOCATOR: spillway::Allocator = spillway::Allocator;

const DOCUMENT: &str = r#"{"level":"INFO","message":"connection to upstream closed after 12 retries","service":{"name":"checkout","version":"2.14.3","instance":"checkout-7f9c6d5b8-x2kqv"},"http":{"method":"GET","path":"/api/v2/orders/81723/items","status":"200","duration_ms":"12.75","client":{"ip":"192.0.2.17","port":51234,"agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"}},"trace":{"id":"4bf92f3577b34da6a3ce929d0e0e4736","span":"00f067aa0ba902b7","sampled":true},"tags":["prod","eu-west-1"],"debug":{"thread":"worker-12","gc":{"pause":3,"gen":1},"notes":null},"amount":717.25}"#;
const REASON: &str = r#"Could not index event to Elasticsearch. status: 400, action: ["index", {:_id=>nil, :_index=>"connections", :routing=>nil}, {"host"=>"web-02"}], response: {"index"=>{"_index"=>"connections", "status"=>400, "error"=>{"type"=>"document_parsing_exception"}}}"#;
/// Enough to fill more than one segment of 10 MiB.
const ENTRIES: usize = 16_000;
/// As many as a worker hands over at once.
const BATCH: usize = 125;

fn event() -> Event {
    let text = Text::from(DOCUMENT);
    let Some(Value::Map(fields)) = JsonReader::new(&text, Numbers::Decimal).next_value().unwrap() else {
        unreachable!("the document is an object")
    };
    Event::from_map(fields)
}

/// A directory on the disk that holds the build, since `/tmp` may be memory.
fn directory() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn open(directory: &Path) -> Writer {
    Writer::open(Settings::new(directory.join("main"))).unwrap()
}

fn write(writer: &Writer, event: &Event, batch: usize) {
    let rejected = Rejected { event, plugin_type: "elasticsearch", plugin_id: "connections", reason: REASON };
    let rejected = vec![rejected; batch];
    for _ in 0..ENTRIES / batch {
        black_box(writer.write_all(&rejected).unwrap());
    }
}

/// A queue with the entries, and all bytes of its segments.
fn filled(event: &Event) -> (TempDir, Vec<u8>) {
    let directory = directory();
    let writer = open(directory.path());
    write(&writer, event, BATCH);
    writer.close().unwrap();
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(directory.path().join("main")).unwrap() {
        File::open(entry.unwrap().path()).unwrap().read_to_end(&mut bytes).unwrap();
    }
    (directory, bytes)
}

/// Names the size of an entry, which turns bytes a second into entries a second.
fn name(what: &str, bytes: &[u8]) -> String {
    format!("dead letters, {} bytes each: {what}", bytes.len() / ENTRIES)
}

fn write_plain(directory: &Path, bytes: &[u8]) -> File {
    let mut file = BufWriter::new(File::create(directory.join("plain")).unwrap());
    for entry in bytes.chunks(bytes.len() / ENTRIES) {
        file.write_all(black_box(entry)).unwrap();
    }
    file.into_inner().unwrap()
}

fn writing(c: &mut Criterion) {
    let event = event();
    let (_, bytes) = filled(&event);
    let mut group = c.benchmark_group(name("write", &bytes));
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    group.throughput(Throughput::BytesDecimal(bytes.len() as u64));
    for (name, batch) in [("queue, one by one", 1), ("queue, batches of 125", BATCH)] {
        group.bench_function(name, |b| {
            let setup = || {
                let directory = directory();
                (open(directory.path()), directory)
            };
            let run = |(writer, directory)| {
                write(&writer, &event, batch);
                (writer, directory)
            };
            b.iter_batched(setup, run, BatchSize::PerIteration);
        });
    }
    group.bench_function("plain buffered file", |b| {
        b.iter_batched(directory, |d| (write_plain(d.path(), &bytes), d), BatchSize::PerIteration);
    });
    group.finish();
}

fn writing_synced(c: &mut Criterion) {
    let event = event();
    let (_, bytes) = filled(&event);
    let mut group = c.benchmark_group(name("write, synced", &bytes));
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    group.throughput(Throughput::BytesDecimal(bytes.len() as u64));
    group.bench_function("queue, batches of 125", |b| {
        let setup = || {
            let directory = directory();
            (open(directory.path()), directory)
        };
        let run = |(writer, directory): (Writer, TempDir)| {
            write(&writer, &event, BATCH);
            writer.sync().unwrap();
            (writer, directory)
        };
        b.iter_batched(setup, run, BatchSize::PerIteration);
    });
    group.bench_function("plain buffered file", |b| {
        let run = |d: TempDir| {
            let file = write_plain(d.path(), &bytes);
            file.sync_all().unwrap();
            (file, d)
        };
        b.iter_batched(directory, run, BatchSize::PerIteration);
    });
    group.finish();
}

fn reading(c: &mut Criterion) {
    let (queue, bytes) = filled(&event());
    let plain = directory();
    write_plain(plain.path(), &bytes);
    let mut group = c.benchmark_group(name("read", &bytes));
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    group.throughput(Throughput::BytesDecimal(bytes.len() as u64));
    group.bench_function("queue, events decoded", |b| {
        b.iter(|| {
            let mut reader = Reader::new(queue.path().join("main"), Start::Beginning);
            for _ in 0..ENTRIES {
                black_box(reader.next(Duration::ZERO).unwrap());
            }
        });
    });
    group.bench_function("plain buffered file", |b| {
        let mut entry = vec![0; bytes.len() / ENTRIES];
        b.iter(|| {
            let mut file = BufReader::new(File::open(plain.path().join("plain")).unwrap());
            while file.read_exact(&mut entry).is_ok() {
                black_box(&entry);
            }
        });
    });
    group.finish();
}

criterion_group!(benches, writing, writing_synced, reading);
criterion_main!(benches);
