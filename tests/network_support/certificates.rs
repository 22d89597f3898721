//! Certificates made for one test: an authority, a server for localhost, and a client.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// Files in a folder of their own.
pub struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    /// Makes them all.
    pub fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = Self { folder };
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.distinguished_name.push(DnType::CommonName, "authority");
        let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        made.write("authority.crt", &issuer.pem());
        for (name, usage) in
            [("server", ExtendedKeyUsagePurpose::ServerAuth), ("client", ExtendedKeyUsagePurpose::ClientAuth)]
        {
            let mut params = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
            params.distinguished_name.push(DnType::CommonName, format!("the {name}"));
            params.distinguished_name.push(DnType::OrganizationName, "Tests");
            params.extended_key_usages.push(usage);
            let key = KeyPair::generate().unwrap();
            let certificate = params.signed_by(&key, &issuer).unwrap();
            made.write(&format!("{name}.crt"), &certificate.pem());
            made.write(&format!("{name}.key"), &key.serialize_pem());
            made.keystore(name, certificate.der(), &key.serialize_der());
        }
        made
    }

    /// The path of a file, as it stands in a configuration.
    pub fn path(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new(self.folder.path()).join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    /// A PKCS#12 file with the password `secret`.
    fn keystore(&self, name: &str, certificate: &[u8], key: &[u8]) {
        let certificate = p12_keystore::Certificate::from_der(certificate).unwrap();
        let key = p12_keystore::PrivateKey::from_der(key).unwrap();
        let chain = p12_keystore::PrivateKeyChain::new("1", key, [certificate]);
        let mut store = p12_keystore::KeyStore::new();
        store.add_entry(name, p12_keystore::KeyStoreEntry::PrivateKeyChain(chain));
        std::fs::write(self.file(&format!("{name}.p12")), store.writer("secret").write().unwrap()).unwrap();
    }

    fn chain(&self, name: &str) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from_pem_file(self.file(&format!("{name}.crt"))).unwrap()]
    }

    fn key(&self, name: &str) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_file(self.file(&format!("{name}.key"))).unwrap()
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.chain("authority").remove(0)).unwrap();
        Arc::new(roots)
    }

    /// One who trusts the authority, and may show the client's certificate.
    pub fn client(&self, shows: bool) -> Arc<ClientConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(self.roots());
        Arc::new(if shows {
            config.with_client_auth_cert(self.chain("client"), self.key("client")).unwrap()
        } else {
            config.with_no_client_auth()
        })
    }

    /// A server with the server's certificate.
    pub fn server(&self) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth();
        Arc::new(config.with_single_cert(self.chain("server"), self.key("server")).unwrap())
    }
}
