//! `docs/plugins/` and `docs/compatibility.md` say of each plugin what its declarations say. After a change of options:
//! `SPILLWAY_UPDATE=1 cargo test --test plugin_docs`.
//!
//! `docs/logstash-options.tsv` lists the options of Logstash's plugins; the page on compatibility holds them against
//! those that are declared here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use spillway::plugins::describe::{self, Description};
use spillway::plugins::options::{OptionSpec, Presence};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

/// A line of a table cannot hold a bar.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn state(spec: &OptionSpec) -> String {
    let state = match &spec.presence {
        Presence::Required => "required".into(),
        Presence::Optional => String::new(),
        Presence::Default(value) => format!("`{}`", cell(value)),
        Presence::Obsolete(instead) => format!("refused, obsolete: {}", cell(instead)),
        Presence::Unsupported(why) => format!("refused: {}", cell(why)),
    };
    match spec.deprecated {
        Some(instead) => format!("{state} deprecated: {}", cell(instead)).trim_start().to_owned(),
        None => state,
    }
}

fn table(out: &mut String, title: &str, specs: &[OptionSpec]) {
    if specs.is_empty() {
        return;
    }
    write!(out, "\n## {title}\n\n| option | type | default | |\n| --- | --- | --- | --- |\n").unwrap();
    for spec in specs {
        let words: Vec<String> = spec.words.iter().map(|word| format!("`{word}`")).collect();
        let refused = matches!(spec.presence, Presence::Obsolete(_) | Presence::Unsupported(_));
        let kind = match (refused, words.is_empty()) {
            (true, _) => String::new(),
            (false, true) => spec.kind.to_owned(),
            (false, false) => words.join(", "),
        };
        let doc = if refused { "" } else { spec.doc };
        writeln!(out, "| `{}` | {kind} | {} | {} |", spec.name, state(spec), cell(doc)).unwrap();
    }
}

fn page(plugin: &Description) -> String {
    let mut out = format!("# {} {}\n\n{}\n", plugin.kind, plugin.name, plugin.summary);
    table(&mut out, "Options", &plugin.options);
    table(&mut out, &format!("Options of every {}", plugin.kind), &plugin.common);
    write!(out, "\nThe same on a terminal: `spillway plugin show {} {}`.\n", plugin.kind, plugin.name).unwrap();
    out
}

fn file(plugin: &Description) -> String {
    format!("{}-{}.md", plugin.kind, plugin.name)
}

fn index(all: &[Description]) -> String {
    let mut out = "# Plugins\n\nOne page each, made from the declarations in the program. What of Logstash's plugins is here and what is\n\
                   not: [compatibility](../compatibility.md).\n"
        .to_owned();
    for kind in describe::KINDS {
        write!(out, "\n## {kind}\n\n").unwrap();
        for plugin in all.iter().filter(|plugin| plugin.kind == kind) {
            writeln!(out, "- [{}]({}): {}", plugin.name, file(plugin), plugin.summary).unwrap();
        }
    }
    out
}

/// Options of Logstash by kind and plugin.
type Known = BTreeMap<(String, String), Vec<String>>;

fn known() -> Known {
    let text = std::fs::read_to_string(docs().join("logstash-options.tsv")).unwrap();
    let mut known = Known::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [kind, plugin, option] = cells.as_slice() else { panic!("{line}") };
        let options = known.entry(((*kind).into(), (*plugin).into())).or_default();
        if !option.is_empty() {
            options.push((*option).into());
        }
    }
    known
}

fn compatibility(all: &[Description]) -> String {
    let known = known();
    let mut out = "# Compatibility\n\nWhich of Logstash's plugins and options work, and which are refused when a pipeline starts. None is accepted and\n\
                   ignored. Options that all plugins of a kind have are not repeated here. Made from the declarations in the program.\n"
        .to_owned();
    for kind in describe::KINDS {
        write!(out, "\n## {kind}\n\n| plugin | supported | refused | only in Spillway |\n| --- | --- | --- | --- |\n")
            .unwrap();
        let mut names: BTreeSet<&str> = all.iter().filter(|p| p.kind == kind).map(|p| p.name).collect();
        names.extend(known.keys().filter(|(k, _)| k == kind.as_str()).map(|(_, plugin)| plugin.as_str()));
        for name in names {
            let options = known.get(&(kind.to_string(), name.to_owned()));
            let row = match all.iter().find(|p| p.kind == kind && p.name == name) {
                Some(plugin) => row(plugin, options.map(Vec::as_slice).unwrap_or_default(), options.is_some()),
                None => format!("| `{name}` | | the plugin is not there yet | |"),
            };
            writeln!(out, "{row}").unwrap();
        }
    }
    out
}

fn row(plugin: &Description, wanted: &[String], of_logstash: bool) -> String {
    let declared = |name: &str| plugin.options.iter().chain(&plugin.common).find(|spec| spec.name == name);
    let code = |name: &str| format!("`{name}`");
    let (mut works, mut refused) = (Vec::new(), Vec::new());
    for name in wanted {
        match declared(name).map(|spec| &spec.presence) {
            Some(Presence::Obsolete(instead)) => refused.push(format!("{} (obsolete: {})", code(name), cell(instead))),
            Some(Presence::Unsupported(why)) => refused.push(format!("{} ({})", code(name), cell(why))),
            Some(_) => works.push(code(name)),
            None => refused.push(format!("{} (not there yet)", code(name))),
        }
    }
    let is_works = |spec: &&OptionSpec| !matches!(spec.presence, Presence::Obsolete(_) | Presence::Unsupported(_));
    let own = plugin.options.iter().filter(is_works).filter(|spec| !wanted.iter().any(|name| name == spec.name));
    let own: Vec<String> = own.map(|spec| code(spec.name)).collect();
    let own = if of_logstash { own.join(", ") } else { format!("the plugin: {}", own.join(", ")) };
    let works = if wanted.is_empty() && of_logstash { "has no options".to_owned() } else { works.join(", ") };
    let link = format!("[{}](plugins/{})", code(plugin.name), file(plugin));
    format!("| {link} | {works} | {} | {own} |", refused.join(", "))
}

#[test]
fn the_pages_of_plugins_are_up_to_date() {
    let all = describe::all();
    let mut pages = BTreeMap::from([
        (docs().join("compatibility.md"), compatibility(&all)),
        (docs().join("plugins/README.md"), index(&all)),
    ]);
    pages.extend(all.iter().map(|plugin| (docs().join("plugins").join(file(plugin)), page(plugin))));
    if std::env::var_os("SPILLWAY_UPDATE").is_some() {
        let _ = std::fs::remove_dir_all(docs().join("plugins"));
        std::fs::create_dir_all(docs().join("plugins")).unwrap();
        pages.iter().for_each(|(path, text)| std::fs::write(path, text).unwrap());
    }
    let is_stale = |(path, text): &(&PathBuf, &String)| std::fs::read_to_string(path).ok().as_ref() != Some(*text);
    let stale: Vec<_> = pages.iter().filter(is_stale).map(|(path, _)| path.display().to_string()).collect();
    assert!(stale.is_empty(), "out of date, run SPILLWAY_UPDATE=1 cargo test --test plugin_docs: {stale:?}");
    for entry in std::fs::read_dir(docs().join("plugins")).unwrap() {
        let path = entry.unwrap().path();
        assert!(pages.contains_key(&path), "{} is of no plugin", path.display());
    }
}
