//! Bulk requests taken apart, and what servers answer to them.

use std::io::Read;

use serde_json::{Value as Json, json};

use super::server::{Reply, Request};

/// One action: its line and its document.
pub type Doc = (Json, Option<Json>);

/// The body without compression. Panics when a compressed body is not one complete gzip member.
pub fn plain(request: &Request) -> Vec<u8> {
    if request.header("content-encoding") != Some("gzip") {
        return request.body.clone();
    }
    let mut decoder = flate2::bufread::GzDecoder::new(request.body.as_slice());
    let mut out = Vec::new();
    decoder.read_to_end(&mut out).unwrap();
    assert!(decoder.into_inner().is_empty(), "nothing is left after the gzip member");
    out
}

/// The actions of a request.
pub fn docs(request: &Request) -> Vec<Doc> {
    let body = String::from_utf8(plain(request)).unwrap();
    let mut lines = body.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let mut docs = Vec::new();
    while let Some(action) = lines.next() {
        let document = if action.get("delete").is_some() { None } else { Some(lines.next().unwrap()) };
        docs.push((action, document));
    }
    docs
}

/// The name of an action, and its members.
pub fn action(doc: &Doc) -> (&str, &Json) {
    let (name, members) = doc.0.as_object().unwrap().iter().next().unwrap();
    (name, members)
}

/// The ids of a request, `null` where none was sent.
pub fn ids(request: &Request) -> Vec<Json> {
    docs(request).iter().map(|doc| action(doc).1["_id"].clone()).collect()
}

/// The documents of a request.
pub fn documents(request: &Request) -> Vec<Json> {
    docs(request).into_iter().map(|(_, document)| document.unwrap_or_default()).collect()
}

/// An item body of this status; from 300 on with an error.
pub fn item(status: i64, kind: &str, reason: &str) -> Json {
    if status < 300 {
        return json!({ "status": status });
    }
    json!({ "status": status, "error": { "type": kind, "reason": reason } })
}

/// The reply with these item bodies under the actions of the request.
pub fn sorted(request: &Request, items: &[Json]) -> Reply {
    let docs = docs(request);
    let errors = items.iter().any(|item| item["status"].as_i64().unwrap_or(0) >= 300);
    let items: Vec<Json> = docs.iter().zip(items).map(|(doc, item)| json!({ action(doc).0: item })).collect();
    Reply::json(200, &json!({ "errors": errors, "items": items }))
}

/// The reply with these statuses.
pub fn statuses(request: &Request, statuses: &[i64]) -> Reply {
    let items: Vec<Json> = statuses.iter().map(|status| item(*status, "some_exception", "because")).collect();
    sorted(request, &items)
}

/// Every action accepted.
pub fn accepted(request: &Request) -> Reply {
    statuses(request, &vec![201; docs(request).len()])
}

/// What the servers of a product answer to everything but bulk requests.
pub fn product(name: &str, request: &Request, path: &str) -> Reply {
    let genuine = |body: &Json| Reply::Http {
        status: 200,
        headers: vec![("X-Elastic-Product".to_owned(), "Elasticsearch".to_owned())],
        body: body.to_string().into_bytes(),
    };
    let about = |number: &str, flavor: &str| {
        genuine(&json!({
            "cluster_uuid": "u-1", "tagline": "You Know, for Search",
            "version": { "number": number, "build_flavor": flavor },
        }))
    };
    match (request.method.as_str(), path, name) {
        ("HEAD", "/", _) => Reply::status(200),
        ("GET", "/", "es7") => about("7.10.2", "default"),
        ("GET", "/", "es8") => about("8.19.0", "default"),
        ("GET", "/", "serverless") => about("8.11.0", "serverless"),
        ("GET", "/", "opensearch2") => Reply::json(
            200,
            &json!({ "tagline": "The OpenSearch Project: https://opensearch.org/",
                     "version": { "distribution": "opensearch", "number": "2.19.6" } }),
        ),
        ("GET", "/", _) => about("9.1.0", "default"),
        ("GET", "/_license", "opensearch2") => Reply::json(400, &json!({ "error": "no such index [_license]" })),
        ("GET", "/_license", _) => Reply::json(200, &json!({ "license": { "status": "active" } })),
        ("HEAD" | "GET", _, _) => Reply::status(404),
        _ => Reply::json(200, &json!({})),
    }
}

/// A server of Elasticsearch 9 that treats bulk requests as told.
pub fn elasticsearch(mut bulk: impl FnMut(&Request) -> Reply + Send + 'static) -> super::server::Server {
    super::server::Server::start(move |request| {
        if request.is_bulk() { bulk(request) } else { product("es9", request, request.path()) }
    })
}
