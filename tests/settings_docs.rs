//! `docs/settings.md` lists every setting as the program knows it. After a change of the table:
//! `SPILLWAY_UPDATE=1 cargo test --test settings_docs`.

use std::fmt::Write;

use spillway::settings::kind::Kind;
use spillway::settings::table::{self, Scope, Setting};

const HEAD: &str = "\
# Settings

Settings come from `logstash.yml`, then `spillway.yml` beside it, then the command line; a later one wins. Each
pipeline in `pipelines.yml` may have its own where the column *per pipeline* says so, and so may each pipeline under
`pipelines: {<id>: {…}}` in `spillway.yml`. Names may be nested or dotted. `${NAME}` and `${NAME:default}` in values are
taken from the environment.

Settings marked *Spillway* are unknown to Logstash, which would refuse to start with them: they belong in
`spillway.yml`, so that the same folder still starts Logstash. Settings marked *ignored* are accepted so that a file of
Logstash starts, and have no meaning.

| setting | default | flags | per pipeline | |
| --- | --- | --- | --- | --- |
";

fn row(setting: &Setting) -> String {
    let kind = match setting.kind {
        Kind::Text | Kind::Password | Kind::Directory => String::new(),
        Kind::Bool => "true or false: ".into(),
        Kind::Count => "integer: ".into(),
        Kind::Number => "number: ".into(),
        Kind::Bytes => "size: ".into(),
        Kind::Time => "time: ".into(),
        Kind::Ports => "port: ".into(),
        Kind::List => "list: ".into(),
        Kind::Words(words) => format!("{}: ", words.join(", ")),
    };
    let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
    let flags: Vec<String> = setting.flags.iter().map(|flag| code(flag)).collect();
    let mark = match (setting.of_logstash, setting.without_meaning) {
        (false, _) => " *Spillway*",
        (true, true) => " *ignored*",
        (true, false) => "",
    };
    format!(
        "| `{}` | {} | {} | {} | {kind}{}{mark} |",
        setting.name,
        code(setting.default),
        flags.join(", "),
        if setting.scope == Scope::Pipeline { "yes" } else { "" },
        setting.note
    )
}

#[test]
fn the_page_of_settings_is_up_to_date() {
    let mut page = HEAD.to_owned();
    for setting in table::all() {
        writeln!(page, "{}", row(setting)).unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/settings.md");
    if std::env::var_os("SPILLWAY_UPDATE").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "docs/settings.md is out of date: SPILLWAY_UPDATE=1 cargo test --test settings_docs");
}
