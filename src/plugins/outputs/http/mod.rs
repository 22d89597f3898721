//! `http`: events as requests, one for each event or one for a batch.
//!
//! What may go better later is tried again with growing pauses while the others of the batch go on; what the server
//! refuses for good goes to the dead letter queue with its answer.

mod client;
mod content;
mod encoding;
mod options;
mod retry;
#[cfg(test)]
mod tests;

use std::time::Duration;

use async_trait::async_trait;
use reqwest::Method;

use self::client::{Client, Outcome, Request};
use self::content::Content;
use self::encoding::compressed;
use self::options::Settings;
use self::retry::{Due, Waiting};
use super::misconfigured::Misconfigured;
use crate::event::{Event, Template};
use crate::plugins::{Deliveries, GivenBack, Options, Output, OutputBatch, OutputPlugin, Stop};

/// The plugin.
pub const PLUGIN: OutputPlugin = OutputPlugin { name: "http", summary: "Sends events as HTTP requests.", build };

/// After so many tries a batch is given up when the pipeline is to stop, so that its source repeats it.
const TRIES_AT_STOP: u32 = 2;

/// How long an answer is waited for once the pipeline is to stop.
const PARTING: Duration = Duration::from_secs(5);

struct Http {
    client: Client,
    url: Template,
    method: Method,
    headers: Vec<(String, Template)>,
    content_type: String,
    content: Content,
    compress: bool,
    retry_failed: bool,
}

fn build(options: &mut Options<'_>) -> Box<dyn Output> {
    let Some(settings) = Settings::read(options) else { return Box::new(Misconfigured) };
    let Settings { url, method, headers, content_type, content, compress, retry_failed, client } = settings;
    match Client::new(client) {
        Ok(client) => Box::new(Http { client, url, method, headers, content_type, content, compress, retry_failed }),
        Err(error) => {
            options.invalid("url", format!("the connections cannot be set up: {error}"));
            Box::new(Misconfigured)
        }
    }
}

#[async_trait]
impl Output for Http {
    async fn write(&self, batch: &OutputBatch<'_>, stop: &Stop) -> Result<Deliveries, GivenBack> {
        let count = batch.events.len();
        if self.content.is_batch() {
            let request = self.request_of_all(batch.events);
            let dead = self.send_all(vec![request], stop).await?;
            return Ok(match dead.into_iter().next() {
                Some((_, reason)) => Deliveries::all_but_dead(count, (0..count).map(|at| (at, reason.clone()))),
                None => Deliveries::All,
            });
        }
        let requests = batch.events.iter().map(|event| self.request(event)).collect();
        Ok(Deliveries::all_but_dead(count, self.send_all(requests, stop).await?))
    }
}

impl Http {
    fn request(&self, event: &Event) -> Request {
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.render(event).to_string()));
        self.request_with(self.url.render(event).to_string(), headers.collect(), self.content.of(event))
    }

    fn request_of_all(&self, events: &[&Event]) -> Request {
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.source().to_string()));
        self.request_with(self.url.source().to_string(), headers.collect(), self.content.of_all(events))
    }

    fn request_with(&self, url: String, mut headers: Vec<(String, String)>, body: Vec<u8>) -> Request {
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        headers.push(("Content-Type".to_owned(), self.content_type.clone()));
        let body = if self.compress {
            headers.push(("Content-Encoding".to_owned(), "gzip".to_owned()));
            compressed(&body)
        } else {
            body
        };
        Request { method: self.method.clone(), url, headers, body: body.into() }
    }

    /// Sends requests one after the other; those that fail for now wait for their time while the others go on. Gives
    /// those that failed for good, and why.
    async fn send_all(&self, requests: Vec<Request>, stop: &Stop) -> Result<Vec<(usize, String)>, GivenBack> {
        let mut waiting = Waiting::new(requests.len());
        let mut dead = Vec::new();
        while let Some(due) = waiting.next() {
            let Due { at, tries, when } = due;
            if let Some(when) = when {
                tokio::select! {
                    () = tokio::time::sleep_until(when) => {}
                    () = stop.cancelled(), if tries >= TRIES_AT_STOP => return Err(GivenBack),
                }
            }
            let Some(request) = requests.get(at) else { continue };
            let outcome = tokio::select! {
                outcome = self.client.send(request) => outcome,
                () = parting(stop) => return Err(GivenBack),
            };
            match outcome {
                Outcome::Taken => {}
                Outcome::Later(why) if self.retry_failed => {
                    if stop.is_cancelled() && tries >= TRIES_AT_STOP {
                        return Err(GivenBack);
                    }
                    tracing::warn!(target: "logstash.outputs.http", "{why}; trying again");
                    waiting.again(at, tries + 1);
                }
                Outcome::Later(why) | Outcome::Never(why) => {
                    tracing::error!(target: "logstash.outputs.http", "{why}");
                    dead.push((at, format!("http: {why}")));
                }
            }
        }
        Ok(dead)
    }
}

async fn parting(stop: &Stop) {
    stop.cancelled().await;
    tokio::time::sleep(PARTING).await;
}
