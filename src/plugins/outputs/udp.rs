//! `udp`: one datagram for each event.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::net::{UdpSocket, lookup_host};
use tokio::sync::OnceCell;
use tokio::time::sleep;

use crate::event::{Event, Template};
use crate::plugins::{Deliveries, GivenBack, Options, Output, OutputBatch, OutputPlugin, SharedEncoder, Stop};

/// The plugin.
pub const PLUGIN: OutputPlugin = OutputPlugin { name: "udp", summary: "Sends events as datagrams.", build };

/// How long the address of a host is remembered.
const REMEMBERED: Duration = Duration::from_secs(60);
/// How long it is remembered that a host has none, so that a batch asks once and not for each event.
const UNKNOWN: Duration = Duration::from_secs(1);

struct Udp {
    host: String,
    port: Template,
    retries: u32,
    backoff: Duration,
    encoder: SharedEncoder,
    address: Mutex<Option<Found>>,
    /// One for each kind of address.
    sockets: [OnceCell<UdpSocket>; 2],
}

/// What was found for the host, or why nothing was.
struct Found {
    until: Instant,
    address: Result<SocketAddr, (io::ErrorKind, String)>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Output> {
    let host = options.string("host").doc("Where to send to.").required();
    let port = options.template("port").doc("Port; may hold %{…}.").required();
    let retries =
        options.integer("retry_count").doc("How often a datagram that could not be sent is tried again.").default(0);
    let backoff = options.integer("retry_backoff_ms").doc("Wait before that, in milliseconds.").default(100);
    let encoder = options.encoder("codec", "json");
    if options.is_set("port")
        && let Some(port) = port.as_constant()
        && port.parse::<u16>().is_err()
    {
        options.invalid("port", "a port is between 0 and 65535");
    }
    let retries = u32::try_from(retries).unwrap_or_else(|_| {
        options.invalid("retry_count", "`retry_count` is not negative");
        0
    });
    let backoff = Duration::from_millis(u64::try_from(backoff).unwrap_or_else(|_| {
        options.invalid("retry_backoff_ms", "`retry_backoff_ms` is not negative");
        0
    }));
    let sockets = [OnceCell::new(), OnceCell::new()];
    Box::new(Udp { host, port, retries, backoff, encoder, address: Mutex::default(), sockets })
}

#[async_trait]
impl Output for Udp {
    async fn write(&self, batch: &OutputBatch<'_>, stop: &Stop) -> Result<Deliveries, GivenBack> {
        let mut dead: Vec<(usize, String)> = Vec::new();
        let mut datagram = Vec::new();
        for (at, event) in batch.events.iter().enumerate() {
            datagram.clear();
            let sent = match self.encoder.encode(event, &mut datagram) {
                Ok(()) => self.send(event, &datagram, stop).await,
                Err(error) => Err(error.to_string()),
            };
            if let Err(why) = sent {
                dead.push((at, format!("udp: {why}")));
            }
        }
        // One line for a batch: what fails once mostly fails for all.
        if let Some((_, why)) = dead.first() {
            tracing::error!(target: "logstash.outputs.udp", count = dead.len(), "Failed to send udp packets: {why}");
        }
        Ok(Deliveries::all_but_dead(batch.events.len(), dead))
    }
}

impl Udp {
    async fn send(&self, event: &Event, datagram: &[u8], stop: &Stop) -> Result<(), String> {
        let port = self.port.render(event);
        let port: u16 = port.parse().map_err(|_| format!("the port `{port}` is no number of a port"))?;
        let mut tries = 0;
        loop {
            let error = match self.try_send(port, datagram).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            // A datagram that is too long stays too long.
            let is_hopeless = error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error());
            if is_hopeless || tries >= self.retries || stop.is_cancelled() {
                return Err(format!("{}:{port}: {error}", self.host));
            }
            tries += 1;
            tokio::select! {
                () = sleep(self.backoff) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    async fn try_send(&self, port: u16, datagram: &[u8]) -> io::Result<()> {
        let address = self.address().await?;
        let (socket, any) = match address {
            SocketAddr::V4(_) => (&self.sockets[0], "0.0.0.0:0"),
            SocketAddr::V6(_) => (&self.sockets[1], "[::]:0"),
        };
        let socket = socket.get_or_try_init(|| UdpSocket::bind(any)).await?;
        socket.send_to(datagram, SocketAddr::new(address.ip(), port)).await.map(|_| ())
    }

    async fn address(&self) -> io::Result<SocketAddr> {
        let known = self
            .address
            .lock()
            .as_ref()
            .filter(|found| found.until > Instant::now())
            .map(|found| found.address.clone());
        let address = match known {
            Some(address) => address,
            None => {
                let found = lookup_host((self.host.as_str(), 0)).await.map(|mut addresses| addresses.next());
                let address = match found {
                    Ok(Some(address)) => Ok(address),
                    Ok(None) => Err((io::ErrorKind::NotFound, "the host has no address".to_owned())),
                    Err(error) => Err((error.kind(), error.to_string())),
                };
                let until = Instant::now() + if address.is_ok() { REMEMBERED } else { UNKNOWN };
                *self.address.lock() = Some(Found { until, address: address.clone() });
                address
            }
        };
        address.map_err(|(kind, why)| io::Error::new(kind, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acknowledgement::Lease;
    use crate::plugins::testing::{compiled, deliver, event};

    #[tokio::test]
    async fn each_event_is_a_datagram_and_what_cannot_be_sent_is_dead() {
        let receiver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = receiver.local_addr().unwrap().port();
        let config = r#"output { udp { host => "127.0.0.1" port => "%{p}" codec => plain { format => "%{m}" } } }"#;
        let long = "x".repeat(70_000);
        let events = [
            format!(r#"{{"m":"a","p":{port}}}"#),
            r#"{"m":"b","p":"nope"}"#.to_owned(),
            format!(r#"{{"m":"{long}","p":{port}}}"#),
            format!(r#"{{"m":"c","p":{port}}}"#),
        ];
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let dead = deliver(config, &events).await;
        assert_eq!(dead.len(), 2, "{dead:?}");
        assert!(dead[0].starts_with("udp: the port `nope`"), "{dead:?}");
        assert!(dead[1].starts_with(&format!("udp: 127.0.0.1:{port}: ")), "{dead:?}");
        let mut buffer = [0; 100];
        for expected in ["a", "c"] {
            let length = receiver.recv(&mut buffer).await.unwrap();
            assert_eq!(&buffer[..length], expected.as_bytes());
        }
    }

    #[tokio::test]
    async fn a_pause_of_an_age_holds_up_no_stop_and_is_no_endless_loop() {
        let config = r#"output { udp { host => "127.0.0.1" port => 0 retry_count => 9 retry_backoff_ms => 3600000 } }"#;
        let compiled = compiled(config).unwrap();
        let (event, lease, stop) = (event("{}"), Lease::unclaimed(), Stop::new());
        let batch = OutputBatch { events: &[&event], lease: &lease };
        let output = &compiled.plan.outputs[0].output;
        let (answers, ()) = tokio::join!(output.write(&batch, &stop), async { stop.cancel() });
        assert!(matches!(answers, Ok(Deliveries::Each(_))));
    }

    #[test]
    fn options_that_are_wrong() {
        for (options, words) in [
            ("port => nope", "between 0 and 65535"),
            ("port => ''", "between 0 and 65535"),
            ("port => 1 retry_count => -1", "not negative"),
        ] {
            let error = compiled(&format!("output {{ udp {{ host => \"h\" {options} }} }}")).err().unwrap();
            assert!(error.contains(words), "{error}");
        }
    }
}
