//! Help texts, made from the table of settings and the list of subcommands. No line is longer than 80 columns.

use std::fmt::Write;

use super::SUBCOMMANDS;
use crate::settings::kind::Kind;
use crate::settings::table::{self, Setting};
use crate::version;

const WIDTH: usize = 80;
/// Where the notes start.
const COLUMN: usize = 30;

/// The version, for people or as JSON.
pub(super) fn version(json: bool) -> String {
    let (spillway, logstash) = (version::SPILLWAY, version::LOGSTASH);
    if json {
        let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        let object = serde_json::json!({ "v": 1, "version": spillway, "logstash": logstash, "target": target });
        return format!("{object}\n");
    }
    format!("spillway {spillway} (compatible with logstash {logstash})\n")
}

/// The short usage that follows an error.
pub(super) fn usage() -> String {
    "usage: spillway [-f FILE | -e 'CONFIG' | --path.settings DIR] [-t] [FLAGS]\n       \
     spillway COMMAND …\nSee: spillway --help\n"
        .into()
}

/// The flags that one needs on a first day.
pub(super) fn short() -> String {
    let mut out = head();
    let first_day = ["path.config", "config.string", "path.settings", "path.data", "config.test_and_exit", "log.level"];
    flags(&mut out, "Flags", table::all().filter(|s| first_day.contains(&s.name)));
    out.push_str("\nAll flags: spillway --help\n");
    out
}

/// Everything.
pub(super) fn long() -> String {
    let mut out = head();
    for (title, prefixes) in GROUPS {
        let belongs = |s: &&Setting| !s.flags.is_empty() && prefixes.iter().any(|prefix| s.name.starts_with(prefix));
        flags(&mut out, title, table::all().filter(belongs));
    }
    out.push_str("\nOther\n");
    entry(&mut out, "  -S, --setting KEY=VALUE", "any setting, also those without a flag");
    entry(&mut out, "      --color WORD", "colours in mistakes: always, never, auto [auto]");
    entry(&mut out, "  -V, --version", "print the version (with --json as JSON) and end");
    entry(&mut out, "  -h, --help", "print help, -h the short one, and end");
    out.push_str("\nFlags override logstash.yml. On/off flags may be followed by true or false.\n");
    out
}

/// Each group's settings by the start of their names.
const GROUPS: &[(&str, &[&str])] = &[
    ("What to run", &["path.config", "config.string", "path.settings", "config.test_and_exit", "config.reload"]),
    ("Pipelines", &["pipeline.", "config.field_reference", "config.debug"]),
    ("This node", &["node.", "path.data", "path.logs", "path.plugins", "api."]),
    ("Logs", &["log."]),
    ("Accepted for Logstash's sake", &["interactive", "enable-"]),
];

fn head() -> String {
    let mut out = String::from(
        "Runs Logstash pipelines and loses nothing on the way.\n\n\
         usage: spillway [FLAGS]\n       spillway COMMAND …\n\nExamples\n  \
         spillway -e 'input { stdin {} } output { stdout {} }'\n  \
         spillway -t -f pipeline.conf\n  \
         spillway --path.settings /etc/spillway\n\nCommands\n",
    );
    for subcommand in SUBCOMMANDS {
        entry(&mut out, &format!("  {}", subcommand.name), subcommand.summary);
    }
    out
}

fn flags(out: &mut String, title: &str, settings: impl Iterator<Item = &'static Setting>) {
    let _infallible = write!(out, "\n{title}\n");
    for setting in settings {
        let names = setting.flags.join(", ");
        // Flags without a short form line up with the long forms of the others.
        let indent = if names.starts_with("--") { "      " } else { "  " };
        let value = if setting.kind == Kind::Bool { "" } else { value_name(setting.kind) };
        let choices = match setting.kind {
            Kind::Words(words) => format!(": {}", words.join(", ")),
            _ => String::new(),
        };
        let default = match (setting.kind, setting.default) {
            (Kind::Bool, _) | (_, "") => String::new(),
            (_, default) => format!(" [{default}]"),
        };
        entry(out, &format!("{indent}{names}{value}"), &format!("{}{choices}{default}", setting.note));
    }
}

fn value_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::Password => " TEXT",
        Kind::Bool => "",
        Kind::Count | Kind::Number => " N",
        Kind::Bytes => " SIZE",
        Kind::Time => " TIME",
        Kind::Directory | Kind::List => " DIR",
        Kind::Ports => " PORT",
        Kind::Words(_) => " WORD",
    }
}

/// A name and its note, wrapped.
fn entry(out: &mut String, name: &str, note: &str) {
    let mut line = name.to_owned();
    let mut width = name.chars().count();
    if width + 2 > COLUMN {
        let _infallible = writeln!(out, "{line}");
        (line, width) = (String::new(), 0);
    }
    for word in note.split(' ') {
        let length = word.chars().count();
        let gap = if width < COLUMN { COLUMN - width } else { 1 };
        if width + gap + length > WIDTH {
            let _infallible = writeln!(out, "{line}");
            line = " ".repeat(COLUMN);
            width = COLUMN + length;
        } else {
            line.push_str(&" ".repeat(gap));
            width += gap + length;
        }
        line.push_str(word);
    }
    let _infallible = writeln!(out, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_is_in_the_help_and_fits() {
        let help = long();
        for flag in table::all().flat_map(|s| s.flags) {
            assert!(help.contains(flag), "{flag}");
        }
        for line in help.lines().chain(short().lines()) {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }
}
