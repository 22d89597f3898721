//! `spillway grok`: tries a pattern on lines.

mod from;
mod report;

use std::io::{BufRead, BufReader, Read, Write};
use std::time::Instant;

use super::{FAILED, OK, USAGE, print, say};
use crate::config::{did_you_mean, nearest};
use crate::plugins::Ecs;
use crate::plugins::filters::grok::library::Library;
use crate::plugins::filters::grok::suggest::suggest;
use crate::plugins::filters::grok::trial::{Trial, Tried};
use report::Report;

const HELP: &str = "\
Tries a grok pattern on lines: what is captured, or how far a line matches.

usage: spillway grok PATTERN [FILE] [FLAGS]
       spillway grok --pattern PATTERN --pattern PATTERN … [FILE] [FLAGS]
       spillway grok --from CONF [--id ID] [FILE] [FLAGS]
       spillway grok --suggest [FILE] [FLAGS]

Without FILE, lines come from standard input. Of several patterns the first
that matches wins, as in the filter.

  --pattern PATTERN     one of several patterns
  --from CONF           the patterns and settings of a grok filter in CONF
  --id ID               which one, if it has several
  --patterns-dir PATH   directory, file or glob with more patterns
  --define NAME=REGEXP  defines a pattern
  --ecs WORD            which patterns are known: v8, v1, disabled [v8]
  --suggest             print a pattern that matches each of the lines
  --failed              show only lines that do not match
  --time                show the time that each line took
  --json                one JSON object for each line
  -h, --help            print this help and end

Exit code: 0 all lines match, 1 a line does not, 2 nothing could be tried.

Example
  spillway grok '%{IPORHOST:client} %{WORD:verb} %{NUMBER:ms:int}ms' lines.txt
";

/// Flags, and whether a value follows.
const FLAGS: &[(&str, bool)] = &[
    ("--pattern", true),
    ("--from", true),
    ("--id", true),
    ("--patterns-dir", true),
    ("--define", true),
    ("--ecs", true),
    ("--suggest", false),
    ("--failed", false),
    ("--time", false),
    ("--json", false),
    ("-h", false),
    ("--help", false),
];

/// Bytes of lines that a pattern is made for.
const MOST_SUGGESTED: usize = 64 << 20;

/// What is asked for.
#[derive(Debug, Default)]
struct Request {
    patterns: Vec<String>,
    from: Option<String>,
    id: Option<String>,
    file: Option<String>,
    directories: Vec<String>,
    definitions: Vec<(String, String)>,
    legacy: bool,
    suggest: bool,
    failed_only: bool,
    time: bool,
    json: bool,
    help: bool,
}

/// How many lines there were.
#[derive(Default)]
struct Tally {
    matched: u64,
    not_matched: u64,
}

/// Runs the subcommand with what follows its name.
pub(super) fn run(arguments: &[String]) -> u8 {
    let outcome = parse(arguments).and_then(|request| match &request {
        Request { help: true, .. } => Ok(print(HELP)),
        Request { suggest: true, .. } => propose(&request),
        request => try_all(request),
    });
    outcome.unwrap_or_else(|message| {
        say(&format!("ERROR: {message}\nSee: spillway grok --help\n"));
        USAGE
    })
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    let mut request = Request::default();
    let mut words = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if !argument.starts_with("--") && argument != "-h" {
            words.push(argument.clone());
            continue;
        }
        if argument == "--" {
            words.extend(rest.by_ref().cloned());
            break;
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
    let mut words = words.into_iter();
    let has_source = request.suggest || request.from.is_some();
    if has_source && !request.patterns.is_empty() || request.suggest && request.from.is_some() {
        return Err("a pattern, --from and --suggest exclude each other".to_owned());
    }
    if request.id.is_some() && request.from.is_none() {
        return Err("--id goes with --from".to_owned());
    }
    if request.patterns.is_empty() && !request.help && !has_source {
        request.patterns.push(words.next().ok_or("no pattern given")?);
    }
    request.file = words.next().filter(|file| file != "-");
    match words.next() {
        Some(word) => Err(format!("`{word}` is one word too many; a pattern with blanks needs quotes")),
        None => Ok(request),
    }
}

fn unknown(flag: &str) -> String {
    let near = nearest(flag, FLAGS.iter().map(|(name, _)| *name));
    let hint = did_you_mean(&near).map(|question| format!("; {question}")).unwrap_or_default();
    format!("Unrecognised option '{flag}'{hint}")
}

impl Request {
    fn set(&mut self, flag: &str, value: &str) -> Result<(), String> {
        match flag {
            "--pattern" => self.patterns.push(value.to_owned()),
            "--from" => self.from = Some(value.to_owned()),
            "--id" => self.id = Some(value.to_owned()),
            "--patterns-dir" => self.directories.push(value.to_owned()),
            "--define" => {
                let (name, pattern) = value.split_once('=').ok_or("--define: write --define NAME=REGEXP")?;
                self.definitions.push((name.to_owned(), pattern.to_owned()));
            }
            "--ecs" => {
                self.legacy = match value {
                    "v8" | "v1" => false,
                    "disabled" => true,
                    other => return Err(format!("--ecs `{other}`: expected v8, v1 or disabled")),
                }
            }
            "--suggest" => self.suggest = true,
            "--failed" => self.failed_only = true,
            "--time" => self.time = true,
            "--json" => self.json = true,
            _ => self.help = true,
        }
        Ok(())
    }

    fn ecs(&self) -> Ecs {
        if self.legacy { Ecs::Disabled } else { Ecs::V8 }
    }

    /// Adds the patterns of the flags.
    fn extend(&self, mut library: Library) -> Result<Library, String> {
        for path in &self.directories {
            library.read_path(path, "*").map_err(|error| error.to_string())?;
        }
        self.definitions.iter().for_each(|(name, pattern)| library.define(name, pattern));
        Ok(library)
    }

    fn trials(&self) -> Result<Vec<Trial>, String> {
        let (patterns, library) = match &self.from {
            Some(path) => from::patterns(path, self.id.as_deref(), self.ecs())?,
            None => (self.patterns.clone(), Library::bundled(self.ecs())),
        };
        let library = self.extend(library)?;
        let trial = |pattern: &String| {
            Trial::new(pattern, library.clone()).map_err(|error| {
                let help = error.help(&library).map(|help| format!("; {help}")).unwrap_or_default();
                format!("{error}{help}")
            })
        };
        patterns.iter().map(trial).collect()
    }
}

/// The lines of the file, or of standard input.
fn open(request: &Request) -> Result<Box<dyn BufRead>, String> {
    Ok(match &request.file {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|error| format!("cannot read {path}: {error}"))?;
            Box::new(BufReader::new(file))
        }
        None => Box::new(BufReader::new(std::io::stdin())),
    })
}

/// Prints a pattern for the lines.
fn propose(request: &Request) -> Result<u8, String> {
    let mut source = open(request)?;
    let (mut lines, mut line, mut size) = (Vec::new(), Vec::new(), 0);
    while read_line(&mut source, &mut line).map_err(|error| format!("cannot read the lines: {error}"))? > 0 {
        size += line.len();
        if size > MOST_SUGGESTED {
            return Err(format!("--suggest takes at most {} MiB of lines", MOST_SUGGESTED >> 20));
        }
        let text = without_end(&String::from_utf8_lossy(&line)).to_owned();
        if !text.is_empty() {
            lines.push(text);
        }
        line.clear();
    }
    if lines.is_empty() {
        return Err("there are no lines to make a pattern for".to_owned());
    }
    Ok(match suggest(&lines, &request.extend(Library::bundled(request.ecs()))?) {
        Some(pattern) => print(&format!("{pattern}\n")),
        None => {
            say("The lines have nothing in common that a pattern could tell.\n");
            FAILED
        }
    })
}

/// A line without what ends it.
fn without_end(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

fn try_all(request: &Request) -> Result<u8, String> {
    let mut trials = request.trials()?;
    let mut lines = open(request)?;
    let mut out = std::io::stdout().lock();
    let mut tally = Tally::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let length = read_line(&mut lines, &mut line).map_err(|error| format!("cannot read the lines: {error}"))?;
        if length == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = without_end(&text);
        let start = Instant::now();
        let (pattern, tried) = try_line(&mut trials, text);
        let micros = request.time.then(|| start.elapsed().as_micros());
        let matched = matches!(tried, Tried::Matched(_));
        if matched {
            tally.matched += 1
        } else {
            tally.not_matched += 1
        }
        if matched && request.failed_only {
            continue;
        }
        let report = Report { number, text, pattern: (trials.len() > 1).then_some(pattern), micros };
        let shown = if request.json { report.json(&tried) } else { report.text(&tried) };
        if out.write_all(shown.as_bytes()).is_err() {
            break;
        }
    }
    if !request.json {
        let Tally { matched, not_matched } = tally;
        let lines = matched + not_matched;
        let s = if lines == 1 { "" } else { "s" };
        // A reader that went away is no error.
        let _reader_gone = writeln!(out, "{lines} line{s}: {matched} matched, {not_matched} did not");
    }
    Ok(if tally.not_matched == 0 { OK } else { FAILED })
}

/// Reads up to a line feed; of an endless line the first part.
fn read_line(lines: &mut dyn BufRead, line: &mut Vec<u8>) -> std::io::Result<usize> {
    /// Bytes of a line.
    const LONGEST: u64 = 64 << 20;
    lines.take(LONGEST).read_until(b'\n', line)
}

/// The first pattern that matches, or how far the one gets that gets furthest.
fn try_line(trials: &mut [Trial], text: &str) -> (usize, Tried) {
    let mut best = (0, Tried::GaveUp);
    for (at, trial) in trials.iter_mut().enumerate() {
        let tried = trial.line(text);
        let is_better = match (&tried, &best.1) {
            (Tried::Matched(_), _) => return (at + 1, tried),
            (Tried::Stopped(new), Tried::Stopped(old)) => new.at > old.at,
            (Tried::Stopped(_), _) => true,
            _ => false,
        };
        if is_better || at == 0 {
            best = (at + 1, tried);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_understood_or_refused() {
        let parse = |line: &[&str]| parse(&line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let request = parse(&["%{A}", "f", "--define=A=b=c", "--ecs", "disabled"]).unwrap();
        assert_eq!(
            (request.patterns, request.file, request.legacy),
            (vec!["%{A}".to_owned()], Some("f".to_owned()), true)
        );
        assert_eq!(request.definitions, [("A".to_owned(), "b=c".to_owned())]);
        let request = parse(&["--pattern", "a", "--pattern", "b", "-"]).unwrap();
        assert_eq!((request.patterns.len(), request.file), (2, None));
        for (line, part) in [
            (&["a", "b", "c"][..], "quotes"),
            (&[], "no pattern"),
            (&["a", "--jsn"], "--json"),
            (&["--pattern", "a", "--suggest"], "exclude each other"),
            (&["a", "--id", "g"], "--from"),
            (&["a", "--define", "x"], "NAME=REGEXP"),
            (&["a", "--ecs", "v9"], "v8, v1 or disabled"),
        ] {
            let message = parse(line).unwrap_err();
            assert!(message.contains(part), "{line:?}: {message}");
        }
    }
}
