//! `spillway check`: verdict, counts and exit code.

mod program;

use program::Place;

const GOOD: &str = "input { stdin {} }\noutput { stdout {} }\n";
const BAD: &str = "input { stdn {} }\nfilter { drp {} }\noutput { stdout {} }\n";

#[test]
fn mistakes_are_counted_and_are_a_finding() {
    let place = Place::new().file("good.conf", GOOD).file("bad.conf", BAD);
    let said = place.run("check bad.conf");
    said.fails_with(1, &["error[unknown-plugin]: bad.conf: line 1", "stdin", "line 2, column 10", "`drop`"]);
    assert_eq!(said.out, "2 errors in 1 file\n");
    assert_eq!(place.run("check bad.conf good.conf").out, "2 errors in 2 files\n");
    let said = place.run("check good.conf");
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "no problems in 1 file\n", ""));
}

#[test]
fn warnings_are_a_finding_when_they_are_denied() {
    let text = "input { stdin {} }\nfilter { if [dead_letter_queue][reason] { drop {} } }\noutput { stdout {} }\n";
    let place = Place::new().file("x.conf", text);
    let said = place.run("check x.conf");
    assert_eq!((said.code, said.out.as_str()), (0, "1 warning in 1 file\n"), "{}", said.err);
    said.err_says(&["warning[", "x.conf: line 2"]);
    assert_eq!(place.run("check --deny warnings x.conf").code, 1);
    place.run("check --deny x.conf").fails_with(2, &["--deny warnings"]);
}

#[test]
fn without_a_path_all_pipelines_are_checked() {
    let place = Place::new()
        .file("cfg/logstash.yml", "")
        .file(
            "cfg/pipelines.yml",
            "- { pipeline.id: a, path.config: a.conf }\n- { pipeline.id: b, path.config: b.conf }\n",
        )
        .file("a.conf", GOOD)
        .file("b.conf", BAD);
    let said = place.run("check --path.settings cfg");
    said.fails_with(1, &["b.conf"]);
    assert_eq!(said.out, "2 errors in 2 files\n");
}

#[test]
fn what_cannot_be_checked_is_a_usage_error() {
    let place = Place::new();
    place.run("check").fails_with(2, &["no pipeline to run"]);
    place.run("check --jsn x").fails_with(2, &["Unrecognised option '--jsn'"]);
    assert_eq!(place.run("check --help").code, 0);
}

#[test]
fn scripts_get_the_same_facts() {
    let place = Place::new().file("x.conf", "input { stdin {} }\noutput { stdot {} }\n");
    let said = place.run("check --json x.conf");
    assert_eq!((said.code, said.err.as_str()), (1, ""));
    let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let first = &json["diagnostics"][0];
    assert_eq!((&json["v"], &json["errors"], &json["warnings"]), (&1.into(), &1.into(), &0.into()));
    assert_eq!(
        (&first["level"], &first["code"], &first["file"]),
        (&"error".into(), &"unknown-plugin".into(), &"x.conf".into())
    );
    assert_eq!((&first["line"], &first["column"], &first["end_column"]), (&2.into(), &10.into(), &15.into()));
    assert_eq!(first["pipeline"], "main");
    assert!(first["help"].as_str().unwrap().contains("stdout"));
}

#[test]
fn variables_can_be_given_or_assumed() {
    let text = "input { stdin {} }\noutput { elasticsearch { hosts => [\"${ES_URL}\"] index => \"a\" user => \"${ES_USER}\" password => \"${ES_PWD:x}\" pool_max => \"${ES_POOL}\" } }\n";
    let place = Place::new()
        .file("x.conf", text)
        .file("env", "# servers\nES_URL=http://es:9200\nexport ES_USER='u'\nES_POOL=5\n");
    let said = place.run("check x.conf");
    said.fails_with(1, &["error[undefined-variable]", "ES_URL", "ES_USER"]).never_says("ES_PWD}");
    place.run("check --assume-env x.conf").never_says("error");
    assert_eq!(place.run("check --assume-env x.conf").code, 0);
    assert_eq!(place.run("check --env-file env x.conf").code, 0);
    place.run("check --env-file nowhere x.conf").fails_with(2, &["nowhere: cannot be read"]);
}

#[test]
fn a_comment_allows_a_warning_and_an_unused_one_is_noted() {
    let text = "input { stdin {} }\nfilter {\n  # spillway: allow(unguarded-compare)\n  if [n] > 1 { drop {} }\n}\noutput { stdout {} }\n";
    let place = Place::new().file("x.conf", text).file("y.conf", &text.replace("[n] >", "[n] and [n] >"));
    assert_eq!(place.run("check --deny warnings x.conf").out, "no problems in 1 file\n");
    let said = place.run("check --deny warnings y.conf");
    assert_eq!((said.code, said.out.as_str()), (0, "no problems in 1 file\n"));
    said.err_says(&["note[unused-allow]: y.conf: line 3"]);
}

#[test]
fn pipelines_are_checked_against_each_other() {
    let settings = "dead_letter_queue.enable: true\n";
    let place = Place::new()
        .file("cfg/logstash.yml", settings)
        .file("cfg/pipelines.yml", "- { pipeline.id: a, path.config: a.conf }\n- { pipeline.id: b, path.config: b.conf, dead_letter_queue.enable: false }\n")
        .file("a.conf", "input { stdin {} }\noutput { elasticsearch {} }\n")
        .file("b.conf", GOOD);
    for command in ["check --path.settings cfg", "-t --path.settings cfg"] {
        place.run(command).err_says(&["warning[dlq-unread]", "`a`", "help: read it"]);
    }
}

#[test]
fn what_a_field_is_known_to_hold_is_told_with_its_place() {
    let text = "input { stdin {} }\nfilter {\n  mutate { convert => { \"status\" => \"integer\" } }\n  if [status] == \"200\" { drop {} }\n}\noutput { stdout {} }\n";
    let said = Place::new().file("x.conf", text).run("check x.conf");
    assert_eq!((said.code, said.out.as_str()), (0, "1 warning in 1 file\n"), "{}", said.err);
    said.err_says(&[
        "warning[never-true]: x.conf: line 4, column 6",
        "its type is set here",
        "`[status]` is an integer since line 3",
        "200, not \"200\"",
    ]);
}

#[test]
fn passwords_and_logins_are_in_no_excerpt_and_no_message() {
    let config = r#"input { stdin {} }
output {
  elasticsearch {
    hosts => "http://me:hunter2@localhost:99999"
    index => "a"
    cloud_auth => "hunter3"
    pasword => "hunter4"
    password => ["hunter5", "hunter6"]
    api_key => "hunter7" no_such_option => 1
  }
}
"#;
    let place = Place::new()
        .file("a.conf", config)
        .file("b.conf", "output {\n  elasticsearch {\n    password => \"hunter8\"\n    index = \"a\"\n  }\n}\n")
        .file("cfg/logstash.yml", "api.auth.basic.password: hunter9\nno.such.setting: 1\n");
    let said = place.run("check a.conf");
    said.fails_with(1, &["did you mean `password`?", "<password>", "no_such_option"]);
    let said = [said.err, place.run("check b.conf").err, place.run("--path.settings cfg").err].concat();
    assert!(said.contains("no.such.setting") && said.contains("b.conf:4"), "{said}");
    assert!(!said.contains("hunter"), "{said}");
}

#[test]
fn one_undefined_variable_is_one_error() {
    let config = r#"input { stdin {} }
filter { if [a] == "${X}" { mutate { convert => { "a" => "${X}" } } } }
output { elasticsearch { hosts => ["${X}", "${X}:9200"] index => "a" retry_max_interval => "${X}" } }
"#;
    let place = Place::new().file("x.conf", config);
    let said = place.run("check x.conf");
    said.fails_with(1, &["error[undefined-variable]: x.conf: line 2", "`${X}`"]);
    assert_eq!(said.out, "1 error in 1 file\n", "{}", said.err);
}

#[test]
fn an_undefined_variable_hides_no_other_mistake() {
    let config = "input { stdin {} }\noutput { elasticsearch { hosts => \"${X}\" index => \"a\" timeout => \"soon\" nope => 1 } }\n";
    let place = Place::new().file("x.conf", config);
    let said = place.run("check x.conf");
    said.fails_with(1, &["undefined-variable", "`timeout`", "`nope`"]);
    assert_eq!(said.out, "3 errors in 1 file\n", "{}", said.err);
}

#[test]
fn sample_events_tell_what_they_lack_and_which_way_they_go() {
    let text = "input { stdin {} }\nfilter {\n  if [kind] == \"a\" { drop {} }\n  if [knd] { drop {} }\n}\noutput { stdout {} }\n";
    let place = Place::new().file("x.conf", text).file("in.ndjson", "{\"kind\":\"b\"}\n{\"kind\":\"b\"}\n");
    let said = place.run("check --events in.ndjson x.conf");
    assert_eq!((said.code, said.out.as_str()), (0, "1 warning in 1 file\n"), "{}", said.err);
    said.err_says(&["x.conf:3 if [kind] == \"a\": yes 0, no 2  <- never true"]);
    said.err_says(&["warning[field-not-in-sample]: x.conf: line 4", "`[knd]`"]);
    place.run("check --events x.conf x.conf").fails_with(2, &["x.conf:1: a line must be one JSON object"]);
}

#[test]
fn options_that_change_nothing_are_told() {
    let config = |plugin: &str| match plugin.split_once(' ') {
        Some(("in", plugin)) => format!("input {{ {plugin} }} output {{ null {{}} }}"),
        Some(("filter", plugin)) => format!("input {{ stdin {{}} }} filter {{ {plugin} }} output {{ null {{}} }}"),
        _ => format!("input {{ stdin {{}} }} output {{ {plugin} }}"),
    };
    for (plugin, words) in [
        ("null { codec => json }", "nothing is written"),
        ("http { url => 'http://h' http_method => post codec => line }", "`format` says what is sent"),
        ("csv { path => '/tmp/x' fields => ['a'] codec => line }", "lines of CSV"),
        ("elasticsearch { hosts => ['http://h'] index => 'a' codec => plain }", "sent as JSON"),
        ("in heartbeat { codec => json }", "nothing is decoded"),
        ("in dead_letter_queue { path => '/tmp' codec => json }", "events already"),
        ("filter drop { percentage => 500 }", "the same as 100"),
        ("filter drop { percentage => -1 }", "the same as 0"),
    ] {
        let place = Place::new().file("x.conf", &config(plugin));
        let said = place.run("check x.conf");
        said.err_says(&["warning[no-effect]", words]);
        assert_eq!(said.code, 0, "{plugin}: {}", said.err);
    }
    let place = Place::new().file("x.conf", &config("null { codec => jsn }"));
    place.run("check x.conf").fails_with(1, &["`jsn`", "json"]);
}

#[test]
fn the_line_of_bytes_that_are_no_text_is_named() {
    let place = Place::new();
    std::fs::write(place.join("x.conf"), b"input { stdin {} }\n# caf\xe9\noutput { stdout {} }\n").unwrap();
    place.run("check x.conf").fails_with(1, &["not valid UTF-8", "x.conf` (line 2)"]);
}

#[test]
fn findings_in_the_forms_of_other_programs() {
    let text = "input { stdin {} }\nfilter { mutate { covert => { \"a\" => \"integer\" } } }\noutput { null {} }\n";
    let place = Place::new().file("x.conf", text);
    let said = place.run("check --format github x.conf");
    assert_eq!(said.code, 1);
    let line = "::error file=x.conf,line=2,col=19,endLine=2,endColumn=25,title=unknown-option::the mutate filter has no \
        option `covert`. did you mean `convert`?\n";
    assert_eq!(said.out, line);
    let said = place.run("check --format sarif x.conf");
    let log: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let run = &log["runs"][0];
    assert_eq!(
        (&log["version"], &run["tool"]["driver"]["rules"][0]["id"]),
        (&"2.1.0".into(), &"unknown-option".into())
    );
    let result = &run["results"][0];
    let place_of = &result["locations"][0]["physicalLocation"];
    assert_eq!((&result["level"], &result["ruleId"]), (&"error".into(), &"unknown-option".into()));
    assert_eq!(place_of["artifactLocation"]["uri"], "x.conf");
    assert_eq!((&place_of["region"]["startLine"], &place_of["region"]["startColumn"]), (&2.into(), &19.into()));
    place.run("check --format xml x.conf").fails_with(2, &["`xml`", "text, json, github or sarif"]);
}
