//! Where a rule looks: one field, or with `[*]` one in each element of a list.

use crate::event::{EscapeStyle, Event, FieldRef, METADATA, ReferenceError, Root, Text, Value};

/// The step that stands for each element of a list.
const EACH: &str = "*";

/// The path of a rule.
pub(super) struct Path {
    shown: Text,
    /// From the event or from `@metadata`, with the target in front.
    names: Vec<Text>,
    /// How many of the names are the target's, which are not shown.
    hidden: usize,
    /// The field, when there is just one.
    only: Option<FieldRef>,
}

/// A field that a rule found, or should have found.
pub(super) struct Place {
    pub field: FieldRef,
    /// As messages call it.
    pub shown: Text,
    /// Whether it is below a list that is not there.
    pub is_below_nothing: bool,
}

impl Path {
    /// Reads a path. With a `target` it leads there, unless it begins with the target itself or is metadata.
    pub fn parse(text: &str, style: EscapeStyle, target: Option<&FieldRef>) -> Result<Self, ReferenceError> {
        let field = FieldRef::parse(text, style)?;
        let names = all_names(&field);
        let target = target.map(all_names).unwrap_or_default();
        let is_absolute = field.root() == Root::Metadata || names.starts_with(&target);
        let (names, hidden) =
            if is_absolute { (names, 0) } else { (target.iter().cloned().chain(names).collect(), target.len()) };
        let is_starred = names.iter().any(|name| name == EACH);
        let only = (!is_starred).then(|| reference(&names));
        Ok(Self { shown: Text::from(text), names, hidden, only })
    }

    /// The one field it leads to, unless it leads to many.
    pub fn only(&self) -> Option<&FieldRef> {
        self.only.as_ref()
    }

    /// The names without target, `@metadata` and `*`.
    pub fn plain_names(&self) -> impl Iterator<Item = &str> {
        let shown = self.names.iter().skip(self.hidden).map(Text::as_str);
        shown.filter(|name| *name != EACH && *name != METADATA)
    }

    /// The first name below the target, when it leads into the document.
    pub fn member(&self, target: Option<&FieldRef>) -> Option<&Text> {
        let below = match target {
            Some(target) => self.names.strip_prefix(all_names(target).as_slice())?,
            None => &self.names,
        };
        below.first().filter(|name| *name != METADATA)
    }

    /// Whether it leads into `@metadata`.
    pub fn is_metadata(&self) -> bool {
        self.names.first().is_some_and(|name| name == METADATA) && self.hidden == 0
    }

    /// The fields that it leads to in this event.
    pub fn places(&self, event: &Event) -> Vec<Place> {
        if let Some(field) = &self.only {
            return vec![Place { field: field.clone(), shown: self.shown.clone(), is_below_nothing: false }];
        }
        let mut places = Vec::new();
        self.expand(event, Vec::new(), &self.names, &mut places);
        places
    }

    fn expand(&self, event: &Event, mut names: Vec<Text>, rest: &[Text], places: &mut Vec<Place>) {
        let Some(star) = rest.iter().position(|name| name == EACH) else {
            names.extend(rest.iter().cloned());
            let shown = names.iter().skip(self.hidden).map(|name| format!("[{name}]")).collect::<String>();
            let field = reference(&names);
            places.push(Place { field, shown: Text::from(shown), is_below_nothing: false });
            return;
        };
        let (before, after) = rest.split_at(star);
        names.extend(before.iter().cloned());
        let list = reference(&names);
        let Some(Value::Array(elements)) = event.get(&list) else {
            places.push(Place { field: list, shown: self.shown.clone(), is_below_nothing: true });
            return;
        };
        for at in 0..elements.len() {
            let mut names = names.clone();
            names.push(Text::from(at.to_string()));
            self.expand(event, names, after.get(1..).unwrap_or_default(), places);
        }
    }
}

/// The names of a reference, `@metadata` among them.
fn all_names(field: &FieldRef) -> Vec<Text> {
    let root = (field.root() == Root::Metadata).then(|| Text::borrowed(METADATA));
    root.into_iter().chain(field.path().iter().map(|segment| segment.name.clone())).collect()
}

fn reference(names: &[Text]) -> FieldRef {
    FieldRef::path_of(&names.iter().map(Text::as_str).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::event;

    fn shown(path: &str, target: Option<&str>, json: &str) -> Vec<String> {
        let target = target.map(|text| FieldRef::parse(text, EscapeStyle::None).unwrap());
        let path = Path::parse(path, EscapeStyle::None, target.as_ref()).unwrap();
        let places = path.places(&event(json)).into_iter();
        places.map(|place| format!("{} {}", place.field, place.shown)).collect()
    }

    #[test]
    fn each_element_is_found() {
        let json = r#"{"a":[{"b":[1,2]},{"b":[]},{}],"t":{"x":[1]}}"#;
        assert_eq!(
            shown("[a][*][b][*]", None, json),
            ["[a][0][b][0] [a][0][b][0]", "[a][0][b][1] [a][0][b][1]", "[a][2][b] [a][*][b][*]"]
        );
        assert_eq!(shown("[x][*]", Some("t"), json), ["[t][x][0] [x][0]"]);
        assert_eq!(shown("[t][x]", Some("t"), json), ["[t][x] [t][x]"]);
        assert_eq!(shown("[@metadata][x]", Some("t"), json), ["[@metadata][x] [@metadata][x]"]);
    }
}
