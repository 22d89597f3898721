//! What a case expects of a value: the value itself, or a matcher that stands in its place.

use regex::Regex;

use super::{show, values};
use crate::config::nearest;
use crate::event::{Text, Value, json};

/// Names of the matchers, for messages.
const MATCHERS: &[&str] = &["$exists", "$absent", "$re", "$type", "$approx", "$now"];

/// Names that `$type` takes, and the kind of value each stands for.
const TYPES: &[(&str, &str)] = &[
    ("array", "list"),
    ("bool", "boolean"),
    ("boolean", "boolean"),
    ("decimal", "decimal"),
    ("float", "float"),
    ("hash", "map"),
    ("int", "integer"),
    ("integer", "integer"),
    ("list", "list"),
    ("map", "map"),
    ("null", "null"),
    ("string", "string"),
    ("timestamp", "timestamp"),
];

/// What is expected of one value.
#[derive(Clone, Debug)]
pub enum Expected {
    /// Exactly this scalar. A text also stands for the timestamp that it spells, and a float for an equal decimal.
    Scalar(Value),
    /// A list of as many items, in order.
    List(Vec<Expected>),
    /// A map with these fields.
    Map(Vec<(Text, Expected)>),
    /// All of these hold.
    Matchers(Vec<Matcher>),
}

/// Something that holds for many values.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// `{$exists: true}`: the field is there, null included.
    Exists,
    /// `{$absent: true}`: the field is not there.
    Absent,
    /// `{$re: "^x"}`: a text in which the pattern is found.
    Pattern(Regex),
    /// `{$type: int}`: a value of this kind.
    Kind(&'static str),
    /// `{$approx: 1.5}`: a number that differs by less than a millionth.
    Approx(f64),
    /// `{$now: true}`: an instant of the run.
    Now,
}

impl Expected {
    /// Reads what a case file says.
    pub fn read(value: &Value) -> Result<Self, String> {
        Ok(match value {
            Value::Map(map) => {
                if let Some(scalar) = values::typed_scalar(map) {
                    return Ok(Self::Scalar(scalar?));
                }
                if !map.is_empty() && map.keys().all(|key| MATCHERS.contains(&key.as_str())) {
                    let matchers = map.iter().map(|(name, value)| Matcher::read(name, value));
                    return Ok(Self::Matchers(matchers.collect::<Result<_, _>>()?));
                }
                let fields = map.iter().map(|(key, value)| {
                    mistyped_matcher(key)?;
                    Ok((key.clone(), Self::read(value)?))
                });
                Self::Map(fields.collect::<Result<_, String>>()?)
            }
            Value::Array(items) => Self::List(items.iter().map(Self::read).collect::<Result<_, _>>()?),
            scalar => Self::Scalar(scalar.clone()),
        })
    }

    /// What a message calls it: `200 (integer)`, `["a"] (list)`, `a match of /^\d+$/`.
    pub fn shown(&self) -> String {
        match self {
            Self::Scalar(value) => show::with_kind(value),
            Self::List(_) => format!("{} (list)", self.plain()),
            Self::Map(_) => format!("{} (map)", self.plain()),
            Self::Matchers(_) => self.plain(),
        }
    }

    /// As compact JSON, cut when long; matchers in words.
    pub fn plain(&self) -> String {
        let mut out = Vec::new();
        self.write(&mut out);
        show::cut(crate::event::text_form::utf8(out))
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Scalar(value) => out.extend_from_slice(show::plain(value).as_bytes()),
            Self::List(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Map(fields) => {
                out.push(b'{');
                for (at, (name, field)) in fields.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    json::write_string(name, out);
                    out.push(b':');
                    field.write(out);
                }
                out.push(b'}');
            }
            Self::Matchers(matchers) => {
                let words: Vec<_> = matchers.iter().map(Matcher::shown).collect();
                out.extend_from_slice(words.join(" and ").as_bytes());
            }
        }
    }

    /// Whether a field that is not there is what is expected.
    pub(super) fn wants_absence(&self) -> bool {
        matches!(self, Self::Matchers(matchers) if matchers.iter().all(|m| matches!(m, Matcher::Absent)))
    }
}

/// An error for `$regex` and the like; other names with `$` are fields of the data.
fn mistyped_matcher(key: &str) -> Result<(), String> {
    let near = if key.starts_with('$') { nearest(key, MATCHERS.iter().copied()) } else { Vec::new() };
    match near.first().filter(|near| **near != key) {
        Some(near) => Err(format!("there is no matcher `{key}`; did you mean `{near}`?")),
        None if MATCHERS.contains(&key) => Err(format!("`{key}` cannot stand beside fields in one map")),
        None => Ok(()),
    }
}

impl Matcher {
    fn read(name: &str, value: &Value) -> Result<Self, String> {
        let wrong = |allowed: &str| format!("`{name}` takes {allowed}, not {}", show::with_kind(value));
        match (name, value) {
            ("$exists", Value::Bool(true)) | ("$absent", Value::Bool(false)) => Ok(Self::Exists),
            ("$absent", Value::Bool(true)) | ("$exists", Value::Bool(false)) => Ok(Self::Absent),
            ("$now", Value::Bool(true)) => Ok(Self::Now),
            ("$exists" | "$absent", _) => Err(wrong("true or false")),
            ("$now", _) => Err(wrong("true")),
            ("$re", Value::String(pattern)) => {
                Regex::new(pattern).map(Self::Pattern).map_err(|e| format!("`$re`: {e}"))
            }
            ("$re", _) => Err(wrong("a text")),
            ("$type", Value::String(word)) => match TYPES.iter().find(|(name, _)| *name == word.as_str()) {
                Some((_, kind)) => Ok(Self::Kind(kind)),
                None => {
                    let names: Vec<_> = TYPES.iter().map(|(name, _)| *name).collect();
                    Err(wrong(&format!("one of {}", names.join(", "))))
                }
            },
            ("$type", Value::Null) => Ok(Self::Kind("null")),
            ("$type", _) => Err(wrong("the name of a type")),
            (_, Value::Integer(n)) => Ok(Self::Approx(*n as f64)),
            (_, Value::Float(f)) => Ok(Self::Approx(*f)),
            _ => Err(wrong("a number")),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Exists => "any value".into(),
            Self::Absent => "nothing".into(),
            Self::Pattern(pattern) => format!("a match of /{pattern}/"),
            Self::Kind(kind) => format!("any {kind}"),
            Self::Approx(number) => format!("about {number}"),
            Self::Now => "the present time".into(),
        }
    }
}
