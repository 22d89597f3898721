//! What is wrong with a script, told at its line in the configuration.

use std::io;
use std::ops::Range;

use super::Fault;
use crate::event::{Map, Value};
use crate::plugins::Options;

const INSTALL: &str =
    "Install the package `ruby` (`apt-get install ruby`), or name the program in `spillway.ruby.command`";

/// Reports why a script of a plugin was not loaded. `source` has its options by their names.
pub fn report(options: &mut Options<'_>, source: &Map, fault: Fault) {
    match fault {
        Fault::NoInterpreter(failure) => {
            options.invalid("", format!("the {} needs Ruby: {failure}. {INSTALL}", options.owner()));
        }
        Fault::Script { option, message, line } => {
            let text = source.get(&option).and_then(Value::as_str).unwrap_or_default().to_owned();
            let part = line.and_then(|line| line_at(&text, line)).filter(|_| option != "path");
            let error = io::Error::other(format!("`{option}` of the {}: {message}", options.owner()));
            options.wrong_text(&option, &text, part, "ruby", &error, None);
        }
    }
}

/// Where a line of a text lies, counted from 1, without the blanks around it.
fn line_at(text: &str, line: usize) -> Option<Range<usize>> {
    let before = line.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let whole = text.split_inclusive('\n').nth(before)?;
    let start = start + (whole.len() - whole.trim_start().len());
    let length = whole.trim().len();
    (length > 0).then(|| start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_without_its_blanks() {
        let text = "a = 1\n  b = (\n\nc";
        assert_eq!(line_at(text, 2).map(|range| &text[range]), Some("b = ("));
        assert_eq!(line_at(text, 4).map(|range| &text[range]), Some("c"));
        assert_eq!((line_at(text, 3), line_at(text, 5), line_at(text, 0)), (None, None, None));
    }
}
