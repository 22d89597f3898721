//! Fields by names that are no references yet: of an option, known at load or made from each event, or of the data.

use std::borrow::Cow;

use super::{
    EscapeStyle, Event, FieldError, FieldRef, METADATA, ReferenceError, TAGS, TIMESTAMP, Template, Text, Value,
};

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

/// Why a value could not be set under a name that came with the data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name is no field reference.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The field cannot take the value.
    #[error(transparent)]
    Field(#[from] FieldError),
}

impl Event {
    /// Sets the field that a text of the data names, as a reference. Nearly all names are plain and need no parsing.
    pub fn set_named(&mut self, name: &Text, style: EscapeStyle, value: impl Into<Value>) -> Result<(), NameError> {
        if is_plain(name, style) {
            self.fields_mut().insert(name.clone(), value.into());
            return Ok(());
        }
        Ok(self.set(&FieldRef::parse(name, style)?, value)?)
    }
}

/// Whether a text names a top-level field without rules of its own.
fn is_plain(name: &str, style: EscapeStyle) -> bool {
    let special = |byte: u8| matches!(byte, b'[' | b']') || style != EscapeStyle::None && matches!(byte, b'%' | b'&');
    !name.bytes().any(special) && !matches!(name, TAGS | METADATA | TIMESTAMP)
}
