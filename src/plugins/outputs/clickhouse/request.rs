//! The addresses of requests: statement, database and settings, encoded; nothing secret is ever in them.

use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::Url;

use super::table::Table;

/// Settings of our own that servers before them do not know, and may do without.
const LATE_SETTINGS: [&str; 4] = [
    "input_format_null_as_default",
    "input_format_defaults_for_omitted_fields",
    "insert_deduplication_token",
    "date_time_input_format",
];
const TOKEN: &str = "insert_deduplication_token";

/// What all requests of an output have in common.
pub(super) struct Requests {
    /// The option `database`.
    pub database: String,
    /// Our own settings and the user's, in the order in which they are sent.
    settings: Vec<(String, String)>,
    /// Which of [`LATE_SETTINGS`] the server does not know.
    unknown: [AtomicBool; LATE_SETTINGS.len()],
    /// Names that the user gave.
    given: Vec<String>,
}

impl Requests {
    /// `own` settings are left out where the user `given` says something else.
    pub fn new(database: String, own: Vec<(&str, &str)>, given: Vec<(String, String)>) -> Self {
        let names: Vec<String> = given.iter().map(|(name, _)| name.clone()).collect();
        let own = own.into_iter().filter(|(name, _)| !names.iter().any(|given| given == name));
        let mut settings: Vec<_> = own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        settings.extend(given);
        Self { database, settings, unknown: Default::default(), given: names }
    }

    /// Where an insert goes.
    pub fn insert(&self, base: &Url, table: &Table, token: &str, query_id: &str) -> Url {
        let statement = format!("INSERT INTO {} FORMAT JSONEachRow", table.quoted);
        let mut query = self.query(&statement);
        if !self.is_unknown(TOKEN) {
            pair(TOKEN, token, &mut query);
        }
        pair("query_id", query_id, &mut query);
        with_query(base, "", &query)
    }

    /// Where a question goes; `with_settings` has the settings of inserts checked.
    pub fn question(&self, base: &Url, sql: &str, with_settings: bool) -> Url {
        if with_settings {
            let mut query = self.query(sql);
            if !self.is_unknown(TOKEN) {
                pair(TOKEN, "", &mut query);
            }
            return with_query(base, "", &query);
        }
        let mut query = String::new();
        pair("query", sql, &mut query);
        with_query(base, "", &query)
    }

    fn query(&self, statement: &str) -> String {
        let mut query = String::new();
        pair("database", &self.database, &mut query);
        pair("query", statement, &mut query);
        for (name, value) in self.settings.iter().filter(|(name, _)| !self.is_unknown(name)) {
            pair(name, value, &mut query);
        }
        query
    }

    /// Leaves out the setting that a server says it does not know, when that is one of ours. Its name.
    pub fn forget_setting(&self, message: &str) -> Option<&'static str> {
        let names = || message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for (name, unknown) in LATE_SETTINGS.iter().zip(&self.unknown) {
            if names().any(|word| word == *name) && !self.given.iter().any(|given| given == name) {
                unknown.store(true, Ordering::Relaxed);
                return Some(name);
            }
        }
        None
    }

    fn is_unknown(&self, name: &str) -> bool {
        let place = LATE_SETTINGS.iter().position(|late| *late == name);
        place.and_then(|at| self.unknown.get(at)).is_some_and(|unknown| unknown.load(Ordering::Relaxed))
    }
}

/// The address of the health check.
pub(super) fn ping(base: &Url) -> Url {
    with_query(base, "ping", "")
}

/// A question for the nodes of a cluster.
pub(super) fn nodes_of(cluster: &str) -> String {
    let name = cluster.replace('\\', "\\\\").replace('\'', "\\'");
    format!(
        "SELECT host_name, host_address, shard_num, replica_num FROM system.clusters WHERE cluster = '{name}' FORMAT \
         JSONEachRow"
    )
}

fn with_query(base: &Url, path: &str, query: &str) -> Url {
    let mut url = base.clone();
    if !path.is_empty() {
        url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    }
    url.set_query(Some(query).filter(|query| !query.is_empty()));
    url
}

fn pair(name: &str, value: &str, query: &mut String) {
    if !query.is_empty() {
        query.push('&');
    }
    encode(name, query);
    query.push('=');
    encode(value, query);
}

/// All but letters, digits and `*-._` as `%XX`.
fn encode(text: &str, out: &mut String) {
    for piece in url::form_urlencoded::byte_serialize(text.as_bytes()) {
        // The plus of a form is a blank, and nothing else comes as a plus.
        out.push_str(if piece == "+" { "%20" } else { piece });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Text;

    fn requests() -> Requests {
        let own = vec![("input_format_null_as_default", "1"), ("wait_end_of_query", "1")];
        let given = vec![("wait_end_of_query".to_owned(), "0".to_owned()), ("x".to_owned(), "a&b".to_owned())];
        Requests::new("d b".to_owned(), own, given)
    }

    fn base() -> Url {
        Url::parse("http://h:8123/").unwrap()
    }

    #[test]
    fn an_insert() {
        let table = Table::new(Text::from("o.t`x"), "d");
        let url = requests().insert(&base(), &table, "tok", "q1");
        assert_eq!(
            url.as_str(),
            "http://h:8123/?database=d%20b&query=INSERT%20INTO%20%60o%60.%60t%5C%60x%60%20FORMAT%20JSONEachRow\
             &input_format_null_as_default=1&wait_end_of_query=0&x=a%26b&insert_deduplication_token=tok&query_id=q1"
        );
    }

    #[test]
    fn a_setting_that_an_old_server_does_not_know_is_left_out() {
        let requests = requests();
        let forget = |text| requests.forget_setting(text);
        assert_eq!(forget("Unknown setting x"), None);
        assert_eq!(forget("Unknown setting insert_deduplication_tokens"), None);
        assert_eq!(forget("Unknown setting insert_deduplication_token, e.what()"), Some(TOKEN));
        assert_eq!(forget("Unknown setting 'input_format_null_as_default'"), Some("input_format_null_as_default"));
        let url = requests.insert(&base(), &Table::new(Text::from("t"), "d"), "tok", "q");
        assert!(!url.as_str().contains("tok") && !url.as_str().contains("null_as_default"), "{url}");
    }

    #[test]
    fn a_prefix_stays_in_front() {
        let base = Url::parse("https://h:8443/ch/").unwrap();
        assert_eq!(ping(&base).as_str(), "https://h:8443/ch/ping");
        let url = requests().question(&base, "SELECT 1", false);
        assert_eq!(url.as_str(), "https://h:8443/ch/?query=SELECT%201");
    }

    #[test]
    fn the_name_of_a_cluster_is_a_text() {
        assert!(nodes_of("a'b\\").contains("cluster = 'a\\'b\\\\' "));
    }
}
