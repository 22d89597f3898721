//! `spillway test`: runs given/expected cases through the filters of a configuration.

mod entries;
mod jobs;
mod request;
mod results;
mod update;
mod watch;

use std::time::Instant;

use super::{FAILED, OK, USAGE, print, say};
use crate::testing::coverage::Coverage;
use crate::testing::{Entry, yaml_text};
use request::{Action, Request};
use results::Results;

const HELP: &str = "\
Runs given/expected cases through the filters of a configuration. Inputs and
outputs never open anything.

usage: spillway test [CASES…] [-f CONF | --path.settings DIR] [FLAGS]

CASES are case files or folders. Without any, *_test.yml files and the YAML
files of folders called tests are run, from here downwards. Files of
logstash-filter-verifier (JSON or YAML) are recognised by what is in them.

What to run
  -f, --path.config CONF    configuration of cases that name none
  --path.settings DIR       settings folder; cases may name its pipelines
  --filter GLOB             only cases whose name matches
  --clock TIME              when events arrive (2026-01-01T00:00:00Z)
  --mocks FILE              what stands in for filters, by their id
  --events FILE             run these events, one JSON object in a line, …
  --expect FILE             … and hold them against these, a YAML list

How to run
  --jobs N                  so many cases beside each other [1]
  --fail-fast               stop at the first failed case
  --watch                   run again what a changed file touches
                            (keys: a all, f failed ones, u update, q quit)
  --update                  rewrite what failed cases expect, after a question
  --yes                     answer the question with yes

What to print
  -v, --verbose             name passing cases too
  --json                    the result as one JSON object
  --junit FILE              the result as JUnit XML
  --coverage[=FILE]         branches, plugins and patterns that no case reached; with
                            FILE in the format of lcov
  --min-coverage PERCENT    fail when fewer of them ran
  --convert                 print the cases in Spillway's format, run nothing
  -h, --help                print this help and end

Exit code: 0 all passed, 1 a case failed, 2 nothing could be run.

Examples
  spillway test
  spillway test tests/web.yml --filter 'web.*' -v
  spillway test --coverage --min-coverage 80 --junit out/junit.xml
  spillway test verifier.json -f pipeline.conf
";

/// Runs the subcommand with what follows its name.
pub(super) fn run(arguments: &[String]) -> u8 {
    let outcome = request::parse(arguments).and_then(|request| match request.action {
        Action::Help => Ok(print(HELP)),
        Action::Convert => entries::read(&request).map(|entries| convert(&entries)),
        Action::Update => update::run(&request),
        Action::Watch => watch::run(&request),
        Action::Run => once(&request),
    });
    outcome.unwrap_or_else(|message| {
        say(&format!("ERROR: {message}\nSee: spillway test --help\n"));
        USAGE
    })
}

fn convert(entries: &[Entry]) -> u8 {
    print(&entries.iter().map(|entry| yaml_text::case(&entry.keys)).collect::<String>())
}

fn once(request: &Request) -> Result<u8, String> {
    let entries = entries::read(request)?;
    let (results, coverage) = run_cases(request, &entries)?;
    let covered = match coverage {
        Some(coverage) => judge_coverage(request, &coverage)?,
        None => true,
    };
    Ok(if results.tally().failed > 0 || !covered { FAILED } else { OK })
}

/// Runs cases and prints what became of them.
fn run_cases<'e>(request: &Request, entries: &'e [Entry]) -> Result<(Results<'e>, Option<Coverage>), String> {
    let begun = Instant::now();
    let mut results = Results::new(request);
    let coverage = jobs::run(request, entries, |entry, verdict, took| results.add(entry, verdict, took))?;
    results.finish(begun.elapsed());
    if let Some(path) = &request.junit {
        results.write_junit(path)?;
    }
    Ok((results, coverage))
}

/// Prints the coverage, or writes it. Whether it is enough.
fn judge_coverage(request: &Request, coverage: &Coverage) -> Result<bool, String> {
    match &request.coverage {
        Some(request::Coverage::File(path)) => results::write(path, &coverage.lcov())?,
        _ if request.json => say(&coverage.report()),
        _ => {
            print(&coverage.report());
        }
    }
    let Some(least) = request.min_coverage.filter(|least| coverage.percent() < *least) else { return Ok(true) };
    say(&format!("coverage is {:.1} %, and should be at least {least} %\n", coverage.percent()));
    Ok(false)
}
