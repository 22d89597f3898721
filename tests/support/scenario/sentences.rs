//! Sentences that have to be true after the steps of a scenario, each with the check that it stands for.

use super::program::Said;
use super::world::World;
use super::{Outcome, Stopped};

type Check = fn(&World) -> bool;

const CHECKS: &[(&str, Check)] = &[
    ("stdout has nothing but the printed event", |world| {
        last(world).is_some_and(|said| said.out.starts_with('{') && said.out.trim_end().ends_with('}'))
    }),
    ("stderr warns once that the default input and output were added", |world| {
        last(world).is_some_and(|said| {
            let warnings = |word: &str| said.err.lines().filter(|l| l.contains("WARN") && l.contains(word)).count();
            warnings("input") == 1 && warnings("output") == 1
        })
    }),
    ("no line of the help is longer than 80 columns", |world| {
        world.said.first().is_some_and(|said| said.out.lines().all(|line| line.chars().count() <= 80))
    }),
    ("stderr is empty", |world| last(world).is_some_and(|said| said.err.is_empty())),
    ("no stack trace, no timestamped log line repeats the error", |world| {
        last(world).is_some_and(|said| {
            let is_log_line = |line: &str| line.starts_with("[2") && line.contains("][ERROR]");
            !said.err.contains("stack backtrace") && !said.err.lines().any(is_log_line)
        })
    }),
    (r#"tests/w_test.yml now expects status: "200" and still has both comments, why and the case name"#, |world| {
        let kept = ["# web lines", "- case: web.status", "why: status is a number", "# keep me", r#"status: "200""#];
        let file = std::fs::read_to_string(world.directory().join("tests/w_test.yml")).unwrap_or_default();
        kept.iter().all(|part| file.contains(part))
    }),
];

fn last(world: &World) -> Option<&Said> {
    world.said.last()
}

/// Checks a sentence.
pub fn check(sentence: &str, world: &World) -> Outcome {
    match CHECKS.iter().find(|(known, _)| *known == sentence) {
        None => Err(Stopped::Unknown(format!("cannot tell whether {sentence}"))),
        Some((_, holds)) if holds(world) => Ok(()),
        Some(_) => {
            let said = world.said.last().map(Said::shown).unwrap_or_default();
            Err(Stopped::Failed(format!("is not true: {sentence}\n{said}")))
        }
    }
}
