//! TLS of outputs that know their servers by an authority or its fingerprint (`elasticsearch`, `clickhouse`): whom they
//! trust, and who they say they are.

use std::path::PathBuf;

use reqwest::ClientBuilder;
use rustls::ClientConfig;

use crate::plugins::Options;
use crate::plugins::tls::{self, BadOption, ClientTls, Protocols, Trust};

const AUTHORITIES: &str = "ssl_certificate_authorities";

/// The `ssl_*` options, once TLS is on.
#[derive(Clone, Debug, Default)]
pub(super) struct Tls {
    /// `ssl_certificate_authorities`: PEM file of those whom we trust; the system's list without it.
    pub authorities: Option<PathBuf>,
    /// `ca_trusted_fingerprint`: SHA-256 of authorities that are trusted when the server sends them.
    pub fingerprints: Vec<[u8; 32]>,
    /// `ssl_verification_mode => none`.
    pub unverified: bool,
    /// `ssl_certificate` and `ssl_key`: PEM files of who we are.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// `ssl_supported_protocols`.
    pub protocols: Protocols,
}

impl Tls {
    /// Declares and reads them. `secure` says whether TLS is on; without it they are not looked at.
    pub fn read(options: &mut Options<'_>, secure: bool) -> Option<Self> {
        let authorities = options
            .paths("ssl_certificate_authorities")
            .doc("PEM file with the certificates that servers are checked against; the system's list unless given.")
            .optional()
            .unwrap_or_default();
        let prints = options
            .strings("ca_trusted_fingerprint")
            .doc("SHA-256 of an authority that is trusted when the server sends its certificate. The system's list does not count then.")
            .optional()
            .unwrap_or_default();
        let mode = options
            .word("ssl_verification_mode", &["full", "none"])
            .doc("`none` checks nothing about the server.")
            .default("full".to_owned());
        let certificate = options.path("ssl_certificate").doc("PEM file with our own certificate.").optional();
        let key = options.path("ssl_key").doc("PEM file with its unencrypted key (PKCS#8).").optional();
        let protocols = Protocols::read_versions(options, secure);
        if !secure {
            // Without TLS these options have never been looked at; an old configuration may hold anything here.
            return None;
        }
        if authorities.len() > 1 {
            options.invalid(
                "ssl_certificate_authorities",
                "Multiple values on `ssl_certificate_authorities` are not \
                 supported: put all certificates into one file",
            );
        }
        if mode == "none" {
            options.warn(
                "ssl_verification_mode",
                "insecure",
                "certificate verification is DISABLED: anybody can pose as \
                 the server",
            );
        }
        let mut fingerprints = Vec::new();
        for text in &prints {
            match fingerprint(text) {
                Some(fingerprint) => fingerprints.push(fingerprint),
                None => {
                    options.invalid("ca_trusted_fingerprint", format!("`{text}` is not a SHA-256 in hex (64 digits)"))
                }
            }
        }
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => {
                options.invalid("ssl_certificate", "`ssl_certificate` needs `ssl_key`, which is missing");
                None
            }
            (None, Some(_)) => {
                options.invalid("ssl_key", "`ssl_key` needs `ssl_certificate`, which is missing");
                None
            }
        };
        let tls = Self {
            authorities: authorities.into_iter().next(),
            fingerprints,
            unverified: mode == "none",
            identity,
            protocols,
        };
        Some(tls)
    }
}

/// Prepares a client. Without TLS no certificate is read at all.
pub(super) fn apply(builder: ClientBuilder, options: Option<&Tls>) -> Result<ClientBuilder, BadOption> {
    Ok(tls::for_http(builder, options.map(config).transpose()?))
}

/// Reads the files and makes the configuration of connections.
pub(super) fn config(options: &Tls) -> Result<ClientConfig, BadOption> {
    let authorities = options.authorities.as_deref().map(|path| tls::authorities(AUTHORITIES, path)).transpose()?;
    let trust = match (options.unverified, authorities) {
        (true, _) => Trust::Anybody,
        (_, authorities) if !options.fingerprints.is_empty() => {
            Trust::Fingerprints(authorities.unwrap_or_default(), options.fingerprints.clone())
        }
        (_, Some(authorities)) => Trust::Authorities(authorities),
        (_, None) => Trust::System,
    };
    let identity =
        options.identity.as_ref().map(|(certificate, key)| tls::identity(certificate, key, None)).transpose()?;
    ClientTls { trust, identity, protocols: options.protocols.clone() }.config()
}

/// Refuses the options of the family that these outputs do not have yet.
pub(super) fn refuse_stores(options: &mut Options<'_>) {
    for name in ["ssl_truststore_path", "ssl_truststore_type", "ssl_truststore_password"] {
        options.unsupported(name, "export the certificates as PEM and use `ssl_certificate_authorities`");
    }
    for name in ["ssl_keystore_path", "ssl_keystore_type", "ssl_keystore_password"] {
        options.unsupported(name, "export certificate and key as PEM and use `ssl_certificate` and `ssl_key`");
    }
    options.unsupported("ssl_cipher_suites", "only suites that are safe are built in; leave it out");
}

/// 32 bytes in hex, any case, pairs optionally parted by colons.
fn fingerprint(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> = text.bytes().filter(|b| *b != b':').collect();
    let parted = text.contains(':');
    let well_parted = !parted || text.split(':').all(|pair| pair.len() == 2);
    if digits.len() != 64 || !well_parted {
        return None;
    }
    let mut out = [0; 32];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints() {
        let plain = "aB".repeat(32);
        assert_eq!(fingerprint(&plain), Some([0xab; 32]));
        let parted = vec!["AB"; 32].join(":");
        assert_eq!(fingerprint(&parted), Some([0xab; 32]));
        for wrong in ["", "ab", &plain[1..], &format!("{plain}00"), &plain.replace('a', "g"), &format!("a:b{plain}")] {
            assert_eq!(fingerprint(wrong), None, "{wrong}");
        }
    }
}
