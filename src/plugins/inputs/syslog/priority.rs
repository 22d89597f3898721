//! The priority of a line as fields: severity, facility and their names, made once for each that occurs.

use crate::event::{Event, FieldRef, Map, Text, Value};
use crate::plugins::inputs::net::marks::{set, shared};

/// Names of facilities, the first for 0.
pub(super) const FACILITIES: [&str; 24] = [
    "kernel",
    "user-level",
    "mail",
    "system",
    "security/authorization",
    "syslogd",
    "line printer",
    "network news",
    "UUCP",
    "clock",
    "security/authorization",
    "FTP",
    "NTP",
    "log audit",
    "log alert",
    "clock",
    "local0",
    "local1",
    "local2",
    "local3",
    "local4",
    "local5",
    "local6",
    "local7",
];
/// Names of severities, the first for 0.
pub(super) const SEVERITIES: [&str; 8] =
    ["Emergency", "Alert", "Critical", "Error", "Warning", "Notice", "Informational", "Debug"];
/// Facilities that RFC 3164 knows.
const USUAL: i64 = 24;

/// Which names to use.
#[derive(Debug)]
pub(super) struct Labels {
    pub facilities: Vec<String>,
    pub severities: Vec<String>,
}

/// The fields for each priority.
pub(super) struct Priorities {
    ecs: bool,
    labels: Option<Labels>,
    /// For the usual priorities, in order.
    made: Vec<Vec<(FieldRef, Value)>>,
    /// `log` as it stands on an event that has none, where ECS is followed.
    log: Vec<Value>,
}

impl Priorities {
    /// Without `labels` only numbers are set.
    pub fn new(ecs: bool, labels: Option<Labels>) -> Self {
        let mut priorities = Self { ecs, labels, made: Vec::new(), log: Vec::new() };
        let made: Vec<_> = (0..USUAL * 8).map(|priority| priorities.fields(priority)).collect();
        if ecs {
            priorities.log = made.iter().map(|fields| log(fields)).collect();
        }
        priorities.made = made;
        priorities
    }

    /// Sets the fields of a priority.
    pub fn set(&self, event: &mut Event, priority: i64) {
        let place = usize::try_from(priority).unwrap_or(usize::MAX);
        if let Some(log) = self.log.get(place)
            && !event.fields().contains_key("log")
        {
            event.fields_mut().insert(Text::borrowed("log"), log.clone());
            return;
        }
        match self.made.get(place) {
            Some(fields) => fields.iter().for_each(|(field, value)| set(event, field, value.clone())),
            None => self.fields(priority).into_iter().for_each(|(field, value)| set(event, &field, value)),
        }
    }

    fn fields(&self, priority: i64) -> Vec<(FieldRef, Value)> {
        let (facility, severity) = (priority >> 3, priority & 7);
        let field = |flat: &str, path: &[&str]| match self.ecs {
            true => FieldRef::path_of(&[&["log", "syslog"], path].concat()),
            false => FieldRef::top(flat),
        };
        let mut fields = vec![
            (field("priority", &["priority"]), Value::Integer(priority)),
            (field("facility", &["facility", "code"]), Value::Integer(facility)),
            (field("severity", &["severity", "code"]), Value::Integer(severity)),
        ];
        let Some(Labels { facilities, severities }) = &self.labels else { return fields };
        for (flat, name, list, at) in
            [("facility_label", "facility", facilities, facility), ("severity_label", "severity", severities, severity)]
        {
            if let Some(label) = usize::try_from(at).ok().and_then(|at| list.get(at)) {
                fields.push((field(flat, &[name, "name"]), Text::from(label).into()));
            }
        }
        fields
    }
}

/// The value of `log` that these fields make.
fn log(fields: &[(FieldRef, Value)]) -> Value {
    let mut event = Event::new();
    fields.iter().for_each(|(field, value)| set(&mut event, field, value.clone()));
    event.fields().get("log").map_or_else(|| Value::Map(Map::new()), shared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{event, json};

    fn put(ecs: bool, labels: Option<Labels>, given: &str, priority: i64) -> String {
        let mut event = event(given);
        Priorities::new(ecs, labels).set(&mut event, priority);
        json(&event)
    }

    fn labels(facilities: &[&str], severities: &[&str]) -> Option<Labels> {
        let owned = |list: &[&str]| list.iter().map(|&label| label.to_owned()).collect();
        Some(Labels { facilities: owned(facilities), severities: owned(severities) })
    }

    #[test]
    fn names_are_set_as_far_as_the_lists_have_them() {
        let all = || labels(&FACILITIES, &SEVERITIES);
        assert_eq!(
            put(false, all(), "{}", 134),
            r#"{"priority":134,"facility":16,"severity":6,"facility_label":"local0","severity_label":"Informational"}"#
        );
        assert_eq!(
            put(true, all(), "{}", 13),
            r#"{"log":{"syslog":{"priority":13,"facility":{"code":1,"name":"user-level"},"severity":{"code":5,"name":"Notice"}}}}"#
        );
        assert_eq!(put(false, None, "{}", 13), r#"{"priority":13,"facility":1,"severity":5}"#);
        assert_eq!(
            put(false, labels(&["k"], &SEVERITIES), "{}", 999),
            r#"{"priority":999,"facility":124,"severity":7,"severity_label":"Debug"}"#
        );
        assert_eq!(
            put(true, labels(&[], &[]), r#"{"log":{"level":"x"}}"#, 8),
            r#"{"log":{"level":"x","syslog":{"priority":8,"facility":{"code":1},"severity":{"code":0}}}}"#
        );
    }
}
