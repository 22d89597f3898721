//! Options on connections that all plugins have: headers of one's own, and a proxy.

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Proxy, Url};

use super::hosts::percent_decoded;
use crate::plugins::Options;

/// `custom_headers`; wrong ones are reported and left out.
pub fn headers(options: &mut Options<'_>) -> Vec<(HeaderName, HeaderValue)> {
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
    custom
}

/// `proxy`. The inner `None` means no proxy, the outer one a wrong option.
pub fn proxy(options: &mut Options<'_>) -> Option<Option<Proxy>> {
    let given = options
        .string("proxy")
        .doc("HTTP proxy that all requests go through: URL with user and password, or host:port. The port is 80 unless given.")
        .optional();
    match given.as_deref() {
        None => Some(None),
        Some("") => {
            options.warn("proxy", "no-effect", "an empty `proxy` has no effect: no proxy is used");
            Some(None)
        }
        Some(text) => {
            let made = through(text);
            if made.is_none() {
                options.invalid("proxy", "`proxy` is the URL of an HTTP proxy, such as http://proxy.example.org:3128");
            }
            made.map(Some)
        }
    }
}

/// User and password go into a header, so that no error shows them.
fn through(text: &str) -> Option<Proxy> {
    let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let mut url =
        Url::parse(&with_scheme).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())?;
    let login = (percent_decoded(url.username()), percent_decoded(url.password().unwrap_or_default()));
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    let proxy = Proxy::all(url).ok()?;
    Some(if login.0.is_empty() { proxy } else { proxy.basic_auth(&login.0, &login.1) })
}
