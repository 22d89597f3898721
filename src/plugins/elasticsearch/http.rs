//! HTTP to the servers: the headers that every request has, timeouts, and replies as plain bytes.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Proxy, Response, Url, redirect};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::endpoint::Endpoint;
use crate::plugins::server_tls::{self, Tls};
use crate::plugins::tls::{BadOption, explained};

/// A larger reply is not read to its end.
pub const LARGEST_REPLY: usize = 256 * 1024 * 1024;
/// A request body may take this long on its way besides the wait for the answer: no link is slower.
const SLOWEST_UPLOAD_BYTES_PER_SECOND: usize = 128 * 1024;

/// How requests introduce the plugin.
#[derive(Clone, Copy, Debug)]
pub struct Agent {
    /// Name and version of the plugin for Logstash, at the end of `User-Agent`.
    pub plugin: &'static str,
    /// `X-Elastic-Product-Origin`
    pub origin: Option<&'static str>,
}

/// How to talk to all servers of a plugin.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Who asks.
    pub agent: Agent,
    /// Longest time until a connection is there.
    pub connect_timeout: Duration,
    /// `timeout`: the longest silence of a server.
    pub timeout: Duration,
    /// `pool_max`.
    pub connections: usize,
    /// `pool_max_per_route`.
    pub connections_per_host: usize,
    /// `validate_after_inactivity`: an idle connection older than this is not used again.
    pub idle: Option<Duration>,
    /// `custom_headers`.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// `proxy`
    pub proxy: Option<Proxy>,
    /// The `ssl_*` options when TLS is on.
    pub tls: Option<Tls>,
}

/// What a server answered.
#[derive(Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The body, not compressed.
    pub body: Vec<u8>,
}

impl Reply {
    /// 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// No answer came: refused, reset, no such host, TLS, timeout. Holds why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(pub String);

/// Talks to the servers of one plugin.
pub struct Http {
    /// For GET and HEAD: follows redirects.
    asking: Client,
    /// For what has a body: a redirect is an answer like any other.
    sending: Client,
    headers: HeaderMap,
    custom: Vec<(HeaderName, HeaderValue)>,
    timeout: Duration,
    permits: Semaphore,
    serverless: AtomicBool,
}

impl Http {
    /// Prepares connections without opening any.
    pub fn new(options: &HttpOptions) -> Result<Self, BadOption> {
        let client = |redirects| {
            let builder = Client::builder()
                .connect_timeout(options.connect_timeout)
                .pool_idle_timeout(options.idle)
                .pool_max_idle_per_host(options.connections_per_host)
                .tcp_nodelay(true)
                .no_proxy()
                .referer(false)
                .redirect(redirects);
            let builder = match &options.proxy {
                Some(proxy) => builder.proxy(proxy.clone()),
                None => builder,
            };
            let builder = server_tls::apply(builder, options.tls.as_ref())?;
            let failed = |e| format!("the connections cannot be set up: {}", explained(e));
            builder.build().map_err(|e| BadOption { option: "hosts", message: failed(e) })
        };
        Ok(Self {
            asking: client(redirect::Policy::limited(5))?,
            sending: client(redirect::Policy::none())?,
            headers: standard_headers(options.agent),
            custom: options.headers.clone(),
            timeout: options.timeout,
            permits: Semaphore::new(options.connections),
            serverless: AtomicBool::new(false),
        })
    }

    /// From now on every request names the version of the API, as serverless projects ask for.
    pub fn use_serverless(&self) {
        self.serverless.store(true, Ordering::Relaxed);
    }

    /// Asks without a body.
    pub async fn ask(&self, method: Method, url: &Url, endpoint: &Endpoint) -> Result<Reply, Unreachable> {
        let headers = self.headers(HeaderMap::new(), endpoint);
        let request = self.asking.request(method, url.clone()).headers(headers);
        self.run(request, 0, LARGEST_REPLY).await
    }

    /// Sends a body. A redirect is an answer like any other; one of more than `most` bytes is none.
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        endpoint: &Endpoint,
        own: HeaderMap,
        body: Vec<u8>,
        most: usize,
    ) -> Result<Reply, Unreachable> {
        let size = body.len();
        let request = self.sending.request(method, url.clone()).headers(self.headers(own, endpoint)).body(body);
        self.run(request, size, most).await
    }

    async fn run(&self, request: reqwest::RequestBuilder, size: usize, most: usize) -> Result<Reply, Unreachable> {
        let silence = || Unreachable(format!("no answer within {} s", self.timeout.as_secs_f64()));
        let _permit = timeout(self.timeout, self.permits.acquire()).await.map_err(|_| silence())?;
        let upload = Duration::from_secs((size / SLOWEST_UPLOAD_BYTES_PER_SECOND) as u64);
        let sent = timeout(self.timeout.saturating_add(upload), request.send()).await.map_err(|_| silence())?;
        let mut response = sent.map_err(|e| Unreachable(explained(e)))?;
        let mut body = Vec::new();
        loop {
            let chunk = timeout(self.timeout, response.chunk()).await.map_err(|_| silence())?;
            let Some(chunk) = chunk.map_err(|e| Unreachable(explained(e)))? else { break };
            if body.len() + chunk.len() > most {
                return Err(Unreachable(format!("the reply is larger than {most} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        reply(response, body, most)
    }

    fn headers(&self, own: HeaderMap, endpoint: &Endpoint) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(authorization) = &endpoint.authorization {
            headers.insert(reqwest::header::AUTHORIZATION, authorization.clone());
        }
        if self.serverless.load(Ordering::Relaxed) {
            headers.insert("elastic-api-version", HeaderValue::from_static("2023-10-31"));
        }
        headers.extend(own);
        for (name, value) in &self.custom {
            headers.insert(name, value.clone());
        }
        headers
    }
}

fn reply(response: Response, body: Vec<u8>, most: usize) -> Result<Reply, Unreachable> {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    // gzip is undone by the client; deflate is what some proxies answer instead.
    let deflated = headers.get("content-encoding").is_some_and(|v| v.as_bytes().eq_ignore_ascii_case(b"deflate"));
    let body = if deflated { inflated(&body, most)? } else { body };
    Ok(Reply { status, headers, body })
}

/// The two things that servers call `deflate`: with and without the zlib frame.
fn inflated(body: &[u8], most: usize) -> Result<Vec<u8>, Unreachable> {
    let limit = most as u64;
    let mut out = Vec::new();
    if flate2::read::ZlibDecoder::new(body).take(limit).read_to_end(&mut out).is_ok() {
        return Ok(out);
    }
    out.clear();
    let raw = flate2::read::DeflateDecoder::new(body).take(limit).read_to_end(&mut out);
    raw.map_err(|e| Unreachable(format!("the reply cannot be decompressed: {e}")))?;
    Ok(out)
}

fn standard_headers(agent: Agent) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    if let Some(origin) = agent.origin {
        headers.insert("x-elastic-product-origin", HeaderValue::from_static(origin));
    }
    headers.insert("accept-encoding", HeaderValue::from_static("gzip,deflate"));
    headers.insert("connection", HeaderValue::from_static("Keep-Alive"));
    if let Ok(agent) = HeaderValue::from_str(&user_agent(agent.plugin)) {
        headers.insert("user-agent", agent);
    }
    headers
}

/// The shape that Logstash sends; there is no JVM to name.
fn user_agent(plugin: &str) -> String {
    let system = rustix::system::uname();
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "Spillway/{version} (OS={}-{}-{}; JVM=none-0) {plugin}",
        system.sysname().to_string_lossy(),
        system.release().to_string_lossy(),
        system.machine().to_string_lossy(),
    )
}
