//! Getting to know a server: is it well, is it one that this output speaks to, is its licence active.
//!
//! The same questions are asked at the start, where a wrong answer stops the pipeline, and later to a server that was
//! taken for dead, where it only stays dead.

use reqwest::Method;
use serde::Deserialize;

use super::LOG;
use super::flavor::Flavor;
use super::pool::{Host, Pool};
use crate::plugins::PluginError;
use crate::plugins::elasticsearch::about::{About, Product, Server};
use crate::plugins::elasticsearch::http::{Http, Reply};

/// When a server is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before the pipeline starts: strict.
    Start,
    /// After it was dead.
    Later,
}

#[derive(Deserialize)]
struct Licensed {
    license: License,
}

#[derive(Deserialize)]
struct License {
    status: String,
}

/// Whom the output speaks to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// The plugin.
    pub flavor: Flavor,
    /// `default_server_major_version`: of a server that does not tell its version.
    pub default_major: Option<u32>,
}

/// Asks one server, and lets it have requests when all is well. An error is a reason not to start.
pub(super) async fn check(
    expected: Expected,
    http: &Http,
    pool: &Pool,
    host: &Host,
    when: When,
) -> Result<(), PluginError> {
    let endpoint = &host.endpoint;
    match http.ask(Method::HEAD, &endpoint.health, endpoint).await {
        Err(error) => return still_dead(host, &error.0),
        Ok(reply) if !reply.is_success() => {
            tracing::warn!(target: LOG, url = endpoint.label.as_str(), code = reply.status, "Health check failed");
            if when == When::Later {
                return Ok(());
            }
        }
        Ok(_) => {}
    }
    let reply = match http.ask(Method::GET, &endpoint.root, endpoint).await {
        Err(error) => return still_dead(host, &error.0),
        Ok(reply) => reply,
    };
    let server = match expected.flavor {
        Flavor::Elasticsearch => elastic(http, host, &reply, when).await?,
        Flavor::OpenSearch => opensearch(expected, host, &reply)?,
    };
    if let Some(server) = server {
        pool.mark_alive(host, server);
        let url = endpoint.label.as_str();
        match when {
            When::Start => tracing::info!(target: LOG, url, "Connected to ES instance"),
            When::Later => tracing::warn!(target: LOG, url, "Restored connection to ES instance"),
        }
    }
    Ok(())
}

/// What the `elasticsearch` output makes of `GET /`. `None` when the server cannot be used now.
async fn elastic(http: &Http, host: &Host, reply: &Reply, when: When) -> Result<Option<Server>, PluginError> {
    let endpoint = &host.endpoint;
    let Some(about) = introduction(host, reply, when)? else { return Ok(None) };
    let Some(product) = product(&about, reply, when) else { return incompatible(host, when).map(|()| None) };
    let number = about.version.as_ref().map_or("", |v| v.number.as_str());
    if product == Product::Serverless {
        http.use_serverless();
        match http.ask(Method::GET, &endpoint.root, endpoint).await {
            Err(error) => return still_dead(host, &error.0).map(|()| None),
            Ok(reply) if introduction(host, &reply, when)?.is_none() => return Ok(None),
            Ok(_) => {}
        }
    }
    if product == Product::Elasticsearch && !licensed(http, host).await {
        return Ok(None);
    }
    let server = Server::new(product, number);
    if product == Product::OpenSearch {
        tracing::info!(target: LOG, url = endpoint.label.as_str(),
            "The server is OpenSearch {number}: it is used like Elasticsearch, without a licence check");
    } else {
        tracing::info!(target: LOG, es_version = server.major, "Elasticsearch version determined ({number})");
    }
    Ok(Some(server))
}

/// What the `opensearch` output makes of `GET /`: any server will do.
fn opensearch(expected: Expected, host: &Host, reply: &Reply) -> Result<Option<Server>, PluginError> {
    let unknown = reply.status == 404 || (reply.is_success() && reply.body.is_empty());
    let number = match (unknown, expected.default_major) {
        (true, Some(major)) => format!("{major}.0.0"),
        (true, None) => {
            let why = "it does not tell its version: set `default_server_major_version`";
            return still_dead(host, why).map(|()| None);
        }
        (false, _) if !reply.is_success() => {
            return still_dead(host, &format!("it answered {} to GET /", reply.status)).map(|()| None);
        }
        (false, _) => match serde_json::from_slice(&reply.body) {
            Ok(About { version: Some(version), .. }) => version.number,
            _ => return still_dead(host, "its answer to GET / holds no version").map(|()| None),
        },
    };
    tracing::info!(target: LOG, url = host.endpoint.label.as_str(), "Cluster version determined ({number})");
    Ok(Some(Server::new(Product::OpenSearch, &number)))
}

/// The uuid of the cluster, asked once when the first server is alive.
pub(super) async fn cluster_uuid(http: &Http, host: &Host) -> Option<String> {
    let reply = http.ask(Method::GET, &host.endpoint.root, &host.endpoint).await;
    match reply.map(|reply| serde_json::from_slice::<About>(&reply.body)) {
        Ok(Ok(about)) => about.cluster_uuid,
        Ok(Err(error)) => {
            tracing::error!(target: LOG, "Unable to retrieve Elasticsearch cluster uuid: {error}");
            None
        }
        Err(error) => {
            tracing::error!(target: LOG, "Unable to retrieve Elasticsearch cluster uuid: {error}");
            None
        }
    }
}

fn still_dead(host: &Host, why: &str) -> Result<(), PluginError> {
    tracing::warn!(target: LOG, url = host.endpoint.label.as_str(), error = why,
        "Attempted to resurrect connection to dead ES instance, but got an error");
    Ok(())
}

fn incompatible(host: &Host, when: When) -> Result<(), PluginError> {
    let label = &host.endpoint.label;
    let message = format!(
        "Could not connect to a compatible version of Elasticsearch: {label} is not Elasticsearch 7.0 or newer, nor \
         OpenSearch. Check `hosts`: a proxy may answer in its place"
    );
    if when == When::Start {
        return Err(PluginError(message));
    }
    tracing::error!(target: LOG, url = label.as_str(), "{message}");
    Ok(())
}

/// What `GET /` says, or `None` when the server cannot be used now.
fn introduction(host: &Host, reply: &Reply, when: When) -> Result<Option<About>, PluginError> {
    let label = &host.endpoint.label;
    let refused = match reply.status {
        401 => Some("check the credentials (`user` and `password`, or `api_key`)"),
        403 => Some("check the privileges of the user or API key"),
        400 if memchr::memmem::find(&reply.body, b"Elastic-Api-Version").is_some() => {
            Some("the Elastic-Api-Version header is not valid; do not set it in `custom_headers`")
        }
        _ => None,
    };
    if let Some(remedy) = refused {
        let message = format!("Could not read the version of {label}, it answered {}: {remedy}", reply.status);
        if when == When::Start {
            return Err(PluginError(message));
        }
        still_dead(host, &message)?;
        return Ok(None);
    }
    if reply.status != 200 {
        still_dead(host, &format!("it answered {} to GET /", reply.status))?;
        return Ok(None);
    }
    match serde_json::from_slice(&reply.body) {
        Ok(about) => Ok(Some(about)),
        Err(_) => incompatible(host, when).map(|()| None),
    }
}

fn product(about: &About, reply: &Reply, when: When) -> Option<Product> {
    let version = about.version.as_ref()?;
    if about.is_opensearch() {
        return Some(Product::OpenSearch);
    }
    let tagline = about.tagline.as_deref().unwrap_or_default();
    let flavor = version.build_flavor.as_deref().unwrap_or_default();
    let mut numbers = version.number.split(['.', '-']).map(|n| n.parse::<u32>().ok());
    let number = (numbers.next().flatten()?, numbers.next().flatten().unwrap_or(0));
    let genuine = match number {
        _ if when == When::Later => true,
        (..7, _) => false,
        (7, ..14) => flavor == "default" && tagline == "You Know, for Search",
        _ => reply.headers.get("x-elastic-product").is_some_and(|v| v == "Elasticsearch"),
    };
    let product = if flavor == "serverless" { Product::Serverless } else { Product::Elasticsearch };
    genuine.then_some(product)
}

/// Whether the licence lets us use the server.
async fn licensed(http: &Http, host: &Host) -> bool {
    let label = &host.endpoint.label;
    let reply = http.ask(Method::GET, &host.endpoint.license, &host.endpoint).await;
    let why = match reply {
        Ok(reply) if reply.is_success() => match serde_json::from_slice::<Licensed>(&reply.body) {
            Ok(Licensed { license }) => {
                if license.status != "active" {
                    tracing::warn!(target: LOG, url = label.as_str(), license = license.status.as_str(),
                        "Elasticsearch license is not active, please check Elasticsearch's licensing information");
                }
                return true;
            }
            Err(_) => "its answer to GET /_license holds no license.status".to_owned(),
        },
        Ok(reply) => format!("it answered {} to GET /_license", reply.status),
        Err(error) => error.0,
    };
    tracing::error!(target: LOG, url = label.as_str(),
        "Could not connect to a compatible version of Elasticsearch: {why}; trying again later");
    false
}
