//! The `ssl_*` options that all network plugins have in common.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ServerConfig};

use super::{BadOption, ClientAuthentication, ClientTls, Identity, Protocols, ServerTls, Trust, keystore, pem, suites};
use crate::plugins::{Options, Secret};

const AUTHORITIES: &str = "ssl_certificate_authorities";
const CERTIFICATE: &str = "ssl_certificate";
const CLIENT_AUTHENTICATION: &str = "ssl_client_authentication";
const KEY: &str = "ssl_key";
const KEYSTORE: &str = "ssl_keystore_path";
const PASSPHRASE: &str = "ssl_key_passphrase";
const TRUSTSTORE: &str = "ssl_truststore_path";
const VERIFICATION: &str = "ssl_verification_mode";

/// Which ends of a connection a plugin can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// It listens.
    Server,
    /// It connects.
    Client,
    /// Its `mode` says.
    Both,
}

/// The options of a block, read but not yet put to use.
pub struct Family {
    enabled: bool,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    passphrase: Option<Secret>,
    authorities: Vec<PathBuf>,
    client_authentication: Option<String>,
    verification: Option<String>,
    keystore: Store,
    truststore: Store,
    protocols: Protocols,
}

/// A PKCS#12 file.
struct Store {
    path: Option<PathBuf>,
    password: Option<Secret>,
}

impl Family {
    /// Declares and reads them. `enabled` is the default of `ssl_enabled`.
    pub fn read(options: &mut Options<'_>, sides: Sides, enabled: bool) -> Self {
        let enabled = options.boolean("ssl_enabled").doc("Whether connections are encrypted.").default(enabled);
        let certificate = options.path(CERTIFICATE).doc("PEM file with our own certificate.").optional();
        let key = options.path(KEY).doc("PEM file with its key (PKCS#8).").optional();
        let passphrase = options.password(PASSPHRASE).doc("Opens the key when it is encrypted.").optional();
        let authorities = options
            .paths(AUTHORITIES)
            .doc("PEM files with the certificates that the other side is checked against.")
            .optional()
            .unwrap_or_default();
        let client_authentication = (sides != Sides::Client)
            .then(|| {
                options
                    .word(CLIENT_AUTHENTICATION, &["none", "optional", "required"])
                    .doc("Whether clients have to show a certificate.")
                    .optional()
            })
            .flatten();
        let verification = (sides != Sides::Server)
            .then(|| {
                options.word(VERIFICATION, &["full", "none"]).doc("`none` checks nothing about the server.").optional()
            })
            .flatten();
        let keystore = Store {
            path: options.path(KEYSTORE).doc("PKCS#12 file with our certificate and its key.").optional(),
            password: options.password("ssl_keystore_password").doc("Opens that file.").optional(),
        };
        kind(options, "ssl_keystore_type", keystore.path.as_ref());
        let truststore = Store {
            path: options
                .path(TRUSTSTORE)
                .doc("PKCS#12 file with the certificates that the other side is checked against.")
                .optional(),
            password: options.password("ssl_truststore_password").doc("Opens that file.").optional(),
        };
        kind(options, "ssl_truststore_type", truststore.path.as_ref());
        let protocols = Protocols::read(options, enabled);
        let family = Self {
            enabled,
            certificate,
            key,
            passphrase,
            authorities,
            client_authentication,
            verification,
            keystore,
            truststore,
            protocols,
        };
        family.check(options);
        family
    }

    /// Whether connections are encrypted.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether there is something to check certificates of the other side against.
    pub fn has_authorities(&self) -> bool {
        !self.authorities.is_empty() || self.truststore.path.is_some()
    }

    /// Whether the user wants no certificate of clients.
    pub fn asks_no_client(&self) -> bool {
        self.client_authentication.as_deref() == Some("none")
    }

    /// How many files with authorities are given.
    pub fn authority_files(&self) -> usize {
        self.authorities.len()
    }

    fn check(&self, options: &mut Options<'_>) {
        if !self.enabled {
            let unused: Vec<&str> =
                options.given().filter(|name| name.starts_with("ssl_") && *name != "ssl_enabled").collect();
            if let Some(first) = unused.first() {
                let message = format!("not used while `ssl_enabled` is false: {}", unused.join(", "));
                options.warn(first, "no-effect", message);
            }
            return;
        }
        match (&self.certificate, &self.key) {
            (Some(_), None) => options.invalid(CERTIFICATE, "`ssl_certificate` needs `ssl_key`, which is missing"),
            (None, Some(_)) => options.invalid(KEY, "`ssl_key` needs `ssl_certificate`, which is missing"),
            _ => {}
        }
        if self.passphrase.is_some() && self.key.is_none() {
            options.invalid(PASSPHRASE, "`ssl_key_passphrase` needs `ssl_key`, which is missing");
        }
        if self.certificate.is_some() && self.keystore.path.is_some() {
            options.invalid(KEYSTORE, "use either `ssl_certificate` or `ssl_keystore_path`");
        }
        if !self.authorities.is_empty() && self.truststore.path.is_some() {
            options.invalid(TRUSTSTORE, "use either `ssl_certificate_authorities` or `ssl_truststore_path`");
        }
        for (store, path, password) in [
            (&self.keystore, KEYSTORE, "ssl_keystore_password"),
            (&self.truststore, TRUSTSTORE, "ssl_truststore_password"),
        ] {
            if store.path.is_some() && store.password.is_none() {
                options.invalid(path, format!("`{path}` needs `{password}`, which is missing"));
            }
        }
        if self.verification.as_deref() == Some("none") {
            let message = "certificate verification is DISABLED: anybody can pose as the server";
            options.warn(VERIFICATION, "insecure", message);
        }
    }

    /// The configuration of a listener, when it is on. `by_default` says what clients have to show unless the option
    /// does; without authorities that is nothing. `extra` certificates are sent behind our own.
    pub fn server(
        &self,
        options: &mut Options<'_>,
        by_default: ClientAuthentication,
        extra: &[PathBuf],
    ) -> Option<Arc<ServerConfig>> {
        if !self.enabled {
            return None;
        }
        if self.verification.is_some() {
            options.invalid(VERIFICATION, "a server has no `ssl_verification_mode`: use `ssl_client_authentication`");
        }
        if self.certificate.is_none() && self.keystore.path.is_none() {
            options.invalid(
                "ssl_enabled",
                "a server with `ssl_enabled => true` needs `ssl_certificate` and `ssl_key`, or `ssl_keystore_path`",
            );
            return None;
        }
        let has_authorities = self.has_authorities();
        let client_authentication = match self.client_authentication.as_deref() {
            Some("none") => ClientAuthentication::None,
            Some("optional") => ClientAuthentication::Optional,
            Some(_) => ClientAuthentication::Required,
            None if has_authorities => by_default,
            None => ClientAuthentication::None,
        };
        if client_authentication != ClientAuthentication::None && !has_authorities {
            let message = "`ssl_client_authentication` needs `ssl_certificate_authorities` or `ssl_truststore_path`";
            options.invalid(CLIENT_AUTHENTICATION, message);
            return None;
        }
        let made = (|| {
            let Some(mut identity) = self.identity()? else { return Ok(None) };
            for path in extra {
                identity.extend_chain(pem::authorities("ssl_extra_chain_certs", path)?);
            }
            let authorities = self.authorities()?.unwrap_or_default();
            let protocols = self.protocols.clone();
            ServerTls { identity, client_authentication, authorities, protocols }.config().map(Some)
        })();
        told(options, made).flatten()
    }

    /// The configuration of connections to others, when it is on.
    pub fn client(&self, options: &mut Options<'_>) -> Option<ClientConfig> {
        if !self.enabled {
            return None;
        }
        if self.client_authentication.is_some() {
            options.invalid(
                CLIENT_AUTHENTICATION,
                "a client has no `ssl_client_authentication`: use `ssl_verification_mode`",
            );
        }
        let made = (|| {
            let trust = match (self.verification.as_deref(), self.authorities()?) {
                (Some("none"), _) => Trust::Anybody,
                (_, Some(authorities)) => Trust::Authorities(authorities),
                (_, None) => Trust::System,
            };
            ClientTls { trust, identity: self.identity()?, protocols: self.protocols.clone() }.config()
        })();
        told(options, made)
    }

    fn identity(&self) -> Result<Option<Identity>, BadOption> {
        match (&self.certificate, &self.key, &self.keystore) {
            (Some(certificate), Some(key), _) => pem::identity(certificate, key, self.passphrase.as_ref()).map(Some),
            (_, _, Store { path: Some(path), password: Some(password) }) => {
                keystore::identity(KEYSTORE, path, password).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn authorities(&self) -> Result<Option<Vec<CertificateDer<'static>>>, BadOption> {
        if let Store { path: Some(path), password: Some(password) } = &self.truststore {
            return keystore::authorities(TRUSTSTORE, path, password).map(Some);
        }
        let mut all = Vec::new();
        for path in &self.authorities {
            all.extend(pem::authorities(AUTHORITIES, path)?);
        }
        Ok((!all.is_empty()).then_some(all))
    }
}

fn told<T>(options: &mut Options<'_>, made: Result<T, BadOption>) -> Option<T> {
    made.map_err(|bad| options.invalid(bad.option, bad.message)).ok()
}

fn kind(options: &mut Options<'_>, name: &'static str, path: Option<&PathBuf>) {
    let kind = options.word(name, &["pkcs12", "jks"]).doc("Form of that file; only pkcs12 can be read.").optional();
    if kind.as_deref() == Some("jks") {
        options
            .invalid(name, path.map_or_else(|| "JKS files cannot be read".to_owned(), |path| keystore::convert(path)));
    }
}

impl Protocols {
    fn read_versions(options: &mut Options<'_>, enabled: bool) -> Self {
        let names = options
            .strings("ssl_supported_protocols")
            .doc("TLS versions to use: TLSv1.2, TLSv1.3; both unless given.")
            .optional()
            .unwrap_or_default();
        let mut protocols = Self::default();
        for name in names.iter().filter(|_| enabled) {
            match suites::version(name) {
                Ok(version) => protocols.versions.push(version),
                Err(message) => options.invalid("ssl_supported_protocols", message),
            }
        }
        protocols
    }

    /// Declares and reads `ssl_supported_protocols` and `ssl_cipher_suites`. Names are checked only where TLS is on.
    pub fn read(options: &mut Options<'_>, enabled: bool) -> Self {
        let mut protocols = Self::read_versions(options, enabled);
        let names = options
            .strings("ssl_cipher_suites")
            .doc("Cipher suites to use, by Java's names; all that are built in unless given.")
            .optional()
            .unwrap_or_default();
        for name in names.iter().filter(|_| enabled) {
            match suites::suite(name) {
                Ok(suite) => protocols.suites.push(suite),
                Err(message) => options.invalid("ssl_cipher_suites", message),
            }
        }
        protocols
    }
}

/// Refuses the names that TLS options of the `tcp` plugins had before they were those of this family.
pub fn refuse_old_names(options: &mut Options<'_>) {
    for (name, instead) in [
        ("ssl_enable", "Set `ssl_enabled` instead."),
        ("ssl_cert", "Set `ssl_certificate` instead."),
        ("ssl_cacert", "Set `ssl_certificate_authorities` instead."),
        (
            "ssl_verify",
            "Set `ssl_client_authentication` in server mode, `ssl_verification_mode` in client mode instead.",
        ),
    ] {
        options.obsolete(name, instead);
    }
}
