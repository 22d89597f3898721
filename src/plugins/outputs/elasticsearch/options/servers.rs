//! Options of the outputs on their servers: paths of single requests, and whether the servers name each other.

use std::time::Duration;

use super::super::sniffing::Sniffing;
use crate::event::{Value, text_form};
use crate::plugins::Options;
use crate::plugins::elasticsearch::endpoint::{Endpoint, Paths};
use crate::plugins::elasticsearch::servers::{self, Given};

/// The server of a configuration that names none.
pub(super) const DEFAULT_HOST: &str = "//127.0.0.1";

/// The servers of the options.
pub(super) struct Servers {
    /// One per host.
    pub endpoints: Vec<Endpoint>,
    /// How more are found.
    pub sniffing: Option<Sniffing>,
    /// All of them speak TLS.
    pub secure: bool,
}

/// Reads those of `elasticsearch`.
pub(super) fn elasticsearch(options: &mut Options<'_>) -> Option<Servers> {
    let declared = servers::declare(options, DEFAULT_HOST);
    let path = path(options);
    let paths = paths(options, false);
    let sniffing = sniffing(options);
    let ssl = options.boolean("ssl_enabled").doc("Use TLS. Unset: when a host says https.").optional();
    let (hosts, login) = declared.settle(options)?;
    let alike = sniffing.is_some();
    resolve(options, Given { hosts, login, path, paths, ssl: ("ssl_enabled", ssl), alike }, sniffing)
}

/// The servers, with what it takes to find more of them every `sniffing`.
pub(super) fn resolve(options: &mut Options<'_>, given: Given, sniffing: Option<Duration>) -> Option<Servers> {
    let servers::Servers { endpoints, secure, first } = servers::resolve(options, given)?;
    let sniffing = sniffing.map(|delay| Sniffing { delay, like: first });
    Some(Servers { endpoints, sniffing, secure })
}

/// `path`
pub(super) fn path(options: &mut Options<'_>) -> Option<String> {
    options.string("path").doc("Put before the path of every request.").optional()
}

/// Paths of single requests, and the query of all.
pub(super) fn paths(options: &mut Options<'_>, full_replies: bool) -> Paths {
    let bulk = options.string("bulk_path").doc("Path of bulk requests; {path}/_bulk unless given.").optional();
    if bulk.as_ref().is_some_and(|path| path.contains("%{")) {
        options.invalid("bulk_path", "`bulk_path` is the same for all events: %{…} is not replaced in it");
    }
    let health = options.string("healthcheck_path").doc("Path of health checks; {path}/ unless given.").optional();
    let sniffing =
        options.string("sniffing_path").doc("Path of the list of servers; {path}/_nodes/http unless given.").optional();
    let parameters = options.hash("parameters").doc("Query added to every request.").default(Vec::new());
    let text = |value: &Value| {
        let mut out = Vec::new();
        text_form::write_template(value, &mut out);
        text_form::utf8(out)
    };
    let pairs = parameters.iter().flat_map(|(key, value)| {
        let values = value.as_array().unwrap_or(std::slice::from_ref(value));
        values.iter().map(|value| (key.clone(), text(value)))
    });
    Paths { bulk, health, sniffing, full_replies, parameters: pairs.collect() }
}

/// `sniffing` with its delay.
pub(super) fn sniffing(options: &mut Options<'_>) -> Option<Duration> {
    let on = options
        .boolean("sniffing")
        .doc("Whether the servers are asked for all servers of their cluster, which then take the place of `hosts`.")
        .default(false);
    let delay = options
        .seconds("sniffing_delay")
        .doc("Seconds before they are asked, and between two questions.")
        .default(Duration::from_secs(5));
    on.then(|| delay.max(Duration::from_millis(100)))
}
