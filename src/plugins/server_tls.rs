//! TLS of outputs that know their servers by an authority or its fingerprint (`elasticsearch`, `clickhouse`): whom they
//! trust, and who they say they are.

use std::path::PathBuf;

use reqwest::ClientBuilder;
use rustls::ClientConfig;

use crate::plugins::tls::{self, BadOption, ClientTls, Protocols, Trust};
use crate::plugins::{Options, Secret};

const AUTHORITIES: &str = "ssl_certificate_authorities";
const CERTIFICATE: &str = "ssl_certificate";
const KEY: &str = "ssl_key";

/// A PKCS#12 file and its password.
pub type Store = (PathBuf, Secret);

/// The `ssl_*` options, once TLS is on.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// `ssl_certificate_authorities`: PEM file of those whom we trust; the system's list without it.
    pub authorities: Option<PathBuf>,
    /// `ssl_truststore_path`: the same in PKCS#12.
    pub truststore: Option<Store>,
    /// `ca_trusted_fingerprint`: SHA-256 of authorities that are trusted when the server sends them.
    pub fingerprints: Vec<[u8; 32]>,
    /// `ssl_verification_mode => none`.
    pub unverified: bool,
    /// `ssl_certificate` and `ssl_key`: PEM files of who we are.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// `ssl_key_passphrase`: opens the key, in plugins that have the option.
    pub passphrase: Option<Secret>,
    /// `ssl_keystore_path`: the same in PKCS#12.
    pub keystore: Option<Store>,
    /// `ssl_supported_protocols` and `ssl_cipher_suites`.
    pub protocols: Protocols,
}

impl Tls {
    /// As [`Tls::read`], with a key that may be encrypted.
    pub fn read_with_passphrase(options: &mut Options<'_>, secure: bool) -> Option<Self> {
        let tls = Self::read(options, secure);
        let passphrase = options.password("ssl_key_passphrase").doc("Opens the key, if it is encrypted.").optional();
        Some(Self { passphrase, ..tls? })
    }

    /// Declares and reads them. `secure` says whether TLS is on; without it they are not looked at.
    pub fn read(options: &mut Options<'_>, secure: bool) -> Option<Self> {
        let authorities = options
            .paths(AUTHORITIES)
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
        let certificate = options.path(CERTIFICATE).doc("PEM file with our own certificate.").optional();
        let key = options.path(KEY).doc("PEM file with its unencrypted key (PKCS#8).").optional();
        let truststore = Named::TRUSTSTORE.read(options);
        let keystore = Named::KEYSTORE.read(options);
        let protocols = Protocols::read(options, secure);
        if !secure {
            // Without TLS these options have never been looked at; an old configuration may hold anything here.
            return None;
        }
        if authorities.len() > 1 {
            options.invalid(
                AUTHORITIES,
                "Multiple values on `ssl_certificate_authorities` are not supported: put all certificates into one file",
            );
        }
        if mode == "none" {
            warn_of_unverified(options, "ssl_verification_mode");
        }
        let truststore = Named::TRUSTSTORE.check(options, truststore, (AUTHORITIES, !authorities.is_empty()));
        let keystore = Named::KEYSTORE.check(options, keystore, (CERTIFICATE, certificate.is_some()));
        let tls = Self {
            authorities: authorities.into_iter().next(),
            truststore,
            fingerprints: fingerprints(options, &prints),
            unverified: mode == "none",
            identity: pair(options, (CERTIFICATE, certificate), (KEY, key)),
            passphrase: None,
            keystore,
            protocols,
        };
        Some(tls)
    }
}

/// Says what it means that nothing about the server is checked.
pub fn warn_of_unverified(options: &mut Options<'_>, name: &str) {
    options.warn(name, "insecure", "certificate verification is DISABLED: anybody can pose as the server");
}

/// Two files that are nothing without each other.
pub fn pair(
    options: &mut Options<'_>,
    certificate: (&str, Option<PathBuf>),
    key: (&str, Option<PathBuf>),
) -> Option<(PathBuf, PathBuf)> {
    match (certificate, key) {
        ((_, Some(certificate)), (_, Some(key))) => return Some((certificate, key)),
        ((_, None), (_, None)) => {}
        ((name, Some(_)), (missing, None)) | ((missing, None), (name, Some(_))) => {
            options.invalid(name, format!("`{name}` needs `{missing}`, which is missing"));
        }
    }
    None
}

/// The options of a store.
struct Named {
    path: &'static str,
    kind: &'static str,
    password: &'static str,
    doc: &'static str,
}

impl Named {
    const TRUSTSTORE: Self = Self {
        path: "ssl_truststore_path",
        kind: "ssl_truststore_type",
        password: "ssl_truststore_password",
        doc: "PKCS#12 file with the certificates that servers are checked against.",
    };
    const KEYSTORE: Self = Self {
        path: "ssl_keystore_path",
        kind: "ssl_keystore_type",
        password: "ssl_keystore_password",
        doc: "PKCS#12 file with our own certificate and its key.",
    };

    fn read(&self, options: &mut Options<'_>) -> (Option<Store>, bool) {
        let path = options.path(self.path).doc(self.doc).optional();
        let kind =
            options.word(self.kind, &["pkcs12", "jks"]).doc("Form of that file; only pkcs12 can be read.").optional();
        let password = options.password(self.password).doc("Opens that file.").optional();
        (path.map(|path| (path, password.unwrap_or_default())), kind.as_deref() == Some("jks"))
    }

    /// `rival` is the option that says the same with PEM files, and whether it is given.
    fn check(&self, options: &mut Options<'_>, read: (Option<Store>, bool), rival: (&str, bool)) -> Option<Store> {
        let (store, is_jks) = read;
        let store = store?;
        if rival.1 {
            options.invalid(self.path, format!("Use either \"{}\" or \"{}\"", rival.0, self.path));
        }
        if is_jks {
            options.invalid(self.kind, tls::conversion(&store.0));
        }
        Some(store)
    }
}

/// Prepares a client. Without TLS no certificate is read at all.
pub fn apply(builder: ClientBuilder, options: Option<&Tls>) -> Result<ClientBuilder, BadOption> {
    Ok(tls::for_http(builder, options.map(config).transpose()?))
}

/// Reads the files and makes the configuration of connections.
pub fn config(options: &Tls) -> Result<ClientConfig, BadOption> {
    let authorities = match (&options.authorities, &options.truststore) {
        (Some(path), _) => Some(tls::authorities(AUTHORITIES, path)?),
        (None, Some((path, password))) => Some(tls::stored_authorities(Named::TRUSTSTORE.path, path, password)?),
        (None, None) => None,
    };
    let trust = match (options.unverified, authorities) {
        (true, _) => Trust::Anybody,
        (_, authorities) if !options.fingerprints.is_empty() => {
            Trust::Fingerprints(authorities.unwrap_or_default(), options.fingerprints.clone())
        }
        (_, Some(authorities)) => Trust::Authorities(authorities),
        (_, None) => Trust::System,
    };
    let identity = match (&options.identity, &options.keystore) {
        (Some((certificate, key)), _) => Some(tls::identity(certificate, key, options.passphrase.as_ref())?),
        (None, Some((path, password))) => Some(tls::stored_identity(Named::KEYSTORE.path, path, password)?),
        (None, None) => None,
    };
    ClientTls { trust, identity, protocols: options.protocols.clone() }.config()
}

fn fingerprints(options: &mut Options<'_>, texts: &[String]) -> Vec<[u8; 32]> {
    for text in texts.iter().filter(|text| fingerprint(text).is_none()) {
        options.invalid("ca_trusted_fingerprint", format!("`{text}` is not a SHA-256 in hex (64 digits)"));
    }
    texts.iter().filter_map(|text| fingerprint(text)).collect()
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
