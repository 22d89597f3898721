//! Where the command line meets the pipelines: checking them all, and running them all.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{FAILED, OK, STALLED};
use crate::config::Variables;
use crate::event::Clock;
use crate::logging::Logging;
use crate::metrics::{Defaults, Identity, Node};
use crate::monitoring::Server;
use crate::pipeline::{self, Assignment, Prepared, RunEnd, Shared};
use crate::plugins::Commons;
use crate::settings::directories::DataDirectory;
use crate::settings::{Listed, Lister, PipelineSettings, Settings, host_name};

/// What the pipelines of a process share.
pub(super) fn shared(settings: &Settings, variables: &Variables) -> Shared {
    Shared {
        path_data: settings.path_data.clone(),
        path_settings: settings.path_settings.clone(),
        host: Arc::from(host_name()),
        variables: variables.clone(),
        clock: Clock::default(),
        commons: Commons::default(),
    }
}

/// Reads, checks and builds a pipeline, without opening ports, files to write or connections. What is wrong with it
/// is in its diagnostics.
pub(super) fn check(pipeline: &PipelineSettings, shared: &Shared) -> Prepared {
    pipeline::prepare(PipelineSettings { faults: Vec::new(), ..pipeline.clone() }, shared)
}

/// Everything that running needs.
pub(super) struct Job {
    pub settings: Settings,
    /// The pipelines at the start.
    pub listed: Listed,
    /// Lists them again.
    pub lister: Lister,
    /// What they share.
    pub shared: Shared,
    /// Locked until everything has stopped.
    pub data: DataDirectory,
    pub logging: Logging,
}

/// Runs the pipelines until they have ended or the process is told to stop; gives the exit code, or why nothing ran.
pub(super) fn run(job: Job) -> Result<u8, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the threads that the program needs: {error}"))?;
    let Job { settings, listed, lister, shared, data, logging } = job;
    runtime.spawn(reopen_log_on_hangup(logging));
    let node = Arc::new(Node::new(identity(&settings, &data)));
    let end = runtime.block_on(async {
        // The API is there before the first pipeline starts and answers until the last one has ended.
        let stop = CancellationToken::new();
        let server = Server::bind(&settings.api, node.clone()).await.map_err(|error| error.to_string())?;
        let serving = server.map(|server| tokio::spawn(server.serve(stop.clone())));
        let assignment = Assignment {
            listed,
            lister,
            shared,
            reload: settings.reload,
            fail_fast: settings.fail_fast,
            unsafe_shutdown: settings.unsafe_shutdown,
        };
        let end = pipeline::run(assignment, node).await;
        stop.cancel();
        if let Some(serving) = serving.filter(|_| !matches!(end, RunEnd::Forced | RunEnd::Stalled)) {
            let _ = serving.await;
        }
        Ok::<_, String>(end)
    });
    // A thread that waits for standard input never ends; what wrote to the data directory has ended.
    runtime.shutdown_background();
    drop(data);
    Ok(match end? {
        RunEnd::Orderly => OK,
        RunEnd::Failed | RunEnd::Forced => FAILED,
        RunEnd::Stalled => STALLED,
    })
}

/// A program that moves log files away sends SIGHUP afterwards.
async fn reopen_log_on_hangup(logging: Logging) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    while hangup.recv().await.is_some() {
        logging.reopen();
    }
}

fn identity(settings: &Settings, data: &DataDirectory) -> Identity {
    let millis = settings.pipeline_batch_delay.as_millis();
    Identity {
        id: data.uuid.clone(),
        name: settings.node_name.clone(),
        host: host_name(),
        cluster_uuid: settings.monitoring_cluster_uuid.clone(),
        defaults: Defaults {
            workers: settings.pipeline_workers as u64,
            batch_size: settings.pipeline_batch_size as u64,
            batch_delay_ms: u64::try_from(millis).unwrap_or(u64::MAX),
        },
    }
}
