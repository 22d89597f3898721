//! Sniffing: asking a server for all servers of its cluster. What it names gets what `hosts` say besides the address.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;

use super::pool::Host;
use crate::plugins::elasticsearch::endpoint::Endpoint;
use crate::plugins::elasticsearch::http::Http;
use crate::plugins::elasticsearch::servers::Likeness;

/// How servers are found.
pub(super) struct Sniffing {
    /// Time before the first question, and between two.
    pub delay: Duration,
    /// What every server has in common.
    pub like: Likeness,
}

#[derive(Deserialize)]
struct Nodes {
    nodes: BTreeMap<String, Node>,
}

#[derive(Deserialize)]
struct Node {
    #[serde(default)]
    roles: Option<Vec<String>>,
    #[serde(default)]
    http: Option<Published>,
}

#[derive(Deserialize)]
struct Published {
    publish_address: String,
}

impl Sniffing {
    /// The servers that one of them names; empty when none of them takes documents.
    pub async fn ask(&self, http: &Http, host: &Host) -> Result<Vec<Endpoint>, String> {
        let reply = http.ask(Method::GET, &host.endpoint.nodes, &host.endpoint).await.map_err(|error| error.0)?;
        if !reply.is_success() {
            return Err(format!("it answered {}", reply.status));
        }
        let places = places(&reply.body)?;
        let Likeness { address, paths, authorization } = &self.like;
        let endpoint = |place: &String| Endpoint::new(&address.on(place), paths, authorization.clone());
        places.iter().map(endpoint).collect()
    }
}

/// `host:port` of each node that takes documents.
fn places(body: &[u8]) -> Result<Vec<String>, String> {
    let nodes: Nodes =
        serde_json::from_slice(body).map_err(|error| format!("its answer is no list of nodes: {error}"))?;
    let only_elects = |node: &Node| matches!(node.roles.as_deref(), Some([only]) if only == "master");
    let useful = nodes.nodes.into_values().filter(|node| !only_elects(node));
    Ok(useful.filter_map(|node| place(&node.http?.publish_address)).collect())
}

/// `ip:port`, `host/ip:port` and the old `inet[/ip:port]`; a host name is preferred, as certificates hold it.
fn place(published: &str) -> Option<String> {
    let inner = published.strip_prefix("inet[").and_then(|rest| rest.strip_suffix(']')).unwrap_or(published);
    let (name, address) = inner.split_once('/').unwrap_or(("", inner));
    let (_, port) = address.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    Some(if name.is_empty() { address.to_owned() } else { format!("{name}:{port}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_addresses_in_all_their_forms() {
        for (published, expected) in [
            ("127.0.0.1:9200", Some("127.0.0.1:9200")),
            ("es.example.org/10.0.0.1:9201", Some("es.example.org:9201")),
            ("inet[/10.0.0.1:9200]", Some("10.0.0.1:9200")),
            ("[2001:db8::1]:9200", Some("[2001:db8::1]:9200")),
            ("es.example.org/[2001:db8::1]:9200", Some("es.example.org:9200")),
            ("nonsense", None),
            ("10.0.0.1:port", None),
        ] {
            assert_eq!(place(published).as_deref(), expected, "{published}");
        }
    }

    #[test]
    fn nodes_without_http_or_documents_are_left_out() {
        let body = br#"{"nodes":{
            "a":{"roles":["master"],"http":{"publish_address":"10.0.0.1:9200"}},
            "b":{"roles":["master","data"],"http":{"publish_address":"10.0.0.2:9200"}},
            "c":{"roles":["data"]},
            "d":{"http":{"publish_address":"10.0.0.4:9200"}}}}"#;
        assert_eq!(places(body).unwrap(), ["10.0.0.2:9200", "10.0.0.4:9200"]);
        assert!(places(b"<html>").is_err());
    }
}
