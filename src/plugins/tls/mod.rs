//! TLS of inputs and outputs: certificates, keys and trust from files, and the configurations of both ends made of
//! them.
//!
//! Everything is read while a configuration is checked, so that a wrong file is a mistake at its place. Cryptography
//! is that of `ring`; versions before 1.2 and suites without forward secrecy are not there at all.

mod client;
mod family;
mod http;
mod keystore;
mod pem;
mod server;
mod suites;

use std::sync::Arc;

use crate::plugins::Secret;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{SupportedCipherSuite, SupportedProtocolVersion};

pub use client::{ClientTls, Trust};
pub use family::{Family, Sides, refuse_old_names};
pub use http::{explained, for_http};
pub use keystore::{
    authorities as stored_authorities, convert as conversion, identity as stored_identity, is_java_store,
};
pub use pem::{authorities, identity};
pub use server::{ClientAuthentication, ServerTls, subject};

/// What is wrong with which option.
#[derive(Debug, PartialEq, Eq)]
pub struct BadOption {
    /// Its name.
    pub option: &'static str,
    /// What is wrong, and what it should be.
    pub message: String,
}

impl BadOption {
    fn new(option: &'static str, message: impl Into<String>) -> Self {
        Self { option, message: message.into() }
    }
}

/// Who we are: our certificate with those that lead to its authority, and its key.
#[derive(Debug)]
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Checks that the key belongs to the first certificate.
    fn checked(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Option<Self> {
        CertifiedKey::from_der(chain.clone(), key.clone_key(), &provider(&[])).ok()?;
        Some(Self { chain, key })
    }

    /// Sends these certificates behind its own.
    pub fn extend_chain(&mut self, more: Vec<CertificateDer<'static>>) {
        self.chain.extend(more);
    }

    /// Certificates and key as text, for what reads nothing else.
    pub fn to_pem(&self) -> (String, Secret) {
        let (label, der) = match &self.key {
            PrivateKeyDer::Pkcs1(key) => ("RSA PRIVATE KEY", key.secret_pkcs1_der()),
            PrivateKeyDer::Sec1(key) => ("EC PRIVATE KEY", key.secret_sec1_der()),
            other => ("PRIVATE KEY", other.secret_der()),
        };
        (certificates_to_pem(&self.chain), Secret::new(pem::text(label, der)))
    }

    fn parts(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (self.chain.clone(), self.key.clone_key())
    }
}

/// Certificates as text, one behind the other.
pub fn certificates_to_pem(certificates: &[CertificateDer<'_>]) -> String {
    certificates.iter().map(|certificate| pem::text("CERTIFICATE", certificate)).collect()
}

/// Versions and suites that may be used; the defaults when empty.
#[derive(Clone, Debug, Default)]
pub struct Protocols {
    /// Versions.
    pub versions: Vec<&'static SupportedProtocolVersion>,
    /// Cipher suites.
    pub suites: Vec<SupportedCipherSuite>,
}

impl Protocols {
    fn provider(&self) -> Arc<CryptoProvider> {
        provider(&self.suites)
    }

    fn versions(&self) -> &[&'static SupportedProtocolVersion] {
        if self.versions.is_empty() { rustls::ALL_VERSIONS } else { &self.versions }
    }
}

/// The cryptography, with these suites only, or all.
fn provider(suites: &[SupportedCipherSuite]) -> Arc<CryptoProvider> {
    let mut provider = rustls::crypto::ring::default_provider();
    if !suites.is_empty() {
        provider.cipher_suites = suites.to_vec();
    }
    Arc::new(provider)
}
