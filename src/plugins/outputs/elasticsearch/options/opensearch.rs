//! The options of `opensearch`, as its plugin for Logstash has them.

use std::path::PathBuf;
use std::sync::Arc;

use super::super::actions::Actions;
use super::super::cluster::Care;
use super::super::flavor::Flavor;
use super::super::setup::Setup;
use super::super::startup::Expected;
use super::super::target::Target;
use super::servers::{self, Servers};
use super::{Settings, connections, default_target, documents, management, rules};
use crate::event::Value;
use crate::plugins::elasticsearch::servers::{Given, Login, hosts};
use crate::plugins::server_tls::{self, Store, Tls};
use crate::plugins::{Ecs, Options, Secret};

/// `target_bulk_bytes` unless given.
const TARGET_BYTES: i64 = 9 * 1024 * 1024;

/// Reads them. `None` when one that everything else needs is wrong; every mistake is reported.
pub(in super::super) fn read(options: &mut Options<'_>) -> Option<Settings> {
    let flavor = Flavor::OpenSearch;
    options.idle_codec("events are sent as JSON");
    let servers = servers(options);
    let http = connections::common(options, flavor);
    let tls = tls(options, servers.as_ref().is_some_and(|servers| servers.secure));
    let ecs = Ecs::read(options);
    let documents = documents::read(options, flavor);
    let index = documents::index(options);
    let manage = options.boolean("manage_template").doc("Whether an index template is installed.").default(true);
    let template = management::template(options, ecs, manage, management::opensearch_api);
    let default_major = options
        .integer("default_server_major_version")
        .doc("Major version of a server that does not tell its own.")
        .optional()
        .and_then(|major| u32::try_from(major).ok());
    let rules = rules::opensearch(options);
    let compression = connections::opensearch_compression(options);
    let bytes = options
        .integer("target_bulk_bytes")
        .doc("A request is cut before the document that would make it larger than this many bytes.")
        .default(TARGET_BYTES);
    let target_bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes > 0);
    if target_bytes.is_none() {
        options.invalid("target_bulk_bytes", "`target_bulk_bytes` is a number of bytes, more than 0");
    }
    let (resurrect_delay, retry) = connections::rhythm(options);

    // Without a queue for them, names stay as they are.
    let checks = rules.dead_letters;
    let target = Arc::new(match index.template {
        Some(index) => Target::named(index, checks),
        None if index.is_set => return None,
        None => default_target(ecs, checks),
    });
    let parts = documents.parts(options, target.clone(), false);
    let Servers { endpoints, sniffing, .. } = servers?;
    let setup = Setup { flavor, template, lifecycle: None, target };
    let mut http = http?;
    http.tls = tls;
    Some(Settings {
        flavor,
        endpoints,
        http,
        actions: Actions::new(parts?),
        rules,
        compression,
        target_bytes: target_bytes?,
        retry,
        care: Care { expected: Expected { flavor, default_major }, setup, sniffing, resurrect_delay, retry },
        notes: Vec::new(),
    })
}

/// What this plugin calls an option of TLS.
pub(in super::super) fn name(option: &'static str) -> &'static str {
    match option {
        "ssl_certificate_authorities" => "cacert",
        "ssl_truststore_path" => "truststore",
        "ssl_keystore_path" => "keystore",
        "ssl_certificate" => "tls_certificate",
        "ssl_key" => "tls_key",
        other => other,
    }
}

fn servers(options: &mut Options<'_>) -> Option<Servers> {
    let hosts = hosts(options, servers::DEFAULT_HOST);
    let user = options.string("user").doc("User name; used together with `password`.").optional();
    let password = options.password("password").doc("Password; used together with `user`.").optional();
    let auth_type = options
        .hash("auth_type")
        .doc("Who we are: { type => basic user => … password => … }. The type aws_iam is not supported yet.")
        .optional();
    let path = servers::path(options);
    let paths = servers::paths(options, true);
    let sniffing = servers::sniffing(options);
    let ssl = options.boolean("ssl").doc("Use TLS. Unset: when a host says https.").optional();
    let login = match auth_type {
        Some(auth) => login(options, &auth)?,
        None => Login { user: user.filter(|_| password.is_some()), password, api_key: None },
    };
    let alike = sniffing.is_some();
    servers::resolve(options, Given { hosts, login, path, paths, ssl: ("ssl", ssl), alike }, sniffing)
}

/// `auth_type`
fn login(options: &mut Options<'_>, auth: &[(String, Value)]) -> Option<Login> {
    let part = |name: &str| auth.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.as_str());
    for secret in ["password", "aws_secret_access_key", "session_token"].into_iter().filter_map(part) {
        options.hide("auth_type", secret);
    }
    match (part("type"), part("user"), part("password")) {
        (Some("basic"), Some(user), Some(password)) => {
            let password = Some(Secret::new(password));
            return Some(Login { user: Some(user.to_owned()), password, api_key: None });
        }
        (Some("basic"), _, _) => options.invalid("auth_type", "`auth_type` of type basic needs `user` and `password`"),
        (Some("aws_iam"), _, _) => options.invalid(
            "auth_type",
            "`auth_type` of type aws_iam is not supported yet: requests are not signed. Use basic, or a proxy that signs them",
        ),
        _ => options.invalid("auth_type", "`auth_type` needs a `type`: basic"),
    }
    None
}

/// TLS under the names that this plugin kept. Without TLS they are not looked at.
fn tls(options: &mut Options<'_>, secure: bool) -> Option<Tls> {
    let authorities =
        options.path("cacert").doc("PEM file with the certificates that servers are checked against.").optional();
    let verified =
        options.boolean("ssl_certificate_verification").doc("false checks nothing about the server.").default(true);
    let certificate = options.path("tls_certificate").doc("PEM file with our own certificate.").optional();
    let key = options.path("tls_key").doc("PEM file with its unencrypted key (PKCS#8).").optional();
    let truststore = store(options, "truststore", "truststore_password");
    let keystore = store(options, "keystore", "keystore_password");
    if !secure {
        return None;
    }
    if !verified {
        server_tls::warn_of_unverified(options, "ssl_certificate_verification");
    }
    only_one(options, ("cacert", authorities.is_some()), ("truststore", truststore.is_some()));
    only_one(options, ("tls_certificate", certificate.is_some()), ("keystore", keystore.is_some()));
    let identity = server_tls::pair(options, ("tls_certificate", certificate), ("tls_key", key));
    Some(Tls { authorities, truststore, unverified: !verified, identity, keystore, ..Tls::default() })
}

fn store(options: &mut Options<'_>, name: &'static str, password_name: &'static str) -> Option<Store> {
    let path: Option<PathBuf> = options.path(name).doc("The same in a PKCS#12 file.").optional();
    let password = options.password(password_name).doc("Opens that file.").optional();
    path.map(|path| (path, password.unwrap_or_default()))
}

fn only_one(options: &mut Options<'_>, first: (&str, bool), second: (&str, bool)) {
    if first.1 && second.1 {
        options.invalid(second.0, format!("Use either \"{}\" or \"{}\"", first.0, second.0));
    }
}
