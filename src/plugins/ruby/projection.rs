//! What a script can read of an event: only this much is sent to it.

use super::marshal::Encoder;
use crate::event::{EscapeStyle, Event, FieldRef, Map, Root, Text, Value};

/// The fields that a script names.
#[derive(Debug, Default)]
pub struct Projection {
    fields: Names,
    metadata: Names,
}

/// Names of one map, each with the names below that are wanted of it.
#[derive(Debug, Default)]
struct Names {
    /// All of the map.
    whole: bool,
    below: Vec<(Text, Names)>,
}

impl Projection {
    /// Of the references in a script. One that is broken reads nothing: it raises an error where it is used.
    pub fn new<'r>(references: impl Iterator<Item = &'r str>, style: EscapeStyle) -> Self {
        let mut projection = Self::default();
        for field in references.filter_map(|text| FieldRef::parse(text, style).ok()) {
            let root = match field.root() {
                Root::Fields => &mut projection.fields,
                Root::Metadata => &mut projection.metadata,
            };
            root.add(field.path().iter().map(|segment| &segment.name));
        }
        projection
    }

    /// Writes the fields and the metadata of an event, as far as they are named.
    pub fn write(&self, event: &Event, encoder: &mut Encoder) {
        self.fields.write(event.fields(), encoder);
        self.metadata.write(event.metadata(), encoder);
    }
}

/// Writes the fields and the metadata of an event, all of them.
pub fn write_whole(event: &Event, encoder: &mut Encoder) {
    encoder.fields(event.fields());
    encoder.fields(event.metadata());
}

impl Names {
    fn add<'t>(&mut self, path: impl Iterator<Item = &'t Text>) {
        let mut at = self;
        for name in path {
            let place = at.below.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                at.below.push((name.clone(), Self::default()));
                at.below.len() - 1
            });
            at = &mut at.below[place].1;
        }
        at.whole = true;
    }

    /// A parent that is no map is sent as it is: the script sees the same list, or the same mistake.
    fn write(&self, map: &Map, encoder: &mut Encoder) {
        if self.whole {
            return encoder.fields(map);
        }
        let there = || self.below.iter().filter_map(|(name, names)| Some((name, names, map.get_text(name)?)));
        encoder.map(there().count());
        for (name, names, value) in there() {
            encoder.text(name);
            match value {
                Value::Map(map) => names.write(map, encoder),
                value => encoder.value(value),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::marshal::decode;
    use super::*;
    use crate::plugins::testing::event;

    fn seen(references: &[&str], json: &str) -> String {
        let projection = Projection::new(references.iter().copied(), EscapeStyle::None);
        let mut encoder = Encoder::default();
        encoder.list(2);
        projection.write(&event(json), &mut encoder);
        let value = decode(encoder.finish().get(4..).unwrap()).unwrap();
        let mut out = Vec::new();
        crate::event::json::write_value(&value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_what_is_named_is_sent() {
        let json = r#"{"a":{"b":1,"c":2},"d":3,"l":[{"x":1}],"s":"t","@metadata":{"m":1,"n":2}}"#;
        assert_eq!(seen(&["[a][b]", "d", "zz"], json), r#"[{"a":{"b":1},"d":3},{}]"#);
        assert_eq!(seen(&["[a][b]", "a"], json), r#"[{"a":{"b":1,"c":2}},{}]"#);
        assert_eq!(seen(&["[a][zz][y]"], json), r#"[{"a":{}},{}]"#);
        assert_eq!(seen(&["[l][0][x]", "[s][x]"], json), r#"[{"l":[{"x":1}],"s":"t"},{}]"#);
        assert_eq!(seen(&["[@metadata][n]"], json), r#"[{},{"n":2}]"#);
        assert_eq!(seen(&["@metadata", "[broken"], json), r#"[{},{"m":1,"n":2}]"#);
    }
}
