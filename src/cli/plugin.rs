//! `spillway plugin`: which plugins there are, and which options they have.

use std::fmt::Write;

use serde_json::json;

use super::{FAILED, OK, USAGE, print, say};
use crate::config::ast::PluginKind;
use crate::config::{did_you_mean, nearest};
use crate::plugins::describe::{self, Description, KINDS};
use crate::plugins::options::{OptionSpec, Presence};
use crate::version;

const HELP: &str = "\
Tells which plugins there are, and which options they have.

usage: spillway plugin list [--group KIND] [--verbose] [--json] [WORD]
       spillway plugin show [KIND] NAME [--json]

KIND is input, filter, output or codec. With WORD only plugins with that word
in their name are listed.

  --group KIND    only plugins of this kind
  -v, --verbose   with version and purpose
  --json          as JSON
  -h, --help      print this help and end

Exit code: 0 done, 1 no such plugin, 2 usage.

Examples
  spillway plugin list --group codec
  spillway plugin show filter mutate
  spillway plugin show elasticsearch --json
";

/// What is asked for.
#[derive(Debug, Default)]
struct Request {
    words: Vec<String>,
    group: Option<PluginKind>,
    verbose: bool,
    json: bool,
    help: bool,
}

/// Runs the subcommand with what follows its name.
pub(super) fn run(arguments: &[String]) -> u8 {
    let request = match read(arguments) {
        Ok(request) => request,
        Err(message) => return refuse(&message),
    };
    let words: Vec<&str> = request.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        _ if request.help => print(HELP),
        ["list"] => list(&request, ""),
        ["list", word] => list(&request, word),
        ["show", name] => show(&request, request.group, name),
        ["show", kind, name] => match kind_named(kind) {
            Some(kind) => show(&request, Some(kind), name),
            None => refuse(&format!("`{kind}` is none of input, filter, output, codec")),
        },
        ["list" | "show", ..] => refuse("too many or too few words"),
        [] => refuse("say what to do: list or show"),
        [other, ..] => {
            let near = nearest(other, ["list", "show"]);
            let hint = did_you_mean(&near).map(|question| format!("; {question}")).unwrap_or_default();
            refuse(&format!("Unknown command 'plugin {other}'{hint}"))
        }
    }
}

fn read(arguments: &[String]) -> Result<Request, String> {
    let mut request = Request::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--group" => {
                let word = rest.next().ok_or("option '--group': no value given")?;
                request.group = Some(group(word)?);
            }
            "-v" | "--verbose" => request.verbose = true,
            "--json" => request.json = true,
            "-h" | "--help" => request.help = true,
            flag if flag.starts_with('-') => match flag.strip_prefix("--group=") {
                Some(word) => request.group = Some(group(word)?),
                None => return Err(format!("Unrecognised option '{flag}'")),
            },
            word => request.words.push(word.to_owned()),
        }
    }
    Ok(request)
}

fn group(word: &str) -> Result<PluginKind, String> {
    kind_named(word).ok_or_else(|| format!("--group `{word}` is none of input, filter, output, codec"))
}

fn kind_named(word: &str) -> Option<PluginKind> {
    KINDS.into_iter().find(|kind| kind.as_str() == word)
}

fn refuse(message: &str) -> u8 {
    say(&format!("ERROR: {message}\nSee: spillway plugin --help\n"));
    USAGE
}

/// As `logstash-plugin` names them.
fn list(request: &Request, word: &str) -> u8 {
    let is_wanted =
        |plugin: &Description| request.group.is_none_or(|kind| kind == plugin.kind) && gem(plugin).contains(word);
    let wanted: Vec<Description> = describe::all().into_iter().filter(is_wanted).collect();
    if request.json {
        let plugins: Vec<_> =
            wanted.iter().map(|p| json!({ "type": p.kind.as_str(), "name": p.name, "summary": p.summary })).collect();
        return print(&format!("{}\n", json!({ "v": 1, "plugins": plugins })));
    }
    if wanted.is_empty() {
        say(&format!("no plugin has `{word}` in its name\n"));
        return FAILED;
    }
    let line = |plugin: &Description| match request.verbose {
        true => format!("{} ({})  {}\n", gem(plugin), version::SPILLWAY, plugin.summary),
        false => format!("{}\n", gem(plugin)),
    };
    print(&wanted.iter().map(line).collect::<String>())
}

fn gem(plugin: &Description) -> String {
    format!("logstash-{}-{}", plugin.kind, plugin.name)
}

fn show(request: &Request, kind: Option<PluginKind>, name: &str) -> u8 {
    let all = describe::all();
    let wanted: Vec<&Description> =
        all.iter().filter(|plugin| plugin.name == name && kind.is_none_or(|kind| kind == plugin.kind)).collect();
    if wanted.is_empty() {
        let what = kind.map_or("plugin", PluginKind::as_str);
        let near = nearest(name, all.iter().map(|plugin| plugin.name));
        let elsewhere: Vec<String> =
            all.iter().filter(|p| p.name == name).map(|p| format!("`{}` is of kind {}", p.name, p.kind)).collect();
        let hint = did_you_mean(&near).or_else(|| elsewhere.first().cloned());
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        say(&format!("ERROR: there is no {what} named `{name}`{hint}\n"));
        return FAILED;
    }
    if request.json {
        let plugins: Vec<_> = wanted.iter().map(|plugin| as_json(plugin)).collect();
        print(&format!("{}\n", json!({ "v": 1, "plugins": plugins })));
    } else {
        print(&wanted.iter().map(|plugin| page(plugin)).collect::<Vec<_>>().join("\n"));
    }
    OK
}

fn as_json(plugin: &Description) -> serde_json::Value {
    let options = |specs: &[OptionSpec]| specs.iter().map(option_as_json).collect::<Vec<_>>();
    json!({ "type": plugin.kind.as_str(), "name": plugin.name, "summary": plugin.summary,
            "options": options(&plugin.options), "common_options": options(&plugin.common), "example": example(plugin) })
}

fn option_as_json(spec: &OptionSpec) -> serde_json::Value {
    let presence = &spec.presence;
    json!({
        "name": spec.name,
        "type": spec.kind,
        "doc": spec.doc,
        "required": matches!(presence, Presence::Required),
        "default": match presence { Presence::Default(value) => Some(value.clone()), _ => None },
        "values": if spec.words.is_empty() { None } else { Some(spec.words) },
        "deprecated": spec.deprecated,
        "obsolete": match presence { Presence::Obsolete(instead) => Some(*instead), _ => None },
        "unsupported": match presence { Presence::Unsupported(why) => Some(*why), _ => None },
    })
}

fn page(plugin: &Description) -> String {
    let mut out = format!("{} {}\n{}\n", plugin.kind, plugin.name, plugin.summary);
    options(&mut out, "Options", &plugin.options);
    options(&mut out, &format!("Options of every {}", plugin.kind), &plugin.common);
    let _infallible = write!(out, "\nExample\n{}", example(plugin));
    out
}

fn options(out: &mut String, title: &str, specs: &[OptionSpec]) {
    if specs.is_empty() {
        return;
    }
    let _infallible = write!(out, "\n{title}\n");
    for spec in specs {
        let state = match &spec.presence {
            Presence::Required => "required".into(),
            Presence::Optional => String::new(),
            Presence::Default(value) => format!("default {value}"),
            Presence::Obsolete(instead) => format!("obsolete: {instead}"),
            Presence::Unsupported(why) => format!("not supported: {why}"),
        };
        let state = match spec.deprecated {
            Some(instead) => format!("{state} deprecated: {instead}").trim_start().to_owned(),
            None => state,
        };
        let words = if spec.words.is_empty() { String::new() } else { format!(" ({})", spec.words.join(", ")) };
        let refused = matches!(spec.presence, Presence::Obsolete(_) | Presence::Unsupported(_));
        let kind = if refused { "" } else { spec.kind };
        let head = format!("  {:<28} {kind}{words}", spec.name);
        let _infallible = writeln!(out, "{}", format!("{head:<52}  {state}").trim_end());
        if !refused && !spec.doc.is_empty() {
            let _infallible = writeln!(out, "      {}", spec.doc);
        }
    }
}

/// The plugin with its required options, as it would stand in a `.conf`.
pub(super) fn example(plugin: &Description) -> String {
    let required = plugin.options.iter().filter(|spec| matches!(spec.presence, Presence::Required));
    let lines: Vec<String> = required.map(|spec| format!("{} => {}", spec.name, example_value(spec))).collect();
    let (name, body) = (plugin.name, lines.join("\n    "));
    match (plugin.kind, lines.is_empty()) {
        (PluginKind::Codec, true) => format!("codec => {name}\n"),
        (PluginKind::Codec, false) => format!("codec => {name} {{ {} }}\n", lines.join(" ")),
        (kind, true) => format!("{kind} {{\n  {name} {{ }}\n}}\n"),
        (kind, false) => format!("{kind} {{\n  {name} {{\n    {body}\n  }}\n}}\n"),
    }
}

fn example_value(spec: &OptionSpec) -> String {
    if let Some(word) = spec.words.first() {
        return format!("\"{word}\"");
    }
    match spec.kind {
        "number" | "bytes" | "number of seconds" => "10".into(),
        "list of numbers" => "[10]".into(),
        "boolean" => "true".into(),
        "hash" | "hash of templates" => "{ \"message\" => \"…\" }".into(),
        kind if kind.starts_with("list") => "[\"…\"]".into(),
        "field" => "\"message\"".into(),
        _ => "\"…\"".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_holds_what_is_required() {
        let all = describe::all();
        let of = |name: &str| example(all.iter().find(|plugin| plugin.name == name).unwrap());
        assert_eq!(of("drop"), "filter {\n  drop { }\n}\n");
        assert!(of("truncate").contains("length_bytes => 10\n"), "{}", of("truncate"));
    }
}
