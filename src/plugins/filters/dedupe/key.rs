//! The key of an event: a text with references, or a list of fields.

use crate::event::{Event, FieldRef, Template, Value, text_form};
use crate::plugins::Options;

/// Stands between the fields of a key.
const BETWEEN: u8 = 0x1f;

/// What makes up the key of an event.
pub(super) enum Key {
    Text(Template),
    /// With a letter for its type before each, if `1` and `"1"` are two keys.
    Fields {
        fields: Vec<FieldRef>,
        typed: bool,
    },
}

impl Key {
    /// Reads `key` and `key_as_text`.
    pub fn read(options: &mut Options<'_>) -> Self {
        let given =
            options.strings("key").doc("Text with references, or a list of fields, that is the same for duplicates.");
        let given = given.required();
        let as_text = options.boolean("key_as_text").doc("Whether `1` and `\"1\"` in a list of fields are the same.");
        let typed = !as_text.default(true);
        if let [text] = given.as_slice()
            && text.contains("%{")
        {
            if typed {
                options.invalid("key_as_text", "`key_as_text => false` needs a list of fields as key");
            }
            let template = Template::compile(text, options.context().escape_style);
            let template = template.map_err(|error| options.invalid("key", error.message)).unwrap_or_default();
            if template.as_constant().is_some() {
                options.invalid("key", "`key` is the same for all events");
            }
            return Self::Text(template);
        }
        let mut fields = Vec::with_capacity(given.len());
        for name in &given {
            match FieldRef::parse(name, options.context().escape_style) {
                Ok(_) if name.contains("%{") => {
                    options.invalid("key", format!("`{name}`: a list of fields has no `%{{…}}`"));
                }
                Ok(field) => fields.push(field),
                Err(error) => options.invalid("key", error.to_string()),
            }
        }
        if options.is_set("key") && given.is_empty() {
            options.invalid("key", "`key` names no field");
        }
        Self::Fields { fields, typed }
    }

    /// Appends the key. `false` when it is empty or something of it is not there.
    pub fn write(&self, event: &Event, out: &mut Vec<u8>) -> bool {
        let there = |field: &FieldRef| event.get(field).filter(|value| !value.is_null());
        match self {
            Self::Text(template) => {
                if !template.references().all(|field| there(field).is_some()) {
                    return false;
                }
                template.render_into(event, out);
                !out.is_empty()
            }
            Self::Fields { fields, typed } => {
                let mut is_empty = true;
                for (at, field) in fields.iter().enumerate() {
                    let Some(value) = there(field) else { return false };
                    if at > 0 {
                        out.push(BETWEEN);
                    }
                    if *typed {
                        out.push(letter(value));
                    }
                    let before = out.len();
                    text_form::write_template(value, out);
                    is_empty &= out.len() == before;
                }
                !is_empty
            }
        }
    }
}

fn letter(value: &Value) -> u8 {
    match value {
        Value::Null => b'0',
        Value::Bool(_) => b'b',
        Value::Integer(_) | Value::BigInteger(_) => b'i',
        Value::Float(_) | Value::Decimal(_) => b'f',
        Value::String(_) => b's',
        Value::Timestamp(_) => b't',
        Value::Array(_) => b'a',
        Value::Map(_) => b'm',
    }
}
