//! The end that connects.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use super::payload::Payload;
use crate::plugins::{GivenBack, Stop};

/// Longest time until a connection is open.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a server that takes nothing is waited for once the pipeline is to stop.
const PARTING: Duration = Duration::from_secs(5);

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

type Connection = Box<dyn Duplex>;

/// One connection, which the workers of a pipeline share.
pub(super) struct Client {
    host: String,
    port: u16,
    tls: Option<TlsConnector>,
    reconnect: Duration,
    connection: Mutex<Option<Connection>>,
}

impl Client {
    /// Connects when there is something to send.
    pub fn new(host: String, port: u16, tls: Option<TlsConnector>, reconnect: Duration) -> Self {
        Self { host, port, tls, reconnect, connection: Mutex::default() }
    }

    /// Sends all of a payload, as long as it takes.
    pub async fn send(&self, payload: &Payload, stop: &Stop) -> Result<(), GivenBack> {
        // The worker in front may wait for the same server, so that waiting for it counts as well.
        let mut connection = tokio::select! {
            connection = self.connection.lock() => connection,
            () = parting(stop) => return Err(GivenBack),
        };
        let mut sent = 0;
        while sent < payload.bytes.len() {
            let attempt = async {
                let open = self.open(&mut connection).await?;
                write(open, payload, &mut sent).await
            };
            let failed = tokio::select! {
                done = attempt => done.err(),
                () = parting(stop) => return Err(GivenBack),
            };
            let Some(error) = failed else { break };
            *connection = None;
            sent = payload.event_start(sent);
            tracing::warn!(target: "logstash.outputs.tcp",
                "{}:{}: {error}; connecting again in {} s", self.host, self.port, self.reconnect.as_secs_f64());
            tokio::select! {
                () = sleep(self.reconnect) => {}
                () = stop.cancelled() => return Err(GivenBack),
            }
        }
        Ok(())
    }

    /// The connection, a new one when the server has closed it.
    async fn open<'c>(&self, connection: &'c mut Option<Connection>) -> io::Result<&'c mut Connection> {
        if let Some(open) = connection
            && has_ended(open).await
        {
            *connection = None;
        }
        match connection {
            Some(open) => Ok(open),
            None => {
                let opened = timeout(PATIENCE, self.connect()).await.unwrap_or_else(|_| {
                    Err(io::Error::new(io::ErrorKind::TimedOut, "no connection could be opened in time"))
                })?;
                Ok(connection.insert(opened))
            }
        }
    }

    async fn connect(&self) -> io::Result<Connection> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        Ok(Box::new(tls.connect(name, stream).await?))
    }
}

/// Sends what is left; `sent` counts what the system has.
async fn write(connection: &mut Connection, payload: &Payload, sent: &mut usize) -> io::Result<()> {
    while let Some(rest) = payload.bytes.get(*sent..).filter(|rest| !rest.is_empty()) {
        let written = connection.write(rest).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        // With TLS, only what was flushed has left us.
        connection.flush().await?;
        *sent += written;
    }
    Ok(())
}

/// Whether the other side has closed the connection. What it says is thrown away.
async fn has_ended(connection: &mut Connection) -> bool {
    let mut room = [0; 1024];
    poll_fn(|context| {
        loop {
            let mut buffer = ReadBuf::new(&mut room);
            match Pin::new(&mut *connection).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(true),
                Poll::Pending => return Poll::Ready(false),
            }
        }
    })
    .await
}

async fn parting(stop: &Stop) {
    stop.cancelled().await;
    sleep(PARTING).await;
}
