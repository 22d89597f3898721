//! Globs as Ruby reads them, on top of a crate that knows all but `{a,b}` and `[^a]`.

use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, PatternError};

/// Globs that `{a,b}` may spell out. More is a mistake, or an attack.
const MOST_ALTERNATIVES: usize = 1024;

/// A pattern with its `{a,b}` spelled out.
pub(crate) fn alternatives(pattern: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut waiting = vec![pattern.to_owned()];
    while let Some(pattern) = waiting.pop() {
        match first_braces(&pattern) {
            Some((before, choices, after)) if done.len() + waiting.len() < MOST_ALTERNATIVES => {
                waiting.extend(choices.iter().rev().map(|choice| format!("{before}{choice}{after}")));
            }
            _ => done.push(pattern),
        }
    }
    done
}

/// The text before, the choices in, and the text behind the first pair of braces.
fn first_braces(pattern: &str) -> Option<(&str, Vec<&str>, &str)> {
    let open = pattern.find('{')?;
    let mut depth = 0_usize;
    let mut choices = Vec::new();
    let mut start = open + 1;
    for (at, c) in pattern.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '{' => depth += 1,
            ',' if depth == 1 => {
                choices.push(pattern.get(start..at)?);
                start = at + 1;
            }
            '}' => {
                depth -= 1;
                if depth == 0 {
                    choices.push(pattern.get(start..at)?);
                    return Some((pattern.get(..open)?, choices, pattern.get(at + 1..)?));
                }
            }
            _ => {}
        }
    }
    None
}

/// The paths that a pattern matches. Hidden ones only where the pattern has the dot.
pub(super) fn glob(pattern: &str) -> Result<Vec<PathBuf>, PatternError> {
    // With the crate's own option a dot in the pattern does not find hidden files either.
    let wanted = hidden(Path::new(pattern));
    let options = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: wanted == 0,
    };
    let found = glob::glob_with(&translated(pattern), options)?.filter_map(Result::ok);
    Ok(found.filter(|path| hidden(path) <= wanted).collect())
}

/// How many components of a path start with a dot.
fn hidden(path: &Path) -> usize {
    let is_hidden = |component: &Component<'_>| match component {
        Component::Normal(name) => name.as_encoded_bytes().starts_with(b"."),
        _ => false,
    };
    path.components().filter(is_hidden).count()
}

/// `[^a]` becomes `[!a]`; `**` that is not a directory of its own is a plain `*`.
fn translated(pattern: &str) -> String {
    let components: Vec<&str> = pattern.split('/').collect();
    let last = components.len().saturating_sub(1);
    let translate = |(at, component): (usize, &&str)| {
        let component = component.replace("[^", "[!");
        if component == "**" && at < last {
            return component;
        }
        let mut plain = component;
        while plain.contains("**") {
            plain = plain.replace("**", "*");
        }
        plain
    };
    components.iter().enumerate().map(translate).collect::<Vec<_>>().join("/")
}
