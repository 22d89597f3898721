//! What becomes of each item of a reply: the table of statuses.

use super::action::{Action, Kind};
use super::pairing;
use super::reply::Item;

/// The options that sort items.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// `dlq_custom_codes`.
    pub custom_codes: Vec<i64>,
    /// `drop_error_types`.
    pub dropped: Vec<String>,
    /// `silence_errors_in_log`.
    pub silent: Vec<String>,
    /// Whether there is a dead letter queue.
    pub dead_letters: bool,
}

/// What becomes of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The server has it.
    Done,
    /// It is thrown away: a conflict, or a type of error that the user wants dropped.
    Drop,
    /// It will never be accepted.
    Dead,
    /// It will never be accepted, or was dropped by an ingest pipeline: the reply does not tell which.
    Ambiguous,
    /// It may be accepted later.
    Retry,
}

impl Rules {
    /// Whether drops and retries for this type of error go unlogged.
    pub fn is_silent(&self, error_type: &str) -> bool {
        self.silent.iter().any(|silent| silent == error_type)
    }

    /// The verdict on each action, with the item that led to it.
    pub fn judge(&self, actions: &[Action], items: Vec<Item>) -> Vec<(Item, Verdict)> {
        let paired = pairing::pair(actions, items);
        let mut judged = Vec::with_capacity(paired.items.len());
        let mut waits = false;
        for ((item, action), ambiguous) in paired.items.into_iter().zip(actions).zip(&paired.ambiguous) {
            let verdict = self.verdict(&item, action.kind);
            waits |= *ambiguous && verdict == Verdict::Retry;
            judged.push((item, if *ambiguous { Verdict::Ambiguous } else { verdict }));
        }
        // Nothing of what cannot be told apart was stored: when one of them is worth another try, all can be sent again.
        if waits {
            for (_, verdict) in judged.iter_mut().filter(|(_, verdict)| *verdict == Verdict::Ambiguous) {
                *verdict = Verdict::Retry;
            }
        }
        judged
    }

    fn verdict(&self, item: &Item, kind: Kind) -> Verdict {
        match item.status {
            200 | 201 => Verdict::Done,
            409 => Verdict::Drop,
            _ if self.dropped.iter().any(|dropped| dropped == item.error_type()) => Verdict::Drop,
            // What should be gone is not there.
            404 if kind == Kind::Delete && !item.has_error() => Verdict::Done,
            400 | 404 => Verdict::Dead,
            status if self.custom_codes.contains(&status) => Verdict::Dead,
            _ => Verdict::Retry,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Map, Value};

    fn item(status: i64, error: Option<&'static str>) -> Item {
        let error = error.map(|t| Value::Map([("type", Value::from(t))].into_iter().collect()));
        let body: Map = error.into_iter().map(|error| ("error", error)).collect();
        Item { action: "index".into(), id: None, status, body }
    }

    #[test]
    fn the_table() {
        let rules = Rules {
            custom_codes: vec![403, 429],
            dropped: vec!["old".to_owned()],
            silent: Vec::new(),
            dead_letters: true,
        };
        for (status, error, verdict) in [
            (200, None, Verdict::Done),
            (201, None, Verdict::Done),
            (409, Some("version_conflict_engine_exception"), Verdict::Drop),
            (400, Some("old"), Verdict::Drop),
            (503, Some("old"), Verdict::Drop),
            (400, Some("t"), Verdict::Dead),
            (404, Some("t"), Verdict::Dead),
            (404, None, Verdict::Dead),
            (403, Some("t"), Verdict::Dead),
            (429, Some("t"), Verdict::Dead),
            (202, None, Verdict::Retry),
            (401, Some("t"), Verdict::Retry),
            (413, Some("t"), Verdict::Retry),
            (500, Some("t"), Verdict::Retry),
            (503, None, Verdict::Retry),
            (0, None, Verdict::Retry),
        ] {
            assert_eq!(rules.verdict(&item(status, error), Kind::Index), verdict, "{status} {error:?}");
        }
        assert_eq!(rules.verdict(&item(404, None), Kind::Delete), Verdict::Done);
        assert_eq!(rules.verdict(&item(404, Some("index_not_found_exception")), Kind::Delete), Verdict::Dead);
        assert_eq!(Rules::default().verdict(&item(403, Some("t")), Kind::Index), Verdict::Retry);
    }

    #[test]
    fn what_cannot_be_told_apart_is_sent_again_when_one_of_it_is_worth_it() {
        let action = |start| Action { event: 0, kind: Kind::Index, start, line_end: 0, end: 0, id: None };
        let actions: Vec<Action> = (0..3).map(action).collect();
        let verdicts = |statuses: [i64; 3]| -> Vec<Verdict> {
            let items = statuses.map(|status| item(status, None)).to_vec();
            Rules::default().judge(&actions, items).into_iter().map(|(_, verdict)| verdict).collect()
        };
        assert_eq!(verdicts([201, 200, 400]), [Verdict::Done, Verdict::Ambiguous, Verdict::Ambiguous]);
        assert_eq!(verdicts([400, 200, 500]), [Verdict::Retry, Verdict::Retry, Verdict::Retry]);
    }
}
