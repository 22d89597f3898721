//! `spillway test`: what it writes and rewrites, and what else it can run.

mod program;

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, SystemTime};

use program::Place;

const COUNTS: &str = r#"
input { stdin { id => "in" codec => json type => "t" add_field => { "via" => "stdin" } } }
filter {
  if [level] == "error" {
    mutate { add_tag => ["bad"] }
  } else {
    mutate { add_tag => ["fine"] }
  }
}
output { if "bad" in [tags] { null { id => "alarm" } } null { id => "all" } }
"#;

fn place(cases: &str) -> Place {
    Place::new().file("w.conf", COUNTS).file("w_test.yml", cases)
}

const OK_AND_KO: &str = "- { case: ok, config: 'filter { }', events: [ { a: 1 } ], expect: [ { a: 1 } ] }\n\
                         - { case: ko, why: '<&>', config: 'filter { }', events: [ { a: \"1\" } ], expect: [ { a: 2 } ] }   # why\n";

#[test]
fn branches_that_no_case_reaches_are_named() {
    let place =
        place("- { case: c, file: w.conf, events: [ { level: info } ], expect: [ { level: info, tags: [fine] } ] }\n");
    let said = place.run("test --coverage");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let report = said.out.split_once(" ms\n").unwrap().1;
    assert_eq!(
        report,
        "\
coverage of w.conf
  w.conf:4 if [level] == \"error\": yes 0, no 1  <- never true
  w.conf:5 mutate: 0 events  <- never ran
  w.conf:10 if \"bad\" in [tags]: yes 0, no 1  <- never true
coverage: 3 of 6 branches, plugins and patterns, 50 %
"
    );
    let said = place.run("test --coverage --min-coverage 51");
    said.fails_with(1, &["coverage is 50.0 %, and should be at least 51 %"]);
    assert_eq!(place.run("test --coverage=out/l.info --min-coverage 50").code, 0);
    assert!(std::fs::read_to_string(place.join("out/l.info")).unwrap().contains("SF:w.conf\nBRDA:4,6,0,0\n"));
}

#[test]
fn cases_can_run_beside_each_other() {
    let cases: String = (0..40)
        .map(|n| {
            format!(
                "- {{ case: c{n}, config: 'filter {{ }}', events: [ {{ n: {n} }} ], expect: [ {{ n: {} }} ] }}\n",
                n.max(3)
            )
        })
        .collect();
    let place = place(&cases);
    let said = place.run("test --jobs 4 --coverage");
    assert!(said.out.starts_with("FAIL c0  w_test.yml:1\n"), "{}", said.out);
    let names: Vec<&str> = said.out.lines().filter_map(|line| line.strip_prefix("FAIL ")?.split(' ').next()).collect();
    assert_eq!(names, ["c0", "c1", "c2"]);
    assert!(said.out.contains("37 passed, 3 failed, 0 skipped"));
    assert!(place.run("test --jobs 4 --fail-fast").out.contains("0 passed, 1 failed, 0 skipped"));
}

#[test]
fn junit_is_written_whatever_the_result() {
    let place = place(OK_AND_KO);
    assert_eq!(place.run("test w_test.yml --junit out/deep/r.xml").code, 1);
    let xml = std::fs::read_to_string(place.join("out/deep/r.xml")).unwrap();
    for part in [
        "<testsuite name=\"w_test.yml\" tests=\"2\" failures=\"1\"",
        "<testcase name=\"ok\" classname=\"w_test.yml\"",
        "why: &lt;&amp;&gt;",
        "- [a]  expected 2 (integer)    got &quot;1&quot; (string)",
    ] {
        assert!(xml.contains(part), "{part}: {xml}");
    }
}

#[test]
fn the_result_is_one_json_object_for_scripts() {
    let said = place(OK_AND_KO).run("test --json");
    let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, &json["v"], &json["passed"], &json["failed"]), (1, &1.into(), &1.into(), &1.into()));
    assert_eq!((&json["cases"][1]["case"], &json["cases"][1]["verdict"]), (&"ko".into(), &"failed".into()));
    assert!(json["cases"][1]["report"].as_str().unwrap().contains("expected 2 (integer)"));
}

#[test]
fn what_failed_is_rewritten_to_what_comes_out() {
    let place = place(OK_AND_KO);
    place.run("test --update").fails_with(2, &["--yes"]);
    let said = place.run("test --update --yes");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains("    2 - - { case: ko"), "{}", said.out);
    assert!(said.out.ends_with("1 of 1 failed cases rewritten, 0 still fail\n"), "{}", said.out);
    let now = std::fs::read_to_string(place.join("w_test.yml")).unwrap();
    assert_eq!(now, OK_AND_KO.replace("a: 2 } ] }   # why", "a: \"1\" } ] }   # why"));
    assert!(place.run("test").out.starts_with("2 passed, 0 failed"));
}

#[test]
fn what_does_not_start_is_not_rewritten() {
    let place = place("- { case: a, config: 'filter { mutat { } }', events: [ {} ], expect: [] }\n");
    let said = place.run("test --update --yes");
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(said.out.contains("does not start") && said.out.contains("0 of 1 failed cases rewritten, 1 still fail"));
    assert_eq!(place.env("CI", "true").run("test --update").code, 2);
}

#[test]
fn files_of_logstash_filter_verifier_run_as_they_are() {
    let place = Place::new().file("w.conf", "filter { if [log][kind] == \"web\" { mutate { add_tag => [\"web\"] } } }").file(
        "t.json",
        r#"{ "fields": { "type": "web", "[log][kind]": "web" }, "ignore": ["host", "@timestamp"], "codec": "json_lines",
        "testcases": [
          { "description": "plain", "input": ["{\"m\": 1, \"[a][b]\": \"x\"}"],
            "expected": [ { "m": 1, "a": { "b": "x" }, "type": "web", "log": { "kind": "web" }, "tags": ["web"] } ] },
          { "fields": { "type": "x" }, "input": ["{\"m\": 2}", "{\"m\": 3}"],
            "expected": [ { "m": 2, "type": "x", "[log][kind]": "web", "tags": ["web"] },
                          { "m": 3, "type": "x", "log": { "kind": "web" }, "tags": ["web"] } ] } ] }"#,
    );
    let said = place.run("test t.json -f w.conf");
    assert!(said.code == 0 && said.out.starts_with("2 passed, 0 failed"), "{}{}", said.out, said.err);
    let converted = place.run("test --convert t.json").out;
    let place = place.file("c_test.yml", &converted);
    assert!(place.run("test c_test.yml -f w.conf").out.starts_with("2 passed, 0 failed"), "{converted}");
}

#[test]
fn lines_go_through_the_codec_and_options_of_an_input() {
    let said = place(
        r#"
- case: as the input
  file: w.conf
  input: in
  lines: [ '{"level":"error"}' ]
  expect: [ { level: error, type: t, via: stdin, tags: [bad] } ]
- case: raw
  config: 'filter { }'
  lines: [ a, b ]
  expect: [ { message: a, "@timestamp": "2026-01-01T00:00:00Z" }, { message: b } ]
- case: another codec
  config: 'filter { }'
  codec: plain { charset => "ISO-8859-1" }
  lines: [ x ]
  expect: [ { message: "x\n" } ]
- case: no such input
  file: w.conf
  input: nope
  events: [ {} ]
  expect: []
- case: no such codec
  config: 'filter { }'
  codec: jsn
  lines: [ x ]
  expect: []
"#,
    )
    .run("test");
    assert!(said.out.contains("3 passed, 2 failed"), "{}", said.out);
    assert!(said.out.contains("no input with the id `nope`, only in"), "{}", said.out);
    assert!(said.out.contains("`codec`: there is no codec named `jsn`"), "{}", said.out);
}

#[test]
fn events_are_followed_to_their_outputs() {
    let said = place(
        r#"
- case: right
  file: w.conf
  events: [ { level: error }, { level: info } ]
  outputs: { alarm: [ { level: error, tags: [bad] } ], all: [ { level: error, tags: [bad] }, { level: info, tags: [fine] } ] }
- { case: wrong, file: w.conf, events: [ { level: info } ], outputs: { alarm: [ { level: info } ] } }
- { case: unknown, file: w.conf, events: [], outputs: { es: [] } }
"#,
    )
    .run("test");
    assert!(said.out.contains("1 passed, 2 failed"), "{}", said.out);
    assert!(said.out.contains("     output alarm\n     missing event 1: {\"level\":\"info\"}"), "{}", said.out);
    assert!(said.out.contains("no output has the id `es`, only alarm, all"), "{}", said.out);
}

#[test]
fn filters_can_be_mocked() {
    let config =
        r#"filter { mutate { id => "ask" add_field => { "asked" => "yes" } } mutate { add_field => { "b" => "1" } } }"#;
    let place = Place::new()
        .file("m.conf", config)
        .file("mocks.yml", "- id: ask\n  mock: |\n    mutate { add_field => { \"asked\" => \"no\" } }\n- id: elsewhere\n")
        .file("m_test.yml", "- { case: a, file: m.conf, mocks: { ask: , 'm.conf:1': }, events: [ {} ], expect: [ {} ] }\n- { case: b, file: m.conf, events: [ {} ], expect: [ { asked: no, b: '1' } ] }\n- { case: c, file: m.conf, mocks: { nobody: }, events: [ {} ], expect: [ {} ] }\n");
    let said = place.run("test --mocks mocks.yml");
    assert!(said.out.contains("2 passed, 1 failed"), "{}", said.out);
    assert!(said.out.contains("no filter has the id or place `nobody`"), "{}", said.out);
}

#[test]
fn a_batch_goes_through_each_filter_together_unless_order_is_asked_for() {
    let cases = |settings: &str| {
        format!(
            "- {{ case: a, settings: {{ {settings} }}, config: 'filter {{ clone {{ clones => [\"xy\"] }} }}', batches: [2], \
             events: [ {{ n: 1 }}, {{ n: 2 }} ], expect: [ {{ n: 1 }}, {{ n: 1 }}, {{ n: 2 }}, {{ n: 2 }} ], subset: true }}\n"
        )
    };
    for settings in ["", "pipeline.ordered: true, pipeline.workers: 1"] {
        let said = place(&cases(settings)).run("test");
        assert!(said.out.starts_with("1 passed"), "{settings}: {}", said.out);
    }
}

#[test]
fn one_pair_of_files_needs_no_case_file() {
    let place = place("")
        .file("in.ndjson", "{\"level\":\"error\"}\n\n{\"level\":\"info\"}\n")
        .file("out.yml", "- { level: error, tags: [bad] }\n- { level: info, tags: [fine] }\n");
    let said = place.run("test --events in.ndjson --expect out.yml -f w.conf");
    assert!(said.code == 0 && said.out.starts_with("1 passed"), "{}{}", said.out, said.err);
    place
        .run("test --events out.yml --expect out.yml -f w.conf")
        .fails_with(2, &["out.yml:1: a line must be one JSON"]);
}

#[test]
fn a_changed_file_runs_its_cases_again() {
    let place = place(
        "- { case: file, file: w.conf, events: [ { level: info } ], expect: [ { level: info, tags: [fine] } ] }\n\
         - { case: text, config: 'filter { }', events: [ {} ], expect: [ {} ] }\n",
    );
    let mut child = place.command("test --watch -v").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut next = |wanted: &str| {
        let seen: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("watching: ")).collect();
        assert!(seen.iter().any(|line| line.starts_with(wanted)), "{wanted}: {seen:?}");
        seen.len()
    };
    next("2 passed");
    let changed = COUNTS.replace("\"fine\"", "\"good\"");
    let path = place.join("w.conf");
    // An editor that writes beside and renames.
    std::fs::write(place.join("w.conf.tmp"), changed).unwrap();
    std::fs::rename(place.join("w.conf.tmp"), &path).unwrap();
    std::fs::File::open(&path).unwrap().set_modified(SystemTime::now() + Duration::from_secs(5)).unwrap();
    next("0 passed, 1 failed");
    let mut keys = child.stdin.take().unwrap();
    keys.write_all(b"f").unwrap();
    next("0 passed, 1 failed");
    keys.write_all(b"a").unwrap();
    next("1 passed, 1 failed");
    keys.write_all(b"q").unwrap();
    assert!(child.wait().unwrap().success());
}
