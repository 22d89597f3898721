//! Where the command line meets the pipelines: checking them all, and running them all.

use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::source::Sources;
use crate::logging::Logging;
use crate::settings::directories::DataDirectory;
use crate::settings::{PipelineSettings, Settings};

/// What a check found in one pipeline, and the texts its places point into.
#[derive(Debug)]
pub(super) struct Findings {
    pub diagnostics: Diagnostics,
    pub sources: Sources,
}

/// Checks a pipeline as far as that goes without opening ports, files to write or connections.
pub(super) fn check(pipeline: &PipelineSettings) -> Findings {
    let message = format!("pipeline `{}` cannot be checked: this build has no pipelines", pipeline.id);
    let mut diagnostics = Diagnostics::default();
    diagnostics.push(Diagnostic::global("unsupported", message));
    Findings { diagnostics, sources: Sources::default() }
}

/// Everything that running needs.
#[derive(Debug)]
pub(super) struct Job {
    pub settings: Settings,
    /// Those whose `faults` are not empty must not start.
    pub pipelines: Vec<PipelineSettings>,
    /// Locked until everything has stopped.
    pub data: DataDirectory,
    pub logging: Logging,
}

/// Runs the pipelines until they have ended or the process is told to stop; gives the exit code, or why nothing ran.
pub(super) fn run(job: &Job) -> Result<u8, String> {
    Err(format!("{} pipelines cannot be run: this build has no pipelines", job.pipelines.len()))
}
