//! Options on the servers: where they are, who we are to them, and how they are looked after.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use super::super::client::Connections;
use super::super::node::Address;
use super::super::watch::Watch;
use super::old_names::OldNames;
use super::text;
use crate::event::Value;
use crate::plugins::server_tls::Tls;
use crate::plugins::{Options, Secret};

const PORT: u16 = 8123;
const TLS_PORT: u16 = 8443;

/// The servers of the option `hosts`.
pub(super) fn seeds(options: &mut Options<'_>, old: &OldNames) -> Option<Vec<Address>> {
    let hosts = options
        .strings("hosts")
        .doc("The servers: URL, host or host:port. The port is 8123 unless given, 8443 with https.")
        .default(vec!["http://127.0.0.1:8123".to_owned()]);
    let ssl = options.boolean("ssl_enabled").doc("Use TLS. Unset: when a host says https.").optional();
    let (name, hosts) = match &old.hosts {
        Some(hosts) => ("http_hosts", hosts.clone()),
        None => ("hosts", hosts),
    };
    let hosts: Vec<&str> = hosts.iter().flat_map(|text| text.split([',', ' '])).filter(|h| !h.is_empty()).collect();
    if hosts.is_empty() {
        options.invalid(name, format!("`{name}` needs at least one host"));
        return None;
    }
    let parsed: Vec<_> = hosts.iter().map(|text| address(text, ssl)).collect();
    for wrong in parsed.iter().filter_map(|address| address.as_ref().err()) {
        options.invalid(name, wrong.as_str());
    }
    let seeds: Vec<Address> = parsed.into_iter().collect::<Result<_, _>>().ok()?;
    if seeds.iter().any(|seed| seed.base.scheme() != seeds.first().map_or("", |first| first.base.scheme())) {
        options.invalid(name, format!("all of `{name}` speak http, or all speak https"));
        return None;
    }
    if ssl == Some(false) && seeds.iter().any(is_secure) {
        options.warn("ssl_enabled", "contradiction", "a host says https: TLS is used although `ssl_enabled` is false");
    }
    Some(seeds)
}

fn is_secure(seed: &Address) -> bool {
    seed.base.scheme() == "https"
}

fn address(text: &str, ssl: Option<bool>) -> Result<Address, String> {
    let with_scheme = match text.split_once("://") {
        Some(("http", _)) if ssl == Some(true) => {
            return Err(format!("`{text}` says http although `ssl_enabled` is true"));
        }
        Some(("http" | "https", _)) => text.to_owned(),
        Some((scheme, _)) => return Err(format!("a host starts with http:// or https://, not with {scheme}://")),
        None => format!("{}://{text}", if ssl == Some(true) { "https" } else { "http" }),
    };
    let mut base = Url::parse(&with_scheme).map_err(|error| format!("`{text}` is no address of a server: {error}"))?;
    if !base.username().is_empty() || base.password().is_some() {
        return Err(
            "a host with user and password in it would show in logs: use the options `user` and `password`".to_owned()
        );
    }
    if base.query().is_some() || base.fragment().is_some() {
        return Err(format!("`{text}` has a query: use the option `query_settings`"));
    }
    if base.port().is_none() && !names_port(&with_scheme) {
        let port = if base.scheme() == "https" { TLS_PORT } else { PORT };
        base.set_port(Some(port)).map_err(|()| format!("`{text}` is no address of a server"))?;
    }
    Ok(Address { base, shard: None, names: Vec::new() })
}

/// Whether a URL names a port; the parser forgets one that is usual for its scheme.
fn names_port(url: &str) -> bool {
    let authority = url.split("://").nth(1).unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

/// How to talk to all of them.
pub(super) fn connections(options: &mut Options<'_>, seeds: &[Address]) -> Option<Connections> {
    let user = options.string("user").doc("User name.").default("default".to_owned());
    let password = options.password("password").doc("Password; sent in a header, never in a URL.").optional();
    let secure = seeds.iter().any(is_secure);
    let tls = Tls::read(options, secure);
    let custom = options.hash("headers").doc("Headers of every request; the same for all events.").default(Vec::new());
    let connect = options
        .seconds("connect_timeout")
        .doc("Longest time until a connection is open, in seconds.")
        .default(Duration::from_secs(30));
    let timeout = options
        .seconds("timeout")
        .doc("Longest time of a request, and of the end of the pipeline, in seconds.")
        .default(Duration::from_secs(180));
    let most = options.integer("pool_max_per_route").doc("Most requests and idle connections of a node.").default(20);
    if most < 1 {
        options.invalid("pool_max_per_route", "`pool_max_per_route` is at least 1");
    }
    for (name, time) in [("connect_timeout", connect), ("timeout", timeout)] {
        if time.is_zero() {
            options.invalid(name, format!("`{name}` is more than 0 seconds"));
        }
    }
    let mut headers = login(options, &user, password.as_ref());
    headers.extend(custom_headers(options, custom));
    Some(Connections {
        connect_timeout: connect,
        // A sum of it and now must still be a time.
        timeout: timeout.min(Duration::from_secs(365 * 86_400)),
        most: usize::try_from(most).unwrap_or(1).clamp(1, 100_000),
        headers,
        tls: if secure { Some(tls?) } else { None },
    })
}

fn login(options: &mut Options<'_>, user: &str, password: Option<&Secret>) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    let mut add = |option: &'static str, name: &'static str, text: &str| match HeaderValue::from_bytes(text.as_bytes())
    {
        Ok(mut value) => {
            value.set_sensitive(true);
            headers.push((HeaderName::from_static(name), value));
        }
        Err(_) => options.invalid(option, format!("`{option}` holds control characters, which no header can")),
    };
    add("user", "x-clickhouse-user", user);
    if let Some(password) = password {
        add("password", "x-clickhouse-key", password.reveal());
    }
    headers
}

fn custom_headers(options: &mut Options<'_>, given: Vec<(String, Value)>) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    for (name, value) in given {
        let value = text(&value);
        if value.contains("%{") {
            options.invalid("headers", format!("`{name}` is the same for all events: %{{…}} is not replaced in it"));
        }
        match (HeaderName::try_from(name.as_str()), HeaderValue::from_str(&value)) {
            (Ok(name), Ok(value)) => headers.push((name, value)),
            _ => options.invalid("headers", format!("`{name}` is not a legal header with a text value")),
        }
    }
    headers
}

/// How nodes are found and looked after.
pub(super) fn watch(options: &mut Options<'_>, seeds: Vec<Address>) -> Watch {
    let cluster = options
        .string("cluster")
        .doc("Name of a cluster: rows go to its nodes, which the `hosts` are asked for.")
        .optional();
    let discovery_interval = options
        .seconds("discovery_interval")
        .doc("Seconds between two such questions.")
        .default(Duration::from_secs(3600));
    let exclude_hosts =
        options.strings("exclude_hosts").doc("Nodes that get nothing: host, address or host:port.").optional();
    let exclude_interval = options
        .seconds("exclude_interval")
        .doc("Seconds that a broken node is left out before it is asked whether it is well.")
        .default(Duration::from_secs(60));
    let checks = options
        .hash("node_checks")
        .doc("Limits of nodes; beyond one a node is left out. {disk_used_percent => 90, http_connections => 50} with a `cluster`, else none.")
        .optional();
    let mut watch = Watch {
        seeds,
        discovery_interval: discovery_interval.max(Duration::from_secs(1)),
        exclude_hosts: exclude_hosts.unwrap_or_default(),
        exclude_interval: exclude_interval.max(Duration::from_millis(1)),
        disk_used_percent: cluster.as_ref().map(|_| 90.0),
        http_connections: cluster.as_ref().map(|_| 50.0),
        cluster,
    };
    let Some(checks) = checks else { return watch };
    (watch.disk_used_percent, watch.http_connections) = (None, None);
    for (name, value) in checks {
        let limit = text(&value).parse::<f64>().ok().filter(|limit| limit.is_finite() && *limit > 0.0);
        match (name.as_str(), limit) {
            ("disk_used_percent", Some(_)) => watch.disk_used_percent = limit,
            ("http_connections", Some(_)) => watch.http_connections = limit,
            _ => options.invalid(
                "node_checks",
                format!(
                    "`{name}` is no check: there are disk_used_percent and http_connections, with a number above 0"
                ),
            ),
        }
    }
    watch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_host() {
        for (text, ssl, url) in [
            ("h", None, "http://h:8123/"),
            ("h:1", None, "http://h:1/"),
            ("http://h", None, "http://h:8123/"),
            ("http://h:80", None, "http://h/"),
            ("https://h/ch", None, "https://h:8443/ch"),
            ("https://h:443", None, "https://h/"),
            ("h", Some(true), "https://h:8443/"),
            ("http://[::1]", None, "http://[::1]:8123/"),
            ("http://[::1]:9", None, "http://[::1]:9/"),
        ] {
            assert_eq!(address(text, ssl).unwrap().base.as_str(), url, "{text}");
        }
        for (text, ssl) in
            [("ftp://h", None), ("http://u:p@h", None), ("http://h?q=1", None), ("http://h", Some(true)), ("", None)]
        {
            assert!(address(text, ssl).is_err(), "{text}");
        }
        assert!(!address("http://u:s3cret@h", None).unwrap_err().contains("s3cret"));
    }
}
