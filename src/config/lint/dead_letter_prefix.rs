//! `[dead_letter_queue][reason]` is read although only `[@metadata][dead_letter_queue][reason]` exists.

use super::flow::each_text;
use crate::config::ast::{Config, Literal, LiteralKind, Node, PluginBlock};
use crate::config::condition::Condition;
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::source::Span;
use crate::event::{FieldRef, Root};

/// The fields that a dead letter carries below `[@metadata][dead_letter_queue]`.
const DEAD_LETTER_FIELDS: [&str; 4] = ["reason", "plugin_id", "plugin_type", "entry_time"];

/// Warns about every place where it is read.
pub(super) fn check(config: &Config, diagnostics: &mut Diagnostics) {
    let mut finder = DeadLetterPrefix::default();
    config.inputs.iter().for_each(|plugin| finder.plugin(plugin));
    finder.nodes(&config.filters);
    finder.nodes(&config.outputs);
    if finder.is_set {
        return;
    }
    for (span, field) in finder.reads {
        let message = format!("`[dead_letter_queue][{field}]` is read, but nothing sets it: it is always missing");
        let help = format!("write `[@metadata][dead_letter_queue][{field}]`");
        diagnostics.push(Diagnostic::warning("dlq-metadata-prefix", span, message).label("never set").help(help));
    }
}

#[derive(Default)]
struct DeadLetterPrefix {
    reads: Vec<(Span, &'static str)>,
    /// Whether some plugin makes a field `[dead_letter_queue]` of the event.
    is_set: bool,
}

impl DeadLetterPrefix {
    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Plugin(plugin) => self.plugin(plugin),
                Node::Branch(branch) => {
                    for arm in &branch.arms {
                        self.condition(&arm.condition);
                        self.nodes(&arm.body);
                    }
                    self.nodes(&branch.otherwise);
                }
            }
        }
    }

    fn condition(&mut self, condition: &Condition) {
        let found = condition.fields().find_map(dead_letter_field);
        self.reads.extend(found.map(|field| (condition.span(), field)));
    }

    fn plugin(&mut self, plugin: &PluginBlock) {
        for setting in &plugin.settings {
            match (setting.name.as_str(), &setting.value.kind) {
                ("copy" | "rename", LiteralKind::Hash(entries)) => entries.iter().for_each(|(from, to)| {
                    self.reads(from);
                    self.sets(to);
                }),
                ("add_field" | "replace" | "update", LiteralKind::Hash(entries)) => {
                    entries.iter().for_each(|(field, value)| {
                        self.sets(field);
                        self.reads(value);
                    });
                }
                ("target", _) => self.sets(&setting.value),
                (_, LiteralKind::Plugin(nested)) => self.plugin(nested),
                _ => self.reads(&setting.value),
            }
        }
    }

    /// A literal that names a field which the plugin makes.
    fn sets(&mut self, literal: &Literal) {
        each_text(literal, &mut |text, _| {
            self.is_set |= text == "dead_letter_queue" || text.starts_with("[dead_letter_queue]");
        });
    }

    /// A literal that may name fields, alone, in a template or in a script.
    fn reads(&mut self, literal: &Literal) {
        each_text(literal, &mut |text, span| {
            self.is_set |= text.contains("event.set") && text.contains("[dead_letter_queue]");
            let field = DEAD_LETTER_FIELDS.into_iter().find(|field| mentions(text, field));
            self.reads.extend(field.map(|field| (span, field)));
        });
    }
}

/// Whether a text holds `[dead_letter_queue][field]` that does not continue another path.
fn mentions(text: &str, field: &str) -> bool {
    let wanted = format!("[dead_letter_queue][{field}]");
    text.match_indices(&wanted).any(|(at, _)| !text.get(..at).is_some_and(|before| before.ends_with(']')))
}

fn dead_letter_field(field: &FieldRef) -> Option<&'static str> {
    match (field.root(), field.path()) {
        (Root::Fields, [first, second, ..]) if first.name == "dead_letter_queue" => {
            DEAD_LETTER_FIELDS.into_iter().find(|name| second.name == *name)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    fn found(config: &str) -> Vec<String> {
        let loaded = parse(config);
        assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
        let mut diagnostics = Diagnostics::default();
        check(&loaded.config, &mut diagnostics);
        diagnostics.0.iter().map(|d| loaded.sources.text(d.span.unwrap()).to_owned()).collect()
    }

    #[test]
    fn the_reason_of_a_dead_letter_is_metadata() {
        let condition = r#"filter { if [x] and [dead_letter_queue][reason] =~ /port/ { } }"#;
        assert_eq!(found(condition), ["[x] and [dead_letter_queue][reason] =~ /port/"]);
        let template = r#"output { file { path => "/d/%{[dead_letter_queue][plugin_id]}.log" } }"#;
        assert_eq!(found(template), [r#""/d/%{[dead_letter_queue][plugin_id]}.log""#]);
        let option = r#"filter { mutate { copy => { "[dead_letter_queue][entry_time]" => "[t]" } } }"#;
        assert_eq!(found(option), [r#""[dead_letter_queue][entry_time]""#]);
    }

    #[test]
    fn what_is_right_or_set_is_left_alone() {
        for fine in [
            r#"filter { if [@metadata][dead_letter_queue][reason] == "x" { } }"#,
            r#"filter { mutate { copy => { "[@metadata][dead_letter_queue][reason]" => "[r]" } } }"#,
            r#"filter { if [dead_letter_queue][other] { } }"#,
            r#"filter { mutate { copy => { "[@metadata][dead_letter_queue]" => "[dead_letter_queue]" } }
               if [dead_letter_queue][reason] { } }"#,
            r#"filter { json { source => "m" target => "dead_letter_queue" } if [dead_letter_queue][reason] { } }"#,
        ] {
            assert_eq!(found(fine), Vec::<String>::new(), "{fine}");
        }
    }
}
