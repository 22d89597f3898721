//! `spillway plugin`: lists and shows.

mod program;

use program::Place;

#[test]
fn plugins_are_listed_by_kind_and_word() {
    let place = Place::new();
    let said = place.run("plugin list");
    assert_eq!(said.code, 0);
    for line in
        ["logstash-input-stdin", "logstash-filter-mutate", "logstash-output-elasticsearch", "logstash-codec-json"]
    {
        assert!(said.out.lines().any(|found| found == line), "{line}: {}", said.out);
    }
    let codecs = place.run("plugin list --group codec json").out;
    assert_eq!(codecs, "logstash-codec-json\nlogstash-codec-json_lines\n");
    assert!(place.run("plugin list --verbose truncate").out.starts_with("logstash-filter-truncate ("));
    place.run("plugin list nosuch").fails_with(1, &["nosuch"]);
    let json: serde_json::Value = serde_json::from_str(&place.run("plugin list --json truncate").out).unwrap();
    assert_eq!(json["plugins"][0]["name"], "truncate");
}

#[test]
fn options_are_shown_with_type_default_and_line() {
    let place = Place::new();
    let page = place.run("plugin show filter mutate").out;
    for part in ["filter mutate\n", "\nOptions\n", "rename", "hash", "Options of every filter", "add_field", "Example"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&place.run("plugin show --json input dead_letter_queue").out).unwrap();
    let options = json["plugins"][0]["options"].as_array().unwrap();
    let named = |name: &str| options.iter().find(|option| option["name"] == name).unwrap();
    assert_eq!((&named("path")["required"], &named("path")["type"]), (&true.into(), &"path".into()));
    assert_eq!(named("pipeline_id")["default"], "\"main\"");
    // A name alone shows every plugin that has it.
    let both = place.run("plugin show json").out;
    assert!(both.contains("filter json\n") && both.contains("codec json\n"));
}

#[test]
fn what_is_not_there_is_told() {
    let place = Place::new();
    place.run("plugin show filter mutat").fails_with(1, &["there is no filter named `mutat`", "did you mean `mutate`"]);
    place.run("plugin show input mutate").fails_with(1, &["`mutate` is of kind filter"]);
    place.run("plugin lst").fails_with(2, &["did you mean `list`"]);
    place.run("plugin").fails_with(2, &["list or show"]);
    place.run("plugin show nokind x").fails_with(2, &["nokind"]);
    assert_eq!(place.run("plugin --help").code, 0);
}
