//! Globs as Ruby reads them: `*`, `?`, `[a-z]`, `{a,b}`, and `**/` for folders of any depth.
//!
//! Hidden files and folders are found only where the pattern spells the dot; `**/` does not follow links, so that a
//! link to a folder above cannot make it endless.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use regex::bytes::Regex;

use crate::config::alternatives;

/// One `path` of the input.
pub(super) struct Glob(Vec<Vec<Component>>);

enum Component {
    Name(String),
    Pattern(NamePattern),
    /// Any number of folders.
    Folders,
}

impl Glob {
    /// Of an absolute path with any of the wild cards.
    pub fn new(pattern: &str) -> Self {
        Self(alternatives(pattern).iter().map(|pattern| components(pattern)).collect())
    }

    /// The files that are there.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for components in &self.0 {
            walk(Path::new("/"), components, &mut found);
        }
        found
    }
}

fn components(pattern: &str) -> Vec<Component> {
    let names: Vec<&str> = pattern.split('/').filter(|name| !name.is_empty()).collect();
    let last = names.len().saturating_sub(1);
    let component = |(at, name): (usize, &&str)| match *name {
        "**" if at < last => Component::Folders,
        name if name.contains(['*', '?', '[', '\\']) => Component::Pattern(NamePattern::new(name)),
        name => Component::Name(name.to_owned()),
    };
    names.iter().enumerate().map(component).collect()
}

/// What cannot be read is passed over: it may be there the next time.
fn walk(folder: &Path, components: &[Component], found: &mut Vec<PathBuf>) {
    let Some((first, rest)) = components.split_first() else { return };
    match first {
        Component::Name(name) => step(folder.join(name), rest, found),
        Component::Pattern(pattern) => {
            for name in names(folder).filter(|name| pattern.matches(name)) {
                step(folder.join(name), rest, found);
            }
        }
        Component::Folders => {
            walk(folder, rest, found);
            for name in names(folder).filter(|name| !name.as_bytes().starts_with(b".")) {
                let inner = folder.join(name);
                if fs::symlink_metadata(&inner).is_ok_and(|inner| inner.is_dir()) {
                    walk(&inner, components, found);
                }
            }
        }
    }
}

fn step(path: PathBuf, rest: &[Component], found: &mut Vec<PathBuf>) {
    if !rest.is_empty() {
        walk(&path, rest, found);
    } else if fs::metadata(&path).is_ok_and(|file| file.is_file()) {
        found.push(path);
    }
}

/// The names in a folder, in order.
fn names(folder: &Path) -> impl Iterator<Item = std::ffi::OsString> {
    let mut names: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    names.into_iter()
}

/// A glob for one name.
pub(super) struct NamePattern {
    choices: Vec<Regex>,
    hidden: bool,
}

impl NamePattern {
    /// Of a name with any of the wild cards.
    pub fn new(pattern: &str) -> Self {
        let choices = alternatives(pattern);
        let choices = choices.iter().filter_map(|choice| Regex::new(&translated(choice)).ok()).collect();
        Self { choices, hidden: pattern.starts_with('.') }
    }

    /// Whether all of the name matches.
    pub fn matches(&self, name: &OsStr) -> bool {
        let name = name.as_bytes();
        (self.hidden || !name.starts_with(b".")) && self.choices.iter().any(|choice| choice.is_match(name))
    }
}

/// The pattern as a regular expression on bytes: names need not be text.
fn translated(pattern: &str) -> String {
    let mut out = String::from(r"\A");
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '*' => out.push_str("(?s-u:.)*"),
            '?' => out.push_str("(?:(?s:.)|(?s-u:.))"),
            '\\' => out.extend(rest.next().map(|c| regex::escape(c.encode_utf8(&mut [0; 4])))),
            '[' => match class(rest.as_str()) {
                Some((class, behind)) => {
                    out.push_str(&class);
                    rest = behind.chars();
                }
                None => out.push_str(r"\["),
            },
            c => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out.push_str(r"\z");
    out
}

/// A class of characters behind its `[`, and what follows its `]`.
fn class(text: &str) -> Option<(String, &str)> {
    let negated = text.starts_with(['!', '^']);
    let body = text.get(usize::from(negated)..)?;
    // A `]` right at the start is a member.
    let end = body.char_indices().skip(1).find(|(_, c)| *c == ']')?.0;
    let members: String = body.get(..end)?.chars().fold(String::new(), |mut members, c| {
        if matches!(c, '[' | ']' | '^' | '&' | '~' | '\\') {
            members.push('\\');
        }
        members.push(c);
        members
    });
    Some((format!("[{}{members}]", if negated { "^" } else { "" }), body.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_as_in_ruby() {
        for (pattern, name, expected) in [
            ("*.log", "a.log", true),
            ("*.log", ".log", false),
            (".*", ".log", true),
            ("a?c", "aéc", true),
            ("a?c", "abbc", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[]x]", "]", true),
            ("[", "[", true),
            (r"\*", "*", true),
            (r"\*", "a", false),
            ("a.c", "abc", false),
            ("{a,b{1,2}}.log", "b2.log", true),
            ("{a,b{1,2}}.log", "b.log", false),
        ] {
            assert_eq!(NamePattern::new(pattern).matches(OsStr::new(name)), expected, "{pattern} {name}");
        }
        assert!(NamePattern::new("a*?").matches(OsStr::from_bytes(b"a\xff\xfe")));
    }

    #[test]
    fn folders_are_searched() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for name in ["a.log", "x/b.log", "x/y/c.log", "x/y/c.txt", ".hidden/d.log", "x/.e.log", "log.d/f"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink(&root, root.join("x/loop")).unwrap();
        std::os::unix::fs::symlink(root.join("x/y/c.txt"), root.join("linked.log")).unwrap();
        std::os::unix::fs::symlink(root.join("gone"), root.join("dangling.log")).unwrap();
        let found = |pattern: &str| -> Vec<String> {
            let files = Glob::new(&format!("{}/{pattern}", root.display())).files();
            let mut files: Vec<_> =
                files.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
            files.sort();
            files
        };
        assert_eq!(found("*.log"), ["a.log", "linked.log"]);
        assert_eq!(found("**/*.log"), ["a.log", "linked.log", "x/b.log", "x/y/c.log"]);
        assert_eq!(found("x/**/c.*"), ["x/y/c.log", "x/y/c.txt"]);
        assert_eq!(found("x/*/a.log"), ["x/loop/a.log"]);
        assert_eq!(found("{x,.hidden}/*.log"), [".hidden/d.log", "x/b.log"]);
        assert_eq!(found("x/.*.log"), ["x/.e.log"]);
        assert_eq!(found("*"), ["a.log", "linked.log"]);
        assert_eq!(found("none/*"), [""; 0]);
    }
}
