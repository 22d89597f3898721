//! The names of columns, and the fields they lead to.

use std::borrow::Cow;

use crate::event::{EscapeStyle, FieldRef, ReferenceError, Text};
use crate::plugins::csv::Conversion;

/// How many fields of columns without a name are made beforehand.
const NUMBERED: usize = 64;

/// A column.
pub(super) enum Column {
    Named {
        name: Text,
        field: FieldRef,
        conversion: Option<Conversion>,
    },
    /// Events fail when they come to it.
    Invalid {
        name: Text,
        error: ReferenceError,
    },
    /// Named after its place.
    Nameless,
}

/// From names to columns.
pub(super) struct Columns {
    target: Option<FieldRef>,
    conversions: Vec<(String, Conversion)>,
    style: EscapeStyle,
    given: Vec<Column>,
    numbered: Vec<(FieldRef, Option<Conversion>)>,
}

impl Columns {
    /// `target` is the field that all columns lie below.
    pub fn new(
        target: Option<FieldRef>,
        conversions: Vec<(String, Conversion)>,
        names: Vec<String>,
        style: EscapeStyle,
    ) -> Self {
        let mut columns = Self { target, conversions, style, given: Vec::new(), numbered: Vec::new() };
        columns.given = names.into_iter().map(|name| columns.column(Some(Text::from(name)))).collect();
        columns.numbered = (0..NUMBERED).map(|at| columns.make_numbered(at)).collect();
        columns
    }

    /// The columns of the configuration.
    pub fn given(&self) -> &[Column] {
        &self.given
    }

    /// The column of that name.
    pub fn column(&self, name: Option<Text>) -> Column {
        let Some(name) = name else { return Column::Nameless };
        match self.field(&name) {
            Ok(field) => Column::Named { field, conversion: self.conversion(&name), name },
            Err(error) => Column::Invalid { name, error },
        }
    }

    /// The field of a column without a name: `column1` is the first.
    pub fn numbered(&self, at: usize) -> (Cow<'_, FieldRef>, Option<Conversion>) {
        match self.numbered.get(at) {
            Some((field, conversion)) => (Cow::Borrowed(field), *conversion),
            None => {
                let (field, conversion) = self.make_numbered(at);
                (Cow::Owned(field), conversion)
            }
        }
    }

    fn make_numbered(&self, at: usize) -> (FieldRef, Option<Conversion>) {
        let name = format!("column{}", at + 1);
        let field = match &self.target {
            Some(target) => target.child(&[&name]),
            None => FieldRef::top(&name),
        };
        (field, self.conversion(&name))
    }

    fn field(&self, name: &str) -> Result<FieldRef, ReferenceError> {
        let Some(target) = &self.target else { return FieldRef::parse(name, self.style) };
        let bracketed = |name: &str| if name.starts_with('[') { name.to_owned() } else { format!("[{name}]") };
        FieldRef::parse(&(bracketed(target.text()) + &bracketed(name)), self.style)
    }

    fn conversion(&self, name: &str) -> Option<Conversion> {
        self.conversions.iter().find(|(column, _)| column == name).map(|(_, conversion)| *conversion)
    }
}

/// Whether values are the names of the columns.
pub(super) fn are(columns: &[Column], values: &[Option<Text>]) -> bool {
    let is_it = |(column, value): (&Column, &Option<Text>)| match column {
        Column::Named { name, .. } | Column::Invalid { name, .. } => value.as_ref() == Some(name),
        Column::Nameless => value.is_none(),
    };
    !columns.is_empty() && columns.len() == values.len() && columns.iter().zip(values).all(is_it)
}
