//! The command line: what a user types becomes one [`Command`], and its outcome an exit code.
//!
//! Running pipelines has no subcommand, as with Logstash: its flags come from the table of settings. Every subcommand
//! is one file here.

mod check;
mod crash;
mod dedupe;
mod findings;
mod flags;
mod grok;
mod help;
mod pipelines;
mod plugin;
mod queue;
mod report;
mod run;
mod sample;
mod test;

use std::ffi::OsString;
use std::io::Write;

use crate::config::{did_you_mean, nearest};
use flags::{Action, Invocation, UsageError};

/// Done, and nothing wrong.
const OK: u8 = 0;
/// A run that failed to start, or a finding of a subcommand.
const FAILED: u8 = 1;
/// A subcommand that was called wrongly.
const USAGE: u8 = 2;

/// A stop that stalled and was ended by force.
const STALLED: u8 = 255;

/// What was asked for.
#[derive(Debug)]
enum Command {
    /// Run pipelines, or check them with `-t`.
    Run(Box<Invocation>),
    /// A subcommand with its arguments.
    Sub(&'static Subcommand, Vec<String>),
    /// `--help`; the long form or the short one.
    Help { long: bool },
    /// `--version`; as JSON or not.
    Version { json: bool },
}

/// A subcommand.
#[derive(Debug)]
struct Subcommand {
    name: &'static str,
    summary: &'static str,
    /// Takes what follows the name; gives the exit code.
    run: fn(&[String]) -> u8,
}

const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand { name: "check", summary: "check configurations, run nothing", run: check::run },
    Subcommand { name: "dedupe", summary: "look into the keys of a dedupe filter, carry them", run: dedupe::run },
    Subcommand { name: "grok", summary: "try a grok pattern on lines", run: grok::run },
    Subcommand { name: "plugin", summary: "list plugins, show their options", run: plugin::run },
    Subcommand { name: "queue", summary: "look into a persisted queue, repair it", run: queue::run },
    Subcommand { name: "test", summary: "run given/expected cases through filters", run: test::run },
];

/// Runs the program with these arguments (without its name); gives the exit code.
pub fn main(arguments: impl Iterator<Item = OsString>) -> u8 {
    crash::install();
    match read(arguments) {
        Ok(Command::Run(invocation)) => run::run(&invocation),
        Ok(Command::Sub(subcommand, arguments)) => (subcommand.run)(&arguments),
        Ok(Command::Help { long }) => print(&if long { help::long() } else { help::short() }),
        Ok(Command::Version { json }) => print(&help::version(json)),
        Err(error) => usage_error(&error.to_string()),
    }
}

fn read(arguments: impl Iterator<Item = OsString>) -> Result<Command, UsageError> {
    let arguments: Vec<String> =
        arguments.map(|argument| argument.into_string().map_err(UsageError::NotText)).collect::<Result<_, _>>()?;
    // `--color WORD` may stand before a subcommand as well as behind it.
    let (color, arguments) = match arguments.as_slice() {
        [flag, _, command, ..] if flag == "--color" && !command.starts_with('-') => arguments.split_at(2),
        _ => (Default::default(), arguments.as_slice()),
    };
    if let Some((first, rest)) = arguments.split_first()
        && !first.starts_with('-')
    {
        return match SUBCOMMANDS.iter().find(|subcommand| subcommand.name == first) {
            Some(subcommand) => Ok(Command::Sub(subcommand, [rest, color].concat())),
            None if first == "help" => Ok(Command::Help { long: true }),
            None => Err(unknown_command(first)),
        };
    }
    let invocation = flags::parse(arguments)?;
    Ok(match invocation.action {
        Action::Run => Command::Run(Box::new(invocation)),
        Action::Help { long } => Command::Help { long },
        Action::Version { json } => Command::Version { json },
    })
}

/// A word that is no subcommand; perhaps a mistyped one, or a file without its flag.
fn unknown_command(word: &str) -> UsageError {
    let near = nearest(word, SUBCOMMANDS.iter().map(|subcommand| subcommand.name));
    let hint = did_you_mean(&near)
        .or_else(|| std::path::Path::new(word).exists().then(|| format!("to run a configuration write -f {word}")));
    UsageError::UnknownCommand { word: word.to_owned(), hint }
}

/// Prints a result. A reader that went away is no error.
fn print(text: &str) -> u8 {
    let mut out = std::io::stdout().lock();
    let _reader_gone = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    OK
}

/// Prints something that is not the result.
fn say(text: &str) {
    let _reader_gone = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Run mode answers usage errors as Logstash does: one line, the short usage, exit 1.
fn usage_error(message: &str) -> u8 {
    say(&format!("ERROR: {message}\n\n{}", help::usage()));
    FAILED
}
