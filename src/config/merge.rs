//! The same setting twice in one plugin.
//!
//! Logstash makes one value of them: hashes merge, lists grow, different scalars become a list, equal ones stay one.

use std::collections::HashMap;

use super::ast::{Literal, LiteralKind};

/// What a setting is worth after another mention of it. `None` when the two do not go together.
pub(super) fn repeated(first: Literal, second: Literal) -> Option<Literal> {
    let span = first.span;
    let kind = match (first.kind, second.kind) {
        (LiteralKind::Plugin(_), _) | (_, LiteralKind::Plugin(_)) => return None,
        (LiteralKind::Hash(mut into), LiteralKind::Hash(from)) => {
            merge_entries(&mut into, from);
            LiteralKind::Hash(into)
        }
        (LiteralKind::Hash(_), _) => return None,
        (LiteralKind::Array(mut list), LiteralKind::Array(more)) => {
            list.extend(more);
            LiteralKind::Array(list)
        }
        (LiteralKind::Array(mut list), other) => {
            list.push(Literal { span: second.span, kind: other });
            LiteralKind::Array(list)
        }
        (first, second) if same_scalar(&first, &second) => first,
        (kind, other) => LiteralKind::Array(vec![Literal { span, kind }, Literal { span: second.span, kind: other }]),
    };
    Some(Literal { span, kind })
}

fn merge_entries(into: &mut Vec<(Literal, Literal)>, from: Vec<(Literal, Literal)>) {
    let mut places: HashMap<String, usize> =
        into.iter().enumerate().map(|(at, (key, _))| (key_text(&key.kind), at)).collect();
    for (key, value) in from {
        match places.get(&key_text(&key.kind)).and_then(|at| into.get_mut(*at)) {
            Some((_, old)) => {
                let empty = Literal { span: old.span, kind: LiteralKind::Array(Vec::new()) };
                let old_value = std::mem::replace(old, empty);
                *old = merged_value(old_value, value);
            }
            None => {
                places.insert(key_text(&key.kind), into.len());
                into.push((key, value));
            }
        }
    }
}

/// A key with its type, so that 5 and "5" are two keys.
pub(super) fn key_text(key: &LiteralKind) -> String {
    match key {
        LiteralKind::Integer(n) => format!("integer {n}"),
        LiteralKind::Float(f) => format!("float {f}"),
        LiteralKind::String(text) => format!("string {text}"),
        LiteralKind::Array(_) | LiteralKind::Hash(_) | LiteralKind::Plugin(_) => String::new(),
    }
}

fn merged_value(old: Literal, new: Literal) -> Literal {
    let span = old.span;
    let kind = match (old.kind, new.kind) {
        (LiteralKind::Hash(mut into), LiteralKind::Hash(from)) => {
            merge_entries(&mut into, from);
            LiteralKind::Hash(into)
        }
        (LiteralKind::Array(mut list), LiteralKind::Array(more)) => {
            list.extend(more);
            LiteralKind::Array(list)
        }
        (LiteralKind::Array(mut list), other) => {
            list.push(Literal { span: new.span, kind: other });
            LiteralKind::Array(list)
        }
        (kind, LiteralKind::Array(more)) => {
            let mut list = vec![Literal { span, kind }];
            list.extend(more);
            LiteralKind::Array(list)
        }
        (old, new) if same_scalar(&old, &new) => old,
        (kind, other) => LiteralKind::Array(vec![Literal { span, kind }, Literal { span: new.span, kind: other }]),
    };
    Literal { span, kind }
}

/// Whether two literals are scalars of the same type and value.
fn same_scalar(left: &LiteralKind, right: &LiteralKind) -> bool {
    match (left, right) {
        (LiteralKind::String(left), LiteralKind::String(right)) => left == right,
        (LiteralKind::Integer(left), LiteralKind::Integer(right)) => left == right,
        (LiteralKind::Float(left), LiteralKind::Float(right)) => left == right,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::config::ast::{LiteralKind, Node};

    /// The value of `x` in Ruby's form, or the error's message.
    fn value_of_x(settings: &str) -> String {
        let loaded = crate::config::parse(&format!("filter {{ f {{ {settings} }} }}"));
        if let Some(error) = loaded.diagnostics.0.first() {
            return error.message.clone();
        }
        let [Node::Plugin(plugin)] = loaded.config.filters.as_slice() else { panic!("one plugin") };
        print(&plugin.settings[0].value.kind)
    }

    fn print(kind: &LiteralKind) -> String {
        let join = |list: Vec<String>| list.join(", ");
        match kind {
            LiteralKind::String(text) => text.to_string(),
            LiteralKind::Integer(n) => n.to_string(),
            LiteralKind::Float(f) => f.to_string(),
            LiteralKind::Array(list) => format!("[{}]", join(list.iter().map(|l| print(&l.kind)).collect())),
            LiteralKind::Hash(entries) => {
                let entries = entries.iter().map(|(k, v)| format!("{}: {}", print(&k.kind), print(&v.kind)));
                format!("{{{}}}", join(entries.collect()))
            }
            LiteralKind::Plugin(plugin) => plugin.name.clone(),
        }
    }

    #[test]
    fn a_repeated_setting_is_merged() {
        for (settings, expected) in [
            ("x => 1 x => 2", "[1, 2]"),
            ("x => 1 x => 2 x => 2", "[1, 2, 2]"),
            ("x => 1 x => 1", "1"),
            ("x => [1] x => 2 x => [3, [4]]", "[1, 2, 3, [4]]"),
            ("x => 1 x => [2]", "[1, [2]]"),
            ("x => 1 x => { aa => 2 }", "[1, {aa: 2}]"),
            ("x => { aa => 1 bb => 1 } x => { aa => 2 bb => 1 cc => 3 }", "{aa: [1, 2], bb: 1, cc: 3}"),
            ("x => { aa => [1] bb => 1 } x => { aa => [1] bb => [2] }", "{aa: [1, 1], bb: [1, 2]}"),
            ("x => { aa => { bb => 1 } } x => { aa => { cc => 2 } }", "{aa: {bb: 1, cc: 2}}"),
            ("'x' => { \"aa\" => 1 'aa' => 2 }", "{aa: 2}"),
        ] {
            assert_eq!(value_of_x(settings), expected, "{settings}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused_by_name() {
        for settings in ["x => { aa => 1 } x => 1", "x => { aa => 1 } x => [1]", "x => foo {} x => foo {}"] {
            assert!(value_of_x(settings).contains("`x`"), "{settings}");
        }
    }
}
