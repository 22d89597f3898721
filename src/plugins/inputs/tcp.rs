//! `tcp`: streams of bytes, from whoever connects or from a server.
//!
//! Each connection has a decoder of its own. There is no reply in the protocol: what was read is in the queue, and
//! while that is full nothing more is read.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rustix::net::sockopt::set_socket_keepalive;
use rustls::pki_types::ServerName;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::net::connection::{Connection, End, Stream};
use super::net::listener::{Endpoint, accept, canonical};
use super::net::marks::Marks;
use super::net::names::Names;
use super::net::proxy::{self, Proxied};
use super::net::reader::Readers;
use crate::event::{FieldRef, Text, Value};
use crate::plugins::tls::{self, ClientAuthentication, Family, Sides};
use crate::plugins::{Decoders, Ecs, Input, InputPlugin, InputSink, Options, PluginError, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin = InputPlugin { name: "tcp", summary: "Reads from TCP connections.", build };

/// Longest time from a connection to the end of its TLS handshake or PROXY line.
const GREETING: Duration = Duration::from_secs(10);
/// Rest after a server could not be reached.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);

struct Tcp {
    mode: Mode,
    /// Whether the codec is `json`, which users take for one document per connection or read.
    is_json: bool,
    listener: Option<TcpListener>,
    shared: Arc<Shared>,
}

enum Mode {
    Server(Option<TlsAcceptor>),
    Client(Option<TlsConnector>),
}

/// What all connections need.
struct Shared {
    endpoint: Endpoint,
    decoders: Decoders,
    names: Names,
    readers: Readers,
    proxied: bool,
    keep_alive: bool,
    ecs: Ecs,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let endpoint = Endpoint::read(options, None);
    let mode = options
        .word("mode", &["server", "client"])
        .doc("Whether to listen, or to connect to `host`.")
        .default("server".to_owned());
    let proxied = options
        .boolean("proxy_protocol")
        .doc("Whether connections begin with the line of a proxy (PROXY protocol 1).")
        .default(false);
    let keep_alive = options
        .boolean("tcp_keep_alive")
        .doc("Whether the system looks after peers that are silent for hours.")
        .default(false);
    let lookup = options
        .boolean("dns_reverse_lookup_enabled")
        .doc("Whether `host` is the peer's name, not its address.")
        .default(true);
    let decoders = options.decoder("codec", "line", &[("plain", "line"), ("json", "json_lines")]);
    let is_json = options.given_codec("codec").is_some_and(|codec| codec == "json");
    let ecs = Ecs::read(options);
    let mode = if mode == "client" { client(options) } else { server(options) };
    tls::refuse_old_names(options);
    options.obsolete("data_timeout", "It has no effect; leave it out.");
    let names = Names::new(lookup);
    let readers = Readers::default();
    let shared = Shared { endpoint, decoders, names, readers, proxied, keep_alive, ecs };
    Box::new(Tcp { mode, is_json, listener: None, shared: Arc::new(shared) })
}

fn server(options: &mut Options<'_>) -> Mode {
    let family = Family::read(options, Sides::Both, false);
    let extra = extra_chain(options);
    let config = family.server(options, ClientAuthentication::Required, &extra);
    Mode::Server(config.map(TlsAcceptor::from))
}

fn client(options: &mut Options<'_>) -> Mode {
    let family = Family::read(options, Sides::Both, false);
    if !extra_chain(options).is_empty() {
        options.invalid("ssl_extra_chain_certs", "a client puts all its certificates into `ssl_certificate`");
    }
    Mode::Client(family.client(options).map(|config| TlsConnector::from(Arc::new(config))))
}

fn extra_chain(options: &mut Options<'_>) -> Vec<PathBuf> {
    let paths = options.paths("ssl_extra_chain_certs").doc("PEM files with certificates to send behind our own.");
    paths.optional().unwrap_or_default()
}

#[async_trait]
impl Input for Tcp {
    async fn register(&mut self) -> Result<(), PluginError> {
        if self.is_json {
            tracing::info!(target: "logstash.inputs.tcp",
                "tcp with the json codec reads one document per line: a document ends with a newline, or with its \
                 connection");
        }
        if let Mode::Server(tls) = &self.mode {
            let listener = self.shared.endpoint.listen().await?;
            let address = listener.local_addr().map_err(PluginError::new)?;
            tracing::info!(target: "logstash.inputs.tcp", address = %address, ssl_enabled = tls.is_some(),
                "Starting tcp input listener");
            self.listener = Some(listener);
        }
        Ok(())
    }

    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        match (&self.mode, &self.listener) {
            (Mode::Server(tls), Some(listener)) => {
                accept(listener, stop, |stream, peer| {
                    let (shared, tls, sink, stop) = (self.shared.clone(), tls.clone(), sink.clone(), stop.clone());
                    async move {
                        if let Some(end) = shared.serve(stream, canonical(peer), tls, &sink, &stop).await {
                            told(peer, &end);
                        }
                    }
                })
                .await;
            }
            (Mode::Client(tls), _) => self.shared.connect_again(tls.as_ref(), sink, stop).await,
            (Mode::Server(_), None) => {}
        }
        Ok(())
    }
}

fn told(peer: SocketAddr, end: &End) {
    if let End::Broken(error) = end {
        tracing::warn!(target: "logstash.inputs.tcp", "{peer}: connection closed: {error}");
    }
}

impl Shared {
    /// From the first byte of a connection to its last. `None` when the input is to stop before it began.
    async fn serve(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        tls: Option<TlsAcceptor>,
        sink: &InputSink,
        stop: &Stop,
    ) -> Option<End> {
        self.prepare(&stream);
        let place = self.readers.enter();
        let greeted = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            greeted = timeout(GREETING, self.greet(stream, peer, tls)) => greeted,
        };
        let too_slow = || std::io::Error::new(std::io::ErrorKind::TimedOut, "no TLS handshake or PROXY line came");
        let (stream, marks) = match greeted.unwrap_or_else(|_| Err(too_slow())) {
            Ok(greeted) => greeted,
            Err(error) => return Some(End::Broken(error)),
        };
        let decoder = self.decoders.for_byte_stream();
        Some(
            Connection {
                decoder,
                place,
                silence: None,
                mark: |sink: &InputSink, events| marks.before_options(sink, events),
            }
            .run(stream, sink, stop)
            .await,
        )
    }

    /// What comes before the data: the proxy's line, TLS, the peer's name.
    async fn greet(
        &self,
        mut stream: TcpStream,
        peer: SocketAddr,
        tls: Option<TlsAcceptor>,
    ) -> std::io::Result<(Stream, Marks)> {
        let proxied = if self.proxied { Some(proxy::read(&mut stream).await?) } else { None };
        let name = match proxied {
            None => self.names.of(peer.ip()).await,
            Some(_) => Text::new(),
        };
        let Some(tls) = tls else {
            return Ok((Box::new(stream), self.marks(name, peer, None, proxied)));
        };
        let stream = tls.accept(stream).await?;
        let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let subject = certificate.and_then(tls::subject);
        Ok((Box::new(stream), self.marks(name, peer, subject, proxied)))
    }

    /// The fields that tell who sent an event.
    fn marks(&self, name: Text, peer: SocketAddr, subject: Option<String>, proxied: Option<Proxied>) -> Marks {
        let field = |flat: &[&str], ecs: &[&str]| match self.ecs.is_disabled() {
            true => FieldRef::path_of(flat),
            false => FieldRef::path_of(&[&["@metadata", "input", "tcp"], ecs].concat()),
        };
        let port = Value::Integer(peer.port().into());
        let address = Text::from(peer.ip().to_string());
        let (name, address, port) = match &proxied {
            None => (name, address, port),
            Some(Proxied { source, source_port, .. }) => (source.clone(), source.clone(), source_port.clone().into()),
        };
        let mut fields = vec![
            (field(&["host"], &["source", "name"]), name.into()),
            (field(&["@metadata", "ip_address"], &["source", "ip"]), address.into()),
            (field(&["port"], &["source", "port"]), port),
        ];
        if let Some(Proxied { proxy, proxy_port, .. }) = proxied {
            fields.push((field(&["proxy_host"], &["proxy", "ip"]), proxy.into()));
            fields.push((field(&["proxy_port"], &["proxy", "port"]), proxy_port.into()));
        }
        if let Some(subject) = subject {
            fields.push((field(&["sslsubject"], &["tls", "client", "subject"]), Text::from(subject).into()));
        }
        Marks::new(fields)
    }

    fn prepare(&self, stream: &TcpStream) {
        if self.keep_alive
            && let Err(error) = set_socket_keepalive(stream, true)
        {
            tracing::warn!(target: "logstash.inputs.tcp", "tcp_keep_alive cannot be set: {error}");
        }
    }

    /// Client mode: reads from the server until the input is asked to stop, one connection after the other.
    async fn connect_again(&self, tls: Option<&TlsConnector>, sink: &InputSink, stop: &Stop) {
        while !stop.is_cancelled() {
            let connected = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                connected = timeout(GREETING, self.connect(tls)) => connected,
            };
            let connected = connected.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
            let broken = match connected {
                Ok((stream, marks)) => {
                    let (decoder, place) = (self.decoders.for_byte_stream(), self.readers.enter());
                    let mark = |sink: &InputSink, events| marks.before_options(sink, events);
                    let connection = Connection { decoder, place, silence: None, mark };
                    match connection.run(stream, sink, stop).await {
                        End::Broken(error) => Some(error),
                        _ => None,
                    }
                }
                Err(error) => Some(error),
            };
            if let Some(error) = broken {
                let Endpoint { host, port } = &self.endpoint;
                tracing::warn!(target: "logstash.inputs.tcp", "{host}:{port}: {error}; connecting again");
                tokio::select! {
                    () = sleep(RECONNECT_AFTER) => {}
                    () = stop.cancelled() => {}
                }
            }
        }
    }

    async fn connect(&self, tls: Option<&TlsConnector>) -> std::io::Result<(Stream, Marks)> {
        let Endpoint { host, port } = &self.endpoint;
        let stream = TcpStream::connect((host.as_str(), *port)).await?;
        self.prepare(&stream);
        let peer = canonical(stream.peer_addr()?);
        let marks = self.marks(Text::from(host), peer, None, None);
        let Some(tls) = tls else { return Ok((Box::new(stream), marks)) };
        let name = ServerName::try_from(host.clone()).map_err(std::io::Error::other)?;
        Ok((Box::new(tls.connect(name, stream).await?), marks))
    }
}
