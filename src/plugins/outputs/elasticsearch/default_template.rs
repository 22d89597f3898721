//! The index templates that are installed unless the user brings one: which types the fields of log events get.

use serde_json::{Value as Json, json};

use crate::settings::Ecs;

/// Strings longer than this are stored but cannot be found by their whole value.
const LONGEST_KEYWORD: u32 = 256;
/// The same for fields of the Elastic Common Schema.
const LONGEST_ECS_KEYWORD: u32 = 1024;

/// In which form a server takes a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `_template`: everything in one level.
    Legacy,
    /// `_index_template`: settings and mappings one level down, with a priority.
    Composable,
}

/// The template for these field names. `plain_types` leaves out types that not every server has.
pub(super) fn template(ecs: Ecs, form: Form, plain_types: bool) -> Json {
    let (patterns, settings, mappings) = if ecs.is_disabled() {
        let settings = json!({ "index": { "refresh_interval": "5s", "number_of_shards": 1 } });
        (json!("logstash-*"), settings, flat_mappings())
    } else {
        let settings =
            json!({ "index": { "refresh_interval": "5s", "mapping": { "total_fields": { "limit": 10_000 } } } });
        (json!(["ecs-logstash-*"]), settings, ecs_mappings(plain_types))
    };
    match form {
        Form::Legacy => {
            json!({ "index_patterns": patterns, "version": 60001, "settings": settings, "mappings": mappings })
        }
        Form::Composable => json!({
            "index_patterns": patterns,
            "version": 80001,
            "template": { "settings": settings, "mappings": mappings },
            "priority": 200,
            "_meta": { "description": "Index template of events that Spillway writes under Logstash's names" },
        }),
    }
}

fn flat_mappings() -> Json {
    let text = json!({ "type": "text", "norms": false });
    json!({
        "dynamic_templates": [
            { "message_field": { "path_match": "message", "match_mapping_type": "string", "mapping": text } },
            { "string_fields": {
                "match": "*",
                "match_mapping_type": "string",
                "mapping": {
                    "type": "text",
                    "norms": false,
                    "fields": { "keyword": { "type": "keyword", "ignore_above": LONGEST_KEYWORD } },
                },
            } },
        ],
        "properties": {
            "@timestamp": { "type": "date" },
            "@version": { "type": "keyword" },
            "geoip": {
                "dynamic": true,
                "properties": {
                    "ip": { "type": "ip" },
                    "location": { "type": "geo_point" },
                    "latitude": { "type": "half_float" },
                    "longitude": { "type": "half_float" },
                },
            },
        },
    })
}

/// The two ends of a connection, by the four names that the schema has for them.
const ENDS: [&str; 4] = ["client", "destination", "server", "source"];
/// Numbers and addresses of each end.
const OF_ENDS: &[(&str, &str)] = &[
    ("as.number", "long"),
    ("bytes", "long"),
    ("geo.location", "geo_point"),
    ("ip", "ip"),
    ("nat.ip", "ip"),
    ("nat.port", "long"),
    ("packets", "long"),
    ("port", "long"),
];
/// The other fields that are no keywords.
const OTHERS: &[(&str, &str)] = &[
    ("@timestamp", "date"),
    ("data_stream.dataset", "constant_keyword"),
    ("data_stream.namespace", "constant_keyword"),
    ("data_stream.type", "constant_keyword"),
    ("dns.answers.ttl", "long"),
    ("dns.resolved_ip", "ip"),
    ("error.message", "match_only_text"),
    ("error.stack_trace", "wildcard"),
    ("event.created", "date"),
    ("event.duration", "long"),
    ("event.end", "date"),
    ("event.ingested", "date"),
    ("event.risk_score", "float"),
    ("event.risk_score_norm", "float"),
    ("event.sequence", "long"),
    ("event.severity", "long"),
    ("event.start", "date"),
    ("file.accessed", "date"),
    ("file.created", "date"),
    ("file.ctime", "date"),
    ("file.mtime", "date"),
    ("file.size", "long"),
    ("host.geo.location", "geo_point"),
    ("host.ip", "ip"),
    ("host.uptime", "long"),
    ("http.request.body.bytes", "long"),
    ("http.request.bytes", "long"),
    ("http.response.body.bytes", "long"),
    ("http.response.bytes", "long"),
    ("http.response.status_code", "long"),
    ("labels", "object"),
    ("log.origin.file.line", "long"),
    ("log.syslog.facility.code", "long"),
    ("log.syslog.priority", "long"),
    ("log.syslog.severity.code", "long"),
    ("message", "match_only_text"),
    ("network.bytes", "long"),
    ("network.packets", "long"),
    ("observer.geo.location", "geo_point"),
    ("observer.ip", "ip"),
    ("process.command_line", "wildcard"),
    ("process.exit_code", "long"),
    ("process.parent.pid", "long"),
    ("process.pid", "long"),
    ("process.start", "date"),
    ("process.thread.id", "long"),
    ("process.uptime", "long"),
    ("related.ip", "ip"),
    ("url.full", "wildcard"),
    ("url.original", "wildcard"),
    ("url.path", "wildcard"),
    ("url.port", "long"),
];

fn ecs_mappings(plain_types: bool) -> Json {
    let mut properties = json!({});
    for end in ENDS {
        for (field, kind) in OF_ENDS {
            put(&mut properties, &format!("{end}.{field}"), of_type(kind, plain_types));
        }
    }
    for (field, kind) in OTHERS {
        put(&mut properties, field, of_type(kind, plain_types));
    }
    let keyword = json!({ "type": "keyword", "ignore_above": LONGEST_ECS_KEYWORD });
    json!({
        "date_detection": false,
        "dynamic_templates": [
            { "strings_as_keyword": { "match_mapping_type": "string", "mapping": keyword } },
        ],
        "properties": properties,
    })
}

fn of_type(kind: &str, plain_types: bool) -> Json {
    match kind {
        "match_only_text" if plain_types => json!({ "type": "text", "norms": false }),
        "wildcard" | "constant_keyword" if plain_types => {
            json!({ "type": "keyword", "ignore_above": LONGEST_ECS_KEYWORD })
        }
        kind => json!({ "type": kind }),
    }
}

/// Puts a field at its dotted path.
fn put(properties: &mut Json, path: &str, field: Json) {
    match path.split_once('.') {
        None => properties[path] = field,
        Some((first, rest)) => put(&mut properties[first]["properties"], rest, field),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_hold_the_same() {
        for ecs in [Ecs::Disabled, Ecs::V8] {
            let legacy = template(ecs, Form::Legacy, false);
            let composable = template(ecs, Form::Composable, false);
            assert_eq!(legacy["mappings"], composable["template"]["mappings"]);
            assert_eq!(legacy["settings"], composable["template"]["settings"]);
            assert_eq!(legacy["index_patterns"], composable["index_patterns"]);
            assert!(legacy["priority"].is_null() && legacy["template"].is_null());
            assert_eq!((&composable["version"], &composable["priority"]), (&json!(80001), &json!(200)));
        }
    }

    #[test]
    fn fields_of_the_schema_have_their_types() {
        let template = template(Ecs::V8, Form::Composable, false);
        let mappings = &template["template"]["mappings"];
        let kind = |path: &str| {
            let pointer = format!("/properties/{}/type", path.replace('.', "/properties/"));
            mappings.pointer(&pointer).and_then(Json::as_str).map(str::to_owned)
        };
        for (path, expected) in [
            ("@timestamp", "date"),
            ("message", "match_only_text"),
            ("source.geo.location", "geo_point"),
            ("destination.nat.ip", "ip"),
            ("host.ip", "ip"),
            ("url.full", "wildcard"),
            ("data_stream.namespace", "constant_keyword"),
            ("event.risk_score", "float"),
        ] {
            assert_eq!(kind(path).as_deref(), Some(expected), "{path}");
        }
        assert_eq!(mappings["date_detection"], false);
        let plain = self::template(Ecs::V1, Form::Legacy, true).to_string();
        for kind in ["match_only_text", "wildcard", "constant_keyword"] {
            assert!(!plain.contains(kind), "{kind}");
        }
    }
}
