//! `udp`: datagrams, each decoded for itself.
//!
//! One task empties the socket as fast as it can into a bounded waiting room, and `workers` tasks decode what waits
//! there. While the room is full the kernel drops datagrams; it counts them, and so does this input.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rustix::net::sockopt::{set_socket_recv_buffer_size, socket_recv_buffer_size};
use tokio::net::UdpSocket;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::Instrument;

use super::net::datagrams::{Burst, Datagrams, LARGEST, each_with};
use super::net::kernel_drops::KernelDrops;
use super::net::listener::Endpoint;
use super::net::marks;
use crate::event::{EventStream, FieldRef, Text, Value};
use crate::metrics::Counter;
use crate::plugins::{Decoders, Ecs, Input, InputPlugin, InputSink, Options, PluginError, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin = InputPlugin { name: "udp", summary: "Reads datagrams.", build };

/// Rest after the socket failed.
const REST: Duration = Duration::from_secs(5);
/// How often the kernel is asked what it dropped.
const LOOK: Duration = Duration::from_secs(5);

struct Udp {
    endpoint: Endpoint,
    largest: usize,
    receive_buffer: Option<usize>,
    workers: usize,
    room: usize,
    shared: Arc<Shared>,
    /// The socket until `run` takes it.
    socket: Option<UdpSocket>,
    counters: Counters,
}

/// What the decoding tasks need.
struct Shared {
    decoders: Decoders,
    source: FieldRef,
    events: Arc<Counter>,
}

struct Counters {
    listener_errors: Arc<Counter>,
    dropped: Arc<Counter>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let endpoint = Endpoint::read(options, None);
    let largest = options
        .integer("buffer_size")
        .doc("Bytes of a datagram that are read; the rest is cut off.")
        .default(LARGEST as i64);
    let receive_buffer =
        options.integer("receive_buffer_bytes").doc("Bytes that the kernel holds back for us.").optional();
    let workers = options.integer("workers").doc("Tasks that decode datagrams.").default(2);
    let room = options.integer("queue_size").doc("Datagrams that may wait to be decoded.").default(2000);
    let source = options.field("source_ip_fieldname").doc("Field that takes the sender's address.").optional();
    let decoders = options.decoder("codec", "plain", &[]);
    let ecs = Ecs::read(options);
    let source = source.unwrap_or_else(|| match ecs.is_disabled() {
        true => FieldRef::top("host"),
        false => FieldRef::path_of(&["host", "ip"]),
    });
    let mut count = |name: &'static str, given: i64, most: usize| {
        usize::try_from(given).ok().filter(|n| *n > 0).map(|n| n.min(most)).unwrap_or_else(|| {
            options.invalid(name, format!("`{name}` is at least 1"));
            1
        })
    };
    let largest = count("buffer_size", largest, LARGEST);
    let workers = count("workers", workers, 1024);
    let room = count("queue_size", room, Semaphore::MAX_PERMITS);
    let receive_buffer = receive_buffer.map(|bytes| count("receive_buffer_bytes", bytes, i32::MAX as usize));
    let metrics = &options.context().metrics;
    let counters =
        Counters { listener_errors: metrics.counter("errors.listener"), dropped: metrics.counter("kernel_drops") };
    for (name, value) in [("queue_size", room), ("workers", workers)] {
        metrics.counter(name).add(value as u64);
    }
    let shared = Arc::new(Shared { decoders, source, events: metrics.counter("events") });
    Box::new(Udp { endpoint, largest, receive_buffer, workers, room, shared, socket: None, counters })
}

#[async_trait]
impl Input for Udp {
    async fn register(&mut self) -> Result<(), PluginError> {
        self.socket = Some(self.open().await?);
        Ok(())
    }

    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => self.open().await?,
        };
        let room = Arc::new(Semaphore::new(self.room));
        let (send, receive) = mpsc::unbounded_channel();
        let receive = Arc::new(Mutex::new(receive));
        let mut workers = JoinSet::new();
        for _ in 0..self.workers {
            let (shared, receive, sink) = (self.shared.clone(), receive.clone(), sink.clone());
            workers.spawn(async move { shared.work(&receive, &sink).await }.instrument(tracing::Span::current()));
        }
        let drops = KernelDrops::of(socket.as_fd());
        let mut datagrams = Datagrams::new(socket, self.largest);
        tokio::select! {
            () = self.listen(&mut datagrams, &room, &send) => {}
            () = self.watch(drops) => {}
            () = stop.cancelled() => {}
        }
        drop(send);
        while let Some(ended) = workers.join_next().await {
            ended.map_err(|error| PluginError(format!("a worker broke: {error}")))?;
        }
        Ok(())
    }
}

impl Udp {
    async fn open(&self) -> Result<UdpSocket, PluginError> {
        let socket = self.endpoint.receive().await?;
        if let Some(wanted) = self.receive_buffer {
            let set = set_socket_recv_buffer_size(&socket, wanted);
            // The kernel gives twice of what it is asked for, up to net.core.rmem_max.
            let given = socket_recv_buffer_size(&socket).unwrap_or_default() / 2;
            if set.is_err() || given != wanted {
                tracing::warn!(target: "logstash.inputs.udp", receive_buffer_bytes = given,
                    "Unable to set receive_buffer_bytes to desired size. Requested {wanted} but obtained {given} bytes.");
            }
        }
        let address = socket.local_addr().map_err(PluginError::new)?;
        tracing::info!(target: "logstash.inputs.udp", address = %address, workers = self.workers,
            queue_size = self.room, "UDP listener started");
        Ok(socket)
    }

    async fn listen(&self, datagrams: &mut Datagrams, room: &Arc<Semaphore>, send: &mpsc::UnboundedSender<Waiting>) {
        loop {
            match datagrams.receive().await {
                Ok(burst) => {
                    // A burst may be larger than the room; it fits when that is empty.
                    let count = u32::try_from(burst.datagrams.len().min(self.room)).unwrap_or(1);
                    let Ok(permit) = room.clone().acquire_many_owned(count).await else { return };
                    if send.send(Waiting { burst, _place: permit }).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    self.counters.listener_errors.add(1);
                    tracing::error!(target: "logstash.inputs.udp", "UDP listener died: {error}");
                    sleep(REST).await;
                }
            }
        }
    }

    /// Counts what the kernel drops. Never ends.
    async fn watch(&self, mut drops: KernelDrops) {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let more = drops.more();
            if more > 0 {
                self.counters.dropped.add(more);
                tracing::warn!(target: "logstash.inputs.udp", count = more,
                    "the kernel dropped datagrams: the pipeline is slower than they come, or receive_buffer_bytes is small");
            }
        }
    }
}

/// Datagrams and their places in the waiting room.
struct Waiting {
    burst: Burst,
    _place: OwnedSemaphorePermit,
}

impl Shared {
    async fn work(&self, waiting: &Mutex<mpsc::UnboundedReceiver<Waiting>>, sink: &InputSink) {
        loop {
            let next = waiting.lock().await.recv().await;
            let Some(Waiting { burst, _place }) = next else { return };
            let (events, senders) = burst.decoded(&self.decoders);
            self.events.add(senders.len() as u64);
            let events = with_senders(sink.decorated(events), self.source.clone(), senders);
            if sink.push_decorated(events, None).await.is_err() {
                return;
            }
        }
    }
}

/// Sets each event's sender where the field is absent or null.
fn with_senders(events: EventStream, field: FieldRef, senders: Vec<Text>) -> EventStream {
    each_with(events, senders, move |event, sender| {
        if event.get(&field).is_none_or(Value::is_null) {
            marks::set(event, &field, Value::String(sender.clone()));
        }
    })
}
