//! Certificates and keys in PEM form.

use std::path::Path;

use base64::Engine;
use pkcs8::der::SecretDocument;
use pkcs8::der::asn1::OctetStringRef;
use pkcs8::{EncryptedPrivateKeyInfo, der::Decode};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::{BadOption, Identity};
use crate::plugins::Secret;

const CERTIFICATE: &str = "ssl_certificate";
const KEY: &str = "ssl_key";
const PASSPHRASE: &str = "ssl_key_passphrase";
const ENCRYPTED: (&str, &str) = ("-----BEGIN ENCRYPTED PRIVATE KEY-----", "-----END ENCRYPTED PRIVATE KEY-----");

/// The certificates of a file; at least one.
pub fn authorities(option: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, BadOption> {
    let pem = read(option, path)?;
    let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    certificates
        .ok()
        .filter(|list| !list.is_empty())
        .ok_or_else(|| BadOption::new(option, format!("{} holds no certificate in PEM form", path.display())))
}

/// A certificate and its key.
pub fn identity(certificate: &Path, key: &Path, passphrase: Option<&Secret>) -> Result<Identity, BadOption> {
    let wrong = || {
        let (certificate, key) = (certificate.display(), key.display());
        BadOption::new(
            CERTIFICATE,
            format!("{certificate} and {key} are not a certificate and its own private key (PKCS#8), both in PEM form"),
        )
    };
    let chain = CertificateDer::pem_slice_iter(&read(CERTIFICATE, certificate)?).collect::<Result<Vec<_>, _>>();
    let private = private_key(key, passphrase)?;
    let (Ok(chain), Some(private)) = (chain, private) else { return Err(wrong()) };
    Identity::checked(chain, private).ok_or_else(wrong)
}

/// The key of a file, if it holds one.
fn private_key(path: &Path, passphrase: Option<&Secret>) -> Result<Option<PrivateKeyDer<'static>>, BadOption> {
    let pem = read(KEY, path)?;
    let text = String::from_utf8_lossy(&pem);
    if text.contains("Proc-Type: 4,ENCRYPTED") {
        let path = path.display();
        let message = format!(
            "{path} is encrypted in OpenSSL's old form: convert it with `openssl pkcs8 -topk8 -in {path} -out key.p8`"
        );
        return Err(BadOption::new(KEY, message));
    }
    match (encrypted(&text), passphrase) {
        (Some(block), Some(passphrase)) => decrypt(block, passphrase).map(Some).ok_or_else(|| {
            BadOption::new(PASSPHRASE, format!("{} cannot be opened with this passphrase", path.display()))
        }),
        (Some(_), None) => {
            Err(BadOption::new(KEY, format!("{} is encrypted and needs `{PASSPHRASE}`", path.display())))
        }
        (None, _) => Ok(PrivateKeyDer::from_pem_slice(&pem).ok()),
    }
}

/// The part of a file that is an encrypted key.
fn encrypted(text: &str) -> Option<&str> {
    let start = text.find(ENCRYPTED.0)?;
    let end = start + text.get(start..)?.find(ENCRYPTED.1)? + ENCRYPTED.1.len();
    text.get(start..end)
}

fn decrypt(block: &str, passphrase: &Secret) -> Option<PrivateKeyDer<'static>> {
    let (_, document) = SecretDocument::from_pem(block).ok()?;
    let info = EncryptedPrivateKeyInfo::<&OctetStringRef>::from_der(document.as_bytes()).ok()?;
    let key = info.decrypt(passphrase.reveal()).ok()?;
    Some(PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec())))
}

/// The PEM form of what `der` holds.
pub(super) fn text(label: &str, der: &[u8]) -> String {
    let body = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: String =
        body.as_bytes().chunks(64).flat_map(|line| line.iter().chain(b"\n")).map(|&b| char::from(b)).collect();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

fn read(option: &'static str, path: &Path) -> Result<Vec<u8>, BadOption> {
    std::fs::read(path).map_err(|e| BadOption::new(option, format!("{} cannot be read: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn file(name: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/elasticsearch_support/certificates").join(name)
    }

    fn opened(key: &Path, passphrase: Option<&str>) -> Result<(), String> {
        let passphrase = passphrase.map(|text| Secret::new(text.to_owned()));
        identity(&file("server.crt"), key, passphrase.as_ref()).map(|_| ()).map_err(|bad| bad.message)
    }

    #[test]
    fn keys_may_be_encrypted() {
        assert_eq!(opened(&file("server.key"), None), Ok(()));
        let encrypted = file("server-encrypted.key");
        assert_eq!(opened(&encrypted, Some("secret")), Ok(()));
        assert!(opened(&encrypted, Some("wrong")).unwrap_err().contains("cannot be opened with this passphrase"));
        assert!(opened(&encrypted, None).unwrap_err().contains("needs `ssl_key_passphrase`"));
        let old = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(old.path(), "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n").unwrap();
        assert!(opened(old.path(), Some("secret")).unwrap_err().contains("openssl pkcs8 -topk8"));
    }

    #[test]
    fn a_key_of_somebody_else_or_no_key_is_refused() {
        for key in ["client.key", "authority.crt"] {
            assert!(opened(&file(key), None).unwrap_err().contains("are not a certificate and its own private key"));
        }
        assert!(authorities("ssl_certificate_authorities", &file("server.key")).is_err());
    }
}
