//! A real OpenSearch or Elasticsearch node, and what tests ask of it.

#![allow(dead_code, reason = "each test file uses its part")]

use std::process::Command;

use serde_json::{Value as Json, json};

/// A node that runs.
pub struct Node {
    pub url: String,
}

/// A document as the node keeps it.
pub struct Document {
    pub id: String,
    pub version: i64,
    pub source: Json,
}

impl Node {
    /// The OpenSearch node that the environment names. Without one the caller has nothing to test.
    pub fn given() -> Option<Self> {
        let node = std::env::var("SPILLWAY_OPENSEARCH").ok().map(|url| Self { url });
        if node.is_none() {
            println!("skipped: SPILLWAY_OPENSEARCH is not set");
        }
        node
    }

    /// Runs a test on each node that the environment names.
    pub fn each(test: impl Fn(&Self)) {
        let urls = ["SPILLWAY_OPENSEARCH", "SPILLWAY_ELASTICSEARCH"].map(std::env::var);
        if urls.iter().all(Result::is_err) {
            println!("skipped: neither SPILLWAY_OPENSEARCH nor SPILLWAY_ELASTICSEARCH names a server");
        }
        for url in urls.into_iter().flatten() {
            test(&Self { url });
        }
    }

    pub fn is_opensearch(&self) -> bool {
        self.call("GET", "/", None)["version"]["distribution"] == "opensearch"
    }

    /// A new empty index in which `port` is an integer.
    pub fn index(&self, name: &str) {
        self.index_of(name, &json!({ "port": { "type": "integer" } }));
    }

    /// A new empty index with these fields.
    pub fn index_of(&self, name: &str, properties: &Json) {
        self.call("DELETE", &format!("/{name}"), None);
        let body = json!({ "mappings": { "properties": properties }, "settings": { "number_of_replicas": 0 } });
        let made = self.call("PUT", &format!("/{name}"), Some(&body));
        assert_eq!(made["acknowledged"], true, "{made}");
    }

    pub fn delete(&self, name: &str) {
        self.call("DELETE", &format!("/{name}"), None);
    }

    /// All documents of an index, sorted by id.
    pub fn documents(&self, index: &str) -> Vec<Document> {
        self.call("POST", &format!("/{index}/_refresh"), None);
        let found = self.call("GET", &format!("/{index}/_search?size=10000&version=true"), None);
        let hits = found["hits"]["hits"].as_array().unwrap_or_else(|| panic!("{found}"));
        let document = |hit: &Json| Document {
            id: hit["_id"].as_str().unwrap().to_owned(),
            version: hit["_version"].as_i64().unwrap(),
            source: hit["_source"].clone(),
        };
        let mut documents: Vec<_> = hits.iter().map(document).collect();
        documents.sort_by(|a, b| a.id.cmp(&b.id));
        documents
    }

    pub fn ids(&self, index: &str) -> Vec<String> {
        self.documents(index).into_iter().map(|document| document.id).collect()
    }

    pub fn call(&self, method: &str, path: &str, body: Option<&Json>) -> Json {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-X", method, "-H", "Content-Type: application/json"]).arg(format!("{}{path}", self.url));
        if let Some(body) = body {
            curl.args(["-d", &body.to_string()]);
        }
        let output = curl.output().expect("curl is installed");
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }
}
