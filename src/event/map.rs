//! An insertion-ordered map from field name to value.
//!
//! Almost every map of a log event has a handful of keys, and comparing those one after the other beats hashing
//! them. A map that outgrows [`SCAN_LIMIT`] switches to a hash index, so that a hostile document with a hundred
//! thousand keys costs linear and not quadratic time. A map that many events have in common (the host of an input)
//! can be shared, and is written as JSON only once then; it becomes an event's own when that event changes it.

use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use super::in_place::push_with;
use super::{Bytes, Text, Value};

/// Number of keys up to which a map is a plain list that is scanned.
const SCAN_LIMIT: usize = 24;

/// Field names and values in insertion order; names are unique.
#[derive(Clone)]
pub struct Map(Repr);

#[derive(Clone)]
enum Repr {
    Scanned(Vec<(Text, Value)>),
    Indexed(Box<IndexMap<Text, Value>>),
    Shared(Arc<Shared>),
}

/// A map that many events have in common, and its text as JSON once that was asked for.
#[derive(Clone)]
struct Shared {
    map: Map,
    json: OnceLock<Option<Box<[u8]>>>,
}

impl Shared {
    fn to_change(shared: &mut Arc<Self>) -> &mut Map {
        let shared = Arc::make_mut(shared);
        shared.json = OnceLock::new();
        &mut shared.map
    }
}

impl Map {
    /// An empty map; does not allocate.
    pub const fn new() -> Self {
        Self(Repr::Scanned(Vec::new()))
    }

    /// An empty map with room for `capacity` fields.
    pub fn with_capacity(capacity: usize) -> Self {
        if capacity > SCAN_LIMIT {
            Self(Repr::Indexed(Box::new(IndexMap::with_capacity(capacity))))
        } else {
            Self(Repr::Scanned(Vec::with_capacity(capacity)))
        }
    }

    /// A map of these fields, whose names all differ.
    pub fn from_unique(fields: Vec<(Text, Value)>) -> Self {
        debug_assert!(fields.iter().enumerate().all(|(i, (k, _))| fields[..i].iter().all(|(other, _)| other != k)));
        let mut map = Self(Repr::Scanned(fields));
        if map.len() > SCAN_LIMIT {
            map.index();
        }
        map
    }

    /// This map, in a form that costs nothing to clone until a clone is changed.
    #[must_use]
    pub fn shared(self) -> Self {
        Self(Repr::Shared(Arc::new(Shared { map: self, json: OnceLock::new() })))
    }

    /// A shared map in a share of its own. Whoever clones and drops it counts apart from all others then: two threads
    /// that count together wait for each other's caches with every event.
    #[must_use]
    pub(crate) fn apart(&self) -> Self {
        match &self.0 {
            Repr::Shared(shared) => shared.map.clone().shared(),
            _ => self.clone(),
        }
    }

    /// Makes a shared map its own, to change it.
    #[inline]
    fn own(&mut self) -> &mut Repr {
        if let Repr::Shared(shared) = &self.0 {
            let own = shared.map.clone();
            *self = own;
        }
        &mut self.0
    }

    /// What `write` makes of a shared map, which is asked only once; `None` for a map of its own, or when `write` gives
    /// nothing.
    #[inline]
    pub(super) fn shared_json(&self, write: impl FnOnce(&Self) -> Option<Box<[u8]>>) -> Option<&[u8]> {
        match &self.0 {
            Repr::Shared(shared) => shared.json.get_or_init(|| write(&shared.map)).as_deref(),
            _ => None,
        }
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Scanned(list) => list.len(),
            Repr::Indexed(map) => map.len(),
            Repr::Shared(shared) => shared.map.len(),
        }
    }

    /// Whether the map has no field.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match &self.0 {
            Repr::Scanned(list) => list.get(find(list, key)?).map(|(_, v)| v),
            Repr::Indexed(map) => map.get(key),
            Repr::Shared(shared) => shared.map.get(key),
        }
    }

    /// As [`Map::get`], for a name that is kept as text: short names are compared as two words.
    #[inline]
    pub fn get_text(&self, key: &Text) -> Option<&Value> {
        match &self.0 {
            Repr::Scanned(list) => list.get(position(list, key)?).map(|(_, v)| v),
            Repr::Indexed(map) => map.get(key),
            Repr::Shared(shared) => shared.map.get_text(key),
        }
    }

    /// The value of `key`, to change in place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        match self.own() {
            Repr::Scanned(list) => find(list, key).and_then(|at| list.get_mut(at)).map(|(_, v)| v),
            Repr::Indexed(map) => map.get_mut(key),
            Repr::Shared(_) => None,
        }
    }

    /// Whether `key` is there, be its value null.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets `key`, in its old place if it was there, else at the end. Returns the old value.
    pub fn insert(&mut self, key: impl Into<Text>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        if !self.has_room() {
            self.make_room();
        }
        match &mut self.0 {
            Repr::Scanned(list) => {
                if let Some((_, old)) = position(list, &key).and_then(|at| list.get_mut(at)) {
                    return Some(std::mem::replace(old, value));
                }
                push_with(list, || (key, value));
                None
            }
            Repr::Indexed(map) => map.insert(key, value),
            Repr::Shared(_) => None,
        }
    }

    /// The place of `key`, to put a value into; null when the key is new.
    pub fn slot(&mut self, key: &Text) -> &mut Value {
        self.get_or_insert_with(key, Value::default)
    }

    /// Enters a key and returns its index, for [`Map::value_at`]. A new key gets null as its value.
    #[inline]
    pub(crate) fn enter(&mut self, key: Text) -> usize {
        if !self.has_room() {
            self.make_room();
        }
        match &mut self.0 {
            Repr::Scanned(list) => match position(list, &key) {
                Some(at) => at,
                None => {
                    push_with(list, || (key, Value::Null));
                    list.len() - 1
                }
            },
            Repr::Indexed(map) => {
                let entry = map.entry(key);
                let at = entry.index();
                entry.or_default();
                at
            }
            Repr::Shared(_) => 0,
        }
    }

    /// The value of the key that [`Map::enter`] said is at `index`. No other key may have been removed since.
    #[inline(always)]
    pub(crate) fn value_at(&mut self, index: usize) -> &mut Value {
        match &mut self.0 {
            Repr::Scanned(list) => &mut list[index].1,
            Repr::Indexed(map) => &mut map[index],
            Repr::Shared(shared) => Shared::to_change(shared).value_at(index),
        }
    }

    /// The value of `key`; a new key comes to the end with `default()`.
    #[inline]
    pub fn get_or_insert_with(&mut self, key: &Text, default: impl FnOnce() -> Value) -> &mut Value {
        if !self.has_room() {
            self.make_room();
        }
        match &mut self.0 {
            Repr::Scanned(list) => match position(list, key) {
                Some(at) => &mut list[at].1,
                None => &mut push_with(list, || (key.clone(), default())).1,
            },
            Repr::Indexed(map) => map.entry(key.clone()).or_insert_with(default),
            Repr::Shared(shared) => Shared::to_change(shared).slot(key),
        }
    }

    /// Adds a key that is known to be new.
    #[inline(always)]
    pub(crate) fn add(&mut self, key: Text, value: impl FnOnce() -> Value) -> &mut Value {
        debug_assert!(!self.contains_key(&key));
        if !self.has_room() {
            return self.get_or_insert_with(&key, value);
        }
        match &mut self.0 {
            Repr::Scanned(list) => &mut push_with(list, || (key, value())).1,
            Repr::Indexed(map) => map.entry(key).or_insert_with(value),
            Repr::Shared(shared) => Shared::to_change(shared).get_or_insert_with(&key, value),
        }
    }

    /// Whether this is a list of its own that can take another field.
    #[inline(always)]
    fn has_room(&self) -> bool {
        matches!(&self.0, Repr::Scanned(list) if list.len() < SCAN_LIMIT)
    }

    /// Makes a shared map its own, and a list that is full an index.
    #[inline]
    fn make_room(&mut self) {
        self.own();
        if !self.has_room() {
            self.index();
        }
    }

    /// From a scanned list to a hash index.
    #[cold]
    fn index(&mut self) {
        if let Repr::Scanned(list) = &mut self.0 {
            let map: IndexMap<Text, Value> = std::mem::take(list).into_iter().collect();
            self.0 = Repr::Indexed(Box::new(map));
        }
    }

    /// Takes `key` out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        match self.own() {
            Repr::Scanned(list) => {
                let at = find(list, key)?;
                Some(list.remove(at).1)
            }
            Repr::Indexed(map) => map.shift_remove(key),
            Repr::Shared(_) => None,
        }
    }

    /// Empties the map.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Takes out all fields, in insertion order. The map keeps its memory, also when not all are asked for.
    pub fn drain(&mut self) -> impl Iterator<Item = (Text, Value)> {
        let (list, map) = match self.own() {
            Repr::Scanned(list) => (Some(list.drain(..)), None),
            Repr::Indexed(map) => (None, Some(map.drain(..))),
            Repr::Shared(_) => (None, None),
        };
        list.into_iter().flatten().chain(map.into_iter().flatten())
    }

    /// Fields in insertion order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Text, &Value)> {
        self.fields()
    }

    fn fields(&self) -> Iter<'_> {
        match &self.0 {
            Repr::Scanned(list) => Iter { list: Some(list.iter()), map: None },
            Repr::Indexed(map) => Iter { list: None, map: Some(map.iter()) },
            Repr::Shared(shared) => shared.map.fields(),
        }
    }

    /// Fields in insertion order, values to change in place.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Text, &mut Value)> {
        let (list, map) = match self.own() {
            Repr::Scanned(list) => (Some(list.iter_mut().map(|(k, v)| (&*k, v))), None),
            Repr::Indexed(map) => (None, Some(map.iter_mut())),
            Repr::Shared(_) => (None, None),
        };
        list.into_iter().flatten().chain(map.into_iter().flatten())
    }

    /// Field names in insertion order.
    pub fn keys(&self) -> impl Iterator<Item = &Text> {
        self.iter().map(|(k, _)| k)
    }
}

/// Where `key` is.
#[inline]
fn find(list: &[(Text, Value)], key: &str) -> Option<usize> {
    if key.len() <= Bytes::inline_capacity() {
        return position(list, &Text::from(key));
    }
    list.iter().position(|(k, _)| k == key)
}

/// Where `key` is. Short names are compared as two words.
#[inline(always)]
fn position(list: &[(Text, Value)], key: &Text) -> Option<usize> {
    if !key.is_short() {
        return position_of_long(list, key);
    }
    list.iter().position(|(k, _)| k.has_words_of(key))
}

#[cold]
fn position_of_long(list: &[(Text, Value)], key: &Text) -> Option<usize> {
    list.iter().position(|(k, _)| k == key)
}

struct Iter<'a> {
    list: Option<std::slice::Iter<'a, (Text, Value)>>,
    map: Option<indexmap::map::Iter<'a, Text, Value>>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a Text, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.list {
            Some(list) => list.next().map(|(k, v)| (k, v)),
            None => self.map.as_mut()?.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let n = match (&self.list, &self.map) {
            (Some(list), _) => list.len(),
            (None, Some(map)) => map.len(),
            (None, None) => 0,
        };
        (n, Some(n))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl Default for Map {
    fn default() -> Self {
        Self::new()
    }
}

/// Equal when they hold the same fields, in whatever order.
impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(k, v)| other.get(k) == Some(v))
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Into<Text>, V: Into<Value>> FromIterator<(K, V)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(iter: I) -> Self {
        let iter = iter.into_iter();
        let mut map = Self::with_capacity(iter.size_hint().0);
        for (k, v) in iter {
            map.insert(k, v);
        }
        map
    }
}

impl IntoIterator for Map {
    type Item = (Text, Value);
    type IntoIter = std::iter::Chain<
        std::iter::Flatten<std::option::IntoIter<std::vec::IntoIter<(Text, Value)>>>,
        std::iter::Flatten<std::option::IntoIter<indexmap::map::IntoIter<Text, Value>>>,
    >;

    fn into_iter(mut self) -> Self::IntoIter {
        self.own();
        let (list, map) = match self.0 {
            Repr::Scanned(list) => (Some(list.into_iter()), None),
            Repr::Indexed(map) => (None, Some(map.into_iter())),
            Repr::Shared(_) => (None, None),
        };
        list.into_iter().flatten().chain(map.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(map: &Map) -> String {
        let mut out = Vec::new();
        crate::event::json::write_map(map, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_shared_map_becomes_a_list_of_its_own_when_it_changes() {
        let shared: Map = [("a", Value::Integer(1)), ("b", Value::Integer(2))].into_iter().collect();
        let shared = shared.shared();
        let (mut entered, mut inserted, mut filled) = (shared.clone(), shared.clone(), shared.clone());
        assert_eq!([entered.enter(Text::from("b")), entered.enter(Text::from("c"))], [1, 2]);
        inserted.insert("c", Value::Null);
        *filled.slot(&Text::from("c")) = Value::Null;
        assert_eq!(written(&shared), r#"{"a":1,"b":2}"#);
        for own in [&entered, &inserted, &filled] {
            assert_eq!(written(own), r#"{"a":1,"b":2,"c":null}"#);
            assert!(matches!(own.0, Repr::Scanned(_)));
            assert_eq!(own.keys().map(Text::as_str).collect::<Vec<_>>(), ["a", "b", "c"]);
        }
        assert_eq!(shared.len(), 2);
    }

    #[test]
    fn a_list_that_is_full_becomes_an_index_in_every_way_of_adding() {
        let names: Vec<Text> = (0..=SCAN_LIMIT).map(|n| Text::from(n.to_string())).collect();
        let ways: [fn(&mut Map, &Text); 3] = [
            |map, name| drop(map.insert(name.clone(), Value::Null)),
            |map, name| _ = map.enter(name.clone()),
            |map, name| *map.slot(name) = Value::Null,
        ];
        for add in ways {
            let mut map = Map::new();
            for name in &names {
                assert!(matches!(map.0, Repr::Scanned(_)));
                add(&mut map, name);
            }
            assert!(matches!(map.0, Repr::Indexed(_)));
            assert!(map.keys().eq(&names));
        }
    }
}
