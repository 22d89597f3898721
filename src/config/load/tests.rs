use super::*;
use crate::config::ast::Node;

fn string(text: &str) -> Loaded {
    let origin = Origin::String { name: "config string".into(), text: text.into() };
    load(&origin, &Language::default(), &Variables::default())
}

fn codes(loaded: &Loaded) -> Vec<&'static str> {
    loaded.diagnostics.0.iter().map(|d| d.code).collect()
}

#[test]
fn a_string_gets_the_sections_it_lacks() {
    let loaded = string("filter { }");
    assert_eq!(codes(&loaded), ["no-input", "no-output"]);
    assert_eq!(loaded.config.inputs[0].name, "stdin");
    assert_eq!(loaded.config.outputs.len(), 1);
    let loaded = string("input { stdin { } } # output {");
    assert_eq!(codes(&loaded), Vec::<&str>::new());
    assert!(loaded.config.outputs.is_empty());
}

#[test]
fn each_file_is_read_by_itself_and_the_sections_are_joined() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("2.conf"), "\u{feff}filter { two { } }").unwrap();
    std::fs::write(dir.path().join("1.conf"), "input { in { } }\nfilter { one { } }\noutput { out { } }").unwrap();
    let path = dir.path().display().to_string();
    let loaded = load(&Origin::Path(path.clone()), &Language::default(), &Variables::default());
    assert_eq!(codes(&loaded), Vec::<&str>::new());
    let names: Vec<&str> = loaded
        .config
        .filters
        .iter()
        .map(|node| match node {
            Node::Plugin(plugin) => plugin.name.as_str(),
            Node::Branch(_) => "",
        })
        .collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!(loaded.files.len(), 2);

    std::fs::write(dir.path().join("3.conf"), b"filter { \xff }").unwrap();
    std::fs::write(dir.path().join("4.conf"), "filter {").unwrap();
    let loaded = load(&Origin::Path(path), &Language::default(), &Variables::default());
    assert_eq!(codes(&loaded), ["not-readable", "syntax"]);
    assert!(loaded.diagnostics.0[0].message.contains("3.conf"));
}

#[test]
fn a_device_is_not_read_to_its_end() {
    let loaded = load(&Origin::Path("/dev/zero".into()), &Language::default(), &Variables::default());
    assert_eq!(codes(&loaded), ["not-readable"]);
}

#[test]
fn variables_reach_nested_values_but_not_keys_names_and_comments() {
    let text = r#"
        input { stdin { codec => plain { charset => "${A}" } } } # ${NOT_DEFINED}
        output { stdout { x => { "${A}" => ["${A}", { "k" => "${A}" }] } y => "${A}" y => "${A}" } }
    "#;
    let origin = Origin::String { name: "config string".into(), text: text.into() };
    let loaded = load(&origin, &Language::default(), &Variables::from_pairs([("A", "alpha")]));
    assert_eq!(codes(&loaded), Vec::<&str>::new());
    let shown = format!("{:?}", loaded.config);
    assert_eq!(shown.matches("\"alpha\"").count(), 4, "{shown}");
    assert_eq!(shown.matches("\"${A}\"").count(), 1, "{shown}");
}

#[test]
fn all_undefined_variables_are_reported_at_once() {
    let loaded = string(
        "input { stdin { a => \"${ONE}\" } }\nfilter { if [x] == \"${TWO}\" { } }\noutput { o { b => [\"x ${THREE}\"] } }",
    );
    assert_eq!(codes(&loaded), ["undefined-variable"]);
    let error = &loaded.diagnostics.0[0];
    assert!(["ONE", "TWO", "THREE"].iter().all(|name| error.message.contains(name)), "{}", error.message);
    assert_eq!(error.related.len(), 2);
}

#[test]
fn inputs_of_all_branches_run() {
    let loaded = parse("input { if [a] == 1 { one { } } else { two { } if [b] { three { } } } }");
    assert_eq!(codes(&loaded), ["input-condition", "input-condition"]);
    let names: Vec<&str> = loaded.config.inputs.iter().map(|plugin| plugin.name.as_str()).collect();
    assert_eq!(names, ["one", "two", "three"]);
}

#[test]
fn what_cannot_stand_in_a_value_is_refused() {
    for (text, code, words) in [
        ("filter { x { a => [json { }] } }", "invalid-value", "`json`"),
        ("filter { x { a => { \"k\" => json { } } } }", "invalid-value", "`json`"),
        ("filter { x { a => { \"twice\" => 1 \"twice\" => 2 } } }", "invalid-value", "twice"),
        ("input { x { codec => json codec => plain } }", "invalid-value", "`codec`"),
        ("filter { x { a => 08 } }", "syntax", "octal"),
        ("filter { x { a => 1. } }", "syntax", "point"),
        ("filter { x { a => 99999999999999999999 } }", "syntax", "64 bits"),
    ] {
        let loaded = parse(text);
        assert_eq!(codes(&loaded), [code], "{text}");
        assert!(loaded.diagnostics.0[0].message.contains(words), "{text}");
    }
}

#[test]
fn an_id_takes_no_secret() {
    let text = "input { stdin { id => \"${S}\" type => \"${S}\" } } output { stdout { id => \"${E}\" } }";
    let origin = Origin::String { name: "config string".into(), text: text.into() };
    let variables = Variables::from_pairs([("E", "plain")]).with_secrets([("S", "secret")]);
    let loaded = load(&origin, &Language::default(), &variables);
    assert_eq!(codes(&loaded), ["undefined-variable"]);
    assert!(loaded.diagnostics.0[0].related.is_empty());
}
