//! `http`: the body of every request is events.
//!
//! A request is answered once the queue has its events, or once they are delivered when `spillway.ack` says so. A full
//! queue is told with 429, so that senders come again later instead of waiting by the thousand.

mod body;
mod credentials;
mod fields;
mod gate;
mod service;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use hyper::header::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use self::body::Bodies;
use self::credentials::Credentials;
use self::fields::Fields;
use self::gate::Gate;
use self::service::Service;
use super::net::listener::{Endpoint, accept, canonical};
use crate::plugins::tls::{ClientAuthentication, Family, Sides};
use crate::plugins::{Decoders, Ecs, Input, InputPlugin, InputSink, Options, PluginError, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin = InputPlugin { name: "http", summary: "Takes events from HTTP requests.", build };

/// Longest time between two requests of a connection, and from the first byte of a head to its last.
const HEAD: Duration = Duration::from_secs(60);
/// How long a connection without a request may take to end when the input is to stop.
const PARTING: Duration = Duration::from_millis(500);
/// Largest head of a request.
const LARGEST_HEAD: usize = 64 * 1024;

struct Http {
    endpoint: Endpoint,
    tls: Option<TlsAcceptor>,
    handshake: Duration,
    listener: Option<TcpListener>,
    service: Arc<Service>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let endpoint = Endpoint::read(options, Some(8080));
    let credentials = Credentials::read(options);
    let decoders = options.decoder("codec", "plain", &[]);
    let by_type = codecs_by_type(options);
    let ecs = Ecs::read(options);
    let fields = Fields::read(options, ecs);
    let code = options
        .word("response_code", &["200", "201", "202", "204"])
        .doc("Status of the answer to a request that was taken.")
        .default("200".to_owned());
    let headers = response_headers(options);
    let acknowledged = options
        .boolean("spillway.ack")
        .doc("Whether to answer once the events are delivered, not once they are in the queue (Spillway).")
        .default(false);
    let gate = Gate::read(options);
    let bodies = Bodies::from_options(options);
    let family = Family::read(options, Sides::Server, false);
    let tls = family.server(options, ClientAuthentication::None, &[]).map(TlsAcceptor::from);
    let handshake = options
        .integer("ssl_handshake_timeout")
        .doc("Longest time for a TLS handshake, in milliseconds.")
        .default(10_000);
    let handshake = u64::try_from(handshake).ok().filter(|ms| *ms > 0).unwrap_or_else(|| {
        options.invalid("ssl_handshake_timeout", "the time is a positive number of milliseconds");
        10_000
    });
    refuse_old_names(options);
    let code = code.parse().unwrap_or(200);
    let service = Service { credentials, decoders, by_type, fields, code, headers, acknowledged, gate, bodies };
    Box::new(Http {
        endpoint,
        tls,
        handshake: Duration::from_millis(handshake),
        listener: None,
        service: Arc::new(service),
    })
}

fn codecs_by_type(options: &mut Options<'_>) -> Vec<(String, Decoders)> {
    let given = options.hash("additional_codecs").doc("Codecs by the media type of a request.").optional();
    let pairs = match given {
        Some(pairs) => pairs,
        None => vec![("application/json".to_owned(), crate::event::Value::literal("json"))],
    };
    let mut codecs = Vec::new();
    for (media_type, codec) in pairs {
        match codec.as_str() {
            Some(codec) => {
                let decoders = options.decoder_called("additional_codecs", codec);
                codecs.push((media_type.to_ascii_lowercase(), decoders));
            }
            None => options.invalid("additional_codecs", format!("`{media_type}` needs the name of a codec")),
        }
    }
    codecs
}

fn response_headers(options: &mut Options<'_>) -> Vec<(HeaderName, HeaderValue)> {
    let given = options.hash("response_headers").doc("Headers of the answer to a request that was taken.").optional();
    let mut headers = Vec::new();
    for (name, value) in given.unwrap_or_default() {
        let text = value.as_str().map(str::to_owned).or_else(|| value.as_integer().map(|n| n.to_string()));
        let value = text.and_then(|text| HeaderValue::from_str(&text).ok());
        match (HeaderName::try_from(name.as_str()), value) {
            (Ok(name), Some(value)) => headers.push((name, value)),
            _ => options.invalid("response_headers", format!("`{name}` is not a legal header with a text value")),
        }
    }
    headers
}

fn refuse_old_names(options: &mut Options<'_>) {
    for (name, instead) in [
        ("ssl", "Set `ssl_enabled` instead."),
        ("keystore", "Set `ssl_keystore_path` instead."),
        ("keystore_password", "Set `ssl_keystore_password` instead."),
        ("verify_mode", "Set `ssl_client_authentication` instead."),
        ("ssl_verify_mode", "Set `ssl_client_authentication` instead."),
        ("cipher_suites", "Set `ssl_cipher_suites` instead."),
        ("tls_min_version", "Set `ssl_supported_protocols` instead."),
        ("tls_max_version", "Set `ssl_supported_protocols` instead."),
    ] {
        options.obsolete(name, instead);
    }
}

#[async_trait]
impl Input for Http {
    async fn register(&mut self) -> Result<(), PluginError> {
        let listener = self.endpoint.listen().await?;
        let address = listener.local_addr().map_err(PluginError::new)?;
        tracing::info!(target: "logstash.inputs.http", address = %address, ssl_enabled = self.tls.is_some(),
            "Starting http input listener");
        self.listener = Some(listener);
        Ok(())
    }

    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        let Some(listener) = &self.listener else { return Ok(()) };
        accept(listener, stop, |stream, peer| {
            let (service, tls, handshake) = (self.service.clone(), self.tls.clone(), self.handshake);
            let (sink, stop) = (sink.clone(), stop.clone());
            async move { connection(service, stream, canonical(peer), tls, handshake, sink, stop).await }
        })
        .await;
        Ok(())
    }
}

async fn connection(
    service: Arc<Service>,
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
    handshake: Duration,
    sink: InputSink,
    stop: Stop,
) {
    let Some(tls) = tls else { return requests(service, stream, peer, sink, stop).await };
    let shaken = tokio::select! {
        biased;
        () = stop.cancelled() => return,
        shaken = timeout(handshake, tls.accept(stream)) => shaken,
    };
    match shaken {
        Ok(Ok(stream)) => requests(service, stream, peer, sink, stop).await,
        Ok(Err(error)) => {
            tracing::warn!(target: "logstash.inputs.http", "{peer}: TLS handshake failed: {error}");
        }
        Err(_) => tracing::warn!(target: "logstash.inputs.http", "{peer}: no TLS handshake came"),
    }
}

/// Answers the requests of a connection, one after the other. One that is being worked on is answered before the
/// connection ends.
async fn requests<S>(service: Arc<Service>, stream: S, peer: SocketAddr, sink: InputSink, stop: Stop)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let busy = AtomicBool::new(false);
    let answer = service_fn(|request| {
        let (service, sink, stop, busy) = (service.clone(), sink.clone(), stop.clone(), &busy);
        async move {
            busy.store(true, Ordering::Relaxed);
            let answer = service.answer(request, peer, &sink, &stop).await;
            busy.store(false, Ordering::Relaxed);
            Ok::<_, Infallible>(answer)
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(LARGEST_HEAD).half_close(true);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), answer));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            loop {
                match timeout(PARTING, connection.as_mut()).await {
                    Ok(ended) => break ended,
                    // The head of a request that was not there in time is not waited for.
                    Err(_) if !busy.load(Ordering::Relaxed) => return,
                    Err(_) => {}
                }
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(target: "logstash.inputs.http", "{peer}: connection closed: {error}");
    }
}
