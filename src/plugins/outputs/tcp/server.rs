//! The end that is connected to: every client gets every event from when it came.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use super::payload::Payload;
use crate::metrics::{Counter, PluginMetrics};
use crate::plugins::{PluginError, Stop};

/// Events that may wait for a client. One that is slower is dropped.
const WAITING: usize = 1_000;
/// Longest TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Rest after a connection could not be accepted.
const REST: Duration = Duration::from_millis(100);
/// How long clients may take for what waits for them at the end.
const PARTING: Duration = Duration::from_secs(5);

/// The clients of an output.
pub(super) struct Server {
    host: String,
    port: u16,
    tls: Option<TlsAcceptor>,
    clients: Arc<Clients>,
    /// Events that nobody was there for.
    unheard: Arc<Counter>,
    tasks: TaskTracker,
    closed: Stop,
}

#[derive(Default)]
struct Clients(Mutex<Vec<Client>>);

struct Client {
    name: String,
    queue: UnboundedSender<Arc<Payload>>,
    /// Events in its queue.
    waiting: Arc<AtomicUsize>,
    /// Ends its task at once.
    dropped: Stop,
}

impl Server {
    /// Not yet listening.
    pub fn new(host: String, port: u16, tls: Option<TlsAcceptor>, metrics: &PluginMetrics) -> Self {
        let unheard = metrics.counter("events_without_client");
        Self { host, port, tls, clients: Arc::default(), unheard, tasks: TaskTracker::new(), closed: Stop::new() }
    }

    /// Listens.
    pub async fn open(&self) -> Result<(), PluginError> {
        let refused = |e| PluginError(format!("cannot listen on {}:{}: {e}", self.host, self.port));
        let addresses: Vec<_> = lookup_host((self.host.as_str(), self.port)).await.map_err(refused)?.collect();
        let listener = TcpListener::bind(addresses.as_slice()).await.map_err(refused)?;
        let address = listener.local_addr().map_err(PluginError::new)?;
        tracing::info!(target: "logstash.outputs.tcp", address = %address, ssl_enabled = self.tls.is_some(),
            "Starting tcp output listener");
        let accept = accept(listener, self.tls.clone(), self.clients.clone(), self.tasks.clone(), self.closed.clone());
        self.tasks.spawn(accept.instrument(tracing::Span::current()));
        Ok(())
    }

    /// Hands a payload to every client.
    pub fn send(&self, payload: Payload) {
        let count = payload.count();
        let payload = Arc::new(payload);
        let mut clients = self.clients.0.lock();
        clients.retain(|client| client.take(&payload, count));
        if clients.is_empty() {
            self.unheard.add(count as u64);
        }
    }

    /// Lets clients have what waits for them.
    pub async fn close(&self) {
        self.closed.cancel();
        // Their tasks end when nothing more can come.
        let dropped: Vec<Stop> = self.clients.0.lock().drain(..).map(|client| client.dropped).collect();
        self.tasks.close();
        if timeout(PARTING, self.tasks.wait()).await.is_err() {
            dropped.iter().for_each(Stop::cancel);
        }
    }
}

impl Client {
    /// Whether the client is still there and fast enough.
    fn take(&self, payload: &Arc<Payload>, count: usize) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        if waiting > 0 && waiting + count > WAITING {
            tracing::warn!(target: "logstash.outputs.tcp",
                "{}: the client does not read as fast as events come and was dropped", self.name);
            self.dropped.cancel();
            return false;
        }
        self.waiting.fetch_add(count, Ordering::Relaxed);
        self.queue.send(payload.clone()).is_ok()
    }
}

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    clients: Arc<Clients>,
    tasks: TaskTracker,
    closed: Stop,
) {
    loop {
        let accepted = tokio::select! {
            () = closed.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (queue, payloads) = unbounded_channel();
                let (waiting, dropped) = (Arc::new(AtomicUsize::new(0)), Stop::new());
                let feed =
                    Feed { name: peer.to_string(), payloads, waiting: waiting.clone(), dropped: dropped.clone() };
                clients.0.lock().push(Client { name: peer.to_string(), queue, waiting, dropped });
                tasks.spawn(feed.run(stream, tls.clone()).instrument(tracing::Span::current()));
            }
            Err(error) => {
                tracing::warn!(target: "logstash.outputs.tcp", "a connection could not be accepted: {error}");
                sleep(REST).await;
            }
        }
    }
}

/// A client's end of its queue.
struct Feed {
    name: String,
    payloads: UnboundedReceiver<Arc<Payload>>,
    waiting: Arc<AtomicUsize>,
    dropped: Stop,
}

impl Feed {
    async fn run(mut self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        let dropped = self.dropped.clone();
        let fed = async {
            match tls {
                None => self.feed(stream).await,
                Some(tls) => match timeout(HANDSHAKE, tls.accept(stream)).await {
                    Ok(stream) => self.feed(stream?).await,
                    Err(_) => Err(std::io::ErrorKind::TimedOut.into()),
                },
            }
        };
        let ended = tokio::select! {
            ended = fed => ended,
            () = dropped.cancelled() => return,
        };
        if let Err(error) = ended {
            tracing::info!(target: "logstash.outputs.tcp", "{}: the client has gone: {error}", self.name);
        }
    }

    async fn feed(&mut self, mut stream: impl AsyncWrite + Unpin) -> std::io::Result<()> {
        while let Some(payload) = self.payloads.recv().await {
            stream.write_all(&payload.bytes).await?;
            stream.flush().await?;
            self.waiting.fetch_sub(payload.count(), Ordering::Relaxed);
        }
        stream.shutdown().await
    }
}
