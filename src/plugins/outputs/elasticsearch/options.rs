//! The options of the output, in the order of its documentation, read into [`Settings`].

use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};

use super::super::server_tls::Tls;
use super::action::{ActionOption, Actions};
use super::credentials;
use super::endpoint::{Endpoint, Paths};
use super::hosts::{self, Explicit, HostUrl};
use super::http::HttpOptions;
use super::unsupported;
use super::verdict::Rules;
use crate::event::{Template, Value, text_form};
use crate::plugins::Options;

/// Everything that the options say.
pub(super) struct Settings {
    /// One per host.
    pub endpoints: Vec<Endpoint>,
    /// How to talk to them.
    pub http: HttpOptions,
    /// How events become actions.
    pub actions: Actions,
    /// What becomes of a refused item.
    pub rules: Rules,
    /// Level of gzip; 0 for none.
    pub compression: u32,
    /// First and longest wait before a retry.
    pub retry: (Duration, Duration),
    /// Time between two looks at dead servers.
    pub resurrect_delay: Duration,
}

/// Reads all options. `None` when one that everything else needs is wrong; every mistake is reported.
pub(super) fn read(options: &mut Options<'_>) -> Option<Settings> {
    options.idle_codec("events are sent as JSON");
    let endpoints = endpoints(options);
    let http = http(options, endpoints.as_ref().is_some_and(|e| e.iter().any(|e| e.root.scheme() == "https")));
    let actions = actions(options);
    let rules = rules(options);
    let compression = compression(options);
    let (resurrect_delay, retry) = rhythm(options);
    let _ = options
        .word("ecs_compatibility", &["disabled", "v1", "v8"])
        .doc("Accepted; nothing depends on it as long as `index` is given and no template is installed.")
        .optional();
    unsupported::refuse(options);
    Some(Settings { endpoints: endpoints?, http: http?, actions: actions?, rules, compression, retry, resurrect_delay })
}

fn endpoints(options: &mut Options<'_>) -> Option<Vec<Endpoint>> {
    let texts = options
        .strings("hosts")
        .doc("The servers: host, host:port, or URL with user, password, path and query. The port is 9200 unless given, also with https.")
        .default(vec!["//127.0.0.1".to_owned()]);
    let user = options.string("user").doc("User name; used together with `password`.").optional();
    let password = options.password("password").doc("Password; used together with `user`.").optional();
    let cloud_auth = options.password("cloud_auth").doc("User and password in one: <username>:<password>.").optional();
    let api_key = options.password("api_key").doc("API key: id:api_key, or encoded. Needs TLS.").optional();
    let path = options.string("path").doc("Put before the path of every request.").optional();
    let paths = paths(options);
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
        None => user.zip(password.clone()).map_or((None, password), |(u, p)| (Some(u), Some(p))),
        Some(Ok((user, password))) => (Some(user), Some(password)),
        Some(Err(message)) => {
            options.invalid("cloud_auth", message);
            return None;
        }
    };
    let urls = urls(options, &texts)?;
    let explicit = Explicit { ssl, user: login.0, password: login.1, path };
    let addresses = hosts::resolve(&urls, &explicit).map_err(|message| options.invalid("hosts", message)).ok()?;
    let secure = addresses.iter().all(|a| a.origin.starts_with("https:"));
    if ssl == Some(false) && secure {
        options.warn("ssl_enabled", "contradiction", "a host says https: TLS is used although `ssl_enabled` is false");
    }
    let key = api_key.and_then(|key| {
        if !secure {
            options.invalid("api_key", "Using api_key requires SSL/TLS: give https hosts, or `ssl_enabled => true`");
        }
        credentials::api_key(&key).map_err(|message| options.invalid("api_key", message)).ok()
    });
    let endpoint = |address: &hosts::Address| {
        let login = || address.login.as_ref().and_then(|(user, password)| credentials::basic(user, password));
        Endpoint::new(address, &paths, key.clone().or_else(login))
    };
    let endpoints: Result<Vec<_>, _> = addresses.iter().map(endpoint).collect();
    endpoints.map_err(|message| options.invalid("hosts", message)).ok()
}

/// The hosts one by one. `None` when one of them is wrong.
fn urls(options: &mut Options<'_>, texts: &[String]) -> Option<Vec<HostUrl>> {
    let parsed: Vec<_> = texts.iter().flat_map(|text| text.split_whitespace()).map(HostUrl::parse).collect();
    for wrong in parsed.iter().filter_map(|url| url.as_ref().err()) {
        options.invalid("hosts", wrong.as_str());
    }
    parsed.into_iter().collect::<Result<_, _>>().ok()
}

fn paths(options: &mut Options<'_>) -> Paths {
    let bulk = options.string("bulk_path").doc("Path of bulk requests; {path}/_bulk unless given.").optional();
    if bulk.as_ref().is_some_and(|path| path.contains("%{")) {
        options.invalid("bulk_path", "`bulk_path` is the same for all events: %{…} is not replaced in it");
    }
    let health = options.string("healthcheck_path").doc("Path of health checks; {path}/ unless given.").optional();
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
    Paths { bulk, health, parameters: pairs.collect() }
}

fn http(options: &mut Options<'_>, secure: bool) -> Option<HttpOptions> {
    let headers = options.hash("custom_headers").doc("Headers of every request; they replace our own.").default(vec![]);
    let mut custom = Vec::new();
    for (name, value) in headers {
        let header = value.as_str().map(str::to_owned).or_else(|| value.as_integer().map(|n| n.to_string()));
        let value = header.and_then(|text| HeaderValue::from_str(&text).ok());
        match (HeaderName::try_from(name.as_str()), value) {
            (Ok(name), Some(value)) => custom.push((name, value)),
            _ => options.invalid("custom_headers", format!("`{name}` is not a legal header with a text value")),
        }
    }
    let timeout = options.seconds("timeout").doc("Longest silence of a server.").default(Duration::from_secs(60));
    let connections = options.integer("pool_max").doc("Most requests at once.").default(1000);
    let per_host = options.integer("pool_max_per_route").doc("Most requests at once to one host.").default(100);
    let idle = options
        .integer("validate_after_inactivity")
        .doc("A connection that was idle for longer (milliseconds) is not used again; 0 for no limit.")
        .default(10_000);
    if connections < 1 || per_host < 1 {
        options.invalid("pool_max", "`pool_max` and `pool_max_per_route` are at least 1");
    }
    let tls = Tls::read(options, secure);
    let count = |n: i64| usize::try_from(n).unwrap_or(1).clamp(1, 100_000);
    let http = HttpOptions {
        timeout,
        connections: count(connections),
        connections_per_host: count(per_host),
        idle: u64::try_from(idle).ok().filter(|ms| *ms > 0).map(Duration::from_millis),
        headers: custom,
        tls: if secure { Some(tls?) } else { None },
    };
    Some(http)
}

fn actions(options: &mut Options<'_>) -> Option<Actions> {
    let action = options
        .template("action")
        .doc("What to do with the event: index, create, update or delete.")
        .default(Template::constant("index"));
    let index = options.template("index").doc("Where the event goes. Needed in this version.").optional();
    if !options.is_set("index") {
        options.invalid(
            "index",
            "the elasticsearch output needs `index`, the name of the index to write to (the \
             default index and data streams are not supported yet)",
        );
    }
    let document_id =
        options.template("document_id").doc("`_id` of the document; the server makes one unless given.").optional();
    let routing = options.template("routing").doc("Routing of the document.").optional();
    let pipeline = options.template("pipeline").doc("Ingest pipeline; left out when it comes to nothing.").optional();
    let retry_on_conflict = options.integer("retry_on_conflict").doc("Sent with updates.").default(1);
    let doc_as_upsert =
        options.boolean("doc_as_upsert").doc("An update makes the document when it is missing.").default(false);
    let check_index = options
        .boolean("dlq_on_failed_indexname_interpolation")
        .doc("An index name with an unresolved %{…} goes to the dead letter queue; false sends it as it is.")
        .default(true);
    let document_type = options
        .template("document_type")
        .doc("`_type`, for servers of version 7.")
        .deprecated("remove it: document types are gone")
        .optional();
    let action = match ActionOption::new(action) {
        Ok(action) => Some(action),
        Err(message) => {
            options.invalid("action", message);
            None
        }
    };
    if action.as_ref().is_some_and(ActionOption::is_always_update) && document_id.is_none() {
        options.invalid("action", "`action => update` needs a document_id to know which document to update");
    }
    let scripted = options.boolean("scripted_upsert").doc("Not supported yet, except false.").default(false);
    if scripted {
        let both = "`doc_as_upsert` and `scripted_upsert` are mutually exclusive";
        let message = if doc_as_upsert { both } else { "`scripted_upsert` is not supported yet" };
        options.invalid("scripted_upsert", message);
    }
    Some(Actions::new(super::action::Parts {
        action: action?,
        index: index?,
        document_id,
        routing,
        pipeline,
        document_type,
        retry_on_conflict,
        doc_as_upsert,
        check_index,
    }))
}

fn rules(options: &mut Options<'_>) -> Rules {
    let codes = options
        .integers("dlq_custom_codes")
        .doc("Statuses of items, besides 400 and 404, that go to the dead letter queue.")
        .optional()
        .unwrap_or_default();
    let dropped = options
        .strings("drop_error_types")
        .doc("Error types whose events are dropped, never dead-lettered or retried.")
        .optional()
        .unwrap_or_default();
    let mut silent = options
        .strings("silence_errors_in_log")
        .doc("Error types of dropped and retried items that are not logged.")
        .optional()
        .unwrap_or_default();
    let old = options
        .strings("failure_type_logging_whitelist")
        .doc("Old name of `silence_errors_in_log`.")
        .deprecated("use `silence_errors_in_log`")
        .optional();
    silent.extend(old.unwrap_or_default());
    let problem = |code: i64| match code {
        400 | 404 => Some("is already defined as standard DLQ error codes (400, 404): leave it out"),
        200 | 201 => Some("is among the success codes which cannot be redefined"),
        409 => Some("is already defined as conflict: such events are dropped"),
        _ => None,
    };
    for code in &codes {
        if let Some(problem) = problem(*code) {
            options.invalid("dlq_custom_codes", format!("`dlq_custom_codes`: {code} {problem}"));
        }
    }
    let enabled = options.context().dead_letters.is_enabled();
    if !codes.is_empty() && !enabled {
        options.invalid(
            "dlq_custom_codes",
            "`dlq_custom_codes` is configured while DLQ is not enabled: set \
             `dead_letter_queue.enable: true`",
        );
    }
    Rules { custom_codes: codes, dropped, silent, dead_letters: enabled }
}

fn compression(options: &mut Options<'_>) -> u32 {
    let level = options.bare_integer("compression_level").doc("gzip level of requests, 0 (none) to 9.").default(1);
    if !(0..=9).contains(&level) {
        options.invalid("compression_level", format!("`compression_level` is a number from 0 to 9, got {level}"));
    }
    let switch = options
        .boolean("http_compression")
        .doc("Old switch: true is level 1, false level 0.")
        .deprecated("use `compression_level`")
        .optional();
    if switch.is_some() && options.is_set("compression_level") {
        options.invalid(
            "http_compression",
            "`http_compression` and `compression_level` were set: keep only \
             `compression_level`",
        );
    }
    match switch {
        Some(on) => u32::from(on),
        None => u32::try_from(level).unwrap_or(1).min(9),
    }
}

fn rhythm(options: &mut Options<'_>) -> (Duration, (Duration, Duration)) {
    let resurrect = options
        .seconds("resurrect_delay")
        .doc("Seconds between two looks at dead servers.")
        .default(Duration::from_secs(5));
    let first = options
        .seconds("retry_initial_interval")
        .doc("Seconds before the first retry; doubled each time.")
        .default(Duration::from_secs(2));
    let longest = options
        .seconds("retry_max_interval")
        .doc("Longest time between two retries, in seconds.")
        .default(Duration::from_secs(64));
    (resurrect.max(Duration::from_millis(100)), (first.min(longest), longest))
}
