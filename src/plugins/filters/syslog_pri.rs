//! `syslog_pri`: facility and severity from the number that a syslog line begins with.

use crate::event::{Event, FieldError, FieldRef, Text, Value};
use crate::plugins::{Ecs, Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "syslog_pri", summary: "Takes the priority of a syslog line apart.", build };

const FAILURE: &str = "_syslogpriparsefailure";
/// The priority of a line that has none: `user`, `notice`.
const USUAL: i64 = 13;

const FACILITIES: [&str; 24] = [
    "kernel",
    "user-level",
    "mail",
    "daemon",
    "security/authorization",
    "syslogd",
    "line printer",
    "network news",
    "uucp",
    "clock",
    "security/authorization",
    "ftp",
    "ntp",
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
const SEVERITIES: [&str; 8] =
    ["emergency", "alert", "critical", "error", "warning", "notice", "informational", "debug"];

struct SyslogPri {
    source: FieldRef,
    severity: Half,
    facility: Half,
    use_labels: bool,
}

/// One of the two numbers in a priority.
struct Half {
    code: FieldRef,
    name: FieldRef,
    labels: Vec<Text>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let is_flat = Ecs::read(options).is_disabled();
    let usual = if is_flat { FieldRef::top("syslog_pri") } else { ecs_field(&["priority"]) };
    let source = options.field("syslog_pri_field_name").doc("Field with the priority.").default(usual);
    let use_labels = options.boolean("use_labels").doc("Whether names are set beside the numbers.").default(true);
    let facilities = options.strings("facility_labels").doc("Names of the facilities, from 0 up.");
    let facilities = texts(facilities.default(FACILITIES.map(str::to_owned).to_vec()));
    let severities = options.strings("severity_labels").doc("Names of the severities, from 0 up.");
    let severities = texts(severities.default(SEVERITIES.map(str::to_owned).to_vec()));
    let half = |kind: &str, labels| {
        let (code, name) = if is_flat {
            (FieldRef::top(&format!("syslog_{kind}_code")), FieldRef::top(&format!("syslog_{kind}")))
        } else {
            (ecs_field(&[kind, "code"]), ecs_field(&[kind, "name"]))
        };
        Half { code, name, labels }
    };
    Box::new(SyslogPri {
        source,
        severity: half("severity", severities),
        facility: half("facility", facilities),
        use_labels,
    })
}

fn texts(labels: Vec<String>) -> Vec<Text> {
    labels.into_iter().map(Text::from).collect()
}

fn ecs_field(names: &[&str]) -> FieldRef {
    FieldRef::path_of(&["log", "syslog"]).child(names)
}

impl Filter for SyslogPri {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            let Some(priority) = priority(event.get(&self.source)) else {
                event.tag(FAILURE);
                return Outcome::Unmatched;
            };
            match self.set(event, priority) {
                Ok(()) => Outcome::Matched,
                Err(error) => {
                    tracing::warn!(target: "logstash.filters.syslog_pri", field = %self.source, "{error}");
                    event.tag(FAILURE);
                    Outcome::Unmatched
                }
            }
        });
    }
}

impl SyslogPri {
    fn set(&self, event: &mut Event, priority: i64) -> Result<(), FieldError> {
        let (severity, facility) = (priority & 7, priority >> 3);
        event.set(&self.severity.code, severity)?;
        event.set(&self.facility.code, facility)?;
        if self.use_labels {
            match self.facility.label(facility) {
                Some(label) => event.set(&self.facility.name, label.clone())?,
                None => event.tag(FAILURE),
            }
            if let Some(label) = self.severity.label(severity) {
                event.set(&self.severity.name, label.clone())?;
            }
        }
        Ok(())
    }
}

impl Half {
    fn label(&self, code: i64) -> Option<&Text> {
        self.labels.get(usize::try_from(code).ok()?)
    }
}

/// The number of a value; of a list that of its first element. `None` for what is none.
fn priority(value: Option<&Value>) -> Option<i64> {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => Some(USUAL),
        Some(Value::Array(list)) => match list.first() {
            None | Some(Value::Null) => Some(0),
            Some(first) => number(first),
        },
        Some(other) => number(other),
    }
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(n) => Some(*n),
        // A float beyond the range becomes the nearest that fits.
        Value::Float(f) => f.is_finite().then_some(*f as i64),
        Value::Decimal(d) => i64::try_from(d.to_integer()?).ok(),
        Value::String(text) => leading_integer(text),
        _ => None,
    }
}

/// The digits that a text begins with, as Ruby's `to_i`; 0 without any.
fn leading_integer(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.bytes().take_while(u8::is_ascii_digit);
    digits.map(|b| i64::from(b - b'0')).try_fold(0_i64, |n, digit| n.checked_mul(10)?.checked_add(sign * digit))
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::filtered;

    fn parts(options: &str, pri: &str) -> String {
        let config = format!(
            r#"filter {{ syslog_pri {{ ecs_compatibility => disabled {options} remove_field => ["syslog_pri"] }} }}"#
        );
        filtered(&config, &[&format!(r#"{{"syslog_pri":{pri}}}"#)]).remove(0)
    }

    #[test]
    fn numbers_come_from_whatever_is_there() {
        let kernel = r#"{"syslog_severity_code":0,"syslog_facility_code":0,"syslog_facility":"kernel","syslog_severity":"emergency"}"#;
        for pri in [r#""0""#, r#""x""#, "0.9", "[]", "[null]", r#"[" 0"]"#] {
            assert_eq!(parts("", pri), kernel, "{pri}");
        }
        let notice = r#"{"syslog_severity_code":5,"syslog_facility_code":1,"syslog_facility":"user-level","syslog_severity":"notice"}"#;
        for pri in ["null", "false", "13", r#""13>""#] {
            assert_eq!(parts("", pri), notice, "{pri}");
        }
    }

    #[test]
    fn a_facility_without_a_name_is_tagged_and_the_numbers_stay() {
        let numbers = r#"{"syslog_severity_code":0,"syslog_facility_code":24"#;
        let severity = r#""syslog_severity":"emergency"}"#;
        assert_eq!(parts("", "192"), format!(r#"{numbers},"tags":["_syslogpriparsefailure"],{severity}"#));
        assert_eq!(parts("use_labels => false", "192"), format!("{numbers}}}"));
        assert_eq!(
            parts(r#"facility_labels => ["a"] severity_labels => ["b"]"#, "1"),
            r#"{"syslog_severity_code":1,"syslog_facility_code":0,"syslog_facility":"a"}"#
        );
    }

    #[test]
    fn what_is_no_number_is_tagged() {
        let failed = |pri: &str| format!(r#"{{"syslog_pri":{pri},"tags":["_syslogpriparsefailure"]}}"#);
        for pri in ["true", r#"{"a":1}"#, "123456789012345678901234567890", r#""99999999999999999999""#] {
            assert_eq!(parts("", pri), failed(pri), "{pri}");
        }
    }
}
