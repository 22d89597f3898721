//! `json_schema`: the document as a whole, behind the rules.

use std::path::Path;

use jsonschema::{Draft, PatternOptions, Validator};

use super::check::Verdict;
use super::report::{Problem, Report};
use crate::event::{Map, Text, json};

/// A schema that was read once.
pub(super) struct Schema {
    validator: Validator,
    verdict: Verdict,
}

impl Schema {
    /// Reads a schema. Patterns in it are matched without backtracking, and references stay inside of the file.
    pub fn read(path: &Path, verdict: Verdict) -> Result<Self, String> {
        let shown = path.display();
        let text = std::fs::read(path).map_err(|e| format!("{shown} cannot be read: {e}"))?;
        let schema = serde_json::from_slice(&text).map_err(|e| format!("{shown} is no JSON: {e}"))?;
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .map_err(|e| format!("{shown} is no JSON schema: {e}"))?;
        Ok(Self { validator, verdict })
    }

    /// Tells what is wrong with a document: the first thing, or `all`.
    pub fn check(&self, document: &Map, all: bool, report: &Report, problems: &mut Vec<Problem>) {
        let mut text = Vec::new();
        json::write_map(document, &mut text);
        let Ok(document) = serde_json::from_slice(&text) else {
            return problems.push(self.problem("", "is nested too deeply", report));
        };
        for error in self.validator.iter_errors(&document) {
            if report.is_full(problems) {
                return;
            }
            problems.push(self.problem(error.instance_path().as_str(), error.kind().keyword(), report));
            if !all {
                return;
            }
        }
    }

    fn problem(&self, pointer: &str, keyword: &str, report: &Report) -> Problem {
        self.verdict.counter.add(1);
        let field: String = pointer.split('/').skip(1).map(|name| format!("[{name}]")).collect();
        let place = if pointer.is_empty() { "/" } else { pointer };
        Problem {
            field: Text::from(field),
            check: self.verdict.check,
            code: self.verdict.code.clone(),
            message: report.cut(&format!("{place} {keyword}")),
            value: None,
        }
    }
}
