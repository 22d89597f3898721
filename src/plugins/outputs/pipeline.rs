//! `pipeline`: sends events to other pipelines of the process.
//!
//! A receiver whose queue is full makes this pipeline wait, and so does one that is not there. The sources of this
//! pipeline hear that an event is dealt with once the receivers have dealt with it: a crash loses nothing that lies in
//! a queue between pipelines.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::event::Event;
use crate::metrics::Counter;
use crate::plugins::addresses::{Addresses, Sender};
use crate::plugins::{Deliveries, GivenBack, Lease, Options, Output, OutputBatch, OutputPlugin, PluginError, Stop};

/// The plugin.
pub const PLUGIN: OutputPlugin =
    OutputPlugin { name: "pipeline", summary: "Sends events to other pipelines of this process.", build };

/// How often it is looked for a receiver that is not there.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often it is told that it is not there.
const TELL_EVERY: Duration = Duration::from_secs(60);

struct PipelineOutput {
    send_to: Vec<String>,
    /// Whether a receiver that is not there is waited for.
    ensures: bool,
    pipeline: Arc<str>,
    addresses: Arc<Addresses>,
    senders: Mutex<Vec<Arc<Sender>>>,
    on_their_way: Arc<OnTheirWay>,
    discarded: Arc<Counter>,
    told: Mutex<Option<Instant>>,
}

/// Batches that receivers have and have not dealt with.
#[derive(Default)]
struct OnTheirWay {
    count: AtomicUsize,
    returned: Notify,
}

fn build(options: &mut Options<'_>) -> Box<dyn Output> {
    let send_to = options.strings("send_to").doc("Addresses of `pipeline` inputs.").required();
    if send_to.is_empty() {
        options.invalid("send_to", "`send_to` needs an address");
    }
    let ensures = options
        .boolean("ensure_delivery")
        .doc("Whether to wait for a receiver that is not there; else its events are dropped and counted.")
        .default(true);
    options.idle_codec("events go whole to other pipelines");
    let context = options.context();
    Box::new(PipelineOutput {
        send_to,
        ensures,
        pipeline: context.pipeline_id.clone(),
        addresses: context.process.get::<Addresses>(),
        senders: Mutex::default(),
        on_their_way: Arc::default(),
        discarded: context.metrics.counter("discarded"),
        told: Mutex::default(),
    })
}

#[async_trait]
impl Output for PipelineOutput {
    async fn register(&self, _: &Stop) -> Result<(), PluginError> {
        let attach = |address: &String| Arc::new(self.addresses.attach(address, &self.pipeline));
        *self.senders.lock() = self.send_to.iter().map(attach).collect();
        Ok(())
    }

    async fn write(&self, batch: &OutputBatch<'_>, stop: &Stop) -> Result<Deliveries, GivenBack> {
        let senders = self.senders.lock().clone();
        for sender in &senders {
            self.send(sender, batch, stop).await?;
        }
        Ok(Deliveries::All)
    }

    /// The receivers end once nobody sends any more, and then what they had is dealt with.
    async fn close(&self) {
        self.senders.lock().clear();
        self.on_their_way.none_left().await;
    }
}

impl PipelineOutput {
    /// Gives a copy of each event to whoever listens on an address, and waits for him.
    async fn send(&self, sender: &Sender, batch: &OutputBatch<'_>, stop: &Stop) -> Result<(), GivenBack> {
        loop {
            let pushed = match sender.listener() {
                Some(sink) => {
                    let events: Vec<Event> = batch.events.iter().map(|event| (*event).clone()).collect();
                    sink.push(events, Some(self.on_their_way.lease(batch.lease))).await.is_ok()
                }
                None => false,
            };
            if pushed {
                return Ok(());
            }
            if !self.ensures {
                self.discarded.add(batch.events.len() as u64);
                return Ok(());
            }
            if stop.is_cancelled() {
                return Err(GivenBack);
            }
            self.tell(&sender.address);
            tokio::select! {
                () = sender.change(LOOK_EVERY) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    fn tell(&self, address: &str) {
        let mut told = self.told.lock();
        if told.is_none_or(|at| at.elapsed() >= TELL_EVERY) {
            *told = Some(Instant::now());
            tracing::warn!(target: "logstash.outputs.pipeline",
                "Attempted to send event to '{address}' but that address was unavailable; events wait until a pipeline \
                 listens there");
        }
    }
}

impl OnTheirWay {
    /// A lease for a receiver. When it comes back, so does its share in `batch`.
    fn lease(self: &Arc<Self>, batch: &Lease) -> Lease {
        self.count.fetch_add(1, Ordering::AcqRel);
        let (own, batch) = (self.clone(), batch.clone());
        Lease::new(move |ok| {
            if ok {
                batch.settle();
            } else {
                drop(batch);
            }
            own.count.fetch_sub(1, Ordering::AcqRel);
            own.returned.notify_waiters();
        })
    }

    async fn none_left(&self) {
        loop {
            let returned = self.returned.notified();
            if self.count.load(Ordering::Acquire) == 0 {
                return;
            }
            returned.await;
        }
    }
}
