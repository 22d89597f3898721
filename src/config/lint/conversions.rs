//! `lossy-conversion`: conversions and date formats that throw something away.

use super::flow::{Flow, Kind, each_text, plugins, text_of, written};
use crate::config::ast::{Config, LiteralKind, PluginBlock};
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::event::{EscapeStyle, FieldRef};

pub(super) fn check(config: &Config, flow: &Flow, diagnostics: &mut Diagnostics) {
    plugins(&config.filters, &mut |plugin| match plugin.name.as_str() {
        "mutate" => mutate(plugin, flow, diagnostics),
        "date" => date(plugin, diagnostics),
        "grok" => grok(plugin, diagnostics),
        _ => {}
    });
}

fn warning(span: crate::config::source::Span, message: String, help: impl Into<String>) -> Diagnostic {
    Diagnostic::warning("lossy-conversion", span, message).label("loses something").help(help)
}

fn mutate(plugin: &PluginBlock, flow: &Flow, diagnostics: &mut Diagnostics) {
    let convert = plugin.settings.iter().filter(|setting| setting.name == "convert");
    for (field, kind) in convert
        .filter_map(|s| if let LiteralKind::Hash(entries) = &s.value.kind { Some(entries) } else { None })
        .flatten()
    {
        let Ok(name) = FieldRef::parse(&text_of(field), EscapeStyle::None).map(|field| written(&field)) else {
            continue;
        };
        let Some(before) = flow.sets.iter().rfind(|set| set.field == name && set.span < field.span) else { continue };
        let lost = match (text_of(kind).as_str(), before.kind) {
            ("integer", Kind::Float) => Some(("its fraction: 1.9 becomes 1", "convert to float, or round before")),
            ("boolean", Kind::Integer | Kind::Float) => {
                Some(("every number but 0 and 1: 2 is an error", "compare the number instead"))
            }
            _ => None,
        };
        if let Some((lost, help)) = lost {
            let message = format!("`{name}` loses {lost}");
            diagnostics.push(warning(kind.span, message, help).related(before.span, "its type is set here"));
        }
    }
}

/// Formats without a year take the present one.
fn date(plugin: &PluginBlock, diagnostics: &mut Diagnostics) {
    let Some(list) = plugin.settings.iter().find(|setting| setting.name == "match") else { return };
    let mut first = true;
    each_text(&list.value, &mut |format, span| {
        // The field stands before the formats.
        if std::mem::replace(&mut first, false) || !format.contains(['d', 'D', 'M', 'H', 'h']) {
            return;
        }
        let letters: String = format.split('\'').step_by(2).collect();
        let special = ["ISO8601", "UNIX", "UNIX_MS", "TAI64N"].contains(&format);
        if !special && !letters.contains(['y', 'Y', 'x', 'u']) {
            let message = format!("the date format `{format}` has no year: the present one is taken");
            let help =
                "read its year (`yyyy`) or let the sender write one: \"Dec 31\" read in January may get the wrong year";
            diagnostics.push(warning(span, message, help));
        }
    });
}

/// Whole numbers from patterns that match fractions.
fn grok(plugin: &PluginBlock, diagnostics: &mut Diagnostics) {
    for setting in plugin.settings.iter().filter(|setting| setting.name == "match") {
        each_text(&setting.value, &mut |pattern, span| {
            for piece in pattern.split("%{").skip(1).filter_map(|rest| rest.split('}').next()) {
                if piece.starts_with("BASE16FLOAT:") && piece.ends_with(":int") {
                    let message = format!("`%{{{piece}}}` loses the fraction: 1.9 becomes 1");
                    diagnostics.push(warning(span, message, "write `:float`"));
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::config::lint::testing::places;

    fn read(filter: &str) -> Vec<String> {
        places("lossy-conversion", &format!("filter {{ {filter} }}"))
    }

    #[test]
    fn what_a_conversion_loses_is_told() {
        let grok = r#"grok { match => { "message" => "%{NUMBER:ratio:float} %{INT:n:int}" } }"#;
        assert_eq!(read(&format!(r#"{grok} mutate {{ convert => {{ "ratio" => "integer" }} }}"#)), [r#""integer""#]);
        assert_eq!(read(&format!(r#"{grok} mutate {{ convert => {{ "n" => "boolean" }} }}"#)), [r#""boolean""#]);
        assert_eq!(read(&format!(r#"{grok} mutate {{ convert => {{ "n" => "string" }} }}"#)), Vec::<String>::new());
        assert_eq!(read(r#"grok { match => { "m" => "%{BASE16FLOAT:x:int}" } }"#).len(), 1);
        assert_eq!(read(r#"grok { match => { "m" => "%{NUMBER:x:int}" } }"#), Vec::<String>::new());
    }

    #[test]
    fn a_date_without_a_year_is_told() {
        assert_eq!(read(r#"date { match => ["ts", "MMM dd HH:mm:ss", "ISO8601"] }"#), [r#""MMM dd HH:mm:ss""#]);
        assert_eq!(read(r#"date { match => ["day", "dd/MMM/yyyy:HH:mm:ss Z", "UNIX"] }"#), Vec::<String>::new());
        assert_eq!(read(r#"date { match => ["ts", "'y' dd"] }"#), [r#""'y' dd""#]);
    }
}
