//! `${NAME}` and `${NAME:default}` in settings files.

use super::kind::Raw;
use crate::config::{Piece, Resolved, Variables, pieces, tidy as tidy_text};

/// Replaces all variables of a text; the error is the names that are not set.
pub fn replace(text: &str, variables: &Variables) -> Result<String, Vec<String>> {
    let (mut out, mut missing) = (String::with_capacity(text.len()), Vec::new());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Variable(reference) => match variables.get(reference.name).or(reference.default) {
                Some(value) => out.push_str(value),
                None => missing.push(reference.name.to_owned()),
            },
        }
    }
    if missing.is_empty() { Ok(out) } else { Err(missing) }
}

/// Tidies a value that had variables: one pair of quotes around it goes, and `[a, b]` becomes a list.
pub fn tidy(text: &str) -> Raw {
    match tidy_text(text) {
        Resolved::Text(text) => Raw::text(text.as_str()),
        Resolved::List(items) => Raw::List(items.iter().map(|item| item.as_str().to_owned()).collect()),
    }
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
