//! What the dissect filter does to events, beyond the cases in `tests/cases/dissect.yml`.

use proptest::prelude::*;

use super::dissection::{Captures, Dissection};
use crate::event::EscapeStyle;
use crate::plugins::testing::{compiled, filtered};

fn dissect(mapping: &str, text: &str) -> String {
    let config = format!(r#"filter {{ dissect {{ mapping => {{ "m" => "{mapping}" }} remove_field => ["m"] }} }}"#);
    let event = crate::event::Value::Map(crate::event::Map::from_unique(vec![("m".into(), text.into())]));
    let mut json = Vec::new();
    crate::event::json::write_value(&event, &mut json);
    filtered(&config, &[std::str::from_utf8(&json).unwrap()]).remove(0)
}

#[track_caller]
fn assert_fails(mapping: &str, text: &str) {
    assert!(dissect(mapping, text).contains("_dissectfailure"), "{mapping}: {text}");
}

fn errors(options: &str) -> String {
    compiled(&format!("filter {{ dissect {{ {options} }} }}")).err().unwrap_or_default()
}

#[test]
fn mistakes_stop_the_start() {
    for (mapping, word) in [
        ("%{+&a} %{b}", "prefix"),
        ("%{&+a}", "prefix"),
        ("%{+}", "prefix"),
        ("no field", "no field"),
        ("%{a[b}", "a[b"),
    ] {
        let errors = errors(&format!(r#"mapping => {{ "m" => "{mapping}" }}"#));
        assert!(errors.contains(word), "{mapping}: {errors}");
    }
    assert!(errors(r#"convert_datatype => { "a" => "integer" }"#).contains("datatype not supported"));
    assert!(errors(r#"mapping => { "m" => ["%{a}", "%{b}"] }"#).contains("one text"));
    assert_eq!(errors(r#"mapping => { "m" => "" } convert_datatype => { "a" => "INT" }"#), "");
}

#[test]
fn prefixes_and_suffixes() {
    assert_eq!(dissect("%{->},%{?x->} %{}|%{+a->/2}", "1,2  3|4"), r#"{"":"1","a":"4"}"#);
    assert_eq!(dissect("%{b/x} %{c/123} %{d/12->}", "1 2 3"), r#"{"b/x":"1","c/123":"2","d":"3"}"#);
    assert_eq!(dissect("%{+a/2->} %{+a->/1}", "1   2"), r#"{"a":"2 1"}"#);
}

/// logstash-filter-dissect#71, #74, logstash#11472
#[test]
fn an_arrow_needs_no_padding() {
    assert_eq!(dissect("%{a->} [%{b}]", "x [y]"), r#"{"a":"x","b":"y"}"#);
    assert_eq!(dissect("%{a->}: %{b->}", "x: : y: "), r#"{"a":"x","b":"y: "}"#);
}

/// logstash-filter-dissect#41, #11
#[test]
fn empty_fields_shift_nothing() {
    assert_eq!(dissect("%{a}||%{b}||%{c}", "1||||3"), r#"{"a":"1","b":"","c":"3"}"#);
}

/// logstash-filter-dissect#46, #49
#[test]
fn text_that_is_no_ascii_is_no_failure() {
    assert_eq!(dissect("%{a}é%{b} %{c}", "äéöü ß"), r#"{"a":"ä","b":"öü","c":"ß"}"#);
    // A part of a character is no delimiter.
    assert_fails("%{a}é%{b}", "è");
}

/// logstash-filter-dissect#68
#[test]
fn a_delimiter_at_the_very_beginning_is_not_passed_over() {
    assert_eq!(dissect("%{a},%{b},%{c}", ",x,y"), r#"{"a":"","b":"","c":",x,y"}"#);
    assert_eq!(dissect("%{a->},%{b}", ",,x"), r#"{"a":"","b":"x"}"#);
}

/// logstash-filter-dissect#62
#[test]
fn missing_fields_at_the_end_are_a_failure() {
    assert_fails("%{a} %{b} %{c}", "1 2");
    assert_fails("%{a}%{b}", "12");
    assert_fails("%{a} %{b}|", "1 2");
}

#[test]
fn indirect_names_come_from_the_event_first() {
    let config = r#"filter { dissect { mapping => { "m" => "%{?k}=%{&k}" } } }"#;
    assert_eq!(filtered(config, &[r#"{"m":"x=1"}"#]), [r#"{"m":"x=1","x":"1"}"#]);
    assert_eq!(filtered(config, &[r#"{"m":"x=1","k":"y"}"#]), [r#"{"m":"x=1","k":"y","y":"1"}"#]);
    assert_eq!(filtered(config, &[r#"{"m":"=1","k":""}"#]), [r#"{"m":"=1","k":""}"#]);
    assert_eq!(filtered(config, &[r#"{"m":"@timestamp=1"}"#]), [r#"{"m":"@timestamp=1","tags":["_dissectfailure"]}"#]);
}

#[test]
fn conversions_run_whatever_the_mapping_did() {
    let config = r#"filter { dissect { mapping => { "m" => "%{a} %{b}" } convert_datatype => { "n" => "Int" } add_tag => ["ok"] } }"#;
    assert_eq!(filtered(config, &[r#"{"m":"x","n":"1.9"}"#]), [r#"{"m":"x","n":1,"tags":["_dissectfailure"]}"#]);
    assert_eq!(
        filtered(config, &[r#"{"m":"x y","n":true}"#]),
        [r#"{"m":"x y","n":true,"a":"x","b":"y","tags":["ok","_dataconversionuncoercible_n_Int"]}"#]
    );
}

/// What the head of `dissection.rs` says, as simply as can be: delimiters and fields alternate.
fn reference(fields: &[(String, bool)], delimiters: &[String], text: &str) -> Option<Vec<String>> {
    let mut rest = text.strip_prefix(delimiters[0].as_str())?;
    let mut values = Vec::new();
    for ((_, is_padded), delimiter) in fields.iter().zip(&delimiters[1..]) {
        let (value, after) = rest.split_once(delimiter.as_str()).filter(|_| !delimiter.is_empty())?;
        values.push(value.to_owned());
        if !(value.is_empty() && rest.len() == text.len()) {
            rest = after;
        }
        while *is_padded && rest.starts_with(delimiter.as_str()) {
            rest = &rest[delimiter.len()..];
        }
    }
    values.push(rest.to_owned());
    Some(values)
}

proptest! {
    #[test]
    fn cuts_as_the_reference_does(
        fields in prop::collection::vec(("[a-c]", any::<bool>()), 1..5),
        delimiters in prop::collection::vec("[,é ]{0,2}", 6),
        text in "[xy,é ]{0,16}",
    ) {
        let mut pattern = delimiters[0].clone();
        for (at, (name, is_padded)) in fields.iter().enumerate() {
            pattern += &format!("%{{{name}{}}}", if *is_padded { "->" } else { "" });
            if at + 1 < fields.len() {
                pattern += &delimiters[at + 1];
            }
        }
        let expected = reference(&fields[..fields.len() - 1], &delimiters[..fields.len()], &text);
        let dissection = Dissection::compile(&pattern, EscapeStyle::None).unwrap();
        let mut captures = Captures::default();
        let found = dissection.cut(&text, &mut captures).then(|| {
            dissection.parts().map(|part| text[captures.range(part.position)].to_owned()).collect::<Vec<_>>()
        });
        prop_assert_eq!(found, expected, "{}: {}", pattern, text);
    }

    #[test]
    fn any_mapping_takes_any_text_without_a_panic(pattern in "[%{}a?+&>/1 é,-]{0,24}", text in "[a, é%{}-]{0,24}") {
        if let Ok(dissection) = Dissection::compile(&pattern, EscapeStyle::None) {
            let _ = dissection.cut(&text, &mut Captures::default());
        }
    }
}
