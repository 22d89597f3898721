//! The texts a configuration was read from, and places in them.

use std::sync::Arc;

/// One text of a [`Sources`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// A piece of a source, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The text.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// First byte behind it.
    pub end: u32,
}

impl Span {
    /// The place behind it.
    pub fn end(self) -> Self {
        Self { start: self.end, ..self }
    }

    /// Whether they have a byte in common.
    pub fn touches(self, other: Self) -> bool {
        self.source == other.source && self.start < other.end && other.start < self.end
    }
}

/// A text and the name that messages give it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file as the user named it, or `config string`.
    pub name: String,
    /// All of it.
    pub text: Arc<str>,
}

/// All texts of one pipeline.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    texts: Vec<Source>,
    hidden: Vec<Span>,
}

/// A place for people: 1-based line, and column in characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file as the user named it, or `config string`.
    pub file: String,
    /// 1-based.
    pub line: usize,
    /// 1-based, in characters; a tab is one.
    pub column: usize,
}

impl Sources {
    /// Adds a text.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> SourceId {
        let id = SourceId(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.texts.push(Source { name: name.into(), text: text.into() });
        id
    }

    /// A text by its id.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.texts.get(id.0 as usize)
    }

    /// All texts in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.texts.iter().enumerate().map(|(i, s)| (SourceId(i as u32), s))
    }

    /// These pieces hold secrets: messages about the sources do not show them.
    pub fn hide(&mut self, secrets: impl IntoIterator<Item = Span>) {
        self.hidden.extend(secrets);
    }

    /// The pieces of a source that hold secrets.
    pub fn hidden(&self, source: SourceId) -> impl Iterator<Item = Span> {
        self.hidden.iter().copied().filter(move |span| span.source == source)
    }

    /// The text that a span covers.
    pub fn text(&self, span: Span) -> &str {
        self.get(span.source).and_then(|s| s.text.get(span.start as usize..span.end as usize)).unwrap_or_default()
    }

    /// Where a span starts.
    pub fn place(&self, span: Span) -> Place {
        let Some(source) = self.get(span.source) else {
            return Place { file: String::new(), line: 1, column: 1 };
        };
        let before = source.text.get(..span.start as usize).unwrap_or(&source.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Place {
            file: source.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        }
    }
}

impl std::fmt::Display for Place {
    /// `file:line:column`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
