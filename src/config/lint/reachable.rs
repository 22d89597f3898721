//! `unreachable-branch`: branches and filters that no event comes to.

use crate::config::ast::{Branch, Config, Node};
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::source::Span;

pub(super) fn check(config: &Config, diagnostics: &mut Diagnostics) {
    nodes(&config.filters, diagnostics);
    nodes(&config.outputs, diagnostics);
}

fn nodes(nodes: &[Node], diagnostics: &mut Diagnostics) {
    let mut dropped: Option<Span> = None;
    for node in nodes {
        let place = match node {
            Node::Plugin(plugin) => plugin.name_span,
            Node::Branch(branch) => branch.arms.first().map_or(branch.span, |arm| arm.condition.span()),
        };
        if let Some(drop) = dropped {
            let warning = Diagnostic::warning("unreachable-branch", place, "no event comes here")
                .label("behind an unconditional `drop`")
                .related(drop, "every event is dropped here");
            diagnostics.push(warning.help("move it before the `drop`, or put the `drop` under a condition"));
            return;
        }
        match node {
            Node::Plugin(plugin)
                if plugin.name == "drop" && !plugin.settings.iter().any(|s| s.name == "percentage") =>
            {
                dropped = Some(plugin.name_span);
            }
            Node::Plugin(_) => {}
            Node::Branch(branch) => self::branch(branch, diagnostics),
        }
    }
}

fn branch(branch: &Branch, diagnostics: &mut Diagnostics) {
    for (n, arm) in branch.arms.iter().enumerate() {
        let before = branch.arms.get(..n).unwrap_or_default();
        let same = before.iter().find(|other| other.condition.source() == arm.condition.source());
        let constant = before.iter().find(|other| other.condition.as_constant() == Some(true));
        let found = match (same, constant) {
            (Some(other), _) => Some((other, "asks the same as a branch before it", "asked here first")),
            (None, Some(other)) => Some((other, "stands behind a condition that is always true", "always true")),
            _ => None,
        };
        if let Some((other, message, label)) = found {
            let warning =
                Diagnostic::warning("unreachable-branch", arm.condition.span(), format!("this branch {message}"));
            let warning = warning.label("never taken").related(other.condition.span(), label);
            diagnostics.push(warning.help("remove the branch, or correct one of the conditions"));
        }
        nodes(&arm.body, diagnostics);
    }
    nodes(&branch.otherwise, diagnostics);
}

#[cfg(test)]
mod tests {
    use crate::config::lint::testing::places;

    fn read(filter: &str) -> Vec<String> {
        places("unreachable-branch", &format!("filter {{ {filter} }}"))
    }

    #[test]
    fn what_no_event_comes_to_is_told() {
        assert_eq!(read("if [a] == 1 { } else if [a] == 2 { } else if [a] == 1 { }"), ["[a] == 1"]);
        assert_eq!(read(r#"if "a" == "a" { } else if [b] { }"#), ["[b]"]);
        assert_eq!(read("drop { } mutate { } sleep { }"), ["mutate"]);
    }

    #[test]
    fn what_may_be_reached_is_left_alone() {
        assert_eq!(read("if [a] == 1 { } else if [a] == 2 { } else { }"), Vec::<String>::new());
        assert_eq!(read("if [a] { drop { } } mutate { }"), Vec::<String>::new());
        assert_eq!(read("drop { percentage => 50 } mutate { }"), Vec::<String>::new());
        assert_eq!(read("if [a] { } if [a] { }"), Vec::<String>::new());
    }
}
