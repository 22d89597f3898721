//! Options on the servers: where they are, and who we are to them.

use reqwest::header::HeaderValue;

use super::cloud;
use super::credentials;
use super::endpoint::{Endpoint, Paths};
use super::hosts::{self, Address, Explicit, HostUrl};
use crate::plugins::{Options, Secret};

/// The servers of the options.
pub struct Servers {
    /// One per host.
    pub endpoints: Vec<Endpoint>,
    /// All of them speak TLS.
    pub secure: bool,
    /// What servers that are found later take over.
    pub first: Likeness,
}

/// What a server has in common with the others of its cluster.
pub struct Likeness {
    /// Scheme, prefix and query.
    pub address: Address,
    /// The path options.
    pub paths: Paths,
    /// The `Authorization` header.
    pub authorization: Option<HeaderValue>,
}

/// Who we are, as far as options of their own say.
#[derive(Default)]
pub struct Login {
    /// `user`
    pub user: Option<String>,
    /// `password`
    pub password: Option<Secret>,
    /// `api_key`
    pub api_key: Option<Secret>,
}

/// What a plugin says of its servers.
pub struct Given {
    /// As in `hosts`, or made of `cloud_id`.
    pub hosts: Vec<String>,
    /// Who we are.
    pub login: Login,
    /// The `path` option.
    pub path: Option<String>,
    /// Paths of single requests.
    pub paths: Paths,
    /// The option that switches TLS, and its value.
    pub ssl: (&'static str, Option<bool>),
    /// Whether the servers must be alike, because more of them are going to be found.
    pub alike: bool,
}

/// The options on servers and login of all plugins of Elastic, as they were given.
pub struct Declared {
    hosts: Vec<String>,
    cloud_id: Option<String>,
    cloud_auth: Option<Secret>,
    login: Login,
}

/// Declares those. `default` is the server of a configuration that names none.
pub fn declare(options: &mut Options<'_>, default: &str) -> Declared {
    let hosts = hosts(options, default);
    let cloud_id = options
        .string("cloud_id")
        .doc("Deployment in Elastic's cloud, as its console shows it; instead of `hosts`.")
        .optional();
    let user = options.string("user").doc("User name; used together with `password`.").optional();
    let password = options.password("password").doc("Password; used together with `user`.").optional();
    let cloud_auth = options.password("cloud_auth").doc("User and password in one: <username>:<password>.").optional();
    let api_key = options.password("api_key").doc("API key: id:api_key, or encoded. Needs TLS.").optional();
    Declared { hosts, cloud_id, cloud_auth, login: Login { user, password, api_key } }
}

impl Declared {
    /// Hosts and login, if they fit together.
    pub fn settle(self, options: &mut Options<'_>) -> Option<(Vec<String>, Login)> {
        let Self { hosts, cloud_id, cloud_auth, login: Login { user, password, api_key } } = self;
        let ways = [cloud_auth.is_some(), api_key.is_some(), user.is_some() || password.is_some()];
        if ways.iter().filter(|way| **way).count() > 1 {
            let given = if api_key.is_some() { "api_key" } else { "cloud_auth" };
            options.invalid(
                given,
                "Multiple authentication options are specified: give only one of `user` and \
                 `password`, `cloud_auth`, `api_key`",
            );
            return None;
        }
        let login = match cloud_auth.map(|value| credentials::cloud_auth(&value)) {
            None => Login { user: user.filter(|_| password.is_some()), password, api_key },
            Some(Ok((user, password))) => Login { user: Some(user), password: Some(password), api_key },
            Some(Err(message)) => {
                options.invalid("cloud_auth", message);
                return None;
            }
        };
        match cloud_id {
            None => Some((hosts, login)),
            Some(_) if options.is_set("hosts") => {
                options.invalid("cloud_id", "Both cloud_id and hosts specified, please only use one of those");
                None
            }
            Some(cloud_id) => {
                let url = cloud::url(&cloud_id).map_err(|message| options.invalid("cloud_id", message)).ok()?;
                Some((vec![url], login))
            }
        }
    }
}

/// `hosts`
pub fn hosts(options: &mut Options<'_>, default: &str) -> Vec<String> {
    options
        .strings("hosts")
        .doc("The servers: host, host:port, or URL with user, password, path and query. The port is 9200 unless given, also with https.")
        .default(vec![default.to_owned()])
}

/// Puts the addresses of all servers together. `None` when one that everything else needs is wrong, which is reported.
pub fn resolve(options: &mut Options<'_>, given: Given) -> Option<Servers> {
    let Given { hosts, login, path, paths, ssl: (ssl_option, ssl), alike } = given;
    let urls = urls(options, &hosts)?;
    let explicit = Explicit { ssl, user: login.user, password: login.password, path, sniffing: alike };
    let addresses = hosts::resolve(&urls, &explicit).map_err(|message| options.invalid("hosts", message)).ok()?;
    let secure = addresses.iter().all(|a| a.origin.starts_with("https:"));
    if ssl == Some(false) && secure {
        options.warn(
            ssl_option,
            "contradiction",
            format!("a host says https: TLS is used although `{ssl_option}` is false"),
        );
    }
    let key = login.api_key.and_then(|key| {
        if !secure {
            options.invalid("api_key", "Using api_key requires SSL/TLS: give https hosts, or `ssl_enabled => true`");
        }
        credentials::api_key(&key).map_err(|message| options.invalid("api_key", message)).ok()
    });
    let authorization = |address: &Address| {
        let login = || address.login.as_ref().and_then(|(user, password)| credentials::basic(user, password));
        key.clone().or_else(login)
    };
    let endpoint = |address| Endpoint::new(address, &paths, authorization(address));
    let endpoints: Result<Vec<_>, _> = addresses.iter().map(endpoint).collect();
    let endpoints = endpoints.map_err(|message| options.invalid("hosts", message)).ok()?;
    let address = addresses.first()?.clone();
    let first = Likeness { authorization: authorization(&address), address, paths };
    Some(Servers { endpoints, secure, first })
}

/// The hosts one by one. `None` when one of them is wrong.
fn urls(options: &mut Options<'_>, texts: &[String]) -> Option<Vec<HostUrl>> {
    let parsed: Vec<_> = texts.iter().flat_map(|text| text.split_whitespace()).map(HostUrl::parse).collect();
    for wrong in parsed.iter().filter_map(|url| url.as_ref().err()) {
        options.invalid("hosts", wrong.as_str());
    }
    parsed.into_iter().collect::<Result<_, _>>().ok()
}
