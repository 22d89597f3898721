//! The syntax tree of a pipeline, after variables were replaced, repeated settings merged and conditions compiled.

use super::source::Span;
use crate::event::Text;

/// What a plugin does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PluginKind {
    /// Brings events in.
    Input,
    /// Changes events.
    Filter,
    /// Takes events out.
    Output,
    /// Turns bytes into events and back, inside an input or output.
    Codec,
}

impl PluginKind {
    /// `input`, `filter`, `output`, `codec`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Filter => "filter",
            Self::Output => "output",
            Self::Codec => "codec",
        }
    }
}

impl std::fmt::Display for PluginKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A whole pipeline: the sections of all its files, joined in file order.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// All `input` sections. Conditions around inputs are ignored: the bodies are taken out flat.
    pub inputs: Vec<PluginBlock>,
    /// All `filter` sections, one chain.
    pub filters: Vec<Node>,
    /// All `output` sections.
    pub outputs: Vec<Node>,
}

/// A step of a section.
#[derive(Clone, Debug)]
pub enum Node {
    /// `mutate { … }`
    Plugin(PluginBlock),
    /// `if … { … } else if … { … } else { … }`
    Branch(Branch),
}

/// An `if` with its alternatives.
#[derive(Clone, Debug)]
pub struct Branch {
    /// `if` and every `else if`, in order.
    pub arms: Vec<Arm>,
    /// `else`; empty when there is none.
    pub otherwise: Vec<Node>,
    /// From `if` to the last closing brace.
    pub span: Span,
}

/// One condition and what it leads to.
#[derive(Clone, Debug)]
pub struct Arm {
    /// When this arm is taken.
    pub condition: super::condition::Condition,
    /// The steps inside the braces.
    pub body: Vec<Node>,
}

/// `name { setting => value … }`
#[derive(Clone, Debug)]
pub struct PluginBlock {
    /// From the section, or codec.
    pub kind: PluginKind,
    /// As written.
    pub name: String,
    /// Where the name stands.
    pub name_span: Span,
    /// From the name to the closing brace.
    pub span: Span,
    /// In the order of their first mention; no name twice.
    pub settings: Vec<Setting>,
}

/// `name => value`
#[derive(Clone, Debug)]
pub struct Setting {
    /// Without quotes.
    pub name: String,
    /// Where the name stands (its first mention).
    pub name_span: Span,
    /// After merging and variables.
    pub value: Literal,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Literal {
    /// All of it, quotes and brackets included.
    pub span: Span,
    /// What it is.
    pub kind: LiteralKind,
}

/// What can stand on the right of `=>`.
#[derive(Clone, Debug)]
pub enum LiteralKind {
    /// A quoted string or a bareword, escapes and variables resolved.
    String(Text),
    /// A whole number.
    Integer(i64),
    /// A number with a point.
    Float(f64),
    /// `[a, b]`
    Array(Vec<Literal>),
    /// `{ k => v }`; keys are strings or numbers, none twice.
    Hash(Vec<(Literal, Literal)>),
    /// `json { charset => "x" }`; only as the whole value of a setting.
    Plugin(Box<PluginBlock>),
}
