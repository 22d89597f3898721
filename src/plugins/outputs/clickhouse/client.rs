//! HTTP to one node: a connection pool of its own, so that its connections go when the node goes.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, RequestBuilder, Url, redirect};
use tokio::time::timeout;
use tokio_util::bytes::Bytes;

use crate::plugins::server_tls::{self, Tls};
use crate::plugins::tls::{BadOption, explained};

/// A larger answer is not read to its end.
const LARGEST_REPLY: usize = 4 * 1024 * 1024;
/// How long an idle connection is kept; servers close theirs after 3 s (new ones) or 10 s.
const IDLE: Duration = Duration::from_millis(2500);

/// How to talk to nodes.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    /// `connect_timeout`.
    pub connect_timeout: Duration,
    /// `timeout`: of a whole request.
    pub timeout: Duration,
    /// `pool_max_per_route`.
    pub most: usize,
    /// Who we are, and the user's own headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The `ssl_*` options when TLS is on.
    pub tls: Option<Tls>,
}

/// What a server answered.
#[derive(Debug)]
pub(super) struct Reply {
    /// HTTP status.
    pub status: u16,
    /// The header `X-ClickHouse-Exception-Code`.
    pub exception: Option<u32>,
    /// The body.
    pub body: Vec<u8>,
}

/// No answer came.
#[derive(Debug)]
pub(super) struct Unreachable {
    /// Why.
    pub why: String,
    /// Whether the request may have reached the server all the same.
    pub may_have_arrived: bool,
}

/// Makes the clients of nodes.
#[derive(Clone)]
pub(super) struct Connector {
    connections: Connections,
    headers: HeaderMap,
    /// Checked once; what goes into each node's client.
    tls: Option<rustls::ClientConfig>,
}

impl Connector {
    /// Reads certificates; opens nothing.
    pub fn new(connections: Connections) -> Result<Self, BadOption> {
        let tls = connections.tls.as_ref().map(server_tls::config).transpose()?;
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/x-ndjson"));
        if let Ok(agent) = HeaderValue::from_str(concat!("Spillway/", env!("CARGO_PKG_VERSION"))) {
            headers.insert("user-agent", agent);
        }
        headers.extend(connections.headers.iter().cloned());
        Ok(Self { connections, headers, tls })
    }

    /// A client for one node.
    pub fn client(&self) -> Result<HttpClient, String> {
        let builder: ClientBuilder = Client::builder()
            .connect_timeout(self.connections.connect_timeout)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(self.connections.most)
            .tcp_nodelay(true)
            .no_proxy()
            .referer(false)
            .redirect(redirect::Policy::none())
            .default_headers(self.headers.clone());
        let client = crate::plugins::tls::for_http(builder, self.tls.clone()).build().map_err(explained)?;
        Ok(HttpClient { client, timeout: self.connections.timeout })
    }
}

/// Talks to one node.
pub(super) struct HttpClient {
    client: Client,
    timeout: Duration,
}

impl HttpClient {
    /// Asks without a body, and waits no longer than `limit`.
    pub async fn get(&self, url: Url, limit: Duration) -> Result<Reply, Unreachable> {
        run(self.client.get(url), limit.min(self.timeout)).await
    }

    /// Posts a body.
    pub async fn post(&self, url: Url, encoding: Option<&'static str>, body: Bytes) -> Result<Reply, Unreachable> {
        let mut request = self.client.post(url).body(body);
        if let Some(encoding) = encoding {
            request = request.header("content-encoding", encoding);
        }
        run(request, self.timeout).await
    }
}

async fn run(request: RequestBuilder, limit: Duration) -> Result<Reply, Unreachable> {
    let silence =
        |_| Unreachable { why: format!("no answer within {} s", limit.as_secs_f64()), may_have_arrived: true };
    timeout(limit, answer(request)).await.map_err(silence)?
}

async fn answer(request: RequestBuilder) -> Result<Reply, Unreachable> {
    let lost = |error: reqwest::Error| {
        let may_have_arrived = !error.is_connect() && !error.is_builder();
        Unreachable { why: explained(error), may_have_arrived }
    };
    let mut response = request.send().await.map_err(lost)?;
    let status = response.status().as_u16();
    let exception = response.headers().get("x-clickhouse-exception-code");
    let exception = exception.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(lost)? {
        let room = LARGEST_REPLY.saturating_sub(body.len());
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
    }
    Ok(Reply { status, exception, body })
}
