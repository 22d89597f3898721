//! Plugins made from pieces of configuration, for tests.

use std::sync::Arc;

use super::{Codec, Context, DeadLetterQueue, Ecs, Options, OutputBatch, Stop, registry};
use crate::config::ast::{Config, LiteralKind};
use crate::config::diagnostic::{Diagnostics, Level};
use crate::config::source::Sources;
use crate::event::json::{Numbers, Reader};
use crate::event::{Bytes, EscapeStyle, Event, Text, Value};
use crate::metrics::PipelineMetrics;
use crate::pipeline::{Compiled, Environment, Filtering, Lease, compile};

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
    let (config, sources, mut diagnostics) = parsed(config);
    let environment = Environment {
        pipeline_id: Arc::from("main"),
        ecs: Ecs::V8,
        escape_style: EscapeStyle::None,
        path_data: std::env::temp_dir(),
        host: Arc::from("test-host"),
        dead_letters,
    };
    let compiled = compile(&config, &sources, &environment, &mut diagnostics);
    if diagnostics.has_errors() { Err(errors(&diagnostics)) } else { Ok(compiled) }
}

fn parsed(config: &str) -> (Config, Sources, Diagnostics) {
    let loaded = crate::config::parse(config);
    (loaded.config, loaded.sources, loaded.diagnostics)
}

fn errors(diagnostics: &Diagnostics) -> String {
    let errors = diagnostics.0.iter().filter(|d| d.level == Level::Error);
    errors.map(|d| d.message.clone()).collect::<Vec<_>>().join("\n")
}

/// Runs events through the filter section of a configuration.
pub(crate) fn run_filters(compiled: &Compiled, events: Vec<Event>) -> Vec<Event> {
    let metrics = PipelineMetrics::default();
    let dead_letters = DeadLetterQueue::default();
    let filtering = Filtering { plan: &compiled.plan, dead_letters: &dead_letters, metrics: &metrics };
    filtering.run(events, None, false)
}

/// What `filter { … }` makes of events, JSON in and out.
pub(crate) fn filtered(config: &str, events: &[&str]) -> Vec<String> {
    let compiled = compiled(config).unwrap_or_else(|errors| panic!("{errors}"));
    let events = events.iter().map(|json| event(json)).collect();
    run_filters(&compiled, events).iter().map(json).collect()
}

/// A codec such as `json { target => "x" }`, or its errors.
pub(crate) fn codec(text: &str) -> Result<Codec, String> {
    let (config, _, mut diagnostics) = parsed(&format!("input {{ stdin {{ codec => {text} }} }}"));
    let setting = config.inputs.first().and_then(|input| input.settings.first());
    let Some(LiteralKind::Plugin(block)) = setting.map(|setting| setting.value.kind.clone()) else {
        panic!("no codec: {text}: {}", errors(&diagnostics));
    };
    let context = Context::alone("codec");
    let Some(plugin) = registry::codec(&block.name) else { panic!("no codec {}", block.name) };
    let mut options = Options::new(&block, &context, &mut diagnostics);
    super::common::codec(&mut options);
    let codec = (plugin.build)(&mut options);
    options.finish();
    if diagnostics.has_errors() { Err(errors(&diagnostics)) } else { Ok(codec) }
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
    let encoders = codec.encoders.expect("a codec that writes");
    let mut out = Vec::new();
    for json in events {
        encoders.encode(&event(json), &mut out);
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
        dead.extend(deliveries.exceptions().filter_map(|(_, delivery)| match delivery {
            super::Delivery::Dead(reason) => Some(reason),
            _ => None,
        }));
        slot.output.close().await;
    }
    dead
}
