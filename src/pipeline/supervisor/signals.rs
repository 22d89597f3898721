//! The signals that a run listens to.

use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that comes again sooner is the same wish: a terminal sends it to the whole group, and a parent in that group
/// passes it on.
const ONE_WISH: Duration = Duration::from_millis(500);
/// After so long somebody who waits at a terminal is told how to end it at once.
const HINT_AFTER: Duration = Duration::from_secs(5);

/// The signals that a run listens to.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    stopping: bool,
    /// When SIGINT came first.
    interrupted: Option<Instant>,
    hint_at: Option<Instant>,
}

/// What was received.
pub(super) enum Received {
    Terminate,
    Interrupt,
    SecondInterrupt,
    Hangup,
}

impl Signals {
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            stopping: false,
            interrupted: None,
            hint_at: None,
        })
    }

    /// The next signal that matters. A second SIGTERM does nothing more; a second SIGINT of the user's does.
    pub async fn next(&mut self) -> Received {
        loop {
            let hint = self.hint_at.map(|at| tokio::time::sleep_until(at.into()));
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
                    self.hint_at = self.interrupted.map(|at| at + HINT_AFTER);
                    tracing::warn!(target: "logstash.runner", "SIGINT received. Shutting down.");
                    self.stopping = true;
                    return Received::Interrupt;
                }
                _ = self.hangup.recv() => {
                    if !self.stopping {
                        return Received::Hangup;
                    }
                }
                () = async { hint.unwrap_or_else(|| tokio::time::sleep(Duration::MAX)).await } => {
                    self.hint_at = None;
                    tracing::warn!(target: "logstash.runner",
                        "Pipelines are still finishing the events that they have. Another ^C ends the process at once, \
                         and what is not delivered by then may be lost.");
                }
            }
        }
    }
}
