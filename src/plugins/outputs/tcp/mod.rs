//! `tcp`: events to a server, or to whoever connects.
//!
//! The protocol has no reply: an event counts as delivered once the system has taken its bytes. A connection that broke
//! is opened again, and the event at which it broke is sent again as a whole.

mod client;
mod payload;
mod server;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use self::client::Client;
use self::payload::Payload;
use self::server::Server;
use crate::plugins::tls::{self, ClientAuthentication, Family, Sides};
use crate::plugins::{
    Deliveries, GivenBack, Options, Output, OutputBatch, OutputPlugin, PluginError, SharedEncoder, Stop,
};

/// The plugin.
pub const PLUGIN: OutputPlugin = OutputPlugin { name: "tcp", summary: "Writes to TCP connections.", build };

struct Tcp {
    encoder: SharedEncoder,
    mode: Mode,
}

enum Mode {
    Client(Client),
    Server(Server),
}

fn build(options: &mut Options<'_>) -> Box<dyn Output> {
    let host = options.string("host").doc("Where to connect to, or the address to listen on.").required();
    let port = options.integer("port").doc("Port.").required();
    let port = u16::try_from(port).unwrap_or_else(|_| {
        options.invalid("port", "a port is between 0 and 65535");
        0
    });
    let mode = options
        .word("mode", &["client", "server"])
        .doc("Whether to connect to `host`, or to listen.")
        .default("client".to_owned());
    let reconnect = options
        .seconds("reconnect_interval")
        .doc("Wait before a new connection, in seconds.")
        .default(Duration::from_secs(10));
    let encoder = options.encoder("codec", "json");
    if options.given_codec("codec").is_none_or(|codec| codec == "json") {
        options.warn(
            "codec",
            "no-delimiter",
            "the json codec puts nothing between documents, which most readers (the tcp input too) do not understand: \
             use `codec => json_lines`",
        );
    }
    let family = Family::read(options, Sides::Both, false);
    tls::refuse_old_names(options);
    options.obsolete("message_format", "Set `codec => plain { format => \"...\" }` instead.");
    let mode = if mode == "server" {
        options.context().claims.hold(format_args!("port {port}"));
        let tls = family.server(options, ClientAuthentication::None, &[]).map(TlsAcceptor::from);
        Mode::Server(Server::new(host, port, tls, &options.context().metrics))
    } else {
        let tls = family.client(options).map(|config| TlsConnector::from(Arc::new(config)));
        Mode::Client(Client::new(host, port, tls, reconnect))
    };
    Box::new(Tcp { encoder, mode })
}

#[async_trait]
impl Output for Tcp {
    async fn register(&self, _: &Stop) -> Result<(), PluginError> {
        match &self.mode {
            Mode::Client(_) => Ok(()),
            Mode::Server(server) => server.open().await,
        }
    }

    async fn write(&self, batch: &OutputBatch<'_>, stop: &Stop) -> Result<Deliveries, GivenBack> {
        let (payload, dead) = Payload::of(batch.events, &*self.encoder);
        match &self.mode {
            Mode::Client(client) => client.send(&payload, stop).await?,
            Mode::Server(server) => server.send(payload),
        }
        Ok(Deliveries::all_but_dead(batch.events.len(), dead))
    }

    async fn close(&self) {
        if let Mode::Server(server) = &self.mode {
            server.close().await;
        }
    }
}
