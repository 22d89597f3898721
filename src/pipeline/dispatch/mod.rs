//! Many conditions in a row, decided for one event at a time by a few look-ups.
//!
//! Configurations that serve many kinds of events have hundreds of `if [type] == "…"` one behind the other, or one
//! long chain of `else if`. Asked one by one they would cost every event the sum of all of them. Here the event is
//! searched for their clues first, and only conditions of which it shows one are asked.

mod places;
mod watch;

use std::collections::HashMap;

use crate::config::condition::{Clue, Condition, ConditionError};
use crate::event::{Event, FieldRef, Root, Text};
pub(super) use places::Places;
use watch::Watch;

/// From how many conditions on looking for clues is cheaper than asking all.
const WORTH_IT: usize = 4;
/// Up to how many fields are looked up each. With more, the fields of the event are gone through instead.
const FEW_FIELDS: usize = 12;
/// How many conditions are asked at once when one before them was true: where that happens often, looking for clues
/// each time would cost more.
const NEAR: usize = 4;

/// A list of conditions that are asked together.
pub(super) struct Dispatch {
    conditions: Box<[Condition]>,
    /// Conditions without clues, ascending.
    always: Vec<usize>,
    /// Fields that are looked up for every event.
    fields: Vec<Watch>,
    /// Fields that are found by their top-level name when the event has it.
    by_name: HashMap<Text, Vec<Watch>>,
}

/// A condition that failed: its place and why.
pub(super) type Failed = (usize, ConditionError);

impl Dispatch {
    /// `None` when the conditions are too few.
    pub fn of<'c>(conditions: impl Iterator<Item = &'c Condition>) -> Option<Self> {
        let conditions: Box<[Condition]> = conditions.cloned().collect();
        if conditions.len() < WORTH_IT {
            return None;
        }
        let mut always = Vec::new();
        let mut watched: HashMap<FieldPath, Vec<(Clue, usize)>> = HashMap::new();
        for (place, condition) in conditions.iter().enumerate() {
            match condition.clues() {
                Some(clues) => {
                    for clue in clues {
                        watched.entry(path(&clue.field)).or_default().push((clue, place));
                    }
                }
                None => always.push(place),
            }
        }
        let few = watched.len() <= FEW_FIELDS;
        let watched = watched.into_values().filter_map(Watch::new);
        let (fields, named): (Vec<_>, Vec<_>) = watched.partition(|watch| few || !watch.can_wait());
        let mut by_name: HashMap<Text, Vec<Watch>> = HashMap::new();
        for watch in named {
            if let Some(name) = watch.field.path().first() {
                by_name.entry(name.name.clone()).or_default().push(watch);
            }
        }
        Some(Self { conditions, always, fields, by_name })
    }

    /// The places of the conditions.
    pub fn places(&self) -> Places {
        Places::up_to(self.conditions.len())
    }

    /// The first condition at `from` or behind it that is true for this event. `candidates` is room to work in, from
    /// [`Dispatch::places`].
    pub fn next(&self, event: &Event, from: usize, candidates: &mut Places) -> Result<Option<usize>, Failed> {
        let near = if from == 0 { 0..0 } else { from..self.conditions.len().min(from + NEAR) };
        for place in near.clone() {
            if self.ask(place, event)? {
                return Ok(Some(place));
            }
        }
        let from = from.max(near.end);
        if from >= self.conditions.len() {
            return Ok(None);
        }
        candidates.clear();
        candidates.add_all(&self.always);
        self.search(event, candidates);
        for place in candidates.from(from) {
            if self.ask(place, event)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    fn ask(&self, place: usize, event: &Event) -> Result<bool, Failed> {
        let condition = self.conditions.get(place);
        condition.map_or(Ok(false), |condition| condition.evaluate(event)).map_err(|error| (place, error))
    }

    /// Adds the conditions of which the event shows a clue.
    fn search(&self, event: &Event, candidates: &mut Places) {
        for watch in &self.fields {
            watch.look_at(event.get(&watch.field), candidates);
        }
        let mut look = |watches: &[Watch]| {
            for watch in watches {
                watch.look_at(event.get(&watch.field), candidates);
            }
        };
        if event.fields().len() <= self.by_name.len() {
            event.fields().keys().filter_map(|name| self.by_name.get(name)).for_each(|watches| look(watches));
        } else {
            self.by_name.values().for_each(|watches| look(watches));
        }
    }
}

/// What makes a field, however the reference to it is written.
type FieldPath = (Root, Vec<Text>);

fn path(field: &FieldRef) -> FieldPath {
    (field.root(), field.path().iter().map(|segment| segment.name.clone()).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::ast::Node;
    use crate::plugins::testing::event;

    fn conditions(texts: &[String]) -> Vec<Condition> {
        let branches: String = texts.iter().map(|text| format!("if {text} {{ }}\n")).collect();
        let loaded = crate::config::parse(&format!("filter {{ {branches} }}"));
        assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
        let condition = |node: Node| match node {
            Node::Branch(branch) => branch.arms.into_iter().map(|arm| arm.condition).collect(),
            Node::Plugin(_) => Vec::new(),
        };
        loaded.config.filters.into_iter().flat_map(condition).collect()
    }

    /// One by one, as the configuration says.
    fn next_of(conditions: &[Condition], event: &Event, from: usize) -> Result<Option<usize>, Failed> {
        for (place, condition) in conditions.iter().enumerate().skip(from) {
            if condition.evaluate(event).map_err(|error| (place, error))? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    fn field() -> impl Strategy<Value = String> {
        let few = prop::sample::select(vec!["[a]", "[b]", "[c][d]", "[@metadata][m]", "[c]"]).prop_map(str::to_owned);
        prop_oneof![6 => few, 1 => (0..20).prop_map(|n| format!("[x{n}]"))]
    }

    fn comparison() -> impl Strategy<Value = String> {
        let rest = prop::sample::select(vec![
            r#" == "ab""#,
            r#" == "5""#,
            " == 5",
            " == 5.0",
            " != 5",
            " > 3",
            " >= 5",
            " < 7",
            " <= 4",
            r#" < "b""#,
            r#" in ["ab", "5", "true", ""]"#,
            " in [5, 6]",
            r#" not in ["ab"]"#,
            r#" in "abc""#,
            " =~ /^ab$/",
            " =~ /ab|5|x/",
            r" =~ /(a)b\1/",
            r" =~ /^\s*$/",
            " !~ /b/",
            "",
            " == [b]",
            " in [c]",
            " > [a]",
        ]);
        let field_first = (field(), rest).prop_map(|(field, rest)| field + rest);
        let literal_first = (prop::sample::select(vec![r#""ab" in "#, "5 in ", "5 < "]), field());
        prop_oneof![6 => field_first, 1 => literal_first.prop_map(|(literal, field)| literal.to_owned() + &field)]
    }

    fn condition() -> impl Strategy<Value = String> {
        let joined = |operator: &'static str| move |parts: Vec<String>| format!("({})", parts.join(operator));
        comparison().prop_recursive(3, 8, 3, move |inner| {
            let parts = || prop::collection::vec(inner.clone(), 2..4);
            prop_oneof![
                parts().prop_map(joined(" and ")),
                parts().prop_map(joined(" or ")),
                prop::collection::vec(inner.clone(), 2).prop_map(joined(" xor ")),
                prop::collection::vec(inner.clone(), 2).prop_map(joined(" nand ")),
                inner.clone().prop_map(|inner| format!("!({inner})")),
            ]
        })
    }

    fn document() -> impl Strategy<Value = String> {
        let value = prop::sample::select(vec![
            "5",
            "4",
            "6",
            "5.0",
            r#""ab""#,
            r#""abab""#,
            r#""5""#,
            "\"\"",
            "\"ab\\n\"",
            "true",
            "null",
            r#"["ab",5]"#,
            r#"{"d":"ab"}"#,
            r#"{"d":5}"#,
            "123456789012345678901234567890",
        ]);
        let name = prop::sample::select(vec!["a", "b", "c", "x0", "x7", "m"]);
        prop::collection::btree_map(name, value, 0..6).prop_map(|fields| {
            let field = |(name, value): (&str, &str)| match name {
                "m" => format!(r#""@metadata":{{"m":{value}}}"#),
                name => format!(r#""{name}":{value}"#),
            };
            format!("{{{}}}", fields.into_iter().map(field).collect::<Vec<_>>().join(","))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn together_they_answer_as_one_by_one(
            texts in prop::collection::vec(condition(), WORTH_IT..40), document in document(), from in 0_usize..8,
        ) {
            let conditions = conditions(&texts);
            let dispatch = Dispatch::of(conditions.iter()).unwrap();
            let event = event(&document);
            let found = dispatch.next(&event, from, &mut dispatch.places());
            prop_assert_eq!(found, next_of(&conditions, &event, from));
        }
    }

    #[test]
    fn few_conditions_are_not_worth_it() {
        let texts: Vec<String> = (0..WORTH_IT - 1).map(|n| format!("[a] == {n}")).collect();
        assert!(Dispatch::of(conditions(&texts).iter()).is_none());
    }

    #[test]
    fn only_conditions_that_show_a_clue_are_asked() {
        for text in [
            r#"[kind] == "kN""#,
            "[n] == N",
            "[n] >= N and [n] <= N",
            r#"[kind] in ["kN", "xN"]"#,
            "[kind] =~ /^kN$/",
            "[kind] and [n] == N or [absentN]",
            r#"([service][name] == "app-N" or [kind] == "kN") and ![missing]"#,
            r#""kN." in [text]"#,
        ] {
            let texts: Vec<String> = (100..400).map(|n| text.replace('N', &n.to_string())).collect();
            let dispatch = Dispatch::of(conditions(&texts).iter()).unwrap();
            let mut candidates = dispatch.places();
            dispatch.search(&event(r#"{"kind":"k150","n":150,"text":"ends in k150."}"#), &mut candidates);
            assert!(dispatch.always.is_empty(), "{text}");
            assert_eq!(candidates.from(0).collect::<Vec<_>>(), [50], "{text}");
        }
    }
}
