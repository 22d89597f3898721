//! `truncate`: cuts long texts.

use crate::event::{FieldRef, Map, Text, Value};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "truncate", summary: "Cuts long texts.", build };

struct Truncate {
    most: usize,
    /// All top-level fields when none are named.
    fields: Option<Vec<FieldRef>>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let most = options.integer("length_bytes").doc("Longest text in bytes; no character is split.").required();
    let most = usize::try_from(most).unwrap_or_else(|_| {
        options.invalid("length_bytes", "the length in bytes cannot be negative");
        0
    });
    let fields = options.fields("fields").doc("Fields to cut; without them all top-level fields.").optional();
    Box::new(Truncate { most, fields })
}

impl Filter for Truncate {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            let mut is_cut = false;
            match &self.fields {
                Some(fields) => {
                    for field in fields {
                        if let Some(value) = event.get_mut(field) {
                            is_cut |= cut(value, self.most);
                        }
                    }
                }
                None => is_cut = cut_all(event.fields_mut(), self.most),
            }
            if is_cut { Outcome::Matched } else { Outcome::Unmatched }
        });
    }
}

fn cut_all(map: &mut Map, most: usize) -> bool {
    map.iter_mut().fold(false, |is_cut, (_, value)| cut(value, most) | is_cut)
}

/// Cuts a text, the texts of a list, and whatever is in a map. Whether there was something to cut.
fn cut(value: &mut Value, most: usize) -> bool {
    match value {
        Value::String(text) => cut_text(text, most),
        Value::Array(list) => list.iter_mut().fold(false, |is_cut, value| match value {
            Value::String(text) => cut_text(text, most) | is_cut,
            _ => is_cut,
        }),
        Value::Map(map) => cut_all(map, most),
        _ => false,
    }
}

fn cut_text(text: &mut Text, most: usize) -> bool {
    if text.len() <= most {
        return false;
    }
    *text = text.piece(0..text.floor_char_boundary(most));
    true
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered};

    #[test]
    fn texts_are_cut_between_characters() {
        let config =
            r#"filter { truncate { length_bytes => 4 fields => ["m", "l", "n", "o", "no"] add_tag => ["cut"] } }"#;
        assert_eq!(
            filtered(config, &[r#"{"m":"añño","l":["abcdef",12345],"n":123456,"o":{"p":"12345"}}"#, r#"{"m":"abc"}"#]),
            [r#"{"m":"añ","l":["abcd",12345],"n":123456,"o":{"p":"1234"},"tags":["cut"]}"#, r#"{"m":"abc"}"#]
        );
    }

    #[test]
    fn all_top_level_fields_are_cut_when_none_are_named() {
        let config = "filter { truncate { length_bytes => 2 } }";
        assert_eq!(filtered(config, &[r#"{"a":"xyz","b":["xyz"]}"#]), [r#"{"a":"xy","b":["xy"]}"#]);
        assert!(compiled("filter { truncate { } }").is_err_and(|errors| errors.contains("`length_bytes`")));
    }
}
