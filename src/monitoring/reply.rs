//! What all answers share: parameters, the metadata in front, `?pretty`, and errors.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::health;
use crate::metrics::{Identity, Node};
use crate::version;

/// One member of an answer, and what makes it.
pub(super) type Block = (&'static str, fn(&Node, &Request) -> Value);

/// What a request asks for, beside its route.
pub(super) struct Request {
    path: String,
    parameters: Vec<(String, String)>,
}

impl<S: Sync> FromRequestParts<S> for Request {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self {
            path: parts.uri.path().to_owned(),
            parameters: url::form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
        })
    }
}

impl Request {
    /// A parameter's value, empty when it has none.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a parameter is given and not denied.
    pub fn asks_for(&self, name: &str) -> bool {
        self.parameter(name).is_some_and(|value| matches!(value, "" | "true" | "t" | "yes" | "y" | "1"))
    }

    /// An answer: the node's metadata, then `body`.
    pub fn answer(&self, node: &Node, body: Map<String, Value>) -> Response {
        let mut document = metadata(node);
        document.extend(body);
        self.json(StatusCode::OK, &Value::Object(document))
    }

    /// An answer with those of the blocks that a comma list names, or with all of them. Names that there are not are
    /// ignored, but not when nothing is left.
    pub fn blocks(&self, node: &Node, blocks: &[Block], list: Option<&str>) -> Response {
        let is_wanted = |name: &str| list.is_none_or(|list| list.split(',').any(|listed| listed == name));
        let wanted = blocks.iter().filter(|(name, _)| is_wanted(name));
        let body: Map<_, _> = wanted.map(|(name, block)| ((*name).to_owned(), block(node, self))).collect();
        if body.is_empty() { self.not_found() } else { self.answer(node, body) }
    }

    /// An error in the one form that errors have.
    pub fn error(&self, status: StatusCode, message: &str) -> Response {
        let body = json!({ "path": self.path, "status": status.as_u16(), "error": { "message": message } });
        self.json(status, &body)
    }

    /// The answer for everything that is not there.
    pub fn not_found(&self) -> Response {
        self.error(StatusCode::NOT_FOUND, "Not Found")
    }

    /// A JSON document as it is.
    pub fn json(&self, status: StatusCode, document: &Value) -> Response {
        // Its mere presence counts, even `pretty=false`.
        let pretty = self.parameter("pretty").is_some();
        let text = if pretty { format!("{document:#}") } else { document.to_string() };
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ];
        (status, headers, text).into_response()
    }
}

/// Answers every path and method that there is not.
pub(super) async fn not_found(request: Request) -> Response {
    request.not_found()
}

/// What stands in front of every answer.
fn metadata(node: &Node) -> Map<String, Value> {
    let mut document = identity(node);
    let Identity { defaults, cluster_uuid, .. } = node.identity();
    document.insert("status".to_owned(), json!(health::status(node).as_str()));
    let pipeline = json!({
        "workers": defaults.workers,
        "batch_size": defaults.batch_size,
        "batch_delay": defaults.batch_delay_ms,
    });
    document.insert("pipeline".to_owned(), pipeline);
    if let Some(uuid) = cluster_uuid {
        document.insert("monitoring".to_owned(), json!({ "cluster_uuid": uuid }));
    }
    document
}

/// Who answers.
pub(super) fn identity(node: &Node) -> Map<String, Value> {
    let identity = node.identity();
    object(json!({
        "host": identity.host,
        "version": version::LOGSTASH,
        "spillway_version": version::SPILLWAY,
        "http_address": node.http_address().map(|address| address.to_string()),
        "id": identity.id,
        "name": identity.name,
        "ephemeral_id": node.ephemeral_id(),
        "snapshot": false,
    }))
}

/// A time as the API writes it.
pub(super) fn time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The members of a document that is an object.
pub(super) fn object(document: Value) -> Map<String, Value> {
    match document {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
