//! Sentences that have to be true after the steps of a scenario, each with the check that it stands for.

use super::program::Said;
use super::world::World;
use super::{Outcome, Stopped};

type Check = fn(&[Said]) -> bool;

const CHECKS: &[(&str, Check)] = &[
    ("stdout has nothing but the printed event", |said| {
        last(said).is_some_and(|said| said.out.starts_with('{') && said.out.trim_end().ends_with('}'))
    }),
    ("stderr warns once that the default input and output were added", |said| {
        last(said).is_some_and(|said| {
            let warnings = |word: &str| said.err.lines().filter(|l| l.contains("WARN") && l.contains(word)).count();
            warnings("input") == 1 && warnings("output") == 1
        })
    }),
    ("no line of the help is longer than 80 columns", |said| {
        said.first().is_some_and(|said| said.out.lines().all(|line| line.chars().count() <= 80))
    }),
    ("stderr is empty", |said| last(said).is_some_and(|said| said.err.is_empty())),
    ("no stack trace, no timestamped log line repeats the error", |said| {
        last(said).is_some_and(|said| {
            let is_log_line = |line: &str| line.starts_with("[2") && line.contains("][ERROR]");
            !said.err.contains("stack backtrace") && !said.err.lines().any(is_log_line)
        })
    }),
];

fn last(said: &[Said]) -> Option<&Said> {
    said.last()
}

/// Checks a sentence.
pub fn check(sentence: &str, world: &World) -> Outcome {
    match CHECKS.iter().find(|(known, _)| *known == sentence) {
        None => Err(Stopped::Unknown(format!("cannot tell whether {sentence}"))),
        Some((_, holds)) if holds(&world.said) => Ok(()),
        Some(_) => {
            let said = world.said.last().map(Said::shown).unwrap_or_default();
            Err(Stopped::Failed(format!("is not true: {sentence}\n{said}")))
        }
    }
}
