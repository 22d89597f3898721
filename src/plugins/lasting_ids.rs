//! Ids of events that outlast a retry, a restart and a replay, for outputs that must not store an event twice.
//!
//! They cost nothing in a pipeline without such an output: an output asks for them while it is built ([`LastingIds`]),
//! and only then the inputs give them. An input that knows where in its source an event stands names it by that
//! ([`Source`]), so that reading again gives the same id; the events of other inputs get a random one when they enter
//! the queue. The id stands in `[@metadata][spillway]`, which persistent queues and dead letter queues keep. What a
//! filter makes of an event is numbered ([`derive()`]), in the order in which it was made.

use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::event::{Event, Map, TIMESTAMP, Text, VERSION, Value, json};

/// Where the id stands in `@metadata`.
const FIELD: &str = "spillway";
/// The id itself.
const ID: &str = "id";
/// How many events were made of this one.
const DERIVED: &str = "derived";
/// Bytes of a digest that make an id.
const ID_BYTES: usize = 16;

/// Whether a plugin of the pipeline wants the ids. There is one for each pipeline, in its [`super::Commons`].
#[derive(Debug, Default)]
pub struct LastingIds {
    wanted: AtomicBool,
}

impl LastingIds {
    /// From now on inputs give ids. Called while plugins are built.
    pub fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Whether inputs have to give ids. Known once all plugins are built.
    pub fn are_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }
}

/// A source in which each event has a place: a file, a partition, a queue.
#[derive(Clone)]
pub(crate) struct Source(Sha256);

impl Source {
    /// `parts` tell the source from all others of its kind.
    pub fn new(kind: &str, parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        add(&mut hasher, kind.as_bytes());
        parts.iter().for_each(|part| add(&mut hasher, part));
        Self(hasher)
    }

    /// Names the events that were read at `place`, in their order. The id hangs on what is in the event, too: a file
    /// that is written anew has other events at the same place.
    pub fn name(&self, place: u64, events: &mut [Event]) {
        let mut hasher = self.0.clone();
        hasher.update(place.to_le_bytes());
        let mut bytes = Vec::new();
        for (number, event) in (0_u64..).zip(events) {
            let mut hasher = hasher.clone();
            hasher.update(number.to_le_bytes());
            bytes.clear();
            write_content(event, &mut bytes);
            hasher.update(&bytes);
            set(event, finished(hasher));
        }
    }
}

/// The id of an event that has one.
pub(crate) fn of(event: &Event) -> Option<&Text> {
    match event.metadata().get(FIELD)?.as_map()?.get(ID)? {
        Value::String(id) => Some(id),
        _ => None,
    }
}

/// Gives an event that has no id a random one.
pub(crate) fn give(event: &mut Event) {
    if of(event).is_none() {
        set(event, random());
    }
}

/// An id that no other event has.
pub(crate) fn random() -> Text {
    Text::from(BASE64_URL_SAFE_NO_PAD.encode(uuid::Uuid::new_v4().as_bytes()))
}

/// Tells events apart that a filter made of `parent`, and from it. Those that are no copies of it are left alone.
pub(crate) fn derive<'a>(parent: &mut Event, children: impl Iterator<Item = &'a mut Event>) {
    let Some(id) = of(parent).cloned() else { return };
    let known = parent.metadata().get(FIELD).and_then(Value::as_map).and_then(|map| map.get(DERIVED));
    let mut number = known.and_then(Value::as_integer).unwrap_or(0);
    for child in children.filter(|child| of(child) == Some(&id)) {
        number += 1;
        let mut hasher = Sha256::new();
        add(&mut hasher, id.as_bytes());
        hasher.update(number.to_le_bytes());
        set(child, finished(hasher));
    }
    if let Some(Value::Map(map)) = parent.metadata_mut().get_mut(FIELD) {
        map.insert(Text::borrowed(DERIVED), number);
    }
}

fn set(event: &mut Event, id: Text) {
    let mut map = Map::with_capacity(1);
    map.insert(Text::borrowed(ID), Value::String(id));
    event.metadata_mut().insert(Text::borrowed(FIELD), map);
}

/// The length goes first, so that `a`, `bc` and `ab`, `c` differ.
fn add(hasher: &mut Sha256, part: &[u8]) {
    hasher.update((part.len() as u64).to_le_bytes());
    hasher.update(part);
}

/// What was read, without the time of reading.
fn write_content(event: &Event, out: &mut Vec<u8>) {
    for (name, value) in event.fields().iter().filter(|(name, _)| *name != TIMESTAMP && *name != VERSION) {
        json::write_string(name, out);
        json::write_value(value, out);
    }
}

fn finished(hasher: Sha256) -> Text {
    let digest = hasher.finalize();
    Text::from(BASE64_URL_SAFE_NO_PAD.encode(digest.get(..ID_BYTES).unwrap_or(&digest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Timestamp;

    fn named(kind: &str, place: u64, texts: &[&'static str]) -> Vec<Text> {
        let event = |text: &&'static str| Event::from_message(Text::from(*text), Timestamp::now());
        let mut events: Vec<Event> = texts.iter().map(event).collect();
        Source::new(kind, &[b"x"]).name(place, &mut events);
        events.iter().map(|event| of(event).unwrap().clone()).collect()
    }

    #[test]
    fn an_id_hangs_on_source_place_number_and_content_and_not_on_the_time() {
        let ids = named("file", 7, &["a", "a"]);
        assert_eq!(ids, named("file", 7, &["a", "a"]));
        assert_ne!(ids[0], ids[1]);
        for other in [named("file", 8, &["a"]), named("kafka", 7, &["a"]), named("file", 7, &["b"])] {
            assert_ne!(other[0], ids[0]);
        }
        assert!(ids[0].len() == 22, "{}", ids[0]);
    }

    #[test]
    fn what_is_made_of_an_event_is_told_apart_in_the_same_way_each_time() {
        let made = || {
            let mut parent = Event::new();
            Source::new("file", &[]).name(0, std::slice::from_mut(&mut parent));
            let mut children = [parent.clone(), parent.clone()];
            derive(&mut parent, children.iter_mut());
            let mut later = [parent.clone()];
            derive(&mut parent, later.iter_mut());
            let [mut a, b] = children;
            let mut grandchild = [a.clone()];
            derive(&mut a, grandchild.iter_mut());
            [parent, a, b].iter().chain(&later).chain(&grandchild).map(|e| of(e).unwrap().to_string()).collect()
        };
        let ids: Vec<String> = made();
        assert_eq!(ids, made());
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 5, "{ids:?}");
    }

    #[test]
    fn an_id_stays_once_it_is_there() {
        let mut event = Event::new();
        give(&mut event);
        let id = of(&event).unwrap().clone();
        give(&mut event);
        assert_eq!(of(&event), Some(&id));
        let mut stranger = Event::new();
        derive(&mut event, std::iter::once(&mut stranger));
        assert_eq!(of(&stranger), None);
    }
}
