//! `rubydebug`: events for people, laid out as Logstash's default on a terminal does.
//!
//! Every key is right-aligned to the longest one of its map plus four blanks for each level; the brace or bracket that
//! ends a value stands one level further out.

use std::sync::Arc;

use crate::event::{Decimal, Event, METADATA, Map, Text, Value, text_form};
use crate::plugins::{Codec, CodecPlugin, EncodeError, Encoder, Options};

/// The plugin.
pub const PLUGIN: CodecPlugin = CodecPlugin { name: "rubydebug", summary: "Events laid out for people.", build };

/// Exponent from which on JRuby prints a float as `1.0e+19`.
const PLAIN_FLOATS_BELOW: i32 = 19;
/// Longest run of zeros that a decimal is written out with; beyond it, its exponent is shown. A few bytes of JSON can
/// name a number with a billion digits.
const MOST_ZEROS: i64 = 1000;

fn build(options: &mut Options<'_>) -> Codec {
    let metadata = options.boolean("metadata").doc("Whether to show [@metadata] too.").default(false);
    Codec { decoders: None, encoder: Some(Arc::new(RubyDebug { metadata })) }
}

struct RubyDebug {
    metadata: bool,
}

impl Encoder for RubyDebug {
    fn encode(&self, event: &Event, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if self.metadata && !event.metadata().is_empty() {
            let metadata = Value::Map(event.metadata().clone());
            let name = Text::borrowed(METADATA);
            let fields: Vec<_> = event.fields().iter().chain(std::iter::once((&name, &metadata))).collect();
            write_entries(&fields, 1, out);
        } else {
            write_map(event.fields(), 1, out);
        }
        out.push(b'\n');
        Ok(())
    }
}

fn write_map(map: &Map, level: usize, out: &mut Vec<u8>) {
    write_entries(&map.iter().collect::<Vec<_>>(), level, out);
}

fn write_entries(entries: &[(&Text, &Value)], level: usize, out: &mut Vec<u8>) {
    if entries.is_empty() {
        return out.extend_from_slice(b"{}");
    }
    let keys: Vec<(usize, Vec<u8>)> = entries.iter().map(|(key, _)| shown_key(key)).collect();
    let width = keys.iter().map(|(width, _)| *width).max().unwrap_or(0) + level * 4;
    out.extend_from_slice(b"{\n");
    for (i, ((key_width, key), (_, value))) in keys.iter().zip(entries).enumerate() {
        if i > 0 {
            out.extend_from_slice(b",\n");
        }
        pad(width - key_width, out);
        out.extend_from_slice(key);
        out.extend_from_slice(b" => ");
        write_value(value, level + 1, out);
    }
    close(b'}', level, out);
}

/// The key in quotes, and its width in characters.
fn shown_key(key: &str) -> (usize, Vec<u8>) {
    let mut shown = Vec::with_capacity(key.len() + 2);
    text_form::write_inspect_str(key, &mut shown);
    let continuation = |b: &&u8| **b & 0xC0 == 0x80;
    (shown.len() - shown.iter().filter(continuation).count(), shown)
}

fn write_list(list: &[Value], level: usize, out: &mut Vec<u8>) {
    if list.is_empty() {
        return out.extend_from_slice(b"[]");
    }
    let width = (list.len() - 1).to_string().len();
    out.extend_from_slice(b"[\n");
    for (i, value) in list.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b",\n");
        }
        pad(level * 4, out);
        out.extend_from_slice(format!("[{i:width$}] ").as_bytes());
        write_value(value, level + 1, out);
    }
    close(b']', level, out);
}

fn close(bracket: u8, level: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    pad((level - 1) * 4, out);
    out.push(bracket);
}

fn pad(count: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + count, b' ');
}

fn write_value(value: &Value, level: usize, out: &mut Vec<u8>) {
    match value {
        Value::Map(map) => write_map(map, level, out),
        Value::Array(list) => write_list(list, level, out),
        Value::Float(f) => text_form::write_ruby_float(*f, PLAIN_FLOATS_BELOW, out),
        Value::Decimal(decimal) => out.extend_from_slice(plain(decimal).as_bytes()),
        other => text_form::write_inspect(other, out),
    }
}

/// A decimal without exponent and without zeros at its end: `1.5`, `1000.0`.
fn plain(decimal: &Decimal) -> String {
    let scale = i64::from(decimal.scale());
    if scale.abs() > MOST_ZEROS {
        return text_form::ruby_decimal(decimal);
    }
    let unscaled = decimal.unscaled().to_string();
    let (sign, digits) = match unscaled.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", unscaled.as_str()),
    };
    let behind = usize::try_from(scale).unwrap_or(0);
    let zeros = usize::try_from(-scale).unwrap_or(0);
    let digits = format!("{:0>width$}{}", digits, "0".repeat(zeros), width = behind + 1);
    let (whole, fraction) = digits.split_at(digits.len() - behind);
    let fraction = fraction.trim_end_matches('0');
    format!("{sign}{whole}.{}", if fraction.is_empty() { "0" } else { fraction })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{codec, encoded};

    const AT: &str = r#""@timestamp":"2020-01-02T03:04:05.006Z""#;

    #[test]
    fn keys_are_aligned_by_level() {
        let event = format!(r#"{{{AT},"a":{{"bb":{{"c":1}},"d":"x"}},"e":{{}},"l":["a",{{"k":1}},[2.5]],"ñé":null}}"#);
        let expected = r#"{
    "@timestamp" => 2020-01-02T03:04:05.006Z,
             "a" => {
        "bb" => {
            "c" => 1
        },
         "d" => "x"
    },
             "e" => {},
             "l" => [
        [0] "a",
        [1] {
            "k" => 1
        },
        [2] [
            [0] 2.5
        ]
    ],
            "ñé" => nil,
      "@version" => "1"
}
"#;
        assert_eq!(encoded("rubydebug { }", &[&event]), expected);
    }

    #[test]
    fn metadata_is_shown_on_demand_and_when_there_is_any() {
        let event = format!(r#"{{{AT},"@metadata":{{"k":{{"x":1}}}}}}"#);
        let shown = encoded("rubydebug { metadata => true }", &[&event]);
        assert!(shown.contains("   \"@metadata\" => {\n        \"k\" => {\n            \"x\" => 1\n"), "{shown}");
        assert!(!encoded("rubydebug { metadata => true }", &["{}"]).contains("@metadata"));
        assert!(!encoded("rubydebug { }", &[&event]).contains("@metadata"));
    }

    #[test]
    fn decimals_are_plain_unless_that_would_be_endless() {
        for (given, expected) in [
            ("1.50", "1.5"),
            ("100", "100.0"),
            ("1E3", "1000.0"),
            ("-0.0025", "-0.0025"),
            ("0.0", "0.0"),
            ("1e2000000000", "0.1e2000000001"),
        ] {
            assert_eq!(plain(&Decimal::parse(given).unwrap()), expected, "{given}");
        }
        assert!(codec("rubydebug { }").unwrap().decoders.is_none());
    }
}
