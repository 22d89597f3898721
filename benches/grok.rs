//! What grok costs for each line: patterns that match, one that does not, and the same regexps on other engines.

#![allow(clippy::unwrap_used, missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use spillway::event::{Text, Value};
use spillway::plugins::Ecs;
use spillway::plugins::filters::grok::expand::expand;
use spillway::plugins::filters::grok::library::Library;
use spillway::plugins::filters::grok::pattern::compile;
use spillway::regexp::{Groups, RubyRegex, TimeLimit};

#[global_allocator]
static ALLOCATOR: spillway::Allocator = spillway::Allocator;

const APACHE: [&str; 4] = [
    r#"198.51.100.77 - - [14/Jan/2026:03:22:41 +0000] "GET /static/lantern/app.css?v=3 HTTP/1.1" 200 18231 "https://shop.example.net/cart?step=2" "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36""#,
    r#"192.0.2.18 - mira [14/Jan/2026:03:22:41 +0000] "POST /api/v1/orders HTTP/1.1" 404 212 "-" "curl/8.9.1""#,
    r#"203.0.113.200 - svc_report [14/Jan/2026:03:22:42 +0000] "GET /search?q=blue+lantern HTTP/1.1" 304 - "https://search.example.org/?q=blue+lantern&lang=en" "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0""#,
    r#"198.51.100.3 - - [14/Jan/2026:03:22:43 +0000] "HEAD /health HTTP/2.0" 200 0 "-" "probe/1.4 (+https://status.example.org/probe)""#,
];
const SYSLOG: [&str; 2] = [
    "Jan 14 03:22:41 edge-3 sshd[8123]: Accepted publickey for mira from 192.0.2.18 port 51122 ssh2",
    "Jan  4 13:02:01 db.example.org cron[77]: (root) CMD (run-parts /etc/cron.hourly)",
];

/// The regexp of a pattern for engines that know neither look-around, atomic groups nor names with brackets: an
/// easier job.
fn simplified(pattern: &str, library: &Library) -> String {
    let expanded = expand(pattern, library, false).unwrap();
    let groups = expanded.replace("(?>", "(?:");
    let mut out = String::from("(?sm)");
    let mut rest = groups.as_str();
    while let Some(at) = rest.find("(?<") {
        let (before, group) = rest.split_at(at);
        out += before;
        if group.starts_with("(?<!") || group.starts_with("(?<=") {
            // Every look behind of these patterns is one class.
            rest = &group[group.find(')').unwrap() + 1..];
        } else {
            out.push('(');
            rest = &group[group.find('>').unwrap() + 1..];
        }
    }
    (out + rest).replace("(?![0-9])", "").replace("(?!<[0-9])", "")
}

fn engines(c: &mut Criterion, name: &str, pattern: &str, lines: &[&str]) {
    let library = Library::bundled(Ecs::V8);
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(lines.len() as u64));
    let own = compile(pattern, &library, false).unwrap();
    let mut groups = Groups::default();
    group.bench_function("spillway", |b| {
        b.iter(|| {
            for line in lines {
                let mut limit = TimeLimit::new(Some(std::time::Duration::from_secs(30)));
                let found = own.captures_within(black_box(line), &mut groups, &mut limit);
                black_box((found.unwrap(), groups.get(1)));
            }
        });
    });
    let linear = regex::Regex::new(&simplified(pattern, &library)).unwrap();
    let mut locations = linear.capture_locations();
    group.bench_function("regex crate, simplified", |b| {
        b.iter(|| {
            for line in lines {
                black_box(linear.captures_read(&mut locations, black_box(line)).is_some());
            }
        });
    });
    // Names with brackets are not for this engine, and there are too many groups to be kept without.
    let expanded = expand(pattern, &library, false).unwrap();
    let numbered = with_numbered_groups(&expanded);
    let fancy = fancy_regex::RegexBuilder::new(&numbered).oniguruma_mode(true).multi_line(true).build().unwrap();
    group.bench_function("fancy-regex", |b| {
        b.iter(|| {
            for line in lines {
                black_box(fancy.captures(black_box(line)).unwrap().is_some());
            }
        });
    });
    group.finish();
}

fn with_numbered_groups(expanded: &str) -> String {
    let mut out = String::from("(?s)");
    let mut rest = expanded;
    let mut count = 0;
    while let Some(at) = rest.find("(?<") {
        let (before, group) = rest.split_at(at);
        out += before;
        if group.starts_with("(?<!") || group.starts_with("(?<=") {
            out += "(?<";
            rest = &group[3..];
        } else {
            count += 1;
            out += &format!("(?<n{count}>");
            rest = &group[group.find('>').unwrap() + 1..];
        }
    }
    out + rest
}

fn patterns(c: &mut Criterion) {
    engines(c, "apache", "%{COMBINEDAPACHELOG}", &APACHE);
    engines(c, "syslog", "%{SYSLOGLINE}", &SYSLOG);
    engines(c, "apache pattern on syslog", "%{COMBINEDAPACHELOG}", &SYSLOG);
    engines(c, "syslog pattern on apache", "%{SYSLOGLINE}", &APACHE);
}

/// The pieces of text that the captures of a line are.
fn pieces(c: &mut Criterion) {
    let library = Library::bundled(Ecs::V8);
    let own = compile("%{COMBINEDAPACHELOG}", &library, false).unwrap();
    let lines: Vec<Text> = APACHE.iter().map(|line| Text::from(*line)).collect();
    let mut groups = Groups::default();
    let mut group = c.benchmark_group("captures");
    group.throughput(Throughput::Elements(lines.len() as u64));
    group.bench_function("apache", |b| {
        b.iter(|| {
            for line in &lines {
                own.captures_within(line, &mut groups, &mut TimeLimit::new(None)).unwrap();
                for at in 0..own.group_names().len() {
                    black_box(groups.get(at + 1).map(|range| Value::String(line.piece(range))));
                }
            }
        });
    });
    group.finish();
}

fn building(c: &mut Criterion) {
    let library = Library::bundled(Ecs::V8);
    let expanded = expand("%{COMBINEDAPACHELOG}", &library, false).unwrap();
    let mut group = c.benchmark_group("build");
    group.bench_function("library", |b| b.iter(|| Library::bundled(Ecs::V8)));
    group.bench_function("expand apache", |b| b.iter(|| expand("%{COMBINEDAPACHELOG}", &library, false)));
    group.bench_function("compile apache", |b| b.iter(|| RubyRegex::for_captures(&expanded).unwrap()));
    group.finish();
}

criterion_group!(benches, patterns, pieces, building);
criterion_main!(benches);
