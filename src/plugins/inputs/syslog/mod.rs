//! `syslog`: lines of BSD syslog, over TCP and UDP at once.
//!
//! Connections only cut what they read into messages. The workers make events of them and take their lines apart, so
//! that a single fast sender keeps all of them busy.

mod frames;
mod line;
mod pattern;
mod priority;
mod reader;
mod rfc5424;
#[cfg(test)]
mod tests;
mod times;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::{sleep, timeout};

use super::net::connection::{Connection, End};
use super::net::datagrams::{Datagrams, LARGEST, each_with};
use super::net::listener::{Endpoint, accept, canonical};
use super::net::proxy;
use super::net::reader::Readers;
use crate::event::{EventStream, Text};
use crate::metrics::Counter;
use crate::plugins::{Input, InputPlugin, InputSink, Options, PluginError, Stop};

pub use reader::Reader;
use times::Times;

/// The plugin.
pub const PLUGIN: InputPlugin = InputPlugin { name: "syslog", summary: "Reads syslog over TCP and UDP.", build };

/// Longest time from a connection to the end of its PROXY line.
const GREETING: Duration = Duration::from_secs(10);
/// Rest after the UDP socket failed.
const REST: Duration = Duration::from_secs(5);

struct Syslog {
    endpoint: Endpoint,
    shared: Arc<Shared>,
    sockets: Option<(TcpListener, UdpSocket)>,
}

/// What all connections need.
struct Shared {
    reader: Reader,
    readers: Readers,
    proxied: bool,
    counters: Counters,
}

struct Counters {
    received: Arc<Counter>,
    events: Arc<Counter>,
    connections: Arc<Counter>,
    listener_errors: Arc<Counter>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let endpoint = Endpoint::read(options, Some(514));
    let proxied = options
        .boolean("proxy_protocol")
        .doc("Whether connections begin with the line of a proxy (PROXY protocol 1).")
        .default(false);
    let reader = Reader::read(options);
    let metrics = &options.context().metrics;
    let counters = Counters {
        received: metrics.counter("messages_received"),
        events: metrics.counter("events"),
        connections: metrics.counter("connections"),
        listener_errors: metrics.counter("errors.listener"),
    };
    let shared = Arc::new(Shared { reader, readers: Readers::default(), proxied, counters });
    Box::new(Syslog { endpoint, shared, sockets: None })
}

#[async_trait]
impl Input for Syslog {
    async fn register(&mut self) -> Result<(), PluginError> {
        self.sockets = Some(self.open().await?);
        Ok(())
    }

    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        let (listener, socket) = match self.sockets.take() {
            Some(sockets) => sockets,
            None => self.open().await?,
        };
        let tcp = accept(&listener, stop, |stream, peer| {
            let (shared, sink, stop) = (self.shared.clone(), sink.clone(), stop.clone());
            async move { shared.serve(stream, canonical(peer), &sink, &stop).await }
        });
        let udp = self.shared.receive(Datagrams::new(socket, LARGEST), sink, stop);
        tokio::join!(tcp, udp);
        Ok(())
    }
}

impl Syslog {
    /// Both sockets have the same port, also when any free one is asked for.
    async fn open(&self) -> Result<(TcpListener, UdpSocket), PluginError> {
        let listener = self.endpoint.listen().await?;
        let address = listener.local_addr().map_err(PluginError::new)?;
        let socket = Endpoint { port: address.port(), ..self.endpoint.clone() }.receive().await?;
        tracing::info!(target: "logstash.inputs.syslog", address = %address, "Starting syslog tcp and udp listeners");
        Ok((listener, socket))
    }
}

impl Shared {
    async fn serve(&self, mut stream: TcpStream, peer: SocketAddr, sink: &InputSink, stop: &Stop) {
        self.counters.connections.add(1);
        let place = self.readers.enter();
        let mut address = Text::from(peer.ip().to_string());
        if self.proxied {
            let proxied = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                proxied = timeout(GREETING, proxy::read(&mut stream)) => proxied,
            };
            match proxied {
                Ok(Ok(proxied)) => address = proxied.source,
                Ok(Err(error)) => {
                    return tracing::warn!(target: "logstash.inputs.syslog", "{peer}: connection closed: {error}");
                }
                Err(_) => {
                    return tracing::warn!(target: "logstash.inputs.syslog",
                        "{peer}: connection closed: no PROXY line came");
                }
            }
        }
        let mark = |sink: &InputSink, events: EventStream| {
            self.count(events.len());
            self.reader.on(sink.decorated(events), address.clone())
        };
        let connection = Connection { decoder: self.reader.decoder(), mark, place, silence: None };
        if let End::Broken(error) = connection.run(Box::new(stream), sink, stop).await {
            tracing::warn!(target: "logstash.inputs.syslog", "{peer}: connection closed: {error}");
        }
    }

    async fn receive(&self, mut datagrams: Datagrams, sink: &InputSink, stop: &Stop) {
        loop {
            let received = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                received = datagrams.receive() => received,
            };
            match received {
                Ok(burst) => {
                    let (events, senders) = burst.decoded(self.reader.decoders());
                    self.count(senders.len());
                    let (reader, times) = (self.reader.clone(), Times::default());
                    let events = each_with(sink.decorated(events), senders, move |event, peer| {
                        reader.take_apart(event, peer, &times);
                    });
                    if sink.push_decorated(events, None).await.is_err() {
                        return;
                    }
                }
                Err(error) => {
                    self.counters.listener_errors.add(1);
                    tracing::warn!(target: "logstash.inputs.syslog", "syslog udp listener died: {error}");
                    tokio::select! {
                        () = sleep(REST) => {}
                        () = stop.cancelled() => {}
                    }
                }
            }
        }
    }

    fn count(&self, messages: usize) {
        self.counters.received.add(messages as u64);
        self.counters.events.add(messages as u64);
    }
}
