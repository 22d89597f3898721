//! A rule: finds its field, casts and defaults it, and later asks its checks.

use super::cast::{Cast, Type};
use super::check::{Check, Verdict};
use super::message::Filling;
use super::number;
use super::path::{Path, Place};
use super::put;
use super::report::{Problem, Report};
use crate::config::condition::Condition;
use crate::event::{Event, FieldRef, Value};

/// What is wanted of a field.
pub(super) struct Rule {
    pub path: Path,
    /// Where the value comes from, the first that is there; the field itself when empty.
    pub from: Vec<Path>,
    pub when: Option<Condition>,
    /// What is told when it is missing, if it must be there.
    pub required: Option<Verdict>,
    /// Whether blanks alone count as missing.
    pub trim: bool,
    pub kind: Option<Type>,
    pub cast: Cast,
    pub wrong_type: Option<Verdict>,
    pub on_type_error: OnTypeError,
    pub default: Option<Value>,
    pub clamp_min: Option<Value>,
    pub clamp_max: Option<Value>,
    /// Takes the cast value instead of the field.
    pub to: Option<FieldRef>,
    pub keep_raw: Option<FieldRef>,
    pub checks: Vec<Check>,
}

/// What a value that cannot be cast becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnTypeError {
    Error,
    Default,
    Null,
}

/// A field that a rule looked for.
pub(super) struct Found<'r> {
    rule: &'r Rule,
    place: Place,
    state: State,
}

enum State {
    Missing,
    /// It is there and of another type.
    WrongType(Value),
    /// It was there or has its default.
    There {
        raw: Value,
        cast: Value,
    },
    /// There is nothing to ask.
    Done,
}

impl Rule {
    /// Finds the fields of the rule and puts their cast values into the event. With `no_members` there was no document,
    /// and what the event has under these names is something else.
    pub fn prepare(&self, event: &mut Event, no_members: bool) -> Vec<Found<'_>> {
        if self.when.as_ref().is_some_and(|when| !when.evaluate(event).unwrap_or(false)) {
            return Vec::new();
        }
        let no_members = no_members && !self.path.is_metadata();
        let places = self.path.places(event).into_iter();
        places
            .map(|place| {
                let state = self.state(event, &place, no_members);
                Found { rule: self, place, state }
            })
            .collect()
    }

    fn state(&self, event: &mut Event, place: &Place, no_members: bool) -> State {
        let found = if no_members || place.is_below_nothing { None } else { self.find(event, place) };
        let Some(raw) = found else {
            let Some(default) = self.default.as_ref().filter(|_| !place.is_below_nothing) else {
                return State::Missing;
            };
            return self.there(event, place, default.clone(), default.clone());
        };
        if let Some(field) = &self.keep_raw {
            put(event, field, raw.clone());
        }
        let Some(kind) = self.kind else { return self.there(event, place, raw.clone(), raw) };
        match (kind.cast(&raw, self.cast), self.on_type_error) {
            (Some(cast), _) => self.there(event, place, raw, cast),
            (None, OnTypeError::Error) => State::WrongType(raw),
            (None, OnTypeError::Null) => {
                put(event, self.to.as_ref().unwrap_or(&place.field), Value::Null);
                State::Done
            }
            (None, OnTypeError::Default) => match &self.default {
                Some(default) => self.there(event, place, raw, default.clone()),
                None => State::Done,
            },
        }
    }

    /// The value that the field is made of.
    fn find(&self, event: &Event, place: &Place) -> Option<Value> {
        let value = if self.from.is_empty() {
            event.get(&place.field)
        } else {
            let mut sources = self.from.iter().filter_map(|path| event.get(path.only()?));
            sources.find(|value| !value.is_null())
        };
        value.filter(|value| !self.is_missing(value)).cloned()
    }

    fn is_missing(&self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::String(text) => text.is_empty() || (self.trim && text.trim().is_empty()),
            // As `JSON_VALUE`, which finds no scalar there.
            Value::Array(_) | Value::Map(_) => self.cast == Cast::Sql && self.kind.is_some_and(Type::is_scalar),
            _ => false,
        }
    }

    fn there(&self, event: &mut Event, place: &Place, raw: Value, mut cast: Value) -> State {
        for (clamp, beyond) in
            [(&self.clamp_min, std::cmp::Ordering::Less), (&self.clamp_max, std::cmp::Ordering::Greater)]
        {
            if let Some(limit) = clamp.as_ref().filter(|limit| number::order(&cast, limit) == Some(beyond)) {
                cast = limit.clone();
            }
        }
        let field = self.to.as_ref().unwrap_or(&place.field);
        // Two decimals are equal whatever their digits, so only texts are surely unchanged.
        let unchanged = matches!((event.get(field), &cast), (Some(Value::String(a)), Value::String(b)) if a == b);
        if !unchanged {
            put(event, field, cast.clone());
        }
        State::There { raw, cast }
    }
}

impl Found<'_> {
    /// Asks the checks. `true` when nothing more has to be found out: one problem is `enough` unless `all` are wanted.
    pub fn check(&self, event: &Event, report: &Report, all: bool, problems: &mut Vec<Problem>) -> bool {
        let rule = self.rule;
        let mut tell = |verdict: &Verdict, raw: Option<&Value>, cast: Option<&Value>| {
            verdict.counter.add(1);
            let filling =
                Filling { field: &self.place.shown, value: raw, cast, limit: &verdict.limit, kind: rule.kind };
            problems.push(report.problem(event, verdict, &filling));
            !all || report.is_full(problems)
        };
        match &self.state {
            State::Done => false,
            State::Missing => rule.required.as_ref().is_some_and(|verdict| tell(verdict, None, None)),
            State::WrongType(raw) => rule.wrong_type.as_ref().is_some_and(|verdict| tell(verdict, Some(raw), None)),
            State::There { raw, cast } => {
                let failed = rule.checks.iter().filter(|check| !check.test.passes(cast, event));
                failed.into_iter().any(|check| tell(&check.verdict, Some(raw), Some(cast)))
            }
        }
    }
}
