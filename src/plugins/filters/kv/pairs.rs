//! From the pairs of a text to the fields they make.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use super::characters::Cutter;
use super::scanner::{Pair, Scanner, TookTooLong};
use crate::event::{Event, Map, Template, Text, Value};
use crate::plugins::filters::text::Change;

/// How deep pairs may stand in values of pairs; deeper ones stay text.
const DEEPEST: usize = 50;

/// Values of a key from which on they are looked up and no longer compared one by one.
const LONG_LIST: usize = 32;

/// What is done with keys and values.
pub(super) struct Rules {
    pub key: Edits,
    pub value: Edits,
    /// Only these keys, unless there are none.
    pub include: Names,
    pub exclude: Names,
    pub prefix: Template,
    pub allow_duplicate_values: bool,
    pub allow_empty_values: bool,
    pub is_recursive: bool,
}

/// Changes to a text, in this order.
#[derive(Default)]
pub(super) struct Edits {
    pub trim: Option<Cutter>,
    pub remove: Option<Cutter>,
    pub transform: Option<Change>,
}

impl Edits {
    #[inline]
    fn apply(&self, mut text: Text) -> Result<Text, TookTooLong> {
        if let Some(cutter) = &self.trim {
            text = cutter.cut(text)?;
        }
        if let Some(cutter) = &self.remove {
            text = cutter.cut(text)?;
        }
        Ok(match self.transform {
            Some(change) => change(&text).unwrap_or(text),
            None => text,
        })
    }
}

/// Names of an option.
pub(super) enum Names {
    /// The same for every event.
    Fixed(Vec<Text>),
    PerEvent(Vec<Template>),
}

impl Names {
    /// From the templates of an option.
    pub fn new(templates: Vec<Template>) -> Self {
        let fixed: Option<Vec<Text>> = templates.iter().map(|template| template.as_constant().cloned()).collect();
        fixed.map_or(Self::PerEvent(templates), Self::Fixed)
    }

    fn of(&self, event: &Event) -> Cow<'_, [Text]> {
        match self {
            Self::Fixed(names) => Cow::Borrowed(names),
            Self::PerEvent(templates) => Cow::Owned(templates.iter().map(|template| template.render(event)).collect()),
        }
    }
}

/// The names that hang on the event.
pub(super) struct EventNames<'r> {
    prefix: Text,
    include: Cow<'r, [Text]>,
    exclude: Cow<'r, [Text]>,
}

impl Rules {
    /// The names for an event.
    pub fn names_for(&self, event: &Event) -> EventNames<'_> {
        let prefix = self.prefix.render(event);
        EventNames { prefix, include: self.include.of(event), exclude: self.exclude.of(event) }
    }
}

/// Pairs while they are collected.
pub(super) struct Pairs<'p> {
    scanner: &'p Scanner,
    rules: &'p Rules,
    names: &'p EventNames<'p>,
    timeout: Option<Duration>,
    /// When a pattern was tried first.
    started: Option<Instant>,
    depth: usize,
    found: &'p mut Map,
    /// The texts in the long lists of `found`, when none may be there twice.
    known: HashMap<Text, HashSet<Text>>,
}

impl<'p> Pairs<'p> {
    pub fn new(
        scanner: &'p Scanner,
        rules: &'p Rules,
        names: &'p EventNames<'p>,
        timeout: Option<Duration>,
        found: &'p mut Map,
    ) -> Self {
        Self { scanner, rules, names, timeout, started: None, depth: 0, found, known: HashMap::new() }
    }

    /// Adds the pairs of a text.
    pub fn add_all(&mut self, text: &Text) -> Result<(), TookTooLong> {
        let mut scan = self.scanner.scan(text)?;
        let may_take_long = scan.is_by_pattern();
        while let Some(pair) = scan.next().transpose()? {
            if may_take_long {
                self.check_time()?;
            }
            self.add(text, &pair)?;
        }
        Ok(())
    }

    fn check_time(&mut self) -> Result<(), TookTooLong> {
        let started = *self.started.get_or_insert_with(Instant::now);
        if self.timeout.is_some_and(|timeout| started.elapsed() > timeout) { Err(TookTooLong) } else { Ok(()) }
    }

    fn add(&mut self, text: &Text, pair: &Pair) -> Result<(), TookTooLong> {
        let value = pair.value.clone().map(|range| text.piece(range)).unwrap_or_default();
        if value.is_empty() && !self.rules.allow_empty_values {
            return Ok(());
        }
        let key = self.rules.key.apply(text.piece(pair.key.clone()))?;
        let EventNames { prefix, include, exclude } = self.names;
        if !include.is_empty() && !include.contains(&key) || exclude.contains(&key) {
            return Ok(());
        }
        let key = if prefix.is_empty() { key } else { Text::from(format!("{prefix}{key}")) };
        let value = self.rules.value.apply(value)?;
        if !self.rules.allow_duplicate_values && self.has(&key, &value) {
            return Ok(());
        }
        let value = match self.inner(&value)? {
            Some(inner) => Value::Map(inner),
            None => {
                if let Some(known) = self.known.get_mut(&key) {
                    known.insert(value.clone());
                }
                Value::String(value)
            }
        };
        self.store(key, value);
        Ok(())
    }

    /// Whether the key has this value already.
    fn has(&mut self, key: &Text, value: &Text) -> bool {
        match self.found.get_text(key) {
            Some(Value::Array(list)) if list.len() >= LONG_LIST => match self.known.get(key) {
                Some(known) => known.contains(value),
                None => {
                    let known: HashSet<Text> = list.iter().filter_map(Value::as_text).cloned().collect();
                    let has = known.contains(value);
                    self.known.insert(key.clone(), known);
                    has
                }
            },
            Some(old) => holds(old, value),
            None => false,
        }
    }

    /// The pairs in a value.
    fn inner(&self, value: &Text) -> Result<Option<Map>, TookTooLong> {
        if !self.rules.is_recursive || self.depth >= DEEPEST {
            return Ok(None);
        }
        let mut found = Map::new();
        let &Self { scanner, rules, names, timeout, started, depth, .. } = self;
        let known = HashMap::new();
        Pairs { scanner, rules, names, timeout, started, depth: depth + 1, found: &mut found, known }.add_all(value)?;
        Ok(Some(found).filter(|found| !found.is_empty()))
    }

    /// A second value for a key makes a list.
    fn store(&mut self, key: Text, value: Value) {
        let slot = self.found.slot(&key);
        match slot {
            Value::Null => *slot = value,
            Value::Array(list) => list.push(value),
            _ => {
                let first = std::mem::take(slot);
                *slot = Value::Array(vec![first, value]);
            }
        }
    }
}

/// Ruby's `include?`: a list holds an element, a text a part, a map a key.
fn holds(old: &Value, value: &Text) -> bool {
    match old {
        Value::String(text) => text.contains(value.as_str()),
        Value::Array(list) => list.iter().any(|element| element.as_text() == Some(value)),
        Value::Map(map) => map.contains_key(value),
        _ => false,
    }
}
