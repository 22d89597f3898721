//! All pipelines of the process: start each on its own, wait until they end or a signal asks them to, and say what
//! happened. A pipeline that cannot start or breaks leaves the others running.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;

use super::prepare::Prepared;
use super::run::{Finish, Opened};
use crate::metrics::{Node, PipelineState};
use crate::plugins::Stop;

/// How a run ended, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Everything ended in order.
    Orderly,
    /// No pipeline could start, or one ended by an error.
    Failed,
    /// A second interrupt asked to end at once.
    Forced,
}

struct Started {
    id: String,
    stop: Stop,
    outcome: Result<super::run::Running, String>,
}

/// Starts every pipeline and runs until all have ended. `broken` are the ids of those whose configuration has
/// mistakes: they do not start, and are counted.
pub async fn run(prepared: Vec<Prepared>, broken: Vec<String>, node: &Node, fail_fast: bool) -> RunEnd {
    let begun = Instant::now();
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => {
            tracing::error!(target: "logstash.runner", "cannot listen for signals: {error}");
            return RunEnd::Failed;
        }
    };
    let total = prepared.len() + broken.len();
    broken.iter().for_each(|id| node.set_pipeline_state(&Arc::from(id.as_str()), PipelineState::Unknown));
    let mut failed = broken;
    // All queues are opened before the first pipeline runs, so that a reader sees that its queue has a writer.
    let mut opened = Vec::new();
    for prepared in prepared {
        let id = prepared.settings.id.clone();
        match Opened::open(prepared) {
            Ok(pipeline) => {
                node.pipeline_started(pipeline.view());
                opened.push(pipeline);
            }
            Err(error) => {
                report_failure(&id, &error.to_string());
                node.set_pipeline_state(&Arc::from(id.as_str()), PipelineState::Unknown);
                failed.push(id);
            }
        }
    }
    let mut starting: JoinSet<Started> = JoinSet::new();
    let mut stops = Vec::new();
    for pipeline in opened {
        let id = pipeline.prepared().settings.id.clone();
        let stop = pipeline.prepared().stop.clone();
        stops.push(stop.clone());
        starting.spawn(async move {
            let outcome = AssertUnwindSafe(pipeline.start()).catch_unwind().await;
            let outcome = outcome.map_err(|_| "one of its plugins broke".to_owned());
            Started { id, stop, outcome: outcome.and_then(|started| started.map_err(|e| e.to_string())) }
        });
    }
    let mut running: JoinSet<(String, Finish)> = JoinSet::new();
    let mut names: Vec<String> = Vec::new();
    let mut end = RunEnd::Orderly;
    let mut summary_due = true;
    loop {
        if starting.is_empty() && summary_due {
            summary_due = false;
            summarize(&names, &failed, total, begun);
            if names.is_empty() {
                return RunEnd::Failed;
            }
            if fail_fast && !failed.is_empty() {
                end = RunEnd::Failed;
                stops.iter().for_each(Stop::cancel);
            }
        }
        if starting.is_empty() && running.is_empty() {
            return end;
        }
        tokio::select! {
            Some(Ok(started)) = starting.join_next() => match started.outcome {
                Ok(pipeline) => {
                    node.set_pipeline_state(&Arc::from(started.id.as_str()), PipelineState::Running);
                    names.push(started.id.clone());
                    running.spawn(async move {
                        let finish = AssertUnwindSafe(pipeline.finish()).catch_unwind().await;
                        (started.id, finish.unwrap_or(Finish::Crashed))
                    });
                }
                Err(error) => {
                    report_failure(&started.id, &error);
                    started.stop.cancel();
                    node.set_pipeline_state(&Arc::from(started.id.as_str()), PipelineState::Unknown);
                    failed.push(started.id);
                }
            },
            Some(ended) = running.join_next() => {
                if let Ok((id, finish)) = ended {
                    tracing::info!(target: "logstash.javapipeline", { pipeline.id = %id }, "Pipeline terminated");
                    let crashed = finish == Finish::Crashed;
                    let state = if crashed { PipelineState::Terminated } else { PipelineState::Finished };
                    node.set_pipeline_state(&Arc::from(id.as_str()), state);
                    if crashed {
                        end = RunEnd::Failed;
                    }
                } else {
                    end = RunEnd::Failed;
                }
            }
            received = signals.next() => match received {
                Received::Terminate | Received::Interrupt => {
                    node.set_stopping();
                    stops.iter().for_each(Stop::cancel);
                }
                Received::SecondInterrupt => return RunEnd::Forced,
            },
        }
    }
}

fn report_failure(id: &str, error: &str) {
    tracing::error!(target: "logstash.agent", { pipeline.id = %id },
        "Failed to execute action {{action: PipelineAction::Create<{id}>, error: {error}}}");
}

fn summarize(running: &[String], failed: &[String], total: usize, begun: Instant) {
    let list = |ids: &[String]| ids.iter().map(|id| format!(":{id}")).collect::<Vec<_>>().join(", ");
    tracing::info!(target: "logstash.agent",
        "Pipelines running {{count: {}, running_pipelines: [{}], non_running_pipelines: [{}]}}",
        running.len(), list(running), list(failed));
    let mut line = format!("started {} of {total} pipelines in {} ms", running.len(), begun.elapsed().as_millis());
    if !running.is_empty() {
        line.push_str(&format!(": {}", running.join(", ")));
    }
    if !failed.is_empty() {
        line.push_str(&format!("; failed: {} (see the errors above)", failed.join(", ")));
    }
    tracing::info!(target: "spillway.runner", "{line}");
}

/// A signal that comes again sooner is the same wish: a terminal sends it to the whole group, and a parent in that group
/// passes it on.
const ONE_WISH: Duration = Duration::from_millis(500);

/// The signals that a run listens to.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    stopping: bool,
    /// When SIGINT came first.
    interrupted: Option<Instant>,
}

enum Received {
    Terminate,
    Interrupt,
    SecondInterrupt,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            stopping: false,
            interrupted: None,
        })
    }

    /// The next signal that matters. A second SIGTERM does nothing more; a second SIGINT of the user's does.
    async fn next(&mut self) -> Received {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => {
                    if !std::mem::replace(&mut self.stopping, true) {
                        tracing::warn!(target: "logstash.runner", "SIGTERM received. Shutting down.");
                        return Received::Terminate;
                    }
                }
                _ = self.interrupt.recv() => {
                    if let Some(first) = self.interrupted {
                        if first.elapsed() < ONE_WISH {
                            continue;
                        }
                        tracing::error!(target: "logstash.runner", "SIGINT received. Terminating immediately..");
                        return Received::SecondInterrupt;
                    }
                    self.interrupted = Some(Instant::now());
                    tracing::warn!(target: "logstash.runner", "SIGINT received. Shutting down.");
                    self.stopping = true;
                    return Received::Interrupt;
                }
                _ = self.hangup.recv() => {
                    tracing::info!(target: "logstash.runner",
                        "SIGHUP received. Reloading is not available yet; restart to use a changed configuration.");
                }
            }
        }
    }
}
