//! Options of `elasticsearch` that are long gone: refused with what replaced them.

use crate::plugins::Options;

/// Declares and refuses them.
pub(super) fn refuse(options: &mut Options<'_>) {
    for (name, instead) in [
        ("ssl", "Set `ssl_enabled` instead."),
        ("ssl_certificate_verification", "Set `ssl_verification_mode` instead."),
        ("cacert", "Set `ssl_certificate_authorities` instead."),
        ("truststore", "Set `ssl_truststore_path` instead."),
        ("keystore", "Set `ssl_keystore_path` instead."),
        ("truststore_password", "Set `ssl_truststore_password` instead."),
        ("keystore_password", "Set `ssl_keystore_password` instead."),
    ] {
        options.obsolete(name, instead);
    }
}
