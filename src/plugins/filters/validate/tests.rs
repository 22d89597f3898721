//! Rules, casts and results, as a configuration has them.

use crate::dead_letter::{Settings, Writer};
use crate::plugins::testing::{compiled, compiled_with, event, json, run_filters};
use crate::plugins::{DeadLetterQueue, Stop};

/// What rules make of a document: the fields but `message` and tags, and the codes of what is wrong.
fn judged(options: &str, document: &str) -> (String, String) {
    let config = format!("filter {{ validate {{ mode => all {options} }} }}");
    let compiled = compiled(&config).unwrap_or_else(|errors| panic!("{errors}"));
    let given = serde_json::json!({ "message": document }).to_string();
    let mut out = run_filters(&compiled, vec![event(&given)]).remove(0);
    out.fields_mut().remove("message");
    out.fields_mut().remove("tags");
    let result = out.metadata().get("validate").unwrap().as_map().unwrap().clone();
    let errors = result.get("errors").and_then(|errors| errors.as_array()).unwrap_or_default().iter();
    let codes: Vec<_> = errors.map(|e| e.as_map().unwrap().get("code").unwrap().as_str().unwrap().to_owned()).collect();
    (json(&out), codes.join(" "))
}

/// A cast of a JSON value: the value, or `no`.
fn cast(kind: &str, way: &str, value: &str) -> String {
    let rules = format!("cast => {way} rules => [ {{ \"field\" => \"v\" \"type\" => \"{kind}\" }} ]");
    let (fields, codes) = judged(&rules, &format!("{{\"v\":{value}}}"));
    let shown = fields.strip_prefix("{\"v\":").and_then(|rest| rest.strip_suffix('}')).unwrap_or(&fields).to_owned();
    if codes.is_empty() { shown } else { "no".to_owned() }
}

#[test]
fn casts() {
    for (kind, value, strict, sql) in [
        ("bigint", "12", "12", "12"),
        ("bigint", r#""+7""#, "7", "7"),
        ("bigint", r#"" -7 ""#, "no", "-7"),
        ("bigint", "12.9", "no", "12"),
        ("bigint", r#""-12.9""#, "no", "-12"),
        ("bigint", r#"".9""#, "no", "0"),
        ("bigint", r#"".""#, "no", "no"),
        ("bigint", r#""+-1""#, "no", "no"),
        ("bigint", r#""1e3""#, "no", "no"),
        ("bigint", "1e3", "no", "no"),
        ("bigint", "9007199254740993", "9007199254740993", "9007199254740993"),
        ("bigint", r#""9223372036854775808""#, "no", "no"),
        ("bigint", "1e-2000000000", "no", "0"),
        ("int", "2147483648", "no", "no"),
        ("int", "-2147483648", "-2147483648", "-2147483648"),
        ("decimal(5,2)", "99.5", "99.5", "99.50"),
        ("decimal(5,2)", "5", "5", "5.00"),
        ("decimal(5,2)", r#""007.50""#, "7.50", "7.50"),
        ("decimal(5,2)", r#""1.005""#, "no", "1.01"),
        ("decimal(5,2)", r#""-1.005""#, "no", "-1.01"),
        ("decimal(5,2)", r#""999.995""#, "no", "no"),
        ("decimal(5,2)", r#"" 1.5e2 ""#, "no", "150.00"),
        ("decimal(5,2)", r#""1e2000000000""#, "no", "no"),
        ("decimal(5,2)", r#""1e-2000000000""#, "no", "0.00"),
        ("decimal(5,2)", r#""ten""#, "no", "no"),
        ("decimal(5,2)", r#"".""#, "no", "no"),
        ("decimal(5,2)", "true", "no", "no"),
        ("double", r#""12.5""#, "12.5", "12.5"),
        ("double", r#"" 1e3 ""#, "no", "1000.0"),
        ("double", r#""NaN""#, "no", "no"),
        ("double", r#""1e999""#, "no", "no"),
        ("boolean", r#""true""#, "true", "true"),
        ("boolean", r#""Y""#, "no", "true"),
        ("boolean", "0", "no", "false"),
        ("timestamp(3)", r#""2026-07-22 13:00:00""#, r#""2026-07-22 13:00:00""#, r#""2026-07-22 13:00:00""#),
        ("timestamp(0)", r#""2026-07-22T13:00:00.999""#, r#""2026-07-22 13:00:00""#, r#""2026-07-22 13:00:00""#),
        ("timestamp(3)", r#""2024-02-29""#, "no", r#""2024-02-29 00:00:00""#),
        ("timestamp(3)", r#""2023-02-29 00:00:00""#, "no", "no"),
        ("timestamp(3)", r#""2026-07-22 23:59:60""#, "no", "no"),
        ("timestamp(3)", r#""2026-07-22 13:00:00.""#, "no", "no"),
        ("timestamp(3)", r#""2026-07-22 13:00""#, "no", "no"),
        (
            "timestamp_ltz(3)",
            r#""2026-07-22T13:00:00.12345+02:00""#,
            r#""2026-07-22T11:00:00.123Z""#,
            r#""2026-07-22T11:00:00.123Z""#,
        ),
        ("timestamp_ltz(3)", r#""2026-07-22T13:00:00""#, "no", "no"),
        ("date", r#""2026-02-28""#, r#""2026-02-28""#, r#""2026-02-28""#),
        ("date", r#""2026-02-30""#, "no", "no"),
        ("string", "1.50", r#""1.50""#, r#""1.50""#),
        ("string", "true", r#""true""#, r#""true""#),
        ("string", "[1]", "no", "[1]"),
        (
            "uuid",
            r#""67e55044-10b1-426f-9247-bb680e5fe0c8""#,
            r#""67e55044-10b1-426f-9247-bb680e5fe0c8""#,
            r#""67e55044-10b1-426f-9247-bb680e5fe0c8""#,
        ),
        ("uuid", r#""67e5504410b1426f9247bb680e5fe0c8""#, "no", "no"),
        ("ip", r#""::1""#, r#""::1""#, r#""::1""#),
        ("ip", r#""256.0.0.1""#, "no", "no"),
        ("object", "{}", "{}", "{}"),
        ("array", "{}", "no", "no"),
    ] {
        assert_eq!(cast(kind, "strict", value), strict, "strict {kind} {value}");
        assert_eq!(cast(kind, "sql", value), sql, "sql {kind} {value}");
    }
}

#[test]
fn milliseconds_are_instants() {
    let rules = r#"rules => [ { "field" => "t" "type" => "timestamp_ltz(3)" "format" => "epoch_ms" } ]"#;
    assert_eq!(judged(rules, r#"{"t":1784696400123}"#).0, r#"{"t":"2026-07-22T05:00:00.123Z"}"#);
}

#[test]
fn checks_are_asked_in_their_order() {
    let rules =
        r#"rules => [ { "field" => "n" "type" => "int" "max" => 5 "min" => 9 "exclusive_max" => 7 "enum" => [1] } ]"#;
    assert_eq!(judged(rules, r#"{"n":"7"}"#).1, "N_TOO_SMALL N_TOO_LARGE N_TOO_LARGE N_NOT_ALLOWED");
    let times = r#"rules => [ { "field" => "t" "type" => "timestamp(3)" "min" => "2026-01-01" "exclusive_max" => "2027-01-01 00:00:00" } ]"#;
    assert_eq!(judged(times, r#"{"t":"2026-01-01 00:00:00"}"#).1, "");
    assert_eq!(judged(times, r#"{"t":"2027-01-01 00:00:00"}"#).1, "T_TOO_LARGE");
    let lists = r#"rules => [ { "field" => "l" "min_length" => 2 } { "field" => "s" "enum" => ["Ab"] "ignore_case" => true } ]"#;
    assert_eq!(judged(&lists.replace("} {", "}, {"), r#"{"l":[1],"s":"aB"}"#).1, "L_TOO_SHORT");
    let number = r#"rules => [ { "field" => "n" "min" => 0.1 } ]"#;
    assert_eq!(judged(number, r#"{"n":0.1}"#).1, "");
    assert_eq!(judged(number, r#"{"n":"x"}"#).1, "N_TOO_SMALL");
}

#[test]
fn a_text_that_is_too_long_for_a_pattern_does_not_match() {
    let rules = r#"rules => [ { "field" => "s" "pattern" => "a" } ]"#;
    let document = |length: usize| format!("{{\"s\":\"{}\"}}", "a".repeat(length));
    assert_eq!(judged(rules, &document(65_536)).1, "");
    assert_eq!(judged(rules, &document(65_537)).1, "S_BAD_FORMAT");
}

#[test]
fn a_signature_is_checked() {
    let rules = |encoding: &str| {
        format!(
            r#"rules => [ {{ "field" => "sig" "hmac" => {{ "algorithm" => "sha256" "secret" => "key" "over" => "body" "encoding" => "{encoding}" }} }} ]"#
        )
    };
    let body = "The quick brown fox jumps over the lazy dog";
    let right = "F7BC83F430538424B13298E6AA6FB143EF4D59A14946175997479DBC2D1A3CD8";
    let document = |sig: &str| format!(r#"{{"body":"{body}","sig":"{sig}"}}"#);
    assert_eq!(judged(&rules("hex"), &document(right)).1, "");
    assert_eq!(judged(&rules("hex"), &document(&right.replace('F', "E"))).1, "SIG_BAD_SIGNATURE");
    assert_eq!(judged(&rules("hex"), &document("F7")).1, "SIG_BAD_SIGNATURE");
    assert_eq!(judged(&rules("base64"), &document("97yD9DBThCSxMpjmqm+xQ+9NWaFJRhdZl0edvC0aPNg=")).1, "");
}

#[test]
fn values_go_where_they_should() {
    let rules = r#"cast => sql rules => [ { "field" => "n" "type" => "int" "to" => "[cast][n]" "keep_raw" => "[raw][n]" "clamp_max" => 10 },
        { "field" => "x" "type" => "int" "on_type_error" => "null" } ]"#;
    let (fields, codes) = judged(rules, r#"{"n":"12.9","x":"?"}"#);
    assert_eq!((fields.as_str(), codes.as_str()), (r#"{"n":"12.9","x":null,"raw":{"n":"12.9"},"cast":{"n":10}}"#, ""));
    let (fields, codes) = judged(
        r#"target => "[doc]" rules => [ { "field" => "n" "required" => true }, { "field" => "[doc][m]" "default" => 5 } ]"#,
        "{}",
    );
    assert_eq!((fields.as_str(), codes.as_str()), (r#"{"doc":{"m":5}}"#, "N_MISSING"));
}

#[test]
fn broken_text_is_an_error_or_has_no_members() {
    let rules = r#"rules => [ { "field" => "a" "required" => true } ]"#;
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(512), "]".repeat(512));
    for text in [r#"{"a":1} x"#, r#"{"a":NaN}"#, r#"{"a":1,}"#, "{", &deep] {
        assert_eq!(judged(rules, text).1, "JSON_PARSE_ERROR", "{text}");
        assert_eq!(judged(&format!("parse_error => missing {rules}"), text).1, "A_MISSING", "{text}");
    }
    assert_eq!(judged(rules, "\u{feff}{\"a\":1,\"a\":2}"), (r#"{"a":2}"#.into(), String::new()));
    assert_eq!(judged(rules, "42").1, "A_MISSING");
    assert_eq!(judged(&format!("non_object => error {rules}"), "42").1, "JSON_PARSE_ERROR");
}

#[test]
fn members_do_not_stay_on_an_event_that_fails_unless_asked() {
    let rules = r#"failure_fields => remove rules => [ { "field" => "a" "type" => "int" }, { "field" => "d" "default" => 1 } ]"#;
    assert_eq!(judged(rules, r#"{"a":"x","b":1,"tags":["t"]}"#).0, "{}");
    assert_eq!(judged(rules, r#"{"a":"1","b":1}"#).0, r#"{"a":1,"b":1,"d":1}"#);
}

#[test]
fn a_schema_is_asked_behind_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("schema.json");
    let schema = r##"{"$defs":{"id":{"type":"integer","minimum":1}},"type":"object","required":["id"],"properties":{"id":{"$ref":"#/$defs/id"},"mail":{"format":"email"}},"additionalProperties":false}"##;
    std::fs::write(&path, schema).unwrap();
    let options = format!(r#"json_schema => "{}" rules => [ {{ "field" => "id" "type" => "int" }} ]"#, path.display());
    assert_eq!(judged(&options, r#"{"id":"5","mail":"a@example.com"}"#).1, "");
    assert_eq!(judged(&options, r#"{"id":"x","mail":"a"}"#).1, "ID_INVALID SCHEMA_VIOLATION SCHEMA_VIOLATION");
    assert_eq!(judged(&options, r#"{"id":0}"#).1, "SCHEMA_VIOLATION");
    std::fs::write(&path, r#"{"type":5}"#).unwrap();
    let errors = compiled(&format!("filter {{ validate {{ {options} }} }}")).err().unwrap();
    assert!(errors.contains("is no JSON schema"), "{errors}");
}

#[test]
fn a_dead_letter_has_code_and_message_and_the_whole_event() {
    let folder = tempfile::tempdir().unwrap();
    let queue = DeadLetterQueue::new(true, Stop::new());
    queue.attach(Writer::open(Settings::new(folder.path().join("main"))).unwrap());
    let config =
        r#"filter { validate { id => "v" on_failure => dlq rules => [ { "field" => "a" "required" => true } ] } }"#;
    let compiled = compiled_with(config, queue.clone()).unwrap();
    assert!(run_filters(&compiled, vec![event(r#"{"message":"{\"b\":1}"}"#)]).is_empty());
    queue.writer().unwrap().close().unwrap();
    let mut reader = crate::dead_letter::Reader::new(folder.path().join("main"), crate::dead_letter::Start::Beginning);
    let letter = reader.next(std::time::Duration::ZERO).unwrap();
    assert_eq!(letter.reason, "A_MISSING: a field is missing");
    let letter = letter.into_event();
    let result = letter.metadata().get("validate").unwrap().as_map().unwrap();
    assert_eq!(result.get("raw").unwrap().as_str(), Some(r#"{"b":1}"#));
    assert!(compiled_with(config, DeadLetterQueue::default()).err().unwrap().contains("dead_letter_queue.enable"));
}

#[test]
fn a_list_of_many_wrong_elements_has_a_bounded_number_of_errors() {
    let rules = r#"rules => [ { "field" => "[l][*]" "type" => "int" } ]"#;
    let (_, codes) = judged(rules, &format!("{{\"l\":[\"x\"{}]}}", ",\"x\"".repeat(5000)));
    assert_eq!(codes.split(' ').count(), 1000);
}

#[test]
fn every_mistake_of_a_rule_is_told() {
    for (rule, part) in [
        (r#""type" => "int""#, "`field`"),
        (r#""field" => "a[""#, "a["),
        (r#""field" => "a" "requierd" => true"#, "did you mean `required`"),
        (r#""field" => "a" "required" => "yes""#, "true or false"),
        (r#""field" => "a" "type" => "decimal(2,3)""#, "decimal(2,3)"),
        (r#""field" => "a" "type" => "int" "default" => "x""#, "no INT"),
        (r#""field" => "a" "type" => "int" "on_type_error" => "default""#, "no `default`"),
        (r#""field" => "a" "clamp_min" => 0"#, "`type`"),
        (r#""field" => "a" "min" => "x""#, "`min`"),
        (r#""field" => "a" "pattern" => "(?<=a)b""#, "backtracking"),
        (r#""field" => "a" "pattern" => "(""#, "`pattern`"),
        (r#""field" => "a" "compare" => "[b]""#, "`compare`"),
        (r#""field" => "a" "when" => "[b] ===""#, "`when`"),
        (r#""field" => "a" "when" => "[b] { } if [c]""#, "`when`"),
        (r#""field" => "a" "messages" => { "mising" => "x" }"#, "did you mean `missing`"),
        (r#""field" => "1" "required" => true"#, "`codes`"),
        (r#""field" => "a" "from" => ["[b][*]"]"#, "`from`"),
        (r#""field" => "a" "hmac" => { "secret" => "x" }"#, "`over`"),
    ] {
        let errors = compiled(&format!("filter {{ validate {{ rules => [ {{ {rule} }} ] }} }}")).err();
        let errors = errors.unwrap_or_else(|| panic!("{rule} is accepted"));
        assert!(errors.contains(part), "{rule}: {errors}");
    }
}

#[test]
fn bytes_that_were_no_text_are_told_and_kept() {
    let judged = |message: &str| {
        let compiled = compiled("filter { validate { parse_error => missing on_failure => tag } }").unwrap();
        let mut given = event(&serde_json::json!({ "message": message }).to_string());
        let mut kafka = crate::event::Map::new();
        kafka.insert("value_base64", "eyJhIjoi6CJ9");
        given.metadata_mut().insert("kafka", kafka);
        let out = run_filters(&compiled, vec![given]).remove(0);
        let result = out.metadata().get("validate").unwrap().as_map().unwrap().clone();
        let text = |name: &str| result.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        ["error_code", "error_message", "reason", "raw", "raw_encoding"].map(text)
    };
    let told = ["ENCODING_ERROR", "message is not UTF-8", "INVALID_JSON", "eyJhIjoi6CJ9", "base64"];
    assert_eq!(judged(r#"{\"a\":\"\xE8\"}"#), told);
    // Somebody has repaired it.
    assert_eq!(judged(r#"{"a":"è"}"#), ["", "", "", r#"{"a":"è"}"#, ""]);
}
