//! Dictionaries at work.

use std::path::PathBuf;

use crate::plugins::testing::{compiled, event, filtered, json, run_filters};

fn translate(options: &str, event: &str) -> String {
    filtered(&format!("filter {{ translate {{ source => \"k\" {options} }} }}"), &[event]).remove(0)
}

/// A file of that name in a folder that lives as long as the result.
fn file(name: &str, content: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    (folder, path)
}

fn errors(options: &str) -> String {
    compiled(&format!("filter {{ translate {{ {options} }} }}")).err().unwrap_or_default()
}

#[test]
fn patterns_are_tried_in_the_order_in_which_logstash_walks_a_hash() {
    let options = r#"target => "t" regex => true dictionary => { "^err" => "E" "." => "other" "warn" => "W" }"#;
    for (k, t) in [("error", "E"), ("a warning", "W"), ("zz", "other"), ("err warn", "W")] {
        assert_eq!(translate(options, &format!(r#"{{"k":"{k}"}}"#)), format!(r#"{{"k":"{k}","t":"{t}"}}"#));
    }
    assert!(errors(r#"source => "k" regex => true dictionary => { "(" => "x" }"#).contains("`(`"));
}

#[test]
fn parts_are_replaced_from_the_left_by_the_first_key() {
    let (_folder, path) = file("d.csv", "ab,1\na,2\nabc,3\n");
    let options = format!(r#"target => "t" exact => false dictionary_path => "{}""#, path.display());
    assert_eq!(translate(&options, r#"{"k":"abc a xa"}"#), r#"{"k":"abc a xa","t":"1c 2 x2"}"#);
    assert_eq!(translate(&options, r#"{"k":"x"}"#), r#"{"k":"x"}"#);
    let options = r#"target => "t" exact => false fallback => "-" dictionary => { "a" => "a" }"#;
    assert_eq!(translate(options, r#"{"k":"a"}"#), r#"{"k":"a","t":"-"}"#);
}

#[test]
fn elements_and_maps_of_a_list() {
    let dictionary = r#"dictionary => { "1" => "one" } add_tag => ["t"]"#;
    let elements = format!(r#"iterate_on => "k" target => "t" {dictionary}"#);
    assert_eq!(translate(&elements, r#"{"k":[1,2]}"#), r#"{"k":[1,2],"t":["one",null],"tags":["t"]}"#);
    assert_eq!(translate(&elements, r#"{"k":[2]}"#), r#"{"k":[2]}"#);
    let maps = format!(r#"iterate_on => "[a][l]" target => "[t][x]" {dictionary}"#);
    assert_eq!(
        translate(&maps, r#"{"a":{"l":[{"k":"1","t":{"x":"old"}},{"k":"2"},5,{"j":1}]}}"#),
        r#"{"a":{"l":[{"k":"1","t":{"x":"one"}},{"k":"2"},5,{"j":1}]},"tags":["t"]}"#
    );
    assert_eq!(translate(&maps, r#"{"a":{"l":"x"}}"#), r#"{"a":{"l":"x"}}"#);
}

#[test]
fn in_place_a_miss_is_a_match_too() {
    let options = r#"dictionary => { "1" => "one" } add_tag => ["t"]"#;
    assert_eq!(translate(options, r#"{"k":"2"}"#), r#"{"k":"2","tags":["t"]}"#);
    assert_eq!(translate(options, r#"{"j":"1"}"#), r#"{"j":"1"}"#);
}

#[test]
fn a_value_is_copied_as_it_is() {
    let (_folder, path) = file("d.json", r#"{"a":{"x":[1,"%{k}"]},"b":1.10,"a b":null,"c":"first","c":"second"}"#);
    let options = format!(r#"target => "t" dictionary_path => "{}" add_tag => ["t"]"#, path.display());
    for (k, t) in [("a", r#"{"x":[1,"%{k}"]}"#), ("b", "1.10"), ("a b", "null"), ("c", r#""second""#)] {
        assert_eq!(translate(&options, &format!(r#"{{"k":"{k}"}}"#)), format!(r#"{{"k":"{k}","t":{t},"tags":["t"]}}"#));
    }
}

#[test]
fn a_mark_at_the_start_of_a_file_is_skipped_and_names_may_have_two_endings() {
    let (_folder, path) = file("d.csv.yml", "\u{feff}a: b\n200: number\n\"200\": text\n");
    let options = format!(r#"target => "t" dictionary_path => "{}""#, path.display());
    assert_eq!(translate(&options, r#"{"k":"a"}"#), r#"{"k":"a","t":"b"}"#);
    assert_eq!(translate(&options, r#"{"k":200}"#), r#"{"k":200,"t":"text"}"#);
}

/// What a filter with a file of two versions finds for `a` and `b`.
fn after_a_new_version(behaviour: &str, first: &str, second: &[u8]) -> String {
    let (_folder, path) = file("d.yml", first);
    let config = format!(
        r#"filter {{ translate {{ source => "k" target => "t" fallback => "none" refresh_interval => 1
            refresh_behaviour => "{behaviour}" dictionary_path => "{}" }} }}"#,
        path.display()
    );
    let reloaded = |compiled: &crate::pipeline::Compiled| {
        for slot in &compiled.plan.filters {
            // A second filter on the same file looks at it, as the thread that reads files does.
            slot.filter.register().unwrap();
        }
    };
    let first = compiled(&config).unwrap();
    reloaded(&first);
    std::fs::write(&path, second).unwrap();
    reloaded(&compiled(&config).unwrap());
    let events = ["a", "b"].map(|k| event(&format!(r#"{{"k":"{k}"}}"#))).to_vec();
    let found: Vec<String> = run_filters(&first, events).iter().map(json).collect();
    found.iter().map(|json| json.split("\"t\":").nth(1).unwrap().trim_end_matches('}')).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_new_version_is_merged_or_replaces_the_old_one() {
    assert_eq!(after_a_new_version("merge", "a: 1\n", b"b: 22\n"), "1 22");
    assert_eq!(after_a_new_version("replace", "a: 1\n", b"b: 22\n"), r#""none" 22"#);
}

#[test]
fn reload_of_a_broken_file_keeps_the_dictionary() {
    for behaviour in ["merge", "replace"] {
        for broken in [&b"a: [1,\n"[..], b"\xff\xff", b"- list\n"] {
            assert_eq!(after_a_new_version(behaviour, "a: 1\n", broken), r#"1 "none""#);
        }
    }
}

#[test]
fn big_dictionary_is_loaded_once_for_all_filters() {
    let (_folder, path) = file("d.yml", "a: 1\n");
    let one = format!(r#"translate {{ source => "k" dictionary_path => "{}" }}"#, path.display());
    let compiled = compiled(&format!("filter {{ {one} {one} }}")).unwrap();
    compiled.plan.filters.iter().for_each(|slot| slot.filter.register().unwrap());
    // The file is gone; a filter that still gets it shares what the others read.
    std::fs::remove_file(&path).unwrap();
    compiled.plan.filters.iter().for_each(|slot| slot.filter.register().unwrap());
}

#[test]
fn yaml_over_3_mb_is_read() {
    let content: String = (0..200_000).map(|n| format!("\"key {n}\": \"value {n}\"\n")).collect();
    let (_folder, path) = file("d.yml", &content);
    let options = format!(r#"target => "t" dictionary_path => "{}""#, path.display());
    assert_eq!(translate(&options, r#"{"k":"key 199999"}"#), r#"{"k":"key 199999","t":"value 199999"}"#);
    let limited =
        format!(r#"filter {{ translate {{ source => "k" {options} yaml_dictionary_code_point_limit => 1000 }} }}"#);
    let limited = compiled(&limited).unwrap();
    let refused = limited.plan.filters[0].filter.register().unwrap_err().to_string();
    assert!(refused.contains("code_point_limit"), "{refused}");
}

#[test]
fn options_that_cannot_be_together() {
    let (_folder, csv) = file("d.csv", "a,b\n");
    let (_other, text) = file("d.txt", "a,b\n");
    let path = |path: &PathBuf| format!(r#"source => "k" dictionary_path => "{}""#, path.display());
    for (options, word) in [
        (r#"dictionary => { "a" => "b" }"#.to_owned(), "`source`"),
        (r#"source => "k" field => "k""#.to_owned(), "`source`"),
        (r#"source => "k" target => "t" destination => "t""#.to_owned(), "`target`"),
        (r#"source => "k" override => false"#.to_owned(), "override"),
        (format!(r#"{} dictionary => {{ "a" => "b" }}"#, path(&csv)), "mutually exclusive"),
        (format!("{} yaml_dictionary_code_point_limit => 5", path(&csv)), "YAML"),
        (format!("{} yaml_dictionary_code_point_limit => 0", path(&csv)), "positive"),
        (path(&text), "non valid format"),
    ] {
        assert!(errors(&options).contains(word), "{options}: {}", errors(&options));
    }
    assert_eq!(errors(r#"source => "k" target => "t" override => false"#), "");
}
