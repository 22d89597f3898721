//! `spillway test`: what it prints and how it ends.

mod program;

use program::Place;

const CONF: &str = "\
input { stdin { } }
filter {
  if [status] == 500 {
    drop { }
  }
  mutate { add_field => { \"seen\" => \"yes\" } }
}
output { stdout { } }
";

fn place(cases: &str) -> Place {
    Place::new().file("conf.d/20-web.conf", CONF).file("tests/web.yml", cases)
}

#[test]
fn a_passing_case_is_only_counted() {
    let place =
        place("- case: web.ok\n  file: ../conf.d/20-web.conf\n  events: [{a: 1}]\n  expect: [{a: 1, seen: 'yes'}]\n");
    let said = place.run("test tests/web.yml");
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let line = said.out.trim_end();
    assert!(line.starts_with("1 passed, 0 failed, 0 skipped in ") && line.ends_with(" ms"), "{line}");
    assert!(place.run("test tests/web.yml -v").out.starts_with("PASS web.ok  tests/web.yml:1\n"));
}

#[test]
fn a_failure_shows_what_differs_and_nothing_else() {
    let said = place(
        "# web lines\n- case: web.status\n  why: status is a number\n  file: ../conf.d/20-web.conf\n  \
         events: [{status: '200', url: /a}]\n  expect: [{status: 200, url: /a, client: 192.0.2.7}]\n",
    )
    .run("test tests/web.yml");
    assert_eq!(said.code, 1);
    let (report, summary) = said.out.rsplit_once("0 passed, 1 failed, 0 skipped in ").unwrap();
    assert!(summary.ends_with(" ms\n"));
    assert_eq!(
        report,
        "\
FAIL web.status  tests/web.yml:2   config ../conf.d/20-web.conf
     why: status is a number
     event 1 of 1
       - [client]  expected \"192.0.2.7\" (string)    got nothing
       + [seen]    not expected                     got \"yes\"
       - [status]  expected 200 (integer)           got \"200\" (string)
     passed: mutate 20-web.conf:6 ; not taken: if 20-web.conf:3
     rerun: spillway test tests/web.yml --filter web.status
"
    );
}

#[test]
fn missing_and_extra_events_are_listed() {
    let said = place(
        "- {case: a, config: 'filter { }', events: [{n: 1}, {n: 2}, {n: 3}], expect: [{n: 1}, {n: 3}]}\n\
         - {case: b, config: 'filter { }', events: [{n: 1}], expect: [{n: 0}, {n: 1}]}\n",
    )
    .run("test tests/web.yml");
    assert!(said.out.contains("     extra event 2: {\"n\":2,"), "{}", said.out);
    assert!(said.out.contains("     missing event 1: {\"n\":0}\n"), "{}", said.out);
    assert!(!said.out.contains("[n]"), "{}", said.out);
}

#[test]
fn a_refusal_is_shown_with_its_place() {
    let said =
        place("- {case: a, config: 'filter { mutat { } }', events: [{}], expect: [{}]}\n").run("test tests/web.yml");
    assert_eq!(said.code, 1);
    for part in ["does not start", "line 1, column 10", "mutat", "did you mean `mutate`"] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
}

#[test]
fn words_of_the_configuration_do_not_count_as_said() {
    let said = place("- {case: a, config: 'filter { nosuch { zebra => 1 } }', events: [], error: zebra}\n")
        .run("test tests/web.yml");
    assert_eq!(said.code, 1);
    assert!(said.out.contains("`zebra` is missing"), "{}", said.out);
}

#[test]
fn a_case_without_expectation_prints_the_result_and_fails() {
    let said = place("- {case: a, config: 'filter { }', events: [{n: 1}]}\n").run("test tests/web.yml");
    assert_eq!(said.code, 1);
    assert!(
        said.out.contains("{\"n\":1,\"@timestamp\":\"2026-01-01T00:00:00.000Z\",\"@version\":\"1\"}"),
        "{}",
        said.out
    );
}

#[test]
fn cases_are_chosen_by_name_and_found_without_being_named() {
    let place = place("- {case: web.a, config: 'filter { }', events: [], expect: []}\n- {case: web.b, config: 'filter { }', events: [], expect: []}\n")
        .file("conf.d/more_test.yml", "- {case: more.a, config: 'filter { }', events: [], expect: []}\n")
        .file("conf.d/other.yml", "no: cases\n");
    assert!(place.run("test").out.starts_with("3 passed"));
    assert!(place.run("test --filter web.*").out.starts_with("2 passed"));
    assert!(place.run("test conf.d/more_test.yml tests --filter *.a").out.starts_with("2 passed"));
    let said = place.run("test --filter nothing");
    assert_eq!(said.code, 2);
    assert!(said.err.contains("no case has a name that matches `nothing`"));
}

#[test]
fn the_configuration_can_come_from_the_command_line() {
    let place = place("- {case: a, events: [{}], expect: [{seen: 'yes'}]}\n- {case: b, pipeline: web, events: [{}], expect: [{seen: 'yes'}]}\n")
        .file("cfg/logstash.yml", "")
        .file("cfg/pipelines.yml", "- {pipeline.id: web, path.config: conf.d/20-web.conf}\n- {pipeline.id: other, path.config: x.conf}\n");
    assert!(place.run("test tests --filter a -f conf.d/20-web.conf").out.starts_with("1 passed, 0 failed"));
    let said = place.run("test tests --path.settings cfg");
    assert!(said.out.contains("several pipelines, say which with `pipeline`: web, other"), "{}", said.out);
    assert!(said.out.contains("1 passed, 1 failed"), "{}", said.out);
    let said = place.run("test tests --filter a");
    assert!(said.out.contains("names no configuration"), "{}", said.out);
}

#[test]
fn settings_environment_and_the_dead_letter_queue_are_the_case_s_own() {
    let said = place(
        r#"
- case: env
  env: { GREETING: "hi" }
  config: 'filter { mutate { add_field => { "g" => "${GREETING} ${OTHER:there}" } } }'
  events: [ {} ]
  expect: [ { g: hi there } ]
- case: settings
  settings: { config.support_escapes: true }
  config: 'filter { mutate { add_field => { "g" => "a\tb" } } }'
  events: [ {} ]
  expect: [ { g: "a\tb" } ]
- case: unknown-setting
  settings: { pipeline.worker: 1 }
  config: 'filter { }'
  events: []
  error: "did you mean `pipeline.workers`"
- case: dlq
  config: 'filter { if [n] > 1 { } }'
  events: [ { n: x }, { n: 2 } ]
  expect: [ { n: 2 } ]
  dlq: [ { event: { n: x }, plugin_type: if-statement, reason: { $re: "^condition evaluation error" }, entry_time: { $now: true } } ]
"#,
    )
    .run("test tests");
    assert_eq!(said.code, 0, "{}", said.out);
    assert!(said.out.starts_with("4 passed, 0 failed, 0 skipped"));
}

#[test]
fn inputs_and_outputs_never_open_anything() {
    let place = place(
        "- case: a\n  config: 'filter { } output { file { path => \"out.txt\" } elasticsearch { hosts => [\"192.0.2.1:9200\"] index => \"x\" } }'\n  events: [{}]\n  expect: [{}]\n",
    );
    let said = place.run("test tests");
    assert_eq!(said.code, 0, "{}", said.out);
    assert!(!place.join("out.txt").exists());
}

#[test]
fn what_cannot_be_run_is_told() {
    let place = place("- {case: a, config: 'filter { }', events: [], files: {}}\n")
        .file("tests/bad.yaml", "- case: [\n")
        .file("t.json", "{\"testcases\": 1}");
    let said = place.run("test tests/web.yml");
    assert_eq!(said.code, 0);
    assert!(said.out.contains("SKIP a  tests/web.yml:1\n     `files` is not supported yet\n"), "{}", said.out);
    assert!(said.out.contains("0 passed, 0 failed, 1 skipped"));
    for (arguments, part) in [
        ("test tests/bad.yaml", "tests/bad.yaml:2: is no YAML"),
        ("test nowhere.yml", "nowhere.yml: cannot be read"),
        ("test t.json", "t.json:1: `testcases` must be a list"),
        ("test tests/web.yml --update", "--yes"),
        ("test --fliter x", "did you mean `--filter`"),
    ] {
        let said = place.run(arguments);
        assert_eq!(said.code, 2, "{arguments}");
        assert!(said.err.contains(part), "{arguments}: {}", said.err);
    }
}

#[test]
fn the_first_failure_can_end_the_run() {
    let said = place("- {case: a, config: 'filter { }', events: [{}], expect: []}\n- {case: b, config: 'filter { }', events: [{}], expect: []}\n")
        .run("test tests --fail-fast");
    assert_eq!(said.code, 1);
    assert!(said.out.contains("0 passed, 1 failed, 0 skipped"));
}
