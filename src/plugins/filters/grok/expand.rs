//! From a grok pattern to a regular expression: every `%{NAME:field:type}` is replaced by what the name stands for.

use std::ops::Range;

use super::library::Library;

/// Replacements after which a pattern that contains itself is given up.
const MOST_REPLACEMENTS: usize = 10_000;
/// Bytes that an expanded pattern may have.
const LONGEST: usize = 1 << 20;

/// A pattern that cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// A name that nothing defines.
    #[error("pattern {reference} not defined")]
    Unknown {
        /// The name.
        name: String,
        /// All of `%{…}`.
        reference: String,
        /// Where it stands in the given pattern, unless it comes out of another pattern.
        place: Option<Range<usize>>,
    },
    /// It contains itself.
    #[error("Deep recursion pattern compilation of {0}")]
    Recursive(String),
    /// It is larger than any log line needs.
    #[error("the expanded pattern has more than {LONGEST} bytes")]
    TooLong,
}

/// Replaces all references of a pattern. Patterns without a field become groups that do not capture, or, with
/// `name_all`, groups of their own name.
pub fn expand(pattern: &str, library: &Library, name_all: bool) -> Result<String, ExpandError> {
    let mut inline = Library::default();
    let mut done = String::with_capacity(pattern.len() * 4);
    let mut rest = pattern.to_owned();
    // How much at the end of `rest` is still as it was given.
    let mut untouched = rest.len();
    for _ in 0..MOST_REPLACEMENTS {
        let Some(reference) = Reference::find(&rest) else {
            done.push_str(&rest);
            return Ok(done);
        };
        let Range { start, end } = reference.range.clone();
        let name = reference.name.to_owned();
        if let Some(definition) = reference.definition {
            inline.define(&name, definition);
        }
        let Some(regexp) = inline.get(&name).or_else(|| library.get(&name)) else {
            let behind = rest.len() - start;
            let place = (behind <= untouched).then(|| pattern.len() - behind..pattern.len() - (rest.len() - end));
            let reference = rest.get(start..end).unwrap_or_default().to_owned();
            return Err(ExpandError::Unknown { name, reference, place });
        };
        let replacement = match reference.group_name(name_all) {
            Some(group) => format!("(?<{group}>{regexp})"),
            None => format!("(?:{regexp})"),
        };
        untouched = untouched.min(rest.len() - end);
        done.push_str(rest.get(..start).unwrap_or_default());
        rest.replace_range(..end, &replacement);
        if done.len() + rest.len() > LONGEST {
            return Err(ExpandError::TooLong);
        }
    }
    Err(ExpandError::Recursive(pattern.to_owned()))
}

/// `%{NAME:field:type=definition}`
#[derive(Debug, PartialEq, Eq)]
pub struct Reference<'p> {
    /// All of it.
    pub range: Range<usize>,
    /// The pattern's name.
    pub name: &'p str,
    /// Field and type, with the colon between them.
    pub field: Option<&'p str>,
    /// What the name is to stand for from here on.
    pub definition: Option<&'p str>,
}

impl<'p> Reference<'p> {
    /// The first reference of a text. A `%{` that starts none is text.
    pub fn find(text: &'p str) -> Option<Self> {
        let mut from = 0;
        loop {
            let start = from + text.get(from..)?.find("%{")?;
            if let Some(found) = Self::at(text, start) {
                return Some(found);
            }
            from = start + 2;
        }
    }

    fn at(text: &'p str, start: usize) -> Option<Self> {
        let (name, mut rest) = run(text.get(start + 2..)?, is_name_byte);
        if name.is_empty() {
            return None;
        }
        let mut field = None;
        if let Some((sub, behind)) = rest.strip_prefix(':').map(|rest| run(rest, is_field_byte))
            && !sub.is_empty()
        {
            (field, rest) = (Some(sub), behind);
        }
        let mut definition = None;
        if let Some((inside, behind)) = rest.strip_prefix('=').and_then(balanced)
            && !inside.is_empty()
        {
            (definition, rest) = (Some(inside), behind);
        }
        // What else stands before the brace is passed over.
        let close = rest.find('}')?;
        let end = text.len() - rest.len() + close + 1;
        Some(Self { range: start..end, name, field, definition })
    }

    /// The name of the group that stands for it: `NAME:field:type`.
    fn group_name(&self, name_all: bool) -> Option<String> {
        match self.field {
            Some(field) => Some(format!("{}:{field}", self.name)),
            None => name_all.then(|| self.name.to_owned()),
        }
    }
}

/// The bytes at the start that fit, and the rest.
fn run(text: &str, fits: impl Fn(u8) -> bool) -> (&str, &str) {
    let length = text.bytes().take_while(|b| fits(*b)).count();
    text.split_at_checked(length).unwrap_or((text, ""))
}

fn is_name_byte(b: u8) -> bool {
    matches!(b, b'A'..=b'z' | b'0'..=b'9')
}

fn is_field_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'@' | b'[' | b']' | b'_' | b':' | b'.' | b'-')
}

/// The text up to the brace that closes what was opened before it, and the rest with that brace.
fn balanced(text: &str) -> Option<(&str, &str)> {
    let mut open = 0_usize;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => open += 1,
            '}' if open == 0 => return text.split_at_checked(at),
            '}' => open -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(pattern: &str) -> Result<String, ExpandError> {
        let mut library = Library::default();
        library.read("INT [0-9]+\nN %{INT}\nM %{INT:m}\nLOOP x%{LOOP}\nBAD a%{NOPE}b\n[x] q");
        expand(pattern, &library, false)
    }

    #[test]
    fn references_become_groups() {
        for (pattern, expected) in [
            ("%{INT}", "(?:[0-9]+)"),
            ("%{INT:a}", "(?<INT:a>[0-9]+)"),
            ("%{INT:a:int}-%{N:[b][c]}", "(?<INT:a:int>[0-9]+)-(?<N:[b][c]>(?:[0-9]+))"),
            ("(?<x>%{M})", "(?<x>(?:(?<INT:m>[0-9]+)))"),
            ("%{INT:foo bar}", "(?<INT:foo>[0-9]+)"),
            ("%{INT-x}%{INT:ümlaut}%{INT:}%{INT:a?}", "(?:[0-9]+)(?:[0-9]+)(?:[0-9]+)(?<INT:a>[0-9]+)"),
            ("%{[x]}", "(?:q)"),
            ("%{} %{ %{é} %{INT", "%{} %{ %{é} %{INT"),
            ("\\%{INT}", "\\(?:[0-9]+)"),
            ("%%{INT}", "%(?:[0-9]+)"),
            ("%{Q:a=[0-9A-F]{2}} %{Q} %{Q:b}", "(?<Q:a>[0-9A-F]{2}) (?:[0-9A-F]{2}) (?<Q:b>[0-9A-F]{2})"),
            ("%{Q=a\\}b}", "(?:a\\}b)"),
            ("%{INT=a}%{N}", "(?:a)(?:(?:a))"),
            ("%{INT:a=}", "(?<INT:a>[0-9]+)"),
        ] {
            assert_eq!(expanded(pattern).as_deref(), Ok(expected), "{pattern}");
        }
    }

    #[test]
    fn unknown_names_tell_their_place() {
        let place = |pattern: &str| match expanded(pattern) {
            Err(ExpandError::Unknown { reference, place, .. }) => (reference, place),
            other => panic!("{other:?}"),
        };
        assert_eq!(place("ab%{INT}%{NOPE:x} c"), ("%{NOPE:x}".to_owned(), Some(8..17)));
        assert_eq!(place("%{N}%{BAD}%{INT}"), ("%{NOPE}".to_owned(), None));
        assert_eq!(place("%{Q} %{Q=a}"), ("%{Q}".to_owned(), Some(0..4)));
    }

    #[test]
    fn endless_patterns_are_refused() {
        assert_eq!(expanded("a%{LOOP}"), Err(ExpandError::Recursive("a%{LOOP}".to_owned())));
        let mut library = Library::default();
        library.define("A", &format!("{}%{{A}}%{{A}}", "a".repeat(1000)));
        assert_eq!(expand("%{A}", &library, false), Err(ExpandError::TooLong));
    }

    #[test]
    fn all_patterns_can_have_a_name() {
        let mut library = Library::default();
        library.read("INT [0-9]+\nN %{INT}");
        assert_eq!(expand("%{N} %{N:a}", &library, true).unwrap(), "(?<N>(?<INT>[0-9]+)) (?<N:a>(?<INT>[0-9]+))");
    }
}
