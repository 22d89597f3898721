//! An event as a row: one JSON object in one line.

use std::collections::{HashMap, HashSet};

use crate::event::{Event, Map, Text, Value, json};

/// Which fields become which columns.
#[derive(Default)]
pub(super) struct RowForm {
    /// `fields`: the columns, in this order; all fields of the event without it.
    pub only: Option<Vec<Text>>,
    /// `exclude_fields`.
    pub exclude: HashSet<Text>,
    /// `rename`; `None` leaves the field out.
    rename: HashMap<Text, Option<Text>>,
    /// New names, and the fields that get them.
    renamed: HashMap<Text, Text>,
    /// `flatten`: what joins the names of nested fields.
    pub flatten: Option<String>,
}

impl RowForm {
    /// Sends a field under another name, or not at all when the name is empty.
    pub fn rename(&mut self, from: &str, to: &str) {
        let new = (!to.is_empty()).then(|| Text::from(to));
        if let Some(new) = &new {
            self.renamed.insert(new.clone(), Text::from(from));
        }
        self.rename.insert(Text::from(from), new);
    }

    /// Appends an event with its line end.
    pub fn write(&self, event: &Event, out: &mut Vec<u8>) {
        let mut columns = Columns { before: b'{', flatten: self.flatten.as_deref(), out };
        match &self.only {
            Some(only) => {
                for name in only {
                    if let Some(value) = event.fields().get_text(name) {
                        self.column(name, value, event.fields(), &mut columns);
                    }
                }
            }
            None => {
                for (name, value) in event.fields().iter() {
                    self.column(name, value, event.fields(), &mut columns);
                }
            }
        }
        if columns.before == b'{' {
            out.push(b'{');
        }
        out.extend_from_slice(b"}\n");
    }

    fn sends(&self, name: &Text) -> bool {
        !self.exclude.contains(name) && self.only.as_ref().is_none_or(|only| only.contains(name))
    }

    fn column(&self, name: &Text, value: &Value, fields: &Map, columns: &mut Columns<'_>) {
        if self.exclude.contains(name) {
            return;
        }
        // A renamed field takes the place of one that had its name, as it does in a `mutate` filter.
        if self.renamed.get(name).is_some_and(|from| fields.get_text(from).is_some() && self.sends(from)) {
            return;
        }
        match self.rename.get(name) {
            None => columns.write(name, value),
            Some(Some(new)) => columns.write(new, value),
            Some(None) => {}
        }
    }
}

struct Columns<'a> {
    before: u8,
    flatten: Option<&'a str>,
    out: &'a mut Vec<u8>,
}

impl Columns<'_> {
    fn write(&mut self, name: &str, value: &Value) {
        if let (Some(joint), Value::Map(map)) = (self.flatten, value) {
            for (inner, value) in map.iter() {
                self.write(&format!("{name}{joint}{inner}"), value);
            }
            return;
        }
        self.out.push(self.before);
        self.before = b',';
        json::write_string(name, self.out);
        self.out.push(b':');
        json::write_value(value, self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::event;

    fn row(form: &RowForm, json: &str) -> String {
        let mut out = Vec::new();
        form.write(&event(json), &mut out);
        String::from_utf8(out).unwrap()
    }

    fn usual() -> RowForm {
        let mut form = RowForm::default();
        form.rename("@timestamp", "timestamp");
        form.rename("@version", "");
        form
    }

    #[test]
    fn all_fields_but_metadata_are_columns() {
        let json = r#"{"@timestamp":"2026-03-01T10:00:00.5Z","a":"é\n","n":null,"l":[1,{"x":2}],"m":{"k":1.5},"@metadata":{"s":1}}"#;
        assert_eq!(
            row(&usual(), json),
            "{\"timestamp\":\"2026-03-01T10:00:00.500Z\",\"a\":\"é\\n\",\"n\":null,\"l\":[1,{\"x\":2}],\"m\":{\"k\":1.5}}\n"
        );
    }

    #[test]
    fn columns_are_chosen_left_out_and_renamed() {
        let json = r#"{"@timestamp":"2026-03-01T10:00:00Z","a":1,"b":2,"c":3}"#;
        let mut form = usual();
        form.only = Some(["c", "a", "gone"].map(Text::from).to_vec());
        assert_eq!(row(&form, json), "{\"c\":3,\"a\":1}\n");
        let mut form = usual();
        form.exclude = ["b", "@timestamp"].map(Text::from).into();
        form.rename("a", "z");
        assert_eq!(row(&form, json), "{\"z\":1,\"c\":3}\n");
        form.only = Some(Vec::new());
        assert_eq!(row(&form, json), "{}\n");
    }

    /// Patterns for web logs make a field `timestamp`, which would be a column twice.
    #[test]
    fn a_renamed_field_takes_the_place_of_one_with_its_name() {
        let json = r#"{"timestamp":"01/Mar/2026","@timestamp":"2026-03-01T10:00:00Z"}"#;
        assert_eq!(row(&usual(), json), "{\"timestamp\":\"2026-03-01T10:00:00.000Z\"}\n");
        let mut form = usual();
        form.only = Some(vec![Text::from("timestamp")]);
        assert_eq!(row(&form, json), "{\"timestamp\":\"01/Mar/2026\"}\n", "the other one is not sent at all");
    }

    #[test]
    fn nested_fields_can_be_flattened() {
        let mut form = usual();
        form.rename("@timestamp", "");
        form.flatten = Some("_".to_owned());
        let json = r#"{"a":{"b":{"c":1},"d":[{"e":2}],"none":{}},"f":1}"#;
        assert_eq!(row(&form, json), "{\"a_b_c\":1,\"a_d\":[{\"e\":2}],\"f\":1}\n");
    }
}
