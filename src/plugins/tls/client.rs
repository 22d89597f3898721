//! The end that connects: whom it trusts, and who it says it is.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};

use super::{BadOption, Identity, Protocols};

const AUTHORITIES: &str = "ssl_certificate_authorities";

/// Whom a client trusts.
#[derive(Debug, Default)]
pub enum Trust {
    /// Whoever the machine trusts.
    #[default]
    System,
    /// Those who have a certificate of one of these.
    Authorities(Vec<CertificateDer<'static>>),
    /// As above, or of an authority whose certificate has one of these SHA-256 and comes from the server itself.
    Fingerprints(Vec<CertificateDer<'static>>, Vec<[u8; 32]>),
    /// Everybody.
    Anybody,
}

/// What a client needs.
#[derive(Debug, Default)]
pub struct ClientTls {
    /// Whom it trusts.
    pub trust: Trust,
    /// Who it says it is.
    pub identity: Option<Identity>,
    /// Versions and suites.
    pub protocols: Protocols,
}

impl ClientTls {
    /// The configuration of connections.
    pub fn config(&self) -> Result<ClientConfig, BadOption> {
        let provider = self.protocols.provider();
        let config = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(self.protocols.versions())
            .map_err(|e| BadOption::new("ssl_supported_protocols", e.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier(provider)?);
        let Some(identity) = &self.identity else { return Ok(config.with_no_client_auth()) };
        let (chain, key) = identity.parts();
        config.with_client_auth_cert(chain, key).map_err(|e| BadOption::new("ssl_certificate", e.to_string()))
    }

    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, BadOption> {
        Ok(match &self.trust {
            Trust::System => Arc::new(rustls_platform_verifier::Verifier::new(provider).map_err(|e| {
                BadOption::new(AUTHORITIES, format!("the machine's list of trusted authorities cannot be read: {e}"))
            })?),
            Trust::Authorities(roots) => {
                let roots = Arc::new(store(roots));
                WebPkiServerVerifier::builder_with_provider(roots, provider)
                    .build()
                    .map_err(|e| BadOption::new(AUTHORITIES, e.to_string()))?
            }
            Trust::Fingerprints(roots, fingerprints) => {
                Arc::new(Pinned { provider, roots: roots.clone(), fingerprints: fingerprints.clone() })
            }
            Trust::Anybody => Arc::new(Anybody { provider }),
        })
    }
}

fn store(certificates: &[CertificateDer<'static>]) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.iter().cloned());
    roots
}

/// Trusts the given authorities, and those of the server's own chain that have a known fingerprint.
#[derive(Debug)]
struct Pinned {
    provider: Arc<CryptoProvider>,
    roots: Vec<CertificateDer<'static>>,
    fingerprints: Vec<[u8; 32]>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let mut roots = store(&self.roots);
        let known = intermediates.iter().chain([end_entity]).filter(|certificate| {
            let fingerprint: [u8; 32] = Sha256::digest(certificate).into();
            self.fingerprints.contains(&fingerprint)
        });
        roots.add_parsable_certificates(known.cloned().map(CertificateDer::into_owned));
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), self.provider.clone())
            .build()
            .map_err(|_| rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer))?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        signature12(&self.provider, message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        signature13(&self.provider, message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// `ssl_verification_mode => none`: any certificate will do, if its owner holds the key.
#[derive(Debug)]
struct Anybody {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        signature12(&self.provider, message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        signature13(&self.provider, message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn signature12(
    provider: &CryptoProvider,
    message: &[u8],
    cert: &CertificateDer<'_>,
    dss: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    rustls::crypto::verify_tls12_signature(message, cert, dss, &provider.signature_verification_algorithms)
}

fn signature13(
    provider: &CryptoProvider,
    message: &[u8],
    cert: &CertificateDer<'_>,
    dss: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    rustls::crypto::verify_tls13_signature(message, cert, dss, &provider.signature_verification_algorithms)
}
