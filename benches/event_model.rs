//! The benchmark that chose the event model: parse a nested JSON document, change it six times, write it again.
//!
//! Candidates: ours (shared text, scanned maps, own reader), compact strings in hashed maps, and plain strings in
//! hashed maps, both behind the fastest JSON crate. `bare` is that crate's own tree without any change: the yardstick.

#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::HashMap;
use std::fmt;
use std::hint::black_box;

use compact_str::CompactString;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use spillway::event::json::{Numbers, Reader};
use spillway::event::{EscapeStyle, Event, FieldRef, Text, Value};

#[global_allocator]
static ALLOCATOR: spillway::Allocator = spillway::Allocator;

const DOCUMENT: &str = r#"{"ts":"2026-02-01T00:00:00.000Z","level":"INFO","message":"connection to upstream closed after 12 retries","service":{"name":"checkout","version":"2.14.3","instance":"checkout-7f9c6d5b8-x2kqv"},"http":{"method":"GET","path":"/api/v2/orders/81723/items","status":"200","duration_ms":"12.75","client":{"ip":"192.0.2.17","port":51234,"agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"}},"trace":{"id":"4bf92f3577b34da6a3ce929d0e0e4736","span":"00f067aa0ba902b7","sampled":true},"tags":["prod","eu-west-1"],"debug":{"thread":"worker-12","gc":{"pause":3,"gen":1},"notes":null},"amount":717.25}"#;

struct Steps {
    rename: [(FieldRef, FieldRef); 2],
    to_integer: FieldRef,
    to_float: FieldRef,
    add: FieldRef,
    remove: FieldRef,
}

fn ours(steps: &Steps, line: &Text, out: &mut Vec<u8>) {
    let document = Reader::new(line, Numbers::Decimal).next_value().unwrap().unwrap();
    let Value::Map(fields) = document else { return };
    let mut event = Event::restore(fields, spillway::event::Map::new());
    for (from, to) in &steps.rename {
        if let Some(value) = event.remove(from) {
            event.set(to, value).unwrap();
        }
    }
    let status: i64 = event.get(&steps.to_integer).and_then(Value::as_str).unwrap().parse().unwrap();
    event.set(&steps.to_integer, status).unwrap();
    let duration: f64 = event.get(&steps.to_float).and_then(Value::as_str).unwrap().parse().unwrap();
    event.set(&steps.to_float, duration).unwrap();
    event.set(&steps.add, Value::literal("bench")).unwrap();
    event.remove(&steps.remove);
    out.clear();
    event.write_json(out);
}

/// A tree over any kind of string, with hashed maps.
enum Tree<S> {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(S),
    List(Vec<Tree<S>>),
    Map(IndexMap<S, Tree<S>>),
}

struct TreeVisitor<S>(std::marker::PhantomData<S>);

impl<'de, S: From<&'de str> + std::hash::Hash + Eq> Visitor<'de> for TreeVisitor<S> {
    type Value = Tree<S>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Tree<S>, E> {
        Ok(Tree::Null)
    }
    fn visit_bool<E>(self, v: bool) -> Result<Tree<S>, E> {
        Ok(Tree::Bool(v))
    }
    fn visit_i64<E>(self, v: i64) -> Result<Tree<S>, E> {
        Ok(Tree::Integer(v))
    }
    fn visit_u64<E>(self, v: u64) -> Result<Tree<S>, E> {
        Ok(Tree::Integer(v as i64))
    }
    fn visit_f64<E>(self, v: f64) -> Result<Tree<S>, E> {
        Ok(Tree::Float(v))
    }
    fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Tree<S>, E> {
        Ok(Tree::Text(S::from(v)))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree<S>, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element()? {
            list.push(value);
        }
        Ok(Tree::List(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree<S>, A::Error> {
        let mut fields = IndexMap::new();
        while let Some((key, value)) = map.next_entry::<&'de str, _>()? {
            fields.insert(S::from(key), value);
        }
        Ok(Tree::Map(fields))
    }
}

impl<'de, S: From<&'de str> + std::hash::Hash + Eq> Deserialize<'de> for Tree<S> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(TreeVisitor(std::marker::PhantomData))
    }
}

impl<S: AsRef<str>> Serialize for Tree<S> {
    fn serialize<W: Serializer>(&self, s: W) -> Result<W::Ok, W::Error> {
        match self {
            Tree::Null => s.serialize_unit(),
            Tree::Bool(b) => s.serialize_bool(*b),
            Tree::Integer(n) => s.serialize_i64(*n),
            Tree::Float(f) => s.serialize_f64(*f),
            Tree::Text(t) => s.serialize_str(t.as_ref()),
            Tree::List(list) => s.collect_seq(list),
            Tree::Map(fields) => {
                let mut map = s.serialize_map(Some(fields.len()))?;
                for (key, value) in fields {
                    map.serialize_entry(key.as_ref(), value)?;
                }
                map.end()
            }
        }
    }
}

type Branch<S> = IndexMap<S, Tree<S>>;

fn branch<'a, S: AsRef<str> + std::hash::Hash + Eq + std::borrow::Borrow<str>>(
    map: &'a mut Branch<S>,
    name: &str,
) -> &'a mut Branch<S> {
    match map.get_mut(name).unwrap() {
        Tree::Map(inner) => inner,
        _ => unreachable!(),
    }
}

fn hashed<S>(line: &str, out: &mut Vec<u8>)
where
    S: for<'a> From<&'a str> + AsRef<str> + std::hash::Hash + Eq + std::borrow::Borrow<str>,
{
    let Tree::Map(mut root) = sonic_rs::from_str::<Tree<S>>(line).unwrap() else { return };
    let name = branch(&mut root, "service").shift_remove("name").unwrap();
    root.insert(S::from("service_name"), name);
    let client = branch(&mut root, "http").shift_remove("client").unwrap();
    root.insert(S::from("client"), client);
    let http = branch(&mut root, "http");
    if let Some(slot) = http.get_mut("status")
        && let Tree::Text(text) = slot
    {
        *slot = Tree::Integer(text.as_ref().parse().unwrap());
    }
    if let Some(slot) = http.get_mut("duration_ms")
        && let Tree::Text(text) = slot
    {
        *slot = Tree::Float(text.as_ref().parse().unwrap());
    }
    root.insert(S::from("env"), Tree::Text(S::from("bench")));
    root.shift_remove("debug");
    out.clear();
    sonic_rs::to_writer(&mut *out, &Tree::Map(root)).unwrap();
}

fn bench(c: &mut Criterion) {
    let field = |text: &str| FieldRef::parse(text, EscapeStyle::None).unwrap();
    let steps = Steps {
        rename: [(field("[service][name]"), field("service_name")), (field("[http][client]"), field("client"))],
        to_integer: field("[http][status]"),
        to_float: field("[http][duration_ms]"),
        add: field("env"),
        remove: field("debug"),
    };
    let mut out = Vec::with_capacity(1024);
    let mut group = c.benchmark_group("event_model");
    group.throughput(Throughput::Bytes(DOCUMENT.len() as u64));
    group.bench_function("ours: shared text, scanned maps", |b| {
        b.iter(|| {
            // As an input does: the line is a piece of a shared chunk.
            let line = Text::from(black_box(DOCUMENT));
            ours(&steps, &line, &mut out);
        });
    });
    group.bench_function("compact strings, hashed maps", |b| {
        b.iter(|| hashed::<CompactString>(black_box(DOCUMENT), &mut out));
    });
    group.bench_function("plain strings, hashed maps", |b| {
        b.iter(|| hashed::<String>(black_box(DOCUMENT), &mut out));
    });
    group.bench_function("bare: fastest crate, nothing changed", |b| {
        b.iter(|| {
            let value: sonic_rs::Value = sonic_rs::from_str(black_box(DOCUMENT)).unwrap();
            out.clear();
            sonic_rs::to_writer(&mut out, &value).unwrap();
        });
    });
    group.bench_function("bare: serde_json, nothing changed", |b| {
        b.iter(|| {
            let value: HashMap<String, serde_json::Value> = serde_json::from_str(black_box(DOCUMENT)).unwrap();
            out.clear();
            serde_json::to_writer(&mut out, &value).unwrap();
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
