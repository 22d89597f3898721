//! Many conditions that compare one field with different texts, decided by one look-up.
//!
//! Configurations that serve many kinds of events have hundreds of `if [type] == "…"` in a row, or one long chain of
//! `else if`. Evaluated one by one they would cost every event the sum of all of them.

use std::collections::HashMap;

use crate::config::condition::Condition;
use crate::event::{Event, FieldRef, Text, Value};

/// From how many conditions on a look-up is cheaper than evaluating them.
const WORTH_IT: usize = 4;

/// Which of a list of conditions are true for a text. All of them compare the same field.
pub(super) struct Dispatch {
    field: FieldRef,
    /// Places in the list, ascending.
    places: HashMap<Text, Vec<usize>>,
}

impl Dispatch {
    /// `None` when the conditions are too few, or not all of them compare the same field with a text.
    pub fn of<'c>(conditions: impl Iterator<Item = &'c Condition>) -> Option<Self> {
        let mut dispatch: Option<Self> = None;
        let mut count = 0;
        for (place, condition) in conditions.enumerate() {
            let (field, text) = condition.equals_literal()?;
            let known = dispatch.get_or_insert_with(|| Self { field: field.clone(), places: HashMap::new() });
            if !is_same(&known.field, field) {
                return None;
            }
            known.places.entry(text.clone()).or_default().push(place);
            count += 1;
        }
        dispatch.filter(|_| count >= WORTH_IT)
    }

    /// The first condition at `from` or behind it that is true for this event.
    pub fn next(&self, event: &Event, from: usize) -> Option<usize> {
        let Some(Value::String(text)) = event.get(&self.field) else { return None };
        self.places.get(text.as_str())?.iter().copied().find(|place| *place >= from)
    }
}

/// Whether both conditions compare the same field with a text.
pub(super) fn compare_one_field(a: &Condition, b: &Condition) -> bool {
    matches!((a.equals_literal(), b.equals_literal()), (Some((a, _)), Some((b, _))) if is_same(a, b))
}

fn is_same(a: &FieldRef, b: &FieldRef) -> bool {
    a.root() == b.root() && a.path() == b.path()
}
