//! Questions to a cluster: any of its servers answers them, so the next one is asked when one cannot be reached.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value as Json;

use super::about::{About, Server};
use super::endpoint::Endpoint;
use super::http::{Http, LARGEST_REPLY, Reply, Unreachable};
use crate::event::json::{Numbers, Reader};
use crate::event::{Map, Text, Value};

/// Characters of an answer that a message shows.
const SHOWN_CHARS: usize = 1000;

/// Asks.
pub struct Searcher {
    http: Http,
    endpoints: Vec<Endpoint>,
    /// The server that answered last.
    current: AtomicUsize,
    /// Longest time of a request as a whole.
    limit: Duration,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// No server could be reached, or none answered in time.
    #[error("no server could be reached: {0}")]
    Unreachable(String),
    /// A server answered with an error.
    #[error("{url} answered {status}: {text}")]
    Refused {
        /// Of the server.
        url: String,
        /// HTTP status.
        status: u16,
        /// The beginning of what it said.
        text: String,
    },
    /// A server answered something else than was asked for, or only a part of it.
    #[error("{url}: {why}")]
    Senseless {
        /// Of the server.
        url: String,
        /// What is wrong.
        why: String,
    },
}

impl Failure {
    /// Whether the same question can have an answer later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Senseless { .. } => true,
            Self::Refused { status, .. } => matches!(status, 408 | 429 | 500..),
        }
    }

    /// Whether the server may have done what was asked for all the same.
    pub fn is_uncertain(&self) -> bool {
        !matches!(self, Self::Refused { .. })
    }
}

impl Searcher {
    /// Nothing is contacted yet.
    pub fn new(http: Http, endpoints: Vec<Endpoint>, limit: Duration) -> Self {
        Self { http, endpoints, current: AtomicUsize::new(0), limit }
    }

    /// What the cluster is.
    pub async fn server(&self) -> Result<Server, Failure> {
        let (reply, url) = self.call(Method::GET, "/", None).await?;
        let about: Option<About> = serde_json::from_slice(&reply.body).ok();
        about.and_then(|about| about.server()).ok_or_else(|| Failure::Senseless {
            url,
            why: "it is neither Elasticsearch nor OpenSearch: its answer to GET / holds no version".to_owned(),
        })
    }

    /// Asks for a JSON object.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&Json>) -> Result<Map, Failure> {
        let (reply, url) = self.call(method, path, body.map(|body| body.to_string().into_bytes())).await?;
        object(reply.body).ok_or_else(|| Failure::Senseless { url, why: "its answer is no JSON object".to_owned() })
    }

    /// As [`Searcher::ask`], for hits or aggregations. An answer of only some of the shards is a failure: the
    /// documents of the others would be missing without a word.
    pub async fn search(&self, method: Method, path: &str, body: Option<&Json>) -> Result<Map, Failure> {
        let answer = self.ask(method, path, body).await?;
        let failed = answer.get("_shards").and_then(Value::as_map).and_then(|shards| shards.get("failed"));
        let failed = failed.and_then(Value::as_integer).unwrap_or(0);
        let is_late = answer.get("timed_out").is_some_and(Value::is_truthy);
        if failed == 0 && !is_late {
            return Ok(answer);
        }
        let url = self.endpoints.first().map(|endpoint| endpoint.label.clone()).unwrap_or_default();
        let why = format!("{failed} shards failed, timed out: {is_late}; the answer is not complete");
        Err(Failure::Senseless { url, why })
    }

    async fn call(&self, method: Method, path: &str, body: Option<Vec<u8>>) -> Result<(Reply, String), Failure> {
        let first = self.current.load(Ordering::Relaxed);
        let mut last = "there are no hosts".to_owned();
        for at in (first..).take(self.endpoints.len()) {
            let Some(endpoint) = self.endpoints.get(at % self.endpoints.len().max(1)) else { break };
            let sent = tokio::time::timeout(self.limit, self.send(endpoint, method.clone(), path, body.clone())).await;
            let sent = sent.unwrap_or_else(|_| Err(Unreachable(format!("no answer within {:?}", self.limit))));
            match sent {
                Ok(reply) => {
                    self.current.store(at, Ordering::Relaxed);
                    let url = endpoint.label.clone();
                    if reply.is_success() {
                        return Ok((reply, url));
                    }
                    let text = String::from_utf8_lossy(&reply.body).chars().take(SHOWN_CHARS).collect();
                    return Err(Failure::Refused { url, status: reply.status, text });
                }
                Err(error) => last = format!("{}: {error}", endpoint.label),
            }
        }
        Err(Failure::Unreachable(last))
    }

    async fn send(
        &self,
        endpoint: &Endpoint,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Reply, Unreachable> {
        let url = endpoint.at(path).map_err(Unreachable)?;
        match body {
            None => self.http.ask(method, &url, endpoint).await,
            Some(body) => self.http.send(method, &url, endpoint, HeaderMap::new(), body, LARGEST_REPLY).await,
        }
    }
}

fn object(body: Vec<u8>) -> Option<Map> {
    let text = Text::from(String::from_utf8(body).ok()?);
    match Reader::new(&text, Numbers::Double).next_value() {
        Ok(Some(Value::Map(map))) => Some(map),
        _ => None,
    }
}

/// The list of hits in an answer, out of it.
pub fn take_hits(answer: &mut Map) -> Vec<Value> {
    match answer.get_mut("hits") {
        Some(Value::Map(hits)) => match hits.remove("hits") {
            Some(Value::Array(hits)) => hits,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// A comma-separated list of indexes, aliases and patterns as a step of a path. Nothing for all indexes.
pub fn index_path(index: &str) -> String {
    if index.is_empty() {
        return String::new();
    }
    let encoded = super::endpoint::encoded(index);
    // What tells indexes apart must stay as it is.
    format!("/{}", encoded.replace("%2C", ",").replace("%2A", "*").replace("%3A", ":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_indexes_and_patterns_are_one_step_of_a_path() {
        assert_eq!(index_path("logs-*,-old,far:x"), "/logs-*,-old,far:x");
        assert_eq!(index_path("<a-{now/d}>"), "/%3Ca-%7Bnow%2Fd%7D%3E");
        assert_eq!(index_path(""), "");
    }
}
