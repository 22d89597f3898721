//! `field-never-set`, `tag-never-set` and `unguarded-compare`: conditions and templates that ask for what is not there.

use super::flow::{Flow, touches, written};
use crate::config::ast::Config;
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::nearest;
use crate::event::TAGS;

/// What inputs put below `[@metadata]`; `None` when that hangs on their options or on the sender.
fn metadata_of(input: &str) -> Option<&'static [&'static str]> {
    Some(match input {
        "dead_letter_queue" => &["[@metadata][dead_letter_queue]"],
        "kafka" => &["[@metadata][kafka]"],
        "file" => &["[@metadata][path]", "[@metadata][host]"],
        "generator" | "heartbeat" | "stdin" | "syslog" | "udp" | "unix" | "exec" | "redis" => &["[@metadata][input]"],
        "tcp" => &["[@metadata][ip_address]", "[@metadata][input]"],
        _ => return None,
    })
}

pub(super) fn check(config: &Config, flow: &Flow, diagnostics: &mut Diagnostics) {
    never_set(config, flow, diagnostics);
    tags(flow, diagnostics);
    unguarded(flow, diagnostics);
}

fn never_set(config: &Config, flow: &Flow, diagnostics: &mut Diagnostics) {
    let provided: Option<Vec<&str>> = config
        .inputs
        .iter()
        .map(|input| metadata_of(&input.name))
        .collect::<Option<Vec<_>>>()
        .map(|lists| lists.into_iter().flatten().copied().collect());
    let is_closed = !config.inputs.is_empty() && !flow.sets_anything;
    for read in &flow.reads {
        if flow.setters(&read.field).next().is_some() || read.field.starts_with("[dead_letter_queue]") {
            continue;
        }
        let below_metadata = read.field.starts_with("[@metadata][");
        let near = near(flow, &read.field);
        let nobody = below_metadata
            && is_closed
            && provided.as_ref().is_some_and(|all| !all.iter().any(|field| touches(field, &read.field)));
        if near.is_none() && !nobody {
            continue;
        }
        let message = format!("`{}` is read, but nothing in this configuration sets it", read.field);
        let mut warning = Diagnostic::warning("field-never-set", read.span, message).label("never set");
        if let Some(set) = near {
            warning = warning.related(set.span, "set here").help(format!("did you mean `{}`?", set.field));
        } else {
            warning = warning.help("`@metadata` does not come with the data: set the field, or remove what reads it");
        }
        diagnostics.push(warning);
    }
}

/// A field that is set and is called nearly the same.
fn near<'f>(flow: &'f Flow, field: &str) -> Option<&'f super::flow::Set> {
    let letters = |field: &str| field.chars().filter(|c| c.is_alphanumeric()).count();
    if letters(field) < 4 || field == "[@timestamp]" {
        return None;
    }
    flow.sets.iter().find(|set| {
        set.field.starts_with("[@metadata]") == field.starts_with("[@metadata]")
            && strsim::osa_distance(&set.field, field) == 1
    })
}

fn tags(flow: &Flow, diagnostics: &mut Diagnostics) {
    if flow.tags_anything {
        return;
    }
    for (condition, _) in &flow.conditions {
        for (tag, field) in condition.texts_in_fields() {
            let is_ours = tag.starts_with('_') && written(field) == format!("[{TAGS}]");
            if !is_ours || flow.tags.contains(tag.as_str()) {
                continue;
            }
            let message = format!("nothing in this configuration adds the tag `{tag}`");
            let warning = Diagnostic::warning("tag-never-set", condition.span(), message).label("never true");
            let near = nearest(tag, flow.tags.iter().map(String::as_str));
            diagnostics.push(match near.first() {
                Some(near) => warning.help(format!("did you mean `{near}`?")),
                None => warning.help("add the tag with `tag_on_failure` or `add_tag`, or remove the condition"),
            });
        }
    }
}

fn unguarded(flow: &Flow, diagnostics: &mut Diagnostics) {
    for (condition, guards) in &flow.conditions {
        for field in condition.unguarded() {
            let name = written(field);
            let always_there = ["[@timestamp]", "[@version]"].contains(&name.as_str());
            if always_there || guards.contains(&name) {
                continue;
            }
            let message = format!("where `{name}` is missing this condition has no answer, and the event is lost");
            let help = format!("write `{name} and …` before the comparison");
            diagnostics.push(
                Diagnostic::warning("unguarded-compare", condition.span(), message).label("may be missing").help(help),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::lint::testing::{all, places};

    const IN: &str = "input { stdin { } } output { null { } } ";

    #[test]
    fn metadata_that_nobody_sets_is_told() {
        let read = |filter: &str| places("field-never-set", &format!("{IN} filter {{ {filter} }}"));
        assert_eq!(read("if [@metadata][kind] { drop { } }"), ["[@metadata][kind]"]);
        assert_eq!(read(r#"mutate { add_field => { "a" => "%{[@metadata][kind]}" } }"#), [r#""%{[@metadata][kind]}""#]);
        for fine in [
            r#"mutate { add_field => { "[@metadata][kind]" => "x" } } if [@metadata][kind] { drop { } }"#,
            r#"ruby { code => "" } if [@metadata][kind] { drop { } }"#,
            "if [kind] { drop { } }",
        ] {
            assert_eq!(read(fine), Vec::<String>::new(), "{fine}");
        }
        let queue =
            r#"input { dead_letter_queue { path => "." } } filter { if [@metadata][dead_letter_queue][reason] { } }"#;
        assert_eq!(places("field-never-set", queue), Vec::<String>::new());
    }

    #[test]
    fn a_mistyped_field_is_told_with_the_right_one() {
        let config =
            r#"filter { grok { match => { "message" => "%{WORD:client_name}" } } if [client_nam] { drop { } } }"#;
        let found = all(config);
        let found: Vec<_> = found.iter().filter(|(code, ..)| *code == "field-never-set").collect();
        assert_eq!(found.len(), 1);
        assert!(found[0].2.contains("`[client_name]`"), "{found:?}");
        let other =
            r#"filter { grok { match => { "message" => "%{WORD:client}" } } if [server] or [client] { drop { } } }"#;
        assert_eq!(places("field-never-set", other), Vec::<String>::new());
    }

    #[test]
    fn a_tag_that_nothing_adds_is_told() {
        let grok = r#"grok { match => { "message" => "x" } }"#;
        let read = |filter: &str| places("tag-never-set", &format!("filter {{ {filter} }}"));
        assert_eq!(
            read(&format!(r#"{grok} if "_grokparsfailure" in [tags] {{ }}"#)),
            [r#""_grokparsfailure" in [tags]"#]
        );
        assert_eq!(read(&format!(r#"{grok} if "_grokparsefailure" in [tags] {{ }}"#)), Vec::<String>::new());
        assert_eq!(read(r#"if "mine" in [tags] { }"#), Vec::<String>::new());
        let codec = r#"input { stdin { codec => json } } output { if "_jsonparsefailure" in [tags] { null { } } }"#;
        assert_eq!(places("tag-never-set", codec), Vec::<String>::new());
        assert_eq!(
            read(r#"grok { match => { "m" => "x" } tag_on_failure => ["_web"] } if "_web" in [tags] { }"#),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_comparison_of_what_may_be_missing_needs_a_guard() {
        let read = |filter: &str| places("unguarded-compare", &format!("filter {{ {filter} }}"));
        assert_eq!(read("if [n] > 1 { drop { } }"), ["[n] > 1"]);
        assert_eq!(read("if [n] and [n] > 1 { drop { } }"), Vec::<String>::new());
        assert_eq!(read("if [n] { if [n] > 1 { drop { } } }"), Vec::<String>::new());
    }
}
