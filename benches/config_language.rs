//! What the config language costs for each event: one evaluation of a condition, one rendering of a template.

#![allow(clippy::unwrap_used, missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use spillway::config::ast::Node;
use spillway::config::condition::Condition;
use spillway::event::json::{Numbers, Reader};
use spillway::event::{EscapeStyle, Event, Template, Text, Value};

#[global_allocator]
static ALLOCATOR: spillway::Allocator = spillway::Allocator;

const DOCUMENT: &str = r#"{"@timestamp":"2026-02-01T10:20:30.123Z","level":"INFO","message":"connection to upstream closed after 12 retries","service":{"name":"checkout","version":"2.14.3"},"http":{"method":"GET","path":"/api/v2/orders/81723/items","status":200,"duration_ms":12.75},"tags":["prod","eu-west-1"]}"#;

const CONDITIONS: [&str; 10] = [
    r#"[level] == "ERROR""#,
    r#"[level] != "ERROR""#,
    "[http][status] >= 500",
    "[no_such_field]",
    r#""staging" in [tags]"#,
    r#"[http][method] in ["PUT", "POST", "DELETE"]"#,
    "[message] =~ /^timeout/",
    r"[message] =~ /after \d+ retries$/",
    r#"[level] == "ERROR" or [http][status] == 404 or "staging" in [tags]"#,
    r#"[http][status] == 200 and ([service][name] == "checkout" and ![error])"#,
];

const TEMPLATES: [&str; 5] = [
    "no reference at all",
    "%{[service][name]}",
    "app-%{[service][name]}-%{+YYYY.MM.dd}",
    "%{level}: %{[http][method]} %{[http][path]} took %{[http][duration_ms]} ms",
    "%{no_such_field}",
];

fn event() -> Event {
    let text = Text::from(DOCUMENT);
    let Some(Value::Map(fields)) = Reader::new(&text, Numbers::Decimal).next_value().unwrap() else {
        unreachable!("the document is an object")
    };
    Event::from_map(fields)
}

fn condition(text: &str) -> Condition {
    let loaded = spillway::config::parse(&format!("filter {{ if {text} {{ drop {{ }} }} }}"));
    assert!(!loaded.diagnostics.has_errors(), "{text}");
    let Some(Node::Branch(branch)) = loaded.config.filters.first() else { unreachable!("one branch: {text}") };
    branch.arms.first().unwrap().condition.clone()
}

fn conditions(c: &mut Criterion) {
    let event = event();
    let mut group = c.benchmark_group("condition");
    for text in CONDITIONS {
        let condition = condition(text);
        group.bench_function(text, |b| b.iter(|| condition.evaluate(black_box(&event)).unwrap()));
    }
    group.finish();
}

fn templates(c: &mut Criterion) {
    let event = event();
    let mut group = c.benchmark_group("template");
    for text in TEMPLATES {
        let template = Template::compile(text, EscapeStyle::None).unwrap();
        group.bench_function(text, |b| b.iter(|| template.render(black_box(&event))));
    }
    group.finish();
}

criterion_group!(benches, conditions, templates);
criterion_main!(benches);
