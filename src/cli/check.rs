//! `spillway check`: finds mistakes in configurations without running them.

use std::path::PathBuf;

use super::flags::{self, Action, Invocation};
use super::{FAILED, OK, USAGE, pipelines, print, report, say};
use crate::config::Variables;
use crate::config::diagnostic::{Diagnostics, Level};
use crate::config::render;
use crate::settings::kind::Value;
use crate::settings::values::Origin;
use crate::settings::{self, LoadError, Loaded, table};

const HELP: &str = "\
Finds mistakes in configurations without running them.

usage: spillway check [PATH…] [--deny warnings] [FLAGS]

Each PATH is a file, folder or glob with the configuration of one pipeline.
Without any, all pipelines of the settings folder are checked. FLAGS are those
of a run, such as --path.settings DIR.

  --deny warnings   warnings count as errors
  -h, --help        print this help and end

Exit code: 0 nothing wrong, 1 mistakes, 2 nothing could be checked.

Examples
  spillway check pipeline.conf
  spillway check --deny warnings 'conf.d/*.conf'
  spillway check --path.settings /etc/spillway
";

/// What is to be checked.
struct Request {
    /// One pipeline each; none means all of the settings folder.
    paths: Vec<String>,
    deny_warnings: bool,
    flags: Invocation,
}

/// All mistakes, and how many files they may be in.
#[derive(Default)]
struct Found {
    all: Diagnostics,
    files: Vec<PathBuf>,
}

/// Runs the subcommand with what follows its name.
pub(super) fn run(arguments: &[String]) -> u8 {
    let request = match read(arguments) {
        Ok(request) => request,
        Err(message) => return refuse(&message),
    };
    if request.flags.action != Action::Run {
        return print(HELP);
    }
    let mut found = Found::default();
    let paths: Vec<Option<&String>> =
        if request.paths.is_empty() { vec![None] } else { request.paths.iter().map(Some).collect() };
    for path in paths {
        if let Err(message) = check(path, &request.flags, &mut found) {
            return refuse(&message);
        }
    }
    // Files that are read for several pipelines are one file.
    found.files.sort();
    found.files.dedup();
    print(&format!("{}\n", render::summary(&found.all, found.files.len())));
    let denied = |level| level == Level::Error || (request.deny_warnings && level == Level::Warning);
    if found.all.0.iter().any(|d| denied(d.level)) { FAILED } else { OK }
}

fn refuse(message: &str) -> u8 {
    say(&format!("ERROR: {message}\nSee: spillway check --help\n"));
    USAGE
}

fn read(arguments: &[String]) -> Result<Request, String> {
    let (mut paths, mut rest, mut deny_warnings) = (Vec::new(), Vec::new(), false);
    let mut arguments = arguments.iter().peekable();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--deny" if arguments.next_if(|next| *next == "warnings").is_some() => deny_warnings = true,
            "--deny=warnings" => deny_warnings = true,
            "--deny" => return Err("--deny: write --deny warnings".into()),
            // The flags of a run are followed by their value.
            flag if flag.starts_with('-') => {
                rest.push(argument.clone());
                let takes_value = table::find_flag(flag).is_some_and(|s| s.kind != crate::settings::kind::Kind::Bool);
                rest.extend(arguments.next_if(|_| takes_value).cloned());
            }
            _ => paths.push(argument.clone()),
        }
    }
    let flags = flags::parse(&rest).map_err(|error| error.to_string())?;
    Ok(Request { paths, deny_warnings, flags })
}

/// Checks the pipeline of a path, or all of the settings folder.
fn check(path: Option<&String>, flags: &Invocation, found: &mut Found) -> Result<(), String> {
    let color = flags.color.unwrap_or_else(report::color_wanted);
    let variables = Variables::from_environment();
    let mut values = flags.values.clone();
    if let (Some(path), Some(setting)) = (path, table::find("path.config")) {
        values.set(setting, Value::Text(path.clone()), Origin::Flag(path.clone()));
    }
    let mut tell = |diagnostics: Diagnostics, sources: &_| {
        say(&report::text(&diagnostics, sources, color));
        found.all.0.extend(diagnostics.0);
    };
    let Loaded { settings, pipelines, diagnostics, sources } = match settings::load(&values, &variables) {
        Ok(loaded) => loaded,
        Err(LoadError::Usage(message)) => return Err(message),
        Err(LoadError::Invalid { diagnostics, sources }) => {
            tell(diagnostics, &sources);
            return Ok(());
        }
    };
    tell(diagnostics, &sources);
    let shared = pipelines::shared(&settings, &variables);
    for pipeline in &pipelines {
        tell(Diagnostics(pipeline.faults.clone()), &sources);
        let prepared = pipelines::check(pipeline, &shared);
        tell(prepared.diagnostics, &prepared.sources);
        // A text in a settings file is in that file.
        let text_in = prepared.files.is_empty().then(|| PathBuf::from(&pipeline.config_set_at));
        found.files.extend(prepared.files.into_iter().chain(text_in));
    }
    Ok(())
}
