//! Options on the servers: where they are, who we are to them, and whether they name each other.

use std::time::Duration;

use super::super::cloud;
use super::super::credentials;
use super::super::endpoint::{Endpoint, Paths};
use super::super::hosts::{self, Explicit, HostUrl};
use super::super::sniffing::Sniffing;
use crate::event::{Value, text_form};
use crate::plugins::{Options, Secret};

/// The servers of the options.
pub(super) struct Servers {
    /// One per host.
    pub endpoints: Vec<Endpoint>,
    /// How more are found.
    pub sniffing: Option<Sniffing>,
    /// All of them speak TLS.
    pub secure: bool,
}

/// Who we are, as far as options of their own say.
#[derive(Default)]
pub(super) struct Login {
    pub user: Option<String>,
    pub password: Option<Secret>,
    pub api_key: Option<Secret>,
}

/// What both plugins say of their servers.
pub(super) struct Given {
    pub hosts: Vec<String>,
    pub login: Login,
    pub path: Option<String>,
    pub paths: Paths,
    /// The option that switches TLS, and its value.
    pub ssl: (&'static str, Option<bool>),
    /// Time between two questions.
    pub sniffing: Option<Duration>,
}

/// Reads those of `elasticsearch`.
pub(super) fn elasticsearch(options: &mut Options<'_>) -> Option<Servers> {
    let hosts = hosts(options);
    let cloud_id = options
        .string("cloud_id")
        .doc("Deployment in Elastic's cloud, as its console shows it; instead of `hosts`.")
        .optional();
    let user = options.string("user").doc("User name; used together with `password`.").optional();
    let password = options.password("password").doc("Password; used together with `user`.").optional();
    let cloud_auth = options.password("cloud_auth").doc("User and password in one: <username>:<password>.").optional();
    let api_key = options.password("api_key").doc("API key: id:api_key, or encoded. Needs TLS.").optional();
    let path = path(options);
    let paths = paths(options, false);
    let sniffing = sniffing(options);
    let ssl = options.boolean("ssl_enabled").doc("Use TLS. Unset: when a host says https.").optional();

    let ways = [cloud_auth.is_some(), api_key.is_some(), user.is_some() || password.is_some()];
    if ways.iter().filter(|way| **way).count() > 1 {
        let given = if api_key.is_some() { "api_key" } else { "cloud_auth" };
        options.invalid(
            given,
            "Multiple authentication options are specified: give only one of `user` and \
             `password`, `cloud_auth`, `api_key`",
        );
        return None;
    }
    let login = match cloud_auth.map(|value| credentials::cloud_auth(&value)) {
        None => Login { user: user.filter(|_| password.is_some()), password, api_key },
        Some(Ok((user, password))) => Login { user: Some(user), password: Some(password), api_key },
        Some(Err(message)) => {
            options.invalid("cloud_auth", message);
            return None;
        }
    };
    let hosts = match cloud_id {
        None => hosts,
        Some(_) if options.is_set("hosts") => {
            options.invalid("cloud_id", "Both cloud_id and hosts specified, please only use one of those");
            return None;
        }
        Some(cloud_id) => vec![cloud::url(&cloud_id).map_err(|message| options.invalid("cloud_id", message)).ok()?],
    };
    endpoints(options, Given { hosts, login, path, paths, ssl: ("ssl_enabled", ssl), sniffing })
}

/// `hosts`
pub(super) fn hosts(options: &mut Options<'_>) -> Vec<String> {
    options
        .strings("hosts")
        .doc("The servers: host, host:port, or URL with user, password, path and query. The port is 9200 unless given, also with https.")
        .default(vec!["//127.0.0.1".to_owned()])
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

/// Puts the addresses of all servers together.
pub(super) fn endpoints(options: &mut Options<'_>, given: Given) -> Option<Servers> {
    let Given { hosts, login, path, paths, ssl: (ssl_option, ssl), sniffing } = given;
    let urls = urls(options, &hosts)?;
    let explicit = Explicit { ssl, user: login.user, password: login.password, path, sniffing: sniffing.is_some() };
    let addresses = hosts::resolve(&urls, &explicit).map_err(|message| options.invalid("hosts", message)).ok()?;
    let secure = addresses.iter().all(|a| a.origin.starts_with("https:"));
    if ssl == Some(false) && secure {
        options.warn(
            ssl_option,
            "contradiction",
            format!("a host says https: TLS is used although `{ssl_option}` is false"),
        );
    }
    let key = login.api_key.and_then(|key| {
        if !secure {
            options.invalid("api_key", "Using api_key requires SSL/TLS: give https hosts, or `ssl_enabled => true`");
        }
        credentials::api_key(&key).map_err(|message| options.invalid("api_key", message)).ok()
    });
    let authorization = |address: &hosts::Address| {
        let login = || address.login.as_ref().and_then(|(user, password)| credentials::basic(user, password));
        key.clone().or_else(login)
    };
    let endpoint = |address| Endpoint::new(address, &paths, authorization(address));
    let endpoints: Result<Vec<_>, _> = addresses.iter().map(endpoint).collect();
    let endpoints = endpoints.map_err(|message| options.invalid("hosts", message)).ok()?;
    let sniffing = sniffing.zip(addresses.first()).map(|(delay, first)| Sniffing {
        delay,
        like: first.clone(),
        paths: paths.clone(),
        authorization: authorization(first),
    });
    Some(Servers { endpoints, sniffing, secure })
}

/// The hosts one by one. `None` when one of them is wrong.
fn urls(options: &mut Options<'_>, texts: &[String]) -> Option<Vec<HostUrl>> {
    let parsed: Vec<_> = texts.iter().flat_map(|text| text.split_whitespace()).map(HostUrl::parse).collect();
    for wrong in parsed.iter().filter_map(|url| url.as_ref().err()) {
        options.invalid("hosts", wrong.as_str());
    }
    parsed.into_iter().collect::<Result<_, _>>().ok()
}
