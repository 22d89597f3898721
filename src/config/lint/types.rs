//! `never-true` and `always-true`: comparisons that the type of a field decides, and contradictions.

use super::flow::{Flow, Kind, Set, written};
use crate::config::condition::Compared;
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::source::{Sources, Span};
use crate::event::Value;

pub(super) fn check(flow: &Flow, sources: &Sources, diagnostics: &mut Diagnostics) {
    for (condition, _) in &flow.conditions {
        let span = condition.span();
        if let Some((field, one, other)) = condition.contradiction() {
            let message = format!("`{}` cannot be {} and {} at once", written(field), shown(one), shown(other));
            diagnostics.push(Diagnostic::warning("never-true", span, message).label("never true"));
        }
        for (field, compared, negated) in condition.comparisons() {
            let Some(set) = known(flow, &written(field), span) else { continue };
            let (code, never) = if negated { ("always-true", "always true") } else { ("never-true", "never true") };
            let Some(help) = mismatch(set, compared) else { continue };
            let set_at = place_of(set, sources);
            let line = sources.place(set_at).line;
            let help = format!("`{}` is {} since line {line} ({}): {help}", set.field, named(set.kind), set.how);
            let message = format!("a comparison of `{}` with another type is {never}", set.field);
            let warning = Diagnostic::warning(code, span, message).label(never);
            diagnostics.push(warning.related(set_at, "its type is set here").help(help));
        }
    }
}

/// Where a field gets its type: in a grok pattern the piece that names it, else all that sets it.
fn place_of(set: &Set, sources: &Sources) -> Span {
    let piece = || {
        let at = sources.text(set.span).find(&set.how).filter(|_| set.how.starts_with("%{"))?;
        let start = set.span.start.checked_add(u32::try_from(at).ok()?)?;
        let end = start.checked_add(u32::try_from(set.how.len()).ok()?)?;
        Some(Span { start, end, ..set.span })
    };
    piece().unwrap_or(set.span)
}

/// What sets a field, when all that do so give it one type.
fn known<'f>(flow: &'f Flow, field: &str, read_at: Span) -> Option<&'f Set> {
    let mut setters = flow.sets.iter().filter(|set| set.field == field);
    let first = setters.next()?;
    let is_before = first.span < read_at && first.kind != Kind::Unknown;
    // A conversion changes what another plugin has set.
    let last = setters.try_fold(first, |first, set| match (first.kind, set.kind) {
        (a, b) if a == b => Some(first),
        (Kind::Text, _) if set.how.starts_with("convert") && set.span < read_at => Some(set),
        _ => None,
    })?;
    (is_before && !flow.sets_anything).then_some(last)
}

fn mismatch(set: &Set, compared: Compared<'_>) -> Option<String> {
    match (set.kind, compared) {
        (Kind::Integer | Kind::Float, Compared::Equal(Value::String(text))) => {
            let is_number = text.parse::<f64>().is_ok();
            Some(if is_number {
                format!("compare with {text}, not \"{text}\"")
            } else {
                "compare with a number".into()
            })
        }
        (Kind::Integer | Kind::Float, Compared::Pattern) => Some("patterns match texts only".into()),
        (Kind::Text, Compared::Equal(number @ (Value::Integer(_) | Value::Float(_)))) => {
            let number = shown(number);
            Some(format!("compare with \"{number}\", or convert the field"))
        }
        _ => None,
    }
}

fn named(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "a text",
        Kind::Integer => "an integer",
        Kind::Float => "a float",
        Kind::Boolean => "a boolean",
        Kind::Unknown => "unknown",
    }
}

fn shown(value: &Value) -> String {
    let mut out = Vec::new();
    crate::event::json::write_value(value, &mut out);
    crate::event::text_form::utf8(out)
}

#[cfg(test)]
mod tests {
    use crate::config::diagnostic::Diagnostics;
    use crate::config::lint::testing::{all, found, places};
    use crate::config::parse;

    const STATUS: &str = r#"grok { match => { "message" => "%{NUMBER:status:int} %{WORD:verb}" } }"#;

    #[test]
    fn a_number_never_equals_a_text() {
        let read = |condition: &str| {
            let all = all(&format!("filter {{ {STATUS} if {condition} {{ drop {{ }} }} }}"));
            all.into_iter().filter(|(code, ..)| code.ends_with("-true")).collect::<Vec<_>>()
        };
        let found = read(r#"[status] == "200""#);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0, found[0].1.as_str()), ("never-true", r#"[status] == "200""#));
        assert!(
            found[0].2.contains("an integer since line 1 (%{NUMBER:status:int}): compare with 200, not \"200\""),
            "{}",
            found[0].2
        );
        assert_eq!(read(r#"[status] != "200""#)[0].0, "always-true");
        assert_eq!(read("[status] =~ /^2/")[0].0, "never-true");
        assert_eq!(read("[verb] == 5")[0].0, "never-true");
        for fine in ["[status] == 200", r#"[verb] == "GET""#, "[verb] =~ /^G/", r#"[other] == "200""#] {
            assert_eq!(read(fine), [], "{fine}");
        }
    }

    #[test]
    fn of_a_pattern_the_piece_that_gives_the_type_is_shown() {
        let loaded = parse(&format!("filter {{ {STATUS} if [status] == \"200\" {{ drop {{ }} }} }}"));
        let mut diagnostics = Diagnostics::default();
        crate::config::lint::check(&loaded.config, &loaded.sources, true, &mut diagnostics);
        let warnings = diagnostics.0.iter().filter(|warning| warning.code == "never-true");
        let related: Vec<_> = warnings.flat_map(|d| &d.related).map(|(span, _)| loaded.sources.text(*span)).collect();
        assert_eq!(related, ["%{NUMBER:status:int}"]);
    }

    #[test]
    fn a_converted_field_has_its_new_type() {
        let converted = r#"filter { grok { match => { "message" => "%{WORD:n}" } } mutate { convert => { "n" => "integer" } } if [n] == "1" { } }"#;
        assert_eq!(places("never-true", converted), [r#"[n] == "1""#]);
        let both = r#"filter { if [x] { mutate { convert => { "n" => "integer" } } } else { mutate { add_field => { "n" => "1" } } } if [n] == "1" { } }"#;
        assert_eq!(places("never-true", both), Vec::<String>::new());
    }

    #[test]
    fn a_contradiction_is_told() {
        assert_eq!(places("never-true", "filter { if [a] == 1 and [a] == 2 { } }"), ["[a] == 1 and [a] == 2"]);
        assert_eq!(found("filter { if [a] == 1 or [a] == 2 { } }"), []);
    }
}
