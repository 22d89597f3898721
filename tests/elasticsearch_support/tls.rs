//! TLS for the scripted server, with certificates made by `certificates/make.sh`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest, Sha256};

/// A file of the certificates.
pub fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/elasticsearch_support/certificates").join(name)
}

fn certificate(name: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(file(name)).unwrap()
}

/// The SHA-256 of a certificate in hex.
pub fn fingerprint(name: &str) -> String {
    Sha256::digest(certificate(name)).iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}

/// A server called `localhost` that sends its authority along; it may ask for the client's certificate.
pub fn localhost(asks_for_client: bool) -> Arc<ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate("authority.crt")).unwrap();
    let builder = if asks_for_client {
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let chain = vec![certificate("server.crt"), certificate("authority.crt")];
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    Arc::new(builder.with_single_cert(chain, key).unwrap())
}

/// Writes a PKCS#12 file with the authority, whose password is `secret`; gives its path.
pub fn truststore(folder: &Path) -> String {
    let authority = p12_keystore::Certificate::from_der(&certificate("authority.crt")).unwrap();
    write_store(folder, "trust", p12_keystore::KeyStoreEntry::Certificate(authority))
}

/// The same with the client's certificate and its key.
pub fn keystore(folder: &Path) -> String {
    let own = p12_keystore::Certificate::from_der(&certificate("client.crt")).unwrap();
    let key = PrivateKeyDer::from_pem_file(file("client.key")).unwrap();
    let key = p12_keystore::PrivateKey::from_der(key.secret_der()).unwrap();
    let chain = p12_keystore::PrivateKeyChain::new("1", key, [own]);
    write_store(folder, "own", p12_keystore::KeyStoreEntry::PrivateKeyChain(chain))
}

fn write_store(folder: &Path, name: &str, entry: p12_keystore::KeyStoreEntry) -> String {
    let mut store = p12_keystore::KeyStore::new();
    store.add_entry(name, entry);
    let path = folder.join(format!("{name}.p12"));
    std::fs::write(&path, store.writer("secret").write().unwrap()).unwrap();
    path.display().to_string()
}

/// A server called `localhost` whose certificate has run out, and the path of its authority, which is valid.
pub fn expired(folder: &Path) -> (Arc<ServerConfig>, String) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let mut server = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    server.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let key = KeyPair::generate().unwrap();
    let chain = vec![server.signed_by(&key, &issuer).unwrap().der().clone()];
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let path = folder.join("authority.crt");
    std::fs::write(&path, issuer.pem()).unwrap();
    (Arc::new(builder.with_no_client_auth().with_single_cert(chain, key).unwrap()), path.display().to_string())
}
