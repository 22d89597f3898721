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
