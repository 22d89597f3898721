//! The walk through `docs/tutorial.md`: its commands are run, in order, in one empty directory, and print line for line
//! what the page shows. A line `...` stands for lines that the page leaves out.

#[path = "support/console.rs"]
mod console;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use console::{Shown, output, shown};

/// Whether the lines are those that a page shows.
fn is_shown(promised: &[String], printed: &[String]) -> bool {
    match promised.iter().position(|line| line == "...") {
        None => promised == printed,
        Some(cut) => {
            let (head, tail) = (&promised[..cut], &promised[cut + 1..]);
            let fits = |from: usize| is_shown(tail, &printed[from..]);
            printed.starts_with(head) && (tail.is_empty() || (cut..=printed.len()).any(fits))
        }
    }
}

#[test]
fn the_tutorial_is_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tutorial.md");
    let (place, bin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    symlink(env!("CARGO_BIN_EXE_spillway"), bin.path().join("spillway")).unwrap();
    let commands = shown(&fs::read_to_string(page).unwrap());
    for part in ["spillway check", "spillway grok", "spillway test", "spillway -f"] {
        assert!(commands.iter().any(|shown| shown.command.contains(part)), "the page does not show `{part}`");
    }
    for Shown { command, output: promised } in commands {
        let printed = output(&command, place.path(), bin.path());
        assert!(is_shown(&promised, &printed), "$ {command}\nprinted:\n{}", printed.join("\n"));
    }
}

#[test]
fn what_a_page_leaves_out_is_somewhere_between_what_it_shows() {
    let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for (promised, printed, fits) in [
        ("a b", "a b", true),
        ("a b", "b a", false),
        ("a b", "a b c", false),
        ("a ...", "a b c", true),
        ("a ...", "b a", false),
        ("a ... c", "a b c", true),
        ("a ... c", "a b", false),
        ("... c ... e", "a b c d e", true),
        ("... c ... e", "a b d e", false),
    ] {
        assert_eq!(is_shown(&lines(promised), &lines(printed)), fits, "{promised} | {printed}");
    }
}
