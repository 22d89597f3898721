//! Keeps one pipeline as it is wished to be: starts it, replaces it, stops it, and starts it again.
//!
//! A new version takes the place of the running one only when it could be built. Where the two have nothing in common
//! that only one can have (a port, a position file), the new one is registered while the old one runs, and the old one
//! goes on when that fails. Else the old one is stopped first, and comes back when the new one does not start.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::version::Version;
use crate::config::Loaded;
use crate::config::diagnostic::{Diagnostics, Level};
use crate::config::render::Renderer;
use crate::metrics::{Node, PipelineState, ReloadError};
use crate::pipeline::neighbours::Neighbours;
use crate::pipeline::prepare::{Prepared, Shared, assemble, log, read};
use crate::pipeline::run::{Finish, Opened, Registered, StartError};
use crate::plugins::addresses::Addresses;
use crate::plugins::{Claims, Stop};
use crate::settings::{PipelineSettings, QueueType, Recoverable, ReloadSettings};

/// How long a pipeline whose input broke rests before it is started anew.
const RESTART_AFTER: Duration = Duration::from_secs(1);
/// Longest wait between tries of a version that did not start.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What all keepers work with.
pub(super) struct Office {
    pub node: Arc<Node>,
    pub shared: Shared,
    pub neighbours: Neighbours,
    pub reload: ReloadSettings,
    /// Cancelled by a stalled stop that is to be ended by force; none where that is not allowed.
    pub force: Option<Stop>,
    /// Cancelled when the process is to end.
    pub end: Stop,
    pub reports: mpsc::UnboundedSender<Report>,
}

/// How a pipeline is to be.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    /// None when it is no longer wanted.
    pub target: Option<Arc<Version>>,
    /// Whether somebody asked for it, so that what did not work before is tried again.
    pub is_urged: bool,
}

/// How a pipeline stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is about to start or to be replaced.
    Busy,
    Running,
    /// It could not start.
    Failed,
    Finished,
    Crashed,
    /// It is no longer wanted and has ended.
    Gone,
}

/// What a keeper says.
pub(super) struct Report {
    pub id: Arc<str>,
    pub standing: Standing,
}

/// Why a version does not run.
#[derive(Debug)]
pub(super) struct Failure {
    message: String,
    /// Further lines.
    more: Vec<String>,
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self::new(error.to_string())
    }
}

impl Failure {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), more: Vec::new() }
    }
}

/// How a keeper begins.
pub(super) enum First {
    /// With a pipeline that only has to be started.
    Opened(Box<(Opened, Loaded)>),
    /// With one that cannot start.
    Refused(Failure),
    /// With the first wish.
    Later,
}

/// A version, and its configuration as it was read: the files may say something else by now.
#[derive(Clone)]
struct Known {
    version: Arc<Version>,
    loaded: Loaded,
}

/// A pipeline at work.
struct Run {
    known: Known,
    claims: Claims,
    is_reloadable: bool,
    stop: Stop,
    end: JoinHandle<Finish>,
}

/// A version that does not run.
struct Refused {
    version: Arc<Version>,
    message: String,
    tries: u32,
    /// When it may be tried again; never by itself when none.
    next: Option<Instant>,
}

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Create,
    Reload,
    Recover,
}

/// Keeps one pipeline.
pub(super) struct Keeper {
    id: Arc<str>,
    office: Arc<Office>,
    wishes: watch::Receiver<Wish>,
    run: Option<Run>,
    /// What ran last, and how it ended.
    ended: Option<(Known, Finish)>,
    refused: Option<Refused>,
    /// When it is started anew, after an input broke.
    again_at: Option<Instant>,
}

impl Office {
    /// Reads a version and builds its plugins.
    pub fn assemble(&self, version: &Version) -> (Prepared, Loaded) {
        let loaded = read(&version.settings, &self.shared);
        (self.rebuild(version, loaded.clone()), loaded)
    }

    fn rebuild(&self, version: &Version, loaded: Loaded) -> Prepared {
        // Faults point into other texts.
        let settings = PipelineSettings { faults: Vec::new(), ..version.settings.clone() };
        assemble(settings, &self.shared, loaded)
    }

    /// Whether a version may start. `aloud` says what is wrong or odd about it.
    pub fn judge(&self, version: &Version, prepared: Prepared, aloud: bool) -> Result<Prepared, Failure> {
        let _span = tracing::error_span!("pipeline", pipeline.id = version.settings.id).entered();
        let faults = Diagnostics(version.settings.faults.clone());
        if aloud {
            log(&faults, &version.sources);
            if !prepared.files.is_empty() {
                let names: Vec<_> = prepared.files.iter().map(|file| file.display().to_string()).collect();
                tracing::info!(target: "logstash.config.source", "Reading config files: {}", names.join(", "));
            }
            log(&prepared.diagnostics, &prepared.sources);
            log(&self.neighbours.look(&version.settings.id), &prepared.sources);
            self.warn_of_recovery(&version.settings);
        }
        let errors = |diagnostics: &Diagnostics, sources| -> Vec<String> {
            let renderer = Renderer::new(sources, false);
            let errors = diagnostics.0.iter().filter(|diagnostic| diagnostic.level == Level::Error);
            errors.map(|error| renderer.one_line(error)).collect()
        };
        let mut errors =
            [errors(&faults, &version.sources), errors(&prepared.diagnostics, &prepared.sources)].concat().into_iter();
        match errors.next() {
            None => Ok(prepared),
            Some(message) => Err(Failure { message, more: errors.collect() }),
        }
    }

    /// Opens what a pipeline has on disk. From then on it is shown, and senders of other pipelines wait for its inputs.
    pub fn open(&self, prepared: Prepared) -> Result<Opened, Failure> {
        let listens = prepared.links.listens().to_vec();
        let opened = Opened::open(prepared).inspect_err(|_| self.take_back(&listens))?;
        self.announce(opened.prepared());
        self.node.pipeline_started(opened.view());
        Ok(opened)
    }

    /// Senders of other pipelines wait for this one from now on, until its inputs run.
    fn announce(&self, prepared: &Prepared) {
        let addresses = self.shared.commons.get::<Addresses>();
        prepared.links.listens().iter().for_each(|address| addresses.expect(address));
    }

    /// Its inputs will not run.
    fn take_back(&self, listens: &[String]) {
        let addresses = self.shared.commons.get::<Addresses>();
        listens.iter().for_each(|address| addresses.give_up(address));
    }

    fn warn_of_recovery(&self, settings: &PipelineSettings) {
        if settings.recoverable == Recoverable::False {
            return;
        }
        if !self.reload.automatic {
            tracing::warn!(target: "logstash.agent",
                "pipeline.recoverable needs config.reload.automatic, which is off: the pipeline will NOT be recovered after a crash");
        } else if settings.recoverable == Recoverable::True && settings.queue_type == QueueType::Memory {
            tracing::warn!(target: "logstash.agent",
                "pipeline.recoverable with a memory queue: events of sources that cannot replay are lost in a crash");
        }
    }
}

impl Keeper {
    pub fn new(id: Arc<str>, office: Arc<Office>, wishes: watch::Receiver<Wish>) -> Self {
        office.node.pipeline_loading(&id);
        Self { id, office, wishes, run: None, ended: None, refused: None, again_at: None }
    }

    /// Keeps the pipeline until it is no longer wanted, or the process is to end and it has.
    pub async fn keep(mut self, first: First) {
        self.begin(first).await;
        let end = self.office.end.clone();
        loop {
            tokio::select! {
                finish = end_of(&mut self.run) => self.is_over(finish),
                () = end.cancelled(), if self.run.is_none() => return,
                changed = self.wishes.changed(), if !end.is_cancelled() => {
                    if changed.is_err() || !self.converge().await {
                        return;
                    }
                }
                () = until(self.again_at), if self.run.is_none() => self.start_anew().await,
            }
        }
    }

    async fn begin(&mut self, first: First) {
        let Some(version) = self.wishes.borrow_and_update().target.clone() else { return };
        match first {
            First::Opened(opened) => {
                let (opened, loaded) = *opened;
                let known = Known { version: version.clone(), loaded };
                if let Err(failure) = self.start(opened, known).await {
                    self.refuse(version, Action::Create, failure, false);
                }
            }
            First::Refused(failure) => self.refuse(version, Action::Create, failure, false),
            First::Later => self.create(version, Action::Create).await,
        }
    }

    /// Makes the pipeline what it is wished to be. `false` when it is no longer wanted.
    async fn converge(&mut self) -> bool {
        let Wish { target, is_urged } = self.wishes.borrow_and_update().clone();
        let Some(version) = target else {
            self.wind_down().await;
            self.office.node.remove_pipeline(&self.id);
            self.office.neighbours.forget(&self.id);
            self.report(Standing::Gone);
            return false;
        };
        let is_new = |known: &Known| !known.version.is_like(&version);
        match (&self.run, &self.ended) {
            (Some(run), _) if !is_new(&run.known) => self.refused = None,
            _ if !self.may_try(&version, is_urged) => {}
            (Some(_), _) => self.replace(version).await,
            (None, Some((known, Finish::Crashed))) if !is_new(known) => {
                if is_urged || version.settings.is_recoverable() {
                    tracing::info!(target: "logstash.agent", { pipeline.id = %self.id }, "Recovering pipeline");
                    self.create(version, Action::Recover).await;
                }
            }
            (None, Some((known, _))) if !is_new(known) => {}
            (None, Some(_)) => self.create(version, Action::Reload).await,
            (None, None) => self.create(version, Action::Create).await,
        }
        true
    }

    /// Whether it is time to try a version that was refused before.
    fn may_try(&self, version: &Version, is_urged: bool) -> bool {
        match &self.refused {
            Some(refused) if refused.version.is_like(version) => {
                is_urged || refused.next.is_some_and(|next| Instant::now() >= next)
            }
            _ => true,
        }
    }

    /// Builds a version. Its mistakes are told once.
    fn prepare(&self, version: &Version) -> Result<(Prepared, Loaded), Failure> {
        let was_told = self.refused.as_ref().is_some_and(|refused| refused.version.is_like(version));
        let (prepared, loaded) = tokio::task::block_in_place(|| self.office.assemble(version));
        self.office.neighbours.know(&prepared);
        Ok((self.office.judge(version, prepared, !was_told)?, loaded))
    }

    /// Starts a version where none runs.
    async fn create(&mut self, version: Arc<Version>, action: Action) {
        self.report(Standing::Busy);
        self.office.node.pipeline_loading(&self.id);
        let started = match self.prepare(&version) {
            Ok((prepared, loaded)) => self.open_and_start(prepared, Known { version: version.clone(), loaded }).await,
            Err(failure) => Err(failure),
        };
        match started {
            Ok(()) if action == Action::Reload => self.office.node.reload_succeeded(&self.id),
            Ok(()) if action == Action::Recover => self.office.node.recovered(&self.id),
            Ok(()) => {}
            Err(failure) => self.refuse(version, action, failure, false),
        }
    }

    async fn open_and_start(&mut self, prepared: Prepared, known: Known) -> Result<(), Failure> {
        let opened = self.office.open(prepared)?;
        self.start(opened, known).await
    }

    async fn start(&mut self, opened: Opened, known: Known) -> Result<(), Failure> {
        let prepared = opened.prepared();
        let (claims, is_reloadable) = (prepared.compiled.claims.clone(), prepared.is_reloadable());
        let (stop, listens) = (prepared.stop.clone(), prepared.links.listens().to_vec());
        let started = AssertUnwindSafe(opened.start()).catch_unwind().await.unwrap_or(Err(StartError::Broke));
        let running = started.inspect_err(|_| {
            stop.cancel();
            self.office.take_back(&listens);
        })?;
        let force = self.office.force.clone();
        let end = tokio::spawn(async move {
            let finish = AssertUnwindSafe(running.finish(force)).catch_unwind().await;
            finish.unwrap_or(Finish::Crashed)
        });
        self.run = Some(Run { known, claims, is_reloadable, stop, end });
        (self.ended, self.refused, self.again_at) = (None, None, None);
        self.office.node.set_pipeline_state(&self.id, PipelineState::Running);
        self.report(Standing::Running);
        Ok(())
    }

    /// Puts another version in the place of the one that runs.
    async fn replace(&mut self, version: Arc<Version>) {
        let Some(run) = &self.run else { return };
        if !run.is_reloadable {
            let failure = Failure::new("Cannot reload pipeline, because the existing pipeline is not reloadable");
            return self.refuse(version, Action::Reload, failure, false);
        }
        let (old_claims, old) = (run.claims.clone(), run.known.clone());
        let (prepared, loaded) = match self.prepare(&version) {
            Ok(built) => built,
            Err(failure) => return self.refuse(version, Action::Reload, failure, false),
        };
        if !prepared.is_reloadable() {
            let failure = Failure::new("Cannot reload pipeline, because the new pipeline is not reloadable");
            return self.refuse(version, Action::Reload, failure, false);
        }
        tracing::info!(target: "logstash.pipelineaction.reload", { pipeline.id = %self.id }, "Reloading pipeline");
        self.report(Standing::Busy);
        let known = Known { version: version.clone(), loaded };
        let started = match old_claims.clash(&prepared.compiled.claims) {
            None => match Registered::register(prepared).await {
                Ok(registered) => self.take_over(registered, known).await,
                Err(error) => return self.refuse(version, Action::Reload, error.into(), false),
            },
            Some(clash) => {
                tracing::debug!(target: "logstash.pipelineaction.reload", { pipeline.id = %self.id },
                    "the running pipeline is stopped before the new one is registered: both need the {clash}");
                self.office.announce(&prepared);
                self.wind_down().await;
                if self.office.end.is_cancelled() {
                    return;
                }
                self.open_and_start(prepared, known).await
            }
        };
        match started {
            Ok(()) => self.office.node.reload_succeeded(&self.id),
            Err(failure) => self.fall_back(version, failure, old).await,
        }
    }

    /// Lets a version that is registered follow the one that runs.
    async fn take_over(&mut self, registered: Registered, known: Known) -> Result<(), Failure> {
        self.wind_down().await;
        if self.office.end.is_cancelled() {
            registered.close().await;
            return Ok(());
        }
        let opened = registered.open().await?;
        self.office.node.pipeline_started(opened.view());
        self.start(opened, known).await
    }

    /// The old version comes back, since the new one did not start.
    async fn fall_back(&mut self, version: Arc<Version>, failure: Failure, old: Known) {
        let comes_back = old.version.settings.reload_fallback && !self.office.end.is_cancelled();
        self.refuse(version, Action::Reload, failure, comes_back);
        if comes_back {
            self.start_known(old, "the previous configuration runs again, until the configuration is changed").await;
        }
    }

    /// Starts a version as it was read before.
    async fn start_known(&mut self, known: Known, success: &str) {
        let refused = self.refused.take();
        let prepared = tokio::task::block_in_place(|| self.office.rebuild(&known.version, known.loaded.clone()));
        self.office.neighbours.know(&prepared);
        let version = known.version.clone();
        match self.open_and_start(prepared, known).await {
            Ok(()) => {
                self.refused = refused;
                tracing::info!(target: "logstash.agent", { pipeline.id = %self.id }, "{success}");
            }
            Err(failure) => self.refuse(version, Action::Recover, failure, false),
        }
    }

    /// After an input broke.
    async fn start_anew(&mut self) {
        self.again_at = None;
        let Some((known, _)) = self.ended.clone() else { return };
        self.start_known(known, "the pipeline whose input broke runs again").await;
        if self.run.is_none() {
            self.again_at = Some(Instant::now() + RESTART_AFTER);
            self.report(Standing::Busy);
        }
    }

    /// Stops what runs, and waits for its end.
    async fn wind_down(&mut self) {
        let Some(run) = &self.run else { return };
        self.office.node.pipeline_loading(&self.id);
        run.stop.cancel();
        let finish = end_of(&mut self.run).await;
        tracing::info!(target: "logstash.javapipeline", { pipeline.id = %self.id }, "Pipeline terminated");
        self.ended = self.run.take().map(|run| (run.known, finish));
        let standing = if self.office.end.is_cancelled() { Standing::Finished } else { Standing::Busy };
        self.report(standing);
    }

    /// The pipeline has ended by itself, or with the process.
    fn is_over(&mut self, finish: Finish) {
        tracing::info!(target: "logstash.javapipeline", { pipeline.id = %self.id }, "Pipeline terminated");
        self.ended = self.run.take().map(|run| (run.known, finish));
        let (state, standing) = match finish {
            Finish::InputBroke if !self.office.end.is_cancelled() => {
                self.again_at = Some(Instant::now() + RESTART_AFTER);
                (PipelineState::Loading, Standing::Busy)
            }
            Finish::Crashed => (PipelineState::Terminated, Standing::Crashed),
            Finish::InputBroke | Finish::Drained | Finish::GaveBack => (PipelineState::Finished, Standing::Finished),
        };
        self.office.node.set_pipeline_state(&self.id, state);
        self.report(standing);
    }

    /// A version does not run. `waits` for a change of the configuration before it is tried again.
    fn refuse(&mut self, version: Arc<Version>, action: Action, failure: Failure, waits: bool) {
        let Failure { message, more } = failure;
        let before = self.refused.take().filter(|refused| refused.version.is_like(&version));
        if before.as_ref().is_none_or(|refused| refused.message != message) {
            tracing::error!(target: "logstash.agent", { pipeline.id = %self.id },
                "Failed to execute action {{action: PipelineAction::{action:?}<{}>, error: {message}}}", self.id);
        }
        let backtrace = (!more.is_empty()).then_some(more);
        self.office.node.reload_failed(&self.id, ReloadError { message: message.clone(), backtrace });
        let tries = before.map_or(0, |refused| refused.tries) + 1;
        // A start that failed once often fails again; a text costs nothing to look at.
        let started = action == Action::Reload && self.run.is_none();
        let wait =
            if started { self.office.reload.interval.saturating_mul(1 << tries.min(10)) } else { Duration::ZERO };
        let next = (!waits).then(|| Instant::now() + wait.min(LONGEST_WAIT));
        self.refused = Some(Refused { version, message, tries, next });
        if self.run.is_some() {
            return self.report(Standing::Running);
        }
        self.office.node.set_pipeline_state(&self.id, PipelineState::Unknown);
        self.report(Standing::Failed);
    }

    fn report(&self, standing: Standing) {
        // Nobody listens any more when the process ends at once.
        let _ = self.office.reports.send(Report { id: self.id.clone(), standing });
    }
}

/// Waits for the end of what runs; for ever when nothing does.
async fn end_of(run: &mut Option<Run>) -> Finish {
    match run {
        Some(run) => (&mut run.end).await.unwrap_or(Finish::Crashed),
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
