//! What a script did to an event, done to the event.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::event::{EscapeStyle, Event, FieldRef, Map, ReferenceError, TAGS, Text, Value};

/// References that are kept parsed; scripts that make names of data have many.
const MOST_PARSED: usize = 10_000;

/// What a script did to one event.
#[derive(Debug)]
pub enum Answer {
    /// It ran to its end, or an exception ended it.
    Ran(Ran),
    /// The interpreter died of the event, or was ended because of it; says how.
    Killed(String),
    /// There is no interpreter; says why.
    NotRun(String),
}

/// A script that ran.
#[derive(Debug, Default)]
pub struct Ran {
    /// Whether the common options apply.
    pub matched: bool,
    /// Whether the event leaves the pipeline.
    pub cancelled: bool,
    operations: Vec<Value>,
    new_events: Vec<Value>,
    /// What ended it.
    pub exception: Option<Exception>,
}

/// An exception of a script.
#[derive(Debug)]
pub struct Exception {
    /// Its class.
    pub class: String,
    /// What it says.
    pub message: String,
    /// Where it comes from, innermost first.
    pub backtrace: Vec<String>,
}

/// The new events of a script, and what could not be done.
#[derive(Debug, Default)]
pub struct Applied {
    /// They follow the event.
    pub new_events: Vec<Event>,
    /// The first operation that failed.
    pub error: Option<String>,
}

impl Answer {
    /// From what the interpreter sent. `None` when that is no answer.
    pub fn read(value: Value) -> Option<Self> {
        if value.is_null() {
            return Some(Self::Ran(Ran { matched: true, ..Ran::default() }));
        }
        let [outcome, cancelled, operations, new_events, error] = items(value)?;
        let (Value::Array(operations), Value::Array(new_events)) = (operations, new_events) else { return None };
        // 0 matched, 1 failed, 2 matched and failed: see runtime/scripts.rb.
        let matched = outcome.as_integer()? != 1;
        let exception = if error.is_null() { None } else { Some(Exception::read(error)?) };
        Some(Self::Ran(Ran { matched, cancelled: cancelled == Value::Bool(true), operations, new_events, exception }))
    }
}

impl Exception {
    fn read(value: Value) -> Option<Self> {
        let [class, message, backtrace] = items(value)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let backtrace = backtrace.as_array()?.iter().map(text).collect();
        Some(Self { class: text(&class), message: text(&message), backtrace })
    }
}

impl Ran {
    /// Does to `event` what the script did to its copy, in the same order, and takes the new events out.
    pub fn apply(&mut self, event: &mut Event, references: &mut References) -> Applied {
        let mut applied = Applied::default();
        let mut operations = std::mem::take(&mut self.operations).into_iter();
        while let (Some(kind), Some(name), Some(value)) = (operations.next(), operations.next(), operations.next()) {
            if let Err(error) = operate(event, references, &kind, &name, value) {
                applied.error.get_or_insert(error);
            }
        }
        applied.new_events = std::mem::take(&mut self.new_events).into_iter().filter_map(new_event).collect();
        if self.cancelled {
            event.cancel();
        }
        applied
    }
}

/// The kinds are those of runtime/event.rb.
fn operate(
    event: &mut Event,
    references: &mut References,
    kind: &Value,
    name: &Value,
    value: Value,
) -> Result<(), String> {
    let Some(name) = name.as_text() else { return Err("an operation without a field".into()) };
    match kind.as_integer() {
        Some(0) if value.is_null() && name.as_str() == TAGS => {
            event.fields_mut().insert(name.clone(), value);
        }
        Some(0) => {
            let field = references.get(name).map_err(|e| e.to_string())?;
            event.set(field, value).map_err(|e| e.to_string())?;
        }
        Some(1) => {
            let field = references.get(name).map_err(|e| e.to_string())?;
            event.remove(field);
        }
        Some(2) => event.tag(name),
        Some(3) => {
            event.fields_mut().insert(name.clone(), value);
        }
        Some(4) => {
            if let Value::Map(fields) = value {
                *event.fields_mut() = fields;
            }
        }
        _ => return Err("an unknown operation".into()),
    }
    Ok(())
}

/// An event of its fields and its metadata, just as the script left it.
pub fn new_event(parts: Value) -> Option<Event> {
    let [Value::Map(fields), Value::Map(metadata)] = items(parts)? else { return None };
    Some(event_of(fields, metadata))
}

/// An event of its parts, of which nothing is put right.
pub fn event_of(fields: Map, metadata: Map) -> Event {
    let mut event = Event::default();
    *event.fields_mut() = fields;
    *event.metadata_mut() = metadata;
    event
}

/// The items of a list that has just so many.
pub fn items<const N: usize>(value: Value) -> Option<[Value; N]> {
    match value {
        Value::Array(list) => list.try_into().ok(),
        _ => None,
    }
}

/// References that scripts use, parsed once.
#[derive(Debug, Default)]
pub struct References {
    style: EscapeStyle,
    parsed: HashMap<Text, FieldRef>,
}

impl References {
    /// With names written in this style.
    pub fn new(style: EscapeStyle) -> Self {
        Self { style, parsed: HashMap::new() }
    }

    fn get(&mut self, text: &Text) -> Result<&FieldRef, ReferenceError> {
        if self.parsed.len() >= MOST_PARSED && !self.parsed.contains_key(text) {
            self.parsed.clear();
        }
        match self.parsed.entry(text.clone()) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let field = FieldRef::parse(text, self.style)?;
                Ok(entry.insert(field))
            }
        }
    }
}
