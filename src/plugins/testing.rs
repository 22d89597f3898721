//! Plugins made from pieces of configuration, for tests.

use super::{
    Codec, Context, DeadLetterQueue, Deliveries, Delivery, Lease, Options, OutputBatch, Promises, Stop, registry,
};
use crate::config::ast::{Config, LiteralKind};
use crate::config::diagnostic::{Diagnostics, Level};
use crate::config::source::Sources;
use crate::event::json::{Numbers, Reader};
use crate::event::{Bytes, Event, Text, Value};
use crate::metrics::PipelineMetrics;
use crate::pipeline::{Compiled, Environment, Filtering, Flush, compile};

/// An event of a JSON object; `@metadata` in it is the metadata.
pub(crate) fn event(json: &str) -> Event {
    match Reader::new(&Text::from(json), Numbers::Double).next_value() {
        Ok(Some(Value::Map(map))) => Event::from_map(map),
        other => panic!("no JSON object: {other:?}"),
    }
}

/// The fields as JSON, without `@timestamp` and `@version`.
pub(crate) fn json(event: &Event) -> String {
    let mut event = event.clone();
    event.fields_mut().remove("@timestamp");
    event.fields_mut().remove("@version");
    event.to_json()
}

/// A whole configuration, or its errors, one in a line.
pub(crate) fn compiled(config: &str) -> Result<Compiled, String> {
    compiled_with(config, DeadLetterQueue::default())
}

/// As [`compiled`], with a dead letter queue.
pub(crate) fn compiled_with(config: &str, dead_letters: DeadLetterQueue) -> Result<Compiled, String> {
    let (compiled, diagnostics) = checked(config, dead_letters);
    if diagnostics.has_errors() { Err(told(&diagnostics, Level::Error)) } else { Ok(compiled) }
}

/// What a configuration is warned of, one in a line.
pub(crate) fn warnings(config: &str) -> String {
    told(&checked(config, DeadLetterQueue::default()).1, Level::Warning)
}

fn checked(config: &str, dead_letters: DeadLetterQueue) -> (Compiled, Diagnostics) {
    let (config, sources, mut diagnostics) = parsed(config);
    let environment = Environment { dead_letters, ..Environment::alone() };
    let compiled = compile(&config, &sources, &environment, &mut diagnostics);
    (compiled, diagnostics)
}

fn parsed(config: &str) -> (Config, Sources, Diagnostics) {
    let loaded = crate::config::parse(config);
    (loaded.config, loaded.sources, loaded.diagnostics)
}

fn told(diagnostics: &Diagnostics, level: Level) -> String {
    let told = diagnostics.0.iter().filter(|d| d.level == level);
    told.map(|d| d.message.clone()).collect::<Vec<_>>().join("\n")
}

/// Runs events through the filter section of a configuration, as one batch that is dealt with afterwards.
pub(crate) fn run_filters(compiled: &Compiled, events: Vec<Event>) -> Vec<Event> {
    run_and_flush(compiled, events, None)
}

/// As [`run_filters`], with a flush behind the events.
pub(crate) fn run_and_flush(compiled: &Compiled, events: Vec<Event>, flush: Option<Flush>) -> Vec<Event> {
    let metrics = PipelineMetrics::default();
    let dead_letters = DeadLetterQueue::default();
    let promises = Promises::new();
    let filtering = Filtering {
        plan: &compiled.plan,
        dead_letters: &dead_letters,
        metrics: &metrics,
        decisions: None,
        promises: &promises,
    };
    let out = filtering.run(events, flush, false);
    promises.keep();
    out
}

/// What `filter { … }` makes of events, JSON in and out.
pub(crate) fn filtered(config: &str, events: &[&str]) -> Vec<String> {
    let compiled = compiled(config).unwrap_or_else(|errors| panic!("{errors}"));
    for slot in &compiled.plan.filters {
        slot.filter.register().expect("registered");
    }
    let events = events.iter().map(|json| event(json)).collect();
    run_filters(&compiled, events).iter().map(json).collect()
}

/// What `read` makes of the options of the first input of a configuration, or the errors.
pub(crate) fn configured<T>(config: &str, read: fn(&mut Options<'_>) -> T) -> Result<T, String> {
    let (config, _, mut diagnostics) = parsed(config);
    let block = config.inputs.first().expect("an input");
    let context = Context::alone("input");
    let made = Options::new(block, &context, &mut diagnostics).finish_with(read).plugin;
    made.filter(|_| !diagnostics.has_errors()).ok_or_else(|| told(&diagnostics, Level::Error))
}

/// A codec such as `json { target => "x" }`, or its errors.
pub(crate) fn codec(text: &str) -> Result<Codec, String> {
    let (config, _, mut diagnostics) = parsed(&format!("input {{ stdin {{ codec => {text} }} }}"));
    let setting = config.inputs.first().and_then(|input| input.settings.first());
    let Some(LiteralKind::Plugin(block)) = setting.map(|setting| setting.value.kind.clone()) else {
        panic!("no codec: {text}: {}", told(&diagnostics, Level::Error));
    };
    let context = Context::alone("codec");
    let Some(plugin) = registry::codec(&block.name) else { panic!("no codec {}", block.name) };
    let mut options = Options::new(&block, &context, &mut diagnostics);
    super::common::codec(&mut options);
    let codec = options.finish_with(plugin.build).plugin;
    codec.filter(|_| !diagnostics.has_errors()).ok_or_else(|| told(&diagnostics, Level::Error))
}

/// The events that a codec makes of the chunks of one stream.
pub(crate) fn decoded(text: &str, chunks: &[&[u8]]) -> Vec<Event> {
    let codec = codec(text).unwrap_or_else(|errors| panic!("{errors}"));
    let mut decoder = codec.decoders.expect("a codec that reads").create();
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.decode(Bytes::from(chunk.to_vec()), &mut events);
    }
    decoder.flush(&mut events);
    events
}

/// The bytes that a codec makes of events, JSON in.
pub(crate) fn encoded(text: &str, events: &[&str]) -> String {
    let codec = codec(text).unwrap_or_else(|errors| panic!("{errors}"));
    let encoder = codec.encoder.expect("a codec that writes");
    let mut out = Vec::new();
    for json in events {
        encoder.encode(&event(json), &mut out).expect("encoded");
    }
    String::from_utf8(out).expect("text")
}

/// Gives one batch to all outputs of a configuration, then closes them. The reasons of events that are dead.
pub(crate) async fn deliver(config: &str, events: &[&str]) -> Vec<String> {
    let compiled = compiled(config).unwrap_or_else(|errors| panic!("{errors}"));
    let events: Vec<Event> = events.iter().map(|json| event(json)).collect();
    let events: Vec<&Event> = events.iter().collect();
    let (lease, stop) = (Lease::unclaimed(), Stop::new());
    let mut dead = Vec::new();
    for slot in &compiled.plan.outputs {
        slot.output.register(&stop).await.expect("registered");
        let batch = OutputBatch { events: &events, lease: &lease };
        let deliveries = slot.output.write(&batch, &stop).await.expect("delivered");
        if let Deliveries::Each(each) = deliveries {
            dead.extend(each.into_iter().filter_map(|delivery| match delivery {
                Delivery::Dead(reason) => Some(reason),
                _ => None,
            }));
        }
        slot.output.close().await;
    }
    dead
}
