//! `hosts`: every way to name a server, and how they complete each other.
//!
//! What one host leaves out (port, user, path) is taken from the first one; what an option of its own also says must
//! agree with the first host. The result is one [`Address`] per host, with nothing left open.

use crate::plugins::Secret;

/// The port of a host that names none, also with https.
const DEFAULT_PORT: u16 = 9200;

/// A host as it is written in the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostUrl {
    /// `None` when no scheme is given.
    pub https: Option<bool>,
    user: Option<String>,
    password: Option<Secret>,
    host: String,
    port: Option<u16>,
    /// Without the last slash; `None` for no path or `/`.
    path: Option<String>,
    query: Option<String>,
}

/// What options of their own say besides `hosts`.
#[derive(Default)]
pub struct Explicit {
    /// `ssl_enabled`.
    pub ssl: Option<bool>,
    /// `user`.
    pub user: Option<String>,
    /// `password`.
    pub password: Option<Secret>,
    /// `path`.
    pub path: Option<String>,
    /// `sniffing`: servers that are found get what all of `hosts` have in common.
    pub sniffing: bool,
}

/// Where one server is and who we are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// `https://es.example.org:9200`
    pub origin: String,
    /// Put before every path: empty, or `/es`.
    pub prefix: String,
    /// Query of the URL, sent with every request.
    pub query: Option<String>,
    /// User and password, when both are known.
    pub login: Option<(String, Secret)>,
}

impl Address {
    /// The same on another server of the cluster: `host:port`.
    pub fn on(&self, place: &str) -> Self {
        let scheme = self.origin.split_once("://").map_or("http", |(scheme, _)| scheme);
        Self { origin: format!("{scheme}://{place}"), ..self.clone() }
    }
}

impl HostUrl {
    /// Reads one host: `h`, `h:p`, `[::1]:p`, `http(s)://[user:pass@]h[:p][/path][?query]`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (https, rest) = match text.split_once("//") {
            Some(("http:", rest)) => (Some(false), rest),
            Some(("https:", rest)) => (Some(true), rest),
            Some(("", rest)) => (None, rest),
            Some((scheme, _)) if scheme.ends_with(':') && !scheme.contains('/') => {
                return Err(format!("a host starts with http:// or https://, not with {scheme}//"));
            }
            _ => (None, text),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let (login, place) = authority.rsplit_once('@').map_or((None, authority), |(l, p)| (Some(l), p));
        let tail = tail.split_once('#').map_or(tail, |(before, _)| before);
        let (path, query) = tail.split_once('?').map_or((tail, None), |(p, q)| (p, Some(q)));
        let (host, port) = host_and_port(place)?;
        let (user, password) = match login.map(|l| l.split_once(':').map_or((l, None), |(u, p)| (u, Some(p)))) {
            Some((user, password)) => (Some(percent_decoded(user)), password.map(percent_decoded)),
            None => (None, None),
        };
        Ok(Self {
            https,
            user: user.filter(|u| !u.is_empty()),
            password: password.filter(|p| !p.is_empty()).map(Secret::new),
            host,
            port,
            path: Some(clean_path(path)).filter(|p| !p.is_empty()),
            query: query.filter(|q| !q.is_empty()).map(str::to_owned),
        })
    }
}

fn host_and_port(place: &str) -> Result<(String, Option<u16>), String> {
    let bracketed = place.starts_with('[').then(|| place.find(']')).flatten();
    let (host, after) = match bracketed {
        Some(end) => place.split_at(end + 1),
        None => place.split_at(place.find(':').unwrap_or(place.len())),
    };
    let inside = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let legal = match inside {
        Some(ip) => ip.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-')),
    };
    if !legal {
        return Err(format!(
            "URI is not valid - host is not specified: `{place}` has no host name made of letters, digits, dots and \
             hyphens (an underscore is not allowed)"
        ));
    }
    let port = match after.strip_prefix(':') {
        None if after.is_empty() => None,
        Some("") => None,
        Some(port) => Some(port.parse().map_err(|_| format!("`{port}` in `{place}` is not a port"))?),
        None => return Err(format!("`{place}` is not a host and a port")),
    };
    Ok((host.to_owned(), port))
}

/// One slash at the start, none at the end, none doubled; empty for the root.
pub fn clean_path(path: &str) -> String {
    path.split('/').filter(|step| !step.is_empty()).flat_map(|step| ["/", step]).collect()
}

/// A text of a URL without its percent signs.
pub fn percent_decoded(text: &str) -> String {
    let hex = |b: Option<&u8>| b.and_then(|b| char::from(*b).to_digit(16));
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Completes the hosts with each other and with the options of their own.
pub fn resolve(hosts: &[HostUrl], explicit: &Explicit) -> Result<Vec<Address>, String> {
    let Some(first) = hosts.first() else { return Err("`hosts` needs at least one host".to_owned()) };
    let https = hosts.iter().any(|h| h.https == Some(true)) || explicit.ssl == Some(true);
    if https && first.https == Some(false) {
        return Err("Explicit value for 'scheme' was declared: https is asked for by another host or by \
                    `ssl_enabled`, but the first host says http"
            .to_owned());
    }
    let agree = |option: &str, explicit: Option<&str>, host: Option<&str>| match (explicit, host) {
        (Some(a), Some(b)) if a != b => Err(format!(
            "Explicit value for '{option}' was declared, and the first of `hosts` says something else: leave it out \
             in one of the two places"
        )),
        _ => Ok(()),
    };
    if explicit.sniffing {
        in_common(hosts)?;
    }
    let path = explicit.path.as_deref().map(clean_path).filter(|p| !p.is_empty());
    agree("user", explicit.user.as_deref(), first.user.as_deref())?;
    agree("password", explicit.password.as_ref().map(Secret::reveal), first.password.as_ref().map(Secret::reveal))?;
    agree("path", path.as_deref(), first.path.as_deref())?;
    let scheme = if https { "https" } else { "http" };
    let addresses = hosts.iter().map(|host| {
        let user = host.user.as_ref().or(explicit.user.as_ref()).or(first.user.as_ref());
        let password = host.password.as_ref().or(explicit.password.as_ref()).or(first.password.as_ref());
        let port = host.port.or(first.port).unwrap_or(DEFAULT_PORT);
        let prefix = host.path.as_ref().or(path.as_ref()).or(first.path.as_ref());
        Address {
            origin: format!("{scheme}://{}:{port}", host.host),
            prefix: prefix.cloned().unwrap_or_default(),
            query: host.query.clone(),
            login: user.cloned().zip(password.cloned()),
        }
    });
    Ok(addresses.collect())
}

/// What servers that are found have to share must be the same for all that are given.
fn in_common(hosts: &[HostUrl]) -> Result<(), String> {
    let Some(first) = hosts.first() else { return Ok(()) };
    let differing = [
        ("scheme", hosts.iter().any(|host| host.https != first.https)),
        ("port", hosts.iter().any(|host| host.port != first.port)),
        ("user", hosts.iter().any(|host| host.user != first.user)),
        ("password", hosts.iter().any(|host| host.password != first.password)),
        ("path", hosts.iter().any(|host| host.path != first.path)),
    ];
    match differing.iter().find(|(_, differs)| *differs) {
        Some((what, _)) => Err(format!(
            "Cannot have multiple values for {what} in `hosts` when `sniffing` is on: servers that are found would not \
             know which one is theirs"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origins(hosts: &[&str]) -> Result<Vec<String>, String> {
        let hosts = hosts.iter().map(|h| HostUrl::parse(h)).collect::<Result<Vec<_>, _>>()?;
        Ok(resolve(&hosts, &Explicit::default())?.into_iter().map(|a| format!("{}{}", a.origin, a.prefix)).collect())
    }

    #[test]
    fn forms_of_a_host() {
        for (text, url) in [
            ("h", "http://h:9200"),
            ("h:1", "http://h:1"),
            ("//127.0.0.1", "http://127.0.0.1:9200"),
            ("[::1]:9201", "http://[::1]:9201"),
            ("https://h", "https://h:9200"),
            ("https://u:p@h:443/es/?q=1", "https://h:443/es"),
        ] {
            assert_eq!(origins(&[text]), Ok(vec![url.to_owned()]), "{text}");
        }
        for text in ["http://my_es:9200", "", "http://:9200", "ftp://h", "h:port", "[::x]"] {
            assert!(HostUrl::parse(text).is_err(), "{text}");
        }
        assert!(HostUrl::parse("http://my_es:9200").is_err_and(|e| e.contains("host is not specified")));
    }

    #[test]
    fn hosts_take_what_they_leave_out_from_the_first() {
        assert_eq!(origins(&["a:9201", "b"]).unwrap(), ["http://a:9201", "http://b:9201"]);
        assert_eq!(origins(&["b", "a:9201"]).unwrap(), ["http://b:9200", "http://a:9201"]);
        assert_eq!(origins(&["https://a", "http://b"]).unwrap(), ["https://a:9200", "https://b:9200"]);
        assert!(origins(&["http://a", "https://b"]).is_err_and(|e| e.contains("Explicit value")));
    }

    #[test]
    fn what_sniffed_servers_take_over_must_be_one() {
        let explicit = Explicit { sniffing: true, ..Explicit::default() };
        for (hosts, what) in [
            (["http://a", "b"], Some("scheme")),
            (["a:1", "b:2"], Some("port")),
            (["http://u:p@a", "http://v:p@b"], Some("user")),
            (["http://a/es", "http://b"], Some("path")),
            (["a:1", "b:1"], None),
        ] {
            let parsed = hosts.map(|h| HostUrl::parse(h).unwrap());
            match (resolve(&parsed, &explicit), what) {
                (Ok(_), None) => {}
                (Err(error), Some(what)) => assert!(error.contains(&format!("values for {what}")), "{error}"),
                (other, _) => panic!("{hosts:?}: {other:?}"),
            }
            assert!(resolve(&parsed, &Explicit::default()).is_ok() || what == Some("user"));
        }
    }

    #[test]
    fn login_is_decoded_and_shared() {
        let hosts = [HostUrl::parse("http://u:p%40%3A%25@a").unwrap(), HostUrl::parse("b").unwrap()];
        let all = resolve(&hosts, &Explicit::default()).unwrap();
        for address in all {
            let (user, password) = address.login.unwrap();
            assert_eq!((user.as_str(), password.reveal()), ("u", "p@:%"));
        }
        let explicit = Explicit { user: Some("other".to_owned()), ..Explicit::default() };
        assert!(resolve(&hosts, &explicit).is_err_and(|e| e.contains("'user'")));
    }
}
