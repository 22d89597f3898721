//! `spillway grok`: what it prints and how it ends.

mod program;

use program::{Place, Said};

fn grok(place: &Place, pattern: &str, rest: &str, input: &str) -> Said {
    let mut command = place.command("grok");
    command.arg(pattern).args(rest.split(' ').filter(|word| !word.is_empty()));
    Said::of(command, input)
}

#[test]
fn every_line_is_tried() {
    let place = Place::new().file("lines.txt", "192.0.2.7 GET 12ms\n192.0.2.8 GET slow\n");
    let said = grok(&place, "%{IPORHOST:client} %{WORD:verb} %{NUMBER:ms:int}ms", "lines.txt", "");
    assert_eq!((said.code, said.err.as_str()), (1, ""));
    assert_eq!(
        said.out,
        "\
1  matched  client=\"192.0.2.7\" verb=\"GET\" ms=12
2  stopped  192.0.2.8 GET slow
            --------- --- ^
            2 of 3 patterns matched; %{NUMBER:ms:int} does not match \"slow\"
            would match here: WORD, NOTSPACE, DATA
2 lines: 1 matched, 1 did not
"
    );
}

#[test]
fn lines_come_from_standard_input_too() {
    let said = grok(&Place::new(), "%{WORD} %{INT:n:int}", "", "a 1\r\nb 2");
    assert_eq!(said.code, 0);
    assert_eq!(said.out, "1  matched  (WORD)=\"a\" n=1\n2  matched  (WORD)=\"b\" n=2\n2 lines: 2 matched, 0 did not\n");
}

#[test]
fn own_patterns_and_old_names() {
    let place = Place::new().file("patterns/own", "ID id-%{INT:id:int}\n");
    let said = grok(&place, "%{ID} %{X:x}", "--patterns-dir patterns --define X=[xyz]+", "id-7 zz\n");
    assert_eq!(said.out, "1  matched  (ID)=\"id-7\" id=7 x=\"zz\"\n1 line: 1 matched, 0 did not\n");
    let said = grok(&place, "%{SYSLOGPROG}", "--ecs disabled", "cron[7]\n");
    assert_eq!(
        said.out,
        "1  matched  program=\"cron\" pid=\"7\"\n1 line: 1 matched, 0 did not\n"
            .replace("  program", "  (SYSLOGPROG)=\"cron[7]\" program")
    );
}

#[test]
fn of_several_patterns_the_first_that_matches_wins() {
    let place = Place::new();
    let said = grok(&place, "--pattern", "^%{INT:n}$ --pattern %{WORD:w}", "7\nab\n--\n");
    assert_eq!(said.code, 1);
    assert!(
        said.out.starts_with("1  matched  pattern 1  n=\"7\"\n2  matched  pattern 2  w=\"ab\"\n3  stopped"),
        "{}",
        said.out
    );
    let said = grok(&place, "%{INT:n}", "--failed", "7\nab\n");
    assert!(said.out.starts_with("2  stopped  ab\n"), "{}", said.out);
}

#[test]
fn lines_as_json() {
    let said = grok(&Place::new(), "%{WORD:w} %{INT:n:int}(?: %{WORD:w})?", "--json", "a 1 c\nb c\n");
    let lines: Vec<serde_json::Value> = said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["fields"], serde_json::json!({ "w": ["a", "c"], "n": 1 }));
    assert_eq!((lines[1]["matched"].as_bool(), lines[1]["column"].as_u64()), (Some(false), Some(3)));
    assert_eq!(lines[1]["failed"], "%{INT:n:int}");
    let said = grok(&Place::new(), "%{WORD:a} %{WORD}", "--json", "x y\n");
    assert_eq!(said.out, "{\"line\":1,\"matched\":true,\"fields\":{\"a\":\"x\"},\"unnamed\":[{\"WORD\":\"y\"}]}\n");
}

#[test]
fn a_pattern_is_made_for_lines_and_matches_all_of_them() {
    let lines = "192.0.2.7 GET /a took 12ms\n2001:db8::7 POST /b/c took 7ms\n";
    let place = Place::new().file("lines.txt", lines);
    let said = grok(&place, "--suggest", "lines.txt", "");
    assert_eq!(said.out, "%{IP:ip} %{WORD:word} /%{NOTSPACE:value} took %{NUMBER:number}ms\n", "{}", said.err);
    let tried = grok(&place, said.out.trim_end(), "lines.txt", "");
    assert!(tried.code == 0 && tried.out.ends_with("2 lines: 2 matched, 0 did not\n"), "{}", tried.out);
    let said = grok(&place, "--suggest", "", "a b\n-\n");
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    grok(&place, "--suggest", "", "\n").fails_with(2, &["no lines"]);
}

#[test]
fn patterns_and_settings_of_a_filter_are_taken_from_its_configuration() {
    let config = r#"filter {
        grok { id => "access" pattern_definitions => { "ID" => "[a-f]+" } match => { "message" => ["^%{INT:n}$", "%{ID:id}!"] } }
        if [x] { grok { match => { "message" => "%{WORD:w}" } } }
    }"#;
    let place =
        Place::new().file("a.conf", config).file("b.conf", "filter { grok { match => { message => \"%{INT:n}\" } } }");
    let said = grok(&place, "--from", "a.conf --id access", "7\nface!\n");
    assert_eq!(
        said.out,
        "1  matched  pattern 1  n=\"7\"\n2  matched  pattern 2  id=\"face\"\n2 lines: 2 matched, 0 did not\n"
    );
    assert!(grok(&place, "--from", "b.conf", "7\n").out.starts_with("1  matched  n=\"7\"\n"));
    grok(&place, "--from", "a.conf", "").fails_with(2, &["several grok filters", "`access`", "a.conf:3"]);
    grok(&place, "--from", "a.conf --id acess", "").fails_with(2, &["`acess`", "`access`"]);
    grok(&place, "--from", "none.conf", "").fails_with(2, &["none.conf"]);
}

#[test]
fn mistakes_end_with_two() {
    let place = Place::new();
    grok(&place, "%{COMBINEDAPACHELGO}", "", "")
        .fails_with(2, &["COMBINEDAPACHELGO", "did you mean `COMBINEDAPACHELOG`"]);
    grok(&place, "(a", "", "").fails_with(2, &["unmatched parenthesis"]);
    grok(&place, "a", "missing.txt", "").fails_with(2, &["missing.txt"]);
    grok(&place, "a", "--jso", "").fails_with(2, &["--json"]);
}
