//! JSON documents as a borrowed tree, and the work of W3 on one.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::time;

pub enum Tree<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Tree<'a>>),
    Map(Vec<(Cow<'a, str>, Tree<'a>)>),
}

/// The document that a line becomes, and whether it belongs into the first file.
pub fn document(line: &[u8]) -> (Tree<'_>, bool) {
    let mut tree: Tree = sonic_rs::from_slice(line).expect("JSON");
    let mut service = tree.take("service").expect("service");
    let name = service.take("name").expect("name");
    let mut http = tree.take("http").expect("http");
    let client = http.take("client").expect("client");
    http.change("status", |text| Tree::Int(text.parse().expect("a number")));
    http.change("duration_ms", |text| Tree::Float(text.parse().expect("a number")));
    tree.take("debug");
    let is_missing = matches!(http.get("status"), Some(Tree::Int(404)));
    let is_error = matches!(tree.get("level"), Some(Tree::Text(level)) if level == "ERROR");
    let Some(Tree::Text(when)) = tree.take("ts") else { panic!("no ts") };
    let mut stamp = Vec::with_capacity(26);
    time::write(time::iso(when.as_bytes()), &mut stamp);
    let stamp = String::from_utf8(stamp[1..25].to_vec()).expect("ASCII");
    let Tree::Map(fields) = &mut tree else { panic!("no map") };
    fields.extend([
        ("service".into(), service),
        ("http".into(), http),
        ("service_name".into(), name),
        ("client".into(), client),
        ("env".into(), Tree::Text("bench".into())),
        ("@timestamp".into(), Tree::Text(stamp.into())),
    ]);
    (tree, is_error || is_missing)
}

impl<'a> Tree<'a> {
    fn get(&self, name: &str) -> Option<&Self> {
        let Tree::Map(fields) = self else { return None };
        fields.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    fn take(&mut self, name: &str) -> Option<Self> {
        let Tree::Map(fields) = self else { return None };
        let at = fields.iter().position(|(key, _)| key == name)?;
        Some(fields.remove(at).1)
    }

    fn change(&mut self, name: &str, make: impl FnOnce(&str) -> Tree<'a>) {
        let Tree::Map(fields) = self else { return };
        if let Some((_, value)) = fields.iter_mut().find(|(key, _)| key == name)
            && let Tree::Text(text) = value
        {
            *value = make(text);
        }
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Tree::Null => out.extend_from_slice(b"null"),
            Tree::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Tree::Int(value) => out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes()),
            Tree::Float(value) => sonic_rs::to_writer(&mut *out, value).expect("a number"),
            Tree::Text(text) => write_text(text.as_bytes(), out),
            Tree::List(values) => {
                let mut next = b'[';
                for value in values {
                    out.push(std::mem::replace(&mut next, b','));
                    value.write(out);
                }
                out.extend_from_slice(if next == b'[' { b"[]" } else { b"]" });
            }
            Tree::Map(fields) => {
                let mut next = b'{';
                for (name, value) in fields {
                    out.push(std::mem::replace(&mut next, b','));
                    write_text(name.as_bytes(), out);
                    out.push(b':');
                    value.write(out);
                }
                out.extend_from_slice(if next == b'{' { b"{}" } else { b"}" });
            }
        }
    }
}

pub fn write_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    if text.iter().all(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\') {
        out.extend_from_slice(text);
    } else {
        for byte in text {
            match byte {
                b'"' => out.extend_from_slice(b"\\\""),
                b'\\' => out.extend_from_slice(b"\\\\"),
                b'\t' => out.extend_from_slice(b"\\t"),
                0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => out.push(*byte),
            }
        }
    }
    out.push(b'"');
}

impl<'de> Deserialize<'de> for Tree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Tree<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Tree<'de>, E> {
                Ok(Tree::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Tree<'de>, E> {
                Ok(Tree::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Tree<'de>, E> {
                Ok(Tree::Int(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Tree<'de>, E> {
                Ok(i64::try_from(value).map_or(Tree::Float(value as f64), Tree::Int))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Tree<'de>, E> {
                Ok(Tree::Float(value))
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Tree<'de>, E> {
                Ok(Tree::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Tree<'de>, E> {
                Ok(Tree::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree<'de>, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(Tree::List(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree<'de>, A::Error> {
                let mut fields = Vec::with_capacity(8);
                while let Some(Name(name)) = map.next_key()? {
                    fields.push((name, map.next_value()?));
                }
                Ok(Tree::Map(fields))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// A name that stays in the line when it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrowing)
    }
}
