//! Encryption and login: the `ssl_*`, `sasl_*` and `jaas_*` options.
//!
//! Files are read while the configuration is checked, and librdkafka gets their content as PEM text.

use std::path::{Path, PathBuf};

use rdkafka::ClientConfig;

use super::jaas;
use crate::plugins::tls::{self, BadOption};
use crate::plugins::{Options, Secret};

const OTHER_LOGINS: &str = "there are PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 with `sasl_jaas_config` or `jaas_path`";

/// A file of certificates or keys.
struct Store {
    option: &'static str,
    path: Option<PathBuf>,
    kind: Option<String>,
    password: Option<Secret>,
}

/// In which form a store is.
enum Form {
    Pem,
    Pkcs12,
}

/// Declares and reads the options, and sets their properties. Whether they can be used; if not, that is told.
pub fn read(options: &mut Options<'_>, client: &mut ClientConfig) -> bool {
    let protocol = options
        .word("security_protocol", &["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
        .doc("Whether connections are encrypted (SSL) and log in (SASL).")
        .default("PLAINTEXT".to_owned());
    let trust = Store {
        option: "ssl_truststore_location",
        path: options
            .path("ssl_truststore_location")
            .doc("Whom to trust, PEM or PKCS#12; the system's list without it.")
            .optional(),
        password: options.password("ssl_truststore_password").doc("Its password.").optional(),
        kind: options
            .string("ssl_truststore_type")
            .doc("`PEM` or `PKCS12`; seen from the file unless given.")
            .optional(),
    };
    let own = Store {
        option: "ssl_keystore_location",
        path: options.path("ssl_keystore_location").doc("Who we are: certificates and key, PEM or PKCS#12.").optional(),
        password: options.password("ssl_keystore_password").doc("Its password.").optional(),
        kind: options.string("ssl_keystore_type").doc("`PEM` or `PKCS12`; seen from the file unless given.").optional(),
    };
    let key_password =
        options.password("ssl_key_password").doc("The password of an encrypted key in a PEM file.").optional();
    let identification = options
        .word("ssl_endpoint_identification_algorithm", &["https", ""])
        .doc("Empty: the name in a broker's certificate is not checked.")
        .default("https".to_owned());
    let login = login(options, protocol.starts_with("SASL"), client);
    client.set("security.protocol", &protocol);
    if !protocol.ends_with("SSL") {
        return login;
    }
    client.set("ssl.endpoint.identification.algorithm", if identification.is_empty() { "none" } else { "https" });
    let read = set_trust(&trust, client).and_then(|()| set_identity(&own, key_password.as_ref(), client));
    if let Err(BadOption { option, message }) = &read {
        options.invalid(option, message.clone());
    }
    read.is_ok() && login
}

fn set_trust(store: &Store, client: &mut ClientConfig) -> Result<(), BadOption> {
    let Some(path) = &store.path else {
        client.set("ssl.ca.location", "probe");
        return Ok(());
    };
    let authorities = match store.form(path)? {
        Form::Pem => tls::authorities(store.option, path)?,
        Form::Pkcs12 => tls::stored_authorities(store.option, path, &store.password())?,
    };
    client.set("ssl.ca.pem", tls::certificates_to_pem(&authorities));
    Ok(())
}

fn set_identity(store: &Store, key_password: Option<&Secret>, client: &mut ClientConfig) -> Result<(), BadOption> {
    let Some(path) = &store.path else { return Ok(()) };
    let identity = match store.form(path)? {
        Form::Pkcs12 => tls::stored_identity(store.option, path, &store.password())?,
        Form::Pem => {
            // The options of the other plugins do not exist here.
            let password = key_password.or(store.password.as_ref());
            let rename = |bad: BadOption| BadOption {
                option: store.option,
                message: bad.message.replace("ssl_key_passphrase", "ssl_key_password"),
            };
            tls::identity(path, path, password).map_err(rename)?
        }
    };
    let (certificates, key) = identity.to_pem();
    client.set("ssl.certificate.pem", certificates);
    client.set("ssl.key.pem", key.reveal());
    Ok(())
}

impl Store {
    fn password(&self) -> Secret {
        self.password.clone().unwrap_or_else(|| Secret::new(""))
    }

    /// Java's default for the type is its own form, whatever the file is: what the file is counts.
    fn form(&self, path: &Path) -> Result<Form, BadOption> {
        let bad = |message| BadOption { option: self.option, message };
        let bytes = std::fs::read(path).map_err(|error| bad(format!("{} cannot be read: {error}", path.display())))?;
        let is_pem = bytes.trim_ascii_start().starts_with(b"-----BEGIN")
            || bytes.windows(11).any(|part| part == b"\n-----BEGIN");
        match self.kind.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some("pem") => Ok(Form::Pem),
            Some("pkcs12") => Ok(Form::Pkcs12),
            Some("jks") if tls::is_java_store(&bytes) => Ok(Form::Pkcs12),
            None | Some("jks") => Ok(if is_pem { Form::Pem } else { Form::Pkcs12 }),
            Some(other) => Err(bad(format!("a store of type `{other}` cannot be read: there are PEM and PKCS12"))),
        }
    }
}

fn login(options: &mut Options<'_>, is_on: bool, client: &mut ClientConfig) -> bool {
    let mechanism =
        options.string("sasl_mechanism").doc("PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.").default("GSSAPI".to_owned());
    let text = options.password("sasl_jaas_config").doc("User and password, as Java takes them.").optional();
    let path = options.path("jaas_path").doc("A file with a section `KafkaClient` that gives them.").optional();
    for gone in [
        "sasl_kerberos_service_name",
        "kerberos_config",
        "sasl_client_callback_handler_class",
        "sasl_oauthbearer_token_endpoint_url",
        "sasl_oauthbearer_scope_claim_name",
        "sasl_login_callback_handler_class",
        "sasl_login_connect_timeout_ms",
        "sasl_login_read_timeout_ms",
        "sasl_login_retry_backoff_ms",
        "sasl_login_retry_backoff_max_ms",
    ] {
        options.unsupported(gone, OTHER_LOGINS);
    }
    if !is_on {
        return true;
    }
    if !["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"].contains(&mechanism.as_str()) {
        options.invalid("sasl_mechanism", format!("the SASL mechanism {mechanism} is not supported: {OTHER_LOGINS}"));
        return false;
    }
    let (option, text) = match (text, path) {
        (Some(text), _) => ("sasl_jaas_config", Ok(text.reveal().to_owned())),
        (None, Some(path)) => ("jaas_path", std::fs::read_to_string(&path).map_err(|error| error.to_string())),
        (None, None) => {
            options.invalid("security_protocol", "SASL needs user and password in `sasl_jaas_config` or `jaas_path`");
            return false;
        }
    };
    match text.and_then(|text| jaas::login(&text)) {
        Ok(login) => {
            client
                .set("sasl.mechanism", mechanism)
                .set("sasl.username", login.user)
                .set("sasl.password", login.password.reveal());
            true
        }
        Err(why) => {
            options.invalid(option, format!("the text of `{option}` cannot be used: {why}"));
            false
        }
    }
}
