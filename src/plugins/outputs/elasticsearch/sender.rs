//! Sending the actions of a batch until the server has answered for each of them.
//!
//! A failure of a whole request (no connection, a bad status, a reply without sense) is retried for ever, with the
//! bytes as they were built. A large batch takes several requests: those that were answered are not sent again.
//! Answers for single items go back to the caller.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, Url};

use super::super::waits::Waits;
use super::LOG;
use super::action::Action;
use super::body;
use super::cluster::Cluster;
use super::flavor::Flavor;
use super::reason;
use super::reply::{self, Answer, Item};
use super::verdict::{Rules, Verdict};
use crate::event::{Map, Value};
use crate::metrics::PluginMetrics;
use crate::plugins::elasticsearch::http::{LARGEST_REPLY, Reply};
use crate::plugins::{GivenBack, Stop};

/// Characters of a reply that a log line shows.
const LOGGED_BODY_CHARS: usize = 2000;
/// Bytes that a reply may have for each action, and for all of them together.
const REPLY_BYTES_PER_ACTION: usize = 64 * 1024;
const SMALLEST_LIMIT_BYTES: usize = 4 * 1024 * 1024;
/// Longest `_id` that servers take, in bytes.
const LONGEST_ID: usize = 512;

/// Sends.
pub(super) struct Sender {
    /// Where to.
    pub cluster: Arc<Cluster>,
    /// What becomes of items.
    pub rules: Rules,
    /// The plugin.
    pub flavor: Flavor,
    /// Level of gzip; 0 for none.
    pub compression: u32,
    /// Bytes of a request before compression, as long as it holds more than one action.
    pub target_bytes: usize,
    /// First and longest wait.
    pub retry: (Duration, Duration),
    /// Counters of the plugin.
    pub metrics: Arc<PluginMetrics>,
}

/// What the servers said about a batch, or about the part of it that they answered for.
#[derive(Default)]
pub(super) struct Answered {
    /// Actions that were accepted without a look at each.
    pub accepted: usize,
    /// The others: place among the actions, item, verdict.
    pub judged: Vec<(usize, Item, Verdict)>,
}

/// Why a request has to be sent again.
enum Failure {
    NoHost,
    Unreachable { url: String, why: String },
    Status { url: String, status: u16, size: usize, body: String, suspects: Vec<String> },
    Senseless { url: String, body: String },
    Miscounted { sent: usize, returned: usize },
}

/// What one request led to.
enum Outcome {
    Accepted,
    Sorted(Vec<Item>),
    TooLarge,
    /// The server refused all for the sake of one action; holds its error.
    Poisoned(Value),
}

/// Bytes of the largest reply to so many actions that is believed: errors quote values, but no server tells novels.
fn largest_reply(actions: usize) -> usize {
    actions.saturating_mul(REPLY_BYTES_PER_ACTION).saturating_add(SMALLEST_LIMIT_BYTES).min(LARGEST_REPLY)
}

impl Sender {
    /// Sends until the servers answered for every action, or `stop`. Also what was answered before a stop is answered.
    pub async fn send(
        &self,
        bytes: &[u8],
        actions: &[Action],
        stop: &Stop,
        answered: &mut Answered,
    ) -> Result<(), GivenBack> {
        let mut waits = Waits::new(self.retry);
        let mut unanswered = body::split(actions, self.target_bytes);
        unanswered.reverse();
        while let Err(failure) = self.attempt(bytes, actions, &mut unanswered, answered).await {
            let wait = waits.next();
            self.report(&failure, wait);
            pause(wait, stop).await?;
        }
        let path = if answered.judged.is_empty() { "bulk_requests.successes" } else { "bulk_requests.with_errors" };
        self.count(path, 1);
        Ok(())
    }

    /// Sends the ranges of `unanswered`, the last one first, and takes out each that has an answer.
    async fn attempt(
        &self,
        bytes: &[u8],
        actions: &[Action],
        unanswered: &mut Vec<Range<usize>>,
        answered: &mut Answered,
    ) -> Result<(), Failure> {
        while let Some(range) = unanswered.last().cloned() {
            let part = actions.get(range.clone()).unwrap_or_default();
            let made = |status, error: &Value| part.iter().map(|a| Item::made(a.kind, status, error.clone())).collect();
            let outcome = self.request(bytes, part).await?;
            unanswered.pop();
            let items: Vec<Item> = match outcome {
                Outcome::Accepted => {
                    answered.accepted += part.len();
                    continue;
                }
                Outcome::Sorted(items) => items,
                Outcome::TooLarge => made(413, &Value::Map([("type", "payload_too_large")].into_iter().collect())),
                Outcome::Poisoned(error) if part.len() == 1 => made(400, &error),
                Outcome::Poisoned(_) => {
                    let middle = range.start + part.len() / 2;
                    unanswered.push(middle..range.end);
                    unanswered.push(range.start..middle);
                    continue;
                }
            };
            let judged = self.rules.judge(part, items).into_iter().enumerate();
            answered.judged.extend(judged.map(|(at, (item, verdict))| (range.start + at, item, verdict)));
        }
        Ok(())
    }

    async fn request(&self, bytes: &[u8], part: &[Action]) -> Result<Outcome, Failure> {
        let mut host = self.cluster.pool.lend();
        if host.is_none() {
            self.cluster.look_again().await;
            host = self.cluster.pool.lend();
        }
        let host = host.ok_or(Failure::NoHost)?;
        let with_ids = part.iter().any(|action| action.id.is_some());
        let endpoint = &host.endpoint;
        let url = if with_ids { &endpoint.bulk_with_ids } else { &endpoint.bulk };
        let (body, size) = body::pack(bytes, part, self.compression);
        let headers = self.headers(part.len(), size);
        let posted = match host.permits.acquire().await {
            Ok(_permit) => {
                self.cluster.http.send(Method::POST, url, endpoint, headers, body, largest_reply(part.len())).await
            }
            Err(_) => return Err(Failure::NoHost),
        };
        let reply = posted.map_err(|error| {
            self.cluster.pool.mark_dead(&host, &error.0);
            Failure::Unreachable { url: shown(url), why: error.0 }
        })?;
        self.count(&format!("bulk_requests.responses.{}", reply.status), 1);
        let strip_ids = endpoint.bulk != endpoint.bulk_with_ids;
        self.outcome(url, reply, part, size, strip_ids)
    }

    fn headers(&self, count: usize, size: usize) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self.flavor.is_elastic() {
            headers.insert("x-elastic-event-count", HeaderValue::from(count as u64));
            headers.insert("x-elastic-uncompressed-request-length", HeaderValue::from(size as u64));
        }
        if self.compression > 0 {
            headers.insert("content-encoding", HeaderValue::from_static("gzip"));
        }
        headers
    }

    fn outcome(
        &self,
        url: &Url,
        reply: Reply,
        part: &[Action],
        size: usize,
        strip_ids: bool,
    ) -> Result<Outcome, Failure> {
        let text = || reason::cut(&String::from_utf8_lossy(&reply.body), LOGGED_BODY_CHARS);
        if reply.status == 413 {
            tracing::warn!(target: LOG, action_count = part.len(), content_length = size,
                "Bulk request rejected: 413 Payload Too Large");
            return Ok(Outcome::TooLarge);
        }
        if !reply.is_success() {
            if reply.status == 400
                && self.rules.dead_letters
                && let Some(error) = reply::own_error(&reply.body).filter(blames_one_action)
            {
                return Ok(Outcome::Poisoned(error));
            }
            let suspects = if reply.status == 400 { suspects(part) } else { Vec::new() };
            return Err(Failure::Status { url: shown(url), status: reply.status, size, body: text(), suspects });
        }
        match reply::read(&reply.body) {
            Answer::Accepted => Ok(Outcome::Accepted),
            Answer::Senseless => Err(Failure::Senseless { url: shown(url), body: text() }),
            Answer::Sorted(items) if items.len() != part.len() => {
                Err(Failure::Miscounted { sent: part.len(), returned: items.len() })
            }
            Answer::Sorted(mut items) => {
                if strip_ids {
                    // They were only asked for to find the actions.
                    items.iter_mut().for_each(|item| {
                        item.body.remove("_id");
                    });
                }
                Ok(Outcome::Sorted(items))
            }
        }
    }

    fn report(&self, failure: &Failure, wait: Duration) {
        let seconds = wait.as_secs_f64();
        match failure {
            Failure::NoHost => {
                self.count("bulk_requests.failures", 1);
                tracing::error!(target: LOG, will_retry_in_seconds = seconds,
                    "Attempted to send a bulk request, but there are no living connections in the pool (perhaps {} is \
                     unreachable or down?)", self.flavor.product());
            }
            Failure::Unreachable { url, why } => {
                self.count("bulk_requests.failures", 1);
                tracing::error!(target: LOG, url = url.as_str(), will_retry_in_seconds = seconds,
                    "Attempted to send a bulk request to {}, but it appears to be unreachable or down: {why}",
                    self.flavor.product());
            }
            Failure::Status { url, status: 429, body, .. } => {
                self.count("bulk_requests.failures", 1);
                tracing::debug!(target: LOG, code = 429, url = url.as_str(), body = body.as_str(), will_retry_in_seconds = seconds,
                    "The server has too much to do, the bulk request is sent again");
            }
            Failure::Status { url, status, size, body, suspects } => {
                self.count("bulk_requests.failures", 1);
                let ids = if suspects.is_empty() { String::new() } else { format!(" ids {}", suspects.join(", ")) };
                tracing::error!(target: LOG, code = status, url = url.as_str(), content_length = size, body = body.as_str(),
                    will_retry_in_seconds = seconds,
                    "Encountered a retryable error, the bulk request is sent again (answered {status}){ids}");
            }
            Failure::Senseless { url, body } => {
                self.count("bulk_requests.failures", 1);
                tracing::error!(target: LOG, url = url.as_str(), body = body.as_str(), will_retry_in_seconds = seconds,
                    "An unknown error occurred sending a bulk request: the reply is not a JSON object");
            }
            Failure::Miscounted { sent, returned } => {
                self.count("bulk_requests.with_errors", 1);
                tracing::warn!(target: LOG, "Sent {sent} documents but {} returned {returned}", self.flavor.product());
                tracing::error!(target: LOG, will_retry_in_seconds = seconds,
                    "An unexpected error submitting a bulk request: the reply does not fit, it is sent again");
            }
        }
    }

    /// Adds to a counter of the plugin, which shows once it was asked for.
    pub fn count(&self, path: &str, n: usize) {
        if n > 0 {
            self.metrics.counter(path).add(n as u64);
        }
    }
}

/// Waits, unless the pipeline is asked to stop.
pub(super) async fn pause(wait: Duration, stop: &Stop) -> Result<(), GivenBack> {
    tokio::select! {
        () = stop.cancelled() => Err(GivenBack),
        () = tokio::time::sleep(wait) => Ok(()),
    }
}

/// An address without its query, which may hold what `parameters` keep secret.
fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

/// Whether a server refused a request because of what stands in one of its actions. Other refusals (an unknown
/// parameter, say) are not the fault of any event.
fn blames_one_action(error: &Value) -> bool {
    let member = |name| error.as_map().and_then(|e: &Map| e.get(name)).and_then(Value::as_str).unwrap_or_default();
    let (kind, reason) = (member("type"), member("reason"));
    kind == "action_request_validation_exception"
        || kind.ends_with("parse_exception")
        || kind == "parsing_exception"
        || reason.contains("action/metadata line")
        || reason.starts_with("For input string")
}

/// The ids that a server does not take, or else the first few.
fn suspects(part: &[Action]) -> Vec<String> {
    let ids = || part.iter().filter_map(|action| action.id.as_ref());
    let wrong: Vec<_> = ids().filter(|id| id.is_empty() || id.len() > LONGEST_ID).collect();
    let chosen = if wrong.is_empty() { ids().collect() } else { wrong };
    chosen.into_iter().take(10).map(|id| format!("\"{}\"", reason::cut(id, 80))).collect()
}
