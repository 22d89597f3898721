//! Which item of a reply belongs to which action.
//!
//! Servers answer in the order of the actions, except when an ingest pipeline dropped one document and failed on
//! another: those two may change places. So items are paired by id wherever ids were sent. Where none was sent, a
//! reply with both kinds is ambiguous.

use std::collections::{HashMap, VecDeque};

use super::action::Action;
use super::reply::Item;

/// Items in the order of the actions.
#[derive(Debug, PartialEq)]
pub(super) struct Paired {
    /// One per action.
    pub items: Vec<Item>,
    /// Places whose items may belong to each other's actions.
    pub ambiguous: Vec<bool>,
}

/// Pairs as many items as there are actions.
pub(super) fn pair(actions: &[Action], items: Vec<Item>) -> Paired {
    let items = if in_order(actions, &items) { items } else { by_id(actions, items) };
    let mut ambiguous = vec![false; items.len()];
    let anonymous = |place: usize| actions.get(place).is_some_and(|action| action.id.is_none());
    let dropped: Vec<usize> = places(&items, |place, item| {
        actions.get(place).is_some_and(|action| action.id.is_none() && item.is_dropped(action))
    });
    let failed: Vec<usize> =
        places(&items, |place, item| anonymous(place) && (item.has_error() || !matches!(item.status, 200 | 201)));
    if !dropped.is_empty() && !failed.is_empty() {
        for place in dropped.into_iter().chain(failed) {
            if let Some(slot) = ambiguous.get_mut(place) {
                *slot = true;
            }
        }
    }
    Paired { items, ambiguous }
}

fn places(items: &[Item], wanted: impl Fn(usize, &Item) -> bool) -> Vec<usize> {
    items.iter().enumerate().filter(|(place, item)| wanted(*place, item)).map(|(place, _)| place).collect()
}

/// Whether every id that came back stands where it was sent. Replies without ids have nothing to say against it.
fn in_order(actions: &[Action], items: &[Item]) -> bool {
    actions.iter().zip(items).all(|(action, item)| match (&action.id, &item.id) {
        (Some(sent), Some(came)) => sent == came,
        _ => true,
    })
}

/// Gives each action the first item with its id, and what is left to the others in order.
fn by_id(actions: &[Action], items: Vec<Item>) -> Vec<Item> {
    let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
    let mut known: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        if let Some(id) = item.as_ref().and_then(|item| item.id.as_ref()) {
            known.entry(id.to_string()).or_default().push_back(at);
        }
    }
    let mut paired: Vec<Option<Item>> = Vec::with_capacity(actions.len());
    for action in actions {
        let at = action.id.as_ref().and_then(|id| known.get_mut(id.as_str())?.pop_front());
        paired.push(at.and_then(|at| items.get_mut(at)?.take()));
    }
    let mut left = items.into_iter().flatten();
    paired.into_iter().filter_map(|item| item.or_else(|| left.next())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::action::Kind;
    use super::*;
    use crate::event::{Map, Text};

    fn action(id: Option<&str>) -> Action {
        Action { event: 0, kind: Kind::Index, start: 0, line_end: 0, end: 0, id: id.map(Text::from) }
    }

    fn item(status: i64, id: Option<&str>) -> Item {
        Item { action: "index".into(), id: id.map(Text::from), status, body: Map::new() }
    }

    #[test]
    fn items_out_of_order_are_paired_by_id() {
        let actions: Vec<Action> = ["A", "B", "C", "D"].iter().map(|id| action(Some(id))).collect();
        let reply = [("A", 201), ("C", 400), ("B", 200), ("D", 201)];
        let items = reply.iter().map(|(id, status)| item(*status, Some(id))).collect();
        let paired = pair(&actions, items);
        assert_eq!(paired.items.iter().map(|i| i.status).collect::<Vec<_>>(), [201, 200, 400, 201]);
        assert_eq!(paired.ambiguous, [false; 4]);
    }

    #[test]
    fn equal_ids_keep_their_order() {
        let actions: Vec<Action> = ["A", "A", "B"].iter().map(|id| action(Some(id))).collect();
        let items = vec![item(201, Some("B")), item(400, Some("A")), item(200, Some("A"))];
        let statuses: Vec<i64> = pair(&actions, items).items.iter().map(|i| i.status).collect();
        assert_eq!(statuses, [400, 200, 201]);
    }

    #[test]
    fn dropped_and_failed_without_ids_cannot_be_told_apart() {
        let actions = vec![action(None); 4];
        let items = [201, 400, 200, 201].map(|status| item(status, None)).to_vec();
        assert_eq!(pair(&actions, items).ambiguous, [false, true, true, false]);
        let items = [201, 400, 201, 400].map(|status| item(status, None)).to_vec();
        assert_eq!(pair(&actions, items).ambiguous, [false; 4]);
    }
}
