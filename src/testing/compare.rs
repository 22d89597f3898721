//! Holds what came out against what is expected.
//!
//! Types count: an integer is no float and no text. Two things are taken as equal although their types differ,
//! because a case file has no other way to write them: a timestamp and the text that spells it, and a decimal and the
//! float of the same value. The order of the members of a map does not count.

use std::fmt;

use num_bigint::BigInt;

use super::expected::{Expected, Matcher};
use super::{show, values};
use crate::event::{Event, METADATA, Map, TIMESTAMP, Text, Timestamp, VERSION, Value};

/// A step from a value to one inside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Place in a list.
    Index(usize),
    /// Name in a map.
    Name(String),
}

/// The way from an event to one of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<Step>);

impl Path {
    fn of(names: &[&str]) -> Self {
        Self(names.iter().map(|name| Step::Name((*name).to_owned())).collect())
    }

    fn name(&self, name: &str) -> Self {
        self.with(Step::Name(name.to_owned()))
    }

    fn with(&self, step: Step) -> Self {
        Self(self.0.iter().cloned().chain([step]).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            Step::Index(at) => write!(f, "[{at}]"),
            Step::Name(name) => write!(f, "[{name}]"),
        })
    }
}

/// One value that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where.
    pub path: Path,
    /// What is expected there; `None` when nothing is.
    pub expected: Option<String>,
    /// What is there; `None` when nothing is.
    pub got: Option<String>,
}

/// What does not count in a comparison.
#[derive(Clone, Debug, Default)]
pub struct Leniency {
    /// Fields that are not expected do not count, at any depth.
    pub subset: bool,
    /// These fields do not count, whatever is expected.
    pub ignore: Vec<Path>,
    /// An `@timestamp` that is not expected and is one of these does not count: it says when the event arrived.
    pub arrivals: Arrivals,
}

/// The instants at which the events of a run came to be.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// The events that were given.
    pub given: Vec<Timestamp>,
    /// The time of the run, for events that were made on the way.
    pub run: Option<(Timestamp, Timestamp)>,
}

impl Arrivals {
    fn contains(&self, at: Timestamp) -> bool {
        self.given.contains(&at) || self.run.is_some_and(|(from, to)| from <= at && at <= to)
    }
}

/// Holds an event's fields against what is expected of them; sorted by path.
pub fn event(expected: &Expected, got: &Event, leniency: &Leniency) -> Vec<Difference> {
    let mut comparison = Comparison { leniency, event: true, found: Vec::new() };
    match expected {
        Expected::Map(fields) => comparison.fields(fields, got.fields(), &Path::default()),
        other => comparison.differ(&Path::default(), other, &Value::Map(got.fields().clone())),
    }
    comparison.sorted()
}

/// Holds any value against what is expected of it, nothing ignored but what the leniency says.
pub fn value(expected: &Expected, got: &Value, leniency: &Leniency) -> Vec<Difference> {
    let mut comparison = Comparison { leniency, event: false, found: Vec::new() };
    comparison.value(expected, got, &Path::default());
    comparison.sorted()
}

struct Comparison<'a> {
    leniency: &'a Leniency,
    /// Whether the fields that every event has may be left out of what is expected.
    event: bool,
    found: Vec<Difference>,
}

impl Comparison<'_> {
    fn sorted(mut self) -> Vec<Difference> {
        self.found.sort_by(|a, b| a.path.cmp(&b.path));
        self.found
    }

    fn fields(&mut self, expected: &[(Text, Expected)], got: &Map, path: &Path) {
        for (name, expected) in expected {
            let path = path.name(name);
            if self.leniency.ignore.contains(&path) {
                continue;
            }
            match got.get(name) {
                Some(got) => self.value(expected, got, &path),
                None if expected.wants_absence() => {}
                None => self.found.push(Difference { path, expected: Some(expected.shown()), got: None }),
            }
        }
        if self.leniency.subset {
            return;
        }
        for (name, got) in got.iter() {
            if !expected.iter().any(|(expected, _)| expected == name) {
                self.unexpected(got, path.name(name));
            }
        }
    }

    fn unexpected(&mut self, got: &Value, path: Path) {
        let ignore = &self.leniency.ignore;
        if ignore.contains(&path) || self.event && self.is_usual(&path, got) {
            return;
        }
        let original = Path::of(&["event", "original"]);
        let is_above = |inner: &Path| inner.0.len() > path.0.len() && inner.0.starts_with(&path.0);
        match got {
            Value::Map(inner)
                if !inner.is_empty() && (ignore.iter().any(is_above) || self.event && is_above(&original)) =>
            {
                self.fields(&[], inner, &path);
            }
            got => self.found.push(Difference { path, expected: None, got: Some(show::plain(got)) }),
        }
    }

    /// Fields that come with every event, whatever the configuration does.
    fn is_usual(&self, path: &Path, got: &Value) -> bool {
        let [Step::Name(name), rest @ ..] = path.0.as_slice() else { return false };
        match (name.as_str(), rest) {
            (VERSION | "host", []) => true,
            (TIMESTAMP, []) => got.as_timestamp().is_some_and(|at| self.leniency.arrivals.contains(at)),
            ("event", [Step::Name(inner)]) => inner == "original",
            _ => false,
        }
    }

    fn value(&mut self, expected: &Expected, got: &Value, path: &Path) {
        match (expected, got) {
            (Expected::Map(fields), Value::Map(got)) => self.fields(fields, got, path),
            (Expected::List(items), Value::Array(got)) => self.items(items, got, path),
            (Expected::Scalar(expected), got) if same(expected, got) => {}
            (Expected::Matchers(matchers), got) if matchers.iter().all(|m| self.holds(m, got)) => {}
            (expected, got) => self.differ(path, expected, got),
        }
    }

    fn items(&mut self, expected: &[Expected], got: &[Value], path: &Path) {
        for at in 0..expected.len().max(got.len()) {
            let path = path.with(Step::Index(at));
            match (expected.get(at), got.get(at)) {
                (Some(expected), Some(got)) => self.value(expected, got, &path),
                (expected, got) => {
                    let (expected, got) = (expected.map(Expected::shown), got.map(show::plain));
                    self.found.push(Difference { path, expected, got });
                }
            }
        }
    }

    fn holds(&self, matcher: &Matcher, got: &Value) -> bool {
        match matcher {
            Matcher::Exists => true,
            Matcher::Absent => false,
            Matcher::Pattern(pattern) => got.as_str().is_some_and(|text| pattern.is_match(text)),
            Matcher::Kind(kind) => got.kind() == *kind,
            Matcher::Approx(number) => {
                number_of(got).is_some_and(|got| (got - number).abs() <= 1e-6 * number.abs().max(1.0))
            }
            Matcher::Now => got.as_timestamp().is_some_and(|at| self.leniency.arrivals.contains(at)),
        }
    }

    fn differ(&mut self, path: &Path, expected: &Expected, got: &Value) {
        let (expected, got) = match (expected, got) {
            (Expected::Scalar(Value::String(expected)), Value::String(got)) => show::apart(expected, got),
            // A text stands for the time that it spells: not its type differs, the time does.
            (Expected::Scalar(expected @ Value::String(text)), Value::Timestamp(_)) => {
                let time = values::timestamp(text).map(Value::Timestamp);
                (show::with_kind(time.as_ref().unwrap_or(expected)), show::with_kind(got))
            }
            (expected, got) => (expected.shown(), show::with_kind(got)),
        };
        self.found.push(Difference { path: path.clone(), expected: Some(expected), got: Some(got) });
    }
}

/// Whether a value is the scalar that a case file wrote.
fn same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Float(a), Value::Float(b)) => a == b || a.is_nan() && b.is_nan(),
        (Value::Float(a), Value::Decimal(b)) => b.to_f64() == *a,
        // JSON has no number for these: they leave as texts.
        (Value::String(text), Value::Float(f)) if !f.is_finite() => text.as_str() == show::plain(got),
        (Value::String(text), Value::Timestamp(at)) => values::timestamp(text) == Some(*at),
        (Value::Integer(a), Value::BigInteger(b)) => BigInt::from(*a) == **b,
        (Value::BigInteger(a), Value::Integer(b)) => **a == BigInt::from(*b),
        (expected, got) => expected == got,
    }
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(n) => Some(*n as f64),
        Value::Float(f) => Some(*f),
        Value::Decimal(d) => Some(d.to_f64()),
        _ => None,
    }
}

/// The path that a case file writes as a list of names or as a field reference.
pub(super) fn path(value: &Value) -> Result<Path, String> {
    match value {
        Value::Array(names) if !names.is_empty() => {
            Ok(Path(names.iter().map(|name| Step::Name(values::plain_text(name))).collect()))
        }
        Value::String(text) => {
            let field =
                crate::event::FieldRef::parse(text, crate::event::EscapeStyle::None).map_err(|e| e.to_string())?;
            let names: Vec<_> = field.path().iter().map(|segment| segment.name.as_str()).collect();
            let metadata = (field.root() == crate::event::Root::Metadata).then_some(METADATA);
            Ok(Path::of(&metadata.into_iter().chain(names).collect::<Vec<_>>()))
        }
        other => Err(format!("a field must be a list of names or a reference, not {}", show::with_kind(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Decimal;
    use crate::settings::yaml;

    fn yaml(text: &str) -> Value {
        values::value(&yaml::parse(text).unwrap().unwrap()).unwrap()
    }

    fn given(text: &str) -> Event {
        let Value::Map(fields) = values::typed(yaml(text)).unwrap() else { panic!("{text}") };
        Event::from_map_at(fields, arrival)
    }

    fn arrival() -> Timestamp {
        Timestamp::from_unix(1_767_225_600, 0).unwrap()
    }

    fn leniency() -> Leniency {
        Leniency { arrivals: Arrivals { given: vec![arrival()], run: None }, ..Leniency::default() }
    }

    /// `path: expected | got`, one a line.
    fn differences(expected: &str, got: &str, leniency: &Leniency) -> String {
        let expected = Expected::read(&yaml(expected)).unwrap();
        let lines = event(&expected, &given(got), leniency).into_iter().map(|d| {
            format!("{}: {} | {}", d.path, d.expected.as_deref().unwrap_or("-"), d.got.as_deref().unwrap_or("-"))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn equal_events_have_no_difference() {
        for (expected, got) in [
            ("{}", "{}"),
            ("{a: 1, b: x}", "{b: x, a: 1}"),
            ("{a: {x: 1, y: [1, {z: null}]}}", "{a: {y: [1, {z: null}], x: 1}}"),
            ("{a: 1.5}", "{a: {$bigdecimal: '1.50'}}"),
            ("{a: .nan}", "{a: {$float: NaN}}"),
            ("{a: 5}", "{a: {$bigint: '5'}}"),
            ("{a: 18446744073709551616}", "{a: {$bigint: '18446744073709551616'}}"),
            ("{a: '2024-01-02T05:04:05+02:00'}", "{a: {$timestamp: '2024-01-02T03:04:05Z'}}"),
            ("{a: {$timestamp: '2024-01-02T03:04:05Z'}}", "{a: {$timestamp: '2024-01-02T03:04:05Z'}}"),
        ] {
            assert_eq!(differences(expected, got, &leniency()), "", "{expected} {got}");
        }
    }

    #[test]
    fn types_count() {
        for (expected, got, difference) in [
            ("1", "1.0", "1 (integer) | 1.0 (float)"),
            ("1", "'1'", "1 (integer) | \"1\" (string)"),
            ("1.0", "1", "1.0 (float) | 1 (integer)"),
            ("1", "{$bigdecimal: '1'}", "1 (integer) | 1 (decimal)"),
            ("'true'", "true", "\"true\" (string) | true (boolean)"),
            ("null", "''", "null | \"\" (string)"),
            (
                "{$timestamp: '2024-01-02T03:04:05Z'}",
                "'2024-01-02T03:04:05.000Z'",
                "2024-01-02T03:04:05.000Z (timestamp) | \"2024-01-02T03:04:05.000Z\" (string)",
            ),
            (
                "'2024-01-02T05:04:05+02:00'",
                "{$timestamp: '2024-01-02T03:04:06Z'}",
                "2024-01-02T03:04:05.000Z (timestamp) | 2024-01-02T03:04:06.000Z (timestamp)",
            ),
            (
                "noon",
                "{$timestamp: '2024-01-02T03:04:05Z'}",
                "\"noon\" (string) | 2024-01-02T03:04:05.000Z (timestamp)",
            ),
            ("{x: 1}", "[1]", "{\"x\":1} (map) | [1] (list)"),
            ("[1]", "1", "[1] (list) | 1 (integer)"),
        ] {
            let found = differences(&format!("{{f: {expected}}}"), &format!("{{f: {got}}}"), &leniency());
            assert_eq!(found, format!("[f]: {difference}"));
        }
    }

    #[test]
    fn only_what_differs_is_told_sorted_by_path() {
        assert_eq!(
            differences(
                "{z: 1, l: [a, b, c], m: {k: 1, same: 2}, gone: x}",
                "{z: 2, l: [a, x], m: {k: 2, same: 2, new: 3}, a: 1}",
                &leniency()
            ),
            "[a]: - | 1\n\
             [gone]: \"x\" (string) | -\n\
             [l][1]: \"b\" (string) | \"x\" (string)\n\
             [l][2]: \"c\" (string) | -\n\
             [m][k]: 1 (integer) | 2 (integer)\n\
             [m][new]: - | 3\n\
             [z]: 1 (integer) | 2 (integer)"
        );
        let many = |last: &str| format!("{{l: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {last}], k: 1}}");
        assert_eq!(
            differences(&many("1"), &many("2").replace("[0, 0", "[0, 9"), &leniency()),
            "[l][1]: 0 (integer) | 9 (integer)\n[l][10]: 1 (integer) | 2 (integer)"
        );
    }

    #[test]
    fn usual_fields_count_only_when_expected() {
        let got = "{a: 1, host: {name: x}, event: {original: raw}}";
        assert_eq!(differences("{a: 1}", got, &leniency()), "");
        assert_eq!(differences("{a: 1, host: y}", got, &leniency()), "[host]: \"y\" (string) | {\"name\":\"x\"} (map)");
        assert_eq!(differences("{'@version': '2'}", "{}", &leniency()), "[@version]: \"2\" (string) | \"1\" (string)");
        assert_eq!(differences("{}", "{event: {original: raw, id: 1}}", &leniency()), "[event][id]: - | 1");
        assert_eq!(differences("{event: {id: 1}}", "{event: {original: raw, id: 1}}", &leniency()), "");
        assert_eq!(
            differences("{event: {original: x}}", "{event: {original: raw}}", &leniency()),
            "[event][original]: \"x\" (string) | \"raw\" (string)"
        );
    }

    #[test]
    fn a_changed_timestamp_is_a_difference_and_an_arrival_time_is_none() {
        assert_eq!(differences("{}", "{}", &leniency()), "");
        assert_eq!(
            differences("{}", "{'@timestamp': '2020-01-01T00:00:00Z'}", &leniency()),
            "[@timestamp]: - | 2020-01-01T00:00:00.000Z"
        );
        assert_eq!(
            differences("{'@timestamp': {$absent: true}}", "{}", &leniency()),
            "[@timestamp]: nothing | 2026-01-01T00:00:00.000Z (timestamp)"
        );
        assert_eq!(differences("{'@timestamp': {$now: true}}", "{}", &leniency()), "");
    }

    #[test]
    fn fields_can_be_ignored_and_expectations_be_a_subset() {
        let ignore = |text: &str| Leniency { ignore: vec![path(&yaml(text)).unwrap()], ..leniency() };
        assert_eq!(differences("{}", "{a: {b: 1}}", &ignore("[a, b]")), "");
        assert_eq!(differences("{a: {b: 2}}", "{a: {b: 1}}", &ignore("'[a][b]'")), "");
        assert_eq!(differences("{}", "{a: {b: 1, c: 2}}", &ignore("[a, b]")), "[a][c]: - | 2");
        let subset = Leniency { subset: true, ..leniency() };
        assert_eq!(differences("{m: {k: 1}, l: [{x: 1}]}", "{n: 1, m: {k: 1, j: 2}, l: [{x: 1, y: 2}]}", &subset), "");
        assert_eq!(differences("{l: [1]}", "{l: [1, 2]}", &subset), "[l][1]: - | 2");
    }

    #[test]
    fn matchers() {
        for (expected, got, difference) in [
            ("{$exists: true}", "null", ""),
            ("{$exists: false}", "1", "nothing | 1 (integer)"),
            ("{$absent: true}", "1", "nothing | 1 (integer)"),
            (r"{$re: '^\d+$'}", "'42'", ""),
            (r"{$re: '^\d+$'}", "42", r"a match of /^\d+$/ | 42 (integer)"),
            ("{$type: int}", "42", ""),
            ("{$type: int}", "'42'", "any integer | \"42\" (string)"),
            ("{$approx: 0.1}", "0.10000001", ""),
            ("{$approx: 1}", "1.1", "about 1 | 1.1 (float)"),
            ("{$type: string, $re: x}", "'axb'", ""),
            ("{$type: string, $re: x}", "'ab'", "any string and a match of /x/ | \"ab\" (string)"),
        ] {
            let found = differences(&format!("{{f: {expected}}}"), &format!("{{f: {got}}}"), &leniency());
            assert_eq!(found, if difference.is_empty() { String::new() } else { format!("[f]: {difference}") });
        }
        assert_eq!(differences("{f: {$exists: true}}", "{}", &leniency()), "[f]: any value | -");
        assert_eq!(differences("{f: {$absent: true}, g: {$exists: false}}", "{}", &leniency()), "");
    }

    #[test]
    fn wrong_matchers_are_mistakes() {
        for (text, part) in [
            ("{a: {$rex: x}}", "did you mean `$re`"),
            ("{a: {$exist: true}}", "did you mean `$exists`"),
            ("{a: {$re: '['}}", "$re"),
            ("{a: {$type: number}}", "one of array, bool"),
            ("{a: {$approx: x}}", "a number"),
            ("{a: {$re: x, b: 1}}", "cannot stand beside"),
        ] {
            let error = Expected::read(&yaml(text)).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(Expected::read(&yaml("{a: {$set: 1}}")).is_ok(), "other names with $ are data");
    }

    #[test]
    fn decimals_equal_the_float_that_reads_the_same() {
        assert!(same(&Value::Float(99.5), &Value::Decimal(Decimal::parse("99.50").unwrap())));
        assert!(!same(&Value::Float(99.5), &Value::Decimal(Decimal::parse("99.51").unwrap())));
    }
}
