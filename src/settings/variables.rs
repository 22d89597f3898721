//! `${NAME}` and `${NAME:default}` in settings.

use std::borrow::Cow;
use std::collections::HashMap;

use super::kind::Raw;

/// The environment, as it was at the start.
#[derive(Clone, Debug, Default)]
pub struct Variables(HashMap<String, String>);

impl Variables {
    /// What the process was started with; values that are not UTF-8 have their odd bytes replaced.
    pub fn from_environment() -> Self {
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        Self(std::env::vars_os().map(|(k, v)| (text(k), text(v))).collect())
    }

    /// These and no others.
    pub fn from_pairs<K: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self(pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect())
    }

    /// The value of one; an empty one counts as set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// A piece of a text with variables.
enum Piece<'t> {
    Text(&'t str),
    Variable { name: &'t str, default: Option<&'t str> },
}

/// Splits a text at its variables. What only looks like one (`$A`, `${1X}`, `${a-b}`, `${`) is text.
fn pieces(mut text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut searched = 0;
    while let Some(found) = text.get(searched..).and_then(|rest| rest.find("${")) {
        let at = searched + found;
        let (before, candidate) = text.split_at(at);
        match variable(candidate) {
            Some((variable, rest)) => {
                pieces.push(Piece::Text(before));
                pieces.push(variable);
                text = rest;
                searched = 0;
            }
            None => searched = at + 2,
        }
    }
    pieces.push(Piece::Text(text));
    pieces
}

/// A variable at the start of a text, and what follows it.
fn variable(text: &str) -> Option<(Piece<'_>, &str)> {
    let (inside, rest) = text.strip_prefix("${")?.split_once('}')?;
    let (name, default) = match inside.split_once(':') {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '.');
    let goes_on_well = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    (starts_well && goes_on_well).then_some((Piece::Variable { name, default }, rest))
}

/// Replaces all variables of a text; the error is the names that are not set.
pub fn replace<'t>(text: &'t str, variables: &Variables) -> Result<Cow<'t, str>, Vec<String>> {
    if !text.contains("${") {
        return Ok(Cow::Borrowed(text));
    }
    let (mut out, mut missing) = (String::new(), Vec::new());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Variable { name, default } => match variables.get(name).or(default) {
                Some(value) => out.push_str(value),
                None => missing.push(name.to_owned()),
            },
        }
    }
    if missing.is_empty() { Ok(Cow::Owned(out)) } else { Err(missing) }
}

/// Tidies a value that had variables: one pair of quotes around it goes, and `[a, b]` becomes a list.
pub fn tidy(text: &str) -> Raw {
    let bare = unquoted(unquoted(text, '\''), '"');
    match bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        None => Raw::text(bare),
        Some(items) if items.trim().is_empty() => Raw::List(Vec::new()),
        Some(items) => {
            let item = |item: &str| unquoted(unquoted(item.trim(), '\''), '"').to_owned();
            Raw::List(items.split(',').map(item).collect())
        }
    }
}

fn unquoted(text: &str, quote: char) -> &str {
    text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)).unwrap_or(text)
}

/// Replaces variables in a pipeline text that stands in a settings file.
///
/// Comments are left alone, and so are quoted strings: there the configuration language replaces variables itself,
/// value by value, so that a quote in a password cannot change the meaning of the text.
pub fn replace_in_config(text: &str, variables: &Variables) -> Result<String, Vec<String>> {
    let (mut out, mut missing) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text;
    while !rest.is_empty() {
        let (code, protected, after) = split_protected(rest);
        match replace(code, variables) {
            Ok(code) => out.push_str(&code),
            Err(names) => missing.extend(names),
        }
        out.push_str(protected);
        rest = after;
    }
    if missing.is_empty() { Ok(out) } else { Err(missing) }
}

/// Code, then one comment, string or regular expression, then the rest.
fn split_protected(text: &str) -> (&str, &str, &str) {
    let Some(start) = text.char_indices().find(|(at, c)| match c {
        '#' | '"' | '\'' => true,
        '/' => text.get(..*at).is_some_and(|before| before.trim_end().ends_with('~')),
        _ => false,
    }) else {
        return (text, "", "");
    };
    let (code, protected) = text.split_at(start.0);
    let end = match start.1 {
        '#' => protected.find('\n').unwrap_or(protected.len()),
        quote => closing(protected, quote),
    };
    let (protected, after) = protected.split_at(end);
    (code, protected, after)
}

/// The byte behind the closing quote of a text that starts with one.
fn closing(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        Variables::from_pairs([("A", "alpha"), ("EMPTY", ""), ("L", "[x, 'y']"), ("Q", "\"q\""), ("a.b", "dotted")])
    }

    #[test]
    fn variables_are_replaced() {
        for (text, expected) in [
            ("${A}", "alpha"),
            ("x${A}y${EMPTY}z", "xalphayz"),
            ("${NO:b:c}", "b:c"),
            ("${NO:}", ""),
            ("${EMPTY:x}", ""),
            ("${a.b}", "dotted"),
            ("$${A}", "$alpha"),
            ("$A ${1X} ${a-b} ${", "$A ${1X} ${a-b} ${"),
            ("${1${A}", "${1alpha"),
        ] {
            assert_eq!(replace(text, &variables()).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn all_missing_names_are_told() {
        assert_eq!(replace("${ONE} ${A} ${TWO}", &variables()), Err(vec!["ONE".into(), "TWO".into()]));
    }

    #[test]
    fn replaced_values_are_tidied() {
        assert_eq!(tidy("[x, 'y', \"z\"]"), Raw::List(vec!["x".into(), "y".into(), "z".into()]));
        assert_eq!(tidy("'alpha'"), Raw::text("alpha"));
        assert_eq!(tidy("\"alpha\""), Raw::text("alpha"));
        assert_eq!(tidy("[]"), Raw::List(vec![]));
        assert_eq!(tidy("'"), Raw::text("'"));
    }

    #[test]
    fn comments_and_strings_of_a_pipeline_text_are_left_alone() {
        let text = "input { ${A} { # ${NOT_SET}\n x => \"${A} # \\\" ${ALSO_NOT}\" y => '${B}' } }\nfilter { if [m] =~ /#\"${C}/ { ${A} {} } }";
        assert_eq!(
            replace_in_config(text, &variables()).unwrap(),
            "input { alpha { # ${NOT_SET}\n x => \"${A} # \\\" ${ALSO_NOT}\" y => '${B}' } }\nfilter { if [m] =~ /#\"${C}/ { alpha {} } }"
        );
        assert_eq!(replace_in_config("${X} # ${Y}", &variables()), Err(vec!["X".into()]));
    }
}
