//! `alter`: fields that get a new value when they, or others, have a certain one.

use crate::event::{Event, FieldRef, Template, Text, Value};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "alter", summary: "Sets fields depending on what fields hold.", build };

struct Alter {
    /// Of its own field, in place.
    rewrites: Vec<(FieldRef, Template, Template)>,
    /// Of another field.
    others: Vec<(FieldRef, Template, FieldRef, Template)>,
    coalesce: Option<(FieldRef, Vec<Template>)>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let rewrites =
        options.strings("condrewrite").doc("Threes of field, expected value, new value.").default(Vec::new());
    let others = options.strings("condrewriteother").doc("Fours of field, expected value, other field, its new value.");
    let others = others.default(Vec::new());
    let coalesce = options.strings("coalesce").doc("A field, and values of which it takes the first that is there.");
    let coalesce = coalesce.default(Vec::new());
    for (name, list, size) in [("condrewrite", &rewrites, 3), ("condrewriteother", &others, 4)] {
        if !list.len().is_multiple_of(size) {
            options.invalid(name, format!("Invalid configuration of `{name}`: it takes groups of {size}"));
        }
    }
    let rewrites = rewrites.chunks_exact(3).filter_map(|group| {
        let [field, expected, new] = group else { return None };
        Some((
            field_of(options, "condrewrite", field)?,
            template(options, "condrewrite", expected)?,
            template(options, "condrewrite", new)?,
        ))
    });
    let rewrites = rewrites.collect();
    let name = "condrewriteother";
    let others = others.chunks_exact(4).filter_map(|group| {
        let [field, expected, other, new] = group else { return None };
        let (field, other) = (field_of(options, name, field)?, field_of(options, name, other)?);
        Some((field, template(options, name, expected)?, other, template(options, name, new)?))
    });
    let others = others.collect();
    let coalesce = coalesce.split_first().and_then(|(field, values)| {
        let field = field_of(options, "coalesce", field)?;
        Some((field, values.iter().filter_map(|value| template(options, "coalesce", value)).collect()))
    });
    Box::new(Alter { rewrites, others, coalesce })
}

fn field_of(options: &mut Options<'_>, option: &str, text: &str) -> Option<FieldRef> {
    let field = FieldRef::parse(text, options.context().escape_style);
    field.map_err(|error| options.invalid(option, error.to_string())).ok()
}

fn template(options: &mut Options<'_>, option: &str, text: &str) -> Option<Template> {
    let template = Template::compile(text, options.context().escape_style);
    template.map_err(|error| options.invalid(option, error.to_string())).ok()
}

impl Filter for Alter {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            for (field, expected, new) in &self.rewrites {
                rewrite(event, field, &expected.render(event), new);
            }
            for (field, expected, other, new) in &self.others {
                if holds(event.get(field), &expected.render(event)) {
                    set(event, other, new.render(event));
                }
            }
            if let Some((field, values)) = &self.coalesce
                && let Some(value) = values.iter().find_map(|value| present(value, event))
            {
                set(event, field, value);
            }
            Outcome::Matched
        });
    }
}

/// Every equal element of a list is replaced.
fn rewrite(event: &mut Event, field: &FieldRef, expected: &str, new: &Template) {
    if !holds(event.get(field), expected) {
        return;
    }
    let new = Value::String(new.render(event));
    match event.get_mut(field) {
        Some(Value::Array(list)) => {
            list.iter_mut().filter(|value| value.as_str() == Some(expected)).for_each(|value| *value = new.clone());
        }
        Some(value) => *value = new,
        None => {}
    }
}

/// Whether a value, or one of a list, is this text.
fn holds(value: Option<&Value>, expected: &str) -> bool {
    match value {
        Some(Value::Array(list)) => list.iter().any(|value| value.as_str() == Some(expected)),
        Some(value) => value.as_str() == Some(expected),
        None => false,
    }
}

/// The text of a template in which nothing is missing, unless it is empty.
fn present(template: &Template, event: &Event) -> Option<Text> {
    let is_missing = |field| event.get(field).is_none_or(Value::is_null);
    if template.references().any(is_missing) {
        return None;
    }
    Some(template.render(event)).filter(|text| !text.is_empty())
}

fn set(event: &mut Event, field: &FieldRef, value: Text) {
    if let Err(error) = event.set(field, value) {
        tracing::warn!(target: "logstash.filters.alter", field = %field, "{error}");
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered};

    fn alter(options: &str, event: &str) -> String {
        filtered(&format!("filter {{ alter {{ {options} }} }}"), &[event]).remove(0)
    }

    #[test]
    fn values_that_are_expected_are_replaced() {
        let options = r#"condrewrite => ["a", "%{x}", "new %{x}", "l", "q", "r"] add_tag => ["t"]"#;
        assert_eq!(
            alter(options, r#"{"a":"1","x":"1","l":["q",5,"s","q"]}"#),
            r#"{"a":"new 1","x":"1","l":["r",5,"s","r"],"tags":["t"]}"#
        );
        assert_eq!(alter(options, r#"{"a":1,"x":"1"}"#), r#"{"a":1,"x":"1","tags":["t"]}"#);
    }

    #[test]
    fn another_field_can_be_set() {
        let options = r#"condrewriteother => ["a", "1", "[b][c]", "%{a}!"]"#;
        assert_eq!(alter(options, r#"{"a":["0","1"]}"#), r#"{"a":["0","1"],"b":{"c":"0,1!"}}"#);
        assert_eq!(alter(options, r#"{"a":"2"}"#), r#"{"a":"2"}"#);
    }

    #[test]
    fn the_first_value_that_is_there() {
        let options = r#"coalesce => ["a", "%{x}", "%{y}", "z"]"#;
        assert_eq!(alter(options, r#"{"y":2}"#), r#"{"y":2,"a":"2"}"#);
        assert_eq!(alter(options, r#"{"x":"","y":null}"#), r#"{"x":"","y":null,"a":"z"}"#);
    }

    #[test]
    fn groups_must_be_whole() {
        assert!(compiled(r#"filter { alter { condrewrite => ["a", "b"] } }"#).is_err());
        assert!(compiled(r#"filter { alter { condrewriteother => ["a", "b", "[c"] } }"#).is_err());
    }
}
