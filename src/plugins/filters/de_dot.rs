//! `de_dot`: field names without dots, since some outputs take a dot for nesting.

use crate::event::{Event, FieldError, FieldRef, Map, Root, Text, Value};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "de_dot", summary: "Renames fields with dots in their names.", build };

struct DeDot {
    /// Each field behind its new name, if it needs one; all top-level fields when none are named.
    fields: Option<Vec<(Option<FieldRef>, FieldRef)>>,
    separator: Separator,
    recursive: bool,
    tag_on_failure: String,
}

/// What stands for a dot.
enum Separator {
    Text(String),
    /// Each part is a level of its own.
    Nesting,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let text = options.string("separator").doc("What takes the place of a dot.").default("_".to_owned());
    if text.contains('.') {
        options.invalid("separator", "the separator of the de_dot filter cannot have a dot itself");
    }
    let nested = options.boolean("nested").doc("Whether `a.b` becomes `[a][b]`; `separator` is not used then.");
    let nested = nested.default(false);
    let recursive = options.boolean("recursive").doc("Whether names inside of fields change too.").default(false);
    let fields = options.fields("fields").doc("Fields to rename; without them all top-level ones.").optional();
    let tag_on_failure = options.string("tag_on_failure").doc("Tag of an event with a field that cannot be renamed.");
    let tag_on_failure = tag_on_failure.default("_de_dot_error".to_owned());
    let separator = if nested { Separator::Nesting } else { Separator::Text(text) };
    let fields = fields.map(|fields| {
        let with_new_name = |field: FieldRef| (separator.renamed(&field), field);
        fields.into_iter().map(with_new_name).collect()
    });
    Box::new(DeDot { fields, separator, recursive, tag_on_failure })
}

impl Separator {
    /// The names that a name becomes; `None` without a dot.
    fn apply(&self, name: &str) -> Option<Vec<String>> {
        if !name.contains('.') {
            return None;
        }
        Some(match self {
            Self::Text(text) => vec![name.replace('.', text)],
            Self::Nesting => name.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
        })
        .filter(|names| !names.is_empty())
    }

    /// A reference without dots; `None` when it has none.
    fn renamed(&self, field: &FieldRef) -> Option<FieldRef> {
        let root = (field.root() == Root::Metadata).then(|| crate::event::METADATA.to_owned());
        let mut names: Vec<String> = root.into_iter().collect();
        let mut is_other = false;
        for segment in field.path() {
            match self.apply(&segment.name) {
                Some(parts) => {
                    is_other = true;
                    names.extend(parts);
                }
                None => names.push(segment.name.to_string()),
            }
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        is_other.then(|| FieldRef::path_of(&names))
    }
}

impl Filter for DeDot {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| match self.rename_all(event) {
            Ok(()) => Outcome::Matched,
            Err(error) => {
                tracing::warn!(target: "logstash.filters.de_dot", "{error}");
                event.tag(&self.tag_on_failure);
                Outcome::Unmatched
            }
        });
    }
}

impl DeDot {
    fn rename_all(&self, event: &mut Event) -> Result<(), FieldError> {
        match &self.fields {
            Some(fields) => fields.iter().try_for_each(|(new, old)| {
                if self.recursive
                    && let Some(value) = event.get_mut(old)
                {
                    self.rename_inside(value);
                }
                new.as_ref().map_or(Ok(()), |new| rename(event, old, new))
            }),
            None => {
                if self.recursive {
                    event.fields_mut().iter_mut().for_each(|(_, value)| self.rename_inside(value));
                }
                let dotted: Vec<Text> = event.fields().keys().filter(|name| name.contains('.')).cloned().collect();
                dotted.iter().try_for_each(|name| {
                    let old = FieldRef::top(name);
                    self.separator.renamed(&old).map_or(Ok(()), |new| rename(event, &old, &new))
                })
            }
        }
    }

    /// Renames the keys of all maps in a value, the innermost first.
    fn rename_inside(&self, value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(|value| self.rename_inside(value)),
            Value::Map(map) => {
                map.iter_mut().for_each(|(_, value)| self.rename_inside(value));
                let dotted: Vec<Text> = map.keys().filter(|name| name.contains('.')).cloned().collect();
                for name in dotted {
                    let Some(names) = self.separator.apply(&name) else { continue };
                    if let Some(value) = map.remove(&name) {
                        place(map, &names, value);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Puts a value into nested maps. What stands in the way and is no map gives way.
fn place(map: &mut Map, names: &[String], value: Value) {
    let Some((last, parents)) = names.split_last() else { return };
    let mut at = map;
    for name in parents {
        let slot = at.slot(&Text::from(name));
        if !matches!(slot, Value::Map(_)) {
            *slot = Value::Map(Map::new());
        }
        let Value::Map(inner) = slot else { return };
        at = inner;
    }
    at.insert(Text::from(last), value);
}

/// The field stays under its old name when the new one cannot be set.
fn rename(event: &mut Event, old: &FieldRef, new: &FieldRef) -> Result<(), FieldError> {
    let Some(value) = event.get(old).cloned() else { return Ok(()) };
    event.set(new, value)?;
    event.remove(old);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered};

    fn de_dot(options: &str, event: &str) -> String {
        filtered(&format!("filter {{ de_dot {{ {options} add_tag => [\"t\"] }} }}"), &[event]).remove(0)
    }

    #[test]
    fn dots_of_top_level_names_are_replaced() {
        let event = r#"{"a.b.c":1,"d":{"e.f":2}}"#;
        assert_eq!(de_dot("", event), r#"{"d":{"e.f":2},"a_b_c":1,"tags":["t"]}"#);
        assert_eq!(de_dot(r#"separator => "-""#, event), r#"{"d":{"e.f":2},"a-b-c":1,"tags":["t"]}"#);
        assert_eq!(de_dot("nested => true", event), r#"{"d":{"e.f":2},"a":{"b":{"c":1}},"tags":["t"]}"#);
    }

    #[test]
    fn named_fields_and_names_inside() {
        let event = r#"{"a.b":1,"d":{"e.f":{"g.h":[{"i.j":2}]}}}"#;
        assert_eq!(
            de_dot(r#"fields => "[d][e.f]""#, event),
            r#"{"a.b":1,"d":{"e_f":{"g.h":[{"i.j":2}]}},"tags":["t"]}"#
        );
        assert_eq!(de_dot("recursive => true", event), r#"{"d":{"e_f":{"g_h":[{"i_j":2}]}},"a_b":1,"tags":["t"]}"#);
        assert_eq!(
            de_dot(r#"recursive => true nested => true fields => "d""#, event),
            r#"{"a.b":1,"d":{"e":{"f":{"g":{"h":[{"i":{"j":2}}]}}}},"tags":["t"]}"#
        );
    }

    #[test]
    fn a_name_that_cannot_be_set_is_tagged_and_stays() {
        let event = r#"{"a":1,"a.b":2}"#;
        assert_eq!(de_dot("nested => true", event), r#"{"a":1,"a.b":2,"tags":["_de_dot_error"]}"#);
        assert_eq!(de_dot("", r#"{"...":1}"#), r#"{"___":1,"tags":["t"]}"#);
        assert_eq!(de_dot("nested => true", r#"{"...":1}"#), r#"{"...":1,"tags":["t"]}"#);
    }

    #[test]
    fn a_separator_with_a_dot_is_refused() {
        assert!(
            compiled(r#"filter { de_dot { separator => "." } }"#).is_err_and(|errors| errors.contains("separator"))
        );
    }
}
