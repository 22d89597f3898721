//! `pipelines/business` and `pipelines/eventd`: checked as they stand, and run on the inputs of their case files without
//! a broker.

mod program;

use std::path::Path;

use program::Place;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A copy of a file of the repository.
fn copied(place: Place, path: &str) -> Place {
    let text = std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap();
    place.file(path, &text)
}

fn examples() -> Place {
    let files = [
        "examples/business/logstash.yml",
        "examples/business/pipelines.yml",
        "examples/eventd/logstash.yml",
        "examples/eventd/pipelines.yml",
        "pipelines/business/business.conf",
        "pipelines/business/business-repair.conf",
        "pipelines/business/business_test.yml",
        "pipelines/eventd/eventd-cleansing.conf",
        "pipelines/eventd/eventd_test.yml",
    ];
    files.into_iter().fold(Place::new(), copied)
}

#[test]
fn both_designs_are_valid() {
    let place = examples();
    for example in ["business", "eventd"] {
        let said = place.run(&format!("check --path.settings examples/{example}"));
        assert_eq!(said.code, 0, "{example}: {}{}", said.out, said.err);
    }
}

#[test]
fn every_row_of_the_two_designs_comes_out_without_a_broker() {
    let place = examples();
    for (folder, cases) in [("business", 4), ("eventd", 3)] {
        let said = place.run(&format!("test pipelines/{folder}"));
        assert_eq!(said.code, 0, "{}{}", said.out, said.err);
        assert!(said.out.starts_with(&format!("{cases} passed, 0 failed, 0 skipped")), "{}", said.out);
    }
}

/// The clock of a run is that of its events: the sheet of a line says when it comes.
#[test]
fn events_of_a_file_move_the_clock() {
    let place = Place::new()
        .file("w.conf", "filter { dedupe { store => memory key => \"%{k}\" ttl => \"10s\" } age { target => age } }\noutput { null { id => \"sink\" } }")
        .file("in.ndjson", "{\"k\":1,\"n\":1,\"at_ms\":0}\n{\"k\":1,\"n\":2}\n{\"k\":1,\"n\":3,\"at_ms\":10000}\n")
        .file("list.yml", "- { k: 1, n: 1, age: 0.0 }\n- { k: 1, n: 3, age: 0.0 }\n")
        .file("outputs.yml", "sink:\n  - { k: 1, n: 1, age: 0.0 }\n  - { k: 1, n: 3, age: 0.0 }\n")
        .file("wrong.yml", "sink:\n  - { k: 1, n: 1, age: 0.0 }\n");
    for (expected, code) in [("list.yml", 0), ("outputs.yml", 0), ("wrong.yml", 1)] {
        let said = place.run(&format!("test -f w.conf --events in.ndjson --expect {expected}"));
        assert_eq!(said.code, code, "{expected}: {}{}", said.out, said.err);
    }
}

#[test]
fn a_crash_before_the_commit_brings_events_back_and_a_restart_does_not() {
    let dedupe = "filter { dedupe { name => \"s\" key => \"%{k}\" ttl => \"10s\" } }";
    let case = format!(
        "- case: steps\n  config: '{dedupe}'\n  steps:\n\
         \x20   - {{ feed: [ {{ k: a, n: 1 }} ], at_ms: [0], expect: [ {{ k: a, n: 1 }} ] }}\n\
         \x20   - {{ crash: true }}\n\
         \x20   - {{ feed: [ {{ k: a, n: 2 }} ], at_ms: [1], expect: [ {{ k: a, n: 2 }} ], crash: true }}\n\
         \x20   - {{ feed: [ {{ k: a, n: 3 }}, {{ k: a, n: 4 }} ], at_ms: [2], expect: [ {{ k: a, n: 3 }} ] }}\n\
         \x20   - {{ feed: [ {{ k: a, n: 5 }} ], at_ms: [3], expect: [] }}\n\
         \x20   - {{ crash: true }}\n\
         \x20   - {{ feed: [ {{ k: a, n: 6 }} ], at_ms: [4], expect: [] }}\n\
         \x20   - {{ restart: true }}\n\
         \x20   - {{ feed: [ {{ k: a, n: 7 }} ], at_ms: [10002], expect: [ {{ k: a, n: 7 }} ] }}\n"
    );
    let wrong = case.replace("at_ms: [4], expect: []", "at_ms: [4], expect: [ { k: a, n: 6 } ]");
    let place = Place::new().file("a_test.yml", &case).file("b_test.yml", &wrong);
    let said = place.run("test a_test.yml");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let said = place.run("test b_test.yml");
    assert!(said.code == 1 && said.out.contains("step 8"), "{}", said.out);
}

const KEYS: &str = "data/plugins/filters/dedupe/main/seen";

/// The program itself: the second run knows the keys of the first, and they can be carried to another folder.
#[test]
fn keys_outlive_the_program_and_can_be_carried() {
    let place = Place::new().file(
        "w.conf",
        "input { stdin { codec => json } } filter { dedupe { name => \"seen\" key => \"%{k}\" } } output { stdout { codec => line { format => \"%{k}\" } } }",
    );
    let run = |input: &str| place.run_with_input("-f w.conf --path.data data --api.enabled false", input).out;
    assert_eq!(run("{\"k\":\"a\"}\n{\"k\":\"b\"}\n{\"k\":\"a\"}\n"), "a\nb\n");
    assert_eq!(run("{\"k\":\"b\"}\n{\"k\":\"c\"}\n"), "c\n");
    let stats = place.run(&format!("dedupe stats {KEYS}"));
    assert!(stats.code == 0 && stats.out.starts_with("keys 3\n"), "{}{}", stats.out, stats.err);
    let exported = place.run(&format!("dedupe export {KEYS}"));
    assert_eq!(exported.out.lines().count(), 4, "{}{}", exported.out, exported.err);
    std::fs::remove_dir_all(place.join("data")).unwrap();
    let imported = place.run_with_input(&format!("dedupe import {KEYS}"), &exported.out);
    assert_eq!(imported.code, 0, "{}{}", imported.out, imported.err);
    assert_eq!(run("{\"k\":\"a\"}\n{\"k\":\"d\"}\n"), "d\n");
    let cut = place.run_with_input("dedupe import other", &exported.out.replace("spillway_dedupe", "x"));
    assert_eq!(cut.code, 1, "{}{}", cut.out, cut.err);
}

/// Every alert says when it fires and what it means; where promtool is installed, it looks at the rules, too.
#[test]
fn the_alerts_are_rules() {
    let path = Path::new(ROOT).join("contrib/alerts.yml");
    let text = std::fs::read_to_string(&path).unwrap();
    let alerts: Vec<&str> = text.split("- alert: ").skip(1).collect();
    assert_eq!(alerts.len(), 10);
    for alert in alerts {
        for part in ["expr: ", "severity: ", "summary: \""] {
            assert!(alert.contains(part), "{part}: {alert}");
        }
        assert!(alert.contains("spillway_"), "{alert}");
    }
    let Ok(checked) = std::process::Command::new("promtool").args(["check", "rules"]).arg(&path).output() else {
        return;
    };
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}
