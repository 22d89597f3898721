//! What a server says about itself when it is asked for `/`.

use serde::Deserialize;

/// The answer to `GET /`.
#[derive(Deserialize)]
pub struct About {
    /// The cluster that the server is part of.
    #[serde(default)]
    pub cluster_uuid: Option<String>,
    /// A word to humans, which differs by product.
    #[serde(default)]
    pub tagline: Option<String>,
    /// Missing when something else answers in the place of a server.
    pub version: Option<Version>,
}

/// The version of a server.
#[derive(Deserialize)]
pub struct Version {
    /// Such as 8.19.0.
    pub number: String,
    /// `default`, `oss` or `serverless`.
    #[serde(default)]
    pub build_flavor: Option<String>,
    /// `opensearch`, or nothing.
    #[serde(default)]
    pub distribution: Option<String>,
}

/// What kind of server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// A cluster of one's own, or in the cloud.
    Elasticsearch,
    /// A project in Elastic's cloud, without settings for indexes and nodes.
    Serverless,
    /// Any version of it.
    OpenSearch,
}

/// A server as far as it decides what can be asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// What it is.
    pub product: Product,
    /// First number of its version.
    pub major: u32,
    /// Second number of its version.
    pub minor: u32,
}

impl Server {
    /// Of a version such as `8.19.0`; what is no number counts as 0.
    pub fn new(product: Product, number: &str) -> Self {
        let mut numbers = number.split(['.', '-']).map(|n| n.parse().unwrap_or(0));
        Self { product, major: numbers.next().unwrap_or(0), minor: numbers.next().unwrap_or(0) }
    }
}

impl About {
    /// Whether it is OpenSearch, which has no sign of its own in older versions but its words.
    pub fn is_opensearch(&self) -> bool {
        let distribution = self.version.as_ref().and_then(|version| version.distribution.as_deref());
        distribution == Some("opensearch") || self.tagline.as_deref().is_some_and(|words| words.contains("OpenSearch"))
    }

    /// The server, if it is one.
    pub fn server(&self) -> Option<Server> {
        let version = self.version.as_ref()?;
        let product = if self.is_opensearch() {
            Product::OpenSearch
        } else if version.build_flavor.as_deref() == Some("serverless") {
            Product::Serverless
        } else {
            Product::Elasticsearch
        };
        Some(Server::new(product, &version.number))
    }
}
