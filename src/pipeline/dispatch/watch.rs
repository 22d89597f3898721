//! One field, and which conditions each of its values gives a clue of.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;

use super::Places;
use crate::config::condition::{Clue, Sign};
use crate::event::{FieldRef, Root, Text, Value};

/// Most pieces that are looked for in one text. Beyond it asking is cheaper.
const MOST_PIECES: usize = 1000;

/// Clues on one field. All lists of places are ascending.
pub(super) struct Watch {
    pub field: FieldRef,
    present: Vec<usize>,
    texts: HashMap<Text, Vec<usize>>,
    integers: HashMap<i64, Vec<usize>>,
    /// First and last integer.
    ranges: Vec<(i64, i64, usize)>,
    /// The places of all ranges.
    ranged: Vec<usize>,
    pieces: Option<Pieces>,
    /// The places of all clues.
    all: Vec<usize>,
}

impl Watch {
    /// Clues on the same field, by ascending place. `None` without any.
    pub fn new(clues: Vec<(Clue, usize)>) -> Option<Self> {
        let field = clues.first()?.0.field.clone();
        let mut all: Vec<usize> = clues.iter().map(|(_, place)| *place).collect();
        all.dedup();
        let (mut present, mut ranges) = (Vec::new(), Vec::new());
        let (mut texts, mut integers): (HashMap<_, Vec<_>>, HashMap<_, Vec<_>>) = (HashMap::new(), HashMap::new());
        let mut pieces: HashMap<Box<[u8]>, Vec<usize>> = HashMap::new();
        for (Clue { sign, .. }, place) in clues {
            match sign {
                Sign::Equal(Value::String(text)) => texts.entry(text).or_default().push(place),
                Sign::Equal(Value::Integer(n)) => integers.entry(n).or_default().push(place),
                Sign::Present | Sign::Equal(_) => present.push(place),
                Sign::Piece(piece) => pieces.entry(piece).or_default().push(place),
                Sign::Within(from, to) => ranges.push((from, to, place)),
            }
        }
        let ranged = ranges.iter().map(|(_, _, place)| *place).collect();
        let pieces = Pieces::new(pieces, &mut present);
        Some(Self { field, present, texts, integers, ranges, ranged, pieces, all })
    }

    /// Whether nothing happens without the field, and the field can be found by the name of a top-level one.
    pub fn can_wait(&self) -> bool {
        self.ranges.is_empty() && self.field.root() == Root::Fields
    }

    /// Adds the conditions of which this value of the field is a clue.
    pub fn look_at(&self, value: Option<&Value>, candidates: &mut Places) {
        match value {
            None => return candidates.add_all(&self.ranged),
            Some(Value::String(text)) => {
                candidates.add_all(&self.ranged);
                if let Some(places) = self.texts.get(text) {
                    candidates.add_all(places);
                }
                if self.pieces.as_ref().is_some_and(|pieces| !pieces.find(text, candidates)) {
                    candidates.add_all(&self.all);
                }
            }
            Some(Value::Integer(n)) => {
                if let Some(places) = self.integers.get(n) {
                    candidates.add_all(places);
                }
                for (from, to, place) in &self.ranges {
                    if (*from..=*to).contains(n) {
                        candidates.add(*place);
                    }
                }
            }
            Some(_) => return candidates.add_all(&self.all),
        }
        candidates.add_all(&self.present);
    }
}

/// Pieces of a text, all found in one pass.
struct Pieces {
    automaton: AhoCorasick,
    /// For each piece of the automaton.
    places: Vec<Vec<usize>>,
}

impl Pieces {
    /// Pieces that cannot be looked for are put to those that are asked for every text.
    fn new(pieces: HashMap<Box<[u8]>, Vec<usize>>, present: &mut Vec<usize>) -> Option<Self> {
        if pieces.is_empty() {
            return None;
        }
        let (pieces, places): (Vec<_>, Vec<_>) = pieces.into_iter().unzip();
        match AhoCorasick::new(pieces) {
            Ok(automaton) => Some(Self { automaton, places }),
            Err(_) => {
                present.extend(places.into_iter().flatten());
                None
            }
        }
    }

    /// Adds the conditions whose pieces are in the text. `false` when they are too many to tell.
    fn find(&self, text: &str, candidates: &mut Places) -> bool {
        let mut found = self.automaton.find_overlapping_iter(text);
        for found in found.by_ref().take(MOST_PIECES) {
            if let Some(places) = self.places.get(found.pattern().as_usize()) {
                candidates.add_all(places);
            }
        }
        found.next().is_none()
    }
}
