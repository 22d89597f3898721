//! The maps that the captures of a pattern make in an event.
//!
//! `[http][request][method]` and `[http][version]` lie in one map. Where an event has no `http` yet, that map is made
//! whole: with the room that it needs, and without looking for names that cannot be there.

use super::capture::{Capture, StoreError};
use crate::event::{Event, Map, Text, Value};
use crate::regexp::Groups;

/// Captures that a pattern may have for its layout to be known; one bit of a word for each.
const MOST_CAPTURES: usize = u64::BITS as usize;

/// The fields of a pattern whose captures never meet each other.
#[derive(Debug)]
pub(super) struct Layout(Vec<Branch>);

/// A field, or a map of fields.
#[derive(Debug)]
struct Branch {
    name: Text,
    /// The captures in it, by their place in the pattern, as bits.
    captures: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// The place of the capture in the pattern.
    Field(usize),
    Map(Vec<Branch>),
}

/// What a match found.
struct Found<'m> {
    captures: &'m [Capture],
    text: &'m Text,
    groups: &'m Groups,
    /// The captures that are not empty, as bits.
    present: u64,
}

impl Layout {
    /// The layout of these captures; `None` when one of them has rules of its own, or when two want the same place.
    pub fn of(captures: &[Capture]) -> Option<Self> {
        if captures.len() > MOST_CAPTURES {
            return None;
        }
        let mut branches = Vec::new();
        for (at, capture) in captures.iter().enumerate() {
            insert(&mut branches, &capture.plain_path()?, at)?;
        }
        Some(Self(branches))
    }

    /// Stores the groups of a match, unless a map of the layout is there already: the captures have to be stored one
    /// by one then. Whether it did.
    pub fn store(
        &self,
        captures: &[Capture],
        event: &mut Event,
        text: &Text,
        groups: &Groups,
    ) -> Result<bool, StoreError> {
        let is_map = |branch: &&Branch| matches!(branch.kind, Kind::Map(_));
        if self.0.iter().filter(is_map).any(|branch| event.fields().get_text(&branch.name).is_some()) {
            return Ok(false);
        }
        let is_present = |capture: &Capture| groups.get(capture.group).is_some_and(|range| !range.is_empty());
        let bits = captures.iter().enumerate().map(|(at, capture)| u64::from(is_present(capture)) << at);
        let found = Found { captures, text, groups, present: bits.fold(0, |all, bit| all | bit) };
        for branch in found.taken(&self.0) {
            match &branch.kind {
                Kind::Field(at) => {
                    if let Some(capture) = captures.get(*at) {
                        capture.store(event, found.matched(capture))?;
                    }
                }
                Kind::Map(inside) => {
                    event.fields_mut().add(branch.name.clone(), || Value::Map(found.map(inside)));
                }
            }
        }
        Ok(true)
    }
}

impl<'m> Found<'m> {
    fn taken<'b>(&self, branches: &'b [Branch]) -> impl Iterator<Item = &'b Branch> {
        let present = self.present;
        branches.iter().filter(move |branch| branch.captures & present != 0)
    }

    fn matched(&self, capture: &Capture) -> Option<Text> {
        self.groups.get(capture.group).map(|range| self.text.piece(range))
    }

    fn map(&self, branches: &[Branch]) -> Map {
        let mut map = Map::with_capacity(self.taken(branches).count());
        for branch in self.taken(branches) {
            map.add(branch.name.clone(), || match &branch.kind {
                Kind::Field(at) => self.value(*at),
                Kind::Map(inside) => Value::Map(self.map(inside)),
            });
        }
        map
    }

    fn value(&self, at: usize) -> Value {
        let matched = self.captures.get(at).and_then(|capture| Some(capture.value(self.matched(capture)?)));
        matched.unwrap_or_default()
    }
}

/// Enters the path of a capture; `None` when something is there.
fn insert(branches: &mut Vec<Branch>, path: &[Text], at: usize) -> Option<()> {
    let (name, rest) = path.split_first()?;
    let captures = 1 << at;
    match branches.iter_mut().find(|branch| branch.name == *name) {
        Some(branch) => {
            let Kind::Map(inside) = &mut branch.kind else { return None };
            branch.captures |= captures;
            insert(inside, rest, at)
        }
        None if rest.is_empty() => {
            branches.push(Branch { name: name.clone(), captures, kind: Kind::Field(at) });
            Some(())
        }
        None => {
            let mut inside = Vec::new();
            insert(&mut inside, rest, at)?;
            branches.push(Branch { name: name.clone(), captures, kind: Kind::Map(inside) });
            Some(())
        }
    }
}
