//! A field named in an option: known at load, or made from each event.

use std::borrow::Cow;

use super::{EscapeStyle, Event, FieldRef, ReferenceError, Template};

/// A field reference, or a template that gives one for each event.
#[derive(Clone, Debug)]
pub enum FieldName {
    /// The same for every event.
    Fixed(FieldRef),
    /// What the template gives is parsed for each event.
    PerEvent(Template, EscapeStyle),
}

impl FieldName {
    /// Fails when the name is the same for every event and no field reference.
    pub fn compile(name: Template, style: EscapeStyle) -> Result<Self, ReferenceError> {
        match name.as_constant() {
            Some(text) => FieldRef::parse(text, style).map(Self::Fixed),
            None => Ok(Self::PerEvent(name, style)),
        }
    }

    /// The field for this event.
    pub fn of(&self, event: &Event) -> Result<Cow<'_, FieldRef>, ReferenceError> {
        match self {
            Self::Fixed(field) => Ok(Cow::Borrowed(field)),
            Self::PerEvent(template, style) => FieldRef::parse(&template.render(event), *style).map(Cow::Owned),
        }
    }
}
