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
use crate::plugins::{
    Deliveries, GivenBack, Lease, Options, Output, OutputBatch, OutputPlugin, PluginError, ProcessEnd, Stop,
};

/// The plugin.
pub const PLUGIN: OutputPlugin =
    OutputPlugin { name: "pipeline", summary: "Sends events to other pipelines of this process.", build };

/// How often it is looked for a receiver that is not there.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a pipeline that ends alone waits for what receivers have of it.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How often it is told that it is not there.
const TELL_EVERY: Duration = Duration::from_secs(60);

struct PipelineOutput {
    send_to: Vec<String>,
    /// Whether a receiver that is not there is waited for.
    ensures: bool,
    pipeline: Arc<str>,
    addresses: Arc<Addresses>,
    process_end: Arc<ProcessEnd>,
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
        process_end: context.process.get(),
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

    /// At the end of the process the receivers end once nobody sends any more, and then what they had is dealt with.
    /// When only this pipeline ends they go on, and may be held up for as long as they like.
    async fn close(&self) {
        self.senders.lock().clear();
        tokio::select! {
            () = self.on_their_way.none_left() => {}
            () = self.has_waited_enough() => tracing::warn!(target: "logstash.outputs.pipeline",
                count = self.on_their_way.count.load(Ordering::Acquire),
                "receivers still have batches of this pipeline; a source that can replay sends their events again"),
        }
    }
}

impl PipelineOutput {
    /// Gives a copy of each event to whoever listens on an address, and waits for him.
    async fn send(&self, sender: &Sender, batch: &OutputBatch<'_>, stop: &Stop) -> Result<(), GivenBack> {
        let mut over = std::pin::pin!(self.is_over(stop));
        loop {
            let pushed = match sender.listener() {
                Some(sink) => {
                    let events: Vec<Event> = batch.events.iter().map(|event| (*event).clone()).collect();
                    let share = Share::of(batch.lease, &self.on_their_way);
                    let pushed = sink.hand_over(events, share.lease()).await.is_ok();
                    if !pushed {
                        share.take_back();
                    }
                    pushed
                }
                None => false,
            };
            if pushed {
                return Ok(());
            }
            if !sender.is_expected() {
                if !self.ensures {
                    self.discarded.add(batch.events.len() as u64);
                    return Ok(());
                }
                self.tell(&sender.address);
            }
            tokio::select! {
                () = &mut over => return Err(GivenBack),
                () = sender.change(LOOK_EVERY) => {}
            }
        }
    }

    /// Until a receiver that is not there is waited for no longer. When only this pipeline ends, it most likely comes
    /// back, and then nothing has to be sent again.
    async fn is_over(&self, stop: &Stop) {
        stop.cancelled().await;
        tokio::select! {
            () = tokio::time::sleep(LONGEST_WAIT) => {}
            () = self.process_end.0.cancelled() => {}
        }
    }

    async fn has_waited_enough(&self) {
        tokio::time::sleep(LONGEST_WAIT).await;
        while self.process_end.0.is_cancelled() {
            tokio::time::sleep(LONGEST_WAIT).await;
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

/// A share in a batch that is handed to a receiver. A receiver that ends while it is asked gives it back unharmed: the
/// batch goes to the next one then, and its source must not take it for failed.
struct Share(Arc<Handed>);

struct Handed {
    /// Until the receiver has dealt with it. Dropped with this, the batch has failed.
    lease: Mutex<Option<Lease>>,
    on_their_way: Arc<OnTheirWay>,
}

impl Share {
    fn of(batch: &Lease, on_their_way: &Arc<OnTheirWay>) -> Self {
        on_their_way.count.fetch_add(1, Ordering::AcqRel);
        let lease = Mutex::new(Some(batch.clone()));
        Self(Arc::new(Handed { lease, on_their_way: on_their_way.clone() }))
    }

    /// For the receiver.
    fn lease(&self) -> Lease {
        let handed = self.0.clone();
        Lease::new(move |ok| {
            if ok {
                handed.settle();
            }
        })
    }

    /// The receiver has gone without it.
    fn take_back(self) {
        self.0.settle();
    }
}

impl Handed {
    fn settle(&self) {
        let lease = self.lease.lock().take();
        lease.into_iter().for_each(Lease::settle);
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        // The source hears of it before a pipeline that waits for this does.
        *self.lease.get_mut() = None;
        self.on_their_way.count.fetch_sub(1, Ordering::AcqRel);
        self.on_their_way.returned.notify_waiters();
    }
}
