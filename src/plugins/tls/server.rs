//! The end that is connected to.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::{BadOption, Identity, Protocols};

/// Whether clients have to show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// They are not asked for one.
    None,
    /// One that is shown must be good.
    Optional,
    /// They must show a good one.
    Required,
}

/// What a server needs.
#[derive(Debug)]
pub struct ServerTls {
    /// Who we are.
    pub identity: Identity,
    /// Whether clients have to show a certificate.
    pub client_authentication: ClientAuthentication,
    /// Who may have signed those of clients.
    pub authorities: Vec<CertificateDer<'static>>,
    /// Versions and suites.
    pub protocols: Protocols,
}

impl ServerTls {
    /// The configuration of a listener.
    pub fn config(&self) -> Result<Arc<ServerConfig>, BadOption> {
        let provider = self.protocols.provider();
        let bad_protocols = |e: rustls::Error| BadOption::new("ssl_cipher_suites", e.to_string());
        let config = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(self.protocols.versions())
            .map_err(bad_protocols)?;
        let config = if self.client_authentication == ClientAuthentication::None {
            config.with_no_client_auth()
        } else {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(self.authorities.iter().cloned());
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = match self.client_authentication {
                ClientAuthentication::Optional => verifier.allow_unauthenticated(),
                _ => verifier,
            };
            let verifier =
                verifier.build().map_err(|e| BadOption::new("ssl_certificate_authorities", e.to_string()))?;
            config.with_client_cert_verifier(verifier)
        };
        let (chain, key) = self.identity.parts();
        let config =
            config.with_single_cert(chain, key).map_err(|e| BadOption::new("ssl_certificate", e.to_string()))?;
        Ok(Arc::new(config))
    }
}

/// The subject of a certificate as in RFC 2253 (`CN=web1,O=Example`).
pub fn subject(certificate: &CertificateDer<'_>) -> Option<String> {
    let certificate = Certificate::from_der(certificate).ok()?;
    Some(certificate.tbs_certificate().subject().to_string())
}
