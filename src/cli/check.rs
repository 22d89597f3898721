//! `spillway check`: finds mistakes in configurations without running them.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::findings::{self, Format};
use super::flags::{self, Action, Invocation};
use super::{FAILED, OK, USAGE, pipelines, print, report, sample, say};
use crate::config::Variables;
use crate::config::diagnostic::{Diagnostics, Level};
use crate::config::render;
use crate::config::source::Sources;
use crate::event::Event;
use crate::pipeline::{self, Prepared};
use crate::settings::kind::{Kind, Value};
use crate::settings::values::Origin;
use crate::settings::{self, LoadError, Loaded, table};
use crate::testing;

const HELP: &str = "\
Finds mistakes in configurations without running them.

usage: spillway check [PATH…] [--deny warnings] [FLAGS]

Each PATH is a file, folder or glob with the configuration of one pipeline.
Without any, all pipelines of the settings folder are checked. FLAGS are those
of a run, such as --path.settings DIR.

  --deny warnings   warnings count as errors
  --events FILE     run sample events, one JSON object in a line, and tell the
                    branches that they take and the fields that they lack
  --format WORD     how it is printed: text, json (one object), github
                    (annotations of a workflow), sarif [text]
  --json            the same as --format json
  --env-file FILE   variables, one NAME=VALUE in a line
  --assume-env      variables that are not set are no mistake
  -h, --help        print this help and end

A comment `# spillway: allow(CODE)` silences a warning on the next line.

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
    format: Format,
    events: Option<Vec<Event>>,
    variables: Variables,
    assume_variables: bool,
    flags: Invocation,
}

/// All mistakes, and how many files they may be in.
#[derive(Default)]
struct Found {
    all: Diagnostics,
    files: Vec<PathBuf>,
    /// For the formats that programs read.
    findings: Vec<serde_json::Value>,
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
        if let Err(message) = check(path, &request, &mut found) {
            return refuse(&message);
        }
    }
    found.print(&request);
    let denied = |level| level == Level::Error || (request.deny_warnings && level == Level::Warning);
    if found.all.0.iter().any(|d| denied(d.level)) { FAILED } else { OK }
}

impl Found {
    /// Takes what was found in some sources, and prints it when it is for people.
    fn tell(&mut self, mut diagnostics: Diagnostics, sources: &Sources, pipeline: Option<&str>, request: &Request) {
        if request.assume_variables {
            // Whether a value that nobody knows is a wrong one, nobody knows.
            let is_assumed = |span| sources.text(span).contains("${");
            diagnostics.0.retain(|d| d.level != Level::Error || !d.span.is_some_and(is_assumed));
        }
        if request.format != Format::Text {
            self.findings.extend(report::json(&diagnostics, sources, pipeline));
        } else {
            let color = request.flags.color.unwrap_or_else(report::color_wanted);
            say(&report::text_with_notes(&diagnostics, sources, color));
        }
        self.all.0.extend(diagnostics.0);
    }

    fn print(&mut self, request: &Request) {
        // Files that are read for several pipelines are one file.
        self.files.sort();
        self.files.dedup();
        let findings = &self.findings;
        print(&match request.format {
            Format::Text => format!("{}\n", render::summary(&self.all, self.files.len())),
            Format::Github => findings::github(findings),
            Format::Sarif => format!("{}\n", findings::sarif(findings)),
            Format::Json => {
                let count = |level| self.all.0.iter().filter(|d| d.level == level).count();
                let (errors, warnings) = (count(Level::Error), count(Level::Warning));
                let object = json!({ "v": 1, "diagnostics": findings, "errors": errors, "warnings": warnings });
                format!("{object}\n")
            }
        });
    }
}

fn refuse(message: &str) -> u8 {
    say(&format!("ERROR: {message}\nSee: spillway check --help\n"));
    USAGE
}

fn read(arguments: &[String]) -> Result<Request, String> {
    let (mut paths, mut rest, mut deny_warnings) = (Vec::new(), Vec::new(), false);
    let mut format = Format::default();
    let (mut variables, mut assume_variables, mut events) = (Variables::from_environment(), false, None);
    let mut arguments = arguments.iter().peekable();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--deny" if arguments.next_if(|next| *next == "warnings").is_some() => deny_warnings = true,
            "--deny=warnings" => deny_warnings = true,
            "--deny" => return Err("--deny: write --deny warnings".into()),
            "--json" => format = Format::Json,
            "--format" => format = Format::parse(arguments.next().ok_or("option '--format': no value given")?)?,
            "--events" => {
                let file = arguments.next().ok_or("option '--events': no value given")?;
                let maps = testing::file::read_events(Path::new(file)).map_err(|e| e.to_string())?;
                events = Some(maps.into_iter().map(Event::from_map).collect());
            }
            "--assume-env" => {
                assume_variables = true;
                variables = variables.assumed();
            }
            "--env-file" => {
                let file = arguments.next().ok_or("option '--env-file': no value given")?;
                variables = variables.with_pairs(env_file(Path::new(file))?);
            }
            // The flags of a run are followed by their value.
            flag if flag.starts_with('-') => {
                rest.push(argument.clone());
                let takes_value = table::find_flag(flag).is_some_and(|s| s.kind != Kind::Bool);
                rest.extend(arguments.next_if(|_| takes_value).cloned());
            }
            _ => paths.push(argument.clone()),
        }
    }
    let flags = flags::parse(&rest).map_err(|error| error.to_string())?;
    Ok(Request { paths, deny_warnings, format, events, variables, assume_variables, flags })
}

/// `NAME=VALUE` in each line; blank lines and comments between.
fn env_file(path: &Path) -> Result<Vec<(String, String)>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: cannot be read: {e}", path.display()))?;
    let lines = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(n, line)| match line.strip_prefix("export ").unwrap_or(line).split_once('=') {
            Some((name, value)) => Ok((name.trim().to_owned(), value.trim_matches(['"', '\'']).to_owned())),
            None => Err(format!("{}:{n}: must be NAME=VALUE", path.display())),
        })
        .collect()
}

/// Checks the pipeline of a path, or all of the settings folder.
fn check(path: Option<&String>, request: &Request, found: &mut Found) -> Result<(), String> {
    let variables = &request.variables;
    let mut values = request.flags.values.clone();
    if let (Some(path), Some(setting)) = (path, table::find("path.config")) {
        values.set(setting, Value::Text(path.clone()), Origin::Flag(path.clone()));
    }
    let Loaded { settings, pipelines, diagnostics, sources, .. } = match settings::load(&values, variables) {
        Ok(loaded) => loaded,
        Err(LoadError::Usage(message)) => return Err(message),
        Err(LoadError::Invalid { diagnostics, sources }) => {
            found.tell(diagnostics, &sources, None, request);
            return Ok(());
        }
    };
    found.tell(diagnostics, &sources, None, request);
    let shared = pipelines::shared(&settings, variables);
    let mut prepared: Vec<Prepared> = pipelines.iter().map(|pipeline| pipelines::check(pipeline, &shared)).collect();
    pipeline::look_between(&mut prepared);
    for (pipeline, mut prepared) in pipelines.iter().zip(prepared) {
        if let Some(events) = request.events.as_ref().filter(|_| !prepared.diagnostics.has_errors()) {
            say(&sample::look(events, &mut prepared, &shared)
                .map_or_else(|why| format!("note: {why}\n"), |taken| taken.report()));
        }
        let id = Some(pipeline.id.as_str());
        found.tell(Diagnostics(pipeline.faults.clone()), &sources, id, request);
        found.tell(prepared.diagnostics, &prepared.sources, id, request);
        // A text in a settings file is in that file.
        let text_in = prepared.files.is_empty().then(|| PathBuf::from(&pipeline.config_set_at));
        found.files.extend(prepared.files.into_iter().chain(text_in));
    }
    Ok(())
}
