//! The commands that a page of the documentation shows, and how they are run.

use std::path::Path;
use std::process::Command;

/// A command of a page, and the output that stands below it.
pub struct Shown {
    pub command: String,
    pub output: Vec<String>,
}

/// The commands of all `console` blocks: `$ ` starts one, `> ` continues it.
pub fn shown(text: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (false, _) => {}
            (true, line) => match (line.strip_prefix("$ "), line.strip_prefix("> "), all.last_mut()) {
                (Some(command), _, _) => all.push(Shown { command: command.to_owned(), output: Vec::new() }),
                (None, Some(more), Some(last)) if last.output.is_empty() => last.command += &format!("\n{more}"),
                (None, _, Some(last)) => last.output.push(without_time(line)),
                (None, _, None) => panic!("output without a command: {line}"),
            },
        }
    }
    all
}

/// What a command prints on both streams, without log lines. `spillway` is found in `bin`. Times are no promise.
pub fn output(command: &str, directory: &Path, bin: &Path) -> Vec<String> {
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(format!("{{ {command}\n}} 2>&1")).env("PATH", path).current_dir(directory);
    let printed = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    printed.lines().filter(|line| !is_log_line(line)).map(without_time).collect()
}

fn is_log_line(line: &str) -> bool {
    line.strip_prefix('[').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains("]["))
}

fn without_time(line: &str) -> String {
    let Some(rest) = line.strip_suffix(" ms") else { return line.to_owned() };
    rest.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned() + "0 ms"
}
