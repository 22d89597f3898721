//! Settings that were set, each with the place where, layered: a later layer wins.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;

use super::kind::{Raw, Value};
use super::table::{self, Setting};
use crate::config::source::Span;

/// Who set a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody.
    Default,
    /// A settings file: the place for people (`logstash.yml:3`), and the value's place in the sources.
    File {
        /// `logstash.yml:3`.
        shown: String,
        /// The value.
        span: Span,
    },
    /// A flag of the command line, as the user wrote it.
    Flag(String),
}

impl Origin {
    /// The place in a file.
    pub fn span(&self) -> Option<Span> {
        match self {
            Origin::File { span, .. } => Some(*span),
            Origin::Default | Origin::Flag(_) => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("by default"),
            Origin::File { shown, .. } => f.write_str(shown),
            Origin::Flag(flag) => write!(f, "command line ({flag})"),
        }
    }
}

/// A value and who set it.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// Of the setting's type.
    pub value: Value,
    /// Who set it.
    pub origin: Origin,
}

/// The settings of a file, of the command line, or of several layers together.
#[derive(Clone, Debug, Default)]
pub struct Values(IndexMap<&'static str, Set>);

impl Values {
    /// Sets one; returns what it was before.
    pub fn set(&mut self, setting: &'static Setting, value: Value, origin: Origin) -> Option<Set> {
        self.0.insert(setting.name, Set { value, origin })
    }

    /// Back to the default, whatever lower layers say.
    pub fn reset(&mut self, setting: &'static Setting) {
        self.0.insert(setting.name, Set { value: default_of(setting), origin: Origin::Default });
    }

    /// These, overridden by those of a higher layer.
    #[must_use]
    pub fn overridden_by(&self, higher: &Values) -> Values {
        let mut all = self.clone();
        all.0.extend(higher.0.iter().map(|(name, set)| (*name, set.clone())));
        all
    }

    /// All that were set, in the order in which they were.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Set)> {
        self.0.iter().map(|(name, set)| (*name, set)).filter(|(_, set)| set.origin != Origin::Default)
    }

    /// One that somebody set, to something.
    pub fn explicit(&self, name: &str) -> Option<&Set> {
        self.0.get(name).filter(|set| set.origin != Origin::Default && set.value != Value::None)
    }

    /// Who set one.
    pub fn origin(&self, name: &str) -> Origin {
        self.0.get(name).map_or(Origin::Default, |set| set.origin.clone())
    }

    /// The value of one, the default if nobody set it.
    pub fn get(&self, name: &str) -> Value {
        match (self.0.get(name), table::find(name)) {
            (Some(set), _) => set.value.clone(),
            (None, Some(setting)) => default_of(setting),
            (None, None) => Value::None,
        }
    }

    /// A text, if there is one.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.get(name) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A path, if there is one.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    /// A truth; false where there is none.
    pub fn bool(&self, name: &str) -> bool {
        self.get(name) == Value::Bool(true)
    }

    /// A whole number, if there is one; fractions are cut off.
    pub fn integer(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Value::Integer(n) => Some(n),
            Value::Number(n) => Some(n as u64),
            _ => None,
        }
    }

    /// A number of milliseconds.
    pub fn milliseconds(&self, name: &str) -> Duration {
        match self.get(name) {
            Value::Number(ms) => Duration::try_from_secs_f64(ms / 1000.0).unwrap_or(Duration::MAX),
            _ => Duration::ZERO,
        }
    }

    /// A span of time; `None` is never.
    pub fn time(&self, name: &str) -> Option<Duration> {
        match self.get(name) {
            Value::Time(time) => time,
            _ => None,
        }
    }

    /// One of some words.
    pub fn word(&self, name: &str) -> &'static str {
        match self.get(name) {
            Value::Word(word) => word,
            _ => "",
        }
    }

    /// Several texts.
    pub fn list(&self, name: &str) -> Vec<String> {
        match self.get(name) {
            Value::List(items) => items,
            _ => Vec::new(),
        }
    }
}

/// What a setting is unless set.
pub fn default_of(setting: &Setting) -> Value {
    if setting.default.is_empty() {
        return Value::None;
    }
    // Read as YAML would, so that the table shows defaults as one writes them; a test reads them all.
    let raw = Raw::Scalar { text: setting.default.to_owned(), plain: true };
    setting.kind.read(&raw).unwrap_or(Value::None)
}
