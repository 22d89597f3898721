//! What the events of a request say of it.

use std::net::SocketAddr;

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::http::request::Parts;

use crate::event::{Event, FieldRef, Map, Text, Value};
use crate::plugins::inputs::net::marks::{set, shared};
use crate::plugins::{Ecs, Options};

/// Puts fields on the events of requests.
pub(super) struct Fields {
    host: FieldRef,
    headers: FieldRef,
    /// The fields that only ECS has.
    ecs: Option<Named>,
}

struct Named {
    version: FieldRef,
    user_agent: FieldRef,
    domain: FieldRef,
    port: FieldRef,
    method: FieldRef,
    path: FieldRef,
    bytes: FieldRef,
    mime_type: FieldRef,
}

impl Fields {
    /// Declares and reads the options that name fields.
    pub fn read(options: &mut Options<'_>, ecs: Ecs) -> Self {
        let host = options.field("remote_host_target_field").doc("Field that takes the sender's address.").optional();
        let headers = options
            .field("request_headers_target_field")
            .doc("Field that takes the headers of the request.")
            .optional();
        let field = |flat: &str, path: &[&str]| match ecs.is_disabled() {
            true => FieldRef::top(flat),
            false => FieldRef::path_of(path),
        };
        let request_headers = ["@metadata", "input", "http", "request", "headers"];
        let path = FieldRef::path_of;
        Self {
            host: host.unwrap_or_else(|| field("host", &["host", "ip"])),
            headers: headers.unwrap_or_else(|| field("headers", &request_headers)),
            ecs: (!ecs.is_disabled()).then(|| Named {
                version: path(&["http", "version"]),
                user_agent: path(&["user_agent", "original"]),
                domain: path(&["url", "domain"]),
                port: path(&["url", "port"]),
                method: path(&["http", "method"]),
                path: path(&["url", "path"]),
                bytes: path(&["http", "request", "body", "bytes"]),
                mime_type: path(&["http", "request", "mime_type"]),
            }),
        }
    }

    /// Sets the fields on all events of a request.
    pub fn put(&self, head: &Parts, peer: SocketAddr, events: &mut [Event]) {
        let mut fields: Vec<(&FieldRef, Value)> = vec![
            (&self.host, Text::from(peer.ip().to_string()).into()),
            (&self.headers, shared(&Value::Map(header_map(head)))),
        ];
        if let Some(ecs) = &self.ecs {
            let given = |name| head.headers.get(name).map(|value: &hyper::header::HeaderValue| text(value.as_bytes()));
            let mut add = |field, value: Option<Value>| fields.extend(value.map(|value| (field, value)));
            add(&ecs.version, Some(version(head)));
            add(&ecs.user_agent, given(USER_AGENT));
            let (domain, port) = domain_and_port(&head.headers);
            add(&ecs.domain, domain.map(|domain| Text::from(domain).into()));
            add(&ecs.port, port.map(|port| Value::Integer(port.into())));
            add(&ecs.method, Some(Text::from(head.method.as_str()).into()));
            add(&ecs.path, Some(path(head)));
            add(&ecs.bytes, given(CONTENT_LENGTH));
            add(&ecs.mime_type, given(CONTENT_TYPE));
        }
        for event in events {
            fields.iter().for_each(|(field, value)| set(event, field, value.clone()));
        }
    }
}

/// The headers as Logstash names them. Credentials never become fields.
fn header_map(head: &Parts) -> Map {
    let mut map = Map::new();
    for name in ["http_accept", "http_host", "http_user_agent"] {
        map.insert(Text::borrowed(name), Value::Null);
    }
    map.insert(Text::borrowed("request_method"), Text::from(head.method.as_str()));
    map.insert(Text::borrowed("request_path"), path(head));
    map.insert(Text::borrowed("http_version"), version(head));
    for (name, value) in head.headers.iter().filter(|(name, _)| **name != AUTHORIZATION) {
        let name = match name.as_str() {
            "accept" => "http_accept".to_owned(),
            "host" => "http_host".to_owned(),
            "user-agent" => "http_user_agent".to_owned(),
            other => other.replace('-', "_"),
        };
        map.insert(Text::from(name), text(value.as_bytes()));
    }
    map
}

fn text(bytes: &[u8]) -> Value {
    Text::from(String::from_utf8_lossy(bytes)).into()
}

fn path(head: &Parts) -> Value {
    Text::from(head.uri.path_and_query().map_or_else(|| head.uri.to_string(), |path| path.as_str().to_owned())).into()
}

fn version(head: &Parts) -> Value {
    Text::from(format!("{:?}", head.version)).into()
}

/// `web1` and 8080 of `web1:8080`; the brackets of an IPv6 address are taken off.
fn domain_and_port(headers: &HeaderMap) -> (Option<String>, Option<u16>) {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return (None, None) };
    let (domain, port) = match host.rsplit_once(':') {
        Some((domain, port)) if !domain.contains(':') || domain.ends_with(']') => (domain, port.parse().ok()),
        _ => (host, None),
    };
    (Some(domain.trim_start_matches('[').trim_end_matches(']').to_owned()), port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_and_ports() {
        for (host, domain, port) in [
            ("web1", "web1", None),
            ("web1:8080", "web1", Some(8080)),
            ("[::1]:80", "::1", Some(80)),
            ("[::1]", "::1", None),
            ("web1:x", "web1", None),
        ] {
            let headers = HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
            assert_eq!(domain_and_port(&headers), (Some(domain.to_owned()), port), "{host}");
        }
    }
}
