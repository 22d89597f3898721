//! The addresses of one server: health check, product, licence, nodes and bulk, each with prefix and query in place.

use reqwest::Url;
use reqwest::header::HeaderValue;

use super::hosts::{Address, clean_path};

/// Keeps bulk replies small: only what decides on an item.
const FILTER: &str = "filter_path=errors,items.*.error,items.*.status";
/// Added to [`FILTER`] when ids were sent, so that items and actions can be paired by them.
const FILTER_IDS: &str = ",items.*._id";

/// Path options, the same for all servers.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// `bulk_path`.
    pub bulk: Option<String>,
    /// `healthcheck_path`.
    pub health: Option<String>,
    /// `sniffing_path`.
    pub sniffing: Option<String>,
    /// Bulk replies are asked for in full.
    pub full_replies: bool,
    /// `parameters`, in order.
    pub parameters: Vec<(String, String)>,
}

/// Where requests to one server go.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// For logs; never holds a password.
    pub label: String,
    /// `HEAD` here tells whether the server is well.
    pub health: Url,
    /// `GET` here tells what the server is.
    pub root: Url,
    /// `GET` here tells the licence.
    pub license: Url,
    /// `GET` here tells of all nodes of the cluster.
    pub nodes: Url,
    /// Bulk requests whose actions have no ids.
    pub bulk: Url,
    /// Bulk requests with ids.
    pub bulk_with_ids: Url,
    /// The `Authorization` header.
    pub authorization: Option<HeaderValue>,
    base: Base,
}

/// What all addresses of a server have in common.
#[derive(Clone, Debug)]
struct Base {
    origin: String,
    prefix: String,
    query: String,
}

impl Base {
    /// Of a path that an option may have given with the prefix in it.
    fn url(&self, path: &str) -> Result<Url, String> {
        let (path, own) = path.split_once('?').unwrap_or((path, ""));
        self.joined(&prefixed(&self.prefix, path), own)
    }

    fn joined(&self, path: &str, own: &str) -> Result<Url, String> {
        let query: Vec<&str> = [self.query.as_str(), own].into_iter().filter(|q| !q.is_empty()).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        let text = format!("{}{path}{mark}{}", self.origin, query.join("&"));
        Url::parse(&text).map_err(|e| format!("the address {}{path} is not valid: {e}", self.origin))
    }
}

impl Endpoint {
    /// Puts the addresses together.
    pub fn new(address: &Address, paths: &Paths, authorization: Option<HeaderValue>) -> Result<Self, String> {
        let query = joined_query(address.query.as_deref(), &paths.parameters);
        let base = Base { origin: address.origin.clone(), prefix: address.prefix.clone(), query };
        let bulk = paths.bulk.as_deref().unwrap_or("/_bulk");
        let bulk = |ids| if paths.full_replies { base.url(bulk) } else { base.url(&filtered(bulk, ids)) };
        Ok(Self {
            label: format!("{}{}/", address.origin, address.prefix),
            health: base.url(paths.health.as_deref().unwrap_or("/"))?,
            root: base.url("/")?,
            license: base.url("/_license")?,
            nodes: base.url(paths.sniffing.as_deref().unwrap_or("/_nodes/http"))?,
            bulk: bulk("")?,
            bulk_with_ids: bulk(FILTER_IDS)?,
            authorization,
            base,
        })
    }

    /// Another address of the server: a path, which is percent-encoded where it has to be, and its query.
    pub fn at(&self, path: &str) -> Result<Url, String> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        self.base.joined(&format!("{}{path}", self.base.prefix), query)
    }
}

/// The prefix stands before a path exactly once, also when the path was written with it.
fn prefixed(prefix: &str, path: &str) -> String {
    let slash = if path.ends_with('/') { "/" } else { "" };
    let path = clean_path(path);
    let has_prefix = path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if has_prefix { format!("{path}{slash}") } else { format!("{prefix}{path}{slash}") }
}

fn filtered(path: &str, more: &str) -> String {
    if path.contains("?filter_path=") || path.contains("&filter_path=") {
        return path.to_owned();
    }
    let mark = if path.contains('?') { '&' } else { '?' };
    format!("{path}{mark}{FILTER}{more}")
}

/// A step of a path with everything encoded that is not a plain name.
pub fn encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The query of the URL with `parameters` merged in: their keys win.
fn joined_query(own: Option<&str>, parameters: &[(String, String)]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in own.unwrap_or_default().split('&').filter(|p| !p.is_empty()) {
        let key = part.split_once('=').map_or(part, |(key, _)| key);
        if !parameters.iter().any(|(k, _)| k == key) {
            parts.push(part.to_owned());
        }
    }
    parts.extend(parameters.iter().map(|(key, value)| format!("{key}={value}")));
    parts.join("&")
}

#[cfg(test)]
mod tests {
    use super::super::hosts::{Explicit, HostUrl, resolve};
    use super::*;

    fn endpoint(host: &str, path: Option<&str>, paths: &Paths) -> Endpoint {
        let explicit = Explicit { path: path.map(str::to_owned), ..Explicit::default() };
        let address = resolve(&[HostUrl::parse(host).unwrap()], &explicit).unwrap().remove(0);
        Endpoint::new(&address, paths, None).unwrap()
    }

    #[test]
    fn the_prefix_stands_once() {
        for (host, path) in [("http://h/es", None), ("http://h/es/", Some("es")), ("h", Some("/es/"))] {
            let e = endpoint(host, path, &Paths::default());
            assert_eq!(e.health.as_str(), "http://h:9200/es/");
            assert_eq!(e.license.as_str(), "http://h:9200/es/_license");
            assert!(e.bulk.as_str().starts_with("http://h:9200/es/_bulk?filter_path="), "{}", e.bulk);
            // An alias may be called like the prefix.
            assert_eq!(e.at("/es").unwrap().as_str(), "http://h:9200/es/es");
        }
        let paths = Paths { bulk: Some("/es//_bulk".into()), health: Some("/es/ping".into()), ..Paths::default() };
        let e = endpoint("http://h/es", None, &paths);
        assert_eq!(e.bulk.path(), "/es/_bulk");
        assert_eq!(e.health.path(), "/es/ping");
    }

    #[test]
    fn date_math_is_encoded_as_servers_want_it() {
        assert_eq!(encoded("<logstash-{now/d}-000001>"), "%3Clogstash-%7Bnow%2Fd%7D-000001%3E");
    }

    #[test]
    fn query_of_url_parameters_and_path() {
        let paths = Paths {
            bulk: Some("/_bulk?require_alias=true".into()),
            parameters: vec![("refresh".into(), "wait_for".into()), ("a".into(), "2".into())],
            ..Paths::default()
        };
        let e = endpoint("http://h?a=1&b=3", None, &paths);
        assert_eq!(
            e.bulk.query(),
            Some("b=3&refresh=wait_for&a=2&require_alias=true&filter_path=errors,items.*.error,items.*.status")
        );
        assert_eq!(e.root.query(), Some("b=3&refresh=wait_for&a=2"));
        let full = Paths { full_replies: true, ..Paths::default() };
        assert_eq!(endpoint("h", None, &full).bulk_with_ids.as_str(), "http://h:9200/_bulk");
        let own = Paths { bulk: Some("/_bulk?filter_path=*".into()), ..Paths::default() };
        assert_eq!(endpoint("h", None, &own).bulk_with_ids.query(), Some("filter_path=*"));
    }
}
