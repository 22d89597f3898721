//! Versions and cipher suites by the names that Java has for them.

use rustls::crypto::ring;
use rustls::{SupportedCipherSuite, SupportedProtocolVersion};

/// The version of that name.
pub(super) fn version(name: &str) -> Result<&'static SupportedProtocolVersion, String> {
    match name {
        "TLSv1.2" => Ok(&rustls::version::TLS12),
        "TLSv1.3" => Ok(&rustls::version::TLS13),
        "TLSv1.1" => Err("TLSv1.1 is broken and not supported: use TLSv1.2".to_owned()),
        other => Err(format!("expected TLSv1.2 or TLSv1.3, got `{other}`")),
    }
}

/// The suite of that name.
pub(super) fn suite(wanted: &str) -> Result<SupportedCipherSuite, String> {
    let known = || ring::ALL_CIPHER_SUITES.iter().copied();
    known().find(|suite| name(suite) == wanted).ok_or_else(|| {
        let names: Vec<String> = known().map(|suite| name(&suite)).collect();
        format!("the cipher suite `{wanted}` is not built in; these are: {}", names.join(", "))
    })
}

fn name(suite: &SupportedCipherSuite) -> String {
    format!("{:?}", suite.suite()).replace("TLS13_", "TLS_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_java() {
        assert!(suite("TLS_AES_128_GCM_SHA256").is_ok());
        assert!(suite("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384").is_ok());
        let error = suite("TLS_RSA_WITH_AES_128_CBC_SHA").unwrap_err();
        assert!(error.contains("TLS_CHACHA20_POLY1305_SHA256"), "{error}");
        assert!(version("TLSv1.3").is_ok() && version("TLSv1.1").is_err() && version("SSLv3").is_err());
    }
}
