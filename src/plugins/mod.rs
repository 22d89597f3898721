//! What a plugin is, and what it is given.
//!
//! A plugin is one file under `inputs/`, `filters/`, `codecs/` or `outputs/` with a `PLUGIN` constant, and one line in
//! [`registry`]. Its `build` function reads the options and makes the plugin without touching the world, so that a
//! configuration can be checked anywhere; `register` opens what has to be open before the first event.

pub mod codecs;
pub mod common;
mod context;
pub mod convert;
mod dead_letters;
pub mod filters;
pub mod inputs;
pub mod options;
pub mod outputs;
pub mod registry;
#[cfg(test)]
pub(crate) mod testing;

use std::sync::Arc;

use async_trait::async_trait;
use hipstr::HipByt;

pub use context::Context;
pub use dead_letters::{DeadLetterQueue, DeadLetters, Sent};
pub use options::Options;
pub use tokio_util::sync::CancellationToken as Stop;

use crate::event::{Event, EventStream};
pub use crate::pipeline::{Emitter, FilterBatch, InputSink, Lease, Outcome};
pub use crate::settings::{Ecs, Secret};

/// Why a plugin cannot start or go on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PluginError(pub String);

impl PluginError {
    /// From anything that can be shown.
    pub fn new(message: impl std::fmt::Display) -> Self {
        Self(message.to_string())
    }
}

/// Brings events in.
#[async_trait]
pub trait Input: Send {
    /// Opens what must be open before the pipeline counts as started. An error stops the pipeline.
    async fn register(&mut self) -> Result<(), PluginError> {
        Ok(())
    }

    /// Reads until the source ends or `stop` is cancelled. After an error it is called again, one second later.
    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError>;

    /// Called once after the last batch was dealt with: the time to save a position.
    async fn close(&mut self) {}

    /// Whether a pipeline with this input can be reloaded.
    fn is_reloadable(&self) -> bool {
        true
    }
}

/// Changes events. Called by all workers at once.
pub trait Filter: Send + Sync {
    /// Opens what must be open before the pipeline counts as started. An error stops the pipeline.
    fn register(&self) -> Result<(), PluginError> {
        Ok(())
    }

    /// Works on the events that reached this filter, in order; may change, cancel or add events.
    fn filter(&self, batch: &mut FilterBatch<'_>);

    /// Whether [`Filter::flush`] does anything. Such a filter is flushed every five seconds when it has
    /// `periodic_flush => true`, and always once at the end.
    fn flushes(&self) -> bool {
        false
    }

    /// Gives out events that were held back. They go on with the next filter. `last` at the end of the pipeline.
    fn flush(&self, _last: bool) -> Vec<Event> {
        Vec::new()
    }

    /// Whether what it does to an event can hang on earlier ones. Test cases do not share such a filter.
    fn remembers(&self) -> bool {
        self.flushes()
    }

    /// Called once after the last event.
    fn close(&self) {}
}

/// Takes events out. Called by all workers at once.
#[async_trait]
pub trait Output: Send + Sync {
    /// Opens what must be open before the pipeline counts as started. An error stops the pipeline.
    async fn register(&self, _stop: &Stop) -> Result<(), PluginError> {
        Ok(())
    }

    /// Delivers a batch and answers for each of its events. What the answer calls [`Delivery::Retry`] is offered
    /// again after a wait, and only that; an output with a retry rhythm of its own waits inside, until `stop`.
    async fn write(&self, batch: &OutputBatch<'_>, stop: &Stop) -> Result<Deliveries, GivenBack>;

    /// Called once after the last batch.
    async fn close(&self) {}
}

/// The events of one batch that lead to one output, in order.
pub struct OutputBatch<'a> {
    /// Never empty.
    pub events: &'a [&'a Event],
    /// The batch stays unacknowledged at its sources while a clone of this lives.
    pub lease: &'a Lease,
}

/// The pipeline is stopping and the batch could not be delivered: it is not acknowledged, so that a source that can
/// replay sends it again.
#[derive(Debug)]
pub struct GivenBack;

/// What became of one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// The other side has it, or it was dropped because the user asked for that.
    #[default]
    Delivered,
    /// Not now; the text says why.
    Retry(String),
    /// Never; the text is the reason in the dead letter queue.
    Dead(String),
}

/// The answer for a whole batch; delivered unless said otherwise.
#[derive(Debug, Default)]
pub struct Deliveries(Vec<(usize, Delivery)>);

impl Deliveries {
    /// All delivered.
    pub fn all() -> Self {
        Self::default()
    }

    /// The same answer for all `count` events.
    pub fn same(count: usize, delivery: &Delivery) -> Self {
        Self((0..count).map(|i| (i, delivery.clone())).collect())
    }

    /// Says what became of event `index` of the batch.
    pub fn set(&mut self, index: usize, delivery: Delivery) {
        self.0.push((index, delivery));
    }

    /// The events that were not delivered.
    pub fn exceptions(self) -> impl Iterator<Item = (usize, Delivery)> {
        self.0.into_iter()
    }

    /// Whether every event was delivered.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }
}

/// Bytes of one stream (a connection, a file) to events.
pub trait Decoder: Send {
    /// Takes the next bytes of the stream, in pieces of any size. Text of the events shares the chunk.
    fn decode(&mut self, chunk: HipByt<'static>, out: &mut Vec<Event>);

    /// As [`Decoder::decode`], for inputs that push a chunk as a whole. A decoder that can count its records without
    /// decoding them leaves that to the workers.
    fn decode_chunk(&mut self, chunk: HipByt<'static>) -> EventStream {
        let mut events = Vec::new();
        self.decode(chunk, &mut events);
        events.into()
    }

    /// Gives out what is still buffered at the end of the stream.
    fn flush(&mut self, _out: &mut Vec<Event>) {}
}

/// Events to bytes.
pub trait Encoder: Send + Sync {
    /// Appends one event.
    fn encode(&self, event: &Event, out: &mut Vec<u8>);

    /// What each event ends with, if that is always the same.
    fn delimiter(&self) -> Option<&[u8]> {
        None
    }
}

/// What a codec can do.
#[derive(Default)]
pub struct Codec {
    /// Makes a decoder for each stream.
    pub decoders: Option<Decoders>,
    /// Encodes for an output.
    pub encoders: Option<Encoders>,
}

/// Makes a decoder for each stream of an input.
#[derive(Clone)]
pub struct Decoders(Arc<dyn Fn() -> Box<dyn Decoder> + Send + Sync>);

impl Decoders {
    /// From a function that makes one.
    pub fn new<D: Decoder + 'static>(make: impl Fn() -> D + Send + Sync + 'static) -> Self {
        Self(Arc::new(move || Box::new(make())))
    }

    /// A decoder for a new stream.
    pub fn create(&self) -> Box<dyn Decoder> {
        (self.0)()
    }

    /// The stand-in of a codec that could not be built; its pipeline never starts.
    pub(crate) fn none() -> Self {
        struct Nothing;
        impl Decoder for Nothing {
            fn decode(&mut self, _: HipByt<'static>, _: &mut Vec<Event>) {}
        }
        Self::new(|| Nothing)
    }
}

/// The encoder of an output, shared by its workers.
#[derive(Clone)]
pub struct Encoders(Arc<dyn Encoder>);

impl Encoders {
    /// Shares an encoder.
    pub fn new(encoder: impl Encoder + 'static) -> Self {
        Self(Arc::new(encoder))
    }

    /// Appends one event.
    pub fn encode(&self, event: &Event, out: &mut Vec<u8>) {
        self.0.encode(event, out);
    }

    /// See [`Encoder::delimiter`].
    pub fn delimiter(&self) -> Option<&[u8]> {
        self.0.delimiter()
    }

    /// The stand-in of a codec that could not be built; its pipeline never starts.
    pub(crate) fn none() -> Self {
        struct Nothing;
        impl Encoder for Nothing {
            fn encode(&self, _: &Event, _: &mut Vec<u8>) {}
        }
        Self::new(Nothing)
    }
}

/// An input as the registry knows it.
#[derive(Clone, Copy)]
pub struct InputPlugin {
    /// As in a `.conf`.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Reads the options.
    pub build: fn(&mut Options<'_>) -> Box<dyn Input>,
}

/// A filter as the registry knows it.
#[derive(Clone, Copy)]
pub struct FilterPlugin {
    /// As in a `.conf`.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Reads the options.
    pub build: fn(&mut Options<'_>) -> Box<dyn Filter>,
}

/// An output as the registry knows it.
#[derive(Clone, Copy)]
pub struct OutputPlugin {
    /// As in a `.conf`.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Reads the options.
    pub build: fn(&mut Options<'_>) -> Box<dyn Output>,
}

/// A codec as the registry knows it.
#[derive(Clone, Copy)]
pub struct CodecPlugin {
    /// As in a `.conf`.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Reads the options.
    pub build: fn(&mut Options<'_>) -> Codec,
}
