//! Options on connections that all plugins have: headers of one's own, and a proxy; and with them and the servers all
//! that a plugin needs that only asks.

use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Proxy, Url};

use super::endpoint::Paths;
use super::hosts::percent_decoded;
use super::http::{Agent, Http, HttpOptions};
use super::search::Searcher;
use super::servers::{self, Declared, Given};
use crate::plugins::Options;
use crate::plugins::server_tls::Tls;

/// Requests of a plugin that asks that run at once, at most: one per slice or worker.
const ASKING_AT_ONCE: usize = 1000;
/// A connection that was idle for longer is not used again.
const IDLE: Duration = Duration::from_secs(10);

/// The options on servers and connections of a plugin that asks, as they were given.
pub struct Asking {
    declared: Declared,
    ssl: Option<bool>,
    headers: Vec<(HeaderName, HeaderValue)>,
    proxy: Option<Option<Proxy>>,
}

/// How long a plugin that asks waits.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until a connection is there.
    pub connect: Duration,
    /// Longest silence of a server.
    pub silence: Duration,
    /// For a request as a whole.
    pub request: Duration,
}

/// Declares those. `localhost:9200` is the server of a configuration that names none.
pub fn asking(options: &mut Options<'_>) -> Asking {
    let declared = servers::declare(options, "localhost:9200");
    let ssl = options.boolean("ssl_enabled").doc("Use TLS. Unset: when a host says https.").optional();
    Asking { declared, ssl, headers: headers(options), proxy: proxy(options) }
}

impl Asking {
    /// What asks, after the TLS options were read, too. `None` when an option is wrong, which is reported.
    pub fn searcher(self, options: &mut Options<'_>, agent: Agent, patience: Patience) -> Option<Searcher> {
        let Self { declared, ssl, headers, proxy } = self;
        let given = declared.settle(options).map(|(hosts, login)| Given {
            hosts,
            login,
            path: None,
            paths: Paths::default(),
            ssl: ("ssl_enabled", ssl),
            alike: false,
        });
        let servers = given.and_then(|given| servers::resolve(options, given));
        let secure = servers.as_ref().is_some_and(|servers| servers.secure);
        let tls = Tls::read_with_passphrase(options, secure);
        let http = HttpOptions {
            agent,
            connect_timeout: patience.connect,
            timeout: patience.silence,
            connections: ASKING_AT_ONCE,
            connections_per_host: ASKING_AT_ONCE,
            idle: Some(IDLE),
            headers,
            proxy: proxy?,
            tls: if secure { Some(tls?) } else { None },
        };
        let http = Http::new(&http).map_err(|bad| options.invalid(bad.option, bad.message)).ok()?;
        Some(Searcher::new(http, servers?.endpoints, patience.request))
    }
}

/// `custom_headers`; wrong ones are reported and left out.
pub fn headers(options: &mut Options<'_>) -> Vec<(HeaderName, HeaderValue)> {
    let headers = options.hash("custom_headers").doc("Headers of every request; they replace our own.").default(vec![]);
    let mut custom = Vec::new();
    for (name, value) in headers {
        let header = value.as_str().map(str::to_owned).or_else(|| value.as_integer().map(|n| n.to_string()));
        let value = header.and_then(|text| HeaderValue::from_str(&text).ok());
        match (HeaderName::try_from(name.as_str()), value) {
            (Ok(name), Some(value)) => custom.push((name, value)),
            _ => options.invalid("custom_headers", format!("`{name}` is not a legal header with a text value")),
        }
    }
    custom
}

/// `proxy`. The inner `None` means no proxy, the outer one a wrong option.
pub fn proxy(options: &mut Options<'_>) -> Option<Option<Proxy>> {
    let given = options
        .string("proxy")
        .doc("HTTP proxy that all requests go through: URL with user and password, or host:port. The port is 80 unless given.")
        .optional();
    match given.as_deref() {
        None => Some(None),
        Some("") => {
            options.warn("proxy", "no-effect", "an empty `proxy` has no effect: no proxy is used");
            Some(None)
        }
        Some(text) => {
            let made = through(text);
            if made.is_none() {
                options.invalid("proxy", "`proxy` is the URL of an HTTP proxy, such as http://proxy.example.org:3128");
            }
            made.map(Some)
        }
    }
}

/// User and password go into a header, so that no error shows them.
fn through(text: &str) -> Option<Proxy> {
    let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let mut url =
        Url::parse(&with_scheme).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())?;
    let login = (percent_decoded(url.username()), percent_decoded(url.password().unwrap_or_default()));
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    let proxy = Proxy::all(url).ok()?;
    Some(if login.0.is_empty() { proxy } else { proxy.basic_auth(&login.0, &login.1) })
}
