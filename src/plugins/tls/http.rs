//! TLS of HTTP clients, and what they say when something fails.

use reqwest::{ClientBuilder, Error};
use rustls::ClientConfig;

/// Prepares a client. Without a configuration it trusts nobody, and looks for no list of authorities.
pub fn for_http(builder: ClientBuilder, config: Option<ClientConfig>) -> ClientBuilder {
    // The client asks for the process's cryptography even when it never needs it; a second call changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match config {
        Some(config) => builder.tls_backend_preconfigured(config),
        None => builder.tls_certs_only([]),
    }
}

/// All causes of an error in one line, without the address (which may hold what `parameters` keep secret).
pub fn explained(error: Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
