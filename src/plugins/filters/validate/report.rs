//! What is told of an event: the result in `@metadata`, and the raw text beside it.

use super::check::Verdict;
use super::message::{Filling, quoted};
use super::{cut, put};
use crate::event::{Event, FieldRef, Map, Text, Value};

/// Most problems that are told of one event: a list of a million wrong elements must not make a million of them.
const MOST_PROBLEMS: usize = 1000;

/// Where results go, and in which form.
pub(super) struct Report {
    pub target: FieldRef,
    pub raw_target: FieldRef,
    /// Most characters of a message.
    pub most_message: usize,
    /// Most characters of a value in a message.
    pub most_value: usize,
    /// Id of the filter.
    pub validator: Text,
    pub no_json: Verdict,
    pub no_text: Verdict,
    /// As messages call the field with the raw text.
    pub source: Text,
}

/// One thing that is wrong with an event.
pub(super) struct Problem {
    pub field: Text,
    pub check: &'static str,
    pub code: Text,
    pub message: Text,
    pub value: Option<Value>,
}

impl Report {
    /// A check that failed.
    pub fn problem(&self, event: &Event, verdict: &Verdict, filling: &Filling<'_>) -> Problem {
        Problem {
            field: Text::from(filling.field),
            check: verdict.check,
            code: verdict.code.clone(),
            message: verdict.message.fill(event, filling, self.most_message, self.most_value),
            value: filling.value.map(|value| self.shown(value)),
        }
    }

    /// Whether no more problems are told.
    pub fn is_full(&self, problems: &[Problem]) -> bool {
        problems.len() >= MOST_PROBLEMS
    }

    /// Text that is no JSON.
    pub fn no_json(&self, what: &str) -> Problem {
        self.unreadable(&self.no_json, &format!("{} is not valid JSON: {what}", self.source))
    }

    /// Bytes that are no text.
    pub fn no_text(&self) -> Problem {
        self.unreadable(&self.no_text, &format!("{} is not UTF-8", self.source))
    }

    fn unreadable(&self, verdict: &Verdict, message: &str) -> Problem {
        verdict.counter.add(1);
        Problem {
            field: self.source.clone(),
            check: verdict.check,
            code: verdict.code.clone(),
            message: self.cut(message),
            value: None,
        }
    }

    /// At most as many characters as a message may have.
    pub fn cut(&self, message: &str) -> Text {
        Text::from(cut(message, self.most_message).unwrap_or(message))
    }

    /// Texts are cut; what is no scalar is its JSON text.
    fn shown(&self, value: &Value) -> Value {
        match value {
            Value::String(_) | Value::Array(_) | Value::Map(_) => Value::String(quoted(value, self.most_value)),
            scalar => scalar.clone(),
        }
    }

    /// The event is valid.
    pub fn write_success(&self, event: &mut Event, raw: Option<Text>) {
        let mut result = Map::with_capacity(3);
        result.insert(Text::borrowed("valid"), true);
        self.write(event, result, raw);
    }

    /// The event is not valid. `parsed` is the document for those who want it as it was judged.
    pub fn write_failure(
        &self,
        event: &mut Event,
        raw: Option<Text>,
        reason: &'static str,
        problems: Vec<Problem>,
        parsed: Option<Map>,
    ) {
        let mut result = Map::with_capacity(8);
        result.insert(Text::borrowed("valid"), false);
        result.insert(Text::borrowed("reason"), Value::literal(reason));
        if let Some(first) = problems.first() {
            result.insert(Text::borrowed("error_code"), first.code.clone());
            result.insert(Text::borrowed("error_message"), first.message.clone());
        }
        result.insert(Text::borrowed("errors"), problems.into_iter().map(Problem::into_map).collect::<Vec<_>>());
        if let Some(parsed) = parsed {
            result.insert(Text::borrowed(super::PARSED), parsed);
        }
        self.write(event, result, raw);
    }

    /// Says that the raw text stands for bytes, as base64.
    pub fn write_encoding(&self, event: &mut Event) {
        put(event, &self.target.child(&["raw_encoding"]), Value::literal("base64"));
    }

    fn write(&self, event: &mut Event, mut result: Map, raw: Option<Text>) {
        result.insert(Text::borrowed("validator"), self.validator.clone());
        put(event, &self.target, result);
        if let Some(raw) = raw {
            put(event, &self.raw_target, raw);
        }
    }
}

impl Problem {
    fn into_map(self) -> Map {
        let mut map = Map::with_capacity(5);
        map.insert(Text::borrowed("field"), self.field);
        map.insert(Text::borrowed("check"), Value::literal(self.check));
        map.insert(Text::borrowed("code"), self.code);
        map.insert(Text::borrowed("message"), self.message);
        if let Some(value) = self.value {
            map.insert(Text::borrowed("value"), value);
        }
        map
    }
}
