//! The result of a run in JUnit's XML, which servers of continuous integration read.

use std::fmt::Write;
use std::time::Duration;

use super::file::Entry;
use super::verdict::Verdict;

/// A case that was run.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'a> {
    /// The case.
    pub entry: &'a Entry,
    /// What became of it.
    pub verdict: &'a Verdict,
    /// How long it took.
    pub took: Duration,
    /// What the screen says when it failed.
    pub report: &'a str,
}

/// A suite for each file, in the order of the cases.
pub fn xml(all: &[Ran<'_>]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _infallible = writeln!(out, "<testsuites {}>", totals(all));
    for suite in all.chunk_by(|a, b| a.entry.file == b.entry.file) {
        let Some(first) = suite.first() else { continue };
        let file = first.entry.file.display().to_string();
        let _infallible = writeln!(out, "  <testsuite name=\"{}\" {}>", escaped(&file), totals(suite));
        for ran in suite {
            case(&mut out, ran, &file);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn case(out: &mut String, ran: &Ran<'_>, file: &str) {
    let name = escaped(&ran.entry.name);
    let seconds = ran.took.as_secs_f64();
    let _infallible =
        write!(out, "    <testcase name=\"{name}\" classname=\"{}\" time=\"{seconds:.6}\"", escaped(file));
    let _infallible = match ran.verdict {
        Verdict::Passed => writeln!(out, "/>"),
        Verdict::Skipped(reason) => {
            writeln!(out, ">\n      <skipped message=\"{}\"/>\n    </testcase>", escaped(reason))
        }
        Verdict::Failed(_) => {
            let head = ran.report.lines().next().unwrap_or_default();
            let text = escaped(ran.report);
            writeln!(
                out,
                ">\n      <failure message=\"{}\" type=\"failure\">{text}</failure>\n    </testcase>",
                escaped(head)
            )
        }
    };
}

fn totals(all: &[Ran<'_>]) -> String {
    let count = |wanted: fn(&Verdict) -> bool| all.iter().filter(|ran| wanted(ran.verdict)).count();
    let (failures, skipped) = (
        count(|verdict| matches!(verdict, Verdict::Failed(_))),
        count(|verdict| matches!(verdict, Verdict::Skipped(_))),
    );
    let seconds: f64 = all.iter().map(|ran| ran.took.as_secs_f64()).sum();
    format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{seconds:.6}\"", all.len())
}

/// For text and attributes. Characters that XML cannot hold become `?`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\r' => out.push_str("&#13;"),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::testing::{Failure, file};

    #[test]
    fn files_are_suites_and_texts_are_escaped() {
        let entries = file::parse(Path::new("a&b.yml"), "- case: ok\n- case: <ko>\n- case: later\n").unwrap();
        let verdicts = [Verdict::Passed, Verdict::Failed(Failure::default()), Verdict::Skipped("\"why\"".into())];
        let reports = ["", "FAIL <ko>\n  \u{1}\n", ""];
        let all: Vec<Ran<'_>> = (0..3)
            .map(|n| Ran {
                entry: &entries[n],
                verdict: &verdicts[n],
                took: Duration::from_micros(1500),
                report: reports[n],
            })
            .collect();
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="0" skipped="1" time="0.004500">
  <testsuite name="a&amp;b.yml" tests="3" failures="1" errors="0" skipped="1" time="0.004500">
    <testcase name="ok" classname="a&amp;b.yml" time="0.001500"/>
    <testcase name="&lt;ko&gt;" classname="a&amp;b.yml" time="0.001500">
      <failure message="FAIL &lt;ko&gt;" type="failure">FAIL &lt;ko&gt;
  ?
</failure>
    </testcase>
    <testcase name="later" classname="a&amp;b.yml" time="0.001500">
      <skipped message="&quot;why&quot;"/>
    </testcase>
  </testsuite>
</testsuites>
"#;
        assert_eq!(xml(&all), expected);
    }
}
