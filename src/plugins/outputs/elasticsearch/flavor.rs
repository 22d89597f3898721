//! Which of the two plugins an output is. They share everything but names, a few requests, and what replies hold.

use crate::plugins::elasticsearch::http::Agent;

/// The plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavor {
    /// `elasticsearch`
    Elasticsearch,
    /// `opensearch`
    OpenSearch,
}

impl Flavor {
    /// How requests introduce the plugin.
    pub fn agent(self) -> Agent {
        match self {
            Self::Elasticsearch => {
                Agent { plugin: "logstash-output-elasticsearch/12.1.6", origin: Some("logstash-output-elasticsearch") }
            }
            Self::OpenSearch => Agent { plugin: "logstash-output-opensearch/2.1.0", origin: None },
        }
    }

    /// What it writes to, as messages and dead letters call it.
    pub fn product(self) -> &'static str {
        match self {
            Self::Elasticsearch => "Elasticsearch",
            Self::OpenSearch => "OpenSearch",
        }
    }

    /// Whether it is `elasticsearch`: that one asks for short replies and names itself in headers.
    pub fn is_elastic(self) -> bool {
        self == Self::Elasticsearch
    }
}
