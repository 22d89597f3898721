//! A dictionary that is ready to be looked into: by hash, by all patterns at once, or by one automaton for all keys.

use aho_corasick::{AhoCorasick, MatchKind};
use indexmap::IndexMap;

use crate::event::{Text, Value, text_form};
use crate::regexp::RegexpSet;

/// How a text finds its entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Matching {
    /// It is the key.
    #[default]
    Exact,
    /// The first key that matches as a pattern.
    Patterns,
    /// Every key in it is replaced by its value.
    Parts,
}

/// Keys and values. Never changes; a new version is a new one.
#[derive(Default)]
pub(super) struct Dictionary {
    entries: IndexMap<Text, Value>,
    finder: Finder,
}

#[derive(Default)]
enum Finder {
    #[default]
    Hash,
    Patterns(RegexpSet),
    Parts(AhoCorasick, Vec<String>),
}

impl Dictionary {
    /// Prepares the look-up. The error is one sentence.
    pub fn new(mut entries: IndexMap<Text, Value>, matching: Matching) -> Result<Self, String> {
        for value in entries.values_mut() {
            if let Value::Map(map) = value {
                // So that no event copies it that only passes it on.
                *map = std::mem::take(map).shared();
            }
        }
        let finder = match matching {
            Matching::Exact => Finder::Hash,
            Matching::Patterns => {
                let patterns = entries.keys().map(Text::as_str);
                Finder::Patterns(RegexpSet::new(patterns).map_err(|(key, error)| format!("the key `{key}`: {error}"))?)
            }
            Matching::Parts => {
                let mut builder = AhoCorasick::builder();
                let automaton =
                    builder.match_kind(MatchKind::LeftmostFirst).build(entries.keys().map(|key| key.as_bytes()));
                let texts = entries.values().map(text).collect();
                Finder::Parts(automaton.map_err(|error| error.to_string())?, texts)
            }
        };
        Ok(Self { entries, finder })
    }

    /// The entries, in order.
    pub fn entries(&self) -> &IndexMap<Text, Value> {
        &self.entries
    }

    /// What the dictionary has for a text.
    pub fn find(&self, text: &str) -> Option<Value> {
        match &self.finder {
            Finder::Hash => self.entries.get(text).cloned(),
            Finder::Patterns(patterns) => {
                let (_, value) = self.entries.get_index(patterns.first_match(text)?)?;
                Some(value.clone())
            }
            Finder::Parts(automaton, values) => {
                let mut out = String::with_capacity(text.len());
                let mut copied = 0;
                for found in automaton.find_iter(text) {
                    out.push_str(text.get(copied..found.start()).unwrap_or_default());
                    out.push_str(values.get(found.pattern().as_usize()).map_or("", String::as_str));
                    copied = found.end();
                }
                out.push_str(text.get(copied..).unwrap_or_default());
                (out != text).then(|| Value::from(out))
            }
        }
    }
}

fn text(value: &Value) -> String {
    let mut out = Vec::new();
    text_form::write_ruby(value, &mut out);
    text_form::utf8(out)
}
