//! Listening for connections and datagrams.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket, lookup_host};
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::plugins::{Options, PluginError, Stop};

/// Connections that the kernel holds until they are accepted.
const BACKLOG: u32 = 1024;
/// Rest after a connection could not be accepted, most often because the process has too many.
const REST: Duration = Duration::from_millis(100);

/// Where to listen, or connect to.
#[derive(Clone, Debug)]
pub(in crate::plugins::inputs) struct Endpoint {
    pub host: String,
    pub port: u16,
}

impl Endpoint {
    /// Declares and reads `host` and `port`. Without a `default` the port is required.
    pub fn read(options: &mut Options<'_>, default: Option<i64>) -> Self {
        let host = options.string("host").doc("Address to listen on.").default("0.0.0.0".to_owned());
        let port = options.integer("port").doc("Port; 0 for any free one.");
        let port = match default {
            Some(default) => port.default(default),
            None => port.required(),
        };
        let port = u16::try_from(port).unwrap_or_else(|_| {
            options.invalid("port", "a port is between 0 and 65535");
            0
        });
        if port != 0 {
            options.context().claims.hold(format_args!("port {port}"));
        }
        Self { host, port }
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, PluginError> {
        let found = lookup_host((self.host.as_str(), self.port)).await;
        let found = found.map_err(|e| PluginError(format!("cannot resolve the host {}: {e}", self.host)))?;
        Ok(found.collect())
    }

    /// Listens for connections.
    pub async fn listen(&self) -> Result<TcpListener, PluginError> {
        raise_limit();
        let mut failed = None;
        for address in self.addresses().await? {
            match listen(address) {
                Ok(listener) => return Ok(listener),
                Err(error) => failed = Some(error),
            }
        }
        Err(self.refused(failed))
    }

    /// Receives datagrams.
    pub async fn receive(&self) -> Result<UdpSocket, PluginError> {
        let mut failed = None;
        for address in self.addresses().await? {
            match UdpSocket::bind(address).await {
                Ok(socket) => return Ok(socket),
                Err(error) => failed = Some(error),
            }
        }
        Err(self.refused(failed))
    }

    fn refused(&self, error: Option<std::io::Error>) -> PluginError {
        let Self { host, port } = self;
        let why = error.map_or_else(|| "the host has no address".to_owned(), |error| error.to_string());
        PluginError(format!("cannot listen on {host}:{port}: {why}"))
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Each connection is an open file: lets this process have as many as the system allows it.
fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum {
        // Where it is not allowed after all, the smaller limit stays.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

/// Accepts connections, each served by a task of its own, until the input is asked to stop; then waits for them.
pub(in crate::plugins::inputs) async fn accept<F>(
    listener: &TcpListener,
    stop: &Stop,
    serve: impl Fn(TcpStream, SocketAddr) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(ended) = connections.join_next(), if !connections.is_empty() => told(ended),
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(serve(stream, peer).instrument(tracing::Span::current()));
                }
                Err(error) => {
                    tracing::warn!(target: "logstash.inputs", "a connection could not be accepted: {error}");
                    tokio::time::sleep(REST).await;
                }
            },
        }
    }
    // One that waits for room in the queue ends with the queue at the latest.
    while let Some(ended) = connections.join_next().await {
        told(ended);
    }
}

fn told(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(target: "logstash.inputs", "a connection broke: {error}");
    }
}

/// The address as users write it: what came in over IPv6 but is IPv4 is shown as that.
pub(in crate::plugins::inputs) fn canonical(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip().to_canonical(), peer.port())
}
