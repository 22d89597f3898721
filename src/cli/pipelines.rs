//! Where the command line meets the pipelines: checking them all, and running them all.

use std::sync::Arc;

use super::{FAILED, OK};
use crate::config::Variables;
use crate::logging::Logging;
use crate::pipeline::{self, Finish, Opened, Prepared, RunEnd, Shared, Watcher};
use crate::settings::directories::DataDirectory;
use crate::settings::{PipelineSettings, Settings, host_name};

/// What the pipelines of a process share.
pub(super) fn shared(settings: &Settings, variables: &Variables) -> Shared {
    Shared { path_data: settings.path_data.clone(), host: Arc::from(host_name()), variables: variables.clone() }
}

/// Reads, checks and builds a pipeline, without opening ports, files to write or connections. What is wrong with it
/// is in its diagnostics.
pub(super) fn check(pipeline: &PipelineSettings, shared: &Shared) -> Prepared {
    pipeline::prepare(PipelineSettings { faults: Vec::new(), ..pipeline.clone() }, shared)
}

/// Everything that running needs.
pub(super) struct Job {
    pub settings: Settings,
    pub shared: Shared,
    /// The pipelines without mistakes.
    pub pipelines: Vec<Prepared>,
    /// The ids of those with mistakes.
    pub broken: Vec<String>,
    /// Locked until everything has stopped.
    pub data: DataDirectory,
    pub logging: Logging,
}

/// Runs the pipelines until they have ended or the process is told to stop; gives the exit code, or why nothing ran.
pub(super) fn run(job: Job) -> Result<u8, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the threads that the program needs: {error}"))?;
    let Job { settings, shared, pipelines, broken, data, logging: _ } = job;
    let watcher = Arc::new(Unwatched);
    let end = runtime.block_on(pipeline::run(pipelines, broken, watcher, settings.fail_fast));
    // A thread that waits for standard input never ends; what wrote to the data directory has ended.
    runtime.shutdown_background();
    drop(data);
    Ok(match end {
        RunEnd::Orderly => OK,
        RunEnd::Failed | RunEnd::Forced => FAILED,
    })
}

/// Nobody asks what the pipelines do.
struct Unwatched;

impl Watcher for Unwatched {
    fn opened(&self, _: &Opened) {}
    fn running(&self, _: &str) {}
    fn ended(&self, _: &str, _: Option<Finish>) {}
}
