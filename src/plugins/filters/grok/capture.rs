//! What is captured goes into the event: which field a group means, as what type, and what stands there already.

use crate::event::{EscapeStyle, Event, FieldError, FieldRef, ReferenceError, Root, Text, Value};

use super::number;

/// A named group of a pattern.
#[derive(Debug)]
pub(super) struct Capture {
    /// Its number in the regexp.
    pub group: usize,
    /// The field as it is written in the pattern.
    pub name: String,
    /// Where it goes; what is no field reference fails when there is something to store.
    field: Result<FieldRef, ReferenceError>,
    kind: Kind,
    overwrite: bool,
    keep_empty: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Int,
    Float,
}

/// How a filter stores captures.
#[derive(Clone, Debug, Default)]
pub(in crate::plugins) struct Storage {
    /// The field that all captures go below.
    pub target: Option<String>,
    /// Fields that are replaced.
    pub overwrite: Vec<String>,
    /// Whether empty captures count, and null those that took no part.
    pub keep_empty: bool,
    /// How names with brackets are written.
    pub escape_style: EscapeStyle,
}

/// A capture that the event does not take.
#[derive(Debug, thiserror::Error)]
pub(in crate::plugins) enum StoreError {
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error(transparent)]
    Field(#[from] FieldError),
}

/// Field and type of a group's name, which is `NAME:field:type` or only the field.
fn field_and_kind(name: &str) -> (&str, Kind) {
    let mut parts = name.split(':');
    let first = parts.next().unwrap_or_default();
    match (parts.next(), parts.next()) {
        (Some(field), Some("int")) => (field, Kind::Int),
        (Some(field), Some("float")) => (field, Kind::Float),
        (Some(field), _) => (field, Kind::Text),
        (None, _) => (first, Kind::Text),
    }
}

/// The captures of a regexp's groups: names in the order in which they are first seen, the groups of one name
/// together. Only the first of them has the type.
pub(super) fn captures(groups: &[Option<String>], storage: &Storage) -> Vec<Capture> {
    let mut names: Vec<(&str, Vec<usize>)> = Vec::new();
    for (at, name) in groups.iter().enumerate() {
        let Some(name) = name else { continue };
        match names.iter_mut().find(|(known, _)| known == name) {
            Some((_, numbers)) => numbers.push(at + 1),
            None => names.push((name, vec![at + 1])),
        }
    }
    let mut all = Vec::with_capacity(groups.len());
    for (name, numbers) in names {
        let (field, kind) = field_and_kind(name);
        for (at, group) in numbers.into_iter().enumerate() {
            all.push(Capture {
                group,
                name: field.to_owned(),
                field: storage.field(field),
                kind: if at == 0 { kind } else { Kind::Text },
                overwrite: storage.overwrite.iter().any(|name| name == field),
                keep_empty: storage.keep_empty,
            });
        }
    }
    all
}

impl Storage {
    fn field(&self, name: &str) -> Result<FieldRef, ReferenceError> {
        let bracketed = |name: &str| if name.starts_with('[') { name.to_owned() } else { format!("[{name}]") };
        match &self.target {
            Some(target) => FieldRef::parse(&format!("{}{}", bracketed(target), bracketed(name)), self.escape_style),
            None => FieldRef::parse(name, self.escape_style),
        }
    }
}

impl Capture {
    /// The value of what the group matched.
    pub fn value(&self, matched: Text) -> Value {
        self.kind.convert(matched)
    }

    /// The names on the way to its field, if that has no rules of its own and empty captures do not count.
    pub fn plain_path(&self) -> Option<Vec<Text>> {
        let field = self.field.as_ref().ok().filter(|field| field.takes_all() && field.root() == Root::Fields)?;
        (!self.keep_empty).then(|| field.path().iter().map(|segment| segment.name.clone()).collect())
    }

    /// Stores what the group matched; `None` when it took no part.
    pub fn store(&self, event: &mut Event, matched: Option<Text>) -> Result<(), StoreError> {
        let value = matched.map_or(Value::Null, |text| self.value(text));
        if !self.keep_empty && (value.is_null() || value.as_str() == Some("")) {
            return Ok(());
        }
        let field = self.field.as_ref().map_err(Clone::clone)?;
        if self.overwrite {
            return Ok(event.set(field, value)?);
        }
        if let Some(place) = event.place(field)? {
            add(place, value);
            return Ok(());
        }
        // A field with rules of its own, or none at all.
        let mut both = match event.get(field) {
            Some(old) => old.clone(),
            None => Value::Null,
        };
        add(&mut both, value);
        if event.get(field) == Some(&both) { Ok(()) } else { Ok(event.set(field, both)?) }
    }
}

/// What a capture makes of the value that is there: nothing is replaced, a text and a list take it in, and what else
/// there is stays as it is.
fn add(place: &mut Value, value: Value) {
    match place {
        Value::Null => *place = value,
        Value::Array(list) => list.push(value),
        Value::String(old) => *place = Value::Array(vec![Value::String(std::mem::take(old)), value]),
        _ => {}
    }
}

impl Kind {
    fn convert(self, text: Text) -> Value {
        match self {
            Self::Text => Value::String(text),
            Self::Int => number::integer(text),
            Self::Float => Value::Float(number::float(&text)),
        }
    }
}
