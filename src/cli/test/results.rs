//! What became of the cases, on the screen, as JSON and as JUnit's XML.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::super::print;
use super::request::Request;
use crate::testing::junit::{self, Ran};
use crate::testing::{Entry, Tally, Verdict, report};

/// Cases that were run, printed as they come unless JSON is wanted.
pub(super) struct Results<'e> {
    all: Vec<Done<'e>>,
    repeated: Vec<String>,
    json: bool,
    verbose: bool,
    dots: bool,
    /// Whether the cursor stands behind a dot.
    in_dots: bool,
}

struct Done<'e> {
    entry: &'e Entry,
    verdict: Verdict,
    took: Duration,
    report: String,
}

impl<'e> Results<'e> {
    pub fn new(request: &Request) -> Self {
        let Request { json, verbose, .. } = *request;
        let dots = std::io::stdout().is_terminal() && !verbose && !json;
        Self { all: Vec::new(), repeated: request.repeated.clone(), json, verbose, dots, in_dots: false }
    }

    pub fn add(&mut self, entry: &'e Entry, verdict: Verdict, took: Duration) {
        let report = match &verdict {
            Verdict::Failed(failure) => report::failure(entry, failure, &report::rerun(entry, &self.repeated)),
            _ => String::new(),
        };
        if !self.json {
            self.show(entry, &verdict, &report);
        }
        self.all.push(Done { entry, verdict, took, report });
    }

    fn show(&mut self, entry: &Entry, verdict: &Verdict, report: &str) {
        let place = format!("{}  {}:{}", entry.name, entry.file.display(), entry.line);
        let text = match verdict {
            Verdict::Passed if self.verbose => format!("PASS {place}\n"),
            Verdict::Passed if self.dots => ".".into(),
            Verdict::Passed => return,
            Verdict::Skipped(reason) => format!("SKIP {place}\n     {reason}\n"),
            Verdict::Failed(_) => report.to_owned(),
        };
        let is_dot = text == ".";
        print(&if self.in_dots && !is_dot { format!("\n{text}") } else { text });
        self.in_dots = is_dot;
    }

    /// Prints the summary, or everything as JSON.
    pub fn finish(&mut self, took: Duration) {
        if self.json {
            print(&format!("{}\n", self.as_json(took)));
            return;
        }
        let line_end = if self.in_dots { "\n" } else { "" };
        print(&format!("{line_end}{}\n", report::summary(self.tally(), took)));
    }

    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        self.all.iter().for_each(|done| tally.add(&done.verdict));
        tally
    }

    /// The cases that failed.
    pub fn failed(&self) -> impl Iterator<Item = &'e Entry> {
        self.all.iter().filter(|done| matches!(done.verdict, Verdict::Failed(_))).map(|done| done.entry)
    }

    fn as_json(&self, took: Duration) -> serde_json::Value {
        let Tally { passed, failed, skipped } = self.tally();
        let cases: Vec<_> = self.all.iter().map(Done::as_json).collect();
        json!({ "v": 1, "passed": passed, "failed": failed, "skipped": skipped,
                "took_ms": millis(took), "cases": cases })
    }

    pub fn write_junit(&self, path: &Path) -> Result<(), String> {
        let all: Vec<Ran<'_>> = self
            .all
            .iter()
            .map(|Done { entry, verdict, took, report }| Ran { entry, verdict, took: *took, report })
            .collect();
        write(path, &junit::xml(&all))
    }
}

impl Done<'_> {
    fn as_json(&self) -> serde_json::Value {
        let (verdict, detail) = match &self.verdict {
            Verdict::Passed => ("passed", None),
            Verdict::Failed(_) => ("failed", Some(self.report.as_str())),
            Verdict::Skipped(reason) => ("skipped", Some(reason.as_str())),
        };
        json!({ "case": self.entry.name, "file": self.entry.file.display().to_string(), "line": self.entry.line,
                "verdict": verdict, "took_ms": millis(self.took), "report": detail })
    }
}

fn millis(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

/// Writes a file, and makes the folders that it is to stand in.
pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, text)).map_err(|e| format!("{}: cannot be written: {e}", path.display()))
}
