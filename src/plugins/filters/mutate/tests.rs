//! What a user sees of whole `mutate` blocks.

use crate::plugins::testing::{compiled, event, filtered, json, run_filters};

fn mutated(options: &str, event: &str) -> String {
    filtered(&format!("filter {{ mutate {{ {options} }} }}"), &[event]).remove(0)
}

#[test]
fn operations_run_in_a_fixed_order() {
    let options =
        r#"uppercase => ["b"] gsub => ["b", "x", "y"] replace => { "b" => "x-%{b}" } rename => { "a" => "b" }"#;
    assert_eq!(mutated(options, r#"{"a":"v"}"#), r#"{"b":"Y-V"}"#);
    let options = r#"copy => { "a" => "c" } uppercase => ["a"] split => { "a" => "," }"#;
    assert_eq!(mutated(options, r#"{"a":"x,y"}"#), r#"{"a":["X","Y"],"c":["X","Y"]}"#);
}

#[test]
fn a_failure_ends_the_block_for_its_event() {
    let options = r#"rename => { "a" => "b" } convert => { "c" => "integer" "d" => "integer" } uppercase => ["e"] add_tag => ["done"]"#;
    assert_eq!(
        mutated(options, r#"{"a":1,"c":"x","d":"5","e":"low"}"#),
        r#"{"c":"x","d":"5","e":"low","b":1,"tags":["_mutate_error"]}"#
    );
    let tagged = mutated(r#"strip => "a" tag_on_failure => "t""#, r#"{"a":["x ",1]}"#);
    assert_eq!(tagged, r#"{"a":["x ",1],"tags":["t"]}"#);
}

#[test]
fn names_of_rename_may_come_from_the_event() {
    let renamed = mutated(
        r#"rename => { "nope" => "x" "n" => "[p][n]" "%{k}" => "[p][%{k}]" }"#,
        r#"{"n":null,"k":"kk","kk":1}"#,
    );
    assert_eq!(renamed, r#"{"k":"kk","p":{"kk":1,"n":null}}"#);
    assert_eq!(mutated(r#"rename => { "host" => "[host][name]" }"#, r#"{"host":"w"}"#), r#"{"host":{"name":"w"}}"#);
    let illegal = mutated(r#"rename => { "a" => "%{n}" }"#, r#"{"a":1,"n":"x[y"}"#);
    assert_eq!(illegal, r#"{"n":"x[y","tags":["_mutate_error"]}"#);
    assert_eq!(mutated(r#"rename => { "a" => "[x][%{a}]" }"#, r#"{"a":"b"}"#), r#"{"x":{"b":"b"}}"#);
    let twice = mutated(r#"rename => { "a" => "b" } rename => { "a" => "c" }"#, r#"{"a":1}"#);
    assert_eq!(twice, r#"{"a":1,"tags":["_mutate_error"]}"#);
}

#[test]
fn fields_with_rules_keep_them() {
    let event = r#"{"@timestamp":"2024-02-03T10:11:12.500Z","tags":["a"],"s":"t"}"#;
    for options in [r#"convert => { "@timestamp" => "string" }"#, r#"copy => { "[l]" => "tags" }"#] {
        let event = event.replace("\"s\"", "\"l\":[1],\"s\"");
        let out = mutated(options, &event);
        assert!(out.contains("_mutate_error"), "{options}: {out}");
    }
    assert_eq!(mutated(r#"replace => { "tags" => "%{s}" }"#, event), r#"{"tags":"t","s":"t"}"#);
}

#[test]
fn merge_reads_the_destination_once() {
    for (event, expected) in [
        (r#"{"a":"x","b":"y","c":"z"}"#, r#"{"a":["x","z"],"b":"y","c":"z"}"#),
        (r#"{"a":["x"],"b":"y","c":["z",1]}"#, r#"{"a":["x","y","z",1],"b":"y","c":["z",1]}"#),
        (r#"{"a":{"k":1,"l":1},"b":{"k":2},"c":"z"}"#, r#"{"a":{"k":2,"l":1},"b":{"k":2},"c":"z"}"#),
        (r#"{"b":{"k":2}}"#, r#"{"b":{"k":2},"a":[]}"#),
    ] {
        assert_eq!(mutated(r#"merge => { "a" => ["b", "c"] }"#, event), expected);
    }
}

#[test]
fn lists_are_joined_with_the_text_of_their_elements() {
    let event = r#"{"a":[1,null,"x",[2,{"k":1}],true,1.5],"s":"t"}"#;
    assert_eq!(
        mutated(r#"join => { "a" => "," "s" => "," }"#, event),
        r#"{"a":"1,,x,2,{\"k\" => 1},true,1.5","s":"t"}"#
    );
}

#[test]
fn patterns_and_replacements_may_come_from_the_event() {
    let event = r#"{"m":"a.b","p":".","r":"\\0\\0"}"#;
    assert_eq!(mutated(r#"gsub => ["m", "%{p}", "<%{r}>"]"#, event), r#"{"m":"<aa><..><bb>","p":".","r":"\\0\\0"}"#);
    let bad = mutated(r#"gsub => ["m", "%{p}", ""]"#, r#"{"m":"a","p":"("}"#);
    assert_eq!(bad, r#"{"m":"a","p":"(","tags":["_mutate_error"]}"#);
}

#[test]
fn mistakes_are_found_before_the_start() {
    for (options, expected) in [
        (r#"convert => { "v" => "long" }"#, "Invalid conversion type"),
        (r#"gsub => ["a", "b"]"#, "gsub"),
        (r#"gsub => ["a", "(", "b"]"#, "gsub"),
        (r#"rename => { "a[b" => "c" }"#, "Invalid FieldReference"),
        (r#"remove => ["a"]"#, "no option `remove`"),
    ] {
        let errors = compiled(&format!("filter {{ mutate {{ {options} }} }}")).err().unwrap();
        assert!(errors.contains(expected), "{options}: {errors}");
    }
}

#[test]
fn nothing_to_do_is_a_match() {
    let compiled = compiled(r#"filter { mutate { rename => { "x" => "y" } add_tag => ["ok"] } }"#).unwrap();
    let out = run_filters(&compiled, vec![event("{}")]);
    assert_eq!(json(&out[0]), r#"{"tags":["ok"]}"#);
}
