//! `no-input`, `no-output`: pipelines that take nothing in, or whose events go nowhere.
//!
//! A file with filters alone is a piece of a pipeline, and nobody is told about it.

use crate::config::ast::Config;
use crate::config::diagnostic::{Diagnostic, Diagnostics};

pub(super) fn check(config: &Config, diagnostics: &mut Diagnostics) {
    let (inputs, outputs) = (!config.inputs.is_empty(), !config.outputs.is_empty());
    if outputs && !inputs {
        let warning =
            Diagnostic::global_warning("no-input", "the configuration has no input: the pipeline ends at once");
        diagnostics.push(warning.help("add an `input` section, or the file that holds it"));
    }
    if inputs && !outputs {
        let warning =
            Diagnostic::global_warning("no-output", "the configuration has no output: every event is dropped");
        diagnostics.push(warning.help("add an `output` section, or the file that holds it"));
    }
}

#[cfg(test)]
mod tests {
    use crate::config::lint::testing::found;

    #[test]
    fn a_pipeline_has_both_ends() {
        assert_eq!(found("input { stdin { } }"), [("no-output", String::new())]);
        assert_eq!(found("output { null { } }"), [("no-input", String::new())]);
        assert_eq!(found("input { stdin { } } output { null { } }"), []);
        assert_eq!(found("filter { }"), []);
    }
}
