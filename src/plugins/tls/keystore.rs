//! Certificates and keys in a PKCS#12 file. Java's own form is refused with the command that converts it.

use std::path::Path;

use p12_keystore::Pkcs12Archive;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::{BadOption, Identity};
use crate::plugins::Secret;

/// What every file in Java's own form begins with.
const JKS: [u8; 4] = [0xFE, 0xED, 0xFE, 0xED];

/// Whether these are the first bytes of a file in Java's own form.
pub fn is_java_store(bytes: &[u8]) -> bool {
    bytes.starts_with(&JKS)
}

/// The key of a file with its certificates.
pub fn identity(option: &'static str, path: &Path, password: &Secret) -> Result<Identity, BadOption> {
    let archive = open(option, path, password)?;
    let key = archive
        .keys
        .first()
        .ok_or_else(|| BadOption::new(option, format!("{} holds no private key", path.display())))?;
    let id = key.local_key_id.as_ref().map(AsRef::<[u8]>::as_ref);
    // The key's own certificate first, whatever the order in the file.
    let (own, others): (Vec<_>, Vec<_>) =
        archive.certs.iter().partition(|bag| id.is_some() && bag.local_key_id.as_deref() == id);
    let chain = own.into_iter().chain(others).map(|bag| CertificateDer::from(bag.cert.as_der().to_vec())).collect();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.key.as_der().to_vec()));
    Identity::checked(chain, private)
        .ok_or_else(|| BadOption::new(option, format!("{} holds no certificate of its key", path.display())))
}

/// The certificates of a file; at least one.
pub fn authorities(
    option: &'static str,
    path: &Path,
    password: &Secret,
) -> Result<Vec<CertificateDer<'static>>, BadOption> {
    let archive = open(option, path, password)?;
    let certificates: Vec<_> =
        archive.certs.iter().map(|bag| CertificateDer::from(bag.cert.as_der().to_vec())).collect();
    if certificates.is_empty() {
        return Err(BadOption::new(option, format!("{} holds no certificate", path.display())));
    }
    Ok(certificates)
}

fn open(option: &'static str, path: &Path, password: &Secret) -> Result<Pkcs12Archive, BadOption> {
    let path_shown = path.display();
    let bytes = std::fs::read(path).map_err(|e| BadOption::new(option, format!("{path_shown} cannot be read: {e}")))?;
    if is_java_store(&bytes) {
        return Err(BadOption::new(option, convert(path)));
    }
    Pkcs12Archive::from_pkcs12(&bytes, password.reveal()).map_err(|e| {
        BadOption::new(option, format!("{path_shown} is no PKCS#12 file that opens with this password: {e}"))
    })
}

/// What to do with a file in Java's own form.
pub fn convert(path: &Path) -> String {
    let path = path.display();
    format!(
        "JKS files cannot be read: convert it with `keytool -importkeystore -srckeystore {path} -destkeystore \
         {path}.p12 -deststoretype pkcs12`"
    )
}
