//! `prune`: removes fields by their name or value.

use crate::event::{Event, FieldName, Template, Text, Value, text_form};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};
use crate::regexp::RubyRegex;

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "prune", summary: "Removes fields by name or value.", build };

struct Prune {
    kept_names: Option<Pattern>,
    removed_names: Option<Pattern>,
    values: Vec<ValueRule>,
}

/// A regexp that is the same for every event, or made from each.
enum Pattern {
    Fixed(RubyRegex),
    PerEvent(Vec<Template>),
}

struct ValueRule {
    field: FieldName,
    pattern: Pattern,
    /// Whether what matches is kept, or removed.
    keeps: bool,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let kept = options.strings("whitelist_names").doc("Patterns of the names to keep.").default(Vec::new());
    let removed = options.strings("blacklist_names").doc("Patterns of the names to remove.");
    let removed = removed.default(vec![r"%\{[^}]+\}".to_owned()]);
    let kept_values = options.hash("whitelist_values").doc("Fields, and the pattern of values to keep.");
    let kept_values = kept_values.default(Vec::new());
    let removed_values = options.hash("blacklist_values").doc("Fields, and the pattern of values to remove.");
    let removed_values = removed_values.default(Vec::new());
    let interpolate = options.boolean("interpolate").doc("Whether `%{…}` in names and patterns is replaced.");
    let interpolate = interpolate.default(false);
    let mut values = Vec::new();
    for (option, keeps, pairs) in [("whitelist_values", true, kept_values), ("blacklist_values", false, removed_values)]
    {
        values.extend(
            pairs
                .into_iter()
                .filter_map(|(field, pattern)| value_rule(options, option, keeps, interpolate, &field, &pattern)),
        );
    }
    Box::new(Prune {
        kept_names: pattern(options, "whitelist_names", interpolate, kept),
        removed_names: pattern(options, "blacklist_names", interpolate, removed),
        values,
    })
}

fn value_rule(
    options: &mut Options<'_>,
    option: &'static str,
    keeps: bool,
    interpolate: bool,
    field: &str,
    value: &Value,
) -> Option<ValueRule> {
    let Some(text) = value.as_str() else {
        options.invalid(option, format!("the pattern of `{field}` must be a text"));
        return None;
    };
    let pattern = pattern(options, option, interpolate, vec![text.to_owned()])?;
    let name = template(options, option, field, interpolate)?;
    let name = FieldName::compile(name, options.context().escape_style);
    let field = name.map_err(|error| options.invalid(option, error.to_string())).ok()?;
    Some(ValueRule { field, pattern, keeps })
}

fn template(options: &mut Options<'_>, option: &str, text: &str, interpolate: bool) -> Option<Template> {
    if !interpolate {
        return Some(Template::constant(text));
    }
    let template = Template::compile(text, options.context().escape_style);
    template.map_err(|error| options.invalid(option, error.to_string())).ok()
}

/// One pattern that matches where any of these does; `None` without any.
fn pattern(
    options: &mut Options<'_>,
    option: &'static str,
    interpolate: bool,
    patterns: Vec<String>,
) -> Option<Pattern> {
    if patterns.is_empty() {
        return None;
    }
    let templates: Vec<Template> =
        patterns.iter().filter_map(|text| template(options, option, text, interpolate)).collect();
    if templates.iter().any(|template| template.as_constant().is_none()) {
        return Some(Pattern::PerEvent(templates));
    }
    let mut is_valid = true;
    for text in &patterns {
        if let Err(error) = RubyRegex::new(text) {
            options.invalid(option, format!("`{text}` is no valid pattern: {error}"));
            is_valid = false;
        }
    }
    let any = is_valid.then(|| RubyRegex::new(&union(patterns.iter().map(String::as_str))));
    any?.map_err(|error| options.invalid(option, error.to_string())).ok().map(Pattern::Fixed)
}

fn union<'p>(patterns: impl Iterator<Item = &'p str>) -> String {
    patterns.map(|pattern| format!("(?:{pattern})")).collect::<Vec<_>>().join("|")
}

impl Pattern {
    /// The pattern for an event; `None` when what the event gives is none.
    fn for_event(&self, event: &Event) -> Option<RubyRegex> {
        match self {
            Self::Fixed(regex) => Some(regex.clone()),
            Self::PerEvent(templates) => {
                let texts: Vec<Text> = templates.iter().map(|template| template.render(event)).collect();
                RubyRegex::new(&union(texts.iter().map(Text::as_str)))
                    .inspect_err(|error| tracing::warn!(target: "logstash.filters.prune", "{error}"))
                    .ok()
            }
        }
    }
}

impl Filter for Prune {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            for (pattern, keeps) in [(&self.kept_names, true), (&self.removed_names, false)] {
                if let Some(regex) = pattern.as_ref().and_then(|pattern| pattern.for_event(event)) {
                    remove_names(event, &regex, keeps);
                }
            }
            for rule in &self.values {
                rule.apply(event);
            }
            Outcome::Matched
        });
    }
}

/// Removes the fields whose names match, or those that do not.
fn remove_names(event: &mut Event, regex: &RubyRegex, keeps: bool) {
    let goes = |name: &Text| regex.is_match(name) != keeps;
    let names: Vec<Text> = event.fields().keys().filter(|name| goes(name)).cloned().collect();
    for name in names {
        event.fields_mut().remove(&name);
    }
}

impl ValueRule {
    fn apply(&self, event: &mut Event) {
        let Ok(field) = self.field.of(event) else { return };
        if event.get(&field).is_none() {
            return;
        }
        let (field, Some(regex)) = (field.into_owned(), self.pattern.for_event(event)) else { return };
        let stays = |value: &Value| matches(&regex, value) == self.keeps;
        let is_gone = match event.get_mut(&field) {
            Some(Value::Array(list)) => {
                list.retain(stays);
                list.is_empty()
            }
            Some(value) => !stays(value),
            None => false,
        };
        if is_gone {
            event.remove(&field);
        }
    }
}

/// Whether the text of a value matches.
fn matches(regex: &RubyRegex, value: &Value) -> bool {
    match value {
        Value::String(text) => regex.is_match(text),
        other => {
            let mut text = Vec::new();
            text_form::write_ruby(other, &mut text);
            regex.is_match(&text_form::utf8(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered};

    fn prune(options: &str, event: &str) -> String {
        filtered(&format!("filter {{ prune {{ {options} }} }}"), &[event]).remove(0)
    }

    #[test]
    fn names_that_are_kept_or_removed() {
        let event = r#"{"a":1,"ab":2,"%{x}":3,"c":{"a":4}}"#;
        assert_eq!(prune("", event), r#"{"a":1,"ab":2,"c":{"a":4}}"#);
        assert_eq!(prune(r#"whitelist_names => ["^a$", "^c", "x"]"#, event), r#"{"a":1,"c":{"a":4}}"#);
        assert_eq!(prune(r#"blacklist_names => ["b", "^c$"]"#, event), r#"{"a":1,"%{x}":3}"#);
    }

    #[test]
    fn a_list_that_does_not_name_the_time_removes_it() {
        let config =
            r#"filter { prune { whitelist_names => ["^a$"] } mutate { add_field => { "t" => "%{@timestamp}" } } }"#;
        assert_eq!(filtered(config, &[r#"{"a":1,"b":2}"#]), [r#"{"a":1,"t":"%{@timestamp}"}"#]);
    }

    #[test]
    fn values_are_compared_as_text() {
        let options = r#"whitelist_values => { "n" => "^4" "[o][p]" => "x" } blacklist_values => { "l" => "b|2" }"#;
        assert_eq!(
            prune(options, r#"{"n":404,"l":["a","b",2],"o":{"p":"y","q":1}}"#),
            r#"{"n":404,"l":["a"],"o":{"q":1}}"#
        );
        assert_eq!(prune(options, r#"{"n":200,"l":["b"]}"#), "{}");
    }

    #[test]
    fn patterns_may_come_from_the_event() {
        let options =
            r#"interpolate => true whitelist_names => ["^%{keep}$", "keep"] blacklist_values => { "%{f}" => "%{v}" }"#;
        assert_eq!(prune(options, r#"{"keep":"a","a":1,"b":2}"#), r#"{"keep":"a","a":1}"#);
        let event = r#"{"keep":"a|f|v","a":"y","f":"a","v":"y"}"#;
        // `^` binds to the first alternative only, `$` to the last.
        assert_eq!(prune(options, event), r#"{"keep":"a|f|v","f":"a","v":"y"}"#);
    }

    #[test]
    fn a_pattern_that_is_none_is_an_error() {
        for options in [
            r#"whitelist_names => "(""#,
            r#"blacklist_values => { "a" => "(" }"#,
            r#"blacklist_values => { "a" => ["x"] }"#,
        ] {
            assert!(compiled(&format!("filter {{ prune {{ {options} }} }}")).is_err(), "{options}");
        }
    }
}
