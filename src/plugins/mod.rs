//! What a plugin is, and what it is given.
//!
//! A plugin is one file under `inputs/`, `filters/`, `codecs/` or `outputs/` with a `PLUGIN` constant, and one line in
//! [`registry`]. Its `build` function reads the options and makes the plugin without touching the world, so that a
//! configuration can be checked anywhere; `register` opens what has to be open before the first event.

pub(crate) mod addresses;
pub(crate) mod batch;
pub mod codecs;
pub mod common;
mod context;
pub mod convert;
pub(crate) mod csv;
mod dead_letters;
mod decoder;
pub mod describe;
mod elasticsearch;
pub mod filters;
pub mod inputs;
#[cfg(feature = "kafka")]
mod kafka;
pub(crate) mod lasting_ids;
mod network;
pub mod options;
pub mod outputs;
mod refresh;
pub mod registry;
mod ruby;
mod schedule;
mod server_tls;
mod sink;
#[cfg(test)]
pub(crate) mod testing;
pub mod tls;
mod yaml;

use std::sync::Arc;

use async_trait::async_trait;

pub use batch::{Emitter, FilterBatch, Outcome};
pub(crate) use codecs::message::MessageEvents;
pub use context::{Claims, Commons, Context, ProcessEnd};
pub use dead_letters::{DeadLetterQueue, DeadLetters, Sent};
pub use decoder::{Decoder, Decoders, Records};
pub use options::Options;
pub use sink::InputSink;
pub use tokio_util::sync::CancellationToken as Stop;

pub use crate::acknowledgement::{BatchId, Held, Lease, Progress, Promises};
use crate::event::Event;
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

    /// Whether it is flushed every five seconds without `periodic_flush`.
    fn flushes_by_itself(&self) -> bool {
        false
    }

    /// Gives out events that were held back, with [`FilterBatch::release`]. They go on with the next filter. `batch`
    /// holds no events; `last` at the end of the pipeline.
    fn flush(&self, _batch: &mut FilterBatch<'_>, _last: bool) {}

    /// Whether what it does to an event can hang on earlier ones. Test cases do not share such a filter.
    fn remembers(&self) -> bool {
        self.flushes()
    }

    /// The alternatives in its options, such as the patterns of a list, and whether each has matched so far. Test
    /// coverage asks for them.
    fn alternatives(&self) -> Vec<Alternative<'_>> {
        Vec::new()
    }

    /// Called once after the last event.
    fn close(&self) {}
}

/// One of several ways in which a filter may match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alternative<'f> {
    /// As it is written in the configuration.
    pub text: &'f str,
    /// Whether an event has matched it.
    pub matched: bool,
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

    /// Whether it asked the pipeline to stop because it can never deliver anything. The pipeline counts as broken then.
    fn has_failed(&self) -> bool {
        false
    }

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The other side has it, or it was dropped because the user asked for that.
    Delivered,
    /// Not now; the text says why.
    Retry(String),
    /// Never; the text is the reason in the dead letter queue.
    Dead(String),
}

/// The answer for a whole batch.
#[derive(Debug)]
pub enum Deliveries {
    /// Every event was delivered.
    All,
    /// One answer per event, in the order of the batch. An event without one is offered again.
    Each(Vec<Delivery>),
}

impl Deliveries {
    /// The same answer for all `count` events.
    pub fn same(count: usize, delivery: &Delivery) -> Self {
        Self::Each(vec![delivery.clone(); count])
    }

    /// All of `count` events were delivered but these, which never will be, and why.
    pub fn all_but_dead(count: usize, dead: impl IntoIterator<Item = (usize, String)>) -> Self {
        let mut each: Option<Vec<Delivery>> = None;
        for (at, reason) in dead {
            let each = each.get_or_insert_with(|| vec![Delivery::Delivered; count]);
            if let Some(delivery) = each.get_mut(at) {
                *delivery = Delivery::Dead(reason);
            }
        }
        each.map_or(Self::All, Self::Each)
    }
}

/// Events to bytes.
pub trait Encoder: Send + Sync {
    /// Appends one event, or nothing when it has no form in this codec; it is dead then for this output.
    fn encode(&self, event: &Event, out: &mut Vec<u8>) -> Result<(), EncodeError>;

    /// What each event ends with, if that is always the same.
    fn delimiter(&self) -> Option<&[u8]> {
        None
    }
}

/// Why an event has no form in a codec; the reason in the dead letter queue.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct EncodeError(pub String);

/// The encoder of an output, shared by its workers.
pub type SharedEncoder = Arc<dyn Encoder>;

/// What a codec can do.
#[derive(Default)]
pub struct Codec {
    /// Makes a decoder for each stream.
    pub decoders: Option<Decoders>,
    /// Encodes for an output.
    pub encoder: Option<SharedEncoder>,
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
