//! `range`: what happens to an event whose field lies between two numbers.

use crate::event::{Event, FieldRef, Template, Value};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "range", summary: "Drops, tags or marks events by the size of a field.", build };

struct Ranges {
    rules: Vec<Rule>,
    negate: bool,
}

struct Rule {
    field: FieldRef,
    low: f64,
    high: f64,
    action: Action,
}

enum Action {
    Drop,
    Tag(Template),
    Set(FieldRef, Template),
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let given = options.list("ranges").doc("Fours of field, lowest, highest, and what to do.");
    let given = given.optional().unwrap_or_default();
    let negate = options.boolean("negate").doc("Whether values outside of the range count.").default(false);
    if !given.len().is_multiple_of(4) {
        options.invalid("ranges", "range: each range has four parts: field, lowest, highest, action");
    }
    let rules = given.chunks_exact(4).filter_map(|four| match rule(options, four) {
        Ok(rule) => Some(rule),
        Err(error) => {
            options.invalid("ranges", error);
            None
        }
    });
    let rules = rules.collect();
    Box::new(Ranges { rules, negate })
}

fn rule(options: &Options<'_>, four: &[Value]) -> Result<Rule, String> {
    let [field, low, high, action] = four else { return Err("range: each range has four parts".to_owned()) };
    let style = options.context().escape_style;
    let field = FieldRef::parse(field.as_str().unwrap_or_default(), style).map_err(|error| error.to_string())?;
    let limit = |value: &Value| match value {
        Value::Integer(n) => Ok(*n as f64),
        Value::Float(f) => Ok(*f),
        _ => Err(format!("range: the limits of `{field}` must be numbers")),
    };
    let action = action.as_str().unwrap_or_default();
    let compiled = |text: &str| Template::compile(text, style).map_err(|error| error.to_string());
    let action_of = || match action.split_once(':') {
        None if action == "drop" => Ok(Action::Drop),
        Some(("tag", tag)) => Ok(Action::Tag(compiled(tag)?)),
        Some(("field", rest)) if rest.contains(':') => {
            let (name, value) = rest.split_once(':').unwrap_or_default();
            let name = FieldRef::parse(name, style).map_err(|error| error.to_string())?;
            Ok(Action::Set(name, compiled(value)?))
        }
        _ => Err(format!("range: `{action}` is no action; there are drop, tag:TAG and field:NAME:VALUE")),
    };
    Ok(Rule { low: limit(low)?, high: limit(high)?, action: action_of()?, field })
}

impl Filter for Ranges {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            for rule in &self.rules {
                if rule.is_inside(event) == Some(!self.negate) {
                    rule.action.apply(event);
                }
                if event.is_cancelled() {
                    return Outcome::Unmatched;
                }
            }
            Outcome::Matched
        });
    }
}

impl Rule {
    /// Texts are measured by their length; `None` without a field that can be measured.
    fn is_inside(&self, event: &Event) -> Option<bool> {
        let size = match event.get(&self.field)? {
            Value::Integer(n) => *n as f64,
            Value::Float(f) => *f,
            Value::String(text) => text.chars().count() as f64,
            _ => return None,
        };
        Some((self.low..=self.high).contains(&size))
    }
}

impl Action {
    fn apply(&self, event: &mut Event) {
        match self {
            Self::Drop => event.cancel(),
            Self::Tag(tag) => {
                let tag = tag.render(event);
                event.tag(&tag);
            }
            Self::Set(field, value) => {
                let value = typed(&value.render(event));
                if let Err(error) = event.set(field, value) {
                    tracing::warn!(target: "logstash.filters.range", field = %field, "{error}");
                }
            }
        }
    }
}

/// A text that looks like a number is one.
fn typed(text: &str) -> Value {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number =
        digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') && digits.bytes().any(|b| b.is_ascii_digit());
    let number = match (is_number, digits.contains('.')) {
        (false, _) => None,
        (true, false) => text.parse().ok().map(Value::Integer),
        (true, true) => text.parse().ok().map(Value::Float),
    };
    number.unwrap_or_else(|| Value::from(text))
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered};

    fn range(options: &str, event: &str) -> Vec<String> {
        filtered(&format!("filter {{ range {{ {options} }} }}"), &[event])
    }

    #[test]
    fn limits_are_part_of_the_range_and_texts_have_a_length() {
        let options = r#"ranges => ["n", 1, 2.5, "tag:in_%{n}", "n", 3, 4, "field:[a][b]:-2", "n", 5, 5, "drop"]"#;
        assert_eq!(range(options, r#"{"n":1}"#), [r#"{"n":1,"tags":["in_1"]}"#]);
        assert_eq!(range(options, r#"{"n":2.5}"#), [r#"{"n":2.5,"tags":["in_2.5"]}"#]);
        assert_eq!(range(options, r#"{"n":"äbc"}"#), [r#"{"n":"äbc","a":{"b":-2}}"#]);
        assert!(range(options, r#"{"n":5}"#).is_empty());
        for n in ["6", "null", "[1]"] {
            let event = format!(r#"{{"n":{n}}}"#);
            assert_eq!(range(options, &event), [event]);
        }
    }

    #[test]
    fn a_range_can_be_turned_around() {
        let options = r#"ranges => ["n", 1, 2, "field:f:1.50"] negate => true add_tag => ["t"]"#;
        assert_eq!(range(options, r#"{"n":3}"#), [r#"{"n":3,"f":1.5,"tags":["t"]}"#]);
        assert_eq!(range(options, r#"{"n":2}"#), [r#"{"n":2,"tags":["t"]}"#]);
        assert_eq!(range(options, "{}"), [r#"{"tags":["t"]}"#]);
    }

    #[test]
    fn ranges_that_are_none() {
        for ranges in
            [r#"["n", 1, 2]"#, r#"["n", "a", 2, "drop"]"#, r#"["n", 1, 2, "delete"]"#, r#"["n", 1, 2, "field:x"]"#]
        {
            assert!(compiled(&format!("filter {{ range {{ ranges => {ranges} }} }}")).is_err(), "{ranges}");
        }
    }
}
