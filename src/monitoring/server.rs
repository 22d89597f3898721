//! Finds a port for the API and serves it.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, lookup_host};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::{Api, router};
use crate::logging::Levels;
use crate::metrics::{Node, flow};
use crate::settings::ApiSettings;

/// How long open connections may go on after the stop.
const GRACE: Duration = Duration::from_secs(1);

/// Why the API cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// `api.http.host` is no address of this machine.
    #[error(
        "the monitoring API cannot listen: `api.http.host` is `{host}`, which names no address here ({error}); set it to an address of this machine"
    )]
    Host {
        /// As it was set.
        host: String,
        /// What the resolver said.
        error: io::Error,
    },
    /// Every port is in use.
    #[error("the monitoring API cannot listen on {host}: {} in use; free one, set `api.http.port` to another port or range, or switch the API off with `api.enabled: false`", in_words(.ports))]
    InUse {
        /// As it was set.
        host: String,
        /// First and last port that were tried.
        ports: (u16, u16),
    },
    /// The system refused a port for another reason.
    #[error(
        "the monitoring API cannot listen on {address}: {error}; set `api.http.host` and `api.http.port` to an address and port that this user may listen on"
    )]
    Refused {
        /// What was tried.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
}

fn in_words((first, last): &(u16, u16)) -> String {
    if first == last { format!("port {first} is") } else { format!("all ports {first}-{last} are") }
}

/// The API on its port, not serving yet.
pub struct Server {
    listener: TcpListener,
    node: Arc<Node>,
    levels: Arc<Levels>,
}

impl Server {
    /// Takes the first free port and tells the node its address. `levels` are shown and changed through it. `None` when the API is switched off.
    pub async fn bind(settings: &ApiSettings, node: Arc<Node>, levels: Arc<Levels>) -> Result<Option<Self>, BindError> {
        if !settings.enabled {
            tracing::info!(target: "logstash.agent", "HTTP API is disabled (`api.enabled` is false)");
            return Ok(None);
        }
        let listener = first_free(&settings.host, settings.ports).await?;
        if let Ok(address) = listener.local_addr() {
            node.set_http_address(address);
            tracing::info!(target: "logstash.agent", port = address.port(), ssl_enabled = false,
                "Successfully started Logstash API endpoint");
        }
        Ok(Some(Self { listener, node, levels }))
    }

    /// Answers requests, and captures the counters that rates are made of, until `stop`.
    pub async fn serve(self, stop: CancellationToken) {
        let Self { listener, node, levels } = self;
        let app = router(Api { node: node.clone(), levels, stop: stop.clone() });
        let serving = axum::serve(listener, app).with_graceful_shutdown(stop.clone().cancelled_owned());
        let overdue = async {
            stop.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            served = serving => {
                if let Err(error) = served {
                    tracing::error!(target: "logstash.agent", "the monitoring API ended: {error}");
                }
            }
            () = capture_regularly(&node) => {}
            () = overdue => {}
        }
    }
}

async fn capture_regularly(node: &Node) {
    let mut ticks = tokio::time::interval(flow::CAPTURE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        node.capture();
    }
}

async fn first_free(host: &str, ports: (u16, u16)) -> Result<TcpListener, BindError> {
    let mut address = resolve(host).await.map_err(|error| BindError::Host { host: host.to_owned(), error })?;
    for port in ports.0..=ports.1 {
        address.set_port(port);
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => return Err(BindError::Refused { address, error }),
        }
    }
    Err(BindError::InUse { host: host.to_owned(), ports })
}

/// One address only, so that a port that is taken on one address of a name is not taken for free on another.
async fn resolve(host: &str) -> io::Result<SocketAddr> {
    let addresses: Vec<SocketAddr> = lookup_host((host, 0)).await?.collect();
    let chosen = addresses.iter().find(|address| address.is_ipv4()).or(addresses.first());
    chosen.copied().ok_or_else(|| io::Error::new(ErrorKind::NotFound, "it has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_next_free_port_of_a_range_is_taken_and_a_full_range_is_named() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = taken.local_addr().unwrap().port();
        let single = first_free("127.0.0.1", (port, port)).await.unwrap_err().to_string();
        assert!(single.contains(&format!("port {port} is in use")), "{single}");
        let next = first_free("127.0.0.1", (port, port.saturating_add(50))).await.unwrap();
        assert!(next.local_addr().unwrap().port() > port);
        let range = BindError::InUse { host: "h".into(), ports: (9600, 9700) }.to_string();
        assert!(range.contains("all ports 9600-9700 are in use"), "{range}");
    }

    #[tokio::test]
    async fn an_address_of_another_machine_is_named() {
        let error = first_free("192.0.2.1", (0, 0)).await.unwrap_err().to_string();
        assert!(error.contains("192.0.2.1") && error.contains("api.http.host"), "{error}");
    }
}
