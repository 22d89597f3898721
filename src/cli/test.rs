//! `spillway test`: runs given/expected cases through the filters of a configuration.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{FAILED, OK, USAGE, print, say};
use crate::event::Timestamp;
use crate::settings::suggest;
use crate::testing::{self, Defaults, Entry, Runner, Tally, Verdict, file, report};

const HELP: &str = "\
Runs given/expected cases through the filters of a configuration. Inputs and
outputs never open anything.

usage: spillway test [CASES…] [-f CONF | --path.settings DIR] [FLAGS]

CASES are case files or folders. Without any, *_test.yml files and the YAML
files of folders called tests are run, from here downwards.

  -f, --path.config CONF    configuration of cases that name none
  --path.settings DIR       settings folder; cases may name its pipelines
  --filter GLOB             only cases whose name matches
  --fail-fast               stop at the first failed case
  --clock TIME              when events arrive (2026-01-01T00:00:00Z)
  -v, --verbose             name passing cases too
  -h, --help                print this help and end

Exit code: 0 all passed, 1 a case failed, 2 nothing could be run.
";

/// What is asked for.
#[derive(Debug, Default)]
struct Request {
    cases: Vec<PathBuf>,
    defaults: Defaults,
    filter: Option<glob::Pattern>,
    clock: Option<Timestamp>,
    fail_fast: bool,
    verbose: bool,
    help: bool,
}

/// Flags of this subcommand, and whether a value follows.
const FLAGS: &[(&str, bool)] = &[
    ("-f", true),
    ("--path.config", true),
    ("--path.settings", true),
    ("--filter", true),
    ("--clock", true),
    ("--fail-fast", false),
    ("-v", false),
    ("--verbose", false),
    ("-h", false),
    ("--help", false),
];

/// Flags that are planned.
const LATER: &[&str] = &[
    "--jobs",
    "--update",
    "--yes",
    "--coverage",
    "--min-coverage",
    "--junit",
    "--watch",
    "--json",
    "--mocks",
    "--events",
    "--expect",
    "--convert",
];

/// Runs the subcommand with what follows its name.
pub(super) fn run(arguments: &[String]) -> u8 {
    let outcome = parse(arguments).and_then(|request| {
        if request.help {
            return Ok(print(HELP));
        }
        let entries = entries(&request)?;
        run_all(request, &entries)
    });
    outcome.unwrap_or_else(|message| {
        say(&format!("ERROR: {message}\n"));
        USAGE
    })
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    let mut request = Request::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            request.cases.extend(rest.by_ref().map(PathBuf::from));
            break;
        }
        if !argument.starts_with('-') || argument == "-" {
            request.cases.push(PathBuf::from(argument));
            continue;
        }
        let (flag, attached) = match argument.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (argument.as_str(), None),
        };
        let takes_value = FLAGS.iter().find(|(name, _)| *name == flag).map(|(_, takes_value)| *takes_value);
        let value = match (takes_value.ok_or_else(|| unknown(flag))?, attached) {
            (true, Some(value)) => value,
            (true, None) => rest.next().ok_or_else(|| format!("option '{flag}': no value given"))?,
            (false, Some(_)) => return Err(format!("option '{flag}' takes no value")),
            (false, None) => "",
        };
        request.set(flag, value)?;
    }
    if request.defaults.config.is_some() && request.defaults.settings_directory.is_some() {
        return Err("-f and --path.settings can't be used simultaneously: cases name the pipelines of a settings folder with `pipeline`".into());
    }
    Ok(request)
}

fn unknown(flag: &str) -> String {
    if LATER.contains(&flag) {
        return format!("spillway test: {flag} is not in this version yet");
    }
    let near = suggest::nearest(flag, FLAGS.iter().map(|(name, _)| *name));
    let hint = suggest::question(&near).map(|question| format!("; {question}")).unwrap_or_default();
    format!("Unrecognised option '{flag}'{hint} (see spillway test --help)")
}

impl Request {
    fn set(&mut self, flag: &str, value: &str) -> Result<(), String> {
        match flag {
            "-f" | "--path.config" => self.defaults.config = Some(value.to_owned()),
            "--path.settings" => self.defaults.settings_directory = Some(PathBuf::from(value)),
            "--filter" => {
                let pattern = glob::Pattern::new(value).map_err(|e| format!("--filter `{value}`: {e}"))?;
                self.filter = Some(pattern);
            }
            "--clock" => {
                let at = testing::timestamp(value);
                self.clock =
                    Some(at.ok_or_else(|| {
                        format!("--clock `{value}` is no ISO 8601 time, such as 2026-01-01T00:00:00Z")
                    })?);
            }
            "--fail-fast" => self.fail_fast = true,
            "-v" | "--verbose" => self.verbose = true,
            _ => self.help = true,
        }
        Ok(())
    }
}

/// All cases that were asked for, in the order of their files.
fn entries(request: &Request) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    if request.cases.is_empty() {
        for path in file::discover(Path::new(".")).map_err(|e| e.to_string())? {
            let path = path.strip_prefix(".").map(Path::to_owned).unwrap_or(path);
            // Nobody said that these are case files.
            match file::read(&path) {
                Ok(found) => entries.extend(found),
                Err(error) => say(&format!("note: passed over: {error}\n")),
            }
        }
    }
    for path in &request.cases {
        for path in file::find(path).map_err(|e| e.to_string())? {
            entries.extend(file::read(&path).map_err(|e| e.to_string())?);
        }
    }
    if entries.is_empty() {
        return Err("there are no cases: name case files, or put them into a folder called tests".into());
    }
    if let Some(filter) = &request.filter {
        entries.retain(|entry| filter.matches(&entry.name));
        if entries.is_empty() {
            return Err(format!("no case has a name that matches `{filter}`"));
        }
    }
    Ok(entries)
}

/// The flags that a case needs when it is run again alone.
fn repeated(request: &Request) -> Vec<String> {
    let mut flags = Vec::new();
    let mut add = |flag: &str, value: Option<String>| {
        flags.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    };
    add("-f", request.defaults.config.clone());
    add("--path.settings", request.defaults.settings_directory.as_ref().map(|path| path.display().to_string()));
    add("--clock", request.clock.map(|at| at.to_string()));
    flags
}

fn run_all(request: Request, entries: &[Entry]) -> Result<u8, String> {
    let begun = Instant::now();
    let dots = std::io::stdout().is_terminal() && !request.verbose;
    let flags = repeated(&request);
    let mut runner = Runner::new(request.defaults, request.clock).map_err(|e| e.to_string())?;
    let mut tally = Tally::default();
    let mut in_dots = false;
    for entry in entries {
        let verdict = runner.run_entry(entry);
        tally.add(&verdict);
        let place = format!("{}  {}:{}", entry.name, entry.file.display(), entry.line);
        let text = match &verdict {
            Verdict::Passed if request.verbose => format!("PASS {place}\n"),
            Verdict::Passed if dots => ".".into(),
            Verdict::Passed => String::new(),
            Verdict::Skipped(reason) => format!("SKIP {place}\n     {reason}\n"),
            Verdict::Failed(failure) => report::failure(entry, failure, &report::rerun(entry, &flags)),
        };
        let is_dot = text == ".";
        print(&if in_dots && !is_dot { format!("\n{text}") } else { text });
        in_dots = is_dot;
        if request.fail_fast && tally.failed > 0 {
            break;
        }
    }
    let line_end = if in_dots { "\n" } else { "" };
    print(&format!("{line_end}{}\n", report::summary(tally, begun.elapsed())));
    Ok(if tally.failed > 0 { FAILED } else { OK })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Request, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_and_files() {
        let request = parse_line("a.yml --filter web.* -f x.conf b.yml --fail-fast -v --clock=2026-03-01").unwrap();
        assert_eq!(request.cases, [Path::new("a.yml"), Path::new("b.yml")]);
        assert!(request.filter.is_some_and(|filter| filter.matches("web.status") && !filter.matches("x")));
        assert_eq!(request.defaults.config.as_deref(), Some("x.conf"));
        assert!(request.fail_fast && request.verbose);
        assert_eq!(request.clock.map(|at| at.to_string()).as_deref(), Some("2026-03-01T00:00:00.000Z"));
        assert_eq!(parse_line("-- -x.yml").unwrap().cases, [Path::new("-x.yml")]);
    }

    #[test]
    fn mistakes_are_told() {
        for (line, part) in [
            ("--fliter x", "did you mean `--filter`"),
            ("--filter", "no value"),
            ("--filter [", "--filter `[`"),
            ("--fail-fast=1", "takes no value"),
            ("--clock noon", "noon"),
            ("--json", "--json is not in this version yet"),
            ("--coverage=lcov.info", "--coverage is not in this version yet"),
            ("-f x --path.settings y", "simultaneously"),
        ] {
            let message = parse_line(line).unwrap_err();
            assert!(message.contains(part), "{line}: {message}");
        }
    }
}
