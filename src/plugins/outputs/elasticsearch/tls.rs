//! TLS of the connections: whom we trust, and who we are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::{Certificate, ClientBuilder, Identity, tls::Version};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};

const AUTHORITIES: &str = "ssl_certificate_authorities";
const CERTIFICATE: &str = "ssl_certificate";
const KEY: &str = "ssl_key";

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
    /// `ssl_supported_protocols`: oldest and newest version.
    pub versions: Option<(Version, Version)>,
}

/// What is wrong with which option.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadOption {
    /// Its name.
    pub option: &'static str,
    /// What is wrong, and what it should be.
    pub message: String,
}

/// Prepares a client. Without TLS no certificate is read at all.
pub(super) fn apply(builder: ClientBuilder, tls: Option<&Tls>) -> Result<ClientBuilder, BadOption> {
    // The only TLS implementation that is built in; a second call changes nothing.
    let _ = ring::default_provider().install_default();
    let Some(tls) = tls else { return Ok(builder.tls_certs_only([])) };
    if !tls.fingerprints.is_empty() && !tls.unverified {
        return Ok(builder.tls_backend_preconfigured(pinned(tls)?));
    }
    let mut builder = builder.tls_danger_accept_invalid_certs(tls.unverified);
    if let Some(path) = &tls.authorities {
        let certificates = authorities(path)?.into_iter().map(|c| Certificate::from_der(&c));
        let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(|_| no_certificate(path))?;
        builder = builder.tls_certs_only(certificates);
    }
    if let Some((certificate, key)) = &tls.identity {
        // Read apart first: the client would take either half from either file, and its errors name neither.
        identity(certificate, key)?;
        let pem = [read(KEY, key)?, read(CERTIFICATE, certificate)?].join(&b'\n');
        builder = builder.identity(Identity::from_pem(&pem).map_err(|_| no_identity(certificate, key))?);
    }
    if let Some((oldest, newest)) = tls.versions {
        builder = builder.tls_version_min(oldest).tls_version_max(newest);
    }
    Ok(builder)
}

fn read(option: &'static str, path: &Path) -> Result<Vec<u8>, BadOption> {
    std::fs::read(path).map_err(|e| BadOption { option, message: format!("{} cannot be read: {e}", path.display()) })
}

fn no_certificate(path: &Path) -> BadOption {
    BadOption { option: AUTHORITIES, message: format!("{} holds no certificate in PEM form", path.display()) }
}

fn no_identity(certificate: &Path, key: &Path) -> BadOption {
    let message = format!(
        "{} and {} are not a certificate and its own unencrypted private key (PKCS#8), both in PEM form",
        certificate.display(),
        key.display()
    );
    BadOption { option: CERTIFICATE, message }
}

/// The certificates of a file; at least one.
fn authorities(path: &Path) -> Result<Vec<CertificateDer<'static>>, BadOption> {
    let pem = read(AUTHORITIES, path)?;
    let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    certificates.ok().filter(|list| !list.is_empty()).ok_or_else(|| no_certificate(path))
}

/// A configuration that trusts authorities by fingerprint, and those of a file.
fn pinned(tls: &Tls) -> Result<ClientConfig, BadOption> {
    let provider = Arc::new(ring::default_provider());
    let roots = tls.authorities.as_deref().map_or(Ok(Vec::new()), authorities)?;
    let verifier = Pinned { provider: provider.clone(), roots, fingerprints: tls.fingerprints.clone() };
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&protocol_versions(tls))
        .map_err(|e| BadOption { option: "ssl_supported_protocols", message: e.to_string() })?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let Some((certificate, key)) = &tls.identity else { return Ok(config.with_no_client_auth()) };
    let (chain, private) = identity(certificate, key)?;
    config.with_client_auth_cert(chain, private).map_err(|_| no_identity(certificate, key))
}

fn identity(
    certificate: &Path,
    key: &Path,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), BadOption> {
    let chain = CertificateDer::pem_slice_iter(&read(CERTIFICATE, certificate)?).collect::<Result<Vec<_>, _>>();
    let private = PrivateKeyDer::from_pem_slice(&read(KEY, key)?);
    let (Ok(chain), Ok(private)) = (chain, private) else { return Err(no_identity(certificate, key)) };
    CertifiedKey::from_der(chain.clone(), private.clone_key(), &ring::default_provider())
        .map_err(|_| no_identity(certificate, key))?;
    Ok((chain, private))
}

fn protocol_versions(tls: &Tls) -> Vec<&'static rustls::SupportedProtocolVersion> {
    match tls.versions {
        Some((Version::TLS_1_3, _)) => vec![&rustls::version::TLS13],
        Some((_, Version::TLS_1_2)) => vec![&rustls::version::TLS12],
        _ => rustls::ALL_VERSIONS.to_vec(),
    }
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
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(self.roots.iter().cloned());
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
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// 32 bytes in hex, any case, pairs optionally parted by colons.
pub(super) fn fingerprint(text: &str) -> Option<[u8; 32]> {
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
