//! Mistakes as users make them: where they are reported and in which words.

use crate::config::parse;
use crate::config::render::Renderer;

fn errors(text: &str) -> Vec<String> {
    let loaded = parse(text);
    let renderer = Renderer::new(&loaded.sources, false);
    loaded.diagnostics.0.iter().map(|d| renderer.render(d)).collect()
}

/// Each text must have exactly one error, at its place and with its words.
fn check<'w>(table: impl Iterator<Item = (String, String, &'w [&'w str])>) {
    let mut wrong = String::new();
    for (text, place, words) in table {
        let errors = errors(&text);
        let first = errors.first().map_or("nothing found", String::as_str);
        let place = format!("--> config string:{place}\n");
        let missing: Vec<&str> = words.iter().copied().filter(|word| !first.contains(word)).collect();
        if !first.contains(&place) || !missing.is_empty() || errors.len() != 1 {
            wrong +=
                &format!("{text}\nwanted {place}and {missing:?}, found {}:\n{}\n", errors.len(), errors.join("\n"));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_common_mistake_is_named() {
    // Text, line and column of the error, words that must be in it.
    let table: &[(&str, &str, &[&str])] = &[
        ("filter {\n  mutate {\n    id = \"x\"\n  }\n}\n", "3:8", &["`=`", "write `=>`"]),
        ("filter {\n  mutate {\n    id = > \"x\"\n  }\n}\n", "3:8", &["`= >`", "write `=>`"]),
        ("filter {\n  mutate {\n    id: \"x\"\n  }\n}\n", "3:7", &["`:`", "write `=>`"]),
        (
            "filter {\n  mutate {\n    add_field { \"a\" => \"b\" }\n  }\n}\n",
            "3:15",
            &["expected `=>`", "`add_field =>"],
        ),
        ("filter { mutate {\n add_field => { \"a\" => \"1\", \"b\" => \"2\" }\n} }", "2:27", &["comma", "remove"]),
        ("filter { mutate {\n id => \"x\",\n add_tag => \"y\"\n} }", "2:11", &["comma stands between settings"]),
        ("filter {\n  mutate { add_tag => [\"a\", \"b\",] }\n}\n", "2:32", &["trailing comma", "remove the comma"]),
        ("filter {\n  mutate { add_tag => [\"a\" \"b\"] }\n}\n", "2:28", &["without a comma", "opened here"]),
        ("filter {\n  mutate { add_field => { a => \"1\" } }\n}\n", "2:27", &["`a`", "write `\"a\"`"]),
        ("filter {\n  mutate { id => x }\n}\n", "2:18", &["single letter", "write `\"x\"`"]),
        ("filter {\n  mutate { add_tag => my-tag }\n}\n", "2:23", &["`my-tag` has no quotes", "write `\"my-tag\"`"]),
        ("filter {\n  x { path => /var/log/x.log }\n}\n", "2:15", &["`/var/log/x.log` has no quotes"]),
        ("filter {\n  x { every => 5s }\n}\n", "2:16", &["`5s` has no quotes"]),
        ("filter {\n  x { f => a.b.c }\n}\n", "2:12", &["`a.b.c` has no quotes"]),
        ("filter {\n  x { f => @timestamp }\n}\n", "2:12", &["`@timestamp` has no quotes"]),
        ("filter {\n  x { f => ${VAR} }\n}\n", "2:12", &["`$", "has no quotes"]),
        ("filter {\n  x { f => [aa][bb] }\n}\n", "2:16", &["quote the reference"]),
        ("filter {\n  x { f => /re/ }\n}\n", "2:12", &["regexp cannot be the value"]),
        ("filter {\n  x { add_field => { \"a\" => 1e3 } }\n}\n", "2:29", &["`1e3` has no quotes"]),
        ("filter {\n  x { add_field => { [a][b] => 1 } }\n}\n", "2:22", &["field reference", "quote"]),
        ("filter {\n  x { id => }\n}\n", "2:13", &["a value is missing"]),
        ("filter {\n  x { id \"a\" }\n}\n", "2:10", &["expected `=>`"]),
        ("filter {\n  x { add.field => 1 }\n}\n", "2:7", &["`add.field` is no name"]),
        ("filter {\n  x { aa => 1# c\n bb => 2 }\n}\n", "2:14", &["blank before `#`"]),
        ("filter {\n  x { aa => \"1\"bb => 2 }\n}\n", "2:16", &["right behind the closing"]),
        ("filter {\n  x { aa => 1; bb => 2 }\n}\n", "2:14", &["`;`"]),
        ("filter {\n  // c\n  x { aa => 1 }\n}\n", "2:3", &[]),
        ("filter {\n  x {\n    // c\n    aa => 1 }\n}\n", "3:5", &["comments start with `#`"]),
        ("filter {\n  mutate {\n    add_tag => [\"x\"]\u{a0}\n  }\n}\n", "3:21", &["non-breaking space (U+00A0)"]),
        ("filter {\n  mutate { id => “x” }\n}\n", "2:18", &["typographic quote `“`", "write `\"`"]),
        (
            "filter { mutate { add_field => { \"a\" => \"C:\\\" } } }\n",
            "1:41",
            &["never closed", "cannot end in a backslash"],
        ),
        ("filter {\n  x {\n    a => \"one\n    b => \"two\"\n  }\n}\n", "3:10", &["starts in line 3", "ends here"]),
        ("filter {\n  x {\n    a => \"one\n  }\n}\n", "3:10", &["never closed", "opened here"]),
        ("filter {\n  mutate { id => \"x\" }\n}\n}\n", "4:1", &["one `}` too many"]),
        ("filter {\n  mutate {\n    id => \"x\"\n}\n", "2:10", &["the block of `mutate` is not closed", "opened here"]),
        ("filter {\n  mutate { id => \"x\" }\n", "1:8", &["section `filter` is not closed"]),
        (
            "filter {\n  mutate {\n    id => \"x\"\n}\noutput {\n  stdout { }\n}\n",
            "2:10",
            &["not closed before `output`"],
        ),
        (
            "filter {\n  mutate {\n    add_tag => \"x\"\n  grok { }\n}\noutput { }\n",
            "2:10",
            &["block of `mutate` is not closed before `grok`"],
        ),
        ("filter {\n  x { a => [\"b\", \"c\" }\n  y { }\n}\n", "2:22", &["list is not closed", "opened here"]),
        ("filter {\n  x ( a => 1 )\n}\n", "2:5", &["write `x { … }`"]),
        ("filter {\n  x [ a => 1 ]\n}\n", "2:5", &["write `x { … }`"]),
        ("filter {\n  x { } else if { y { } }\n}\n", "2:9", &[]),
        ("filter {\n  unless [a] { y { } }\n}\n", "2:3", &["write `if !( … )`"]),
        ("filter {\n  x { a => 1 if [b] { } }\n}\n", "2:14", &["inside a plugin"]),
        ("filters { mutate { } }\n", "1:1", &["did you mean `filter`?"]),
        ("grok { }\n", "1:1", &["`filter { grok { … } }`"]),
        ("if [a] { }\n", "1:1", &["outside of a section"]),
        ("filter\n", "1:6", &["expected `{`"]),
        ("{ \"a\": 1 }\n", "1:1", &["looks like JSON"]),
        ("- pipeline.id: main\n  path.config: x\n", "1:1", &["looks like YAML"]),
        ("---\nfoo: 1\n", "1:1", &["looks like YAML"]),
        ("filter {\n  if [a] { }\n  elsif [b] { }\n}\n", "3:3", &["`else if`"]),
        ("filter {\n  else { mutate { } }\n}\n", "2:3", &["`else`"]),
        ("filter {\n  else { }\n}\n", "2:3", &["`else`"]),
        ("filter {\n  id => \"x\"\n}\n", "2:3", &["outside of a plugin"]),
        ("filter {\n  mutate\n}\n", "3:1", &["`mutate`", "expected `{`"]),
        ("filter { x { a => (1) } }", "1:19", &["parentheses"]),
    ];
    check(table.iter().map(|(text, place, words)| (text.to_string(), place.to_string(), *words)));
}

#[test]
fn every_common_mistake_in_a_condition_is_named() {
    // Condition, column in it, words.
    let table: &[(&str, usize, &[&str])] = &[
        ("[a] == true", 8, &["`true` is no literal", "write `[field]`"]),
        ("[a] == nil", 8, &["`nil` is no literal"]),
        ("status == 200", 1, &["write `[status]`"]),
        ("[a] == foo", 8, &["`\"foo\"` for a text"]),
        ("\"x\" in tags", 8, &["`[tags]` for a field"]),
        ("[a] && [b]", 5, &["write `and`"]),
        ("[a] || [b]", 5, &["write `or`"]),
        ("[a] AND [b]", 5, &["write `and`", "lower case"]),
        ("not [a]", 1, &["write `![field]`"]),
        ("[a] = 1", 5, &["write `==`"]),
        ("[a] === 1", 5, &["`===` is no operator", "write `==`"]),
        ("[a] <> 1", 5, &["write `!=`"]),
        ("[a] => 1", 5, &["write `>=`"]),
        ("1 < [a] < 3", 9, &["do not chain"]),
        ("![a] == 1", 6, &["`!([a] == 1)`"]),
        ("!\"x\"", 1, &["`!`"]),
        ("[a] [b]", 5, &["blank"]),
        ("[a] == 1e3", 8, &["`1e3` is no number"]),
        ("[a] == +1", 8, &["`+1` is no number"]),
        ("[a] == .5", 8, &["`.5` is no number"]),
        ("[a] == 5s", 8, &["`5s` is no number"]),
        ("([a] == 1", 11, &["expected `)`", "opened here"]),
        ("[a] == 1)", 9, &["one `)` too many"]),
        ("[a] and", 9, &["the condition ends behind `and`"]),
        ("[a] =~ [b]", 8, &["must be known beforehand"]),
        ("[a] =~ /x", 8, &["never closed"]),
        ("length([a]) > 1", 1, &["no functions"]),
        ("[a] == \u{201c}x\u{201d}", 8, &["typographic quote"]),
        ("[a] then", 5, &["remove it"]),
        ("[a] contains \"x\"", 5, &["in [field]"]),
        ("[a] !== 5", 5, &["`!==` is no operator", "write `!=`"]),
        ("[a] =~ /foo/i", 13, &["(?i)"]),
        ("[a] == 'it's'", 12, &["`s"]),
        ("[a] in (\"x\", \"y\")", 8, &["write `[\"x\", \"y\"]`"]),
        ("[a] == 'x", 8, &["never closed"]),
    ];
    check(table.iter().map(|(condition, column, words)| {
        let text = format!("filter {{\n  if {condition} {{\n    mutate {{ }}\n  }}\n}}\n");
        (text, format!("2:{}", column + 5), *words)
    }));
}

#[test]
fn independent_mistakes_are_reported_together() {
    let text = "\
input {
  stdin { codec = json }
}
filter {
  if status == 200 {
    mutate { add_tag => [\"a\",] }
    mutate { add_field => { \"k\" => 1 \"k\" => 2 } }
  } else if [x] && [y] {
    drop { }
  }
  grok { match => { \"m\" => \"%{X}\" }, id => \"g\" }
}
outputs { stdout { } }
output { stdout { id => my-id } }
";
    let errors = errors(text);
    let places: Vec<&str> =
        errors.iter().filter_map(|e| e.lines().next()?.split("line ").nth(1)?.split(',').next()).collect();
    assert_eq!(places, ["2", "5", "6", "8", "11", "13", "14", "7"], "{}", errors.join("\n"));
}

#[test]
fn the_nesting_has_an_end() {
    for open in ["[", "{", "(", "filter { x { a => ", "if [a] { "] {
        let text = format!("filter {{ if {} ", open.repeat(100_000));
        assert!(!errors(&text).is_empty());
        let text = format!("filter {{ x {{ a => {} ", open.repeat(100_000));
        assert!(!errors(&text).is_empty());
    }
    let deep = format!("filter {{ x {{ a => {}1{} }} }}", "[".repeat(90), "]".repeat(90));
    assert!(errors(&deep).is_empty());
    let deeper = format!("filter {{ x {{ a => {}1{} }} }}", "[".repeat(110), "]".repeat(110));
    assert!(errors(&deeper)[0].contains("more than 100 levels"));
}
