//! From settings to a pipeline that could start: its configuration read, checked and built, nothing opened yet.

use std::path::PathBuf;
use std::sync::Arc;

use super::plan::{Compiled, Environment, compile};
use crate::config::diagnostic::{Diagnostics, Level};
use crate::config::lint::links::Links;
use crate::config::render::Renderer;
use crate::config::source::Sources;
use crate::config::{self, Loaded, Origin, Variables, lint};
use crate::event::Clock;
use crate::plugins::{Commons, DeadLetterQueue, ProcessEnd, Stop};
use crate::settings::{ConfigSource, PipelineSettings};

/// What all pipelines of a process share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Where state lives between runs.
    pub path_data: PathBuf,
    /// Where the settings files are, if there are any.
    pub path_settings: Option<PathBuf>,
    /// Name of this machine.
    pub host: Arc<str>,
    /// Values of `${NAME}`.
    pub variables: Variables,
    /// The time of day.
    pub clock: Clock,
    /// What plugins of all pipelines have in common.
    pub commons: Commons,
}

/// A pipeline that was checked. It may start when its diagnostics hold no error.
pub struct Prepared {
    /// What it runs with.
    pub settings: PipelineSettings,
    /// Its plugins.
    pub compiled: Compiled,
    /// Asks everything in it to stop.
    pub stop: Stop,
    /// Its dead letter queue, not open yet.
    pub dead_letters: DeadLetterQueue,
    /// Everything that is wrong or odd about it.
    pub diagnostics: Diagnostics,
    /// The texts that the diagnostics point into.
    pub sources: Sources,
    /// The files it was read from, in order.
    pub files: Vec<PathBuf>,
    /// What leads from it to other pipelines.
    pub links: Links,
}

/// Reads and checks the configuration of a pipeline and builds its plugins. Touches nothing but the files it reads.
pub fn prepare(settings: PipelineSettings, shared: &Shared) -> Prepared {
    let loaded = read(&settings, shared);
    assemble(settings, shared, loaded)
}

/// The configuration of a pipeline as a tree.
pub fn read(settings: &PipelineSettings, shared: &Shared) -> Loaded {
    config::load(&origin(settings), &settings.language(), &shared.variables)
}

/// Where the configuration of a pipeline is.
pub(super) fn origin(settings: &PipelineSettings) -> Origin {
    match &settings.config {
        ConfigSource::Text(text) => Origin::String { name: settings.config_name(), text: text.clone() },
        ConfigSource::Path(path) => Origin::Path(path.clone()),
    }
}

impl Prepared {
    /// Whether another one may take its place while it runs.
    pub fn is_reloadable(&self) -> bool {
        self.settings.reloadable && self.compiled.inputs.iter().all(|slot| slot.input.is_reloadable())
    }
}

/// Writes mistakes and warnings to the log.
pub fn log(diagnostics: &Diagnostics, sources: &Sources) {
    let renderer = Renderer::new(sources, false);
    for diagnostic in &diagnostics.0 {
        let (line, code) = (renderer.one_line(diagnostic), diagnostic.code);
        match diagnostic.level {
            Level::Error => tracing::error!(target: "logstash.agent", code, "{line}"),
            Level::Warning => tracing::warn!(target: "logstash.agent", code, "{line}"),
            Level::Note => tracing::info!(target: "logstash.agent", code, "{line}"),
        }
    }
}

/// Builds the plugins of a configuration that was read.
pub fn assemble(settings: PipelineSettings, shared: &Shared, mut loaded: Loaded) -> Prepared {
    let stop = shared.commons.get::<ProcessEnd>().0.child_token();
    let dead_letters = DeadLetterQueue::new(settings.dead_letter_queue_enable, stop.clone());
    let environment = Environment {
        pipeline_id: Arc::from(settings.id.as_str()),
        ecs: settings.ecs_compatibility,
        escape_style: settings.escape_style,
        path_data: shared.path_data.clone(),
        path_settings: shared.path_settings.clone(),
        host: shared.host.clone(),
        dead_letters: dead_letters.clone(),
        clock: shared.clock.clone(),
        workers: settings.workers,
        ruby: settings.ruby.clone(),
        process: shared.commons.clone(),
        stop: stop.clone(),
    };
    let compiled = compile(&loaded.config, &loaded.sources, &environment, &mut loaded.diagnostics);
    loaded.diagnostics.forget_consequences();
    loaded.sources.hide(compiled.secrets.iter().copied());
    loaded.diagnostics.0.extend(settings.faults.iter().cloned());
    lint::apply_allowed(&mut loaded.diagnostics, &loaded.sources);
    let links = Links::of(&loaded.config);
    Prepared {
        settings,
        compiled,
        stop,
        dead_letters,
        diagnostics: loaded.diagnostics,
        sources: loaded.sources,
        files: loaded.files,
        links,
    }
}
