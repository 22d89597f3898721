//! Event values as YAML on one line, as a person would write them into a case file.

use crate::event::{Map, Value, json, text_form};

/// A value in flow style: `{ a: "x", n: 1 }`.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::Map(map) if map.is_empty() => "{}".into(),
        Value::Map(map) => {
            let pairs: Vec<_> = map.iter().map(|(name, value)| format!("{}: {}", key(name), flow(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Null => "null".into(),
        Value::String(text) => quoted(text),
        Value::Float(f) if f.is_nan() => ".nan".into(),
        Value::Float(f) if f.is_infinite() => if *f > 0.0 { ".inf" } else { "-.inf" }.into(),
        Value::Float(f) => {
            let mut out = Vec::new();
            text_form::write_java_double(*f, &mut out);
            text_form::utf8(out)
        }
        Value::Decimal(_) => format!("{{ $bigdecimal: {} }}", quoted(&plain(value))),
        Value::Timestamp(at) => quoted(&at.to_string()),
        Value::Bool(_) | Value::Integer(_) | Value::BigInteger(_) => plain(value),
    }
}

/// A field name, in quotes where YAML would take it for something else.
pub(super) fn key(name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_word);
    let reserved = ["true", "false", "null", "yes", "no", "on", "off"];
    if is_plain && !reserved.contains(&name.to_lowercase().as_str()) { name.to_owned() } else { quoted(name) }
}

/// Cases as a file, one key a line.
pub fn case(keys: &Map) -> String {
    let mut out = String::new();
    for (n, (name, value)) in keys.iter().enumerate() {
        let dash = if n == 0 { "- " } else { "  " };
        match value {
            Value::Array(items) if !items.is_empty() => {
                out.push_str(&format!("{dash}{}:\n", key(name)));
                items.iter().for_each(|item| out.push_str(&format!("    - {}\n", flow(item))));
            }
            value => out.push_str(&format!("{dash}{}: {}\n", key(name), flow(value))),
        }
    }
    out
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    json::write_string(text, &mut out);
    text_form::utf8(out)
}

fn plain(value: &Value) -> String {
    let mut out = Vec::new();
    text_form::write_template(value, &mut out);
    text_form::utf8(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::yaml;
    use crate::testing::values;

    #[test]
    fn what_is_written_reads_as_the_same_value() {
        for text in [
            "{a: '5', b: 5, c: 1.0, d: [x, {y: null}], e: true, 'f g': 'q\"\\n', '@t': 1, yes: .nan, big: 18446744073709551616}",
            "{e: {}, l: [], t: \"tab\\there\\u0001\", u: 'é日', inf: -.inf, exp: 1e30}",
        ] {
            let read = |text: &str| values::value(&yaml::parse(text).unwrap().unwrap()).unwrap();
            let value = read(text);
            assert_eq!(format!("{:?}", read(&flow(&value))), format!("{value:?}"), "{}", flow(&value));
        }
        let decimal = values::typed(Value::from(Map::from_iter([("$bigdecimal", "1.50")]))).unwrap();
        assert_eq!(flow(&decimal), r#"{ $bigdecimal: "1.50" }"#);
    }
}
