//! Requests and what becomes of them.

use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Proxy, Response, StatusCode, Url, redirect};
use rustls::ClientConfig;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::bytes::Bytes;

use crate::plugins::{Secret, tls};

/// How much of an answer a reason quotes.
const QUOTED: usize = 300;
/// Redirects that are followed.
const REDIRECTS: usize = 50;

/// How to talk to the servers.
pub(super) struct ClientSettings {
    pub connect_timeout: Duration,
    /// Longest silence of a server.
    pub socket_timeout: Duration,
    /// Longest time of a request.
    pub request_timeout: Duration,
    pub follow_redirects: bool,
    /// Most requests at a time.
    pub pool_max: usize,
    /// Most idle connections to one host that are kept; none when connections are not kept.
    pub pool_max_per_route: usize,
    /// An idle connection older than this is not used again.
    pub idle: Option<Duration>,
    pub cookies: bool,
    /// How often a request that broke is sent again at once.
    pub automatic_retries: u32,
    /// Whether that goes for all methods.
    pub retry_non_idempotent: bool,
    pub proxy: Option<Proxy>,
    pub user: Option<(String, Secret)>,
    pub tls: Option<ClientConfig>,
    /// Answers that count as success.
    pub ignorable: Vec<u16>,
    /// Answers after which a request is tried again.
    pub retryable: Vec<u16>,
}

/// A request, ready to be sent any number of times.
pub(super) struct Request {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

/// What became of a request.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The server has it.
    Taken,
    /// It may go better later; why not now.
    Later(String),
    /// It will not; why.
    Never(String),
}

/// Sends the requests of one output.
pub(super) struct Client {
    http: reqwest::Client,
    permits: Semaphore,
    settings: ClientSettings,
}

impl Client {
    /// Prepares connections without opening any.
    pub fn new(mut settings: ClientSettings) -> Result<Self, String> {
        let redirects = match settings.follow_redirects {
            true => redirect::Policy::limited(REDIRECTS),
            false => redirect::Policy::none(),
        };
        let mut builder = reqwest::Client::builder()
            .connect_timeout(settings.connect_timeout)
            .read_timeout(settings.socket_timeout)
            .pool_idle_timeout(settings.idle)
            .pool_max_idle_per_host(settings.pool_max_per_route)
            .cookie_store(settings.cookies)
            .tcp_nodelay(true)
            .referer(false)
            .redirect(redirects);
        builder = match settings.proxy.take() {
            Some(proxy) => builder.proxy(proxy),
            None => builder.no_proxy(),
        };
        let builder = tls::for_http(builder, settings.tls.take());
        let http = builder.build().map_err(tls::explained)?;
        Ok(Self { http, permits: Semaphore::new(settings.pool_max), settings })
    }

    /// Sends a request once, and again at once when the connection broke and that cannot do harm.
    pub async fn send(&self, request: &Request) -> Outcome {
        let url = match Url::parse(&request.url) {
            Ok(url) => url,
            Err(error) => return Outcome::Never(format!("`{}` is no URL: {error}", request.url)),
        };
        let place = format!("{} {}", request.method, without_secrets(&url));
        // It fails only when it is closed, which it never is.
        let _permit = self.permits.acquire().await;
        let again = self.settings.retry_non_idempotent || request.method.is_idempotent();
        let mut left = if again { self.settings.automatic_retries } else { 0 };
        loop {
            let built = match self.build(request, &url) {
                Ok(built) => built,
                Err(why) => return Outcome::Never(format!("{place}: {why}")),
            };
            let answer = async {
                let response = built.send().await?;
                let status = response.status();
                Ok((status, location(&response), quoted(response).await?))
            };
            match timeout(self.settings.request_timeout, answer).await {
                Ok(Ok((status, location, body))) => return self.judge(&place, status, location, &body),
                Ok(Err(error)) if error_is_ours(&error) => {
                    return Outcome::Never(format!("{place}: {}", tls::explained(error)));
                }
                Ok(Err(_)) | Err(_) if left > 0 => left -= 1,
                Ok(Err(error)) => return Outcome::Later(format!("{place}: {}", tls::explained(error))),
                Err(_) => return Outcome::Later(format!("{place}: no answer in time")),
            }
        }
    }

    fn build(&self, request: &Request, url: &Url) -> Result<reqwest::RequestBuilder, String> {
        let mut built = self.http.request(request.method.clone(), url.clone());
        for (name, value) in &request.headers {
            let header = HeaderName::try_from(name.as_str()).ok().zip(HeaderValue::from_str(value).ok());
            let (name, value) = header.ok_or_else(|| format!("the header `{name}` is not legal"))?;
            built = built.header(name, value);
        }
        if let Some((user, password)) = &self.settings.user {
            built = built.basic_auth(user, Some(password.reveal()));
        }
        Ok(built.body(request.body.clone()))
    }

    fn judge(&self, place: &str, status: StatusCode, location: Option<String>, body: &str) -> Outcome {
        let code = status.as_u16();
        if self.settings.ignorable.contains(&code) || status.is_success() {
            return Outcome::Taken;
        }
        let to = location.map(|location| format!(" to {location}")).unwrap_or_default();
        let says = if body.is_empty() { String::new() } else { format!(": {body}") };
        let why = format!("{place} was answered with {code}{to}{says}");
        if self.settings.retryable.contains(&code) { Outcome::Later(why) } else { Outcome::Never(why) }
    }
}

/// Whether a request can never be sent, whatever the server does.
fn error_is_ours(error: &reqwest::Error) -> bool {
    error.is_builder() || error.is_redirect()
}

fn location(response: &Response) -> Option<String> {
    response.headers().get(reqwest::header::LOCATION)?.to_str().ok().map(str::to_owned)
}

/// The beginning of an answer. All of it is read, so that the connection can be used again.
async fn quoted(mut response: Response) -> Result<String, reqwest::Error> {
    let mut start = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = QUOTED.saturating_sub(start.len());
        start.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
    }
    Ok(String::from_utf8_lossy(&start).trim().to_owned())
}

/// Without user, password and query, which may hold a key.
fn without_secrets(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for URLs that have no host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.to_string()
}
