//! What no screen and no log shows: passwords in a configuration, and the login in a URL.
//!
//! Literals of options that a plugin declares as passwords are known by their place, see
//! [`Sources::hide`](crate::config::source::Sources::hide). Where a mistake kept the plugin from declaring anything, and
//! in settings files, a value counts as one when its name says so.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::config::source::{SourceId, Sources, Span};
use crate::config::variables::Reference;

const PASSWORD: &str = "<password>";
const LOGIN: &str = "xxxxxx";

/// A name that says what its value is, then the value.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let quoted = r#""(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?"#;
    let name = "(?:password|passwd|passphrase|secret|token|api_key|access_key|cloud_auth)[\"']?";
    Regex::new(&format!(r"(?i){name}(?:\s*(?:=>|=|:\s)\s*({quoted}|[^\s,}}\]]+)|\s+({quoted}))")).ok()
});

/// The password in `scheme://user:password@host`.
static IN_URL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"://[^\s"'<>/?#@:]*:([^\s"'<>`]*)@"#).ok());

/// The password in `user:password@host`.
static IN_ADDRESS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?:^|[\s"'(`])[\w.+-]+:([^\s"'<>/?#@{}`]+)@[\w.\[]"#).ok());

/// A line of a source without its secrets.
pub(super) struct Line {
    /// As it is shown.
    pub text: String,
    /// What was taken out, and how many bytes stand in its place.
    out: Vec<(Range<usize>, usize)>,
}

impl Line {
    /// The line that starts at this byte of a source.
    pub fn new(sources: &Sources, source: SourceId, start: usize, line: &str) -> Self {
        let mut text = String::with_capacity(line.len());
        let mut out = Vec::new();
        let mut done = 0;
        for (range, mask) in secrets(sources, source, start, line) {
            if range.start < done {
                continue;
            }
            text.push_str(line.get(done..range.start).unwrap_or_default());
            text.push_str(mask);
            done = range.end;
            out.push((range, mask.len()));
        }
        text.push_str(line.get(done..).unwrap_or_default());
        Self { text, out }
    }

    /// Where a byte of the line is shown. Of a secret there are only its start and its end.
    pub fn shown(&self, at: usize) -> usize {
        let (mut before, mut shown) = (0, 0);
        for (range, len) in self.out.iter().take_while(|(range, _)| at > range.start) {
            if at < range.end {
                return range.start - before + shown;
            }
            before += range.len();
            shown += len;
        }
        at - before + shown
    }
}

/// Ranges of a line and what is shown instead, in order; of two that overlap the earlier and longer one counts.
fn secrets(sources: &Sources, source: SourceId, start: usize, line: &str) -> Vec<(Range<usize>, &'static str)> {
    let hidden = sources.hidden(source).filter_map(|span| {
        let from = (span.start as usize).max(start) - start;
        let to = (span.end as usize).min(start + line.len()).checked_sub(start)?;
        (from < to).then(|| unquoted(line, from..to))
    });
    let named = NAMED.iter().flat_map(|regex| regex.captures_iter(line));
    let named = named.filter_map(|found| Some(unquoted(line, found.get(1).or_else(|| found.get(2))?.range())));
    let passwords = hidden.chain(named).filter(|range| !is_variable(line.get(range.clone()).unwrap_or_default()));
    let mut all: Vec<_> = passwords.map(|range| (range, PASSWORD)).collect();
    all.extend(logins(line).map(|range| (range, LOGIN)));
    all.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    all
}

fn unquoted(line: &str, range: Range<usize>) -> Range<usize> {
    let text = line.get(range.clone()).unwrap_or_default();
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return range };
    let end = if text.len() > 1 && text.ends_with(quote) { range.end - 1 } else { range.end };
    range.start + 1..end
}

/// Whether it only says where the secret is.
fn is_variable(text: &str) -> bool {
    text.is_empty()
        || Reference::leading(text).is_some_and(|variable| variable.length == text.len() && variable.default.is_none())
}

/// The passwords in URLs and addresses.
fn logins(text: &str) -> impl Iterator<Item = Range<usize>> {
    let found = |regex: &'static LazyLock<Option<Regex>>| regex.iter().flat_map(|regex| regex.captures_iter(text));
    let password = |found: regex::Captures<'_>| found.get(1).map(|password| password.range());
    let in_urls = found(&IN_URL).filter_map(password).filter(|range| {
        // `host:9200/a@b` has a port and a path there.
        let first = text.get(range.clone()).unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
        first.len() == range.len() || !first.bytes().all(|b| b.is_ascii_digit())
    });
    in_urls.chain(found(&IN_ADDRESS).filter_map(password))
}

/// A text about a place without the secrets of the place's line and without logins.
pub(super) fn text(text: &str, sources: &Sources, place: Option<Span>) -> String {
    let mut out = text.to_owned();
    for secret in place.map(|place| secrets_at(sources, place)).unwrap_or_default() {
        for quote in ['"', '\'', '`'] {
            out = out.replace(&format!("{quote}{secret}{quote}"), &format!("{quote}{PASSWORD}{quote}"));
        }
    }
    let mut ranges: Vec<_> = logins(&out).collect();
    ranges.sort_by_key(|range| std::cmp::Reverse(range.start));
    for range in ranges {
        if out.get(range.clone()).is_some() {
            out.replace_range(range, LOGIN);
        }
    }
    out
}

fn secrets_at(sources: &Sources, place: Span) -> Vec<String> {
    let Some(source) = sources.get(place.source) else { return Vec::new() };
    let before = source.text.get(..place.start as usize).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = source.text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let secrets = secrets(sources, place.source, start, line).into_iter();
    secrets.filter_map(|(range, _)| line.get(range).map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        Line::new(&Sources::default(), SourceId(0), 0, line).text
    }

    #[test]
    fn values_whose_name_says_so_are_not_shown() {
        for (line, expected) in [
            (r#"password => "hun\"ter2" user => "u""#, r#"password => "<password>" user => "u""#),
            ("ssl_key_passphrase => 'a b'", "ssl_key_passphrase => '<password>'"),
            ("api_key=>abc }", "api_key=><password> }"),
            (r#"password "forgot the arrow""#, r#"password "<password>""#),
            (r#"password => "never closed"#, r#"password => "<password>"#),
            ("api.auth.basic.password: hunter2", "api.auth.basic.password: <password>"),
            (r#"{ "password": "x", a: 1 }"#, r#"{ "password": "<password>", a: 1 }"#),
            (r#"password => "${PWD}""#, r#"password => "${PWD}""#),
            (r#"password => "${PWD:default}""#, r#"password => "<password>""#),
            (r#"password => """#, r#"password => """#),
            ("# the password is long", "# the password is long"),
            (r#"match => { "password" => "x" }"#, r#"match => { "password" => "<password>" }"#),
        ] {
            assert_eq!(shown(line), expected);
        }
    }

    #[test]
    fn logins_in_urls_are_not_shown() {
        for (line, expected) in [
            ("https://u:p@h:9200/x", "https://u:xxxxxx@h:9200/x"),
            (r#"["http://u:p@ss/wo?rd@h", "b"]"#, r#"["http://u:xxxxxx@h", "b"]"#),
            ("http://:p@h and http://u:@h", "http://:xxxxxx@h and http://u:xxxxxx@h"),
            (r#"hosts => "u:p@h:9200""#, r#"hosts => "u:xxxxxx@h:9200""#),
            ("http://h:9200/a@b", "http://h:9200/a@b"),
            ("http://u@h", "http://u@h"),
            ("%{WORD:user}@%{HOST:host}", "%{WORD:user}@%{HOST:host}"),
            ("a@b.c", "a@b.c"),
        ] {
            assert_eq!(shown(line), expected);
        }
    }

    #[test]
    fn a_declared_password_is_hidden_by_its_place_over_several_lines() {
        let mut sources = Sources::default();
        let source = sources.add("f", "pin => \"ab\ncd\" x");
        sources.hide([Span { source, start: 7, end: 14 }]);
        assert_eq!(Line::new(&sources, source, 0, "pin => \"ab").text, "pin => \"<password>");
        assert_eq!(Line::new(&sources, source, 11, "cd\" x").text, "<password> x");
    }

    #[test]
    fn places_behind_a_secret_move_with_it() {
        for password in ["x", "a much longer password"] {
            let line = format!("password => \"{password}\" x => 1 token => \"{password}\" y");
            let masked = Line::new(&Sources::default(), SourceId(0), 0, &line);
            for needle in [" x =>", " y", "\" x", "token"] {
                let at = masked.shown(line.find(needle).unwrap());
                assert!(masked.text[at..].starts_with(needle), "{needle}: {at} in {}", masked.text);
            }
        }
    }

    #[test]
    fn a_message_about_a_secret_does_not_hold_it() {
        let mut sources = Sources::default();
        let source = sources.add("f", "password => \"hunter2\"");
        let place = Some(Span { source, start: 0, end: 8 });
        assert_eq!(text("got \"hunter2\" at http://a:b@c", &sources, place), "got \"<password>\" at http://a:xxxxxx@c");
    }
}
