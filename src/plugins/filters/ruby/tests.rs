//! What is wrong with scripts is told at its line, and scripts see the same event whether they name its fields or not.

use crate::plugins::testing::{compiled, filtered, warnings};

fn error(filter: &str) -> String {
    compiled(&format!("filter {{ ruby {{ {filter} }} }}")).err().unwrap_or_default()
}

#[test]
fn a_mistake_in_code_or_init_is_told_with_its_line() {
    let syntax = error("code => 'a = 1\nb = (\n'");
    assert!(syntax.contains("`code` of the ruby filter") && syntax.contains("syntax error"), "{syntax}");
    let init = error("init => 'x = 1\nraise \"no table\"' code => ''");
    assert!(init.contains("`init` of the ruby filter") && init.contains("no table (RuntimeError)"), "{init}");
    let both = "filter { ruby { code => '' path => '/dev/null' add_tag => 'ok' } }";
    assert!(warnings(both).contains("every event is tagged"));
    assert_eq!(filtered(both, &["{}"]), [r#"{"tags":["_rubyexception"]}"#]);
    let nothing = warnings("filter { ruby { } }");
    assert!(nothing.contains("`code` or `path`"), "{nothing}");
}

#[test]
fn a_script_file_with_a_mistake_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, expected) in [
        ("syntax.rb", "def filter(event)\n  [event\nend\n", "syntax error"),
        ("none.rb", "def register(params)\nend\n", "has no `filter` method"),
        ("load.rb", "require 'no/such/library'\ndef filter(e) [e] end\n", "LoadError"),
        ("start.rb", "def register(params)\n  raise 'bad ' + params['k']\nend\ndef filter(e) [e] end\n", "bad v"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let told = error(&format!("path => '{}' script_params => {{ 'k' => 'v' }}", path.display()));
        assert!(told.contains(expected), "{name}: {told}");
    }
}

#[test]
fn a_script_sees_the_same_whether_it_names_fields_or_not() {
    let event = r#"{"a":{"b":[1,{"c":"x"}],"d":null},"s":"t","tags":["t"],"@metadata":{"m":{"n":1}}}"#;
    for code in [
        "event.set('[a][b][5]', 1)",
        "event.set('[s][x]', 1)",
        "event.set('[a][b][1][c]', event.get('[a][b][-1][c]') + 'y')",
        "event.set('r', [event.include?('[a][d]'), event.include?('[a][zz]'), event.include?('[@metadata][m]')])",
        "event.set('r', event.remove('[a][b][0]')); event.tag('u'); event.tag('t')",
        "event.set('r', event.get('a')); event.remove('a')",
        "event.set('r', event.get('[@metadata][m]')); event.set('[@metadata][m]', 2); event.set('q', event.get('@metadata'))",
        "event.get('s') << 'u'; event.set('r', event.get('s'))",
        "event.set('r', event.get('[zz][y]')); event.set('[zz][y]', 1)",
    ] {
        let named = filtered(&format!("filter {{ ruby {{ code => \"{code}\" }} }}"), &[event]);
        let whole = filtered(&format!("filter {{ ruby {{ code => \"e = event; {code}\" }} }}"), &[event]);
        assert_eq!(named, whole, "{code}");
        assert!(!named.is_empty() && named != [event], "{code}");
    }
}

#[test]
fn every_way_to_change_an_event_reaches_it() {
    let run = |code: &str, event: &str| filtered(&format!("filter {{ ruby {{ code => \"{code}\" }} }}"), &[event]);
    assert_eq!(run("event.overwrite(LogStash::Event.new('x' => 1))", r#"{"a":1}"#), [r#"{"x":1}"#]);
    assert_eq!(
        run(
            "event.append(LogStash::Event.new('l' => [2, 3], 'm' => { 'b' => 2 }, 'n' => 1))",
            r#"{"l":[1,2],"m":{"a":1},"n":2}"#
        )[0]
        .replace(|c: char| c.is_whitespace(), ""),
        r#"{"l":[1,2,3],"m":{"a":1,"b":2},"n":[2,1]}"#
    );
    assert_eq!(run("event.set('tags', nil)", r#"{"tags":["a"]}"#), [r#"{"tags":null}"#]);
    assert_eq!(
        run("event.remove('@metadata'); event.set('m', event.get('@metadata'))", r#"{"@metadata":{"a":1}}"#),
        [r#"{"m":{}}"#]
    );
    assert_eq!(
        run(
            "LogStash::Event.from_json(LogStash::Json.dump([{ 'b' => 1 }, { 'b' => 2 }])).each { |e| new_event_block.call(e) }",
            r#"{"a":1}"#
        )
        .len(),
        3
    );
    assert_eq!(
        run("event.set('d', BigDecimal('1.50')); event.set('e', event.get('d') * 2)", "{}"),
        [r#"{"d":1.5,"e":3}"#]
    );
    assert_eq!(
        run("begin; java.util.Date.new; rescue NameError => e; event.set('e', e.message); end", "{}"),
        [r#"{"e":"Java classes need JRuby, and this is Ruby without Java"}"#]
    );
}
