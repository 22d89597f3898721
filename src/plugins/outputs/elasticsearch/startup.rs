//! Getting to know a server: is it well, is it one that this output speaks to, is its licence active.
//!
//! The same questions are asked at the start, where a wrong answer stops the pipeline, and later to a server that was
//! taken for dead, where it only stays dead.

use reqwest::Method;
use serde::Deserialize;

use super::LOG;
use super::http::{Http, Reply};
use super::pool::{Host, Pool};
use crate::plugins::PluginError;

/// When a server is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before the pipeline starts: strict.
    Start,
    /// After it was dead.
    Later,
}

#[derive(Deserialize)]
struct About {
    #[serde(default)]
    cluster_uuid: Option<String>,
    #[serde(default)]
    tagline: Option<String>,
    version: Option<Version>,
}

#[derive(Deserialize)]
struct Version {
    number: String,
    #[serde(default)]
    build_flavor: Option<String>,
    #[serde(default)]
    distribution: Option<String>,
}

#[derive(Deserialize)]
struct Licensed {
    license: License,
}

#[derive(Deserialize)]
struct License {
    status: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Product {
    Elasticsearch,
    Serverless,
    OpenSearch,
}

/// Asks one server, and lets it have requests when all is well. An error is a reason not to start.
pub(super) async fn check(http: &Http, pool: &Pool, host: &Host, when: When) -> Result<(), PluginError> {
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
    let Some(about) = introduction(host, &reply, when)? else { return Ok(()) };
    let Some(product) = product(&about, &reply, when) else { return incompatible(host, when) };
    let number = about.version.as_ref().map_or("", |v| v.number.as_str());
    if product == Product::Serverless {
        http.use_serverless();
        let again = http.ask(Method::GET, &endpoint.root, endpoint).await;
        match again {
            Err(error) => return still_dead(host, &error.0),
            Ok(reply) if introduction(host, &reply, when)?.is_none() => return Ok(()),
            Ok(_) => {}
        }
    }
    if product == Product::Elasticsearch && !licensed(http, host).await {
        return Ok(());
    }
    pool.saw_major(major(number));
    pool.mark_alive(host);
    match when {
        When::Start => tracing::info!(target: LOG, url = endpoint.label.as_str(), "Connected to ES instance"),
        When::Later => tracing::warn!(target: LOG, url = endpoint.label.as_str(), "Restored connection to ES instance"),
    }
    if product == Product::OpenSearch {
        tracing::info!(target: LOG, url = endpoint.label.as_str(),
            "The server is OpenSearch {number}: it is used like Elasticsearch, without a licence check");
    } else {
        tracing::info!(target: LOG, es_version = major(number), "Elasticsearch version determined ({number})");
    }
    Ok(())
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
    let tagline = about.tagline.as_deref().unwrap_or_default();
    if version.distribution.as_deref() == Some("opensearch") || tagline.contains("OpenSearch") {
        return Some(Product::OpenSearch);
    }
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

fn major(number: &str) -> u32 {
    number.split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}
