//! What the csv filter does to events, beyond the cases in `tests/cases/csv.yml`.

use crate::plugins::testing::{compiled, filtered};

fn csv(options: &str, events: &[&str]) -> Vec<String> {
    let config = format!(r#"filter {{ csv {{ source => "m" {options} }} mutate {{ remove_field => ["m"] }} }}"#);
    filtered(&config, events)
}

fn errors(options: &str) -> String {
    compiled(&format!("filter {{ csv {{ {options} }} }}")).err().unwrap_or_default()
}

#[test]
fn mistakes_stop_the_start() {
    assert!(errors(r#"convert => { "a" => "string" }"#).contains("Invalid conversion types"));
    assert!(errors(r#"separator => """#).contains("separator"));
    assert!(errors(r#"quote_char => "ab""#).contains("quote_char"));
}

#[test]
fn without_a_quote_character_every_event_fails() {
    assert_eq!(csv(r#"quote_char => """#, &[r#"{"m":"a"}"#]), [r#"{"tags":["_csvparsefailure"]}"#]);
}

/// logstash-filter-csv#89
#[test]
fn a_detected_name_that_is_no_field_fails_the_events() {
    let read = csv("autodetect_column_names => true", &[r#"{"m":"a,b[c,d"}"#, r#"{"m":"1,2,3"}"#]);
    assert_eq!(read, [r#"{"a":"1","tags":["_csvparsefailure"]}"#]);
}

/// logstash-filter-csv#79
#[test]
fn detected_names_belong_to_one_filter() {
    let options = r#"autodetect_column_names => true target => "t""#;
    assert_eq!(csv(options, &[r#"{"m":"x,,y"}"#, r#"{"m":"1,2,3"}"#]), [r#"{"t":{"x":"1","column2":"2","y":"3"}}"#]);
    assert_eq!(csv(options, &[r#"{"m":"z"}"#, r#"{"m":"1"}"#]), [r#"{"t":{"z":"1"}}"#]);
    // Names that are configured are not looked for.
    let options = r#"autodetect_column_names => true columns => ["c"] skip_header => true"#;
    assert_eq!(csv(options, &[r#"{"m":"1"}"#, r#"{"m":"c"}"#]), [r#"{"c":"1"}"#]);
}

#[test]
fn an_empty_first_line_names_no_columns() {
    let events = [r#"{"m":""}"#, r#"{"m":"\n"}"#, r#"{"m":"a"}"#, r#"{"m":"1"}"#];
    let failed = r#"{"tags":["_csvparsefailure"]}"#;
    assert_eq!(csv("autodetect_column_names => true", &events), [failed, failed, r#"{"a":"1"}"#]);
}

#[test]
fn empty_rows_can_be_passed_over() {
    let read = csv(r#"skip_empty_rows => true add_tag => ["ok"]"#, &[r#"{"m":""}"#, r#"{"m":"a"}"#]);
    assert_eq!(read, [r#"{"tags":["_csvskippedemptyfield"]}"#, r#"{"column1":"a","tags":["ok"]}"#]);
}

#[test]
fn a_source_that_is_no_text_is_a_failure() {
    for event in [r#"{"m":5}"#, r#"{"m":true}"#, r#"{"m":["a"]}"#] {
        assert_eq!(csv("", &[event]), [r#"{"tags":["_csvparsefailure"]}"#], "{event}");
    }
    assert_eq!(csv("", &[r#"{"m":false}"#]), ["{}"]);
}

#[test]
fn columns_without_a_name_can_be_converted_too() {
    let read = csv(r#"convert => { "column2" => "integer" }"#, &[r#"{"m":"1,2"}"#]);
    assert_eq!(read, [r#"{"column1":"1","column2":2}"#]);
}

#[test]
fn a_column_that_cannot_be_stored_is_a_failure() {
    let read = csv(r#"columns => ["a", "@timestamp", "b"]"#, &[r#"{"m":"1,2,3"}"#]);
    assert_eq!(read, [r#"{"a":"1","tags":["_csvparsefailure"]}"#]);
}
