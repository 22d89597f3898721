//! `beats` and `elastic_agent`: events from Filebeat, other Beats and Elastic Agent.
//!
//! A window of events is acknowledged once the pipeline has dealt with all of them, so that a sender keeps what was not
//! delivered when this program is killed.

mod connection;
mod enrich;
pub mod frames;
mod objects;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use self::connection::Connection;
use self::enrich::Enrich;
use self::objects::Objects;
use super::net::listener::{Endpoint, accept, canonical};
use super::net::reader::Readers;
use crate::event::{FieldRef, Text, Value};
use crate::metrics::Counter;
use crate::plugins::codecs::plain;
use crate::plugins::tls::{self, ClientAuthentication, Family, Sides};
use crate::plugins::{Decoders, Ecs, Input, InputPlugin, InputSink, Options, PluginError, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin =
    InputPlugin { name: "beats", summary: "Takes events from Beats, such as Filebeat.", build };
/// The same under its other name.
pub const ELASTIC_AGENT: InputPlugin =
    InputPlugin { name: "elastic_agent", summary: "Takes events from Elastic Agent.", build };

struct Beats {
    endpoint: Endpoint,
    tls: Option<TlsAcceptor>,
    listener: Option<TcpListener>,
    shared: Arc<Shared>,
}

/// What all connections need.
struct Shared {
    decoders: Decoders,
    objects: Objects,
    enrich: Enrich,
    ecs: Ecs,
    handshake: Duration,
    silence: Option<Duration>,
    readers: Readers,
    connections: Connections,
}

/// How many connections there are, and were at most.
struct Connections {
    open: AtomicU64,
    current: Arc<Counter>,
    peak: Arc<Counter>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let endpoint = Endpoint::read(options, None);
    let silence = options
        .integer("client_inactivity_timeout")
        .doc("Seconds without a byte after which a connection is closed; 0 for never.")
        .default(60);
    let enrich = Enrich::read(options);
    let add_hostname = options
        .boolean("add_hostname")
        .doc("Whether `host` is set to `[beat][hostname]` where it is missing.")
        .deprecated("copy the field with a `mutate` filter")
        .default(false);
    for name in ["executor_threads", "event_loop_threads"] {
        let _ = options.integer(name).doc("Ignored; connections share the threads of the program.").optional();
    }
    let ecs = Ecs::read(options);
    let (decoders, codec) = codec(options, enrich);
    let tls = tls(options, enrich);
    let codec_tag = enrich.codec.then(|| Text::from(format!("beats_input_codec_{codec}_applied")));
    let metrics = &options.context().metrics;
    let connections = Connections {
        open: AtomicU64::new(0),
        current: metrics.counter("current_connections"),
        peak: metrics.counter("peak_connections"),
    };
    let shared = Shared {
        decoders,
        objects: Objects { codec_tag, add_hostname },
        enrich,
        ecs,
        handshake: handshake(options),
        silence: u64::try_from(silence).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs),
        readers: Readers::default(),
        connections,
    };
    Box::new(Beats { endpoint, tls, listener: None, shared: Arc::new(shared) })
}

/// The decoders of messages, and the codec's name.
fn codec(options: &mut Options<'_>, enrich: Enrich) -> (Decoders, String) {
    let decoders = options.decoder("codec", "plain", &[]);
    match options.given_codec("codec") {
        None if enrich.is_given && !enrich.codec => (plain::without_original(), "plain".to_owned()),
        None => (decoders, "plain".to_owned()),
        Some(name) => {
            if name == "multiline" {
                let message = "Multiline events have to be joined by the sender: lines of several files come mixed";
                options.invalid("codec", message);
            }
            (decoders, name)
        }
    }
}

fn tls(options: &mut Options<'_>, enrich: Enrich) -> Option<TlsAcceptor> {
    let family = Family::read(options, Sides::Server, false);
    tls::refuse_old_names(options);
    let config = family.server(options, ClientAuthentication::Required, &[]);
    if family.has_authorities() && family.asks_no_client() {
        let message = "authorities are given, and no client is asked for a certificate";
        options.invalid("ssl_client_authentication", message);
    }
    if enrich.names_peer && !(config.is_some() && family.has_authorities()) {
        options.invalid("enrich", "`ssl_peer_metadata` needs TLS with `ssl_client_authentication`");
    }
    config.map(TlsAcceptor::from)
}

fn handshake(options: &mut Options<'_>) -> Duration {
    let millis = options
        .integer("ssl_handshake_timeout")
        .doc("Longest time for a TLS handshake, in milliseconds.")
        .default(10_000);
    let millis = u64::try_from(millis).ok().filter(|millis| *millis > 0).unwrap_or_else(|| {
        options.invalid("ssl_handshake_timeout", "the time is a positive number of milliseconds");
        10_000
    });
    Duration::from_millis(millis)
}

#[async_trait]
impl Input for Beats {
    async fn register(&mut self) -> Result<(), PluginError> {
        let listener = self.endpoint.listen().await?;
        let address = listener.local_addr().map_err(PluginError::new)?;
        tracing::info!(target: "logstash.inputs.beats", address = %address, ssl_enabled = self.tls.is_some(),
            "Starting input listener");
        self.listener = Some(listener);
        Ok(())
    }

    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        let Some(listener) = &self.listener else { return Ok(()) };
        accept(listener, stop, |stream, peer| {
            let (shared, tls, sink, stop) = (self.shared.clone(), self.tls.clone(), sink.clone(), stop.clone());
            async move {
                let peer = canonical(peer);
                match tls {
                    None => shared.serve(stream, peer, Vec::new(), &sink, &stop).await,
                    Some(tls) => shared.serve_encrypted(stream, peer, &tls, &sink, &stop).await,
                }
            }
        })
        .await;
        Ok(())
    }
}

impl Shared {
    async fn serve_encrypted(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        tls: &TlsAcceptor,
        sink: &InputSink,
        stop: &Stop,
    ) {
        let shaken = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            shaken = timeout(self.handshake, tls.accept(stream)) => shaken,
        };
        match shaken {
            Ok(Ok(stream)) => {
                let fields = if self.enrich.peer { self.certificate_fields(&stream) } else { Vec::new() };
                self.serve(stream, peer, fields, sink, stop).await;
            }
            Ok(Err(error)) => {
                tracing::warn!(target: "logstash.inputs.beats", "{peer}: TLS handshake failed: {error}");
            }
            Err(_) => tracing::warn!(target: "logstash.inputs.beats", "{peer}: no TLS handshake came"),
        }
    }

    async fn serve<S: AsyncRead + AsyncWrite + Send>(
        &self,
        stream: S,
        peer: SocketAddr,
        mut marks: Vec<(FieldRef, Value)>,
        sink: &InputSink,
        stop: &Stop,
    ) {
        if self.enrich.source {
            let address = Value::from(Text::from(peer.ip().to_string()));
            marks.insert(0, (self.field(&["ip_address"], &["input", "beats", "host", "ip"]), address));
        }
        self.connections.opened();
        let connection = Connection {
            objects: &self.objects,
            decoder: self.decoders.create(),
            marks,
            place: self.readers.enter(),
            silence: self.silence,
        };
        let ended = connection.run(stream, sink, stop).await;
        self.connections.closed();
        if let Err(end) = ended {
            tracing::warn!(target: "logstash.inputs.beats", "{peer}: connection closed: {end}");
        }
    }

    /// A field below `@metadata`: its old name, or its name in ECS.
    fn field(&self, flat: &[&str], ecs: &[&str]) -> FieldRef {
        let below = if self.ecs.is_disabled() { flat } else { ecs };
        FieldRef::path_of(&[&["@metadata"], below].concat())
    }

    /// What the sender's certificate and its connection say.
    fn certificate_fields(&self, stream: &TlsStream<TcpStream>) -> Vec<(FieldRef, Value)> {
        let text = |text: String| Value::from(Text::from(text));
        let session = stream.get_ref().1;
        let status = FieldRef::path_of(&["@metadata", "tls_peer", "status"]);
        let Some(certificate) = session.peer_certificates().and_then(|chain| chain.first()) else {
            return vec![(status, Value::literal("unverified"))];
        };
        let mut fields = vec![(status, Value::literal("verified"))];
        let mut add = |flat: &str, ecs: &[&str], value: Option<String>| {
            let ecs = [&["input", "beats", "tls"], ecs].concat();
            fields.extend(value.map(|value| (self.field(&["tls_peer", flat], &ecs), text(value))));
        };
        // As Java names them, which is what conditions in pipelines compare with.
        let version =
            session.protocol_version().and_then(|version| version.as_str().map(|name| name.replace('_', ".")));
        let suite = session.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
        add("protocol", &["version_protocol"], version);
        add("subject", &["client", "subject"], tls::subject(certificate));
        add("cipher_suite", &["cipher"], suite.map(|name| name.replacen("TLS13_", "TLS_", 1)));
        fields
    }
}

impl Connections {
    fn opened(&self) {
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.current.set(open);
        self.peak.set(self.peak.get().max(open));
    }

    fn closed(&self) {
        self.current.set(self.open.fetch_sub(1, Ordering::Relaxed) - 1);
    }
}
