//! Field references: `name`, `[a][b]`, `[list][-1]`, `[@metadata][k]`, parsed once and then followed cheaply.

use super::Text;

/// How names that hold brackets can be written (`config.field_reference.escape_style`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EscapeStyle {
    /// Names cannot hold brackets.
    #[default]
    None,
    /// `%5B` stands for `[`.
    Percent,
    /// `&#91;` stands for `[`.
    Ampersand,
}

/// A text that is no field reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid FieldReference: `{0}`")]
pub struct ReferenceError(pub String);

/// One step of a path: a name, which is an index too when the parent is a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The name between the brackets.
    pub name: Text,
    /// The name as a list index, if it is a decimal integer; negative counts from the end.
    pub index: Option<i64>,
}

/// Where a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// The event's fields.
    Fields,
    /// The event's `@metadata`.
    Metadata,
}

/// A parsed field reference. An empty path at [`Root::Metadata`] is all of `@metadata`; at [`Root::Fields`] the path
/// has at least one segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRef {
    text: Text,
    root: Root,
    path: Box<[Segment]>,
    takes_all: bool,
}

impl FieldRef {
    /// Parses a reference. Without brackets the whole text is one top-level name.
    pub fn parse(text: &str, style: EscapeStyle) -> Result<Self, ReferenceError> {
        if !text.contains(['[', ']']) {
            return Ok(Self::from_names(text, vec![Text::from(unescape(text, style))]));
        }
        let invalid = || ReferenceError(text.to_owned());
        let mut names = Vec::new();
        let mut depth = 0_usize;
        let mut name: Option<&str> = None;
        let mut start = 0;
        for (at, c) in text.char_indices() {
            match c {
                '[' if name.is_some() => return Err(invalid()),
                '[' => {
                    depth += 1;
                    start = at + 1;
                }
                ']' => {
                    depth = depth.checked_sub(1).ok_or_else(invalid)?;
                    match name.take() {
                        Some("") => return Err(invalid()),
                        Some(n) => names.push(Text::from(unescape(n, style))),
                        // The closing bracket of an embedded reference: `[[a][b]]`.
                        None if at > 0 && text.as_bytes().get(at - 1) == Some(&b']') => {}
                        None => return Err(invalid()),
                    }
                    start = at + 1;
                }
                _ if depth == 0 => return Err(invalid()),
                _ => {
                    // Text may only follow an opening bracket.
                    if name.is_none() && text.as_bytes().get(start.wrapping_sub(1)) != Some(&b'[') {
                        return Err(invalid());
                    }
                    name = text.get(start..at + c.len_utf8());
                }
            }
        }
        if depth != 0 || names.is_empty() {
            return Err(invalid());
        }
        Ok(Self::from_names(text, names))
    }

    /// A reference to a top-level field of that literal name.
    pub fn top(name: &str) -> Self {
        Self::from_names(name, vec![Text::from(name)])
    }

    /// A reference to nested fields of these literal names, from the top.
    pub fn path_of(names: &[&str]) -> Self {
        let text: String = names.iter().map(|n| format!("[{n}]")).collect();
        Self::from_names(&text, names.iter().map(|n| Text::from(*n)).collect())
    }

    fn from_names(text: &str, mut names: Vec<Text>) -> Self {
        let root = match names.first().map(Text::as_str) {
            Some(super::METADATA) => {
                names.remove(0);
                Root::Metadata
            }
            _ => Root::Fields,
        };
        let path = names.into_iter().map(|name| Segment { index: index_of(&name), name }).collect();
        Self::new(Text::from(text), root, path)
    }

    fn new(text: Text, root: Root, path: Box<[Segment]>) -> Self {
        let takes_all = match (root, path.first().map(|first| first.name.as_str())) {
            (Root::Metadata, first) => first.is_some(),
            (Root::Fields, first) => !matches!(first, None | Some(super::TIMESTAMP | super::TAGS)),
        };
        Self { text, root, path, takes_all }
    }

    /// Whether the field takes any value.
    pub(crate) fn takes_all(&self) -> bool {
        self.takes_all
    }

    /// The reference as it was written.
    pub fn text(&self) -> &Text {
        &self.text
    }

    /// Where the path starts.
    pub fn root(&self) -> Root {
        self.root
    }

    /// The steps from the root.
    pub fn path(&self) -> &[Segment] {
        &self.path
    }

    /// The name, when this is one top-level field of the event.
    pub fn top_level_name(&self) -> Option<&Text> {
        match (&self.root, &*self.path) {
            (Root::Fields, [only]) => Some(&only.name),
            _ => None,
        }
    }

    /// Whether both lead to the same field, however they are written.
    pub fn is_same(&self, other: &Self) -> bool {
        self.root == other.root && self.path == other.path
    }

    /// This reference with further steps below it.
    pub fn child(&self, names: &[&str]) -> Self {
        let mut text = if self.text.starts_with('[') { self.text.to_string() } else { format!("[{}]", self.text) };
        let mut path = self.path.to_vec();
        for name in names {
            text.push_str(&format!("[{name}]"));
            path.push(Segment { name: Text::from(*name), index: index_of(name) });
        }
        Self::new(Text::from(text), self.root, path.into())
    }
}

/// The top-level field without a name: the stand-in for a required reference that is missing.
impl Default for FieldRef {
    fn default() -> Self {
        Self::top("")
    }
}

impl std::fmt::Display for FieldRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

fn index_of(name: &str) -> Option<i64> {
    let digits = name.strip_prefix(['-', '+']).unwrap_or(name);
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| name.parse().ok())?
}

fn unescape(name: &str, style: EscapeStyle) -> String {
    match style {
        EscapeStyle::None => name.to_owned(),
        EscapeStyle::Percent => unescape_percent(name),
        EscapeStyle::Ampersand => unescape_ampersand(name),
    }
}

/// Decodes `%XX` with capital digits. A name that holds at least one also has its `+` turned into blanks: an
/// accident of the decoder that Logstash uses.
fn unescape_percent(name: &str) -> String {
    let hex = |b: Option<&u8>| match b {
        Some(b @ b'0'..=b'9') => Some(b - b'0'),
        Some(b @ b'A'..=b'F') => Some(b - b'A' + 10),
        _ => None,
    };
    let bytes = name.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let mut found = false;
    while let Some(&b) = bytes.get(at) {
        if b == b'%'
            && let (Some(high), Some(low)) = (hex(bytes.get(at + 1)), hex(bytes.get(at + 2)))
        {
            out.push(high * 16 + low);
            found = true;
            at += 3;
        } else {
            // 0xFF cannot occur in UTF-8: it keeps the place of a plus until it is known whether to change it.
            out.push(if b == b'+' { 0xFF } else { b });
            at += 1;
        }
    }
    let plus = if found { b' ' } else { b'+' };
    for b in &mut out {
        if *b == 0xFF {
            *b = plus;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Decodes `&#91;`: at least two decimal digits between `&#` and `;`.
fn unescape_ampersand(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("&#") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let digits = from[2..].bytes().take_while(u8::is_ascii_digit).count();
        let code = from.get(2..2 + digits).and_then(|d| d.parse::<u32>().ok()).and_then(char::from_u32);
        match code {
            Some(c) if digits >= 2 && from.as_bytes().get(2 + digits) == Some(&b';') => {
                out.push(c);
                rest = &from[3 + digits..];
            }
            _ => {
                out.push_str("&#");
                rest = &from[2..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Option<Vec<String>> {
        let parsed = FieldRef::parse(text, EscapeStyle::None).ok()?;
        Some(parsed.path().iter().map(|s| s.name.to_string()).collect())
    }

    #[test]
    fn legal_references() {
        assert_eq!(names("a.b"), Some(vec!["a.b".into()]));
        assert_eq!(names(""), Some(vec!["".into()]));
        assert_eq!(names("[a][b]"), Some(vec!["a".into(), "b".into()]));
        assert_eq!(names("[[a][b]][c]"), Some(vec!["a".into(), "b".into(), "c".into()]));
        assert_eq!(names("[[a]]"), Some(vec!["a".into()]));
        assert_eq!(names("[ x ]"), Some(vec![" x ".into()]));
        assert_eq!(names("[@metadata]"), Some(vec![]));
    }

    #[test]
    fn illegal_references() {
        for text in ["a[b]", "[a]b", "[a] [b]", " [a]", "[a] ", "[]", "[a][]", "[a", "a]", "[a]]", "[[a]b]", "[a[b]]"] {
            assert_eq!(names(text), None, "{text}");
        }
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape_percent("a%5B0%5D+"), "a[0] ");
        assert_eq!(unescape_percent("a%5b+"), "a%5b+");
        assert_eq!(unescape_ampersand("a&#91;0&#93;&#9;&amp;&#"), "a[0]&#9;&amp;&#");
    }
}
