//! What is put in place on the server before the first document: the index template, the rollover alias and its policy.
//!
//! No document is sent before all of it is there. A server that has too much to do, or that goes away, is asked again
//! from the start; one that refuses ends the pipeline, as documents would get mappings that nobody wanted.

use std::sync::Arc;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value as Json;

use super::LOG;
use super::flavor::Flavor;
use super::lifecycle::Lifecycle;
use super::pool::{Host, Pool};
use super::reason;
use super::startup;
use super::target::Target;
use super::template::TemplateOptions;
use crate::plugins::elasticsearch::about::{Product, Server};
use crate::plugins::elasticsearch::http::{Http, LARGEST_REPLY, Reply};

/// Data streams are there from this version of Elasticsearch on.
const DATA_STREAMS_SINCE: (u32, u32) = (7, 9);
/// Characters of an answer that a message shows.
const SHOWN_BODY_CHARS: usize = 2000;

/// What has to be put in place.
pub(super) struct Setup {
    /// The plugin.
    pub flavor: Flavor,
    /// The template to install; none with `manage_template => false`.
    pub template: Option<TemplateOptions>,
    /// How indexes are managed; none when they never are.
    pub lifecycle: Option<Lifecycle>,
    /// Learns of the alias.
    pub target: Arc<Target>,
}

/// Why it is not in place.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It has to be tried again; the server may have gone away, or have too much to do.
    Again(String),
    /// The server refused.
    Refused(String),
    /// The configuration does not fit the server.
    Wrong(String),
}

impl Trouble {
    /// Of an answer that is none of the expected ones.
    pub fn refused(what: &str, reply: &Reply) -> Self {
        let body = reason::cut(&String::from_utf8_lossy(&reply.body), SHOWN_BODY_CHARS);
        Self::Refused(format!("{what}: the server answered {} {body}", reply.status))
    }
}

/// Requests to one server.
pub(super) struct Session<'a> {
    pub http: &'a Http,
    pub pool: &'a Pool,
    pub host: &'a Host,
}

impl Session<'_> {
    /// Asks; an answer of any status but 429 is an answer.
    pub async fn call(&self, method: Method, path: &str, body: Option<&Json>) -> Result<Reply, Trouble> {
        let url = self.host.endpoint.at(path).map_err(Trouble::Wrong)?;
        let sent = match body {
            None => self.http.ask(method, &url, &self.host.endpoint).await,
            Some(body) => {
                let body = body.to_string().into_bytes();
                self.http.send(method, &url, &self.host.endpoint, HeaderMap::new(), body, LARGEST_REPLY).await
            }
        };
        match sent {
            Err(error) => {
                self.pool.mark_dead(self.host, &error.0);
                Err(Trouble::Again(error.0))
            }
            Ok(reply) if reply.status == 429 => Err(Trouble::Again("the server has too much to do (429)".to_owned())),
            Ok(reply) => Ok(reply),
        }
    }
}

impl Setup {
    /// Puts everything in place, in the order of Logstash.
    pub async fn run(&self, session: &Session<'_>, server: Server) -> Result<(), Trouble> {
        if self.target.as_stream().is_some()
            && server.product == Product::Elasticsearch
            && (server.major, server.minor) < DATA_STREAMS_SINCE
        {
            return Err(Trouble::Wrong(format!(
                "data streams need Elasticsearch 7.9.0 or newer, and the server is {}.{}: set `data_stream => false`",
                server.major, server.minor
            )));
        }
        let uuid = startup::cluster_uuid(session.http, session.host).await;
        tracing::debug!(target: LOG, cluster_uuid = uuid.unwrap_or_default(), "Preparing for documents");
        let applies = self.lifecycle.as_ref().map(|l| l.applies(server)).transpose().map_err(Trouble::Wrong)?;
        let lifecycle = self.lifecycle.as_ref().filter(|_| applies == Some(true));
        if let Some(options) = &self.template {
            self.install_template(session, options, server, lifecycle).await?;
        }
        if let Some(lifecycle) = lifecycle {
            lifecycle.install(session).await?;
            self.target.use_alias(&lifecycle.alias);
        }
        Ok(())
    }

    async fn install_template(
        &self,
        session: &Session<'_>,
        options: &TemplateOptions,
        server: Server,
        lifecycle: Option<&Lifecycle>,
    ) -> Result<(), Trouble> {
        let installed = match options.template(server, lifecycle) {
            Ok(template) => install(session, &template.path, &template.body, options.overwrite).await,
            Err(wrong) => Err(Trouble::Wrong(wrong)),
        };
        match installed {
            Err(Trouble::Refused(why) | Trouble::Wrong(why)) => {
                tracing::error!(target: LOG, "Failed to install template: {why}");
                // OpenSearch's plugin goes on without.
                if self.flavor.is_elastic() { Err(Trouble::Refused(why)) } else { Ok(()) }
            }
            other => other,
        }
    }
}

async fn install(session: &Session<'_>, path: &str, body: &Json, overwrite: bool) -> Result<(), Trouble> {
    let found = session.call(Method::HEAD, path, None).await?;
    match found.status {
        200..300 if !overwrite => {
            tracing::debug!(target: LOG, name = path, "Found existing template, it is left as it is");
            return Ok(());
        }
        200..300 | 404 => {}
        _ => return Err(Trouble::refused("the template cannot be looked up", &found)),
    }
    tracing::info!(target: LOG, name = path, "Installing Elasticsearch template");
    let made = session.call(Method::PUT, path, Some(body)).await?;
    // A proxy that hides the API answers 404: nothing can be installed through it, and documents pass.
    if made.is_success() || made.status == 404 { Ok(()) } else { Err(Trouble::refused("it was not accepted", &made)) }
}
