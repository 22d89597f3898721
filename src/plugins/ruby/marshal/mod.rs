//! Ruby's Marshal format, version 4.8, as far as values of events need it.
//!
//! The format is described in Ruby's `doc/marshal.rdoc`. Instants are objects of the class `LogStash::Timestamp` with the
//! instance variables `@s` (seconds since 1970) and `@n` (nanoseconds), decimals are `BigDecimal`.

mod decode;
mod encode;

pub use decode::decode;
pub use encode::Encoder;

/// What every message starts with: the version of the format.
const VERSION: [u8; 2] = [4, 8];
/// Class of instants.
const TIMESTAMP: &str = "LogStash::Timestamp";
/// Class of decimals.
const DECIMAL: &str = "BigDecimal";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::json::{Numbers, Reader};
    use crate::event::{Decimal, Map, Text, Timestamp, Value};

    fn there_and_back(value: &Value) -> Value {
        let mut encoder = Encoder::default();
        encoder.value(value);
        decode(encoder.finish().get(4..).unwrap()).unwrap()
    }

    #[test]
    fn values_come_back_as_they_were() {
        let text = r#"{"a":[null,true,false,0,1,-1,122,123,-123,-124,255,256,65536,-65537,1073741823,1073741824,-1073741825,
            9223372036854775807,-9223372036854775808,1180591620717411303424],"f":[0.5,-2.25e300],"é":{"":"😀"}}"#;
        let Ok(Some(Value::Map(mut map))) = Reader::new(&Text::from(text), Numbers::Double).next_value() else {
            panic!()
        };
        map.insert("t", Timestamp::from_unix(-5, 999_999_999).unwrap());
        map.insert("u", Timestamp::from_unix(1_577_934_245, 0).unwrap());
        map.insert("d", Value::Decimal(Decimal::parse("-12.5").unwrap()));
        map.insert("m", Map::new());
        let value = Value::Map(map);
        assert_eq!(there_and_back(&value), value);
    }

    #[test]
    fn special_floats_come_back() {
        assert_eq!(there_and_back(&Value::Float(f64::NEG_INFINITY)), Value::Float(f64::NEG_INFINITY));
        assert!(matches!(there_and_back(&Value::Float(f64::NAN)), Value::Float(f) if f.is_nan()));
    }

    #[test]
    fn what_is_cut_off_or_nested_without_end_is_an_error() {
        let mut encoder = Encoder::default();
        encoder.value(&Value::from(vec!["a long text that is cut", "b"]));
        let whole = encoder.finish();
        for end in 4..whole.len() {
            assert!(decode(&whole[4..end]).is_err(), "{end}");
        }
        let mut deep = VERSION.to_vec();
        deep.extend([b'[', 6].repeat(100_000));
        assert!(decode(&deep).is_err());
        assert!(decode(b"\x04\x08[\x04\xff\xff\xff\x7f").is_err());
    }

    #[test]
    fn a_value_that_stands_there_twice_is_written_once_by_ruby() {
        // Marshal.dump(["a", "a" (the same), 2.5, 2.5]): links count every object before them, the list too.
        let bytes = b"\x04\x08[\x09I\"\x06a\x06:\x06ET@\x06f\x082.5@\x07";
        let expected = Value::Array(vec!["a".into(), "a".into(), 2.5.into(), 2.5.into()]);
        assert_eq!(decode(bytes).unwrap(), expected);
    }
}
