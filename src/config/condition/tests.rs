//! Conditions as a user writes them, asked of events as they arrive.

use super::Condition;
use crate::config::ast::Node;
use crate::config::{Language, Loaded, Origin, Variables, load, parse};
use crate::event::json::{Numbers, Reader};
use crate::event::{Event, FieldRef, Text, Value};

fn read(condition: &str) -> Loaded {
    parse(&format!("filter {{ if {condition} {{ }} }}"))
}

fn only_condition(loaded: Loaded) -> Condition {
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    match loaded.config.filters.into_iter().next() {
        Some(Node::Branch(mut branch)) => branch.arms.remove(0).condition,
        other => panic!("{other:?}"),
    }
}

fn event(text: &str) -> Event {
    match Reader::new(&Text::from(text), Numbers::Double).next_value() {
        Ok(Some(Value::Map(map))) => Event::from_map(map),
        other => panic!("{text}: {other:?}"),
    }
}

/// One letter per event: `1` true, `0` false, `E` an error of the event.
fn answers(condition: &str, events: &[&str]) -> String {
    let condition = only_condition(read(condition));
    let answer = |e: &&str| match condition.evaluate(&event(e)) {
        Ok(true) => '1',
        Ok(false) => '0',
        Err(_) => 'E',
    };
    events.iter().map(answer).collect()
}

/// Code and message of the first diagnostic.
fn complaint(condition: &str) -> (&'static str, String) {
    let loaded = read(condition);
    let first = loaded.diagnostics.0.first().unwrap_or_else(|| panic!("{condition}: nothing found"));
    (first.code, format!("{} / {}", first.message, first.help.as_deref().unwrap_or_default()))
}

#[test]
fn what_counts_as_true() {
    let events = [
        "{}",
        r#"{"v":null}"#,
        r#"{"v":false}"#,
        r#"{"v":""}"#,
        r#"{"v":"false"}"#,
        r#"{"v":"False"}"#,
        r#"{"v":" "}"#,
        r#"{"v":0}"#,
        r#"{"v":0.0}"#,
        r#"{"v":[]}"#,
        r#"{"v":{}}"#,
        r#"{"v":"0"}"#,
    ];
    assert_eq!(answers("[v]", &events), "000001111111");
    assert_eq!(answers("![v]", &events), "111110000000");
    assert_eq!(answers("! ( [v] )", &events), "111110000000");
    assert_eq!(answers("[@metadata]", &["{}"]), "1");
}

#[test]
fn equality_never_converts() {
    let events = ["{}", r#"{"v":1}"#, r#"{"v":1.0}"#, r#"{"v":"1"}"#, r#"{"v":true}"#, r#"{"v":null}"#, r#"{"v":[1]}"#];
    for (condition, expected) in [
        ("[v] == 1", "0100000"),
        ("[v] != 1", "1011111"),
        ("1 == [v]", "0100000"),
        ("[v] == 1.0", "0010000"),
        ("[v] == \"1\"", "0001000"),
        ("[v] == \"true\"", "0000000"),
        ("[v] == [nonexistent]", "1000000"),
        ("[v] == [\"a\", 1]", "0000000"),
        ("[v] == [1, \"a\"]", "0100000"),
    ] {
        assert_eq!(answers(condition, &events), expected, "{condition}");
    }
    let events = [
        r#"{"a":1,"b":1}"#,
        r#"{"a":1,"b":1.0}"#,
        r#"{"a":[1,"x"],"b":[1,"x"]}"#,
        r#"{"a":[1],"b":[2]}"#,
        "{}",
        r#"{"a":null,"b":null}"#,
        r#"{"a":null}"#,
        r#"{"a":{"x":1},"b":{"x":1}}"#,
    ];
    assert_eq!(answers("[a] == [b]", &events), "10101101");
}

#[test]
fn ordering_by_the_left_operand() {
    let events = [
        r#"{"v":1.5}"#,
        r#"{"v":2}"#,
        r#"{"v":"2"}"#,
        "{}",
        r#"{"v":[2]}"#,
        r#"{"v":{"a":1}}"#,
        r#"{"v":null}"#,
        r#"{"v":true}"#,
        r#"{"v":"2020-01-01"}"#,
        r#"{"v":99999999999999999999}"#,
    ];
    for (condition, expected) in [
        ("[v] > 1", "11EEEE00E1"),
        ("[v] >= 2.0", "01EEEE11E1"),
        ("2 > [v]", "10EEEE00E0"),
        ("[v] <= 1.5", "10EEEE11E0"),
        ("[v] > \"10\"", "EE1EEE001E"),
        ("[v] and [v] > 1", "11E0EE00E1"),
    ] {
        assert_eq!(answers(condition, &events), expected, "{condition}");
    }
    let events =
        [r#"{"a":1,"b":2}"#, r#"{"a":1}"#, r#"{"a":1,"b":[1]}"#, r#"{"a":null}"#, r#"{"b":1}"#, r#"{"a":"x","b":"y"}"#];
    assert_eq!(answers("[a] < [b]", &events), "1EE0E1");
}

#[test]
fn ordering_timestamps_and_odd_floats() {
    let mut odd = event(r#"{"@timestamp":"2020-01-01T00:00:00Z","n":0}"#);
    odd.set(&FieldRef::top("nan"), f64::NAN).unwrap();
    for (condition, expected) in [
        ("[@timestamp] <= [@timestamp]", true),
        ("[@timestamp] < \"2021\"", false),
        ("[@timestamp] >= \"2021\"", true),
        ("[nan] > 1", true),
        ("[nan] < [n]", false),
        ("9007199254740993 > [n]", true),
    ] {
        assert_eq!(only_condition(read(condition)).evaluate(&odd), Ok(expected), "{condition}");
    }
}

#[test]
fn an_ordering_error_names_field_and_types() {
    for (condition, event_text, expected) in [
        ("[v] > 1", r#"{"v":"x"}"#, "[v] (string) cannot be compared by `>` with the integer behind `>`"),
        ("[a][b] > 1", "{}", "[a][b] is missing and cannot be compared with the integer behind `>`"),
        ("[v] > [w]", r#"{"v":1,"w":"x"}"#, "[v] (integer) cannot be compared by `>` with [w] (string)"),
    ] {
        let error = only_condition(read(condition)).evaluate(&event(event_text)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn regexps_look_into_texts_only() {
    let events = [r#"{"v":"a5"}"#, r#"{"v":5}"#, r#"{"v":["5"]}"#, "{}", r#"{"v":null}"#];
    assert_eq!(answers("[v] =~ /5/", &events), "10000");
    assert_eq!(answers("[v] !~ /5/", &events), "01111");
    assert_eq!(answers("[v] =~ \"^a\\d$\"", &events), "10000");
    assert_eq!(answers("[v] =~ /a\\/b/", &[r#"{"v":"a/b"}"#]), "1");
}

#[test]
fn membership() {
    let events = [
        r#"{"v":"x"}"#,
        r#"{"v":5}"#,
        r#"{"v":5.0}"#,
        r#"{"v":true}"#,
        r#"{"v":null}"#,
        "{}",
        r#"{"v":["x"]}"#,
        r#"{"v":""}"#,
        r#"{"v":"axb"}"#,
        r#"{"v":[5,"axb"]}"#,
        r#"{"v":{"x":1}}"#,
    ];
    for (condition, expected) in [
        ("[v] in [\"x\", 5]", "11000000000"),
        ("[v] not in [\"x\", 5]", "00111111111"),
        ("[v] in [\"5\", \"true\"]", "01010000000"),
        ("[v] in [\"\", \"y\"]", "00001001000"),
        ("[v] in []", "00000000000"),
        ("[v] in \"axb5\"", "10000001100"),
        ("[v] in 5", "00000001000"),
        ("\"x\" in [v]", "10000010100"),
        ("5 in [v]", "00000000010"),
        ("5.0 in [v]", "00000000000"),
        ("/x/ in [v]", "10000010100"),
        ("[v] in [nonexistent]", "00000000000"),
        ("[v] in [v]", "11111001100"),
    ] {
        assert_eq!(answers(condition, &events), expected, "{condition}");
    }
    let many = (0..20).map(|n| format!("\"k{n}\"")).collect::<Vec<_>>().join(", ");
    assert_eq!(answers(&format!("[v] in [{many}]"), &[r#"{"v":"k19"}"#, r#"{"v":"k20"}"#]), "10");
    let events = [r#"{"a":"x","b":["x"]}"#, r#"{"a":null,"b":null}"#, r#"{"b":["x"]}"#, r#"{"a":1,"b":1}"#];
    assert_eq!(answers("[a] in [b]", &events), "1101");
}

#[test]
fn one_element_is_a_field() {
    assert_eq!(answers("[v] in [\"x\"]", &[r#"{"v":"x"}"#, r#"{"v":"k","\"x\"":["k"]}"#]), "01");
    let (code, text) = complaint("[v] in [\"x\"]");
    assert_eq!(code, "one-element-list");
    assert!(text.contains("write `[v] == \"x\"`"), "{text}");
    assert!(complaint("[v] not in [5]").1.contains("write `[v] != 5`"));
}

#[test]
fn and_binds_tighter_except_where_logstash_forgets() {
    let (a, b, c, d) = (r#"{"a":1}"#, r#"{"b":1,"c":1}"#, r#"{"d":1}"#, r#"{"a":1,"d":1}"#);
    assert_eq!(answers("[a] or [b] and [c]", &[a, b, c]), "110");
    assert_eq!(answers("[a] and [b] or [c]", &[a, b, d]), "010");
    assert_eq!(answers("([a] or [b]) and [c]", &[a, b]), "01");
    // a and ((b and c) or d)
    assert_eq!(answers("[a] and [b] and [c] or [d]", &[a, c, d]), "001");
    let (code, text) = complaint("[a] and [b] and [c] or [d]");
    assert_eq!(code, "and-or-grouping");
    assert!(text.contains("`[a] and (([b] and [c]) or [d])`"), "{text}");
    assert!(text.contains("`([a] and [b] and [c]) or [d]`"), "{text}");
    for fine in ["[a] and [b] or [c] and [d] or [e]", "[d] or [a] and [b] and [c]", "([a] and [b] and [c]) or [d]"] {
        assert_eq!(read(fine).diagnostics.0.len(), 0, "{fine}");
    }
}

#[test]
fn xor_and_nand_stand_alone() {
    let events = ["{}", r#"{"a":1}"#, r#"{"a":1,"b":1}"#, r#"{"c":1}"#];
    assert_eq!(answers("[a] xor [b]", &events), "0100");
    assert_eq!(answers("[a] nand [b]", &events), "1101");
    assert_eq!(answers("([a] xor [b]) or [c]", &events), "0101");
    for mixed in ["[a] xor [b] and [c]", "[a] xor [b] xor [c]", "[c] or [a] nand [b]"] {
        assert_eq!(complaint(mixed).0, "bad-condition", "{mixed}");
    }
}

#[test]
fn literals_are_no_operands() {
    let (code, text) = complaint("\"a\" or \"b\" in [tags]");
    assert_eq!(code, "literal-operand");
    assert!(text.contains("write `\"a\" in [tags] or \"b\" in [tags]`"), "{text}");
    assert!(complaint("[v] == \"a\" or \"b\"").1.contains("write `[v] == \"a\" or [v] == \"b\"`"));
    assert_eq!(complaint("[a] and 1").0, "literal-operand");
    assert_eq!(complaint("[a] and (1)").0, "literal-operand");
}

#[test]
fn constants_are_folded_and_warned_about() {
    for (condition, answer) in [
        ("\"x\"", true),
        ("0", true),
        ("/x/", true),
        ("\"\"", false),
        ("\"false\"", false),
        ("[\"a\", \"b\"]", true),
        ("\"a\" in [\"a\", \"b\"]", false),
        ("\"a\" in \"abc\"", false),
        ("\"a\" in \"a\"", true),
        ("\"a\" == \"a\"", true),
        ("1 == 1.0", false),
        ("1 < 2.5", true),
        ("\"abc\" =~ /b/", true),
    ] {
        let loaded = read(condition);
        assert_eq!(loaded.diagnostics.0.len(), 1, "{condition}: {:?}", loaded.diagnostics);
        assert_eq!(only_condition(loaded).as_constant(), Some(answer), "{condition}");
    }
}

#[test]
fn what_fails_at_start_is_found_here() {
    for (condition, code, words) in [
        ("[a] == []", "bad-condition", "empty list"),
        ("[a] != /re/", "bad-condition", "`!= /re/` should be `!~ /re/`"),
        ("/re/ == [a]", "bad-condition", "regexp"),
        ("1 < \"a\"", "bad-condition", "ordered"),
        ("5 =~ /5/", "bad-condition", "a number"),
        ("[\"a\", \"b\"] in [c]", "bad-condition", "list"),
        ("[a] in [[\"x\", \"y\"], 1]", "bad-condition", "strings and numbers"),
        ("[v] =~ /[a/", "bad-regexp", "[a"),
        ("[v] == 08", "syntax", "octal"),
    ] {
        let (found, text) = complaint(condition);
        assert_eq!(found, code, "{condition}");
        assert!(text.contains(words), "{condition}: {text}");
    }
}

#[test]
fn variables_only_as_whole_literals() {
    let text = r#"filter { if [v] == "${A}" or [v] in ["${A}", "x${A}"] or [v] =~ "${A}" { } }"#;
    let variables = Variables::from_pairs([("A", "alpha")]);
    let origin = Origin::String { name: "config string".into(), text: text.into() };
    let condition = only_condition(load(&origin, &Language::default(), &variables));
    assert_eq!(condition.evaluate(&event(r#"{"v":"alpha"}"#)), Ok(true));
    assert_eq!(condition.evaluate(&event(r#"{"v":"xalpha"}"#)), Ok(false));
    assert!(condition.source().contains("\"${A}\""));
}

#[test]
fn a_condition_tells_what_it_is() {
    let condition = only_condition(read("( [a][b] == \"x\"   # first\n and ![b] ) or\n [c] not  in [1,2]"));
    assert_eq!(condition.source(), "([a][b] == \"x\" and ![b]) or [c] not in [1, 2]");
    assert_eq!(condition.fields().map(|f| f.text().to_string()).collect::<Vec<_>>(), ["[a][b]", "[b]", "[c]"]);
}

#[test]
fn endless_conditions_are_refused_or_flat() {
    let long = vec!["[a]"; 50_000].join(" and ");
    assert_eq!(answers(&long, &[r#"{"a":1}"#, "{}"]), "10");
    let alternating = vec!["[a] and [b] and [c]"; 10_000].join(" or ");
    assert_eq!(read(&alternating).diagnostics.0.last().map(|d| d.code), Some("bad-condition"));
    assert!(read(&"(".repeat(100_000)).diagnostics.has_errors());
    assert!(read(&"[".repeat(100_000)).diagnostics.has_errors());
}
