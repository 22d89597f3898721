//! What the kv filter does to events, beyond the cases in `tests/cases/kv.yml`.

use proptest::prelude::*;

use super::scanner::{Pair, Scanner, Separator, Separators};
use crate::plugins::testing::{compiled, filtered};

fn kv(options: &str, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    let config =
        format!(r#"filter {{ kv {{ source => "m" target => "r" {options} }} mutate {{ remove_field => ["m"] }} }}"#);
    filtered(&config, &[&format!(r#"{{"m":{text}}}"#)]).remove(0)
}

fn errors(options: &str) -> String {
    compiled(&format!("filter {{ kv {{ {options} }} }}")).err().unwrap_or_default()
}

#[test]
fn mistakes_stop_the_start() {
    for name in ["field_split", "value_split", "field_split_pattern", "value_split_pattern"] {
        assert!(errors(&format!(r#"{name} => """#)).contains(name), "{name}");
    }
    assert!(errors(r#"field_split => "z-a""#).contains("field_split"));
    assert!(errors(r#"value_split_pattern => "(""#).contains("value_split_pattern"));
    assert!(errors(r#"trim_key => "z-a""#).contains("trim_key"));
    assert!(errors(r#"whitespace => "loose""#).contains("lenient"));
}

/// logstash-filter-kv#65, logstash#9786
#[test]
fn an_empty_value_swallows_the_next_pair_only_where_blanks_separate() {
    assert_eq!(kv("", "a=1 b= c=3"), r#"{"r":{"a":"1","b":"c=3"}}"#);
    assert_eq!(kv(r#"whitespace => "strict""#, "a=1 b= c=3"), r#"{"r":{"a":"1","c":"3"}}"#);
    assert_eq!(kv("field_split => \"\t\"", "a=1\tb=\tc=3"), r#"{"r":{"a":"1","c":"3"}}"#);
}

/// logstash-filter-kv#57
#[test]
fn an_empty_value_before_a_bar_is_skipped() {
    for option in [r#"field_split => "|""#, r#"field_split_pattern => "\|""#] {
        assert_eq!(kv(option, "a=1|b=|c=3"), r#"{"r":{"a":"1","c":"3"}}"#);
    }
}

/// logstash-filter-kv#2, #47
#[test]
fn a_value_goes_to_the_first_quote_that_is_not_escaped() {
    assert_eq!(kv("", r#"a="x \" y" b=1"#), r#"{"r":{"a":"x \\\" y","b":"1"}}"#);
}

/// logstash-filter-kv#42
#[test]
fn quotes_in_a_quoted_value_make_it_bare() {
    assert_eq!(kv(r#"field_split => ",""#, r#"a="x"y",b=1"#), r#"{"r":{"a":"\"x\"y\"","b":"1"}}"#);
}

/// logstash-filter-kv#63
#[test]
fn brackets_may_span_lines() {
    assert_eq!(kv(r#"field_split => "\n""#, "a=[x\ny=2\n]\nb=1"), r#"{"r":{"a":"x\ny=2\n","b":"1"}}"#);
}

/// logstash-filter-kv#74
#[test]
fn a_backslash_protects_the_separator() {
    assert_eq!(kv(r#"field_split => "|""#, r"a=x\|b=2|c=3"), r#"{"r":{"a":"x\\|b=2","c":"3"}}"#);
}

/// logstash-filter-kv#94
#[test]
fn a_key_that_is_no_field_is_a_failure_and_earlier_ones_stay() {
    for bad in ["a[b=2", "@timestamp=2"] {
        let event = format!(r#"{{"message":"x=1 {bad} y=3"}}"#);
        let expected = event.replace('}', r#","x":"1","tags":["_kv_filter_error"]}"#);
        assert_eq!(filtered("filter { kv { } }", &[&event]), [expected]);
    }
}

/// logstash-filter-kv#92
#[test]
fn the_failure_tag_may_be_one_or_several() {
    for (option, tags) in [(r#""one""#, r#"["one"]"#), (r#"["one", "two"]"#, r#"["one","two"]"#)] {
        let event = r#"{"message":["a=1",5]}"#;
        let expected = event.replace('}', &format!(r#","tags":{tags}}}"#));
        assert_eq!(filtered(&format!("filter {{ kv {{ tag_on_failure => {option} }} }}"), &[event]), [expected]);
    }
}

#[test]
fn other_sources_than_text_are_left_alone() {
    for event in [r#"{"message":5}"#, r#"{"message":true}"#, r#"{"message":{"a":1}}"#] {
        assert_eq!(filtered(r#"filter { kv { add_tag => ["ok"] } }"#, &[event]), [event]);
    }
}

#[test]
fn duplicates_are_looked_for_in_what_is_there() {
    let options = "allow_duplicate_values => false";
    assert_eq!(kv(options, "a=foobar a=foo"), r#"{"r":{"a":"foobar"}}"#);
    assert_eq!(kv(options, "a=foo a=foobar a=foo"), r#"{"r":{"a":["foo","foobar"]}}"#);
}

#[test]
fn a_key_with_a_hundred_thousand_values_is_no_endless_loop() {
    let values = |count: usize| (0..count).map(|n| format!("a={n} ")).collect::<String>();
    let once = kv("allow_duplicate_values => false", &values(100_000));
    assert!(once.ends_with(r#""99999"]}}"#));
    let twice = kv("allow_duplicate_values => false", &(values(100) + &values(101)));
    assert_eq!(twice, kv("", &values(101)));
    let nested = kv("allow_duplicate_values => false recursive => true", &(values(100) + "a=(b=1) a=(b=1) a=7"));
    assert!(nested.ends_with(r#""99",{"b":"1"},{"b":"1"}]}}"#), "{nested}");
}

#[test]
fn pairs_in_pairs_end_somewhere() {
    let text = "a=".repeat(20_000) + "x";
    let read = kv(r#"recursive => true value_split => "=" field_split => ";""#, &text);
    assert!(read.starts_with(r#"{"r":{"a":{"a":{"#) && read.len() > 30_000);
}

#[test]
fn the_prefix_and_the_names_may_come_from_the_event() {
    let config = r#"filter { kv { prefix => "%{p}_" exclude_keys => ["%{x}"] } }"#;
    let event = r#"{"message":"a=1 b=2","p":"q","x":"b"}"#;
    assert_eq!(filtered(config, &[event]), [event.replace("\"b\"}", "\"b\",\"q_a\":\"1\"}")]);
}

#[test]
fn characters_of_classes_are_those_of_regular_expressions() {
    assert_eq!(kv(r#"value_split => ":\]""#, "a]1 b:2"), r#"{"r":{"a":"1","b":"2"}}"#);
    assert_eq!(kv(r#"field_split => "\s""#, "a=1\tb=2"), r#"{"r":{"a":"1","b":"2"}}"#);
    assert_eq!(kv(r#"value_split_pattern => "=>|:""#, "a=>1 b:2"), r#"{"r":{"a":"1","b":"2"}}"#);
}

fn pairs(scanned: impl Iterator<Item = Result<Pair, super::TookTooLong>>) -> Vec<Pair> {
    scanned.map(Result::unwrap).collect()
}

proptest! {
    #[test]
    fn the_quick_way_finds_what_the_pattern_finds(
        field in "[ ,;&\n\"(]{1,2}",
        value in "[=: '>]{1,2}",
        is_lenient: bool,
        has_brackets: bool,
        text in "[ab =:,;&\"'()\\[\\]<>\né]{0,24}",
    ) {
        let separators =
            Separators { field: Separator::Class(field), value: Separator::Class(value), is_lenient, has_brackets };
        let scanner = Scanner::new(&separators).unwrap();
        if scanner.is_quick() {
            let quick = pairs(scanner.scan(&text).unwrap());
            prop_assert_eq!(quick, pairs(scanner.scan_by_pattern(&text)), "{:?}: {:?}", separators, text);
        }
    }
}
