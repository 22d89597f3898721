//! What can be said about a condition without an event: which fields it compares with what, and what must hold when it
//! is true.

use super::membership::Membership;
use super::order::Right;
use super::{Condition, Test};
use crate::event::{FieldRef, Text, Value};

/// A field held against something of one type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compared<'c> {
    /// `==` or `!=` a literal.
    Equal(&'c Value),
    /// `<`, `<=`, `>`, `>=` with a literal or another field.
    Ordered,
    /// `=~` or `!~`.
    Pattern,
}

impl Condition {
    /// Every comparison of a field, wherever it stands, and whether it is the opposite that counts (`!=`, `!~`).
    pub fn comparisons(&self) -> Vec<(&FieldRef, Compared<'_>, bool)> {
        let mut found = Vec::new();
        comparisons(&self.0.test, false, &mut found);
        found
    }

    /// The texts that are looked for in a field: `"x" in [field]`.
    pub fn texts_in_fields(&self) -> Vec<(&Text, &FieldRef)> {
        let mut found = Vec::new();
        walk(&self.0.test, &mut |test| {
            if let Test::In(membership) = test
                && let Membership::TextInField(text, _, field) = &**membership
            {
                found.push((text, field));
            }
        });
        found
    }

    /// Fields that are certainly there when the condition is true.
    pub fn present_when_true(&self) -> Vec<&FieldRef> {
        let mut found = Vec::new();
        for test in conjuncts(&self.0.test) {
            found.extend(present(test));
        }
        found
    }

    /// Fields that are compared by `<` and the like although they may be missing.
    pub fn unguarded(&self) -> Vec<&FieldRef> {
        let mut found = Vec::new();
        unguarded(&self.0.test, &mut Vec::new(), &mut found);
        found
    }

    /// A field that must equal two values at once.
    pub fn contradiction(&self) -> Option<(&FieldRef, &Value, &Value)> {
        let mut found = None;
        walk(&self.0.test, &mut |test| {
            let equals: Vec<_> = conjuncts(test)
                .into_iter()
                .filter_map(|test| if let Test::Equals(field, value) = test { Some((field, value)) } else { None })
                .collect();
            for (n, (field, value)) in equals.iter().enumerate() {
                let other = equals.iter().skip(n + 1).find(|(other, with)| same(field, other) && with != value);
                found = found.or(other.map(|(_, with)| (*field, *value, *with)));
            }
        });
        found
    }
}

/// Whether two references name the same field.
pub fn same(a: &FieldRef, b: &FieldRef) -> bool {
    a.root() == b.root() && a.path() == b.path()
}

fn comparisons<'t>(test: &'t Test, negated: bool, found: &mut Vec<(&'t FieldRef, Compared<'t>, bool)>) {
    match test {
        Test::Not(inner) => comparisons(inner, !negated, found),
        Test::All(tests) | Test::Any(tests) => tests.iter().for_each(|test| comparisons(test, negated, found)),
        Test::Xor(pair) | Test::Nand(pair) => pair.iter().for_each(|test| comparisons(test, negated, found)),
        Test::Equals(field, value) => found.push((field, Compared::Equal(value), negated)),
        Test::Ordered(comparison) => {
            found.push((&comparison.left, Compared::Ordered, negated));
            if let Right::Field(field) = &comparison.right {
                found.push((field, Compared::Ordered, negated));
            }
        }
        Test::Matches(field, _) => found.push((field, Compared::Pattern, negated)),
        _ => {}
    }
}

fn walk<'t>(test: &'t Test, visit: &mut impl FnMut(&'t Test)) {
    visit(test);
    match test {
        Test::Not(inner) => walk(inner, visit),
        Test::All(tests) | Test::Any(tests) => tests.iter().for_each(|test| walk(test, visit)),
        Test::Xor(pair) | Test::Nand(pair) => pair.iter().for_each(|test| walk(test, visit)),
        _ => {}
    }
}

/// The tests that all hold when `test` does.
fn conjuncts(test: &Test) -> Vec<&Test> {
    match test {
        Test::All(tests) => tests.iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

fn present(test: &Test) -> Vec<&FieldRef> {
    match test {
        Test::Truthy(field) | Test::Equals(field, _) | Test::Matches(field, _) => vec![field],
        Test::Ordered(comparison) => vec![&comparison.left],
        Test::In(membership) => match &**membership {
            Membership::FieldInList(field, _)
            | Membership::FieldInText(field, _)
            | Membership::TextInField(_, _, field)
            | Membership::NumberInField(_, field) => vec![field],
            Membership::FieldInField(left, right) => vec![left, right],
        },
        _ => Vec::new(),
    }
}

fn unguarded<'t>(test: &'t Test, known: &mut Vec<&'t FieldRef>, found: &mut Vec<&'t FieldRef>) {
    match test {
        Test::All(tests) => {
            let before = known.len();
            for test in tests {
                unguarded(test, known, found);
                conjuncts(test).into_iter().for_each(|test| known.extend(present(test)));
            }
            known.truncate(before);
        }
        Test::Any(tests) => tests.iter().for_each(|test| unguarded(test, known, found)),
        Test::Not(inner) => unguarded(inner, known, found),
        Test::Xor(pair) | Test::Nand(pair) => pair.iter().for_each(|test| unguarded(test, known, found)),
        Test::Ordered(comparison) if !known.iter().any(|field| same(field, &comparison.left)) => {
            found.push(&comparison.left);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::config::ast::Node;
    use crate::config::parse;

    fn condition(text: &str) -> super::Condition {
        let loaded = parse(&format!("filter {{ if {text} {{ }} }}"));
        match loaded.config.filters.first() {
            Some(Node::Branch(branch)) => branch.arms[0].condition.clone(),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn names(fields: Vec<&super::FieldRef>) -> String {
        fields.iter().map(|field| field.text().to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_guard_stands_before_what_it_guards() {
        for (text, expected) in [
            ("[a] > 1", "[a]"),
            ("[a] and [a] > 1", ""),
            ("[a] > 1 and [a]", "[a]"),
            ("[b] and [a] > 1", "[a]"),
            ("[a] == 5 and [b] and [a] < 9 and [b] < 9", ""),
            ("[a] or [a] > 1", "[a]"),
            ("![a] and 1 < [a]", "[a]"),
        ] {
            assert_eq!(names(condition(text).unguarded()), expected, "{text}");
        }
    }

    #[test]
    fn what_a_true_condition_says() {
        assert_eq!(
            names(condition(r#"[a] and [b] == 1 and ([c] or [d]) and "x" in [tags]"#).present_when_true()),
            "[a] [b] [tags]"
        );
        assert!(condition("[a] == 1 and [b] and [a] == 2").contradiction().is_some());
        assert!(condition("[a] == 1 or [a] == 2").contradiction().is_none());
        assert!(condition("[a] == 1 and [a] == 1").contradiction().is_none());
    }
}
