//! YAML data to values, with the types that Ruby's YAML gives to plain scalars: `yes` is true, `0x10` is 16.
//!
//! Built from the parser's events, so that a file of any size takes no more than its content. Nesting is bounded, and
//! so is what aliases add, since aliases of aliases grow exponentially.

use std::borrow::Cow;
use std::collections::HashMap;

use regex::Regex;
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use crate::event::{Text, Value, text_form};

/// Deeper nesting is refused.
const MAX_DEPTH: usize = 64;
/// More values by aliases are refused.
const MAX_ALIASED: usize = 1_000_000;

/// The first document of a text; null when there is nothing in it. Keys become text.
pub(super) fn value(text: &str) -> Result<Value, String> {
    root(text).map(|root| root.map_or(Value::Null, Node::into_value))
}

/// The entries of the map that a text is, in order, keys with their types. Nothing when there is nothing in it.
pub(super) fn entries(text: &str) -> Result<Vec<(Value, Value)>, String> {
    match root(text)? {
        None | Some(Node::Value(Value::Null)) => Ok(Vec::new()),
        Some(Node::Map(pairs)) => Ok(pairs),
        Some(Node::Value(other)) => Err(format!("expected a map, got {}", other.kind())),
    }
}

fn root(text: &str) -> Result<Option<Node>, String> {
    let mut builder = Builder::new()?;
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| error.to_string())?;
        let line = span.start.line();
        if let Some(root) = builder.event(event).map_err(|error| format!("line {line}: {error}"))? {
            return Ok(Some(root));
        }
    }
    Ok(None)
}

/// A finished piece. Maps keep the types of their keys until they are put into another one.
#[derive(Clone)]
enum Node {
    Value(Value),
    Map(Vec<(Value, Value)>),
}

impl Node {
    fn into_value(self) -> Value {
        match self {
            Self::Value(value) => value,
            Self::Map(pairs) => Value::Map(pairs.into_iter().map(|(key, value)| (key_text(key), value)).collect()),
        }
    }
}

fn key_text(key: Value) -> Text {
    if let Value::String(text) = key {
        return text;
    }
    let mut text = Vec::new();
    text_form::write_ruby(&key, &mut text);
    Text::from(text_form::utf8(text))
}

/// A list or map whose end was not seen yet.
struct Open {
    anchor: usize,
    /// Keys and values follow each other in a map.
    children: Vec<Child>,
}

struct Child {
    value: Value,
    /// The key `<<`, which takes over the entries of another map.
    merges: bool,
}

struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Value>,
    aliased: usize,
    scalars: Scalars,
}

impl Builder {
    fn new() -> Result<Self, String> {
        let scalars = Scalars::new().map_err(|error| error.to_string())?;
        Ok(Self { open: Vec::new(), anchors: HashMap::new(), aliased: 0, scalars })
    }

    fn event(&mut self, event: Event<'_>) -> Result<Option<Node>, String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let merges = style == ScalarStyle::Plain && tag.is_none() && text == "<<";
                let value = self.scalars.value(text, style, tag.as_deref())?;
                self.close(Node::Value(value), merges, anchor)
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned().ok_or("this alias refers to itself")?;
                self.aliased += count(&value);
                if self.aliased > MAX_ALIASED {
                    return Err(format!("aliases add more than {MAX_ALIASED} values"));
                }
                self.close(Node::Value(value), false, 0)
            }
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                if self.open.len() >= MAX_DEPTH {
                    return Err(format!("nested deeper than {MAX_DEPTH} levels"));
                }
                self.open.push(Open { anchor, children: Vec::new() });
                Ok(None)
            }
            Event::SequenceEnd => {
                let Some(open) = self.open.pop() else { return Ok(None) };
                let list = open.children.into_iter().map(|child| child.value).collect();
                self.close(Node::Value(Value::Array(list)), false, open.anchor)
            }
            Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(None) };
                self.close(Node::Map(pairs(open.children)), false, open.anchor)
            }
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {
                Ok(None)
            }
        }
    }

    /// Hands a finished piece to the list or map it stands in; returns it when it stands in none.
    fn close(&mut self, node: Node, merges: bool, anchor: usize) -> Result<Option<Node>, String> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone().into_value());
        }
        match self.open.last_mut() {
            Some(open) => open.children.push(Child { value: node.into_value(), merges }),
            None => return Ok(Some(node)),
        }
        Ok(None)
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(count).sum::<usize>(),
        Value::Map(map) => 1 + map.iter().map(|(_, value)| count(value)).sum::<usize>(),
        _ => 1,
    }
}

/// Merged entries come first, so that own ones replace them.
fn pairs(children: Vec<Child>) -> Vec<(Value, Value)> {
    let (mut merged, mut own) = (Vec::new(), Vec::new());
    let mut children = children.into_iter();
    while let (Some(key), Some(value)) = (children.next(), children.next()) {
        match value.value {
            Value::Map(map) if key.merges => {
                merged.extend(map.into_iter().map(|(key, value)| (Value::String(key), value)));
            }
            value => own.push((key.value, value)),
        }
    }
    merged.append(&mut own);
    merged
}

/// Tells numbers, booleans and null from text.
struct Scalars {
    integer: Regex,
    float: Regex,
}

impl Scalars {
    fn new() -> Result<Self, regex::Error> {
        Ok(Self {
            integer: Regex::new(
                r"^[-+]?(?:0b_*[01][01_]*|0_*[0-7][0-7_]*|0|[1-9](?:[0-9]|,[0-9]|_[0-9])*|0x_*[0-9a-fA-F][0-9a-fA-F_]*)$",
            )?,
            float: Regex::new(r"^[-+]?(?:[0-9][0-9_,]*)?\.[0-9]*(?:[eE][-+][0-9]+)?$")?,
        })
    }

    fn value(&self, text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
        let is_plain = match tag {
            None => style == ScalarStyle::Plain,
            Some(tag) if tag.is_yaml_core_schema() => tag.suffix != "str",
            Some(tag) => return Err(format!("the tag {tag} is not known")),
        };
        let plain = if is_plain { self.plain(&text) } else { None };
        Ok(plain.unwrap_or_else(|| Value::String(Text::from(text))))
    }

    /// `None` for what is text.
    fn plain(&self, text: &str) -> Option<Value> {
        let first = text.bytes().next().unwrap_or(b'~');
        if !matches!(
            first,
            b'0'..=b'9'
                | b'-'
                | b'+'
                | b'.'
                | b'~'
                | b'y'
                | b'Y'
                | b'n'
                | b'N'
                | b't'
                | b'T'
                | b'f'
                | b'F'
                | b'o'
                | b'O'
        ) {
            return None;
        }
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Some(Value::Null),
            ".inf" | ".Inf" | ".INF" | "+.inf" => return Some(Value::Float(f64::INFINITY)),
            "-.inf" | "-.Inf" | "-.INF" => return Some(Value::Float(f64::NEG_INFINITY)),
            ".nan" | ".NaN" | ".NAN" => return Some(Value::Float(f64::NAN)),
            _ => {}
        }
        if ["yes", "true", "on"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
            return Some(Value::Bool(true));
        }
        if ["no", "false", "off"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
            return Some(Value::Bool(false));
        }
        if self.integer.is_match(text) {
            return integer(text);
        }
        if self.float.is_match(text) && text.bytes().any(|b| b.is_ascii_digit()) {
            return text.replace(['_', ','], "").parse().ok().map(Value::Float);
        }
        None
    }
}

fn integer(text: &str) -> Option<Value> {
    let text = text.replace(['_', ','], "");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(&text)),
    };
    let (base, digits) = if let Some(digits) = digits.strip_prefix("0x") {
        (16, digits)
    } else if let Some(digits) = digits.strip_prefix("0b") {
        (2, digits)
    } else if digits.len() > 1 && digits.starts_with('0') {
        (8, digits)
    } else {
        (10, digits)
    };
    num_bigint::BigInt::parse_bytes(format!("{sign}{digits}").as_bytes(), base).map(Value::from_big)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        let mut out = Vec::new();
        crate::event::json::write_value(&value(text).unwrap(), &mut out);
        text_form::utf8(out)
    }

    #[test]
    fn plain_scalars_have_types() {
        for (text, expected) in [
            ("yes", "true"),
            ("Off", "false"),
            ("~", "null"),
            ("null", "null"),
            ("''", r#""""#),
            ("'1'", r#""1""#),
            ("5", "5"),
            ("-5", "-5"),
            ("0x1F", "31"),
            ("017", "15"),
            ("0b11", "3"),
            ("1_000", "1000"),
            ("0", "0"),
            ("123456789012345678901", "123456789012345678901"),
            ("1.5", "1.5"),
            ("1.0e+3", "1000.0"),
            ("1e3", r#""1e3""#),
            ("08", r#""08""#),
            (".", r#"".""#),
            ("1.2.3.4", r#""1.2.3.4""#),
            ("2020-01-02", r#""2020-01-02""#),
            ("!!str 5", r#""5""#),
            ("nope", r#""nope""#),
            ("|\n  5\n", r#""5\n""#),
        ] {
            assert_eq!(json(text), expected, "{text}");
        }
    }

    #[test]
    fn lists_maps_and_aliases() {
        assert_eq!(json(""), "null");
        assert_eq!(json("a: &x {b: [1, two]}\nc: *x\n1: y\n"), r#"{"a":{"b":[1,"two"]},"c":{"b":[1,"two"]},"1":"y"}"#);
        assert_eq!(json("- &d {a: 1, b: 2}\n- {b: 3, <<: *d}\n"), r#"[{"a":1,"b":2},{"a":1,"b":3}]"#);
        let keys = entries("5: a\n\"5\": b\nno: c\n").unwrap();
        assert_eq!(keys.iter().map(|(key, _)| key.kind()).collect::<Vec<_>>(), ["integer", "string", "boolean"]);
        assert!(entries("").unwrap().is_empty());
        assert!(entries("- 1").is_err());
    }

    #[test]
    fn hostile_texts_are_errors() {
        assert!(value(&"[".repeat(100)).is_err_and(|e| e.contains("nested")));
        assert!(value("a: &a [*a]").is_err());
        assert!(value("a: b: c").is_err_and(|e| e.contains("line 1") || e.contains("mapping")));
        assert!(value("!ruby/object 5").is_err_and(|e| e.contains("tag")));
        let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for i in 1..20 {
            laughs.push_str(&format!("a{i}: &a{i} [{}]\n", format!("*a{},", i - 1).repeat(9)));
        }
        assert!(value(&laughs).is_err_and(|e| e.contains("aliases")));
    }
}
