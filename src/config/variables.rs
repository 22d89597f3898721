//! `${NAME}` and `${NAME:default}` in setting values and conditions.
//!
//! A keystore goes before the environment, which goes before the default. A setting is replaced in two passes, as
//! Logstash does it: a text that is exactly one variable takes its value as it is; then whatever variables are left
//! in the text are replaced too, and a text changed by that is tidied (quotes stripped, `[a, b]` made a list).

use std::collections::{BTreeMap, HashMap};

use super::diagnostic::{Diagnostic, UNDEFINED_VARIABLE};
use super::source::Span;
use crate::event::Text;

/// The names that a configuration can ask for, as they were when it was loaded.
#[derive(Clone, Default)]
pub struct Variables {
    environment: HashMap<String, String>,
    secrets: HashMap<String, String>,
    /// Whether a name that has no value stands for itself.
    assumed: bool,
}

impl Variables {
    /// What the process was started with. Values that are not UTF-8 have their odd bytes replaced.
    pub fn from_environment() -> Self {
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        Self { environment: std::env::vars_os().map(|(k, v)| (text(k), text(v))).collect(), ..Self::default() }
    }

    /// These names and nothing else.
    pub fn from_pairs<K: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { environment: pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect(), ..Self::default() }
    }

    /// With the content of a keystore, which goes first and is never printed.
    #[must_use]
    pub fn with_secrets<K: Into<String>, V: Into<String>>(mut self, pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        self.secrets.extend(pairs.into_iter().map(|(k, v)| (k.into(), v.into())));
        self
    }

    /// With values from elsewhere on top.
    #[must_use]
    pub fn with_pairs(mut self, pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(pairs);
        self
    }

    /// Names without a value stand for themselves: to check a configuration where its variables are not known.
    #[must_use]
    pub fn assumed(mut self) -> Self {
        self.assumed = true;
        self
    }

    /// The same without the keystore.
    pub(super) fn without_secrets(&self) -> Self {
        Self { environment: self.environment.clone(), assumed: self.assumed, ..Self::default() }
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.secrets.get(name).or_else(|| self.environment.get(name)).map(String::as_str)
    }

    /// A text in a condition: replaced only when it is exactly one variable.
    pub(super) fn resolve_exact(&self, text: Text, span: Span, undefined: &mut Undefined) -> Text {
        match Reference::exact(&text) {
            Some(reference) => self.value(&reference, span, undefined).map_or(text.clone(), Text::from),
            None => text,
        }
    }

    /// A text of a setting.
    pub(super) fn resolve(&self, text: Text, span: Span, undefined: &mut Undefined) -> Resolved {
        let text = self.resolve_exact(text, span, undefined);
        match self.replace_all(&text, span, undefined) {
            Some(replaced) => tidy(&replaced),
            None => Resolved::Text(text),
        }
    }

    /// The text with all its variables replaced; `None` when it has none, or one that is undefined.
    fn replace_all(&self, text: &str, span: Span, undefined: &mut Undefined) -> Option<String> {
        let mut out = String::with_capacity(text.len());
        let (mut complete, mut found) = (true, false);
        for piece in pieces(text) {
            let reference = match piece {
                Piece::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Piece::Variable(reference) => reference,
            };
            found = true;
            match self.value(&reference, span, undefined) {
                Some(value) => out.push_str(value),
                None => complete = false,
            }
        }
        (found && complete).then_some(out)
    }

    fn value<'a>(&'a self, reference: &Reference<'a>, span: Span, undefined: &mut Undefined) -> Option<&'a str> {
        let assumed = self.assumed.then_some(reference.name);
        let value = self.get(reference.name).or(reference.default).or(assumed);
        if value.is_none() {
            undefined.add(reference.name, span);
        }
        value
    }
}

/// Names only: values may be secrets.
impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Variables({} names, {} secrets)", self.environment.len(), self.secrets.len())
    }
}

/// What became of a text of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// One text.
    Text(Text),
    /// A text `[a, b]` whose variables were replaced.
    List(Vec<Text>),
}

/// One `${…}`.
pub(crate) struct Reference<'t> {
    /// What it asks for.
    pub name: &'t str,
    /// What it is otherwise.
    pub default: Option<&'t str>,
    /// Bytes from `$` to `}`.
    pub length: usize,
}

impl<'t> Reference<'t> {
    /// The reference that a text starts with. `None` when the name is none (`${1X}`, `${a-b}`).
    pub fn leading(text: &'t str) -> Option<Self> {
        let inside = text.strip_prefix("${")?;
        let name_end = inside.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')))?;
        let (name, rest) = inside.split_at_checked(name_end)?;
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '.')) {
            return None;
        }
        let (default, after) = match rest.strip_prefix(':') {
            Some(default) => {
                let end = default.find('}')?;
                (default.get(..end), default.get(end + 1..)?)
            }
            None => (None, rest.strip_prefix('}')?),
        };
        Some(Self { name, default, length: text.len() - after.len() })
    }

    fn exact(text: &'t str) -> Option<Self> {
        Self::leading(text).filter(|reference| reference.length == text.len())
    }
}

/// A part of a text with variables.
pub(crate) enum Piece<'t> {
    /// As it stands. What only looks like a variable (`${1X}`, `${a-b}`) is text.
    Text(&'t str),
    /// `${…}`
    Variable(Reference<'t>),
}

/// A text cut at its variables.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(reference) = Reference::leading(rest) {
            rest = rest.get(reference.length..).unwrap_or_default();
            return Some(Piece::Variable(reference));
        }
        let end =
            rest.match_indices("${").find(|(at, _)| rest.get(*at..).is_some_and(|r| Reference::leading(r).is_some()));
        let (text, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        rest = after;
        Some(Piece::Text(text))
    })
}

/// One pair of `'`, then one pair of `"` is stripped; what then reads `[…]` is a list.
pub(crate) fn tidy(text: &str) -> Resolved {
    let text = strip(strip(text, '\''), '"');
    let Some(inside) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) else {
        return Resolved::Text(Text::from(text));
    };
    if inside.trim().is_empty() {
        return Resolved::List(Vec::new());
    }
    Resolved::List(inside.split(',').map(|item| Text::from(strip(strip(item.trim(), '\''), '"'))).collect())
}

fn strip(text: &str, quote: char) -> &str {
    text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote)).unwrap_or(text)
}

/// The names that nothing defines, with the places that ask for them.
#[derive(Debug, Default)]
pub(super) struct Undefined(BTreeMap<String, Vec<Span>>);

impl Undefined {
    fn add(&mut self, name: &str, span: Span) {
        let places = self.0.entry(name.to_owned()).or_default();
        if places.last() != Some(&span) {
            places.push(span);
        }
    }

    /// One error that lists all names, at the first place, with the others beside it.
    pub(super) fn into_diagnostic(self) -> Option<Diagnostic> {
        let mut places: Vec<(Span, &str)> =
            self.0.iter().flat_map(|(name, spans)| spans.iter().map(|span| (*span, name.as_str()))).collect();
        places.sort_by_key(|(span, _)| *span);
        let names: Vec<String> = self.0.keys().map(|name| format!("`${{{name}}}`")).collect();
        let mut places = places.into_iter();
        let (span, first) = places.next()?;
        let what = if names.len() == 1 { "it is" } else { "they are" };
        let message = format!(
            "Cannot evaluate {}: {what} neither in the keystore nor in the environment, and without a default",
            names.join(", ")
        );
        let help = format!("set the environment variable {first}, or give it a default: `${{{first}:value}}`");
        // A text that names two is one place with two labels less; the list of names is in the message anyway.
        let mut seen = vec![span];
        let mut diagnostic = Diagnostic::error(UNDEFINED_VARIABLE, span, message).label("not defined").help(help);
        for (place, name) in places {
            if !seen.contains(&place) && seen.len() < MOST_PLACES {
                seen.push(place);
                diagnostic = diagnostic.related(place, format!("`${{{name}}}` is not defined either"));
            }
        }
        Some(diagnostic)
    }
}

/// Places shown of undefined variables; the names are all listed.
const MOST_PLACES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::source::SourceId;

    const PLACE: Span = Span { source: SourceId(0), start: 0, end: 0 };

    fn resolve(text: &str) -> Resolved {
        let variables = Variables::from_pairs([
            ("A", "alpha"),
            ("A.DOT", "dotted"),
            ("EMPTY", ""),
            ("N", "${A}"),
            ("L", r#"["x", "y"]"#),
            ("Q", "'quoted'"),
        ]);
        let mut undefined = Undefined::default();
        let resolved = variables.resolve(Text::from(text), PLACE, &mut undefined);
        assert!(undefined.0.is_empty(), "{text}");
        resolved
    }

    #[test]
    fn texts_are_replaced_in_two_passes() {
        for (text, expected) in [
            ("${A}", "alpha"),
            ("x-${A}-${NONE:dflt}", "x-alpha-dflt"),
            ("${NONE:}", ""),
            ("${NONE:a:b}", "a:b"),
            ("${A.DOT}", "dotted"),
            ("$A ${1X:y} $${A} ${a-b} ${", "$A ${1X:y} $alpha ${a-b} ${"),
            ("${EMPTY:unused}", ""),
            ("${N}", "alpha"),
            ("${L}", r#"["x", "y"]"#),
            ("${Q}", "'quoted'"),
            ("'${A}'", "alpha"),
            ("no variable, 'quoted'", "no variable, 'quoted'"),
        ] {
            assert_eq!(resolve(text), Resolved::Text(Text::from(expected)), "{text}");
        }
        assert_eq!(resolve("[${A}, 'b', \"c\"]"), Resolved::List(vec!["alpha".into(), "b".into(), "c".into()]));
        assert_eq!(resolve("[${EMPTY:unused}]"), Resolved::List(vec![]));
    }

    #[test]
    fn secrets_go_first_and_are_never_printed() {
        let variables = Variables::from_pairs([("A", "plain")]).with_secrets([("A", "secret")]);
        assert_eq!(variables.get("A"), Some("secret"));
        assert!(!format!("{variables:?}").contains("secret\""));
    }

    #[test]
    fn undefined_names_are_listed_together() {
        let mut undefined = Undefined::default();
        let variables = Variables::default();
        variables.resolve(Text::from("x ${B} ${A}"), PLACE, &mut undefined);
        variables.resolve(Text::from("${C}"), Span { start: 9, ..PLACE }, &mut undefined);
        let diagnostic = undefined.into_diagnostic().unwrap();
        assert!(diagnostic.message.starts_with("Cannot evaluate `${A}`, `${B}`, `${C}`: they"));
        assert_eq!(diagnostic.related.len(), 1);
    }
}
