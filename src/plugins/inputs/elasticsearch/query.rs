//! The question: a query as it was written, with what changes from run to run filled in.

use serde_json::Value as Json;

use crate::event::Timestamp;

/// Replaced by the value of the last document of an earlier run.
const LAST_VALUE: &str = ":last_value";
/// Replaced by the present time less [`SETTLING_SECONDS`].
const PRESENT: &str = ":present";
/// Documents are not to be searched before they are indexed.
const SETTLING_SECONDS: i64 = 30;

/// A query as it was written.
#[derive(Clone)]
pub(super) enum Query {
    /// JSON of the search API.
    Dsl(String),
    /// ES|QL.
    Esql(String),
}

/// A query that can be sent.
pub(super) enum Filled {
    /// The body of a search.
    Dsl(Json),
    /// Text.
    Esql(String),
}

impl Query {
    /// What is wrong with it, if it is no query whatever is filled in.
    pub fn check(&self) -> Result<(), String> {
        self.filled(Some("0")).map(|_| ())
    }

    /// With the values of now.
    pub fn filled(&self, last_value: Option<&str>) -> Result<Filled, String> {
        match self {
            Self::Dsl(text) => {
                let text = replaced(text, last_value, |value| {
                    let quoted = Json::from(value).to_string();
                    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
                });
                match serde_json::from_str(&text) {
                    Ok(Json::Object(object)) => Ok(Filled::Dsl(Json::Object(object))),
                    Ok(_) => Err("`query` is JSON, and no object".to_owned()),
                    Err(error) => Err(format!("`query` is not JSON: {error}")),
                }
            }
            Self::Esql(text) => Ok(Filled::Esql(replaced(text, last_value, str::to_owned))),
        }
    }
}

fn replaced(text: &str, last_value: Option<&str>, escaped: impl Fn(&str) -> String) -> String {
    let text = match last_value {
        Some(value) => text.replace(LAST_VALUE, &escaped(value)),
        None => text.to_owned(),
    };
    if text.contains(PRESENT) { text.replace(PRESENT, &present()) } else { text }
}

fn present() -> String {
    let now = Timestamp::now();
    let at = Timestamp::from_unix(now.seconds() - SETTLING_SECONDS, now.nanos()).unwrap_or(now);
    instant(at)
}

/// With nine digits of a second, as the indexes of nanoseconds have.
pub(super) fn instant(at: Timestamp) -> String {
    format!("{:.9}", at.to_jiff())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, last_value: Option<&str>) -> Result<String, String> {
        match Query::Dsl(text.to_owned()).filled(last_value)? {
            Filled::Dsl(json) => Ok(json.to_string()),
            Filled::Esql(text) => Ok(text),
        }
    }

    #[test]
    fn the_last_value_takes_its_place_in_the_text() {
        let query = r#"{"query":{"range":{"n":{"gt":":last_value"}}}}"#;
        let expected = r#"{"query":{"range":{"n":{"gt":"7"}}}}"#;
        assert_eq!(filled(query, Some("7")).as_deref(), Ok(expected));
        assert!(filled(query, Some("a\"b")).is_ok_and(|text| text.contains(r#"a\"b"#)), "quotes do no harm");
        assert!(filled(query, None).is_ok_and(|text| text.contains(":last_value")));
    }

    #[test]
    fn the_present_is_half_a_minute_ago_in_nanoseconds() {
        let text = filled(r#"{"to":":present"}"#, None).unwrap();
        let at = text.strip_prefix("{\"to\":\"").unwrap().strip_suffix("\"}").unwrap();
        assert_eq!(at.len(), "1970-01-01T00:00:00.000000000Z".len(), "{at}");
        let age = Timestamp::now().seconds() - Timestamp::parse(at).unwrap().seconds();
        assert!((30..60).contains(&age), "{age}");
    }

    #[test]
    fn a_query_that_is_no_json_object_is_refused() {
        for text in ["", "{", "[]", "match_all"] {
            assert!(Query::Dsl(text.to_owned()).check().is_err_and(|why| why.contains("`query` is")), "{text}");
        }
        assert!(Query::Esql("FROM a | WHERE n > :last_value".to_owned()).check().is_ok());
    }
}
