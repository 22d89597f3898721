//! The options of the output, checked.

use std::time::Duration;

use reqwest::{Method, Proxy, Url};

use super::client::ClientSettings;
use super::content::{Content, Mapping, is_fixed};
use crate::event::{Template, Value};
use crate::plugins::tls::{Family, Sides};
use crate::plugins::{Options, Secret};

/// What the options say.
pub(super) struct Settings {
    pub url: Template,
    pub method: Method,
    pub headers: Vec<(String, Template)>,
    pub content_type: String,
    pub content: Content,
    pub compress: bool,
    pub retry_failed: bool,
    pub client: ClientSettings,
}

impl Settings {
    /// Declares and reads them. `None` when they are wrong, which was reported.
    pub fn read(options: &mut Options<'_>) -> Option<Self> {
        let url = options.template("url").doc("Where to send to; may hold %{…}, but not for json_batch.").required();
        let method = options
            .word("http_method", &["put", "post", "patch", "delete", "get", "head"])
            .doc("Method of the requests.")
            .required();
        let (content, content_type) = content(options);
        options.idle_codec("`format` says what is sent");
        let headers = headers(options);
        let compress = options.boolean("http_compression").doc("Whether bodies are compressed (gzip).").default(false);
        let retry_failed = options
            .boolean("retry_failed")
            .doc("Whether requests that failed for now are tried again until they succeed.")
            .default(true);
        if options.is_set("url") && is_fixed(&url) && Url::parse(url.source()).is_err() {
            options.invalid("url", format!("`{}` is no URL", url.source()));
        }
        let client = client(options, url.source());
        refuse_old_names(options);
        Some(Self {
            url,
            method: Method::from_bytes(method.to_ascii_uppercase().as_bytes()).unwrap_or(Method::POST),
            headers,
            content_type,
            content: content?,
            compress,
            retry_failed,
            client: client?,
        })
    }
}

fn content(options: &mut Options<'_>) -> (Option<Content>, String) {
    let format = options
        .word("format", &["json", "json_batch", "form", "message"])
        .doc("What a body is: an event as JSON, a batch as a list, a form, or a text.")
        .default("json".to_owned());
    let given = options.hash("mapping").doc("Names and templates that make the body instead of the event.").optional();
    let message = options.template("message").doc("The body for `format => message`.").optional();
    let content_type = options.string("content_type").doc("Type of the bodies; by `format` unless given.").optional();
    let style = options.context().escape_style;
    let mut wrong = None;
    let mapping = given.and_then(|pairs| {
        Mapping::new(pairs, &mut |text| {
            Template::compile(text, style).map_err(|error| wrong = Some(error.to_string())).ok()
        })
    });
    if let Some(error) = wrong {
        options.invalid("mapping", error);
    }
    let (content, usual) = match (format.as_str(), message) {
        ("form", _) => (Some(Content::Form(mapping)), "application/x-www-form-urlencoded"),
        ("json_batch", _) => (Some(Content::Batch(mapping)), "application/json"),
        ("message", Some(message)) => (Some(Content::Message(message)), "text/plain"),
        ("message", None) => {
            options.invalid("format", "`format => message` needs the option `message`");
            (None, "text/plain")
        }
        _ => (Some(Content::Json(mapping)), "application/json"),
    };
    (content, content_type.unwrap_or_else(|| usual.to_owned()))
}

fn headers(options: &mut Options<'_>) -> Vec<(String, Template)> {
    let given = options.hash("headers").doc("Headers; values may hold %{…}.").default(Vec::new());
    let style = options.context().escape_style;
    let mut headers = Vec::new();
    for (name, value) in given {
        let text = value.as_str().map(str::to_owned).or_else(|| value.as_integer().map(|n| n.to_string()));
        let template = text.and_then(|text| Template::compile(&text, style).ok());
        match template.filter(|_| reqwest::header::HeaderName::try_from(name.as_str()).is_ok()) {
            Some(template) => headers.push((name, template)),
            None => options.invalid("headers", format!("`{name}` is not a legal header with a text value")),
        }
    }
    headers
}

fn client(options: &mut Options<'_>, url: &str) -> Option<ClientSettings> {
    let mut seconds = |name, doc, default| {
        let given = options.seconds(name).doc(doc).default(Duration::from_secs(default));
        if given.is_zero() { Duration::from_secs(default) } else { given }
    };
    let connect_timeout = seconds("connect_timeout", "Longest time until a connection is open, in seconds.", 10);
    let socket_timeout = seconds("socket_timeout", "Longest silence of a server, in seconds.", 10);
    let request_timeout = seconds("request_timeout", "Longest time of a request, in seconds.", 60);
    let follow_redirects = options.boolean("follow_redirects").doc("Whether redirects are followed.").default(true);
    let mut count = |name, doc, default| {
        let given = options.integer(name).doc(doc).default(default);
        usize::try_from(given).ok().filter(|n| *n > 0).unwrap_or_else(|| {
            options.invalid(name, format!("`{name}` is at least 1"));
            1
        })
    };
    let pool_max = count("pool_max", "Most requests at a time.", 50).min(100_000);
    let per_route = count("pool_max_per_route", "Most connections to one host that are kept open.", 25);
    let keepalive = options.boolean("keepalive").doc("Whether connections are used again.").default(true);
    let retries = options
        .integer("automatic_retries")
        .doc("How often a request whose connection broke is sent again at once.")
        .default(1);
    let retry_non_idempotent =
        options.boolean("retry_non_idempotent").doc("Whether that goes for POST and PATCH as well.").default(false);
    let idle = options
        .integer("validate_after_inactivity")
        .doc("A connection that was idle for longer (milliseconds) is not used again; 0 for no limit.")
        .default(200);
    let cookies = options.boolean("cookies").doc("Whether cookies of servers are sent back.").default(true);
    let proxy = proxy(options);
    let user = user(options);
    let mut codes = |name, doc, default: &[i64]| {
        let given = options.integers(name).doc(doc).optional().unwrap_or_else(|| default.to_vec());
        given.into_iter().filter_map(|code| u16::try_from(code).ok()).collect()
    };
    let retryable =
        codes("retryable_codes", "Answers after which a request is tried again.", &[429, 500, 502, 503, 504]);
    let ignorable = codes("ignorable_codes", "Answers that count as success.", &[]);
    let family = Family::read(options, Sides::Client, true);
    if family.authority_files() > 1 {
        options.invalid(
            "ssl_certificate_authorities",
            "Multiple values on `ssl_certificate_authorities` are not supported: put all certificates into one file",
        );
    }
    // Without TLS the machine may have no list of authorities at all.
    let tls = if url.starts_with("http://") { None } else { family.client(options) };
    Some(ClientSettings {
        connect_timeout,
        socket_timeout,
        request_timeout,
        follow_redirects,
        pool_max,
        pool_max_per_route: if keepalive { per_route } else { 0 },
        idle: u64::try_from(idle).ok().filter(|ms| *ms > 0).map(Duration::from_millis),
        cookies,
        automatic_retries: u32::try_from(retries).unwrap_or(0),
        retry_non_idempotent,
        proxy: proxy?,
        user,
        tls,
        ignorable,
        retryable,
    })
}

fn user(options: &mut Options<'_>) -> Option<(String, Secret)> {
    let user = options.string("user").doc("User of basic authentication.").optional();
    let password = options.password("password").doc("Password of that user.").optional();
    match (user, password) {
        (Some(user), Some(password)) => Some((user, password)),
        (Some(_), None) => {
            options.invalid("user", "`user` needs `password`, which is missing");
            None
        }
        (None, Some(_)) => {
            options.invalid("password", "`password` needs `user`, which is missing");
            None
        }
        (None, None) => None,
    }
}

/// The inner `None` means no proxy, the outer one a wrong option.
fn proxy(options: &mut Options<'_>) -> Option<Option<Proxy>> {
    let given =
        options.value("proxy").doc("Proxy: a URL, or a hash with scheme, host, port, user, password.").optional();
    let text = match given {
        None => return Some(None),
        Some(Value::String(text)) if text.is_empty() => return Some(None),
        Some(Value::String(text)) => text.to_string(),
        Some(Value::Map(map)) => {
            let part = |name: &str| {
                map.get(name)
                    .and_then(|v| v.as_str().map(str::to_owned).or_else(|| v.as_integer().map(|n| n.to_string())))
            };
            let scheme = part("scheme").unwrap_or_else(|| "http".to_owned());
            let port = part("port").map(|port| format!(":{port}")).unwrap_or_default();
            let url = format!("{scheme}://{}{port}", part("host").unwrap_or_default());
            return made_proxy(options, &url, part("user").zip(part("password")));
        }
        Some(_) => String::new(),
    };
    made_proxy(options, &text, None)
}

fn made_proxy(options: &mut Options<'_>, url: &str, user: Option<(String, String)>) -> Option<Option<Proxy>> {
    match Proxy::all(url) {
        Ok(proxy) => Some(Some(match user {
            Some((user, password)) => proxy.basic_auth(&user, &password),
            None => proxy,
        })),
        Err(_) => {
            options.invalid("proxy", "the proxy is a URL, or a hash with scheme, host, port, user and password");
            None
        }
    }
}

fn refuse_old_names(options: &mut Options<'_>) {
    for (name, instead) in [
        ("cacert", "Set `ssl_certificate_authorities` instead."),
        ("client_cert", "Set `ssl_certificate` instead."),
        ("client_key", "Set `ssl_key` instead."),
        ("keystore", "Set `ssl_keystore_path` instead."),
        ("keystore_password", "Set `ssl_keystore_password` instead."),
        ("keystore_type", "Set `ssl_keystore_type` instead."),
        ("truststore", "Set `ssl_truststore_path` instead."),
        ("truststore_password", "Set `ssl_truststore_password` instead."),
        ("truststore_type", "Set `ssl_truststore_type` instead."),
        ("ssl_certificate_validation", "Set `ssl_verification_mode` instead."),
        ("verify_ssl", "Set `ssl_verification_mode` instead."),
    ] {
        options.obsolete(name, instead);
    }
}
