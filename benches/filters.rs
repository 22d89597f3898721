//! What the filters of most pipelines cost for each event: date, dissect, kv and csv on lines as `bench/gen.py` makes
//! them.

#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use spillway::event::{Event, Map, Text, Value};
use spillway::metrics::PipelineMetrics;
use spillway::pipeline::{Compiled, Environment, Filtering, compile};
use spillway::plugins::{DeadLetterQueue, Promises};

#[global_allocator]
static ALLOCATOR: spillway::Allocator = spillway::Allocator;

/// Events in a batch.
const BATCH: usize = 125;

const APACHE: &str = r#"198.51.100.107 - svc_report [01/Jan/2026:00:00:00 +0200] "GET /session/session/shard/replica HTTP/1.0" 200 24306 "https://shop.example.net/cart?step=2" "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36""#;
const FIREWALL: &str = r#"2026-01-01T00:00:00Z fw01 filter[2001]: id=1 action=allow proto=tcp src=198.51.100.183 sport=64198 dst=203.0.113.136 dport=5432 in=eth0 out=eth0 len=825 ttl=81 rule="bridge-260" user=tomas sent=1894586 rcvd=4800336"#;
const CSV: &str = r#"2026-01-01T00:00:00Z,fw01,allow,tcp,198.51.100.183,64198,203.0.113.136,5432,"eth0, eth1",825,81"#;

fn filter(config: &str) -> Compiled {
    let mut loaded = spillway::config::parse(&format!("filter {{ {config} }}"));
    let environment = Environment::alone();
    let compiled = compile(&loaded.config, &loaded.sources, &environment, &mut loaded.diagnostics);
    assert!(!loaded.diagnostics.has_errors(), "{config}");
    compiled
}

/// A batch with this text in a field of each event.
fn batch(field: &'static str, text: impl Fn(usize) -> String) -> Vec<Event> {
    let event = |at| {
        let mut fields = Map::with_capacity(6);
        fields.insert(Text::borrowed(field), Value::from(text(at)));
        Event::from_map(fields)
    };
    (0..BATCH).map(event).collect()
}

fn run(c: &mut Criterion, name: &str, config: &str, events: &[Event]) {
    let compiled = filter(config);
    let (metrics, dead_letters) = (PipelineMetrics::default(), DeadLetterQueue::default());
    let promises = Promises::new();
    let filtering = Filtering {
        plan: &compiled.plan,
        dead_letters: &dead_letters,
        metrics: &metrics,
        decisions: None,
        promises: &promises,
    };
    let tagged = |event: &Event| event.fields().contains_key("tags");
    assert!(!filtering.run(events.to_vec(), None, false).iter().any(tagged), "{name}");
    let mut group = c.benchmark_group("filters");
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function(name, |b| {
        b.iter_batched(|| events.to_vec(), |events| filtering.run(events, None, false), BatchSize::SmallInput);
    });
    group.finish();
}

fn dates(c: &mut Criterion) {
    let second = |at: usize| at % 60;
    for (name, options, text) in [
        ("apache", r#""dd/MMM/yyyy:HH:mm:ss Z"]"#, "01/Jan/2026:00:10:SS +0200"),
        ("apache without a zone", r#""dd/MMM/yyyy:HH:mm:ss"] timezone => "Europe/Paris""#, "01/Jan/2026:00:10:SS"),
        ("ISO8601", r#""ISO8601"]"#, "2026-01-01T00:10:SS.123Z"),
        ("ISO8601 without a zone", r#""ISO8601"] timezone => "Europe/Paris""#, "2026-01-01T00:10:SS.123"),
        ("syslog", r#""MMM  d HH:mm:ss", "MMM dd HH:mm:ss"] timezone => "Europe/Paris""#, "Jan 11 00:10:SS"),
        ("digits", r#""yyyyMMddHHmmss"] timezone => "UTC""#, "202601010010SS"),
        ("UNIX", r#""UNIX"]"#, "17672256SS.123"),
    ] {
        let events = batch("t", |at| text.replace("SS", &format!("{:02}", second(at))));
        run(c, &format!("date: {name}"), &format!(r#"date {{ match => ["t", {options} }}"#), &events);
    }
    // What the frame of a batch costs by itself.
    run(c, "nothing", "if [no] { drop { } }", &batch("t", |_| "x".to_owned()));
}

fn dissections(c: &mut Criterion) {
    let firewall = r#"dissect { mapping => { "message" => "%{ts} %{device} %{program} %{kv}" } }"#;
    run(c, "dissect: firewall", firewall, &batch("message", |_| FIREWALL.to_owned()));
    let apache = r#"dissect { mapping => { "message" => '%{ip} %{ident} %{user} [%{ts}] "%{verb} %{path} HTTP/%{version}" %{status} %{bytes} "%{referrer}" "%{agent}"' } }"#;
    run(c, "dissect: apache", apache, &batch("message", |_| APACHE.to_owned()));
}

fn pairs(c: &mut Criterion) {
    let firewall = FIREWALL.split_once("]: ").unwrap().1;
    run(c, "kv: firewall", r#"kv { source => "kv" }"#, &batch("kv", |_| firewall.to_owned()));
    let options = r#"kv { source => "kv" target => "fw" trim_value => "," exclude_keys => ["id"] }"#;
    run(c, "kv: firewall, trimmed below a target", options, &batch("kv", |_| firewall.to_owned()));
    let pattern = r#"kv { source => "kv" field_split_pattern => " +" }"#;
    run(c, "kv: firewall, by a pattern", pattern, &batch("kv", |_| firewall.to_owned()));
}

fn records(c: &mut Criterion) {
    run(c, "csv: firewall", "csv { }", &batch("message", |_| CSV.to_owned()));
}

criterion_group!(benches, dates, dissections, pairs, records);
criterion_main!(benches);
