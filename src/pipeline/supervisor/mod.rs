//! All pipelines of the process: each has a [`keeper`] that starts, replaces and stops it; here the list of pipelines is
//! read at the start and again when it is time to, signals are heard, and it is decided when the process ends.
//!
//! A pipeline that cannot start, breaks or does not come to its end leaves the others alone.

mod keeper;
mod roster;
mod signals;
mod version;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use self::keeper::Office;
use self::roster::Roster;
use self::signals::{Received, Signals};
use self::version::Version;
use super::neighbours::Neighbours;
use super::prepare::Shared;
use crate::metrics::Node;
use crate::plugins::{ProcessEnd, Stop};
use crate::settings::{Listed, Lister, ReloadSettings};

/// How a run ended, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Everything ended in order.
    Orderly,
    /// No pipeline could start, or one ended by an error.
    Failed,
    /// A second interrupt asked to end at once.
    Forced,
    /// A stop stalled and was ended by force.
    Stalled,
}

/// What is to be run, and how.
pub struct Assignment {
    /// The pipelines at the start.
    pub listed: Listed,
    /// Lists them again.
    pub lister: Lister,
    /// What they share.
    pub shared: Shared,
    /// When to look for changes.
    pub reload: ReloadSettings,
    /// One pipeline that fails to start ends the process.
    pub fail_fast: bool,
    /// A stalled stop is ended by force.
    pub unsafe_shutdown: bool,
}

/// A look at what is to run now.
struct Look {
    /// Whether somebody asked for it.
    is_urged: bool,
    found: Result<Vec<Arc<Version>>, String>,
}

/// Runs all pipelines until they have ended, or until a signal asks for the end.
pub async fn run(assignment: Assignment, node: Arc<Node>) -> RunEnd {
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => {
            tracing::error!(target: "logstash.runner", "cannot listen for signals: {error}");
            return RunEnd::Failed;
        }
    };
    let Assignment { listed, lister, shared, reload, fail_fast, unsafe_shutdown } = assignment;
    let (lister, end) = (Arc::new(lister), shared.commons.get::<ProcessEnd>().0.clone());
    let force = Stop::new();
    let (reports, mut reported) = mpsc::unbounded_channel();
    let office = Arc::new(Office {
        node: node.clone(),
        shared,
        neighbours: Neighbours::default(),
        reload,
        force: unsafe_shutdown.then(|| force.clone()),
        end: end.clone(),
        reports,
    });
    let mut roster = Roster::first(listed, office);
    let mut ticks = ticks(&reload);
    let mut looks: JoinSet<Look> = JoinSet::new();
    let mut is_urged = false;
    let mut told = String::new();
    loop {
        let has_settled_anew = roster.has_settled() && roster.tell();
        if has_settled_anew
            && roster.has_failed()
            && !reload.automatic
            && (fail_fast || (roster.is_over() && !roster.has_ever_run()))
        {
            roster.fail();
            end.cancel();
        }
        if roster.is_over() && !reload.automatic && looks.is_empty() && !is_urged {
            end.cancel();
        }
        if end.is_cancelled() && roster.is_empty() {
            return roster.end();
        }
        if is_urged && looks.is_empty() && !end.is_cancelled() {
            is_urged = false;
            looks.spawn(look(lister.clone(), true));
        }
        tokio::select! {
            Some(report) = reported.recv() => roster.note(report),
            Some(_) = roster.keepers.join_next() => {}
            Some(Ok(look)) = looks.join_next(), if !end.is_cancelled() => match look.found {
                Ok(versions) => roster.wish(versions, look.is_urged),
                Err(problem) => {
                    if told != problem {
                        tracing::warn!(target: "logstash.agent",
                            "the pipelines stay as they are, because the list of them cannot be read: {problem}");
                    }
                    told = problem;
                }
            },
            () = next(&mut ticks), if looks.is_empty() && !end.is_cancelled() => {
                looks.spawn(look(lister.clone(), false));
            }
            received = signals.next() => match received {
                Received::Terminate | Received::Interrupt => {
                    node.set_stopping();
                    end.cancel();
                }
                Received::SecondInterrupt => return RunEnd::Forced,
                Received::Hangup => {
                    tracing::info!(target: "logstash.runner", "SIGHUP received. Looking for changed configurations.");
                    is_urged = true;
                }
            },
            () = force.cancelled() => return RunEnd::Stalled,
        }
    }
}

async fn look(lister: Arc<Lister>, is_urged: bool) -> Look {
    let found = tokio::task::spawn_blocking(move || {
        let Listed { pipelines, sources, .. } = lister.list()?;
        Ok(pipelines.into_iter().map(|settings| Arc::new(Version::now(settings, sources.clone()))).collect())
    });
    Look { is_urged, found: found.await.unwrap_or_else(|_| Err("looking for it broke".to_owned())) }
}

/// A longer interval is none.
const LONGEST_INTERVAL: Duration = Duration::from_secs(365 * 24 * 3600);

fn ticks(reload: &ReloadSettings) -> Option<Interval> {
    (reload.automatic && reload.interval < LONGEST_INTERVAL).then(|| {
        let mut ticks = tokio::time::interval_at(Instant::now() + reload.interval, reload.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    })
}

async fn next(ticks: &mut Option<Interval>) {
    match ticks {
        Some(ticks) => drop(ticks.tick().await),
        None => std::future::pending().await,
    }
}
