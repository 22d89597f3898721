//! The flags of `spillway test`.

use std::path::PathBuf;

use crate::config::{did_you_mean, nearest};
use crate::event::Timestamp;
use crate::testing::{self, Defaults, Mocks};

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub cases: Vec<PathBuf>,
    pub defaults: Defaults,
    pub filter: Option<glob::Pattern>,
    pub clock: Option<Timestamp>,
    /// Runners beside each other; one when not given.
    pub jobs: Option<usize>,
    pub fail_fast: bool,
    pub verbose: bool,
    pub json: bool,
    pub junit: Option<PathBuf>,
    pub coverage: Option<Coverage>,
    /// Per cent that must be reached.
    pub min_coverage: Option<f64>,
    /// Events to run without a case file, and what they must become.
    pub events: Option<PathBuf>,
    pub expect: Option<PathBuf>,
    /// Whether questions are answered with yes.
    pub yes: bool,
    pub action: Action,
    /// The flags that a case needs when it is run again alone.
    pub repeated: Vec<String>,
}

/// Where the coverage goes.
#[derive(Clone, Debug)]
pub(super) enum Coverage {
    Screen,
    /// A file in the format of lcov.
    File(PathBuf),
}

/// What is done with the cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Action {
    #[default]
    Run,
    Update,
    Watch,
    Convert,
    Help,
}

/// Whether a flag has a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    /// Only behind `=`.
    Perhaps,
}

const FLAGS: &[(&str, Takes)] = &[
    ("-f", Takes::Value),
    ("--path.config", Takes::Value),
    ("--path.settings", Takes::Value),
    ("--filter", Takes::Value),
    ("--clock", Takes::Value),
    ("--mocks", Takes::Value),
    ("--jobs", Takes::Value),
    ("--events", Takes::Value),
    ("--expect", Takes::Value),
    ("--junit", Takes::Value),
    ("--coverage", Takes::Perhaps),
    ("--min-coverage", Takes::Value),
    ("--update", Takes::Nothing),
    ("--yes", Takes::Nothing),
    ("--watch", Takes::Nothing),
    ("--convert", Takes::Nothing),
    ("--fail-fast", Takes::Nothing),
    ("--json", Takes::Nothing),
    ("-v", Takes::Nothing),
    ("--verbose", Takes::Nothing),
    ("-h", Takes::Nothing),
    ("--help", Takes::Nothing),
];

pub(super) fn parse(arguments: &[String]) -> Result<Request, String> {
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
        let takes = FLAGS.iter().find(|(name, _)| *name == flag).map(|(_, takes)| *takes);
        let value = match (takes.ok_or_else(|| unknown(flag))?, attached) {
            (Takes::Value | Takes::Perhaps, Some(value)) => value,
            (Takes::Value, None) => rest.next().ok_or_else(|| format!("option '{flag}': no value given"))?,
            (Takes::Nothing, Some(_)) => return Err(format!("option '{flag}' takes no value")),
            (Takes::Nothing | Takes::Perhaps, None) => "",
        };
        request.set(flag, value)?;
    }
    request.check()?;
    Ok(request)
}

fn unknown(flag: &str) -> String {
    let near = nearest(flag, FLAGS.iter().map(|(name, _)| *name));
    let hint = did_you_mean(&near).map(|question| format!("; {question}")).unwrap_or_default();
    format!("Unrecognised option '{flag}'{hint} (see spillway test --help)")
}

impl Request {
    fn set(&mut self, flag: &str, value: &str) -> Result<(), String> {
        if matches!(flag, "-f" | "--path.config" | "--path.settings" | "--clock" | "--mocks") {
            self.repeated.extend([flag.to_owned(), value.to_owned()]);
        }
        let path = || PathBuf::from(value);
        match flag {
            "-f" | "--path.config" => self.defaults.config = Some(value.to_owned()),
            "--path.settings" => self.defaults.settings_directory = Some(path()),
            "--filter" => {
                let pattern = glob::Pattern::new(value).map_err(|e| format!("--filter `{value}`: {e}"))?;
                self.filter = Some(pattern);
            }
            "--clock" => {
                let at = testing::timestamp(value);
                let wrong = || format!("--clock `{value}` is no ISO 8601 time, such as 2026-01-01T00:00:00Z");
                self.clock = Some(at.ok_or_else(wrong)?);
            }
            "--mocks" => self.defaults.mocks = Mocks::read_file(&path())?,
            "--jobs" => {
                let jobs = value.parse().ok().filter(|jobs| (1..=256).contains(jobs));
                self.jobs = Some(jobs.ok_or_else(|| format!("--jobs `{value}` is no number from 1 to 256"))?);
            }
            "--events" => self.events = Some(path()),
            "--expect" => self.expect = Some(path()),
            "--junit" => self.junit = Some(path()),
            "--coverage" if value.is_empty() => self.coverage = Some(Coverage::Screen),
            "--coverage" => self.coverage = Some(Coverage::File(path())),
            "--min-coverage" => {
                let percent = value.trim_end_matches('%').parse().ok().filter(|p| (0.0..=100.0).contains(p));
                self.min_coverage = Some(percent.ok_or_else(|| format!("--min-coverage `{value}` is no per cent"))?);
            }
            "--update" => self.action = Action::Update,
            "--watch" => self.action = Action::Watch,
            "--convert" => self.action = Action::Convert,
            "--yes" => self.yes = true,
            "--fail-fast" => self.fail_fast = true,
            "--json" => self.json = true,
            "-v" | "--verbose" => self.verbose = true,
            _ => self.action = Action::Help,
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if self.defaults.config.is_some() && self.defaults.settings_directory.is_some() {
            return Err("-f and --path.settings can't be used simultaneously: cases name the pipelines of a settings folder with `pipeline`".into());
        }
        if self.events.is_some() != self.expect.is_some() {
            return Err("--events and --expect belong together: events that go in, and what they must become".into());
        }
        if self.events.is_some() && !self.cases.is_empty() {
            return Err("--events is run without case files".into());
        }
        Ok(())
    }

    /// Whether somebody wants to know what ran.
    pub fn covers(&self) -> bool {
        self.coverage.is_some() || self.min_coverage.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
        assert_eq!(request.repeated, ["-f", "x.conf", "--clock", "2026-03-01"]);
        assert_eq!(parse_line("-- -x.yml").unwrap().cases, [Path::new("-x.yml")]);
    }

    #[test]
    fn a_value_of_coverage_stands_behind_an_equals_sign() {
        let request = parse_line("--coverage a.yml --min-coverage 80").unwrap();
        assert!(matches!(request.coverage, Some(Coverage::Screen)) && request.cases.len() == 1);
        assert_eq!(request.min_coverage, Some(80.0));
        assert!(matches!(parse_line("--coverage=l.info").unwrap().coverage, Some(Coverage::File(_))));
    }

    #[test]
    fn mistakes_are_told() {
        for (line, part) in [
            ("--fliter x", "did you mean `--filter`"),
            ("--filter", "no value"),
            ("--filter [", "--filter `[`"),
            ("--fail-fast=1", "takes no value"),
            ("--clock noon", "noon"),
            ("--jobs 0", "--jobs `0`"),
            ("--min-coverage 101", "--min-coverage `101`"),
            ("--mocks /nonexistent", "cannot be read"),
            ("--events x", "belong together"),
            ("--events x --expect y z.yml", "without case files"),
            ("-f x --path.settings y", "simultaneously"),
        ] {
            let message = parse_line(line).unwrap_err();
            assert!(message.contains(part), "{line}: {message}");
        }
    }
}
