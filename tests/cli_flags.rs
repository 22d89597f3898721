//! The command line: help, versions and mistyped words.

mod program;

use program::Place;

#[test]
fn help_is_narrow_and_knows_the_main_words() {
    let said = Place::new().run("--help");
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    for word in ["usage: spillway", "-f, --path.config", "-e, --config.string", "-t, ", "test", "Examples"] {
        assert!(said.out.contains(word), "{word}");
    }
    assert!(said.out.lines().all(|line| line.chars().count() <= 80));
    assert!(!said.out.contains('\u{1b}'));
    assert!(Place::new().run("-h").out.lines().count() < said.out.lines().count());
}

#[test]
fn help_needs_no_settings() {
    let place = Place::new().file("config/logstash.yml", "[broken");
    assert_eq!(place.run("--help").code, 0);
    assert_eq!(place.run("-V").code, 0);
}

#[test]
fn the_version_names_the_logstash_it_follows() {
    let said = Place::new().run("-V");
    assert!(said.out.starts_with(&format!("spillway {} (compatible with logstash 9.", env!("CARGO_PKG_VERSION"))));
    let json = Place::new().run("--version --json").out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn mistyped_words_are_recognised() {
    let place = Place::new().file("x.conf", "");
    for (line, parts) in [
        ("tset", vec!["ERROR: Unknown command 'tset'", "did you mean `test`?", "usage:"]),
        ("x.conf", vec!["Unknown command 'x.conf'", "-f x.conf"]),
        ("--pipeline.worker 3", vec!["Unrecognised option '--pipeline.worker'", "`--pipeline.workers`"]),
        ("-w 0", vec!["ERROR: option '-w' (pipeline.workers): `0` is wrong", "at least 1"]),
        ("-t x.conf", vec!["option '-t'", "-t -f x.conf"]),
        ("-w", vec!["'-w'", "no value"]),
        ("-p nowhere -f x.conf", vec!["path.plugins: nowhere is no directory"]),
        ("-i irb -f x.conf", vec!["no Ruby shell"]),
    ] {
        place.run(line).fails_with(1, &parts);
    }
}

#[test]
fn ruby_plugins_are_named_when_they_are_not_loaded() {
    let place = Place::new().file("plugins/logstash/filters/ours.rb", "").file("plugins/README", "");
    place.run("-t -e x -p plugins").err_says(&["plugins/logstash/filters/ours.rb is not loaded"]);
}

#[test]
fn flags_without_a_meaning_are_accepted() {
    let said = Place::new().run("-e x --api.enabled false --plugin-classloaders --enable-local-plugin-development");
    said.err_says(&["without a meaning here: enable-local-plugin-development, pipeline.plugin_classloaders"]);
}

#[test]
fn only_the_last_of_two_equal_flags_counts_and_that_is_told() {
    Place::new().run("-t -f a.conf -f b.conf").err_says(&["-f overrides an earlier -f: only the last one counts"]);
}

#[test]
fn old_flags_are_told_with_their_replacement() {
    Place::new().run("-t -e x --debug").err_says(&["--debug is deprecated, write --log.level debug"]);
}

#[test]
fn an_argument_that_is_no_text_is_an_error() {
    use std::os::unix::ffi::OsStrExt;
    let mut command = Place::new().command("-f");
    command.current_dir("/").arg(std::ffi::OsStr::from_bytes(b"\xff"));
    program::Said::of(command, "").fails_with(1, &["no UTF-8"]);
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    use std::process::Stdio;
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let place = Place::new();
    let mut command = place.command("--help");
    let status = command.stdout(writer).stdin(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(0));
}
