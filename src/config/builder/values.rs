//! Values of settings.

use std::collections::HashMap;

use pest::iterators::Pair;

use crate::config::ast::{Literal, LiteralKind};
use crate::config::diagnostic::Diagnostic;
use crate::config::grammar::Rule;
use crate::config::literal as text;
use crate::config::merge::key_text;
use crate::config::scope::Scope;
use crate::config::variables::{Resolved, Variables};
use crate::event::{Text, Value};

/// A setting's name: quotes stripped, escapes never processed.
pub(super) fn setting_name(source: &str) -> &str {
    if source.starts_with(['"', '\'']) { text::unquoted(source) } else { source }
}

/// A value, variables still in it. `None` when it is wrong, which is then among the diagnostics.
pub(super) fn literal(pair: Pair<'_, Rule>, scope: &mut Scope<'_>) -> Option<Literal> {
    let span = scope.span(&pair);
    let kind = match pair.as_rule() {
        Rule::string => LiteralKind::String(text::string(pair.as_str(), scope.language.support_escapes)),
        Rule::bareword => LiteralKind::String(Text::from(pair.as_str())),
        Rule::number => match text::number(pair.as_str()) {
            Ok(Value::Integer(n)) => LiteralKind::Integer(n),
            Ok(Value::Float(f)) => LiteralKind::Float(f),
            Ok(_) => return None,
            Err(message) => {
                let error = Diagnostic::error("syntax", span, format!("{message}, expected a number"));
                scope.diagnostics.push(error.label("not a number").help("quote it if it is meant as text"));
                return None;
            }
        },
        Rule::array => LiteralKind::Array(elements(pair, scope)?),
        Rule::hash => LiteralKind::Hash(entries(pair, scope)?),
        Rule::plugin => {
            let name = pair.as_str().split(['{', ' ', '\t', '\r', '\n', '#']).next().unwrap_or_default();
            let message = format!("the plugin `{name}` stands inside a list or hash, expected a plain value");
            let error = Diagnostic::error("invalid-value", span, message).label("a plugin");
            scope
                .diagnostics
                .push(error.help("a plugin can only be the whole value of a setting: `codec => json { }`"));
            return None;
        }
        _ => return None,
    };
    Some(Literal { span, kind })
}

fn elements(pair: Pair<'_, Rule>, scope: &mut Scope<'_>) -> Option<Vec<Literal>> {
    let tokens = |rule| matches!(rule, Rule::open_list | Rule::close_list | Rule::comma);
    let elements: Vec<Option<Literal>> =
        pair.into_inner().filter(|part| !tokens(part.as_rule())).map(|part| literal(part, scope)).collect();
    elements.into_iter().collect()
}

fn entries(pair: Pair<'_, Rule>, scope: &mut Scope<'_>) -> Option<Vec<(Literal, Literal)>> {
    let hash = scope.span(&pair);
    let mut entries: Vec<(Literal, Literal)> = Vec::new();
    // Keys are the same to Logstash when they are written the same; `"a"` and `'a'` are not, there the last one wins.
    let mut written = HashMap::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut sound = true;
    for entry in pair.into_inner().filter(|part| part.as_rule() == Rule::entry) {
        let mut parts = entry.into_inner().filter(|part| part.as_rule() != Rule::arrow);
        let (Some(key), Some(value)) = (parts.next(), parts.next()) else { continue };
        let key_span = scope.span(&key);
        if let Some(first) = written.insert(key.as_str().to_owned(), key_span) {
            sound = false;
            let message = format!("this hash has the key {} twice", key.as_str());
            let error = Diagnostic::error("invalid-value", key_span, message).label("given again");
            let error = error.related(first, "first defined here").related(hash, "in this hash");
            scope.diagnostics.push(error.help("remove one of the two"));
            continue;
        }
        let (Some(key), Some(value)) = (literal(key, scope), literal(value, scope)) else {
            sound = false;
            continue;
        };
        let place = places.entry(key_text(&key.kind)).or_insert(entries.len());
        match entries.get_mut(*place) {
            Some(entry) => entry.1 = value,
            None => entries.push((key, value)),
        }
    }
    sound.then_some(entries)
}

/// Replaces the variables of a value, at any depth; hash keys are left alone.
pub(super) fn resolve_variables(value: &mut Literal, variables: &Variables, scope: &mut Scope<'_>) {
    match &mut value.kind {
        LiteralKind::String(text) => {
            if !text.contains("${") {
                return;
            }
            match variables.resolve(text.clone(), value.span, scope.undefined) {
                Resolved::Text(resolved) => *text = resolved,
                Resolved::List(items) => {
                    let message = "a variable made this text a list: after replacement it reads `[…]`";
                    let warning = Diagnostic::warning("variable-list", value.span, message)
                        .label("becomes a list")
                        .help("write a list of quoted elements, or leave the brackets out");
                    scope.diagnostics.push(warning);
                    let element = |item| Literal { span: value.span, kind: LiteralKind::String(item) };
                    value.kind = LiteralKind::Array(items.into_iter().map(element).collect());
                }
            }
        }
        LiteralKind::Array(list) => list.iter_mut().for_each(|element| resolve_variables(element, variables, scope)),
        LiteralKind::Hash(entries) => {
            entries.iter_mut().for_each(|(_, value)| resolve_variables(value, variables, scope))
        }
        // A nested plugin has replaced its own.
        LiteralKind::Plugin(_) | LiteralKind::Integer(_) | LiteralKind::Float(_) => {}
    }
}
